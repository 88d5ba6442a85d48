//! Files that SIONlib wrote, whole and damaged.

use super::{Stream, recover};
use serde_json::Value;
use striae_core::sion::recover::{Certainty, Doubt, Proof};
use striae_core::sion::{KeyvalMode, Meta1};
use striae_kit::golden_sets::{GoldenSet, golden_sets};
use striae_kit::hosts::stride;

/// A physical file of a golden set and what was written to each of its tasks.
struct Golden {
    name: String,
    bytes: Vec<u8>,
    meta1: Meta1,
    truth: Vec<Value>,
}

impl Golden {
    fn is_keyval(&self) -> bool {
        self.meta1.keyval() == KeyvalMode::Inline
    }

    fn commit_fields(&self) -> usize {
        self.meta1.layout().commit_fields().offset() as usize
    }

    /// start_of_varheader; 0 of an unclosed file.
    fn meta2(&self) -> usize {
        self.i64_at(self.commit_fields() + 4) as usize
    }

    fn i64_at(&self, at: usize) -> i64 {
        let bytes = self.bytes[at..at + 8].try_into().unwrap();
        match self.meta1.order() {
            striae_core::endian::ByteOrder::Little => i64::from_le_bytes(bytes),
            striae_core::endian::ByteOrder::Big => i64::from_be_bytes(bytes),
        }
    }

    fn put_i64(&self, at: usize, value: i64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let value = match self.meta1.order() {
            striae_core::endian::ByteOrder::Little => value.to_le_bytes(),
            striae_core::endian::ByteOrder::Big => value.to_be_bytes(),
        };
        bytes[at..at + 8].copy_from_slice(&value);
        bytes
    }

    fn is_true(&self, task: usize, stream: &Stream) -> bool {
        let truth = &self.truth[task];
        let length = truth["length"].as_u64().unwrap();
        let chunks = truth["chunks"].as_array().map(|chunks| {
            let lens: Vec<_> = chunks.iter().map(|len| len.as_u64().unwrap()).collect();
            lens
        });
        let same_chunks = chunks.is_none_or(|chunks| {
            let used = |lens: &[u64]| {
                let end = lens.iter().rposition(|&len| len > 0).map_or(0, |last| last + 1);
                lens[..end].to_vec()
            };
            used(&chunks) == used(&stream.lens)
        });
        stream.bytes.len() as u64 == length
            && truth["sha256"].as_str().unwrap() == stream.sha256()
            && same_chunks
    }

    /// Recovers a damaged version; panics if something exact is wrong.
    fn check(&self, bytes: &[u8], how: &str, count: &mut Count) -> Vec<Stream> {
        let streams = recover(bytes).unwrap_or_else(|e| panic!("{}, {how}: {e}", self.name));
        assert_eq!(streams.len(), self.truth.len());
        for (task, stream) in streams.iter().enumerate() {
            let is_true = self.is_true(task, stream);
            let certainty = stream.recovered.certainty;
            assert!(
                is_true || !certainty.is_sound(),
                "{}, {how}, task {task}: {} bytes, {certainty}",
                self.name,
                stream.bytes.len(),
            );
            count.exact += u64::from(certainty.is_sound());
            count.guesses += u64::from(!certainty.is_sound());
            count.right_guesses += u64::from(!certainty.is_sound() && is_true);
        }
        streams
    }
}

#[derive(Debug, Default)]
struct Count {
    files: u64,
    exact: u64,
    guesses: u64,
    right_guesses: u64,
}

fn golden_files() -> Vec<Golden> {
    golden_sets().iter().flat_map(files_of).collect()
}

fn files_of(set: &GoldenSet) -> Vec<Golden> {
    let closed = set.expected["closed"].as_bool().unwrap();
    let mut truth = match closed {
        true => set.tasks().into_iter().cloned().collect(),
        false => set.expected["expected_in_order_of_ranks"].as_array().unwrap().clone(),
    };
    let mut files = Vec::new();
    for (bytes, path) in set.files.iter().zip(&set.paths) {
        let meta1 = Meta1::parse(bytes, bytes.len() as u64).unwrap();
        let rest = truth.split_off(meta1.ntasks() as usize);
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        files.push(Golden { name, bytes: bytes.clone(), meta1, truth });
        truth = rest;
    }
    assert!(truth.is_empty(), "{}", set.name);
    files
}

fn closed() -> impl Iterator<Item = Golden> {
    golden_files().into_iter().filter(|file| file.meta2() > 0)
}

/// SIONlib did not count what was in its buffer, so that META2 says 0 of a chunk with data.
const UNCOUNTED: &str = "m15_np2_buffered.sion";

