//! The bytes of a file, unpacked if it is packed.

use std::io::{self, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// A file that counts the bytes that were read. Its first bytes were read before and come again.
pub(crate) struct CountedFile<R> {
    bytes: Chain<Cursor<Vec<u8>>, R>,
    count: u64,
}

impl<R: Read> Read for CountedFile<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.bytes.read(into)?;
        self.count += count as u64;
        Ok(count)
    }
}

/// A file that is plain or packed with gzip or zstd.
pub(crate) enum Source<R: Read> {
    Plain(CountedFile<R>),
    Gzip(Box<MultiGzDecoder<BufReader<CountedFile<R>>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<CountedFile<R>>>>),
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
        let stored = CountedFile { bytes: Cursor::new(start).chain(input), count: 0 };
        Ok(if gzip {
            Source::Gzip(Box::new(MultiGzDecoder::new(BufReader::with_capacity(CHUNK, stored))))
        } else if zstd {
            let buffered = BufReader::with_capacity(CHUNK, stored);
            Source::Zstd(Box::new(zstd::Decoder::with_buffer(buffered)?))
        } else {
            Source::Plain(stored)
        })
    }

    /// How many bytes of the stored file were read so far.
    pub(super) fn stored(&self) -> u64 {
        match self {
            Source::Plain(stored) => stored.count,
            Source::Gzip(decoder) => decoder.get_ref().get_ref().count,
            Source::Zstd(decoder) => decoder.get_ref().get_ref().count,
        }
    }

    /// Whether the file is packed, so that a checksum follows at its end.
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
