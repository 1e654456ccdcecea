//! What is opened, how much is read, and what is unpacked.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use quell_files::{
    Limit, open, open_own, read, read_all, read_named, read_named_unpacked, read_text, unpacked,
};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

const TEXT: Limit = Limit::of_text("a test");

/// The answer of what might wait for ever.
fn soon<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (send, answer) = mpsc::channel();
    std::thread::spawn(move || send.send(work()));
    answer.recv_timeout(Duration::from_secs(20)).expect("it does not wait")
}

fn refused(path: &Path) -> io::Error {
    let path = path.to_path_buf();
    soon(move || read(&path, TEXT)).unwrap_err()
}

#[test]
fn a_file_is_read_whole_and_one_that_is_not_there_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    fs::write(&path, "text").unwrap();
    assert_eq!(read_text(&path, TEXT).unwrap(), "text");
    assert_eq!(read(&dir.path().join("b"), TEXT).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(refused(dir.path()).kind(), ErrorKind::IsADirectory);
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(read_text(&path, TEXT).unwrap_err().to_string(), "is not UTF-8 text");
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    let file = File::create(&path).unwrap();
    file.set_len(TEXT.bytes()).unwrap();
    assert_eq!(read(&path, TEXT).unwrap().len() as u64, TEXT.bytes());
    file.set_len(TEXT.bytes() + 1).unwrap();
    let e = read(&path, TEXT).unwrap_err().to_string();
    assert!(
        e.starts_with("is too large: it has 16777217 bytes, and at most 16777216 bytes of a test"),
        "{e}"
    );
    // A file with a hole takes no room.
    file.set_len(1 << 40).unwrap();
    let e = read(&path, TEXT).unwrap_err();
    assert_eq!(
        e.to_string(),
        "is too large: it has 1024 GiB, and at most 16.0 MiB of a test are read; shorten it, or name another file"
    );
    let e = read_all(io::repeat(b'a'), TEXT).unwrap_err();
    assert!(e.to_string().starts_with("is too large: it has more, and at most 16.0 MiB"), "{e}");
}

#[cfg(unix)]
#[test]
fn pipes_with_names_devices_and_sockets_are_refused_at_once() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let dir = tempfile::tempdir().unwrap();
    let fifo = dir.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let rule = "must be a file; anything else can be given as /dev/stdin";
    assert_eq!(refused(&fifo).to_string(), format!("is a named pipe: {rule}"));
    // By another name it is the same.
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&fifo, &link).unwrap();
    assert_eq!(refused(&link).to_string(), format!("is a named pipe: {rule}"));
    assert_eq!(refused(Path::new("/dev/zero")).to_string(), format!("is a device: {rule}"));
    // Nor are they locks.
    for path in [fifo, link] {
        let e = soon(move || open_own(File::options().create(true).append(true), &path)).unwrap_err();
        assert_eq!(e.to_string(), "is a named pipe: must be a file, or a name that none has yet; remove it");
    }
    let socket = dir.path().join("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    assert_eq!(refused(&socket).to_string(), format!("is a socket: {rule}"));
}

#[cfg(target_os = "linux")]
#[test]
fn what_the_process_was_given_is_read_whatever_it_is() {
    use std::os::fd::AsRawFd as _;
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let path = format!("/dev/fd/{}", reader.as_raw_fd());
    // The end comes later than the reader asks.
    let late = std::thread::spawn(move || {
        let mut writer = File::from(writer);
        for part in ["one ", "two"] {
            std::thread::sleep(Duration::from_millis(50));
            writer.write_all(part.as_bytes()).unwrap();
        }
    });
    assert_eq!(soon(move || read_text(Path::new(&path), TEXT)).unwrap(), "one two");
    late.join().unwrap();
    let zero = File::open("/dev/zero").unwrap();
    let path = format!("/proc/self/fd/{}", zero.as_raw_fd());
    let e = soon(move || read(Path::new(&path), TEXT)).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::FileTooLarge);
}

