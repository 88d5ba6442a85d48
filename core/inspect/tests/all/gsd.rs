//! GSD files of gsd itself and of core's writer, whole and damaged: what is verified, recovered and
//! dumped of them, in memory.

use std::cell::Cell;
use std::convert::Infallible;
use std::path::Path;
use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, Version, Writer};
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_inspect::finding::{Found as _, Severity};
use striae_inspect::gsd::recover::{Certainty, Doubt, IntoWriter, Loss, Proof, Recovery};
use striae_inspect::gsd::verify::{Depth, Summary, verify};
use striae_inspect::gsd::{Basis, FindingKind};
use striae_inspect::subject::Subject;
use striae_kit::growing::Growing;
use striae_kit::hosts::stride;

fn golden() -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden/gsd");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().into_string().unwrap(), entry.path()))
        .filter(|(name, _)| name.ends_with(".gsd"))
        .map(|(name, path)| (name, std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() > 40, "{}", files.len());
    files
}

fn verified(bytes: &[u8]) -> (Summary, Vec<FindingKind>) {
    let mut damage = Vec::new();
    let summary = verify(&bytes, Depth::Data, &mut |finding| {
        if finding.severity() == Severity::Damage {
            damage.push(finding);
        }
    });
    (summary.unwrap(), damage)
}

fn saved(bytes: &[u8]) -> (Recovery, Vec<u8>) {
    let recovery = Recovery::examine(&bytes).unwrap();
    let memory = vec![Slot::EMPTY; 1 << 10];
    let store = Growing::default();
    let mut writer = Writer::create(store, &recovery.attributes(), memory).unwrap();
    let mut output = IntoWriter::new(&bytes, &mut writer).unwrap();
    recovery.save(&bytes, &mut output).unwrap();
    writer.close().unwrap();
    (recovery, writer.into_store().0)
}

/// Frames with checksums, committed one by one.
fn written(one_sync: bool) -> Vec<u8> {
    written_with(&Attributes { checksums: true, one_sync, ..Attributes::default() })
}

/// Frames with these attributes, committed one by one.
fn written_with(about: &Attributes<'_>) -> Vec<u8> {
    let memory = vec![Slot::EMPTY; 8];
    let mut writer = Writer::create(Growing::default(), about, memory).unwrap();
    for frame in 0_u8..6 {
        for name in [b"one".as_slice(), b"two"] {
            let id = writer.name(name).unwrap();
            let bytes = vec![frame + 1; 24 + usize::from(frame)];
            writer.write_chunk(id, ChunkType::U8, 1, &bytes).unwrap();
        }
        writer.end_frame().unwrap();
        writer.commit().unwrap();
    }
    writer.close().unwrap();
    writer.into_store().0
}

#[test]
fn files_of_gsd_are_sound_and_damaged_ones_are_not() {
    for (name, bytes) in golden() {
        let (summary, damage) = verified(&bytes);
        assert_eq!(summary.is_sound(), damage.is_empty(), "{name}");
        let opened = Reader::open(bytes.as_slice(), &mut [0; 256]);
        match opened {
            Err(_) => assert!(!damage.is_empty(), "{name} cannot be opened and is called sound"),
            Ok(file) if damage.is_empty() => {
                assert_eq!(summary.frames, file.head().frames, "{name}");
                assert_eq!(summary.names, file.head().names, "{name}");
                assert!(file.chunks(vec![0; 4096]).all(|chunk| chunk.is_ok()), "{name}");
            }
            Ok(_) => {}
        }
        if name.starts_with('v') {
            assert_eq!(damage, [], "{name}");
        }
    }
}

#[test]
fn what_is_recovered_is_sound_and_recovered_again_the_same() {
    for (name, bytes) in golden().into_iter().filter(|(name, _)| name.starts_with('v')) {
        let (recovery, new) = saved(&bytes);
        assert!(recovery.is_complete(), "{name}");
        assert_eq!(verified(&new).1, [], "{name}");
        let (again, same) = saved(&new);
        assert!(again.is_complete(), "{name}");
        assert_eq!(new, same, "{name}");
    }
}

