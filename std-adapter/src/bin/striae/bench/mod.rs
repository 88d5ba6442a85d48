//! `striae bench`: measures how fast this machine reads a file, and at what cost.

mod args;
mod measure;
mod mode;
mod plan;
mod report;

pub(crate) use args::BenchVerb;

use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use args::ReadArgs;
use clap::ValueEnum;
use hdrhistogram::Histogram;
use measure::{CacheBy, Start, drop_cached};
use mode::{Mode, Reader, Stopped};
use plan::Random;
use std::io;
use std::time::Duration;
use striae::Error;
use striae::posix::PosixFile;
use striae::shown;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_core::store::usize_to_u64;

pub(crate) fn run(verb: &BenchVerb) -> Result<Sound, Failure> {
    match verb {
        BenchVerb::Read(args) => read(args),
    }
}

/// Largest number of spans in a turn.
const MOST_SPANS: usize = 1 << 24;

/// Largest number of bytes in a batch.
const MOST_BYTES: u64 = 1 << 32;

/// A way to read, and its results of all turns.
struct Way<'a> {
    mode: Mode,
    reader: Result<Reader<'a>, String>,
    turns: Vec<Turn>,
    /// Latencies of the batches of all turns in nanoseconds.
    latency: Option<Histogram<u64>>,
}

/// The result of a way in one turn.
#[derive(Clone, Copy)]
struct Turn {
    bytes: u64,
    wall: Duration,
    cpu: Duration,
    /// Cached bytes before the turn, and how many were added by it.
    cached: u64,
    grown: u64,
}

/// A measurement of all ways.
struct Bench<'a> {
    args: &'a ReadArgs,
    file_len: u64,
    cache_by: CacheBy,
    ways: Vec<Way<'a>>,
}

fn read(args: &ReadArgs) -> Result<Sound, Failure> {
    let failed = |error| Error::new(&args.file, error);
    let file = PosixFile::open(&args.file).map_err(failed)?;
    let file_len = file.size().map_err(failed)?;
    let path = shown::path(&args.file);
    if file_len == 0 {
        return Err(Failure::Usage(format!("{path}: is empty: there is nothing to read")));
    }
    if args.size.max > file_len {
        let text = format!("--size is {}, the file has {file_len} bytes", args.size);
        return Err(Failure::Usage(format!("{path}: {text}")));
    }
    let most = args.size.max.saturating_mul(usize_to_u64(args.batch.get()));
    if args.count.get() > MOST_SPANS || most > MOST_BYTES {
        let text = format!(
            "--count can be {MOST_SPANS} at most, --batch times --size {MOST_BYTES} bytes: both are in memory"
        );
        return Err(Failure::Usage(text));
    }
    let modes = match args.rung.as_slice() {
        [] => Mode::value_variants(),
        modes => modes,
    };
    let mut modes = modes.to_vec();
    modes.sort_unstable();
    modes.dedup();
    let ways = modes.into_iter().map(|mode| Way::new(mode, args, &file));
    let ways = ways.collect::<Result<_, Error>>()?;
    let mut bench = Bench { args, file_len, cache_by: CacheBy::of(&file), ways };
    if !args.warm {
        file.sync().map_err(failed)?; // what is not written yet is not dropped
    }
    let rounds = args.turns.get().saturating_mul(u32::try_from(bench.ways.len()).unwrap_or(1));
    with_bar(bench.bytes().saturating_mul(rounds.into()), |progress| {
        (0..args.turns.get()).try_for_each(|turn| bench.turn(turn, &file, progress))
    })?;
    bench.print()
}

impl<'a> Way<'a> {
    fn new(mode: Mode, args: &'a ReadArgs, file: &'a PosixFile) -> Result<Self, Error> {
        let reader = match Reader::open(mode, args, file) {
            Ok(reader) => Ok(reader),
            Err(Stopped::Refused(why)) => Err(why),
            Err(Stopped::Failed(error)) => return Err(error),
        };
        Ok(Self { mode, reader, turns: Vec::new(), latency: None })
    }
}

impl Bench<'_> {
    /// Approximate number of bytes that a way reads in a turn.
    fn bytes(&self) -> u64 {
        let mean = self.args.size.min.midpoint(self.args.size.max);
        mean.saturating_mul(usize_to_u64(self.args.count.get()))
    }

    /// Runs one turn: all ways read the same spans. The order of the ways differs between turns.
    fn turn(&mut self, turn: u32, file: &PosixFile, progress: &dyn Fn(u64)) -> Result<(), Error> {
        let mut random = Random::of_turn(self.args, turn);
        let spans = random.spans(self.args, self.file_len);
        let mut order: Vec<_> = self.ways.iter_mut().collect();
        random.shuffle(&mut order);
        let mut crc = None;
        for way in order {
            let sum = way.turn(self.args, (file, self.cache_by), &spans)?;
            let differ = crc.zip(sum).filter(|(others, own)| others != own);
            if let Some((others, own)) = differ {
                let text = format!("{} read other bytes: {own:x}, not {others:x}", way.mode.name());
                return Err(Error::new(&self.args.file, io::Error::other(text)));
            }
            crc = crc.or(sum);
            progress(len_of(&spans));
        }
        Ok(())
    }
}

/// Sum of the lengths of the spans.
fn len_of(spans: &[Span]) -> u64 {
    spans.iter().map(|span| span.len()).fold(0, u64::saturating_add)
}

impl Way<'_> {
    /// Reads the spans. Returns the sum of the checksums, or `None` if this way is refused.
    fn turn(
        &mut self,
        args: &ReadArgs,
        (file, cache_by): (&PosixFile, CacheBy),
        spans: &[Span],
    ) -> Result<Option<u64>, Error> {
        let Ok(reader) = &self.reader else { return Ok(None) };
        if !args.warm {
            drop_cached(file);
        }
        let cached = cache_by.bytes(file);
        let start = Start::now();
        let seen = reader.read(args, spans);
        let (wall, cpu) = start.passed();
        let grown = cache_by.bytes(file).saturating_sub(cached);
        let seen = match seen {
            Ok(seen) => seen,
            Err(Stopped::Refused(why)) => {
                (self.reader, self.turns) = (Err(why), Vec::new());
                return Ok(None);
            }
            Err(Stopped::Failed(error)) => return Err(error),
        };
        let bytes = len_of(spans);
        self.turns.push(Turn { bytes, wall, cpu, cached, grown });
        match &mut self.latency {
            None => self.latency = Some(seen.latency),
            Some(all) => all
                .add(seen.latency)
                .map_err(|error| Error::new(&args.file, io::Error::other(error.to_string())))?,
        }
        Ok(Some(seen.crc))
    }
}
