//! What recover calls certain is what was committed, and what it calls complete is all of it, in
//! random histories with each kind of damage.

use super::histories::History;
use super::*;
use made::{Frame, frame_of, frames_of, write_frame};
use std::collections::BTreeMap;
use std::ops::Range;
use striae::Verify;
use striae::gsd::File;
use striae::gsd::recover::{Certainty, Doubt, Proof, Recover};
use striae_core::gsd::{Attributes, ChunkType, Slot, Writer};
use striae_kit::adapter::Random;
use striae_kit::growing::Growing;
use striae_kit::gsd_stock::{Chunk, Stock};
use torn::seeds;

/// A kind of damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Damage {
    None,
    Cut,
    Bit,
    Byte,
    Sector,
    Sectors,
    OldHeader,
}

impl Damage {
    pub(crate) const ALL: [Self; 7] = [
        Self::None,
        Self::Cut,
        Self::Bit,
        Self::Byte,
        Self::Sector,
        Self::Sectors,
        Self::OldHeader,
    ];

    /// Damages a file, and says which bytes.
    pub(crate) fn apply(
        self,
        file: &mut Vec<u8>,
        headers: &[[u8; 256]],
        random: &mut Random,
    ) -> Range<usize> {
        let at = place(file, random);
        let sectors = |file: &mut Vec<u8>, count: usize| {
            let start = at / 512 * 512;
            let end = (start + count * 512).min(file.len());
            file[start..end].fill(0);
            start..end
        };
        match self {
            Self::None => 0..0,
            Self::Cut => {
                file.truncate(at);
                at..usize::MAX
            }
            Self::Bit => {
                file[at] ^= 1 << random.below(8);
                at..at + 1
            }
            Self::Byte => {
                file[at] = random.below(256) as u8;
                at..at + 1
            }
            Self::Sector => sectors(file, 1),
            Self::Sectors => sectors(file, 2 + random.index(7)),
            Self::OldHeader => {
                let old = &headers[random.index(headers.len())];
                file[..256].copy_from_slice(old);
                0..256
            }
        }
    }
}

/// A byte of a file: anywhere, or in a part that few bytes are in, or next to where such a part
/// starts.
fn place(file: &[u8], random: &mut Random) -> usize {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let index = number(8).saturating_add(random.index(32 * number(16).min(64) + 1));
    let names = number(24).saturating_add(random.index(65));
    let parts =
        [8 + random.index(40), 176 + random.index(80), 512 + random.index(512), index, names];
    let at = match random.below(2) {
        0 => random.index(file.len()),
        _ => parts[random.index(parts.len())],
    };
    at.min(file.len() - 1)
}

/// Type, rows, columns of each chunk.
fn shape(frame: &Frame) -> BTreeMap<&[u8], (ChunkType, u64, u32)> {
    frame.iter().map(|(name, &(kind, n, m, _))| (name.as_slice(), (kind, n, m))).collect()
}

/// Whether a commit record covers all entries.
fn is_covered(file: &[u8]) -> bool {
    let (_dir, path) = file_of(file);
    let file = File::open(&path);
    let record = file.ok().and_then(|file| file.head().state.record().map(|it| it.crc_from));
    record == Some(0)
}

/// Where the chunks of each frame are.
fn places(file: &[u8]) -> Vec<(u64, Range<usize>)> {
    let (_dir, path) = file_of(file);
    let Ok(file) = File::open(&path) else { return Vec::new() };
    let chunks = file.chunks().filter_map(Result::ok);
    chunks
        .map(|chunk| (chunk.frame, chunk.span.offset() as usize..chunk.span.end() as usize))
        .collect()
}

