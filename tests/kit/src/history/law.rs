//! What is called exact is what was committed last, or that and what was written since.

use super::damage::Damaged;
use super::{Facts, History};
use std::collections::BTreeMap;
use striae_core::endian::ByteOrder;

/// A recovered stream.
#[derive(Debug, Clone)]
pub struct Found {
    pub exact: bool,
    pub why: String,
    pub bytes: Vec<u8>,
}

/// How many streams were called what, by the kind of damage and what was said of them.
#[derive(Debug, Default)]
pub struct Ledger {
    kinds: BTreeMap<(&'static str, bool), Count>,
    doubts: BTreeMap<(&'static str, String), u64>,
    pub broken: Vec<String>,
    pub histories: u64,
}

#[derive(Debug, Default)]
struct Count {
    files: u64,
    exact: u64,
    guesses: u64,
    right_guesses: u64,
}

impl Ledger {
    /// Holds what was recovered of `damaged` against what was written.
    pub fn enter(&mut self, history: &History, damaged: &Damaged, found: &[Found]) {
        let facts = Facts::of(&history.bytes);
        let sealed = facts.is_sealed(&history.bytes);
        let count = self.kinds.entry((damaged.kind, sealed)).or_default();
        count.files += 1;
        assert_eq!(found.len(), history.committed.len());
        for (task, found) in found.iter().enumerate() {
            let committed = &history.committed[task];
            let mut written = history.abandoned.iter().chain([&history.live]);
            let is_right = found.bytes.starts_with(committed)
                && written.any(|streams| streams[task].starts_with(&found.bytes));
            if !found.exact {
                count.guesses += 1;
                count.right_guesses += u64::from(is_right);
                *self.doubts.entry((damaged.kind, found.why.clone())).or_default() += 1;
                continue;
            }
            count.exact += 1;
            if !is_right && !is_beyond_proof(history, &facts, damaged, task, found) {
                let broken = format!(
                    "{}; {} {}; task {task}: {} of {} bytes are called exact: {}",
                    history.what,
                    damaged.kind,
                    damaged.how,
                    found.bytes.len(),
                    committed.len(),
                    found.why,
                );
                println!("{broken}");
                self.broken.push(broken);
            }
        }
    }

    /// Prints what was counted, and fails if the law was broken.
    pub fn close(&self) {
        println!("{} histories", self.histories);
        println!("| damage | sealed | files | exact | guesses | of these right |");
        println!("|---|---|---|---|---|---|");
        for ((kind, sealed), count) in &self.kinds {
            let Count { files, exact, guesses, right_guesses } = count;
            println!("| {kind} | {sealed} | {files} | {exact} | {guesses} | {right_guesses} |");
        }
        for ((kind, why), count) in &self.doubts {
            println!("{kind}: {why}: {count}");
        }
        let shown: Vec<_> = self.broken.iter().take(20).collect();
        assert!(self.broken.is_empty(), "{} broken: {shown:#?}", self.broken.len());
    }
}

/// Whether the damaged file is one that a writer could have left: without a seal nobody can tell
/// another number that is allowed, nor other data.
fn is_beyond_proof(
    history: &History,
    facts: &Facts,
    damaged: &Damaged,
    task: usize,
    found: &Found,
) -> bool {
    if facts.is_sealed(&history.bytes) {
        return false;
    }
    let sizes = facts.start + 8 * facts.ntasks;
    match damaged.kind {
        "META2" if damaged.place.start >= sizes => {
            let index = (damaged.place.start - sizes) / 8;
            let entry = facts.i64_at(&damaged.bytes, sizes + 8 * index);
            let is_allowed = entry >= 0 && entry <= chunksize(facts, &damaged.bytes, task);
            index % facts.ntasks == task
                && is_allowed
                && ends_in_a_record(history, facts, entry, task)
        }
        // Zeros in place of a task's data are its data, but a commit said how many.
        "zeroed sector" | "zeros to the end" => {
            let lens = [&history.committed, &history.live].map(|streams| streams[task].len());
            let is_as_long = facts.start == 0 || lens.contains(&found.bytes.len());
            is_as_long && is_hit(history, facts, damaged, task)
        }
        _ => false,
    }
}

/// Whether bytes in chunks of `task` were changed.
fn is_hit(history: &History, facts: &Facts, damaged: &Damaged, task: usize) -> bool {
    let size = |task| chunksize(facts, &history.bytes, task) as usize;
    let first = facts.first + (0..task).map(size).sum::<usize>();
    let row: usize = (0..facts.ntasks).map(size).sum();
    let mut changed = damaged.place.clone().filter(|&at| damaged.bytes[at] != history.bytes[at]);
    changed.any(|at| at.checked_sub(first).is_some_and(|into| into % row.max(1) < size(task)))
}

fn chunksize(facts: &Facts, bytes: &[u8], task: usize) -> i64 {
    facts.i64_at(bytes, facts.fields - 8 * facts.ntasks + 8 * task)
}

/// Whether a stream of records whose last chunk has `last` bytes ends where a record does; any
/// plain one may.
fn ends_in_a_record(history: &History, facts: &Facts, last: i64, task: usize) -> bool {
    if !facts.keyval {
        return true;
    }
    let stream = &history.live[task];
    let chunksize = chunksize(facts, &history.bytes, task).max(1) as usize;
    let len = |at: usize| {
        let eight = stream[at + 8..at + 16].try_into().unwrap();
        match facts.order {
            ByteOrder::Little => u64::from_le_bytes(eight),
            ByteOrder::Big => u64::from_be_bytes(eight),
        }
    };
    let mut ends = vec![0];
    while let Some(&at) = ends.last().filter(|&&at| at + 16 <= stream.len()) {
        ends.push(at + 16 + len(at) as usize);
    }
    ends.iter().any(|end| end % chunksize == last as usize % chunksize)
}
