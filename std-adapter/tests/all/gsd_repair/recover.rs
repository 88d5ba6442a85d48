//! Of a damaged file, what is left is saved, and nothing else.

use super::*;
use made::{Frame, frames_of};
use std::collections::BTreeMap;
use striae::error::ErrorKind;
use striae::gsd::File;
use striae::gsd::recover::{Recover, Run};
use striae_core::gsd::Version;

/// A file before it is damaged.
pub(crate) struct Whole {
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: Vec<Frame>,
    names: Vec<Vec<u8>>,
    /// Slots of each frame's entries.
    slots: Vec<(u64, u64)>,
    /// The end of each frame's last chunk.
    ends: Vec<u64>,
    /// Index blocks: place, entries, slots.
    blocks: Vec<(u64, u64, u64)>,
    is_sealed: bool,
}

impl Whole {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let (_dir, path) = file_of(&bytes);
        let file = File::open(&path).unwrap();
        let frames = frames_of(&path).unwrap();
        let names: Vec<_> =
            file.names().unwrap().iter().map(|name| name.as_bytes().to_vec()).collect();
        let mut slots = vec![(u64::MAX, 0); frames.len()];
        let mut ends = vec![0; frames.len()];
        for (slot, chunk) in (0..).zip(file.chunks()) {
            let chunk = chunk.unwrap();
            let frame = chunk.frame as usize;
            slots[frame] = (slots[frame].0.min(slot), slot + 1);
            ends[frame] = ends[frame].max(chunk.span.end());
        }
        let head = *file.head();
        let at = head.index().location as usize;
        let entries = head.entries as usize;
        let mut blocks = Vec::new();
        if entries > 0 {
            let first = &bytes[at..at + 32];
            for place in (256..bytes.len() - 31).filter(|&place| &bytes[place..place + 32] == first)
            {
                let same = |slot: &usize| {
                    let (a, b) = (place + 32 * slot, at + 32 * slot);
                    bytes.get(a..a + 32).is_some_and(|it| it == &bytes[b..b + 32])
                };
                let count = (0..entries).take_while(same).count();
                let slots = if place == at { head.header.index.slots } else { 128 };
                blocks.push((place as u64, count as u64, slots.max(count as u64)));
            }
        }
        let is_sealed = head.state.record().is_some_and(|record| record.checksums);
        Self { bytes, frames, names, slots, ends, blocks, is_sealed }
    }

    /// Whether a frame's chunks and entries are still there if the file is cut, and what tells that
    /// it has no more.
    fn is_left(&self, frame: usize, len: u64) -> bool {
        let (start, end) = self.slots[frame];
        if len < 256 || start > end || self.ends[frame] > len {
            return false;
        }
        self.blocks.iter().any(|&(place, entries, slots)| {
            let told = if self.is_sealed { end } else { (end + 1).min(slots) };
            entries >= end && place + 32 * told <= len
        })
    }
}

impl Whole {
    /// Frames that are left of a file that is cut, and not saved.
    pub(crate) fn count_missed(&self, runs: &[Run], len: u64) -> u64 {
        let left = (0..self.frames.len()).filter(|&frame| self.is_left(frame, len));
        let missed = left.filter(|&frame| !is_saved(runs, frame as u64));
        let missed =
            missed.inspect(|frame| println!("cut at {len}: frame {frame} is lost: {runs:?}"));
        missed.count() as u64
    }
}

/// What came of recovering.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) files: u64,
    pub(crate) nothing: u64,
    pub(crate) whole: u64,
    pub(crate) fewer: u64,
    pub(crate) saved: u64,
    pub(crate) certain: u64,
    pub(crate) wrong: u64,
    pub(crate) missed: u64,
}