/// Whether a shadow was written when a later commit than that of the header was durable.
fn is_overtaken(file: &[u8]) -> bool {
    let number = |at: usize, len: usize| {
        file.get(at..at + len)
            .map(|bytes| bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
    };
    // A record is the last 80 bytes of an image of 120; its number is 48 bytes behind its start.
    let both = number(208, 8).unwrap() as usize;
    let old = |shadow: usize| {
        file.get(shadow..shadow + 8)
            .filter(|magic| *magic == b"striaeSH")
            .and_then(|_| number(shadow + 8 + 40 + 48, 4))
    };
    // A header may be as it was before a commit of one sync, which counts nevertheless.
    let shown = number(224, 4).unwrap() + u64::from(file[251]);
    file[176..182] == *b"striae"
        && (both..both + 512).step_by(256).any(|shadow| old(shadow) > Some(shown))
}

/// How it went, by kinds of damage.
#[derive(Debug, Default)]
struct Tally {
    files: u64,
    nothing: u64,
    complete: u64,
    proven: u64,
    saved: u64,
}

fn judge(history: &History, damage: Damage, random: &mut Random, what: &str, tally: &mut Tally) {
    let mut file = history.disk.file.clone();
    if file.len() < 256 || history.disk.headers.is_empty() {
        return;
    }
    let bytes = damage.apply(&mut file, &history.disk.headers, random);
    let (dir, path) = file_of(&file);
    tally.files += 1;
    let Ok(recovery) = Recover::new().examine(&path) else {
        tally.nothing += 1;
        return;
    };
    let what = format!("{what}: {damage:?} {bytes:?} of {}", history.disk.file.len());
    let what = || {
        let runs: Vec<_> = recovery.runs().collect();
        let counts: Vec<_> = history.commits.iter().map(Vec::len).collect();
        format!("{what}; {}; commits of {counts:?}, from {}; {runs:?}", history.acts, history.now)
    };
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    let found = frames_of(&out).unwrap();
    let of_frame =
        |frames: &[Frame], number: u64| frames.get(number as usize).cloned().unwrap_or_default();
    // Bytes of chunks are proven by nothing but checksums.
    let places = places(&history.disk.file);
    let touched = |frame: u64| {
        // Those of an older commit may have been written over since a truncation.
        if damage == Damage::OldHeader {
            return true;
        }
        let mut places = places.iter().filter(|(of, _)| *of == frame);
        places.any(|(_, place)| place.start < bytes.end && bytes.start < place.end)
    };
    let is_equal = |frame: u64, got: &Frame, truth: &Frame, is_sealed: bool| match is_sealed
        || !touched(frame)
    {
        true => got == truth,
        false => shape(got) == shape(truth),
    };
    // Of a header that is an older one only a shadow can tell.
    let is_old = damage == Damage::OldHeader;
    let is_told = is_old && is_overtaken(&file);
    let from = if is_old { 0 } else { history.now };
    for run in recovery.runs().filter(|run| run.certainty.is_saved()) {
        let is_sealed = run.certainty == Certainty::Exact;
        for (frame, number) in run.frames.clone().zip(run.first.unwrap()..) {
            tally.saved += 1;
            if is_proven(&run.certainty) {
                tally.proven += 1;
                let got = of_frame(&found, number);
                let mut truths =
                    history.commits[from..].iter().map(|commit| of_frame(commit, frame));
                let is_true = truths.any(|truth| is_equal(frame, &got, &truth, is_sealed));
                assert!(is_true, "{}: frame {frame} is proven and wrong: {got:?}", what());
            }
        }
    }
    if !recovery.is_complete() {
        let is_crash = history.is_crashed
            || recovery.runs().any(|run| run.certainty == Certainty::Guess(Doubt::Torn));
        assert!(damage != Damage::None || is_crash, "{}: it is sound", what());
        return;
    }
    assert!(!is_told, "{}: an older header is taken for the last", what());
    tally.complete += 1;
    let is_proven = match damage {
        Damage::None | Damage::Cut => true,
        Damage::OldHeader => recovery.runs().all(|run| is_proven(&run.certainty)),
        // What gsd wrote has no checksum, also where striae goes on.
        _ => is_covered(&history.disk.file),
    };
    let is_equal: IsEqual<'_> = &|frame, got, truth| is_equal(frame, got, truth, false);
    let is_all = !is_proven || is_all_there(history, from, &found, is_equal);
    assert!(is_all, "{}: not all is there", what());
}

/// Whether a frame is what it must be.
type IsEqual<'a> = &'a dyn Fn(u64, &Frame, &Frame) -> bool;

/// Whether these are all frames of a commit that may be the last one, the first of which is `from`.
fn is_all_there(history: &History, from: usize, found: &[Frame], is_equal: IsEqual<'_>) -> bool {
    let is_all = |commit: &[Frame]| {
        let mut pairs = commit.iter().zip(found).zip(0..);
        commit.len() == found.len()
            && pairs.all(|((truth, got), frame)| is_equal(frame, got, truth))
    };
    let is_front = |commit: &[Frame]| {
        let front = commit.len().min(found.len());
        found.len() >= history.commits[history.now].len() && is_all(&commit[..front])
    };
    // gsd's flush is cut off after any frame.
    let is_cut = history.is_crashed && !is_covered(&history.disk.file);
    let mut commits = history.commits[from..].iter();
    commits.any(|commit| is_all(commit) || is_cut && is_front(commit))
}

#[test]
fn what_is_proven_was_committed_and_what_is_complete_is_all_of_it_in_random_histories() {
    let mut tallies = BTreeMap::<Damage, Tally>::new();
    for seed in seeds(25, 12_000) {
        if seed % 1000 == 999 {
            println!("history {seed}"); // of all of them, which take minutes
        }
        let mut random = Random(seed);
        let history = History::new(&mut random);
        for damage in Damage::ALL {
            let tally = tallies.entry(damage).or_default();
            judge(&history, damage, &mut random, &format!("history {seed}"), tally);
        }
    }
    println!("{tallies:#?}");
    assert!(tallies.values().all(|tally| tally.proven > 0), "{tallies:?}");
}

/// The file after each of five commits of a frame, the last of which closes it.
fn commits(checksums: bool) -> Vec<Vec<u8>> {
    let about = Attributes { checksums, ..Attributes::default() };
    let mut writer = Writer::create(Growing::default(), &about, [Slot::EMPTY; 16]).unwrap();
    let mut commit = |number| {
        write_frame(&mut writer, &frame_of(number));
        writer.commit().unwrap();
        writer.store().0.clone()
    };
    (0..5).map(&mut commit).collect()
}

fn runs(file: &[u8]) -> (bool, Vec<(Range<u64>, Certainty)>) {
    let (_dir, path) = file_of(file);
    let recovery = Recover::new().examine(&path).unwrap();
    let runs = recovery.runs().map(|run| (run.frames.clone(), run.certainty));
    (recovery.is_complete(), runs.collect())
}

/// No crash leaves one that is two commits behind, as its sync came before the next shadow.
#[test]
fn an_older_header_is_damage_and_costs_no_commit_that_a_shadow_was_written_after() {
    let commits = commits(false);
    let committed = Certainty::AsFound(Proof::Committed);
    for (number, old) in (1..4).zip(&commits) {
        let mut file = commits[4].clone();
        file[..256].copy_from_slice(&old[..256]);
        let guess = Certainty::Guess(Doubt::Header);
        assert_eq!(runs(&file), (false, vec![(0..4, guess)]), "header of commit {number}");
        let (_dir, path) = file_of(&file);
        assert!(
            !Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound(),
            "header of commit {number}"
        );
    }
    let mut crashed = commits[4].clone();
    crashed[..256].copy_from_slice(&commits[3][..256]);
    assert_eq!(runs(&crashed), (true, vec![(0..4, committed)]));
}

/// A commit of one sync is in its shadow alone until the next one.
#[test]
fn a_file_whose_next_commit_may_have_been_in_a_damaged_shadow_is_not_complete() {
    let about = Attributes { one_sync: true, ..Attributes::default() };
    let mut writer = Writer::create(Growing::default(), &about, [Slot::EMPTY; 16]).unwrap();
    for number in 0..5 {
        assert!(runs(&writer.store().0).0, "{number} commits");
        write_frame(&mut writer, &frame_of(number));
        writer.commit().unwrap();
    }
    let mut file = writer.store().0.clone();
    // The commit after this one is of an even number: the first shadow.
    file[512 + 44] ^= 1;
    assert!(!runs(&file).0);
    let (_dir, path) = file_of(&file);
    assert!(!Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound());
}

/// gsd may find the end of the index behind them, and its next append brings them to life.
#[test]
fn what_a_crash_of_gsd_has_left_behind_the_committed_entries_is_damage() {
    let about = Attributes::default();
    let writer = Writer::create(Growing::default(), &about, [Slot::EMPTY; 16]).unwrap();
    let file = writer.into_store().0;
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let (index, slots) = (number(8), number(16));
    let mut entry = [0; 32];
    (entry[16], entry[17], entry[24], entry[30]) = (0, 1, 1, 1);
    assert_eq!(runs(&file), (true, vec![]));
    for slot in [1, 2, 77, slots - 1] {
        let mut file = file.clone();
        file[index + 32 * slot..][..32].copy_from_slice(&entry);
        let (_dir, path) = file_of(&file);
        let mut found = Vec::new();
        Verify::new().gsd(&path, &mut |finding| found.push(finding.facts().kind)).unwrap();
        assert!(found.contains(&"hole"), "slot {slot}: {found:?}");
        assert_eq!(runs(&file), (false, vec![]), "slot {slot}");
    }
}

/// What striae adopts of gsd has no checksum: an entry that says another frame leaves its own one
/// empty.
#[test]
fn a_frame_without_chunks_is_exact_only_if_the_entries_on_both_sides_are_proven() {
    let mut stock = Stock::open(&[0; 256], 1);
    stock.truncate();
    let chunk = |frame| Chunk { frame, name: b"step", bytes: b"1" };
    stock.flush(&[chunk(0), chunk(1), chunk(3)], None);
    let mut writer = Writer::open(Growing(stock.file), [Slot::EMPTY; 16]).unwrap();
    for frame in 4..6 {
        write_frame(&mut writer, &frame_of(frame));
    }
    writer.close().unwrap();
    let mut file = writer.into_store().0;
    let index = u64::from_le_bytes(file[8..16].try_into().unwrap()) as usize;
    let [shown, committed] = [Proof::Shown, Proof::Committed].map(Certainty::AsFound);
    assert_eq!(runs(&file).1, [(0..4, shown), (4..6, committed)]);
    assert_eq!(file[index + 64], 3);
    file[index + 64] = 2;
    assert_eq!(runs(&file).1, [(0..4, shown), (4..6, committed)]);
}

/// The last commit may have been cut off, so that data of it are missing, or a later one have
/// truncated the file.
#[test]
fn without_a_header_nothing_is_proven() {
    for checksums in [false, true] {
        let mut file = commits(checksums)[4].clone();
        file[..256].fill(0);
        assert_eq!(runs(&file), (false, vec![(0..5, Certainty::Guess(Doubt::Header))]));
    }
}

/// A frame's checksums are of ids. The names have one in the record, which is stale when gsd has
/// appended, and still that of the names of before.
#[test]
fn a_frame_is_exact_only_if_its_names_are() {
    let mut stock = Stock::open(&commits(true)[4], 1);
    stock.flush(&[Chunk { frame: 5, name: b"of gsd", bytes: b"1" }], None);
    let (exact, shown) = (Certainty::Exact, Certainty::AsFound(Proof::Shown));
    assert_eq!(runs(&stock.file).1, [(0..5, exact), (5..6, shown)]);
    let name = stock.file.windows(9).rposition(|bytes| bytes == b"position\0").unwrap();
    stock.file[name] ^= 1;
    let unnamed = Certainty::AsFound(Proof::Unnamed);
    assert_eq!(runs(&stock.file).1, [(0..5, unnamed), (5..6, shown)]);
}