/// A task that used more chunks than META2 says, by its blockcount or by maxchunks: no chunk is
/// dropped, but the stream is a guess.
#[test]
fn chunks_that_only_the_rest_of_meta2_or_the_data_show_are_saved() {
    let files: Vec<_> = golden_files();
    let file = files.iter().find(|file| file.name == "s02_three_unequal_noncontig.sion").unwrap();
    let of_blockcount = file.put_i64(file.meta2() + 2 * 8, 1); // of task 2
    let mut of_maxchunks = file.bytes.clone();
    of_maxchunks[file.commit_fields()] = 1;
    for bytes in [of_blockcount, of_maxchunks] {
        assert_ne!(bytes, file.bytes);
        let streams = file.check(&bytes, "fewer chunks", &mut Count::default());
        assert!(file.is_true(2, &streams[2]), "{:?}", streams[2].lens);
        assert_eq!(streams[2].recovered.certainty, Certainty::Guess(Doubt::Meta2InPart));
    }
}

#[test]
fn what_is_whole_is_as_found() {
    let mut count = Count::default();
    for file in closed() {
        let streams = file.check(&file.bytes, "whole", &mut count);
        for (task, stream) in streams.iter().enumerate() {
            match stream.recovered.certainty {
                Certainty::AsFound(Proof::Meta2 | Proof::NoRoom) => {}
                // 240 bytes that the task did write.
                Certainty::Guess(Doubt::ZeroBlocksize) if (&*file.name, task) == (UNCOUNTED, 1) => {
                    assert_eq!(stream.lens, [480, 480, 240]);
                }
                certainty => panic!("{}, task {task}: {certainty}", file.name),
            }
        }
    }
    assert_eq!(count.guesses, 1);
}

#[test]
fn unclosed_files_are_recovered_as_they_were_written() {
    let mut count = Count::default();
    for file in golden_files().into_iter().filter(|file| file.meta2() == 0) {
        count.files += 1;
        for (task, stream) in file.check(&file.bytes, "whole", &mut count).iter().enumerate() {
            assert!(file.is_true(task, stream), "{}, task {task}", file.name);
            let certainty = match file.is_keyval() {
                true => Certainty::AsFound(Proof::Records),
                false => Certainty::Guess(Doubt::NoMeta2),
            };
            assert_eq!(stream.recovered.certainty, certainty);
        }
    }
    assert_eq!(count.files, 2);
}

#[test]
fn whatever_is_left_of_meta2_what_is_as_found_is_true() {
    let mut count = Count::default();
    for file in closed() {
        let (start, end) = (file.meta2(), file.bytes.len());
        for cut in (start..end).step_by(64).chain(end.saturating_sub(9).max(start)..end) {
            count.files += 1;
            file.check(&file.bytes[..cut], &format!("cut at {cut}"), &mut count);
        }
        for cut in (start..end).step_by(stride(5)) {
            let zeroed = [&file.bytes[..cut], &vec![0; end - cut]].concat();
            count.files += 1;
            file.check(&zeroed, &format!("zeros from {cut}"), &mut count);
        }
        let zeroed = [&file.bytes[..start], &vec![0; end - start]].concat();
        for stream in file.check(&zeroed, "zeros", &mut count) {
            let is_sound =
                file.is_keyval() || stream.recovered.certainty == Certainty::AsFound(Proof::NoRoom);
            assert!(is_sound || !stream.is_sound(), "{}", file.name);
        }
    }
    println!("META2 cut or zeroed: {count:?}");
    assert!(count.files.min(count.exact) > 500 / stride(5) as u64, "{count:?}");
    assert!(count.right_guesses * 10 > count.guesses * 9, "{count:?}");
}

#[test]
fn a_cut_of_data_is_not_hidden() {
    let mut count = Count::default();
    for file in closed() {
        let first = file.meta1.layout().first_chunk() as usize;
        for cut in (first..file.meta2()).step_by(61 * stride(5)) {
            count.files += 1;
            file.check(&file.bytes[..cut], &format!("cut at {cut}"), &mut count);
        }
    }
    println!("data cut: {count:?}");
    assert!(count.files > 1000 / stride(5) as u64, "{count:?}");
}

