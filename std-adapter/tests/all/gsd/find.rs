//! Finding chunks: what a thread has looked at before makes it faster, and changes no answer.

use super::*;
use std::collections::HashMap;
use striae::gsd::{Builder, File};
use striae::striae_core::gsd::{Chunk, Reader};

/// Frames and ids of all chunks, those of some that are not there, and how to walk through them.
fn walks(keys: &[(u64, u16)]) -> Vec<Vec<(u64, u16)>> {
    let mut all = keys.to_vec();
    all.extend(keys.iter().flat_map(|&(frame, id)| [(frame + 1, id), (frame, id + 1)]));
    all.sort_unstable();
    all.dedup();
    let count = all.len();
    let backwards = all.iter().rev().copied().collect();
    let mut by_name = all.clone();
    by_name.sort_by_key(|&(frame, id)| (id, frame));
    let anywhere = (0..count).map(|i| all[i * 7919 % count]).collect();
    let twice = all.iter().flat_map(|&key| [key, key]).collect();
    vec![all, backwards, by_name, anywhere, twice]
}

/// That the file at `path` answers as core does, which remembers nothing. Where its index is not
/// sorted, a search may end at any entry of the right frame and name, or at none.
fn check(path: &str, bytes: &[u8]) {
    let Ok(file) = File::open(path) else { return };
    let reader = Reader::open(bytes, &mut [0; 4096]).unwrap();
    let start = usize::try_from(reader.head().index().location).unwrap();
    let entries: Vec<_> = bytes[start..].chunks_exact(32).collect();
    let entries = &entries[..usize::try_from(reader.head().entries).unwrap()];
    let key = |entry: &&[u8]| {
        let frame = u64::from_le_bytes(entry[..8].try_into().unwrap());
        (frame, u16::from_le_bytes(entry[28..30].try_into().unwrap()))
    };
    let keys: Vec<_> = entries.iter().map(key).collect();
    let listed: Vec<Chunk> = file.chunks().filter_map(Result::ok).collect();
    let is_sorted = match file.header().version.major {
        1 => keys.is_sorted_by_key(|key| key.0),
        _ => keys.is_sorted(),
    };
    for walk in walks(&keys) {
        for (frame, id) in walk {
            let found = file.find_id(frame, id);
            let expected = reader.find(frame, id, &mut [0; 4096]);
            match (found, expected) {
                (Ok(found), Ok(expected)) if is_sorted => assert_eq!(found, expected, "{path}"),
                (Err(found), Err(expected)) if is_sorted => {
                    let (found, expected) = (found.to_string(), expected.to_string());
                    assert!(found.ends_with(&expected), "{path}: {found}, not {expected}");
                }
                (found, expected) if is_sorted => panic!("{path}: {found:?}, not {expected:?}"),
                (Ok(Some(found)), _) => {
                    assert_eq!((found.frame, found.id), (frame, id), "{path}");
                    assert!(listed.contains(&found), "{path}: {found:?}");
                }
                _ => {}
            }
        }
    }
    let Some(names) = file.names().ok().filter(|_| is_sorted) else { return };
    for chunk in listed {
        let Some(name) = names.get(chunk.id) else { continue };
        let by_id = file.find_id(chunk.frame, names.id(name.as_bytes()).unwrap());
        let by_name = file.find(chunk.frame, name.as_bytes());
        assert_eq!(format!("{by_name:?}"), format!("{by_id:?}"), "{path}");
    }
}

/// Files are walked through in turns, too: a thread remembers one at a time.
#[test]
fn what_was_found_before_changes_no_answer() {
    let mut count = 0;
    for entry in fs::read_dir(golden::golden_dir()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|it| it == "gsd") {
            check(path.to_str().unwrap(), &fs::read(&path).unwrap());
            count += 1;
        }
    }
    assert!(count >= 50, "golden files are missing: {count}");
}

/// A file of 400 frames, of which some lack some of three chunks; its bytes, and where the index
/// is.
fn made(path: &str) -> (Vec<u8>, usize) {
    let mut file = Builder::new().application("test").create(path).unwrap();
    for frame in 0..400_u64 {
        for (step, name) in (1..).zip(["a", "b", "c"]) {
            if frame % step == 0 {
                file.write(name, &[frame], 1).unwrap();
            }
        }
        file.end_frame().unwrap();
    }
    file.close().unwrap();
    let location = File::open(path).unwrap().header().index.location;
    (fs::read(path).unwrap(), usize::try_from(location).unwrap())
}

