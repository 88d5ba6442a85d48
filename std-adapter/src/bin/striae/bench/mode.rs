//! The ways to read.

use super::args::ReadArgs;
use crc32c::crc32c;
use hdrhistogram::Histogram;
use std::hint::black_box;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use striae::Error;
use striae::direct::{DirectFile, OpenOptions, Order, Policy, Rung};
use striae::error::ErrorKind;
use striae::posix::PosixFile;
use striae_core::span::Span;
use striae_core::store::ReadAt;

/// Threads of [`Mode::Pread4`].
const THREADS: usize = 4;

/// A way to read, with the name that `--rung` takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Mode {
    /// One pread(2) after another, through the page cache.
    Pread,
    /// pread(2) by four threads.
    Pread4,
    /// io_uring with registered buffers, past the page cache.
    Registered,
    /// io_uring, past the page cache.
    Ring,
    /// Linux AIO, past the page cache.
    Aio,
    /// Direct reads by threads.
    Threads,
    /// Reads by threads, through the page cache, which then drops the data.
    Uncached,
    /// Reads by threads, through the page cache.
    Buffered,
}

impl Mode {
    /// The library's rung for this way; `None` for plain pread.
    pub(super) const fn rung(self) -> Option<Rung> {
        match self {
            Self::Pread | Self::Pread4 => None,
            Self::Registered => Some(Rung::Registered),
            Self::Ring => Some(Rung::Ring),
            Self::Aio => Some(Rung::Aio),
            Self::Threads => Some(Rung::Threads),
            Self::Uncached => Some(Rung::Uncached),
            Self::Buffered => Some(Rung::Buffered),
        }
    }

    /// The name that `--rung` takes.
    pub(super) fn key(self) -> String {
        let value = clap::ValueEnum::to_possible_value(&self);
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// The name in words.
    pub(super) const fn name(self) -> &'static str {
        match (self.rung(), self) {
            (Some(rung), _) => rung.name(),
            (None, Self::Pread4) => "pread by 4 threads",
            (None, _) => "pread",
        }
    }
}

/// A file, opened for one way to read it.
pub(super) enum Reader<'a> {
    Plain(&'a PosixFile, &'a Path, usize),
    Direct(Box<DirectFile>, Rung),
}

/// Why reading stopped.
#[derive(Debug)]
pub(super) enum Stopped {
    /// The machine does not support this way.
    Refused(String),
    Failed(Error),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The results of reading.
pub(super) struct Seen {
    /// Latencies of the batches in nanoseconds.
    pub(super) latency: Histogram<u64>,
    /// The sum of the checksums of all spans.
    pub(super) crc: u64,
    with_crc: bool,
}

impl Seen {
    fn new(args: &ReadArgs) -> io::Result<Self> {
        let latency = Histogram::new(3).map_err(io::Error::other)?;
        Ok(Self { latency, crc: 0, with_crc: args.crc })
    }

    /// Adds a whole span.
    fn span(&mut self, bytes: &[u8]) {
        match self.with_crc {
            true => self.crc = self.crc.wrapping_add(crc32c(bytes).into()),
            false => drop(black_box(bytes.first())),
        }
    }

    fn batch(&mut self, took: Duration) {
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        // An automatically growing histogram accepts every value.
        let _ = self.latency.record(nanos);
    }
}

impl<'a> Reader<'a> {
    pub(super) fn open(
        mode: Mode,
        args: &'a ReadArgs,
        file: &'a PosixFile,
    ) -> Result<Self, Stopped> {
        let path = &args.file;
        let Some(rung) = mode.rung() else {
            let threads = if mode == Mode::Pread4 { THREADS } else { 1 };
            return Ok(Self::Plain(file, path, threads));
        };
        let policy = if rung.is_direct() { Policy::Required } else { Policy::Off };
        let options = OpenOptions::new().top(rung).policy(policy).depth(args.depth.get());
        let opened = options.dontcache(rung == Rung::Uncached).open(path);
        let direct = opened.map_err(|error| match error.kind() {
            ErrorKind::Io(refused) if refused.kind() == io::ErrorKind::Unsupported => {
                Stopped::Refused(refused.to_string())
            }
            _ => Stopped::Failed(error),
        })?;
        let reader = Self::Direct(Box::new(direct), rung);
        reader.check().map(|()| reader)
    }