#[test]
fn damaged_commit_fields_are_no_reason_to_lie() {
    let mut count = Count::default();
    let (mut found, mut lost) = (0, 0);
    for file in closed() {
        let at = file.commit_fields();
        for zeroed in [at..at + 12, at..at + 4, at + 4..at + 12] {
            let mut bytes = file.bytes.clone();
            bytes[zeroed.clone()].fill(0);
            count.files += 1;
            let streams = file.check(&bytes, &format!("zeros at {zeroed:?}"), &mut count);
            let named =
                |s: &Stream| s.recovered.certainty == Certainty::Guess(Doubt::Meta2NotNamed);
            found += u64::from(streams.iter().any(named));
        }
        for bit in 0..96 {
            let mut bytes = file.bytes.clone();
            bytes[at + bit / 8] ^= 1 << (bit % 8);
            count.files += 1;
            let streams =
                file.check(&bytes, &format!("bit {bit} of the commit fields"), &mut count);
            let is_sound = streams.iter().all(Stream::is_sound);
            assert!(is_sound || is_commit(&file, &bytes) || file.name == UNCOUNTED, "{bit}");
            lost += u64::from(!is_sound);
        }
    }
    println!("commit fields damaged: {count:?}, META2 found without them {found} times");
    println!("{lost} bits lead to where a commit could have been");
    assert!(count.files > 3000 && found > 20, "{count:?} {found}");
    assert!(count.exact > count.guesses, "{count:?}");
    assert!(count.right_guesses * 100 > count.guesses * 98, "{count:?}");
}

/// Whether the commit fields lead to where a commit could have put META2: then it may have been
/// there, and what a close left is older.
fn is_commit(file: &Golden, bytes: &[u8]) -> bool {
    let at = file.commit_fields();
    let first = file.meta1.layout().first_chunk() as i64;
    let rows = maxchunks(file, at) as i64;
    let skip = (file.meta2() as i64 - first) / rows;
    let damaged = Golden { bytes: bytes.to_vec(), name: String::new(), truth: vec![], ..*file };
    let (start, rows) = (damaged.i64_at(at + 4), maxchunks(&damaged, at) as i32 as i64);
    start % 512 == 0 && rows > 0 && rows.checked_mul(skip).is_some_and(|len| first + len <= start)
}

#[test]
fn single_damaged_entries_cost_their_tasks_only() {
    let mut count = Count::default();
    for file in closed() {
        let ntasks = file.truth.len();
        let (start, fields) = (file.meta2(), file.commit_fields());
        let entries = ntasks * (1 + maxchunks(&file, fields));
        for index in (0..entries).step_by(stride(5)) {
            let at = start + 8 * index;
            let task = index % ntasks;
            let blockcount = file.i64_at(start + 8 * task);
            for value in [0, -1, i64::MIN, i64::MAX, 1 << 40] {
                // A last chunk of 0 bytes is what META2 says of a task that wrote nothing there.
                // So is the last one, if later entries show that it was written.
                let is_last = (index / ntasks) as i64 == blockcount;
                let is_plausible = value == 0 && is_last;
                if is_plausible || value == file.i64_at(at) {
                    continue;
                }
                let how = format!("{value} at {at}");
                count.files += 1;
                let streams = file.check(&file.put_i64(at, value), &how, &mut count);
                let others = streams.iter().enumerate().filter(|(other, _)| *other != task);
                for (other, stream) in others.filter(|_| file.name != UNCOUNTED) {
                    assert!(stream.is_sound(), "{}, {how}, task {other}", file.name);
                }
            }
        }
    }
    println!("single entries damaged: {count:?}");
    assert!(count.files > 2000 / stride(5) as u64, "{count:?}");
}

fn maxchunks(file: &Golden, fields: usize) -> usize {
    let bytes = file.bytes[fields..fields + 4].try_into().unwrap();
    let value = match file.meta1.order() {
        striae_core::endian::ByteOrder::Little => i32::from_le_bytes(bytes),
        striae_core::endian::ByteOrder::Big => i32::from_be_bytes(bytes),
    };
    value as usize
}

#[test]
fn one_flipped_bit_of_meta1_without_a_seal_is_never_exact_and_mostly_seen() {
    let (mut flips, mut unseen) = (0u64, 0);
    for file in closed() {
        let layout = file.meta1.layout();
        let tables = layout.chunksizes().offset() as usize..file.commit_fields();
        let bits = (20 * 8..24 * 8).chain(tables.start * 8..tables.end * 8);
        for bit in bits.step_by(stride(5)) {
            let mut bytes = file.bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(streams) = recover(&bytes) else { continue };
            flips += 1;
            assert!(streams.iter().all(|stream| !stream.recovered.certainty.is_exact()));
            let is_wrong =
                |(task, stream): (usize, &Stream)| stream.is_sound() && !file.is_true(task, stream);
            unseen += u64::from(streams.iter().enumerate().any(is_wrong));
        }
    }
    println!("bits of META1: {flips} flips, {unseen} with a wrong stream that is as found");
    assert!(flips > 5000 / stride(5) as u64 && unseen * 50 < flips, "{unseen} of {flips}");
}