#[test]
fn every_flipped_bit_of_a_sealed_file_is_found_and_nothing_exact_is_wrong() {
    for one_sync in [false, true] {
        let whole = written(one_sync);
        assert_eq!(verified(&whole).1, []);
        let (all, _) = saved(&whole);
        assert!(all.is_exact());
        let frames = all.frames();
        for at in (0..whole.len()).step_by(3 * stride(5)) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (at % 8);
            let (summary, damage) = verified(&bytes);
            let Ok(recovery) = Recovery::examine(&bytes.as_slice()) else {
                assert!(!damage.is_empty(), "byte {at}");
                continue;
            };
            assert!(recovery.frames() + recovery.lost() <= frames, "byte {at}");
            if recovery.is_exact() && summary.basis != Some(Basis::Damaged) {
                assert_eq!(recovery.frames(), frames, "byte {at}: {:?}", summary.basis);
            }
            if damage.is_empty() {
                // A byte that nobody reads, or one that others say as well.
                assert_eq!(recovery.frames(), frames, "byte {at}");
            }
            for run in recovery.runs().filter(|run| run.certainty == Certainty::Exact) {
                assert!(run.frames.end <= frames, "byte {at}: {run:?}");
            }
        }
    }
}

/// Numbers that look random: SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(end).unwrap()).unwrap()
    }
}

/// A file with one to three wrong fields, as the tables have them: entries, names, and numbers that
/// chunks hold.
fn with_wrong_fields(whole: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let number = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let [index, slots, names] = [8, 16, 24].map(|at| usize::try_from(number(at)).unwrap_or(0));
    let place = |slot: usize| index.saturating_add(32 * slot);
    let is_used = |slot: &usize| {
        let entry = whole.get(place(*slot)..).and_then(|rest| rest.get(..32));
        entry.is_some_and(|entry| entry[16..24] != [0; 8])
    };
    let used: Vec<_> = (0..slots.min(512)).filter(is_used).collect();
    for _ in 0..1 + random.below(3) {
        let Some(&slot) = used.get(random.below(used.len().max(1))) else { break };
        let entry = place(slot);
        let location = number(entry + 16);
        // Frame, N, location, M, id and type of an entry; a name; the first bytes of a chunk.
        let (at, values): (usize, &[u8]) = match random.below(8) {
            0 => (entry, &[0, 1, 2, 3]),
            1 => (entry + 8, &[0, 1, 2, 3, 9]),
            2 => (entry + 16, &[0, 16, 64, 128]),
            3 => (entry + 24, &[1, 2, 3, 4]),
            4 => (entry + 28, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]),
            5 => (entry + 30, &[1, 2, 3, 4, 5, 9, 10, 11]),
            6 => (names.saturating_add(random.below(400)), b"pNa/s\0tl"),
            _ => (usize::try_from(location).unwrap_or(0), &[0, 1, 2, 3, 5, 0xC3, 0xFF]),
        };
        let value = values[random.below(values.len())];
        bytes.get_mut(at).into_iter().for_each(|byte| *byte = value);
    }
    bytes
}

