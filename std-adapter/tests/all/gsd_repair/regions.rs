//! What becomes of files of which one bit is wrong, or the end is gone, by the part that is hit.
//!
//! The tables are printed with `--nocapture`; all bits and all lengths are tried with
//! `STRIAE_EXHAUSTIVE` in the environment, else some of them.

use super::*;
use made::{Frame, frames_of};
use recover::{Tally, Whole, recover_and_compare, stride};
use std::collections::BTreeMap;
use striae::Verify;
use striae::gsd::{File, OpenOptions};
use striae_core::gsd::Version;
use striae_core::gsd::raw::Shadow;

const REGIONS: [&str; 7] = ["header", "shadow", "index, used", "index, free", "names", "data", "-"];

/// The part of a file that each byte is in.
fn regions_of(bytes: &[u8]) -> Vec<&'static str> {
    let (_dir, path) = file_of(bytes);
    let file = File::open(&path).unwrap();
    let head = file.head();
    let mut regions = vec!["-"; bytes.len()];
    let mut fill = |start: u64, end: u64, name| {
        let end = (end as usize).min(bytes.len());
        regions[(start as usize).min(end)..end].fill(name);
    };
    let (used, names) = (head.index().span().unwrap(), head.header.names.span().unwrap());
    let shown = head.header.index;
    let record = head.state.record();
    let all = record.and_then(|record| record.index(shown)).unwrap_or(shown).span().unwrap();
    fill(all.offset(), all.end(), "index, free");
    fill(used.offset(), used.end(), "index, used");
    fill(names.offset(), names.end(), "names");
    for chunk in file.chunks() {
        let span = chunk.unwrap().span;
        fill(span.offset(), span.end(), "data");
    }
    if let Some(record) = record {
        fill(record.shadow, record.shadow + Shadow::BOTH_LEN, "shadow");
    }
    fill(0, 256, "header");
    regions
}

/// All that a reader sees: labels, versions, names; frames.
type Seen = (Vec<Vec<u8>>, Vec<Frame>);

/// Why a file was not read.
enum Refused {
    Open,
    Read,
}

fn read(path: &Path, is_checked: bool) -> Result<Seen, Refused> {
    let options = OpenOptions::new().attempts(1).checked(is_checked);
    let file = options.open(path).map_err(|_| Refused::Open)?;
    let header = file.header();
    let mut labels: Vec<Vec<u8>> =
        file.names().map_err(|_| Refused::Open)?.iter().map(|it| it.as_bytes().to_vec()).collect();
    labels.push(header.application.as_bytes().to_vec());
    labels.push(header.schema.as_bytes().to_vec());
    labels.push(header.schema_version.number().to_le_bytes().to_vec());
    let name_of = |id: u16| id.to_le_bytes().to_vec(); // names are compared by themselves
    let mut frames = Vec::new();
    if file.frames() > 1 << 16 {
        return Ok((labels, frames));
    }
    frames.resize(file.frames() as usize, Frame::new());
    for chunk in file.chunks() {
        let chunk = chunk.map_err(|_| Refused::Read)?;
        let bytes = file.read_bytes(&chunk).map_err(|_| Refused::Read)?;
        let frame = frames.get_mut(chunk.frame as usize).ok_or(Refused::Read)?;
        frame.insert(name_of(chunk.id), (chunk.kind, chunk.n, chunk.m, bytes));
    }
    Ok((labels, frames))
}

/// What reading came to, as in the tables of gsd's own damages.
#[derive(Debug, Default)]
struct Row {
    cases: u64,
    same: u64,
    /// Names, labels or versions are others, and data are the same.
    labels: u64,
    /// Chunks or frames are not there.
    loss: u64,
    /// Data are others.
    wrong: u64,
    read_error: u64,
    open_error: u64,
    /// Labels, losses and wrong data that `verify` calls sound.
    unsaid: u64,
    recovered: Tally,
}