#[cfg(target_os = "linux")]
#[test]
fn what_another_file_names_is_never_what_the_process_was_given() {
    use std::os::fd::AsRawFd as _;
    // Nothing comes of it, and it does not end.
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    for folder in ["/dev/fd", "/proc/self/fd"] {
        let path = std::path::PathBuf::from(format!("{folder}/{}", reader.as_raw_fd()));
        let (whole, packed) = soon(move || (read_named(&path, TEXT), read_named_unpacked(&path, TEXT)));
        for e in [whole.unwrap_err(), packed.unwrap_err()] {
            assert!(e.to_string().starts_with("is a named pipe: must be a file"), "{e}");
        }
    }
    // Nor are another process's descriptors what this one was given.
    let of_another = format!("/proc/{}/fd/{}", std::process::id(), reader.as_raw_fd());
    assert!(refused(Path::new(&of_another)).to_string().contains("must be a file"));
}

const LINES: &[u8] = b"one\ntwo\n";

/// `printf 'one\ntwo\n' | zstd`, with its checksum.
const ZSTD: &[u8] = &[
    0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x58, 0x41, 0x00, 0x00, 0x6f, 0x6e, 0x65, 0x0a, 0x74, 0x77, 0x6f, 0x0a,
    0xe6, 0xa6, 0x0e, 0x40,
];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = GzEncoder::new(Vec::new(), Compression::default());
    to.write_all(bytes).unwrap();
    to.finish().unwrap()
}

fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut all = Vec::new();
    unpacked(bytes)?.read_to_end(&mut all)?;
    Ok(all)
}

#[test]
fn gzip_and_zstd_are_known_by_their_content() {
    let long: Vec<u8> = (0..500_000_u32).flat_map(|n| (n / 3).to_le_bytes()).collect();
    let zstd = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
    assert_eq!(unpack(ZSTD).unwrap(), LINES);
    for plain in [&b""[..], b"1", b"\x1f", LINES, &long] {
        assert_eq!(unpack(plain).unwrap(), plain);
        assert_eq!(unpack(&gzip(plain)).unwrap(), plain);
        assert_eq!(unpack(&zstd(plain)).unwrap(), plain);
    }
    // Several in one file, as `cat` makes them, and a frame that is to be skipped.
    let skipped = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"any"].concat();
    assert_eq!(unpack(&[gzip(LINES), gzip(&long)].concat()).unwrap(), [LINES, &long].concat());
    assert_eq!(unpack(&[&skipped, ZSTD, &skipped, ZSTD].concat()).unwrap(), [LINES, LINES].concat());
}

#[test]
fn zeros_after_gzip_are_nothing() {
    let zeros = vec![0; 200_000];
    assert_eq!(unpack(&[gzip(LINES), zeros.clone()].concat()).unwrap(), LINES);
    assert_eq!(unpack(&[gzip(LINES), zeros.clone(), gzip(LINES)].concat()).unwrap(), LINES.repeat(2));
    let e = unpack(&[gzip(LINES), zeros, b"rest".to_vec()].concat()).unwrap_err().to_string();
    assert!(e.starts_with("the gzip stream is damaged: "), "{e}");
}

#[test]
fn an_error_of_the_source_is_no_damage() {
    struct Broken<'a>(&'a [u8]);
    impl io::Read for Broken<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::new(ErrorKind::TimedOut, "the disk is gone")),
                n => Ok(n),
            }
        }
    }
    for whole in [gzip(LINES), ZSTD.to_vec()] {
        for cut in 6..=whole.len() {
            let read =
                unpacked(Broken(&whole[..cut])).and_then(|mut input| input.read_to_end(&mut Vec::new()));
            let e = read.unwrap_err();
            assert_eq!(
                (e.kind(), e.to_string().as_str()),
                (ErrorKind::TimedOut, "the disk is gone"),
                "{cut}"
            );
        }
    }
}

