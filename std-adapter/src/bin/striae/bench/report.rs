//! The report of a measurement, as a table or as JSON.

use super::{Bench, Turn, Way};
use crate::failure::{Failure, Sound};
use crate::printable::{count, printable, printable_path};
use crate::text::{print_json, stdout};
use hdrhistogram::Histogram;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;
use striae_core::store::usize_to_u64;

#[derive(Serialize)]
struct Report<'a> {
    file: String,
    file_bytes: u64,
    size: [u64; 2],
    count: usize,
    sequential: bool,
    batch: usize,
    depth: u32,
    seed: u64,
    turns: u32,
    crc: bool,
    /// Whether the file was dropped from the page cache before each way.
    cold: bool,
    /// Largest number of bytes of the file that were in the page cache nevertheless.
    cached_before: u64,
    cache_by: &'static str,
    ways: &'a [Row],
}

/// The results of a way. A missing result is null.
#[derive(Serialize)]
struct Row {
    rung: String,
    name: &'static str,
    refused: Option<String>,
    mib_per_s: Option<Range>,
    cpu_s_per_gb: Option<Range>,
    cache_growth_bytes: Option<Range>,
    batch_latency_us: Option<Latency>,
    times_pread: Option<f64>,
}

/// A measured value over several turns.
#[derive(Serialize, Clone, Copy)]
struct Range {
    median: f64,
    min: f64,
    max: f64,
}

#[derive(Serialize, Clone, Copy)]
struct Latency {
    p50: f64,
    p90: f64,
    p99: f64,
    max: f64,
}

impl Range {
    fn of(turns: &[Turn], figure: impl Fn(&Turn) -> f64) -> Option<Self> {
        let mut figures: Vec<f64> = turns.iter().map(figure).collect();
        figures.sort_unstable_by(f64::total_cmp);
        let (min, max) = (*figures.first()?, *figures.last()?);
        let upper = *figures.get(figures.len() >> 1)?;
        let lower = *figures.get(figures.len().saturating_sub(1) >> 1)?;
        Some(Self { median: f64::midpoint(lower, upper), min, max })
    }
}

impl Latency {
    fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| float(histogram.value_at_quantile(quantile)) / 1e3;
        Self { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: float(histogram.max()) / 1e3 }
    }
}

impl Row {
    fn new(way: &Way<'_>, pread: Option<f64>) -> Self {
        let speed = Range::of(&way.turns, |turn| {
            float(turn.bytes) / f64::from(1 << 20) / seconds(turn.wall)
        });
        Self {
            rung: way.mode.key(),
            name: way.mode.name(),
            refused: way.reader.as_ref().err().cloned(),
            mib_per_s: speed,
            cpu_s_per_gb: Range::of(&way.turns, |turn| {
                turn.cpu.as_secs_f64() / float(turn.bytes) * 1e9
            }),
            cache_growth_bytes: Range::of(&way.turns, |turn| float(turn.grown)),
            batch_latency_us: way
                .latency
                .as_ref()
                .filter(|_| !way.turns.is_empty())
                .map(Latency::of),
            times_pread: speed.zip(pread).map(|(speed, pread)| speed.median / pread),
        }
    }
}