impl Row {
    fn take(&mut self, whole: &Seen, got: Result<Seen, Refused>, is_sound: bool) {
        self.cases += 1;
        let class = match got {
            Err(Refused::Open) => &mut self.open_error,
            Err(Refused::Read) => &mut self.read_error,
            Ok(got) if got == *whole => &mut self.same,
            Ok(got) => {
                self.unsaid += u64::from(is_sound);
                let is_left = |(frame, whole): (&Frame, &Frame)| {
                    frame.iter().all(|(name, values)| whole.get(name) == Some(values))
                };
                match got.1.len() <= whole.1.len() && got.1.iter().zip(&whole.1).all(is_left) {
                    true if got.1 == whole.1 => &mut self.labels,
                    true => &mut self.loss,
                    false => &mut self.wrong,
                }
            }
        };
        *class += 1;
    }
}

/// Changes bits one by one, and reads, verifies and recovers what comes of it.
fn flip(name: &str, bytes: Vec<u8>, step: usize, is_checked: bool) -> BTreeMap<&'static str, Row> {
    let regions = regions_of(&bytes);
    let (_dir, path) = file_of(&bytes);
    let seen = read(&path, is_checked).ok().unwrap();
    let whole = Whole::new(bytes);
    let mut rows = BTreeMap::<_, Row>::new();
    for bit in (0..whole.bytes.len() * 8).step_by(step) {
        let mut bytes = whole.bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let row = rows.entry(regions[bit / 8]).or_default();
        fs::write(&path, &bytes).unwrap();
        let is_sound = Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound();
        row.take(&seen, read(&path, is_checked), is_sound);
        recover_and_compare(&whole, &bytes, &mut row.recovered);
    }
    println!("\n{name}, {} bytes\n", whole.bytes.len());
    println!(
        "| region | cases | same | labels | loss | wrong | read error | open error | verify calls \
         it sound, and it is not the same | recover: all frames | fewer | nothing | frames wrong |"
    );
    println!("|{}", "---|".repeat(13));
    for region in REGIONS {
        let Some(row) = rows.get(region) else { continue };
        let Row { cases, same, labels, loss, wrong, read_error, open_error, unsaid, .. } = row;
        let Tally { whole, fewer, nothing, wrong: frames_wrong, .. } = row.recovered;
        println!(
            "| {region} | {cases} | {same} | {labels} | {loss} | {wrong} | {read_error} | \
             {open_error} | {unsaid} | {whole} | {fewer} | {nothing} | {frames_wrong} |"
        );
    }
    rows
}

/// Its bytes as gsd 5.0.1 wrote them: three frames of three chunks.
fn of_gsd() -> Vec<u8> {
    let mut bytes = fs::read(golden_dir().join("bad_version_2_9_accepted.gsd")).unwrap();
    bytes[44..48].copy_from_slice(&Version::LAYER.number().to_le_bytes());
    bytes
}

#[test]
fn a_wrong_bit_in_a_sealed_file_is_silent_in_no_region() {
    let v1 = Version { major: 1, minor: 0 };
    for (name, shape) in [
        ("sealed, read with checks", Shape::small()),
        ("sealed, layer 1, read with checks", Shape { layer: v1, ..Shape::small() }),
    ] {
        let rows = flip(name, Made::new(shape).bytes, stride(800, 20), true);
        for (region, row) in rows {
            let silent = (row.loss, row.wrong, row.unsaid, row.recovered.wrong);
            assert_eq!(silent, (0, 0, 0, 0), "{name}: {region}: {row:?}");
            // Only what the checksums do not cover, and nobody needs, may differ unsaid.
            assert_eq!(row.labels, 0, "{name}: {region}: {row:?}");
        }
    }
}

#[test]
fn a_wrong_bit_in_a_committed_file_is_told_in_all_regions_but_the_data() {
    let bytes = Made::new(Shape { checksums: false, ..Shape::small() }).bytes;
    for (region, row) in flip("committed, without checksums", bytes, stride(800, 20), false) {
        let is_silent = region == "data";
        assert!(is_silent || (row.unsaid, row.recovered.wrong) == (0, 0), "{region}: {row:?}");
        assert_eq!(row.recovered.nothing, 0, "{region}: {row:?}");
    }
}

