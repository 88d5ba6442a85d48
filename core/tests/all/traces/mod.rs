//! What each writer does in its store: every read, write, order, sync and new length, and the
//! result of every call, of thousands of histories with a fault at each step.
//!
//! `golden.txt` has a row for each writer and shape: the number of histories, of steps, and a hash
//! of them all; then a hash of the histories without a fault, which is all that other hosts
//! compare: what a writer does after a fault depends on no byte order, and emulation is slow. A
//! change that should change nothing changes no row. Both forms of a writer, the blocking one and
//! the asynchronous one, give one row. So does the asynchronous form if the store hangs where
//! another one fails, and the future is dropped: that is a failed call, at every await.
//!
//! A change that does change steps records the rows again, and its commit says which and why:
//!
//! ```text
//! cargo test -p striae-core --test all traces::record -- --ignored
//! ```
//!
//! To see what changed, print a row with both versions and compare: each line is a history and its
//! hash. Then print one of these, step by step:
//!
//! ```text
//! export TRACES='gsd::Logger small'         # a line for each history
//! export TRACES='gsd::Logger small: 2 17 once' # seed 2, fault at step 17: each step
//! cargo test -p striae-core --test all traces::print -- --ignored --nocapture
//! ```

mod blob;
mod blob_sets;
mod cdf;
mod gsd;
mod gsd_logs;
mod sion;
mod sion_fixed;
mod sion_sets;
mod tape;

use striae_kit::hosts;
use tape::{Fault, Tape};

/// What a writer does in a store, by a seed.
type History = Box<dyn Fn(&Tape, u64)>;

/// The histories of a writer and a shape.
struct Row {
    writer: &'static str,
    shape: &'static str,
    seeds: u64,
    /// What is in the store before.
    start: Vec<u8>,
    /// Of each form: if there are two, both make the same steps.
    forms: Vec<History>,
}

/// One history, or all of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Trace {
    histories: u64,
    steps: u64,
    hash: u64,
}

impl Trace {
    const NONE: Self = Self { histories: 0, steps: 0, hash: 0 };

    fn add(&mut self, other: Self) {
        self.histories += other.histories;
        self.steps += other.steps;
        self.hash = self.hash.rotate_left(1) ^ other.hash;
    }
}

impl Row {
    fn name(&self) -> String {
        format!("{} {}", self.writer, self.shape)
    }

    /// The steps of a history, which are also printed if this `tells`.
    fn trace(&self, form: &History, seed: u64, fault: Fault, tells: bool) -> Trace {
        let tape = Tape::new(&self.start, fault, tells);
        form(&tape, seed);
        let (steps, hash) = tape.end();
        Trace { histories: 1, steps, hash }
    }

    /// The steps of all histories; `each` sees them one by one.
    fn all(&self, form: &History, each: &mut dyn FnMut(u64, Fault, Trace)) -> Trace {
        let mut sum = Trace::NONE;
        let mut add = |seed, fault| {
            let trace = self.trace(form, seed, fault, false);
            each(seed, fault, trace);
            sum.add(trace);
            trace.steps
        };
        for seed in 1..=self.seeds {
            for at in 0..add(seed, Fault::None) {
                add(seed, Fault::Once(at));
                add(seed, Fault::From(at));
            }
        }
        sum
    }

    /// The steps of the histories without a fault.
    fn sound(&self, form: &History) -> Trace {
        let mut sum = Trace::NONE;
        (1..=self.seeds).for_each(|seed| sum.add(self.trace(form, seed, Fault::None, false)));
        sum
    }

    fn line(&self, form: &History) -> String {
        let Trace { histories, steps, hash } = self.all(form, &mut |_, _, _| ());
        let sound = self.sound(form).hash;
        format!("{:<32} {histories:>6} {steps:>8} {hash:016x} {sound:016x}", self.name())
    }