#[test]
fn entries_in_a_wrong_order_or_twice_are_answered_alike_or_by_one_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.gsd");
    let path = path.to_str().unwrap();
    let (bytes, index) = made(path);
    check(path, &bytes);
    let slot = |slot: usize| index + 32 * slot;
    let changes: [(usize, usize, usize); 7] = [
        (200, 201, 32), // an entry that stands there twice, one behind the other
        (0, 1, 32),
        (1, 0, 32),
        (200, 300, 32), // out of its order
        (300, 200, 32),
        (100, 250, 32 * 100), // many of them
        (20, 52, 32 * 32),
    ];
    for (from, to, len) in changes {
        let mut bytes = bytes.clone();
        bytes.copy_within(slot(from)..slot(from) + len, slot(to));
        fs::write(path, &bytes).unwrap();
        check(path, &bytes);
    }
    for at in [0, 1, 127, 128, 129, 300] {
        for (skip, wrong) in [(16, [0; 8]), (16, [255; 8]), (24, [0; 8]), (8, [255; 8])] {
            let mut bytes = bytes.clone();
            // No place, no type, too many rows.
            bytes[slot(at) + skip..][..8].copy_from_slice(&wrong);
            fs::write(path, &bytes).unwrap();
            check(path, &bytes);
        }
    }
}

/// Each answer is that of the sound file, or an error; a chunk that is lost is not one that is not
/// there.
#[test]
fn a_wrong_bit_in_a_frame_or_an_id_makes_no_chunk_of_another_frame_and_none_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.gsd");
    let path = path.to_str().unwrap();
    let (sound, index) = made(path);
    let reader = Reader::open(sound.as_slice(), &mut [0; 4096]).unwrap();
    let chunks: Vec<Chunk> = reader.chunks([0; 4096]).map(Result::unwrap).collect();
    let keys: Vec<_> = chunks.iter().map(|chunk| (chunk.frame, chunk.id)).collect();
    let answers: HashMap<_, _> = keys.iter().copied().zip(&chunks).collect();
    let mut errors = 0;
    for slot in [0, 1, 2, 127, 128, 129, 301, 302, 303, 304, 700] {
        for (at, bit) in [(0, 0), (0, 1), (0, 2), (0, 5), (1, 0), (3, 0), (28, 0), (28, 1)] {
            let mut bytes = sound.clone();
            bytes[index + 32 * slot + at] ^= 1 << bit;
            let mut changed = keys.clone();
            match at {
                28 => changed[slot].1 ^= 1 << bit,
                _ => changed[slot].0 ^= 1 << (8 * at + bit),
            }
            if changed.is_sorted() {
                continue; // nothing shows it
            }
            fs::write(path, &bytes).unwrap();
            let file = File::open(path).unwrap();
            assert_eq!(file.frames(), 400);
            for walk in walks(&keys) {
                for key in walk {
                    match file.find_id(key.0, key.1) {
                        Ok(found) => {
                            let wanted = answers.get(&key).map(|chunk| **chunk);
                            assert_eq!(found, wanted, "{key:?}, slot {slot}, byte {at}, bit {bit}");
                        }
                        Err(_) => errors += 1,
                    }
                }
            }
        }
    }
    assert!(errors > 0);
}

/// Frames that have chunks by chance make a thread remember entries of the index.
#[test]
fn entries_that_are_remembered_change_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("uneven.gsd");
    let mut file = Builder::new().application("test").create(&path).unwrap();
    let mut state = 1_u64;
    for frame in 0..3000_u64 {
        for name in ["a", "b", "c", "d"] {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            if (state >> 40).is_multiple_of(1 + frame / 500) {
                file.write(name, &[frame], 1).unwrap();
            }
        }
        file.end_frame().unwrap();
    }
    file.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let path = path.to_str().unwrap();
    check(path, &bytes);
    let index = usize::try_from(File::open(path).unwrap().header().index.location).unwrap();
    bytes.copy_within(index + 32 * 1000..index + 32 * 1500, index + 32 * 2000); // not sorted
    fs::write(path, &bytes).unwrap();
    check(path, &bytes);
}

/// A file that a thread looks into while it ends, when what it remembers may be gone.
#[test]
fn a_thread_that_ends_can_find_chunks() {
    struct Last(std::cell::OnceCell<(File, std::sync::mpsc::Sender<bool>)>);
    impl Drop for Last {
        fn drop(&mut self) {
            let (file, sender) = self.0.get().unwrap();
            let found = (0..400).rev().all(|frame| file.find(frame, "a").unwrap().is_some());
            sender.send(found).unwrap();
        }
    }
    thread_local!(static LAST: Last = const { Last(std::cell::OnceCell::new()) });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("made.gsd");
    made(path.to_str().unwrap());
    for is_first in [false, true] {
        let (sender, receiver) = std::sync::mpsc::channel();
        let file = File::open(&path).unwrap();
        let thread = std::thread::spawn(move || {
            let find = |file: &File| (0..400).for_each(|i| drop(file.find(i * 7919 % 400, "c")));
            if is_first {
                find(&file); // before the destructor of the other one is known
            }
            LAST.with(|last| last.0.set((file, sender)).map_err(drop).unwrap());
            LAST.with(|last| find(&last.0.get().unwrap().0));
        });
        thread.join().unwrap();
        assert!(receiver.recv().unwrap());
    }
}
