//! GSD files of gsd itself and of core's writer, whole and damaged: what is verified, recovered and
//! dumped of them, in memory.

use std::path::Path;
use striae_core::gsd::{Attributes, Reader, Slot, Writer};
use striae_inspect::finding::{Found as _, Severity};
use striae_inspect::gsd::recover::{Certainty, IntoWriter, Recovery};
use striae_inspect::gsd::verify::{Depth, Summary, verify};
use striae_inspect::gsd::{Basis, FindingKind};
use striae_kit::growing::Growing;

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
            writer.write_chunk(id, striae_core::gsd::ChunkType::U8, 1, &bytes).unwrap();
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
        for at in (0..whole.len()).step_by(3) {
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
