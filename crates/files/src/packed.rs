//! Compressed streams, known by how they begin.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::FrameDecoderError;
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A stream, and the bytes by which it was known before it.
type Whole<R> = BufReader<Chain<Cursor<Vec<u8>>, R>>;

/// A stream without the compression that it may have: gzip or zstd.
pub struct Unpacked<R: Read>(Form<R>);

enum Form<R: Read> {
    Plain(Whole<R>),
    Gzip(Gzip<R>),
    Zstd(Box<Zstd<R>>),
}

/// The bytes that tell what a stream is.
const MAGIC: u64 = 6;

/// Looks at the beginning of a stream, and unpacks what follows if that is compressed.
///
/// # Errors
/// If it cannot be read, or is compressed by a program that is not known here.
pub fn unpacked<R: Read>(mut input: R) -> io::Result<Unpacked<R>> {
    let mut head = Vec::new();
    input.by_ref().take(MAGIC).read_to_end(&mut head)?;
    let whole = |head| BufReader::with_capacity(1 << 16, Cursor::new(head).chain(input));
    Ok(Unpacked(match head[..] {
        [0x1f, 0x8b, ..] => Form::Gzip(Gzip(Some(GzDecoder::new(whole(head))))),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Form::Zstd(Box::new(Zstd { source: whole(head), frame: None }))
        }
        [0xfd, b'7', b'z', b'X', b'Z', 0] => return Err(unknown("xz", "unxz")),
        [b'B', b'Z', b'h', b'1'..=b'9', b'1', b'A'] => return Err(unknown("bzip2", "bunzip2")),
        _ => Form::Plain(whole(head)),
    }))
}

fn unknown(by: &str, program: &str) -> io::Error {
    let why = format!(
        "it is compressed by {by}; decompress it first ({program}), or compress it by gzip or zstd instead"
    );
    io::Error::new(ErrorKind::InvalidData, why)
}

impl<R: Read> Unpacked<R> {
    /// True if it was compressed.
    pub fn is_packed(&self) -> bool {
        !matches!(self.0, Form::Plain(_))
    }
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Form::Plain(input) => input.read(buffer),
            Form::Gzip(input) => input.read(buffer).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => damaged("gzip", CUT),
                ErrorKind::InvalidInput | ErrorKind::InvalidData => damaged("gzip", e),
                _ => e,
            }),
            Form::Zstd(input) => input.read(buffer),
        }
    }
}

/// Members of gzip, one after the other.
struct Gzip<R: Read>(Option<GzDecoder<Whole<R>>>);

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while let Some(member) = &mut self.0 {
            match member.read(buffer)? {
                0 => self.0 = next_member(self.0.take().map(GzDecoder::into_inner))?,
                n => return Ok(n),
            }
        }
        Ok(0)
    }
}

/// The member that follows; zeros before it or the end fill the block of a tape or a disk, and are nothing.
fn next_member<S: BufRead>(source: Option<S>) -> io::Result<Option<GzDecoder<S>>> {
    let Some(mut source) = source else { return Ok(None) };
    loop {
        let bytes = source.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        match bytes.iter().take_while(|byte| **byte == 0).count() {
            0 => return Ok(Some(GzDecoder::new(source))),
            zeros => source.consume(zeros),
        }
    }
}

const CUT: &str = "it is cut off";

fn damaged(by: &str, why: impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the {by} stream is damaged: {why}"))
}

/// What the decoder says, in words for the file's user: its own words are for its authors.
fn undecodable(e: FrameDecoderError) -> io::Error {
    let mut cause: &(dyn Error + 'static) = &e;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    match cause.downcast_ref::<io::Error>() {
        None => damaged("zstd", "a block is not valid"),
        Some(e) if e.kind() == ErrorKind::UnexpectedEof => damaged("zstd", CUT),
        // The disk, or whatever the bytes come from.
        Some(e) => io::Error::new(e.kind(), e.to_string()),
    }
}

/// The largest window of zstd's own decoder, unless it is told of a larger one (`--long`).
const WINDOW: u64 = 128 << 20;

/// Frames of zstd, one after the other.
struct Zstd<R: Read> {
    source: Whole<R>,
    frame: Option<Frame>,
}

struct Frame {
    /// A new one for each: the decoder has other rules for its second frame than for its first.
    decoder: FrameDecoder,
    /// The bytes that are still to come, if its header says how many there are.
    left: Option<u64>,
}

