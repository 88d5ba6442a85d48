//! The report, as tables or as JSON.

use super::{ScaleArgs, Steps};
use serde::Serialize;
use std::io::{self, Write};
use striae_mpi_lab::simulated::Picoseconds;

#[derive(Serialize)]
pub(super) struct Report {
    ranks_per_node: u32,
    ranks_per_writer: Option<u32>,
    commits: u32,
    bytes: usize,
    sealed: bool,
    lines: Vec<Line>,
    #[serde(skip)]
    json: bool,
}

/// Times are in picoseconds, and of all ranks; counts and bytes are those of the rank that has
/// most.
#[derive(Serialize)]
pub(super) struct Line {
    ranks: u32,
    files: u32,
    /// Ranks that ran.
    ran: usize,
    create: Picoseconds,
    /// Writing and all commits.
    commits: Picoseconds,
    close: Picoseconds,
    collectives: u64,
    messages: u64,
    message_bytes: u64,
    /// Of all ranks together.
    opens: u64,
    writes: u64,
    memory: usize,
    pub(super) sionlib: Pattern,
}

/// What SIONlib takes.
#[derive(Default, Serialize)]
pub(super) struct Pattern {
    pub(super) create: Picoseconds,
    pub(super) close: Picoseconds,
    pub(super) collectives: u64,
    pub(super) messages: u64,
    #[serde(rename = "message_bytes")]
    pub(super) bytes: u64,
    pub(super) opens: u64,
    pub(super) memory: u64,
}

impl Line {
    pub(super) fn new(ranks: u32, files: u32, ran: usize) -> Self {
        let (create, commits, close, sionlib) = (0, 0, 0, Pattern::default());
        let (collectives, messages, message_bytes, opens, writes) = (0, 0, 0, 0, 0);
        let memory = 0;
        Self {
            ranks,
            files,
            ran,
            create,
            commits,
            close,
            collectives,
            messages,
            message_bytes,
            opens,
            writes,
            memory,
            sionlib,
        }
    }

    /// Adds a rank that stands for so many.
    pub(super) fn add(&mut self, steps: &Steps, stands_for: u64) {
        let Steps { created, committed, closed, memory } = steps;
        self.create = self.create.max(created.time);
        self.commits = self.commits.max(committed.time.saturating_sub(created.time));
        self.close = self.close.max(closed.time.saturating_sub(committed.time));
        self.collectives = self.collectives.max(closed.collectives);
        self.messages = self.messages.max(closed.messages);
        self.message_bytes = self.message_bytes.max(closed.bytes);
        self.opens = self.opens.saturating_add(closed.opens.saturating_mul(stands_for));
        self.writes = self.writes.max(closed.writes);
        self.memory = self.memory.max(*memory);
    }
}

impl Report {
    pub(super) fn new(args: &ScaleArgs, lines: Vec<Line>) -> Self {
        Self {
            ranks_per_node: args.ranks_per_node.get(),
            ranks_per_writer: args.ranks_per_writer.map(std::num::NonZeroU32::get),
            commits: args.commits,
            bytes: args.bytes,
            sealed: args.sealed,
            lines,
            json: args.json,
        }
    }

    pub(super) fn print(&self) -> io::Result<()> {
        let mut out = io::stdout().lock();
        match self.json {
            true => {
                serde_json::to_writer_pretty(&mut out, self)?;
                writeln!(out)
            }
            false => self.print_tables(&mut out),
        }
    }

    fn print_tables(&self, out: &mut impl Write) -> io::Result<()> {
        let heads = ["create", "commits", "close", "calls", "messages", "bytes", "opens", "memory"];
        writeln!(out, "| ranks | files | | {} |", heads.join(" | "))?;
        writeln!(out, "|--:|--:|---|{}", "--:|".repeat(heads.len()))?;
        for line in &self.lines {
            write!(out, "| {} | {} | striae |", line.ranks, line.files)?;
            let times = [line.create, line.commits, line.close].map(seconds);
            let [create, commits, close] = times;
            write!(out, " {create} | {commits} | {close} | {} ", line.collectives)?;
            write!(out, "| {} | {} | ", line.messages, scaled(line.message_bytes))?;
            let memory = u64::try_from(line.memory).unwrap_or(u64::MAX);
            writeln!(out, "{} | {} |", line.opens, scaled(memory))?;
            let Pattern { create, close, collectives, messages, bytes, opens, memory } =
                &line.sionlib;
            write!(out, "| | | SIONlib | {} | | {} |", seconds(*create), seconds(*close))?;
            write!(out, " {collectives} | {messages} | {} | {opens} ", scaled(*bytes))?;
            writeln!(out, "| {} |", scaled(*memory))?;
        }
        Ok(())
    }
}

/// Three digits of a time, with its unit.
fn seconds(time: Picoseconds) -> String {
    let units = [(1_000_000_000_000, "s"), (1_000_000_000, "ms"), (1_000_000, "us")];
    of_unit(time, &units)
}

/// Three digits of a number of bytes, with its unit.
fn scaled(bytes: u64) -> String {
    of_unit(bytes, &[(1_000_000_000, "GB"), (1_000_000, "MB"), (1000, "kB"), (1, "B")])
}

fn of_unit(value: u64, units: &[(u64, &str)]) -> String {
    let unit = units.iter().find(|(unit, _)| value >= *unit).or(units.last());
    let (unit, name) = unit.copied().unwrap_or((1, ""));
    let whole = value.checked_div(unit).unwrap_or(0);
    let part = value.checked_rem(unit).unwrap_or(0).saturating_mul(1000).checked_div(unit);
    let part = format!("{:03}", part.unwrap_or(0));
    let digits = 3usize.saturating_sub(whole.to_string().len());
    match part.get(..digits).filter(|part| !part.is_empty() && unit > 1) {
        Some(part) => format!("{whole}.{part} {name}"),
        None => format!("{whole} {name}"),
    }
}