impl Bench<'_> {
    pub(super) fn print(&self) -> Result<Sound, Failure> {
        let args = self.args;
        let is_pread = |way: &&Way<'_>| way.mode == super::Mode::Pread;
        let pread = self.ways.iter().find(is_pread);
        let pread = pread.and_then(|way| Row::new(way, None).mib_per_s).map(|speed| speed.median);
        let rows: Vec<_> = self.ways.iter().map(|way| Row::new(way, pread)).collect();
        let cached = self.ways.iter().flat_map(|way| &way.turns).map(|turn| turn.cached);
        // With meminfo, most cached bytes belong to other files.
        let cached = cached.max().filter(|_| self.cache_by == super::CacheBy::Cachestat);
        if !args.json {
            let mut out = stdout();
            self.write(&rows, cached.unwrap_or(0), &mut out).map_err(Failure::stdout)?;
            return Ok(Sound::Yes);
        }
        print_json(&Report {
            file: args.file.to_string_lossy().into_owned(),
            file_bytes: self.file_len,
            size: [args.size.min, args.size.max],
            count: args.count.get(),
            sequential: args.sequential,
            batch: args.batch.get(),
            depth: args.depth.get(),
            seed: args.seed,
            turns: args.turns.get(),
            crc: args.crc,
            cold: !args.warm,
            cached_before: cached.unwrap_or(0),
            cache_by: self.cache_by.name(),
            ways: &rows,
        })
    }

    fn write(&self, rows: &[Row], cached: u64, out: &mut impl Write) -> io::Result<()> {
        let args = self.args;
        let kind = if args.sequential { "sequential" } else { "random" };
        let crc = if args.crc { ", with CRC-32C" } else { "" };
        let path = printable_path(&args.file);
        let (len, size) = (self.file_len, args.size);
        let spans = count(usize_to_u64(args.count.get()), &format!("{kind} span"));
        writeln!(out, "{path}: {len} bytes; {spans} of {size}{crc}")?;
        let (batch, turns, seed) = (args.batch, args.turns, args.seed);
        let turns = count(turns.get().into(), "turn");
        writeln!(out, "batches of {batch}, {turns}, all ways in random order, seed {seed}")?;
        let mib = float(cached) / f64::from(1 << 20);
        let by = self.cache_by.name();
        match args.warm {
            true => writeln!(out, "the page cache is left as it is; its growth by {by}")?,
            false => writeln!(
                out,
                "cold: the file is dropped from the page cache before each way (posix_fadvise), but \
                 for {mib:.1} MiB at most; growth by {by}"
            )?,
        }
        let head = ["MiB/s", "(range)", "CPU s/GB", "cache MiB", "p50 us", "p90", "p99", "max"];
        let [speed, range, cpu, cache, p50, p90, p99, max] = head;
        writeln!(
            out,
            "\n{:<34} {speed:>8} {range:>16} {cpu:>9} {cache:>9} {p50:>9} {p90:>9} {p99:>9} \
             {max:>9} x pread",
            "way"
        )?;
        for row in rows {
            row.write(out)?;
        }
        writeln!(out, "\np50 to max are those of a batch.")?;
        out.flush()
    }
}

impl Row {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "{:<34}", self.name)?;
        if let Some(why) = &self.refused {
            return writeln!(out, " refused: {}", printable(why));
        }
        let figures = (self.mib_per_s, self.cpu_s_per_gb, self.cache_growth_bytes);
        let (Some(speed), Some(cpu), Some(cache)) = figures else { return writeln!(out) };
        let range = format!("({:.0}-{:.0})", speed.min, speed.max);
        let cache = cache.median / f64::from(1 << 20);
        write!(out, " {:>8.0} {range:>16} {:>9.3} {cache:>9.1}", speed.median, cpu.median)?;
        if let Some(Latency { p50, p90, p99, max }) = self.batch_latency_us {
            write!(out, " {p50:>9.0} {p90:>9.0} {p99:>9.0} {max:>9.0}")?;
        }
        match self.times_pread {
            Some(times) => writeln!(out, " {times:>7.2}"),
            None => writeln!(out, " {:>7}", "-"),
        }
    }
}

/// Seconds, never 0: the clock may not advance while a few bytes are read.
fn seconds(time: Duration) -> f64 {
    time.as_secs_f64().max(1e-9)
}

/// The nearest floating-point number.
fn float(value: u64) -> f64 {
    let [high, low] = [value >> 32, value & u64::from(u32::MAX)];
    let [high, low] = [high, low].map(|half| f64::from(u32::try_from(half).unwrap_or(u32::MAX)));
    high.mul_add(4_294_967_296.0, low)
}
