//! Writes every kind of SIONlib file that striae can make, for readers that are not ours.
//!
//! `sion_kinds DIR` makes sets `DIR/NAME.sion` and beside each `NAME.json`: what a reader must find
//! in it. That comes from what was written and from a model of chunks that shares no code with the
//! writers.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

mod expected;
mod shapes;
mod writers;

use expected::{Expected, description, prefix};
use shapes::{Shape, shapes};
use std::path::{Path, PathBuf};
use striae::sion::FileWriter;
use writers::{CoreSet, SetWriter};

fn main() {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap());
    std::fs::create_dir_all(&folder).unwrap();
    for shape in shapes() {
        for scenario in SCENARIOS {
            for sealed in [false, true] {
                make::<CoreSet>(&folder, "core", &shape, scenario, sealed);
                if shape.is_aligned() {
                    make::<FileWriter>(&folder, "std", &shape, scenario, sealed);
                }
            }
        }
    }
}

/// What is asked of a writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Act {
    /// Every task writes.
    Write,
    Commit,
    Close,
    /// The writer is dropped, and another one goes on with the file.
    Reopen,
}

use Act::{Close, Commit, Reopen as Again, Write};

const SCENARIOS: &[(&str, &[Act])] = &[
    ("created", &[]),
    ("unclosed", &[Write]),
    ("empty", &[Close]),
    ("closed", &[Write, Close]),
    ("emptily_committed", &[Commit, Write]),
    ("committed", &[Write, Commit]),
    ("committed_and_on", &[Write, Commit, Write, Write]),
    ("moved", &[Write, Commit, Write, Commit, Write, Write, Commit, Write]),
    ("moved_and_closed", &[Write, Commit, Write, Commit, Write, Write, Commit, Write, Close]),
    ("closed_twice", &[Write, Close, Again, Write, Close]),
    ("reopened_only", &[Write, Close, Again, Write, Write]),
    ("reopened_and_committed", &[Write, Close, Again, Write, Commit, Write]),
    ("reopened_after_a_crash", &[Write, Commit, Write, Again, Write, Commit, Write]),
    ("closed_after_a_crash", &[Write, Commit, Write, Again, Again, Write, Close]),
];

/// Makes one set and its description.
fn make<W: SetWriter>(
    folder: &Path,
    writer: &str,
    shape: &Shape,
    (scenario, acts): &(&str, &[Act]),
    sealed: bool,
) {
    let seal = if sealed { "-sealed" } else { "" };
    let name = format!("{}-{scenario}{seal}-{writer}", shape.name);
    let path = folder.join(format!("{name}.sion"));
    let named = Shape { prefix: Some(prefix(shape, &name)), ..shape.clone() };
    let mut set = W::create(&path, &named, sealed);
    let mut tasks: Vec<_> = shape.tasks().map(|(_, size)| Expected::new(size)).collect();
    let mut visible: Option<Vec<Expected>> = None;
    let mut is_closed = false;
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for act in *acts {
        match act {
            Write => {
                is_closed = false;
                write_round(&mut set, &mut tasks, shape, &mut random);
            }
            Commit => set.commit(),
            Close => {
                set.close();
                is_closed = true;
            }
            Again => {
                drop(set);
                set = W::reopen(&path, &named);
                tasks = visible.clone().unwrap();
            }
        }
        if matches!(act, Commit | Close) {
            visible = Some(tasks.clone());
        }
    }
    drop(set);
    let description = description(&name, &named, sealed, is_closed, visible.as_deref());
    std::fs::write(folder.join(format!("{name}.json")), description.to_string()).unwrap();
}

/// Each task that has room writes a few times, by turns.
fn write_round(
    set: &mut impl SetWriter,
    tasks: &mut [Expected],
    shape: &Shape,
    random: &mut Random,
) {
    for _ in 0..4 {
        for (number, task) in tasks.iter_mut().enumerate() {
            let size = usize::try_from(task.chunksize).unwrap();
            if size == 0 || random.below(4) == 0 {
                continue;
            }
            let bytes = random.bytes(size);
            if shape.attributes.keyval {
                let key = [0, 1, u64::MAX][random.below(3)];
                // SIONlib itself cannot read an empty record at the end of a stream.
                let value = &bytes[..random.below(size) + 1];
                set.write_key(number, key, value);
                task.write_key(shape.attributes.order, key, value);
            } else if random.below(2) == 0 {
                let record = &bytes[..random.below(size) + 1];
                set.write_record(number, record);
                task.write_record(record);
            } else {
                set.write(number, &bytes);
                task.write(&bytes);
            }
        }
    }
}

/// Numbers that are the same in every run (xorshift64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(end).unwrap()).unwrap()
    }

    /// Some bytes, among them zeros, up to one and a half times `size`.
    fn bytes(&mut self, size: usize) -> Vec<u8> {
        let len = size + self.below(size / 2 + 1);
        (0..len).map(|_| u8::try_from(self.next() >> 60).unwrap()).collect()
    }
}