/// Recovers, and compares all that is saved with what was there.
pub(crate) fn recover_and_compare(whole: &Whole, damaged: &[u8], tally: &mut Tally) -> Vec<Run> {
    let (dir, path) = file_of(damaged);
    tally.files += 1;
    let Ok(recovery) = Recover::new().examine(&path) else {
        tally.nothing += 1;
        return Vec::new();
    };
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    assert_eq!(fs::read(&path).unwrap(), damaged, "the damaged file was touched");
    let frames = frames_of(&out).unwrap();
    let invented: BTreeMap<Vec<u8>, u16> =
        recovery.invented().map(|(id, name)| (name.to_vec(), id)).collect();
    let real = |name: &Vec<u8>| match invented.get(name) {
        Some(&id) => whole.names.get(id as usize).unwrap_or(name).clone(),
        None => name.clone(),
    };
    let runs: Vec<Run> = recovery.runs().cloned().collect();
    let mut saved = 0;
    for run in &runs {
        let Some(first) = run.first else { continue };
        for (frame, number) in run.frames.clone().zip(first..) {
            // Frames without chunks at the end are in no file.
            let empty = Frame::new();
            let got = frames.get(number as usize).unwrap_or(&empty);
            let got: Frame =
                got.iter().map(|(name, values)| (real(name), values.clone())).collect();
            // The last one of a trajectory gets its step, so that it is in the file.
            let is_last = number.saturating_add(1) == recovery.frames();
            let is_step = got.keys().eq([b"configuration/step".as_slice()]) && is_last;
            let wanted = whole.frames.get(frame as usize);
            let is_right = wanted == Some(&got) || wanted == Some(&empty) && is_step;
            tally.wrong += u64::from(!is_right);
            if !is_right && tally.wrong == 1 {
                println!(
                    "frame {frame} is wrong: {:?} {got:?} {:?}",
                    run.certainty,
                    whole.frames.get(frame as usize)
                );
            }
            tally.certain += u64::from(is_proven(&run.certainty));
            saved += 1;
        }
    }
    assert!(frames.len() as u64 <= saved);
    assert_eq!(recovery.frames(), saved);
    tally.saved += saved;
    if saved == whole.frames.len() as u64 {
        tally.whole += 1
    } else {
        tally.fewer += 1
    }
    runs
}

fn is_saved(runs: &[Run], frame: u64) -> bool {
    runs.iter().any(|run| run.frames.contains(&frame) && run.certainty.is_saved())
}

fn cut_everywhere(whole: &Whole, step: usize) -> Tally {
    let mut tally = Tally::default();
    for len in (0..=whole.bytes.len()).rev().step_by(step) {
        let runs = recover_and_compare(whole, &whole.bytes[..len], &mut tally);
        tally.missed += whole.count_missed(&runs, len as u64);
    }
    tally
}

fn print(what: &str, tally: &Tally) {
    let Tally { files, nothing, whole, fewer, saved, certain, wrong, missed } = tally;
    println!(
        "| {what} | {files} | {nothing} | {whole} | {fewer} | {saved} | {certain} | {wrong} | {missed} |"
    );
}

const HEAD: &str = "| file | cases | nothing | all frames | fewer frames | frames saved | certain | \
                    wrong | missed |\n|---|---|---|---|---|---|---|---|---|";

pub(crate) fn stride(len: usize, most: usize) -> usize {
    match std::env::var_os("STRIAE_EXHAUSTIVE") {
        Some(_) => 1,
        None => (len / most).max(1) | 1,
    }
}

#[test]
fn of_a_truncated_file_of_gsd_all_frames_that_are_left_are_saved() {
    println!("{HEAD}");
    for path in golden_files("v") {
        let whole = Whole::new(fs::read(&path).unwrap());
        let tally = cut_everywhere(&whole, stride(whole.bytes.len(), 200));
        print(path.file_stem().unwrap().to_str().unwrap(), &tally);
        assert_eq!((tally.wrong, tally.missed), (0, 0), "{}", path.display());
    }
}

#[test]
fn of_a_truncated_file_of_ours_all_frames_that_are_left_are_saved() {
    println!("{HEAD}");
    let v1 = Version { major: 1, minor: 0 };
    let small = Shape::small();
    let long = Shape { frames: 40, names_len: 1, ..small };
    for (name, shape) in [
        ("small, sealed", small),
        ("small", Shape { checksums: false, ..small }),
        ("layer 1", Shape { layer: v1, checksums: false, ..small }),
        ("layer 1, sealed", Shape { layer: v1, ..small }),
        ("aligned", Shape { align: 512, ..small }),
        ("index moved often, sealed", long),
        ("index moved often", Shape { checksums: false, ..long }),
        ("one commit, sealed", Shape { commit: 40, ..long }),
        ("one commit", Shape { commit: 40, checksums: false, ..long }),
        ("as by default", Shape { frames: 20, ..Shape::default() }),
    ] {
        let whole = Whole::new(Made::new(shape).bytes);
        let tally = cut_everywhere(&whole, stride(whole.bytes.len(), 300));
        print(name, &tally);
        assert_eq!((tally.wrong, tally.missed), (0, 0), "{name}");
    }
}