    /// Whether these steps were recorded, those that this host compares.
    ///
    /// # Errors
    /// What they are now.
    fn is_recorded(&self, form: &History) -> Result<(), String> {
        let name = format!("{:<32} ", self.name());
        let golden = include_str!("golden.txt").lines().find(|line| line.starts_with(&name));
        let (now, golden) = match hosts::is_slow() {
            true => {
                let hash = format!("{:016x}", self.sound(form).hash);
                (hash, golden.and_then(|line| line.rsplit(' ').next()))
            }
            false => (self.line(form), golden),
        };
        if golden == Some(&now) { Ok(()) } else { Err(now) }
    }
}

fn rows() -> Vec<Row> {
    let gsd = gsd::rows().into_iter().chain(gsd_logs::rows());
    let sion = sion::rows().into_iter().chain(sion_fixed::rows()).chain(sion_sets::rows());
    let sets = blob::rows().into_iter().chain(blob_sets::rows());
    gsd.chain(sion).chain(cdf::rows()).chain(sets).collect()
}

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/traces/golden.txt");

fn check(rows: Vec<Row>) {
    let mut differ = Vec::new();
    for row in rows {
        for (form, number) in row.forms.iter().zip(1..) {
            if let Err(now) = row.is_recorded(form) {
                differ.push(format!("{} form {number} now: {now}", row.name()));
            }
        }
    }
    assert!(differ.is_empty(), "other steps than recorded:\n{}", differ.join("\n"));
}

// One test for each writer, so that they run side by side.

#[test]
fn a_gsd_writer_makes_the_recorded_steps() {
    check(gsd::rows());
}

#[test]
fn loggers_make_the_recorded_steps() {
    check(gsd_logs::rows());
}

#[test]
fn a_sion_writer_makes_the_recorded_steps() {
    check(sion::rows());
}

#[test]
fn a_fixed_sion_writer_makes_the_recorded_steps() {
    check(sion_fixed::rows());
}

#[test]
fn a_set_of_sion_files_makes_the_recorded_steps() {
    check(sion_sets::rows());
}

#[test]
fn cdf_and_blob_writers_make_the_recorded_steps() {
    check(cdf::rows());
    check(blob::rows());
    check(blob_sets::rows());
}

#[test]
fn each_recorded_row_is_one_of_a_writer() {
    let names: Vec<_> = rows().iter().map(Row::name).collect();
    let golden = include_str!("golden.txt").lines();
    let of = |line: &str| names.iter().position(|name| line.starts_with(&format!("{name:<32} ")));
    let found: Vec<_> = golden.map(|line| of(line).unwrap_or_else(|| panic!("{line}"))).collect();
    assert_eq!(found, Vec::from_iter(0..names.len()), "a row for each, in their order");
}

#[test]
#[ignore = "it writes golden.txt"]
fn record() {
    let lines: Vec<_> = rows().iter().map(|row| row.line(&row.forms[0]) + "\n").collect();
    std::fs::write(GOLDEN, lines.concat()).unwrap();
}

#[test]
#[ignore = "for a person who looks for a difference"]
fn print() {
    let wanted = std::env::var("TRACES").unwrap();
    let (name, history) = wanted.split_once(": ").unwrap_or((&wanted, ""));
    let rows = rows();
    let row = rows.iter().find(|row| row.name() == name).unwrap();
    let words: Vec<_> = history.split(' ').collect();
    let fault = |at: &str, how| match how {
        "once" => Fault::Once(at.parse().unwrap()),
        "on" => Fault::From(at.parse().unwrap()),
        _ => Fault::None,
    };
    for form in &row.forms {
        if let [seed, at, how] = words[..] {
            row.trace(form, seed.parse().unwrap(), fault(at, how), true);
            continue;
        }
        row.all(form, &mut |seed, fault, Trace { steps, hash, .. }| {
            println!("{name}: {seed} {fault} {steps} {hash:016x}");
        });
    }
}
