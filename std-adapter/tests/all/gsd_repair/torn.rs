//! Files that a crash of gsd's own writer leaves, in the model of its writes: of those that were
//! not synced, each sector is there or not (`spec/gsd.md#what-a-crash-of-gsd-leaves`).

use super::*;
use made::{Frame, frames_of};
use std::collections::BTreeSet;
use std::ops::Range;
use striae::gsd::recover::{Certainty, Doubt, Recover};
use striae_core::gsd::ChunkType;
use striae_kit::adapter::Random;
use striae_kit::gsd_stock::{Chunk, Stock};

const SECTOR: usize = 512;

/// A file that gsd writes, with all that was given to it.
pub(crate) struct History {
    pub(crate) stock: Stock,
    pub(crate) frames: Vec<Frame>,
}

impl History {
    /// An empty file of layer 1 or 2.
    pub(crate) fn new(layer: u8, schema: &[u8]) -> Self {
        let mut header = vec![0; 256];
        header[112..][..schema.len()].copy_from_slice(schema);
        let mut stock = Stock::open(&header, 1);
        stock.truncate();
        if layer == 1 {
            stock.file[44..48].copy_from_slice(&[0, 0, 1, 0]);
        }
        Self { stock, frames: Vec::new() }
    }

    /// Flushes frames of chunks of bytes; what was written for it is in the states of `stock`.
    pub(crate) fn flush(&mut self, frames: &[Vec<(&'static str, usize)>]) {
        let first = self.frames.len();
        for chunks in frames {
            let number = self.frames.len() as u8;
            let bytes = |name: &str, len: usize| -> Vec<u8> {
                (0..len as u8).map(|i| i ^ number.wrapping_mul(37) ^ name.as_bytes()[0]).collect()
            };
            let chunks = chunks.iter().map(|&(name, len)| {
                (name.as_bytes().to_vec(), (ChunkType::U8, len as u64, 1, bytes(name, len)))
            });
            self.frames.push(chunks.collect());
        }
        let mut chunks = Vec::new();
        for (frame, given) in (first as u64..).zip(frames) {
            for (name, _) in given {
                let bytes = &self.frames[frame as usize][name.as_bytes()].3;
                chunks.push(Chunk { frame, name: name.as_bytes(), bytes });
            }
        }
        self.stock.states = vec![self.stock.file.clone()];
        self.stock.synced = vec![1];
        self.stock.flush(&chunks, None);
    }

    /// Hands over what a crash while the last flush was written can leave, all that it wrote
    /// included, and whether entries were being written.
    pub(crate) fn each_crash(&self, random: &mut Random, each: &mut dyn FnMut(bool, &[u8])) {
        let Stock { states, synced, .. } = &self.stock;
        let mut seen = BTreeSet::new();
        for (&from, &to) in synced.iter().zip(&synced[1..]) {
            let (before, after) = (&states[from - 1], &states[to - 1]);
            let sector = |file: &[u8], number: usize| -> Vec<u8> {
                let start = (number * SECTOR).min(file.len());
                let mut bytes = file[start..file.len().min(start + SECTOR)].to_vec();
                bytes.resize(SECTOR, 0);
                bytes
            };
            let sectors = 0..after.len().div_ceil(SECTOR);
            let changed: Vec<_> =
                sectors.filter(|&it| sector(before, it) != sector(after, it)).collect();
            let all = 1_u64 << changed.len().min(60);
            for number in 0..all.min(64) {
                let kept = if all <= 64 { number } else { random.below(all) };
                for len in [before.len(), after.len()] {
                    let mut file = before.clone();
                    file.resize(after.len().next_multiple_of(SECTOR), 0);
                    for (bit, &it) in changed.iter().enumerate() {
                        if kept >> bit & 1 == 1 {
                            file[it * SECTOR..][..SECTOR].copy_from_slice(&sector(after, it));
                        }
                    }
                    file.truncate(len);
                    if seen.insert(file.clone()) {
                        each(to == states.len(), &file);
                    }
                    if before.len() == after.len() {
                        break;
                    }
                }
            }
        }
    }
}

/// What came of the crashes.
#[derive(Debug, Default)]
struct Tally {
    crashes: u64,
    complete: u64,
    /// Called perhaps cut, and it was.
    cut: u64,
    /// Called perhaps cut, and all that it shows is whole.
    whole: u64,
    /// With a hole, or half an entry.
    damaged: u64,
}

/// Recovers what a crash left, of which the first `durable` frames were there before.
fn recover(
    history: &History,
    durable: usize,
    are_entries: bool,
    file: &[u8],
    what: &str,
    tally: &mut Tally,
) {
    let (dir, path) = file_of(file);
    tally.crashes += 1;
    let recovery = Recover::new().examine(&path).unwrap();
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    let found = frames_of(&out).unwrap();
    let runs: Vec<_> = recovery.runs().cloned().collect();
    let what = format!("{what}, {durable} frames before, {runs:?}");
    let (mut saved, mut wrong) = (0, 0);
    let mut may_be_cut = false;
    for run in &runs {
        may_be_cut |= run.certainty == Certainty::Guess(Doubt::Torn);
        for (frame, number) in run.frames.clone().zip(run.first.unwrap_or(0)..) {
            let is_durable = frame < durable as u64;
            assert!(run.certainty.is_saved() || !is_durable, "{what}: frame {frame} was dropped");
            if !run.certainty.is_saved() {
                continue;
            }
            let truth = &history.frames[frame as usize];
            let is_right = found.get(number as usize).unwrap_or(&Frame::new()) == truth;
            let is_guess = matches!(run.certainty, Certainty::Guess(_));
            assert!(is_right || is_guess && !is_durable, "{what}: frame {frame} is wrong");
            assert!(!is_proven(&run.certainty), "{what}: nothing proves frame {frame}");
            saved += u64::from(is_durable);
            wrong += u64::from(!is_right);
        }
    }
    assert_eq!(saved, durable as u64, "{what}: durable frames are missing");
    let is_kept = recovery.is_complete() || may_be_cut && recovery.lost_entries() == Some(0);
    assert!(is_kept || are_entries, "{what}: all that was there is there");
    match (recovery.is_complete(), recovery.lost_entries(), may_be_cut) {
        (true, ..) => tally.complete += 1,
        (false, Some(0), true) if recovery.lost() == 0 && wrong == 0 => tally.whole += 1,
        (false, Some(0), true) if recovery.lost() == 0 => tally.cut += 1,
        _ => tally.damaged += 1,
    }
    assert!(!recovery.is_complete() || wrong == 0, "{what}: half a frame is called complete");
}

/// Numbers of histories: few, or all with `STRIAE_EXHAUSTIVE` in the environment; from
/// `STRIAE_SEED` on.
pub(crate) fn seeds(few: u64, all: u64) -> Range<u64> {
    let first = std::env::var("STRIAE_SEED").map_or(0, |seed| seed.parse().unwrap());
    first..first + std::env::var_os("STRIAE_EXHAUSTIVE").map_or(few, |_| all)
}

type Frames = Vec<Vec<(&'static str, usize)>>;

fn frames(random: &mut Random, count: u64, most: u64, empty: u64) -> Frames {
    const NAMES: [&str; 8] =
        ["position", "b", "charge", "step", "e", "log/f", "g", "velocity of the particles"];
    let frame = |random: &mut Random| {
        let mut names = NAMES.to_vec();
        let mut chunks = Vec::new();
        for _ in 0..=random.below(most) {
            let name = names.remove(random.index(names.len()));
            let len = if random.below(empty) == 0 { 0 } else { 1 + random.index(40) };
            chunks.push((name, len));
        }
        chunks
    };
    (0..count).map(|_| frame(random)).collect()
}

#[test]
fn of_what_a_crash_of_gsd_leaves_no_half_frame_is_complete_and_no_durable_one_dropped() {
    let mut tally = Tally::default();
    for seed in seeds(8, 3000) {
        let mut random = Random(seed);
        let mut history = History::new(1 + (seed % 4 != 0) as u8, b"probe");
        let (most, empty) = (1 + random.below(8), 1 + random.below(12));
        for flushes in (0..random.below(4)).rev() {
            let many = if flushes == 0 { 60 } else { 5 };
            let count = 1 + random.below(many);
            history.flush(&frames(&mut random, count, most, empty));
        }
        let durable = history.frames.len();
        let count = 1 + random.below(30);
        history.flush(&frames(&mut random, count, most, empty));
        let what = format!("seed {seed}");
        let mut crashes = random.clone();
        history.each_crash(&mut crashes, &mut |are_entries, file| {
            recover(&history, durable, are_entries, file, &what, &mut tally);
        });
    }
    println!("{tally:?}");
    assert!(tally.complete > 0 && tally.cut > 0 && tally.damaged > 0, "{tally:?}");
}

/// The last entry ends where a sector does, so that there is nothing else to tell.
#[test]
fn a_sound_trajectory_is_called_complete_wherever_its_index_ends() {
    let mut history = History::new(2, b"hoomd");
    history.flush(&[vec![
        ("configuration/step", 8),
        ("particles/N", 4),
        ("particles/position", 12),
        ("particles/mass", 4),
    ]]);
    for frame in 1..200 {
        let (_dir, path) = file_of(&history.stock.file);
        let recovery = Recover::new().examine(&path).unwrap();
        let runs: Vec<_> = recovery.runs().collect();
        assert!(recovery.is_complete(), "{frame} frames: {runs:?}");
        let chunks = [("configuration/step", 8), ("particles/position", 12), ("particles/N", 4)];
        history.flush(&[chunks[..1 + frame % 3].to_vec()]);
    }
}

/// Its bytes are those of a file of which a chunk without rows was lost, which other frames have.
#[test]
fn a_file_that_can_lack_a_chunk_without_rows_is_called_perhaps_cut() {
    let with = vec![("a", 3), ("log/b", 0)];
    let without = vec![("a", 3)];
    let file = |frames: &[Vec<_>]| {
        let mut history = History::new(2, b"hoomd");
        history.flush(frames);
        history.stock.file
    };
    // Eight entries lie between the header and the end of its sector.
    let mut torn =
        file(&[vec![with.clone()], vec![without.clone(); 5], vec![with.clone()]].concat());
    assert!(torn[SECTOR..][..32].iter().any(|&byte| byte != 0));
    torn[SECTOR..][..32].fill(0);
    let sound = file(&[vec![with], vec![without; 6]].concat());
    assert_eq!(torn, sound);
    let (_dir, path) = file_of(&sound);
    let recovery = Recover::new().examine(&path).unwrap();
    let runs: Vec<_> = recovery.runs().map(|run| (run.frames.clone(), run.certainty)).collect();
    let (shown, doubt) = (Certainty::AsFound(Proof::Shown), Certainty::Guess(Doubt::Torn));
    assert_eq!(runs, [(0..6, shown), (6..7, doubt)]);
    assert!(!recovery.is_complete());
}

/// The runs of what is recovered of a file.
fn runs_of(file: &[u8]) -> Vec<(Range<u64>, Certainty)> {
    let (_dir, path) = file_of(file);
    let recovery = Recover::new().examine(&path).unwrap();
    recovery.runs().map(|run| (run.frames.clone(), run.certainty)).collect()
}

/// The other names are of chunks that nobody misses if they have no rows; so the bytes decide.
#[test]
fn bytes_behind_the_last_frame_say_that_a_chunk_lost_its_entry() {
    let (step, mass) = (("configuration/step", 8), ("particles/mass", 4));
    // Eight entries lie between the header and the end of its sector.
    let file = |last: &[_]| {
        let mut history = History::new(2, b"hoomd");
        history.flush(&[vec![vec![step, mass]; 3], vec![vec![step], last.to_vec()]].concat());
        history.stock.file
    };
    let mut torn = file(&[step, mass]);
    assert!(torn[SECTOR..][..32].iter().any(|&byte| byte != 0));
    torn[SECTOR..][..32].fill(0);
    let (shown, doubt) = (Certainty::AsFound(Proof::Shown), Certainty::Guess(Doubt::Torn));
    assert_eq!(runs_of(&torn), [(0..4, shown), (4..5, doubt)]);
    assert_eq!(runs_of(&file(&[step])), [(0..5, shown)]);
}

/// gsd's first block has 128 slots; the next block's 129th is the first one that a crash can lose.
#[test]
fn frames_that_were_durable_before_the_index_moved_are_not_in_doubt() {
    let mut undecided = 0;
    for len in 0..SECTOR {
        let mut history = History::new(2, b"probe");
        history.flush(&vec![vec![("a", 1), ("b", 1)]; 62]);
        history.flush(&[vec![("a", 1), ("b", len / 2)], vec![("a", 1), ("b", len - len / 2)]]);
        history.flush(&[vec![("a", 1), ("b", 1)]]);
        let Stock { states, synced, .. } = &history.stock;
        // The header shows the new block, and of its new entries there are none.
        let moved = &states[synced[synced.len() - 2] - 1];
        let number = |at: usize| u64::from_le_bytes(moved[at..][..8].try_into().unwrap());
        let end = number(8) as usize + 128 * 32;
        assert_eq!((number(16), moved[end..][..32].iter().max()), (256, Some(&0)));
        // Another place of the block's end says itself that the last frame is whole.
        if end.is_multiple_of(SECTOR) {
            undecided += 1;
            assert_eq!(runs_of(moved), [(0..64, Certainty::AsFound(Proof::Shown))], "{len}");
        }
    }
    assert!(undecided > 0);
}