#[test]
fn damage_of_a_stream_is_named_wherever_it_is() {
    let packed = [("gzip", gzip(&LINES.repeat(99))), ("zstd", ZSTD.to_vec())];
    for (by, whole) in &packed {
        for cut in 6..whole.len() {
            let e = unpack(&whole[..cut]).unwrap_err();
            assert_eq!(e.to_string(), format!("the {by} stream is damaged: it is cut off"), "{cut}");
            assert_eq!(e.kind(), ErrorKind::InvalidData);
        }
        let mut flipped = whole.clone();
        *flipped.last_mut().unwrap() ^= 1;
        assert!(unpack(&flipped).unwrap_err().to_string().contains("damaged"), "{by}");
        assert!(unpack(&[whole, &b"rest"[..]].concat()).unwrap_err().to_string().contains("damaged"), "{by}");
    }
    // Words, whatever it is: a block of a kind that is not, one whose content is none, and what is no frame.
    let ends = [
        (&[7, 0, 0][..], "a block"),
        (&[0x2d, 0, 0, 3, 3, 3, 3, 3], "a block"),
        (&[1, 0, 0, 9, 9, 9, 9], "what follows"),
    ];
    for (end, why) in ends {
        let e = unpack(&[&frame(&[0, 0]), end].concat()).unwrap_err().to_string();
        assert!(e.starts_with(&format!("the zstd stream is damaged: {why}")), "{e}");
    }
    let e = unpack(b"\xfd7zXZ\0rest").unwrap_err().to_string();
    assert!(e.starts_with("it is compressed by xz; decompress it first (unxz)"), "{e}");
}

#[test]
fn a_small_file_that_unpacks_to_a_large_one_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb");
    let zeros = vec![0; TEXT.bytes() as usize + 1];
    for bomb in [gzip(&zeros), compress_to_vec(&zeros[..], CompressionLevel::Fastest)] {
        assert!(bomb.len() < 1 << 20);
        fs::write(&path, &bomb).unwrap();
        let e = read_named_unpacked(&path, TEXT).unwrap_err().to_string();
        assert!(e.starts_with("is too large: unpacked it has more, and at most 16.0 MiB"), "{e}");
    }
    fs::write(&path, gzip(&zeros[1..])).unwrap();
    assert_eq!(read_named_unpacked(&path, TEXT).unwrap(), zeros[1..]);
}

/// A frame of zstd without its blocks: the descriptor's byte and what follows it.
fn frame(header: &[u8]) -> Vec<u8> {
    [&ZSTD[..4], header].concat()
}

#[test]
fn a_frame_of_zstd_takes_no_more_than_a_window() {
    let end = [1, 0, 0];
    // The size of the content is the window, where that is one segment.
    let mut bomb = frame(&[0xe0]);
    bomb.extend((4_u64 << 30).to_le_bytes());
    (0..24_576).for_each(|_| bomb.extend([0x02, 0x00, 0x10, 0]));
    let limit = "and at most 134217728 are taken; decompress it first (zstd -d --long=31)";
    // Whichever frame it is.
    for first in [&[][..], ZSTD] {
        let e = unpack(&[first, &bomb].concat()).unwrap_err().to_string();
        assert_eq!(e, format!("its zstd window is 4294967296 bytes, {limit}"));
        let e = unpack(&[first, &frame(&[0, 17 << 3 | 1]), &end].concat()).unwrap_err().to_string();
        assert_eq!(e, format!("its zstd window is 150994944 bytes, {limit}"));
        assert!(unpack(&[first, &frame(&[0, 17 << 3]), &end].concat()).is_ok());
    }
    let e = unpack(&[&frame(&[0x21, 7, 0])[..], &end].concat()).unwrap_err().to_string();
    assert!(e.starts_with("it is compressed with zstd's dictionary 7; decompress it first"), "{e}");
}

/// A compressed block of zstd without literals (RFC 8878 section 3.1.1.3): matches of 131074 bytes each, the longest
/// that there are. All codes are of the mode RLE, so each match takes nothing but the 16 extra bits of its length.
fn matches(count: u16) -> Vec<u8> {
    let [low, high] = (count - 0x7f00).to_le_bytes();
    let mut content = vec![0, 255, low, high, 0b0101_0100, 0, 0, 52];
    content.extend(std::iter::repeat_n(0xff, 2 * usize::from(count)));
    content.push(1);
    let [size @ .., _] = ((content.len() as u32) << 3 | 0b101).to_le_bytes();
    [&size[..], &content].concat()
}

