//! The bytes of a file, unpacked where it is packed.

use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// A file's first bytes and the rest of it, with a count of what was read.
pub(crate) struct Stored<R> {
    bytes: Chain<Cursor<Vec<u8>>, R>,
    count: u64,
}

impl<R: Read> Read for Stored<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(into)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// A file that is plain or packed with gzip or zstd.
pub(crate) enum Source<R: Read> {
    Plain(Stored<R>),
    Gzip(Box<MultiGzDecoder<BufReader<Stored<R>>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Stored<R>>>>),
}

const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// How much of a packed file is read at a time.
const CHUNK: usize = 64 << 10;

impl<R: Read> Source<R> {
    /// Decides by the first bytes how the file is packed.
    pub(crate) fn open(mut input: R) -> io::Result<Source<R>> {
        let mut start = Vec::with_capacity(ZSTD.len());
        (&mut input).take(ZSTD.len() as u64).read_to_end(&mut start)?;
        let gzip = start.starts_with(GZIP);
        let zstd = start.starts_with(ZSTD);
        let stored = Stored { bytes: Cursor::new(start).chain(input), count: 0 };
        Ok(if gzip {
            Source::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, stored))))
        } else if zstd {
            let buffered = BufReader::with_capacity(CHUNK, stored);
            Source::Zstd(Box::new(zstd::Decoder::with_buffer(buffered)?))
        } else {
            Source::Plain(stored)
        })
    }

    /// How many bytes of the file, as it is stored, were read so far.
    pub(super) fn stored(&self) -> u64 {
        match self {
            Source::Plain(stored) => stored.count,
            Source::Gzip(decoder) => decoder.get_ref().get_ref().count,
            Source::Zstd(decoder) => decoder.get_ref().get_ref().count,
        }
    }

    /// Whether the file carries a checksum at its end that only reading to the end would check.
    pub(super) fn is_packed(&self) -> bool {
        !matches!(self, Source::Plain(_))
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Source::Plain(stored) => stored.read(into),
            Source::Gzip(decoder) => decoder.read(into),
            Source::Zstd(decoder) => decoder.read(into),
        }
    }
}