/// Whatever is wrong, what is recovered is sound, and its size is known and limited.
#[test]
fn what_is_recovered_of_any_damage_is_sound_and_no_larger_than_the_file_justifies() {
    let (mut cases, mut forbidden) = (0, 0);
    let all = golden().into_iter().filter(|(_, bytes)| (257..1 << 17).contains(&bytes.len()));
    for (seed, (name, whole)) in (0..).zip(all) {
        let mut random = Random(seed);
        let rounds = if name.contains("hoomd") { 600 } else { 60 };
        for round in 0..rounds / stride(5) {
            let bytes = with_wrong_fields(&whole, &mut random);
            let Ok(recovery) = Recovery::examine(&bytes.as_slice()) else { continue };
            let (_, new) = saved(&bytes);
            let len = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap();
            let demand = recovery.demand(len(&bytes));
            assert!(demand.is_fair() && len(&new) <= demand.size, "{name}: {demand:?}");
            let what = format!("{name}, round {round}: {:?}", recovery.runs().collect::<Vec<_>>());
            assert_eq!(verified(&new).1, [], "{what}");
            let again = Recovery::examine(&new.as_slice()).unwrap();
            assert!(again.is_complete(), "{what}");
            // Frames without chunks at the end are in no file, but for those of a trajectory.
            let is_trajectory = recovery.attributes().schema == "hoomd";
            let most = recovery.frames();
            let least = if is_trajectory { most } else { 0 };
            assert!((least..=most).contains(&again.frames()), "{what}");
            cases += 1;
            let is_it = |it: &Certainty| matches!(it, Certainty::Lost(Loss::Forbidden { .. }));
            forbidden += usize::from(recovery.runs().any(|run| is_it(&run.certainty)));
        }
    }
    let (least, of_those) = (3000 / stride(10), 300 / stride(10));
    assert!(cases > least && forbidden > of_those, "{cases} {forbidden}");
}

/// As programs do that go on with other quantities: readers look for those of frame 0.
#[test]
fn a_logged_quantity_that_frame_0_does_not_have_is_left_out_of_frames_that_are_saved() {
    for checksums in [false, true] {
        let about = Attributes {
            schema: "hoomd",
            schema_version: Version { major: 1, minor: 4 },
            checksums,
            ..Attributes::default()
        };
        let memory = vec![Slot::EMPTY; 8];
        let mut writer = Writer::create(Growing::default(), &about, memory).unwrap();
        let all: [&[&[u8]]; 4] =
            [&[b"log/a"], &[b"log/a"], &[b"log/a", b"log/late"], &[b"log/late"]];
        for (frame, names) in (0_u8..).zip(all) {
            for name in names {
                let id = writer.name(name).unwrap();
                writer.write_chunk(id, ChunkType::U8, 1, &[frame; 3]).unwrap();
            }
            writer.end_frame().unwrap();
        }
        writer.close().unwrap();
        let bytes = writer.into_store().0;
        assert!(verified(&bytes).1.iter().all(|finding| finding.facts().kind == "hoomd_late"));
        let (recovery, new) = saved(&bytes);
        let found = if checksums { Certainty::Exact } else { Certainty::AsFound(Proof::Committed) };
        let runs: Vec<_> = recovery.runs().map(|run| (run.frames.clone(), run.certainty)).collect();
        assert_eq!(runs, [(0..2, found), (2..4, Certainty::Guess(Doubt::Late))]);
        assert_eq!(recovery.bytes(), 9);
        assert_eq!(recovery.tally().coverage.checked, if checksums { 9 } else { 0 });
        assert_eq!(verified(&new).1, []);
        let reader = Reader::open(new.as_slice(), &mut [0; 4096]).unwrap();
        assert_eq!(reader.frames(), 4);
    }
}