/// In a process of its own, whose memory the shell limits: without a limit, this block takes 8.5 GB.
#[cfg(target_os = "linux")]
#[test]
fn a_block_of_zstd_takes_no_more_than_128_kib() {
    const OWN: &str = "QUELL_TEST_BLOCK";
    if std::env::var_os(OWN).is_none() {
        let limited = "ulimit -v 262144 && exec \"$0\" --exact a_block_of_zstd_takes_no_more_than_128_kib";
        let mut child = Command::new("sh");
        child.args(["-c", limited]).arg(std::env::current_exe().unwrap()).env(OWN, "1");
        let out = child.output().unwrap();
        assert!(out.status.success(), "{}{}", out.status, String::from_utf8_lossy(&out.stderr));
        return;
    }
    // Eight bytes as they are, to which the matches refer.
    let before = [&frame(&[0, 7 << 3])[..], &[8 << 3, 0, 0], b"abcdefgh"].concat();
    let bomb = [&before[..], &matches(65_000)].concat();
    assert!(bomb.len() < 131_072);
    let mut most = 0;
    let mut input = unpacked(&bomb[..]).unwrap();
    let mut buffer = vec![0; 1 << 16];
    let e = loop {
        match input.read(&mut buffer) {
            Ok(0) => panic!("it is not refused"),
            Ok(n) => most += n,
            Err(e) => break e.to_string(),
        }
    };
    assert_eq!(e, "the zstd stream is damaged: a block is not valid");
    assert!(most <= 8, "{most} bytes came before it was refused");
}

#[test]
fn a_frame_of_zstd_has_the_size_that_it_says() {
    let size = "the zstd stream is damaged: a frame's size differs from its header";
    // Five equal bytes: three in a block and two in the last, since no block may be larger than the frame.
    let five = [0x1a, 0, 0, b'a', 0x13, 0, 0, b'a'];
    for field in [4, 5, 6] {
        let whole = [&frame(&[0x20, field])[..], &five].concat();
        match field {
            5 => assert_eq!(unpack(&whole).unwrap(), b"aaaaa"),
            _ => assert_eq!(unpack(&whole).unwrap_err().to_string(), size),
        }
    }
    let larger = [&frame(&[0x20, 4])[..], &[0x2b, 0, 0, b'a']].concat();
    let block = "the zstd stream is damaged: a block is not valid";
    assert_eq!(unpack(&larger).unwrap_err().to_string(), block);
    let most = [&frame(&[0xc0, 0])[..], &[0xff; 8], &[1, 0, 0]].concat();
    assert_eq!(unpack(&most).unwrap_err().to_string(), size);
}

/// What other programs write is read, where they are.
#[test]
fn streams_of_the_usual_programs_are_read() {
    let long: String = (0..50_000).map(|n| format!("{n}.{} 1500\n", n * 7 % 1000)).collect();
    for line in ["gzip -9", "zstd -q -19", "zstd -q --long=24", "zstd -q --long=27", "zstd -q -1 --no-check"]
    {
        let (program, options) = line.split_once(' ').unwrap();
        let mut command = Command::new(program);
        let command = command.args(options.split(' ')).stdin(Stdio::piped()).stdout(Stdio::piped());
        let Ok(mut child) = command.spawn() else { continue };
        let mut input = child.stdin.take().unwrap();
        let text = long.clone();
        let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
        let packed = child.wait_with_output().unwrap().stdout;
        writer.join().unwrap().unwrap();
        assert!(packed.len() < long.len());
        assert!(unpack(&packed.repeat(2)).unwrap() == long.repeat(2).as_bytes(), "{line}");
    }
}

#[test]
fn opening_gives_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a");
    fs::write(&path, "text").unwrap();
    assert_eq!(io::read_to_string(open(&path).unwrap()).unwrap(), "text");
}
