//! The functions that a page calls in WebAssembly, and the one that it gives.
//!
//! A message is written into memory that [`alloc`] gave, and [`call`] answers it; the answer is where [`answer_ptr`]
//! says, until the next message. Nothing here reads through a pointer: `call` takes the bytes out of the buffer that
//! `alloc` made, and refuses any other address, so that a wrong caller gets an error and no memory of others. What is
//! unsafe is only to say the names of the functions, and to call the page's. The same functions are tested natively,
//! where the caller is Rust (`tests/all/abi.rs`).
//!
//! A panic ends the instance (`panic = "abort"` is a trap). Its message is the answer then: memory can be read after
//! a trap, and nothing else of the instance may be used.

// Names of functions are said to the linker, and one is called that is not Rust.
#![allow(unsafe_code)]

use std::sync::{Arc, Mutex, Once, PoisonError};

use crate::Lab;
use crate::run::Listener;

/// The messages that come and go.
#[derive(Default)]
struct Post {
    request: Vec<u8>,
    answer: Vec<u8>,
    lab: Option<Lab>,
}

static POST: Mutex<Post> = Mutex::new(Post { request: Vec::new(), answer: Vec::new(), lab: None });

/// The longest message: a scenario with its files, or packed replications.
const LONGEST: usize = 1 << 30;

fn post<T>(with: impl FnOnce(&mut Post) -> T) -> T {
    with(&mut POST.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps the message of a panic for the code that sees the trap.
fn listen_to_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if let Ok(mut post) = POST.try_lock() {
                post.answer = panic.to_string().into_bytes();
            }
            before(panic);
        }));
    });
}

/// Makes room for a message of so many bytes; the address is good until the message was answered. Zero if it is longer
/// than any may be.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    if cfg!(target_arch = "wasm32") {
        listen_to_panics();
    }
    if length > LONGEST {
        return std::ptr::null_mut();
    }
    post(|post| {
        post.request = vec![0; length];
        post.request.as_mut_ptr()
    })
}

/// Answers the message of so many bytes that is where [`alloc`] said: 0; or 1 if it is nowhere, and then there is no
/// answer.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn call(at: *const u8, length: usize) -> u32 {
    let (request, lab) = post(|post| {
        let is_there = std::ptr::eq(post.request.as_ptr(), at) && length <= post.request.len();
        let request = is_there.then(|| std::mem::take(&mut post.request));
        (request, post.lab.take())
    });
    let mut lab = lab.unwrap_or_else(|| Lab::new(Arc::new(Page)));
    let answer = request.map(|request| lab.answer_bytes(&request[..length]));
    let is_answered = answer.is_some();
    post(|post| {
        post.lab = Some(lab);
        post.answer = answer.unwrap_or_default().into_bytes();
    });
    u32::from(!is_answered)
}

/// The address of the answer, which is UTF-8.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn answer_ptr() -> *const u8 {
    post(|post| post.answer.as_ptr())
}

/// The length of the answer in bytes.
#[cfg_attr(target_arch = "wasm32", unsafe(no_mangle))]
pub extern "C" fn answer_len() -> usize {
    post(|post| post.answer.len())
}

/// The page, which listens to runs.
#[derive(Debug)]
struct Page;

impl Listener for Page {
    #[cfg(target_arch = "wasm32")]
    fn progress(&self, done: f64, samples: &str) {
        #[link(wasm_import_module = "env")]
        unsafe extern "C" {
            safe fn progress(done: f64, samples: *const u8, length: usize);
        }
        progress(done, samples.as_ptr(), samples.len());
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn progress(&self, _: f64, _: &str) {}
}