#[test]
fn a_wrong_bit_in_a_file_of_gsd_does_no_more_than_it_can_without_checksums() {
    for (region, row) in flip("by gsd 5.0.1", of_gsd(), stride(800, 10), false) {
        // Slots that are not used do not count, unless what stands there looks like one that is.
        let is_free = region == "index, free";
        assert!(!is_free || row.loss + row.wrong + row.recovered.wrong == 0, "{row:?}");
        // What is not the index changes what stands there, and nothing else.
        let is_data = region == "data";
        assert!(!is_data || row.wrong == row.cases, "{region}: {row:?}");
        let is_names = region == "names";
        assert!(!is_names || row.wrong == 0, "{region}: {row:?}");
    }
}

/// Cuts a file everywhere, and recovers what is left.
fn cut(name: &str, bytes: Vec<u8>, step: usize) {
    let regions = regions_of(&bytes);
    let whole = Whole::new(bytes);
    let mut rows = BTreeMap::<_, (u64, Tally)>::new();
    for len in (0..whole.bytes.len()).rev().step_by(step) {
        let (opened, tally) = rows.entry(regions[len]).or_default();
        let (_dir, path) = file_of(&whole.bytes[..len]);
        *opened += u64::from(read(&path, false).is_ok());
        let runs = recover_and_compare(&whole, &whole.bytes[..len], tally);
        tally.missed += whole.count_missed(&runs, len as u64);
        let is_sound = Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound();
        let is_same = frames_of(&path).is_ok_and(|frames| frames == whole.frames);
        assert!(!is_sound || is_same, "{name}: cut at {len}");
    }
    println!("\n{name}, cut within\n");
    println!(
        "| region | cases | read | recover: all frames | fewer | nothing | frames saved | certain \
         | wrong | missed |\n|{}",
        "---|".repeat(10)
    );
    for region in REGIONS {
        let Some((opened, tally)) = rows.get(region) else { continue };
        let Tally { files, whole, fewer, nothing, saved, certain, wrong, missed } = tally;
        println!(
            "| {region} | {files} | {opened} | {whole} | {fewer} | {nothing} | {saved} | {certain} \
             | {wrong} | {missed} |"
        );
        assert_eq!((*wrong, *missed), (0, 0), "{name}: {region}");
    }
}

#[test]
fn a_file_that_is_cut_in_any_region_is_saved_as_far_as_it_is_there() {
    let committed = Shape { frames: 5, ..Shape::default() };
    let moved = fs::read(golden_dir().join("v21_realloc_500_flush.gsd")).unwrap();
    for (name, bytes) in [
        ("by gsd 5.0.1", of_gsd()),
        ("by gsd 5.0.1, its index moved", moved),
        ("committed", Made::new(Shape { checksums: false, ..committed }).bytes),
        ("sealed", Made::new(committed).bytes),
    ] {
        let step = stride(bytes.len(), 300);
        cut(name, bytes, step);
    }
}

/// What verify calls sound is recovered whole, as it is read.
#[test]
fn what_verify_calls_sound_recover_calls_complete() {
    let mut count = 0;
    let bytes = of_gsd();
    for bit in (0..bytes.len() * 8).step_by(stride(800, 10)) {
        let mut bytes = bytes.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let (_dir, path) = file_of(&bytes);
        if !Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound() {
            continue;
        }
        let recovery = striae::gsd::recover::Recover::new().examine(&path).unwrap();
        let runs: Vec<_> = recovery.runs().collect();
        assert!(recovery.is_complete(), "bit {} of byte {}: {runs:?}", bit % 8, bit / 8);
        assert_eq!(recovery.frames(), File::open(&path).unwrap().frames());
        count += 1;
    }
    assert!(count > 100, "{count}");
}