/// Changes one bit of each byte, or every one.
fn flip_everywhere(whole: &Whole, step: usize) -> Tally {
    let mut tally = Tally::default();
    for bit in (0..whole.bytes.len() * 8).step_by(step) {
        let mut bytes = whole.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        recover_and_compare(whole, &bytes, &mut tally);
    }
    tally
}

#[test]
fn of_a_sealed_file_with_a_wrong_bit_nothing_wrong_is_saved() {
    println!("{HEAD}");
    let small = Shape::small();
    for (name, shape) in [
        ("small, sealed", small),
        ("layer 1, sealed", Shape { layer: Version { major: 1, minor: 0 }, ..small }),
        ("frames without chunks", Shape { frames: 3, shown_slots: 9, ..small }),
    ] {
        let whole = Whole::new(Made::new(shape).bytes);
        let tally =
            flip_everywhere(&whole, if name == "small, sealed" { stride(58, 2) } else { 29 });
        print(name, &tally);
        assert_eq!((tally.wrong, tally.nothing), (0, 0), "{name}");
    }
}

/// Without checksums nothing tells that data are wrong; all else the commit record tells.
#[test]
fn of_a_committed_file_with_a_wrong_bit_in_its_metadata_nothing_wrong_is_saved() {
    let whole = Whole::new(Made::new(Shape { checksums: false, ..Shape::small() }).bytes);
    let (_dir, path) = file_of(&whole.bytes);
    let file = File::open(&path).unwrap();
    let data: Vec<_> = file.chunks().map(|chunk| chunk.unwrap().span).collect();
    let is_data = |byte: u64| data.iter().any(|span| (span.offset()..span.end()).contains(&byte));
    let mut tally = Tally::default();
    for bit in
        (0..whole.bytes.len() * 8).step_by(stride(58, 2)).filter(|bit| !is_data(*bit as u64 / 8))
    {
        let mut bytes = whole.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        recover_and_compare(&whole, &bytes, &mut tally);
    }
    print("small, metadata", &tally);
    assert_eq!((tally.wrong, tally.nothing, tally.fewer), (0, 0, 0));
}

/// A disk that lost sectors: zeros, or whatever was there before.
#[test]
fn of_a_sealed_file_without_some_sectors_all_that_is_left_is_saved_and_nothing_wrong() {
    let shape = Shape { frames: 60, commit: 5, index_slots: 2, names_len: 1, ..Shape::default() };
    let whole = Whole::new(Made::new(shape).bytes);
    for noise in [false, true] {
        let mut tally = Tally::default();
        for sector in 1..whole.bytes.len() / 512 {
            let mut bytes = whole.bytes.clone();
            for (number, byte) in bytes[sector * 512..][..512].iter_mut().enumerate() {
                *byte = if noise { (number * 37 + sector * 11) as u8 ^ 0x5a } else { 0 };
            }
            recover_and_compare(&whole, &bytes, &mut tally);
        }
        print(if noise { "noise in a sector" } else { "zeros in a sector" }, &tally);
        assert_eq!((tally.wrong, tally.nothing), (0, 0));
        // A frame has its chunks in few sectors, and the index is elsewhere once more, or proven.
        assert!(tally.saved >= tally.files * (60 - 8), "{tally:?}");
    }
}