/// Whether every byte of every frame that is exact is compared: no byte of it can change unnoticed.
#[test]
fn a_frame_is_exact_only_if_a_checksum_notices_every_byte_of_it() {
    let of_ours = [(true, true), (true, false), (false, true), (false, false)];
    let of_ours = of_ours.map(|(checksums, one_sync)| {
        let about = Attributes { checksums, one_sync, ..Attributes::default() };
        (format!("checksums {checksums}, one sync {one_sync}"), written_with(&about))
    });
    let (mut exact, mut as_found) = (0, 0);
    for (name, bytes) in golden().into_iter().chain(of_ours) {
        let Ok(recovery) = Recovery::examine(&bytes.as_slice()) else { continue };
        let Ok(file) = Reader::open(bytes.as_slice(), &mut [0; 4096]) else { continue };
        let chunks: Vec<_> = file.chunks(vec![0; 4096]).filter_map(Result::ok).collect();
        let tally = recovery.tally();
        assert!(tally.coverage.checked <= tally.coverage.bytes, "{name}");
        as_found += tally.as_found;
        for run in recovery.runs().filter(|run| run.certainty == Certainty::Exact) {
            for chunk in chunks.iter().filter(|chunk| run.frames.contains(&chunk.frame)) {
                for at in chunk.span.offset()..chunk.span.end() {
                    let mut damaged = bytes.clone();
                    damaged[usize::try_from(at).unwrap()] ^= 0x10;
                    let again = Recovery::examine(&damaged.as_slice()).unwrap();
                    let mut runs = again.runs();
                    let is = runs.find(|run| run.frames.contains(&chunk.frame)).unwrap();
                    assert_ne!(is.certainty, Certainty::Exact, "{name}: byte {at} of {chunk:?}");
                    assert!(!again.is_exact(), "{name}: byte {at} of {chunk:?}");
                    exact += 1;
                }
            }
        }
    }
    assert!(exact > 500 && as_found > 500, "{exact} {as_found}");
}

#[test]
fn every_prefix_is_judged() {
    let whole = written(false);
    let (mut most, step) = (0, 17);
    for len in (0..whole.len()).step_by(step) {
        let bytes = &whole[..len];
        let (_, damage) = verified(bytes);
        assert!(!damage.is_empty(), "{len} bytes");
        if let Ok(recovery) = Recovery::examine(&bytes) {
            most = most.max(recovery.frames());
            assert!(!recovery.is_exact(), "{len} bytes");
        }
    }
    assert!(most > 0, "no cut file had anything left");
}

/// Only the shadows have what the header had. Files of earlier versions have them at 256, and the
/// shadow at 512 may be the first of two, or the second.
#[test]
fn a_lost_header_is_recovered_from_shadows_at_512_and_at_256() {
    let path = "../../tests/golden/gsd_log/shadows_at_256.gsd";
    let old = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    for (bytes, frames, lost) in
        [(written(false), 6, 256), (written(false), 6, 512), (old.clone(), 5, 256), (old, 5, 512)]
    {
        for fill in [0x00, 0xFF] {
            let mut damaged = bytes.clone();
            damaged[..lost].fill(fill);
            let (_, saved) = saved(&damaged);
            let reader = Reader::open(saved.as_slice(), &mut [0; 4096]).unwrap();
            assert_eq!(reader.frames(), frames, "{lost} bytes of {fill}");
        }
    }
}

/// A file that ends in a hole; whoever reads too much of it is stopped.
struct Holed<'a> {
    bytes: &'a [u8],
    len: u64,
    left: Cell<u64>,
}

impl ReadAt for Holed<'_> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let len = self.len.saturating_sub(offset).min(buf.len() as u64);
        self.left.set(self.left.get().checked_sub(len).unwrap());
        let buf = &mut buf[..len as usize];
        buf.fill(0);
        if let Ok(from) = usize::try_from(offset) {
            let stored = self.bytes.get(from..).unwrap_or_default();
            buf.iter_mut().zip(stored).for_each(|(to, byte)| *to = *byte);
        }
        Ok(buf.len())
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.len)
    }
}

impl Subject for Holed<'_> {
    fn first_data(&self, span: Span) -> Result<Option<Span>, Infallible> {
        Ok(Span::between(span.offset(), span.end().min(self.bytes.len() as u64))
            .filter(|part| !part.is_empty()))
    }
}

/// Golden files, whole and without their header or a half of their index, before a hole of a
/// terabyte.
#[test]
fn the_work_of_a_recovery_is_that_of_the_bytes_that_exist() {
    let (mut cases, mut saved) = (0, 0);
    for (_, whole) in golden().into_iter().filter(|(_, bytes)| bytes.len() > 512) {
        for damage in 0..3 {
            let mut bytes = whole.clone();
            match damage {
                1 => bytes[8..24].fill(0x55),
                2 => bytes.truncate(whole.len() * 3 / 4),
                _ => {}
            }
            let left = Cell::new(96 * bytes.len() as u64 + (4 << 20));
            let holed = Holed { bytes: &bytes, len: 1 << 40, left };
            let Ok(recovery) = Recovery::examine(&holed) else { continue };
            cases += 1;
            saved += recovery.frames();
        }
    }
    assert!(cases > 80 && saved > 1000, "{cases} {saved}");
}

