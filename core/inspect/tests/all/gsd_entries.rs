//! Entries that are empty, or of chunks without bytes, among others.

use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, Version, Writer};
use striae_inspect::finding::{Found as _, Severity};
use striae_inspect::gsd::recover::{Certainty, IntoWriter, Loss, Proof, Recovery, Run};
use striae_inspect::gsd::verify::{Depth, verify};
use striae_kit::growing::Growing;
use striae_kit::piled::{chunk, file};
use zerocopy::FromBytes;

/// Three frames of chunks of these lengths.
fn written(about: &Attributes<'_>, lens: [usize; 3]) -> Vec<u8> {
    let memory = vec![Slot::EMPTY; 8];
    let mut writer = Writer::create(Growing::default(), about, memory).unwrap();
    for frame in 0_u8..3 {
        for (name, len) in [b"one".as_slice(), b"two", b"three"].into_iter().zip(lens) {
            let id = writer.name(name).unwrap();
            writer.write_chunk(id, ChunkType::U8, 1, &vec![frame; len]).unwrap();
        }
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    writer.into_store().0
}

fn slot_at(bytes: &[u8], slot: u64) -> usize {
    let file = Reader::open(bytes, &mut [0; 256]).unwrap();
    usize::try_from(file.head().index().offset_of(slot)).unwrap()
}

/// The kinds and offsets of the damage in the index.
fn damage(bytes: &[u8]) -> Vec<(&'static str, Option<u64>)> {
    let mut damage = Vec::new();
    let done = verify(&bytes, Depth::Structure, &mut |finding| {
        if finding.severity() == Severity::Damage {
            damage.push((finding.facts().kind, finding.facts().offset));
        }
    });
    done.unwrap();
    damage
}

#[test]
fn a_slot_that_is_empty_has_no_name_and_hides_no_order() {
    let about = Attributes { checksums: true, ..Attributes::default() };
    let whole = written(&about, [30, 20, 10]);
    assert_eq!(damage(&whole), []);
    for slot in 0..8 {
        let mut bytes = whole.clone();
        let at = slot_at(&bytes, slot);
        bytes[at..at + 32].fill(0);
        let empty = ("too_small", Some(u64::try_from(at).unwrap() + 16));
        let kinds: Vec<_> = damage(&bytes).iter().map(|(kind, _)| *kind).collect();
        assert_eq!(damage(&bytes)[0], empty, "{slot}");
        match slot % 4 {
            3 => assert_eq!(kinds[1..], ["frames_lack_checksums", "checksum"], "{slot}"),
            _ => assert_eq!(kinds[1..], ["checksum"], "{slot}"),
        }
        // The entry after it is that of an earlier frame.
        if slot > 4 {
            let next = at + 32;
            bytes.copy_within(slot_at(&whole, 0)..slot_at(&whole, 1), next);
            let all = damage(&bytes);
            assert!(
                all.contains(&("order", Some(u64::try_from(next).unwrap()))),
                "{slot}: {all:?}"
            );
        }
    }
}

#[test]
fn a_chunk_without_bytes_hides_no_chunks_that_share_some() {
    let mut bytes = written(&Attributes::default(), [100, 0, 10]);
    let index = slot_at(&bytes, 0);
    bytes[176..256].fill(0); // as a file of gsd
    let entries = <[IndexEntry]>::mut_from_bytes(&mut bytes[index..][..9 * 32]).unwrap();
    let start = entries[3].location.get();
    entries[4].location = (start + 50).into();
    entries[5].location = (start + 60).into();
    let recovery = Recovery::examine(&bytes.as_slice()).unwrap();
    let lost = Certainty::Lost(Loss::Overlap);
    let runs: Vec<_> = recovery.runs().map(|run| (run.frames.clone(), run.certainty)).collect();
    assert_eq!(runs[1], (1..2, lost), "{runs:?}");
    assert!(damage(&bytes).iter().any(|(kind, _)| *kind == "overlap"));
}

#[test]
fn a_frame_that_has_bytes_of_the_index_or_of_the_names_is_lost() {
    let whole = written(&Attributes::default(), [40, 30, 20]);
    let (index, names) = (slot_at(&whole, 0), whole[24..32].try_into().unwrap());
    for place in [u64::try_from(index).unwrap(), u64::from_le_bytes(names)] {
        for slot in 0..3 {
            let mut bytes = whole.clone();
            bytes[176..256].fill(0); // as a file of gsd
            bytes[index + 32 * slot + 16..][..8].copy_from_slice(&place.to_le_bytes());
            let recovery = Recovery::examine(&bytes.as_slice()).unwrap();
            let first = recovery.runs().next().map(|run| (run.frames.clone(), run.certainty));
            assert_eq!(first, Some((0..1, Certainty::Lost(Loss::Overlap))), "{slot}: {place}");
        }
    }
}

/// A wrong bit in the frame of the last entry, in a long file without a commit record: it claims
/// more frames than any writer takes, and what is before it is saved.
#[test]
fn a_frame_that_no_writer_takes_hides_no_frames_before_it() {
    let bytes = vec![7; 3 << 20];
    let chunks: Vec<_> = [0, 1, 2, 1 << 21]
        .into_iter()
        .map(|frame| chunk(frame, 0, ChunkType::U8, 1 << 10, frame.min(3) << 10))
        .collect();
    for (count, frames) in [(3, 3), (4, 3)] {
        let bytes = file("", Version::LAYER, &["a"], &chunks[..count], &bytes);
        let bytes = bytes.as_slice();
        let recovery = Recovery::examine(&bytes).unwrap();
        let memory = vec![Slot::EMPTY; 8];
        let mut writer =
            Writer::create(Growing::default(), &recovery.attributes(), memory).unwrap();
        let mut output = IntoWriter::new(&bytes, &mut writer).unwrap();
        recovery.save(&bytes, &mut output).unwrap();
        writer.close().unwrap();
        assert_eq!(writer.frames(), frames, "{count} entries");
    }
}

/// What is left out is counted, whether the number is damaged or not: nothing is complete then.
#[test]
fn an_entry_whose_frame_no_writer_takes_is_counted_as_lost() {
    let bytes = vec![7; 3 << 20];
    let far = 1 << 21; // more than 2^20 above any slot
    for (frames, lost) in [(vec![0, 1, 2], 0), (vec![0, far], 1), (vec![0, far, far + 1], 2)] {
        let each = (0_u64..).zip(&frames);
        let chunks = each.map(|(at, &it)| chunk(it, 0, ChunkType::U8, 1 << 10, at << 10));
        let bytes = file("", Version::LAYER, &["a"], &chunks.collect::<Vec<_>>(), &bytes);
        assert_eq!(damage(&bytes), [], "gsd makes such files");
        let recovery = Recovery::examine(&bytes.as_slice()).unwrap();
        assert_eq!(recovery.lost_entries(), Some(lost), "{frames:?}");
        assert_eq!(recovery.frames(), frames.len() as u64 - lost, "{frames:?}");
        assert_eq!(recovery.is_complete(), lost == 0, "{frames:?}");
    }
}

/// One such number makes no others too large: a file of gsd has more frames than slots.
#[test]
fn a_frame_that_no_writer_takes_hides_no_frames_after_it() {
    let bytes = vec![7; 3 << 20];
    let chunks = [0, 200, 400, 600].map(|it| chunk(it, 0, ChunkType::U8, 1 << 10, it << 10));
    for (slot, whole) in chunks.iter().enumerate() {
        let mut chunks = chunks;
        chunks[slot].frame = whole.frame | 1 << 21;
        let bytes = file("", Version::LAYER, &["a"], &chunks, &bytes);
        let recovery = Recovery::examine(&bytes.as_slice()).unwrap();
        assert_eq!(recovery.lost_entries(), Some(1), "{slot}");
        for other in chunks.iter().filter(|other| other.frame < 1 << 21) {
            let run = recovery.runs().find(|run| run.frames.contains(&other.frame)).unwrap();
            assert!(run.certainty.is_saved(), "{slot}: {run:?}");
        }
    }
}

/// The results of three frames of one chunk of ten bytes each, which start there.
fn placed(starts: [u64; 3]) -> Vec<Certainty> {
    let chunks = [0, 1, 2].map(|it| chunk(it as u64, 0, ChunkType::U8, 10, starts[it]));
    let bytes = file("", Version::LAYER, &["a"], &chunks, &[7; 100]);
    let recovery = Recovery::examine(&bytes.as_slice()).unwrap();
    assert_eq!(recovery.is_complete(), damage(&bytes).is_empty(), "{starts:?}");
    let kept: u64 = recovery.runs().filter(|run| run.certainty.is_saved()).map(len).sum();
    assert_eq!(recovery.bytes(), 10 * kept, "{starts:?}");
    let each = |run: &Run| std::iter::repeat_n(run.certainty, len(run) as usize);
    recovery.runs().flat_map(each).collect()
}

fn len(run: &Run) -> u64 {
    run.frames.end - run.frames.start
}

/// Chunks may be anywhere, in any order. Those that share bytes may be of frames far apart.
#[test]
fn frames_are_lost_if_they_share_bytes_and_not_if_they_are_in_another_order() {
    let places = [0_u64, 5, 10, 20, 37];
    for a in places {
        for b in places {
            for c in places {
                let starts = [a, b, c];
                let shares = |one: usize| {
                    let mut others = (0..3).filter(|&other| other != one);
                    others.any(|other| starts[one].abs_diff(starts[other]) < 10)
                };
                let expected = [0, 1, 2].map(|frame| match shares(frame) {
                    true => Certainty::Lost(Loss::Overlap),
                    false => Certainty::AsFound(Proof::Shown),
                });
                assert_eq!(placed(starts), expected, "{starts:?}");
            }
        }
    }
}

/// Whatever entry has the number of another frame: no frame is saved without a chunk of its own.
#[test]
fn a_frame_whose_entry_has_another_number_is_not_saved_without_it() {
    for layer in [Version { major: 1, minor: 0 }, Version::LAYER] {
        let chunks: Vec<_> = (0..15_u16)
            .map(|slot| chunk((slot / 3).into(), slot % 3, ChunkType::U8, 4, u64::from(slot) * 4))
            .collect();
        for slot in 0..15 {
            for bit in [1, 2, 4] {
                let mut chunks = chunks.clone();
                let own = chunks[slot].frame;
                chunks[slot].frame ^= bit;
                if slot == 14 && chunks[slot].frame > own {
                    continue; // a chunk of a later frame, as far as anyone can tell
                }
                let bytes = file("", layer, &["a", "b", "c"], &chunks, &[7; 60]);
                assert!(!damage(&bytes).is_empty(), "{slot} {bit}");
                let recovery = Recovery::examine(&bytes.as_slice()).unwrap();
                let run = recovery.runs().find(|run| run.frames.contains(&own));
                let is_saved = run.is_some_and(|run| run.certainty.is_saved());
                assert!(!is_saved, "{layer:?} {slot} {bit}: {run:?}");
                assert!(recovery.frames() >= 2, "{layer:?} {slot} {bit}: {recovery:?}");
            }
        }
    }
}

/// Names of more than 64 KiB are told apart by their ends, too.
#[test]
fn long_names_that_begin_alike_are_different_names() {
    let names = ["A", "B", "A"].map(|end| "x".repeat(1 << 16) + end);
    let chunks = [0, 1].map(|id| chunk(0, id, ChunkType::U8, 1, id.into()));
    let bytes = file("", Version::LAYER, &[&*names[0], &*names[1]], &chunks, b"12");
    assert_eq!(damage(&bytes), []);
    let bytes = file("", Version::LAYER, &[&*names[0], &*names[2]], &chunks, b"12");
    assert_eq!(damage(&bytes).len(), 1);
}

/// There is no id after the last of as many names as there can be.
#[test]
fn a_file_with_all_names_is_examined() {
    let names: Vec<_> = (0..u16::MAX).map(|id| format!("log/{id}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let chunks: Vec<_> = (0..u16::MAX).map(|id| chunk(0, id, ChunkType::U8, 1, 0)).collect();
    for schema in ["none", "hoomd"] {
        let bytes = file(schema, Version { major: 2, minor: 0 }, &names, &chunks, &[1]);
        assert_eq!(verify(&bytes.as_slice(), Depth::Data, &mut |_| ()).unwrap().names, 65535);
        Recovery::examine(&bytes.as_slice()).unwrap();
    }
}
