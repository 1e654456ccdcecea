//! Compressed streams, known by how they begin.

use std::io::{self, BufRead as _, BufReader, Chain, Cursor, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// A stream, and the bytes by which it was known before it.
type Whole<R> = BufReader<Chain<Cursor<Vec<u8>>, R>>;

/// A stream without the compression that it may have: gzip or zstd.
pub struct Unpacked<R: Read>(Form<R>);

enum Form<R: Read> {
    Plain(Whole<R>),
    Gzip(MultiGzDecoder<Whole<R>>),
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
        [0x1f, 0x8b, ..] => Form::Gzip(MultiGzDecoder::new(whole(head))),
        // A frame, or one that is to be skipped (RFC 8878 section 3.1.2).
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            Form::Zstd(Box::new(Zstd { source: whole(head), decoder: FrameDecoder::new(), inside: false }))
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
                ErrorKind::UnexpectedEof => damaged("gzip", "it is cut off"),
                ErrorKind::InvalidInput | ErrorKind::InvalidData => damaged("gzip", e),
                _ => e,
            }),
            Form::Zstd(input) => input.read(buffer),
        }
    }
}

fn damaged(by: &str, why: impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("the {by} stream is damaged: {why}"))
}

/// Frames of zstd, one after the other.
struct Zstd<R: Read> {
    source: Whole<R>,
    decoder: FrameDecoder,
    /// A frame has begun.
    inside: bool,
}

impl<R: Read> Zstd<R> {
    /// Begins the next frame; false at the end.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let mut skipped = self.source.by_ref().take(u64::from(length));
                    if io::copy(&mut skipped, &mut io::sink())? < u64::from(length) {
                        return Err(damaged("zstd", "it is cut off"));
                    }
                }
                Err(e) => return Err(damaged("zstd", e)),
            }
        }
        Ok(false)
    }
}

impl<R: Read> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.inside && !self.begin()? {
                return Ok(0);
            }
            self.inside = true;
            while self.decoder.can_collect() < buffer.len() && !self.decoder.is_finished() {
                let more = BlockDecodingStrategy::UptoBytes(buffer.len() - self.decoder.can_collect());
                self.decoder.decode_blocks(&mut self.source, more).map_err(|e| damaged("zstd", e))?;
            }
            match self.decoder.read(buffer)? {
                0 => self.inside = false,
                n => return Ok(n),
            }
            let written = self.decoder.get_checksum_from_data();
            if written.is_some() && written != self.decoder.get_calculated_checksum() {
                return Err(damaged("zstd", "its checksum differs"));
            }
        }
    }
}
