//! A wrong bit in the frame or in the id of an entry: ordered lists and searches do not mistake its
//! chunk, or those near it, for chunks that are not there.

use super::*;
use striae_core::gsd::Reader;
use striae_core::gsd::chunk::Key;
use striae_core::gsd::find::Find;
use striae_core::step::{DriveError, drive_read};
use striae_core::store::FixedSize;
use striae_kit::gsd_everything::Counted;

type Result<T> = core::result::Result<T, DriveError<FixedSize, Error>>;

fn key(chunk: &Chunk) -> Key {
    Key { frame: chunk.frame, id: chunk.id }
}

/// The chunks of a frame, or the first error.
fn listed(file: &Reader<&[u8]>, frame: u64, window: usize) -> Result<Vec<Chunk>> {
    file.chunks_of(frame..frame + 1, vec![0; window])?.ordered().collect()
}

fn found(file: &Reader<&[u8]>, key: Key, window: usize) -> Result<Option<Chunk>> {
    let entries = u64::try_from(window / 32).unwrap();
    let mut find = Find::new(file.head(), key.frame, key.id, entries).ordered();
    drive_read(&mut find, file.store(), &mut vec![0; window.max(128)])
}

/// Whether nothing shows that an entry was changed: it is in order where it is.
fn is_hidden(before: Option<&Chunk>, changed: Key, after: Option<&Chunk>, by_id: bool) -> bool {
    let place = |key: Key| (key.frame, if by_id { key.id } else { 0 });
    before.is_none_or(|before| place(key(before)) <= place(changed))
        && after.is_none_or(|after| place(changed) <= place(key(after)))
}

#[derive(Debug, Default)]
struct Counts {
    said: u32,
    right: u32,
    hidden: u32,
}

/// What is read of a file with a changed entry is what the sound file has, or an error.
fn check(bytes: &[u8], sound: &[Chunk], frames: u64, counts: &mut Counts) {
    let Ok(file) = Reader::open(bytes, &mut [0; 512]) else { return };
    // That of the last entry is the number of frames; there are no frames after it to read.
    for frame in 0..frames.min(file.frames()) {
        let of_frame: Vec<_> = sound.iter().filter(|chunk| chunk.frame == frame).copied().collect();
        for window in [32, 64, 4096] {
            match listed(&file, frame, window) {
                Ok(chunks) => {
                    assert_eq!(chunks, of_frame, "frame {frame}, window {window}");
                    counts.right += 1;
                }
                Err(_) => counts.said += 1,
            }
            for id in 0..3 {
                let wanted = of_frame.iter().rfind(|chunk| chunk.id == id).copied();
                match found(&file, Key { frame, id }, window) {
                    Ok(chunk) => assert_eq!(chunk, wanted, "frame {frame}, id {id}, {window}"),
                    Err(_) => counts.said += 1,
                }
            }
        }
    }
}

#[test]
fn a_wrong_bit_in_a_frame_or_an_id_loses_no_chunk_silently() {
    let mut files = Specimen::small();
    files.extend([
        Specimen::golden("v21_sparse_chunks", (256, 128), (4352, 1024), 17),
        Specimen::golden("v10_unsorted_ids", (256, 128), (4352, 8192), 24),
    ]);
    for file in files {
        let whole = file.whole();
        let sound: Vec<Chunk> = whole.chunks.iter().map(|chunk| chunk.unwrap()).collect();
        let by_id = whole.head.header.version.is_sorted();
        let mut counts = Counts::default();
        check(&file.bytes, &sound, whole.head.frames, &mut counts);
        assert_eq!(counts.said, 0, "{}: a sound file", file.name);
        for slot in 0..file.entries {
            let fields = (0..64).map(|bit| (IndexEntry::frame, bit));
            let fields = fields.chain((0..16).map(|bit| (IndexEntry::id, bit)));
            for (field, bit) in fields {
                let at = file.slot(slot) + usize::from(field.offset()) + bit / 8;
                let bytes = file.with(at, &[file.bytes[at] ^ (1 << (bit % 8))]);
                let mut changed = key(&sound[slot]);
                match field == IndexEntry::frame {
                    true => changed.frame ^= 1 << bit,
                    false => changed.id ^= 1 << bit,
                }
                let before = slot.checked_sub(1).and_then(|slot| sound.get(slot));
                match is_hidden(before, changed, sound.get(slot + 1), by_id) {
                    true => counts.hidden += 1,
                    false => check(&bytes, &sound, whole.head.frames, &mut counts),
                }
            }
        }
        assert!(counts.said > counts.hidden, "{}: {counts:?}", file.name);
    }
}

/// A damaged entry far away is not in the way of a chunk that is found, and no more is read than
/// the entries around its place.
#[test]
fn damage_far_away_does_not_concern_a_search() {
    for major in [1, 2] {
        let entry = |frame, id| Entry { frame, n: 0, location: 256, m: 1, id, kind: 3, flags: 0 };
        let entries = (0..400).flat_map(|frame| (0..3).map(move |id| entry(frame, id))).collect();
        let made = Made { layer: (major, 0), ..Made::new(entries, 3) };
        let mut bytes = made.bytes();
        bytes[256] = 2; // the frame of slot 0
        let file = Reader::open(Counted::new(&bytes), &mut [0; 512]).unwrap();
        for (frame, id) in [(300, 0), (300, 1), (300, 2), (200, 1), (399, 2)] {
            let find = Find::new(file.head(), frame, id, 16);
            file.store().spent();
            let plain = drive_read(&mut find.clone(), file.store(), &mut [0; 512]).unwrap();
            let (reads, read) = file.store().spent();
            let ordered = drive_read(&mut find.ordered(), file.store(), &mut [0; 512]).unwrap();
            assert_eq!(plain.map(|chunk| (chunk.frame, chunk.id)), Some((frame, id)));
            assert_eq!(ordered, plain);
            let (more, bytes) = file.store().spent();
            assert_eq!(more, reads + 1, "layer {major}, {frame}, {id}");
            assert!(bytes <= read + 128, "layer {major}, {frame}, {id}: {bytes} bytes");
        }
        let mut find = Find::new(file.head(), 0, 0, 16).ordered();
        assert!(drive_read(&mut find, file.store(), &mut [0; 512]).is_err());
    }
}
