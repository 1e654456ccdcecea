//! The functions that a page calls, called as it does: messages are written to and read from addresses.

// It stands in for the page, which has the addresses alone.
#![allow(unsafe_code)]

use std::sync::Mutex;

use quell_web::abi::{alloc, answer_len, answer_ptr, call};

/// There is one instance in a module, and one in this program.
static ONE: Mutex<()> = Mutex::new(());

fn ask(message: &[u8]) -> Result<String, u32> {
    let at = alloc(message.len());
    // SAFETY: `alloc` has given so many bytes, which nobody else uses until they are answered.
    unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), at, message.len()) };
    match call(at, message.len()) {
        // SAFETY: the answer lies there until the next message.
        0 => {
            Ok(String::from_utf8(unsafe { std::slice::from_raw_parts(answer_ptr(), answer_len()) }.to_vec())
                .unwrap())
        }
        code => Err(code),
    }
}

#[test]
fn messages_are_answered_where_the_page_finds_them() {
    let _one = ONE.lock().unwrap();
    let preset = ask(br#"{"do": "preset", "load": "web", "link": "lte"}"#).unwrap();
    assert!(preset.starts_with("{\"ok\":{\"text\":"), "{preset}");
    let empty = ask(b"").unwrap();
    assert!(empty.contains("the message cannot be read"), "{empty}");
    let no_text = ask(&[b'"', 0xff, 0xfe]).unwrap();
    assert!(no_text.contains("not UTF-8"), "{no_text}");
}

/// The twin of what a wrong caller would do: no other memory is read.
#[test]
fn addresses_that_were_not_given_are_refused() {
    let _one = ONE.lock().unwrap();
    let message = br#"{"do": "about"}"#;
    assert_eq!(call(message.as_ptr(), message.len()), 1);
    assert_eq!(answer_len(), 0);
    let at = alloc(4);
    assert_eq!(call(at, 5), 1);
    assert_eq!(call(std::ptr::null(), 0), 1);
    // Each is good for one message.
    let at = alloc(message.len());
    assert_eq!(call(at, 0), 0);
    assert_eq!(call(at, message.len()), 1);
    assert!(alloc(usize::MAX).is_null());
}