    /// Checks that the file is still read on the requested rung.
    fn check(&self) -> Result<(), Stopped> {
        match self {
            Self::Direct(direct, rung) if direct.rung() != *rung => {
                let steps = direct.steps();
                let why = steps.iter().find(|step| step.from == *rung);
                Err(Stopped::Refused(why.map_or_else(String::new, |step| step.why.clone())))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn read(&self, args: &ReadArgs, spans: &[Span]) -> Result<Seen, Stopped> {
        let failed = |error| Error::new(&args.file, error);
        let mut seen = Seen::new(args).map_err(failed)?;
        let batch = args.batch.get();
        let read = match self {
            Self::Plain(file, path, 1) => {
                let mut buf = Vec::new();
                spans
                    .chunks(batch)
                    .try_for_each(|spans| plain(file, path, spans, &mut buf, &mut seen))
            }
            Self::Plain(file, path, threads) => {
                by_threads(*threads, spans.chunks(batch), args, &mut seen, |spans, buf, seen| {
                    plain(file, path, spans, buf, seen)
                })
            }
            Self::Direct(direct, _) if args.sequential || args.stream => {
                stream(direct, spans, args, &mut seen)
            }
            Self::Direct(direct, _) => {
                spans.chunks(batch).try_for_each(|spans| at_once(direct, spans, &mut seen))
            }
        };
        self.check()?; // a change of the rung may be the cause of an error in `read`
        read?;
        Ok(seen)
    }
}

/// Reads one span after another into one buffer.
fn plain(
    file: &PosixFile,
    path: &Path,
    spans: &[Span],
    buf: &mut Vec<u8>,
    seen: &mut Seen,
) -> Result<(), Error> {
    use embedded_io::ReadExactError;
    let start = Instant::now();
    for span in spans {
        let len = usize::try_from(span.len()).unwrap_or(usize::MAX);
        if buf.len() < len {
            buf.resize(len, 0);
        }
        let bytes = buf.get_mut(..len).unwrap_or_default();
        file.read_exact_at(span.offset(), bytes).map_err(|error| match error {
            ReadExactError::UnexpectedEof => {
                Error::new(path, ErrorKind::Ended { offset: span.offset() })
            }
            ReadExactError::Other(error) => Error::new(path, error),
        })?;
        seen.span(bytes);
    }
    seen.batch(start.elapsed());
    Ok(())
}

/// Reads with several threads; each takes the next batch when it is done with one.
fn by_threads<'s>(
    threads: usize,
    batches: impl Iterator<Item = &'s [Span]>,
    args: &ReadArgs,
    seen: &mut Seen,
    read: impl Fn(&[Span], &mut Vec<u8>, &mut Seen) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let batches: Vec<_> = batches.collect();
    let next = AtomicUsize::new(0);
    let work = || -> Result<Seen, Error> {
        let mut own = Seen::new(args).map_err(|error| Error::new(&args.file, error))?;
        let mut buf = Vec::new();
        while let Some(spans) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            read(spans, &mut buf, &mut own)?;
        }
        Ok(own)
    };
    let dead = || Error::new(&args.file, io::Error::other("a thread died"));
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for thread in threads {
            let own = thread.join().unwrap_or_else(|_| Err(dead()))?;
            seen.crc = seen.crc.wrapping_add(own.crc);
            seen.latency
                .add(own.latency)
                .map_err(|error| Error::new(&args.file, io::Error::other(error.to_string())))?;
        }
        Ok(())
    })
}

/// Reads all spans of a batch at once.
fn at_once(direct: &DirectFile, spans: &[Span], seen: &mut Seen) -> Result<(), Error> {
    let start = Instant::now();
    let batch = direct.read_spans(spans)?;
    batch.iter().for_each(|bytes| seen.span(bytes));
    seen.batch(start.elapsed());
    Ok(())
}

/// Reads all spans ahead, in their order. The checksum of a span that arrives in several pieces
/// covers the whole span, as for the other ways.
fn stream(
    direct: &DirectFile,
    spans: &[Span],
    args: &ReadArgs,
    seen: &mut Seen,
) -> Result<(), Error> {
    let (mut start, mut crc, mut done) = (Instant::now(), 0, 0_usize);
    let mut stream = direct.stream(spans.iter().copied(), Order::Asked)?;
    while let Some(piece) = stream.next_piece()? {
        if args.crc {
            crc = crc32c::crc32c_append(crc, piece.bytes);
        } else {
            black_box(piece.bytes.first());
        }
        let whole = usize::try_from(piece.request).ok().and_then(|request| spans.get(request));
        if whole.is_some_and(|whole| whole.end() == piece.span.end()) {
            seen.crc = seen.crc.wrapping_add(crc.into());
            (crc, done) = (0, done.saturating_add(1));
            if done.is_multiple_of(args.batch.get()) || done == spans.len() {
                seen.batch(start.elapsed());
                start = Instant::now();
            }
        }
    }
    Ok(())
}
