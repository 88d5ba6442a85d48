//! The report, as a table or as JSON.

use super::{Row, WriteArgs};
use serde::Serialize;
use std::fmt;
use std::io::Write;
use std::time::Duration;

/// What was measured, and a line for each way.
#[derive(Serialize)]
pub(super) struct Report<H> {
    #[serde(flatten)]
    heading: H,
    ways: Vec<Line>,
}

/// What all ways of `bench write` or `bench read` do.
#[derive(Serialize)]
pub(super) struct Records {
    ranks: u32,
    size: u64,
    bytes: u64,
    files: u32,
    commits: u32,
    sync: bool,
    turns: u32,
}

impl Records {
    pub(super) fn new(args: &WriteArgs, ranks: u32) -> Self {
        Self {
            ranks,
            size: args.size.get(),
            bytes: args.bytes,
            files: args.files.get(),
            commits: args.commits,
            sync: args.sync,
            turns: args.turns.get(),
        }
    }

    /// The bytes of all ranks.
    pub(super) fn total(&self) -> u64 {
        self.bytes.saturating_mul(self.ranks.into())
    }
}

impl fmt::Display for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ranks, size, bytes, files, commits, sync, turns } = self;
        let synced = if *sync { "durable" } else { "not made durable" };
        write!(
            f,
            "{ranks} ranks, {bytes} bytes each in records of {size}; sets of {files} files, {commits} \
             commits; {synced}; medians of {turns} turns"
        )
    }
}

#[derive(Serialize)]
struct Line {
    way: String,
    name: &'static str,
    ms: Range,
    mib_per_s: f64,
    /// Speed over that of the first way, by medians and by minima of the times.
    times_first: f64,
    times_first_min: f64,
    /// The time of each turn over that of the first way in the same turn.
    over_first: Vec<f64>,
    collectives: u64,
    messages: u64,
    message_bytes: u64,
}

#[derive(Serialize)]
struct Range {
    min: f64,
    median: f64,
    max: f64,
}

impl Range {
    fn of(times: &[Duration]) -> Self {
        let mut ms: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let at = |index: usize| ms.get(index).copied().unwrap_or(f64::NAN);
        let last = ms.len().saturating_sub(1);
        Self { min: at(0), median: at(last >> 1), max: at(last) }
    }
}

/// The ratios of times of the same turns.
fn over(times: &[Duration], first: &[Duration]) -> Vec<f64> {
    times.iter().zip(first).map(|(time, first)| time.as_secs_f64() / first.as_secs_f64()).collect()
}

impl<H: Serialize + fmt::Display> Report<H> {
    /// A report about ways that write or read `bytes` in each turn.
    pub(super) fn new(heading: H, bytes: u64, rows: &[Row]) -> Self {
        let first_times = rows.first().map_or(&[][..], |row| &row.times);
        let first = rows.first().map(|row| Range::of(&row.times));
        let mib = as_f64(bytes) / as_f64(1 << 20);
        let line = |row: &Row| {
            let ms = Range::of(&row.times);
            let ratio = |of: fn(&Range) -> f64| first.as_ref().map_or(1.0, of) / of(&ms);
            Line {
                way: row.way.clone(),
                name: row.name,
                mib_per_s: mib / (ms.median / 1e3),
                times_first: ratio(|range| range.median),
                times_first_min: ratio(|range| range.min),
                over_first: over(&row.times, first_times),
                ms,
                collectives: row.traffic.calls,
                messages: row.traffic.messages,
                message_bytes: row.traffic.bytes,
            }
        };
        Self { heading, ways: rows.iter().map(line).collect() }
    }

    /// Prints it; a reader that has gone is no error.
    pub(super) fn print(&self, json: bool) {
        let mut out = std::io::stdout().lock();
        let _ = match json {
            true => serde_json::to_writer_pretty(&mut out, self)
                .map_err(std::io::Error::from)
                .and_then(|()| writeln!(out)),
            false => self.print_table(&mut out),
        };
    }

    fn print_table(&self, out: &mut impl Write) -> std::io::Result<()> {
        writeln!(out, "{}", self.heading)?;
        let heads = ["way", "ms", "min", "max", "MiB/s", "x first", "by min", "calls", "messages"];
        let [way, rest @ ..] = heads;
        write!(out, "{way:<34}")?;
        rest.iter().try_for_each(|head| write!(out, "{head:>10}"))?;
        writeln!(out)?;
        for Line {
            name, ms, mib_per_s, times_first, times_first_min, collectives, messages, ..
        } in &self.ways
        {
            write!(out, "{name:<34}{:>10.2}{:>10.2}{:>10.2}", ms.median, ms.min, ms.max)?;
            write!(out, "{mib_per_s:>10.1}{times_first:>10.2}{times_first_min:>10.2}")?;
            writeln!(out, "{collectives:>10}{messages:>10}")?;
        }
        Ok(())
    }
}

/// Exact up to 2^53.
fn as_f64(value: u64) -> f64 {
    let [high, low] = [value >> 32, value & u64::from(u32::MAX)].map(u32::try_from);
    f64::from(high.unwrap_or(0)) * 4_294_967_296.0 + f64::from(low.unwrap_or(0))
}
