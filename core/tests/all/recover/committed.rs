//! Commits, one that was killed, and then a damaged field: what is exact is one of them.

use super::histories::Mortal;
use super::recover;
use striae_core::endian::ByteOrder;
use striae_core::sion::{Attributes, Finished, Memory, Options, Pen, Writer};
use striae_kit::history::Facts;
use striae_kit::hosts::stride;

/// What a task writes, or a commit of all (`None`).
type Act = Option<(u32, usize)>;

const COMMIT: Act = None;

/// Damaged versions of a file.
type Damage = fn(&[u8], &Facts) -> Vec<Vec<u8>>;

struct Plan {
    chunks: Vec<(i64, u64)>,
    keyval: bool,
    options: Options<'static>,
    acts: Vec<Act>,
}

struct Committed {
    bytes: Vec<u8>,
    /// Each stream at the last commit that returned, and all that was written.
    streams: Vec<[Vec<u8>; 2]>,
}

impl Plan {
    /// Does all acts; the last one is killed after so many writes.
    fn killed_after(&self, writes: usize) -> Committed {
        let (mut pens, mut ledger, mut window) =
            ([Pen::EMPTY; 128], vec![Finished::EMPTY; 512], [0; 2048]);
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
        let (store, keyval) = (Mortal::default(), self.keyval);
        let nfiles = if self.options.mapping.is_empty() { 1 } else { 2 };
        let order = ByteOrder::Little;
        let attributes =
            Attributes { order, keyval, nfiles, filenumber: 0, ..Attributes::default() };
        let chunks = self.chunks.as_slice();
        let writer = Writer::create(store.clone(), &attributes, b"m", chunks, memory, self.options);
        let mut writer = writer.unwrap();
        let mut streams = vec![[vec![], vec![]]; chunks.len()];
        for (index, act) in self.acts.iter().enumerate() {
            if index + 1 == self.acts.len() {
                *store.writes.borrow_mut() = Some(writes);
            }
            let Some((task, len)) = *act else {
                if writer.commit().is_err() {
                    break;
                }
                streams.iter_mut().for_each(|[committed, live]| committed.clone_from(live));
                continue;
            };
            let value = vec![b'a' + task as u8 % 26; len];
            let live = &mut streams[task as usize][1];
            if self.keyval {
                live.extend([7u64.to_le_bytes(), (len as u64).to_le_bytes()].as_flattened());
                writer.write_key(task, 7, &value).unwrap();
            } else {
                writer.write(task, &value).unwrap();
            }
            live.extend(value);
        }
        let bytes = store.bytes.borrow().clone();
        Committed { bytes, streams }
    }

    /// Holds what is exact, of the file killed at each write and then damaged, against what was
    /// committed. Answers how many streams were exact.
    fn check(&self, damage: Damage) -> usize {
        let mut exact = 0;
        for writes in 0..12 {
            let Committed { bytes, streams } = self.killed_after(writes);
            for damaged in damage(&bytes, &Facts::of(&bytes)) {
                for (task, found) in recover(&damaged).unwrap().iter().enumerate() {
                    if found.is_sound() {
                        exact += 1;
                        let [committed, live] = &streams[task];
                        let why = found.recovered.certainty;
                        assert!(
                            [committed, live].contains(&&found.bytes),
                            "killed at {writes}, task {task}: {} bytes, {why}",
                            found.bytes.len(),
                        );
                    }
                }
            }
        }
        exact
    }
}

/// All values of the two low bytes of start_of_varheader.
fn starts(bytes: &[u8], facts: &Facts) -> Vec<Vec<u8>> {
    let changed = |at: usize| {
        (0..=u8::MAX).step_by(stride(5)).map(move |value| {
            let mut bytes = bytes.to_vec();
            bytes[at] = value;
            bytes
        })
    };
    changed(facts.fields + 4).chain(changed(facts.fields + 5)).collect()
}

/// Its front, read as a blocksize, is 2.
const MAPPING: [(u32, u32); 2] = [(0, 0), (0, 1)];

#[test]
fn sizes_are_no_counts_if_the_start_of_meta2_is_shifted() {
    for sealed in [false, true] {
        let plan = Plan {
            chunks: vec![(0, 64), (1, 600)],
            keyval: false,
            options: Options { sealed, ahead: 40, mapping: &MAPPING, ..Options::default() },
            acts: vec![Some((0, 1)), COMMIT, COMMIT],
        };
        assert!(plan.check(starts) > 0);
    }
}

#[test]
fn a_seal_proves_nothing_of_meta2_that_was_being_written_in_front_of_it() {
    let plan = Plan {
        chunks: (0..70).map(|rank| (rank, 4096)).collect(),
        keyval: false,
        options: Options { sealed: true, ahead: 5, ..Options::default() },
        acts: vec![COMMIT, Some((37, 1500)), Some((23, 300)), COMMIT, COMMIT],
    };
    assert!(plan.check(starts) > 0);
}