impl<R: Read> Zstd<R> {
    /// Begins the next frame; `None` at the end.
    fn begin(&mut self) -> io::Result<Option<Frame>> {
        while !self.source.fill_buf()?.is_empty() {
            let mut header = Vec::new();
            let magic: [u8; 4] = self.take(&mut header)?;
            match magic {
                [0x28, 0xb5, 0x2f, 0xfd] => return self.begin_with(header).map(Some),
                // One that is to be skipped (RFC 8878 section 3.1.2).
                [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                    let length = u64::from(u32::from_le_bytes(self.take(&mut header)?));
                    if io::copy(&mut self.source.by_ref().take(length), &mut io::sink())? < length {
                        return Err(damaged("zstd", CUT));
                    }
                }
                _ => return Err(damaged("zstd", "what follows its last frame is not another")),
            }
        }
        Ok(None)
    }

    /// Reads the rest of a frame's header (RFC 8878 section 3.1.1.1). The decoder takes all the memory that a header
    /// asks for, so this looks first.
    fn begin_with(&mut self, mut header: Vec<u8>) -> io::Result<Frame> {
        let [descriptor] = self.take(&mut header)?;
        let is_single = descriptor & 0x20 != 0;
        let mut window = 0;
        if !is_single {
            let [byte] = self.take(&mut header)?;
            let base = 1_u64 << (10 + (byte >> 3));
            window = base + base / 8 * u64::from(byte & 7);
        }
        let dictionary = match descriptor & 3 {
            0 => 0,
            1 => self.take(&mut header).map(|[byte]| u32::from(byte))?,
            2 => u32::from(u16::from_le_bytes(self.take(&mut header)?)),
            _ => u32::from_le_bytes(self.take(&mut header)?),
        };
        let size = match descriptor >> 6 {
            0 if !is_single => None,
            0 => Some(self.take(&mut header).map(|[byte]| u64::from(byte))?),
            1 => Some(u64::from(u16::from_le_bytes(self.take(&mut header)?)) + 256),
            2 => Some(u64::from(u32::from_le_bytes(self.take(&mut header)?))),
            _ => Some(u64::from_le_bytes(self.take(&mut header)?)),
        };
        if let (true, Some(size)) = (is_single, size) {
            window = size;
        }
        if window > WINDOW {
            let why = format!(
                "its zstd window is {window} bytes, and at most {WINDOW} are taken; decompress it first (zstd -d --long=31)"
            );
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        if dictionary != 0 {
            let why = format!(
                "it is compressed with zstd's dictionary {dictionary}; decompress it first (zstd -d -D DICTIONARY)"
            );
            return Err(io::Error::new(ErrorKind::InvalidData, why));
        }
        let mut decoder = FrameDecoder::new();
        decoder.reset(&header[..]).map_err(undecodable)?;
        Ok(Frame { decoder, left: size })
    }

    /// The next bytes, which are also kept in `header`.
    fn take<const N: usize>(&mut self, header: &mut Vec<u8>) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.source.read_exact(&mut bytes).map_err(|e| match e.kind() {
            ErrorKind::UnexpectedEof => damaged("zstd", CUT),
            _ => e,
        })?;
        header.extend(bytes);
        Ok(bytes)
    }
}

impl Frame {
    /// Its next bytes; 0 at its end.
    fn read(&mut self, source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
        let decoder = &mut self.decoder;
        while decoder.can_collect() < buffer.len() && !decoder.is_finished() {
            let more = BlockDecodingStrategy::UptoBytes(buffer.len() - decoder.can_collect());
            decoder.decode_blocks(&mut *source, more).map_err(undecodable)?;
        }
        let n = decoder.read(buffer)?;
        if let Some(left) = &mut self.left {
            match left.checked_sub(n as u64) {
                Some(fewer) if n > 0 || fewer == 0 => *left = fewer,
                _ => return Err(damaged("zstd", "a frame's size differs from its header")),
            }
        }
        let written = decoder.get_checksum_from_data();
        if n == 0 && written.is_some() && written != decoder.get_calculated_checksum() {
            return Err(damaged("zstd", "its checksum differs"));
        }
        Ok(n)
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.frame.is_none() {
                self.frame = self.begin()?;
            }
            let Some(frame) = &mut self.frame else { return Ok(0) };
            match frame.read(&mut self.source, buffer)? {
                0 => self.frame = None,
                n => return Ok(n),
            }
        }
    }
}