/// A commit record with right checksums whose names end sooner than the last name does: a reader
/// finds no end of that name, so the file is not sound.
#[test]
fn names_that_end_within_a_name_are_damage() {
    let whole = written(false);
    let at = |place: usize| u32::from_le_bytes(*whole[place..].first_chunk().unwrap());
    let (list, len) = (at(24) as usize, at(228)); // namelist_location; names_len of the record
    assert!(whole[list..list + len as usize].ends_with(b"striae/crc32c\0"));
    for cut in 1..=len {
        let mut bytes = whole.clone();
        let names = &whole[list..list + (len - cut) as usize];
        bytes[228..232].copy_from_slice(&(len - cut).to_le_bytes());
        seal_record(&mut bytes, crc32c(0, names));
        let (_, damage) = verified(&bytes);
        let is_found = damage.iter().any(|finding| finding.facts().kind == "names_not_terminated");
        assert!(is_found || cut >= 14, "{cut}: {damage:?}"); // of the last name
        assert!(!damage.is_empty(), "{cut}");
    }
}

/// A commit record states checksums, and its names, which are proven, have no name of them: the
/// chunks that would be checksums are data to every reader, and are saved as such.
#[test]
fn a_file_that_states_checksums_and_has_none_is_saved_with_all_its_chunks() {
    let whole = written(false);
    let at = |place: usize| u32::from_le_bytes(*whole[place..].first_chunk().unwrap());
    let (list, len) = (at(24) as usize, at(228) as usize);
    let mut bytes = whole.clone();
    let end = list + len;
    assert!(bytes[..end].ends_with(b"striae/crc32c\0"));
    bytes[end - 3] = b'3';
    let names = bytes[list..end].to_vec();
    let crc = crc32c(0, &names);
    seal_record(&mut bytes, crc);
    let (_, damage) = verified(&bytes);
    assert_eq!(damage, [FindingKind::FramesLackChecksums { frame: 0, count: 6 }]);
    let (recovery, new) = saved(&bytes);
    let runs: Vec<_> = recovery.runs().map(|run| (run.frames.clone(), run.certainty)).collect();
    assert_eq!(runs, [(0..6, Certainty::AsFound(Proof::Committed))]);
    // Each chunk is there with its bytes, and the frames of the new file have checksums.
    let read = |bytes: &[u8]| {
        let file = Reader::open(bytes, &mut [0; 4096]).unwrap();
        let of = |chunk: striae_core::gsd::Chunk| {
            let [start, end] = [chunk.span.offset(), chunk.span.end()].map(|at| at as usize);
            (chunk.frame, chunk.id, bytes[start..end].to_vec())
        };
        file.chunks(vec![0; 4096]).map(|chunk| of(chunk.unwrap())).collect::<Vec<_>>()
    };
    let (old, mut new_chunks) = (read(&bytes), read(&new));
    new_chunks.retain(|(_, id, _)| *id < 3);
    assert_eq!(old.len(), 18);
    assert_eq!(new_chunks, old);
    let (summary, damage) = verified(&new);
    assert!(damage.is_empty() && summary.data.checked == summary.data.bytes, "{damage:?}");
}

/// Makes the header's commit record one of names with this checksum.
fn seal_record(bytes: &mut [u8], names_crc: u32) {
    bytes[240..244].copy_from_slice(&names_crc.to_le_bytes());
    let crc = crc32c(crc32c(0, &bytes[8..40]), &bytes[176..252]);
    bytes[252..256].copy_from_slice(&crc.to_le_bytes());
}