/// Frames of the damaged golden files, of which three have three chunks each, that are saved.
#[test]
fn of_damaged_golden_files_just_the_frames_that_are_whole_are_saved() {
    let cases: &[(&str, &[u64])] = &[
        ("bad_app_not_nul_terminated", &[0, 1, 2]),
        ("bad_dup_frame_id", &[0, 2]),
        ("bad_dup_names", &[0, 1, 2]),
        ("bad_entry3_NM_wraps_u64", &[0, 2]),
        ("bad_entry3_extent_past_eof", &[0, 2]),
        ("bad_entry3_location_negative", &[0, 2]),
        ("bad_entry3_type_12", &[0, 2]),
        ("bad_entry4_frame_decreases", &[0, 2]),
        ("bad_entry4_type_0", &[0, 2]),
        ("bad_hole_entry4_location_0", &[0, 2]),
        ("bad_index_alloc_0", &[0, 1, 2]),
        ("bad_index_loc_minus1", &[0, 1, 2]),
        ("bad_name_invalid_utf8", &[0, 1, 2]),
        ("bad_namelist_not_terminated", &[0, 1, 2]),
        ("bad_overlapping_data", &[0, 2]),
        ("bad_stale_entries_after_end", &[0, 1, 2]),
        ("bad_torn_last_frame", &[0, 1]),
        ("bad_trunc_in_index", &[]),
        ("bad_trunc_in_namelist", &[]),
        ("bad_version_0_9", &[0, 1, 2]),
        ("bad_version_2_9_accepted", &[0, 1, 2]),
    ];
    // All of them were made from one file, of which this one has all but the version.
    let sound = golden_dir().join("bad_version_2_9_accepted.gsd");
    let sound = frames_of(&sound).unwrap();
    for (name, expected) in cases {
        let dir = crate::in_memory();
        let out = dir.path().join("out.gsd");
        let recovery = Recover::new().examine(golden_dir().join(format!("{name}.gsd"))).unwrap();
        let saved = recovery.runs().filter(|run| run.certainty.is_saved());
        let saved: Vec<u64> = saved.flat_map(|run| run.frames.clone()).collect();
        assert_eq!(saved, *expected, "{name}");
        recovery.write(&out, &|_| {}).unwrap();
        let values = |frame: &Frame| frame.values().cloned().collect::<Vec<_>>();
        for (got, frame) in frames_of(&out).unwrap().iter().zip(saved) {
            let mut wanted = values(&sound[frame as usize]);
            let mut got = values(got);
            wanted.sort_by(|a, b| a.3.cmp(&b.3)); // names are damaged in some
            got.sort_by(|a, b| a.3.cmp(&b.3));
            assert_eq!(got, wanted, "{name}: frame {frame}");
        }
    }
}

/// Such a name cannot be written again.
#[test]
fn a_name_that_fills_its_slot_costs_no_frame() {
    let v1 = Version { major: 1, minor: 0 };
    let mut bytes = Made::new(Shape { layer: v1, ..Shape::default() }).bytes;
    let names = u64::from_le_bytes(bytes[24..32].try_into().unwrap()) as usize;
    bytes[names..names + 64].fill(b'x');
    let (dir, path) = file_of(&bytes);
    let recovery = Recover::new().examine(&path).unwrap();
    let out = dir.path().join("out.gsd");
    recovery.write(&out, &|_| {}).unwrap();
    assert_eq!((frames_of(&out).unwrap().len(), recovery.lost()), (3, 0));
    assert!(!recovery.is_complete());
    assert_eq!(recovery.invented().map(|(id, _)| id).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_sound_file_is_recovered_as_it_is() {
    for shape in [Shape::small(), Shape { frames: 200, commit: 9, ..Shape::default() }] {
        let whole = Whole::new(Made::new(shape).bytes);
        let (dir, path) = file_of(&whole.bytes);
        let recovery = Recover::new().examine(&path).unwrap();
        assert!(recovery.is_exact());
        let out = dir.path().join("out.gsd");
        recovery.write(&out, &|_| {}).unwrap();
        assert_eq!(frames_of(&out).unwrap(), whole.frames);
        assert!(matches!(recovery.write(&out, &|_| {}).unwrap_err().kind(), ErrorKind::Exists));
    }
}

/// What the header of a file of gsd shows is all there, and no evidence is needed but the index.
#[test]
fn a_sound_file_of_gsd_is_recovered_complete_and_as_found() {
    for path in golden_files("v") {
        let recovery = Recover::new().examine(&path).unwrap();
        assert!(
            recovery.is_complete(),
            "{}: {:?}",
            path.display(),
            recovery.runs().collect::<Vec<_>>()
        );
        assert_eq!((recovery.guesses(), recovery.lost()), (0, 0), "{}", path.display());
        let out = crate::in_memory();
        let out = out.path().join("out.gsd");
        recovery.write(&out, &|_| {}).unwrap();
        assert_eq!(frames_of(&out).unwrap(), frames_of(&path).unwrap(), "{}", path.display());
        let is_empty = recovery.frames() == 0;
        assert_eq!(recovery.is_exact(), is_empty, "nothing proves it: {}", path.display());
    }
}
