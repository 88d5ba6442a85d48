//! META1 of the golden sets from what their writers asked for.

use super::recorded::{Recorded, RecordedSet, recorded};
use super::stored;
use striae_core::endian::I64;
use striae_core::integrity::crc32c;
use striae_core::sion::create::{Front, write_meta1};
use striae_core::sion::filegroups::mapping;
use striae_core::sion::{FormatVersion, Meta1, Opened, Physical};
use striae_kit::golden_sets::{GoldenSet, golden_sets};
use zerocopy::FromBytes;

fn meta1(file: &Recorded) -> Meta1 {
    let front = &file.bytes[..Meta1::MAX_LEN];
    Meta1::parse(front, u64::try_from(file.bytes.len()).unwrap()).unwrap()
}

fn recorded_files() -> impl Iterator<Item = Recorded> {
    golden_sets().into_iter().flat_map(|set| recorded(&set).files)
}

/// A table of META1 as it stands in the file.
fn table(file: &Recorded, offset: u64) -> Vec<i64> {
    let (at, len) = (usize::try_from(offset).unwrap(), file.requests.len() * 8);
    let entries = <[I64]>::ref_from_bytes(&file.bytes[at..at + len]).unwrap();
    entries.iter().map(|entry| entry.get(file.attributes.order)).collect()
}

#[test]
fn commands_say_what_the_json_says() {
    let tasks_of = |set: &GoldenSet| -> Vec<u64> {
        let tasks = set.expected["tasks"].as_array().into_iter().flatten();
        tasks.filter_map(|task| task["chunksize_requested"].as_u64()).collect()
    };
    let mut sets = 0;
    for set in golden_sets().iter().filter(|set| !tasks_of(set).is_empty()) {
        let files = recorded(set).files.into_iter().take(set.files.len());
        let requests: Vec<_> = files.flat_map(|file| file.requests).collect();
        assert_eq!(requests, tasks_of(set), "{}", set.name);
        sets += 1;
    }
    assert!(sets >= 25, "{sets} sets were compared");
}

#[test]
fn stored_chunk_sizes_are_those_of_every_golden_set() {
    let mut files = 0;
    for file in recorded_files() {
        let meta1 = meta1(&file);
        if meta1.fileformat_version() == FormatVersion::V3 {
            continue; // it stores what was requested
        }
        let sizes = stored(file.rule, file.attributes.fsblksize, &file.requests).unwrap();
        let sizes: Vec<_> = sizes.into_iter().map(|size| i64::try_from(size).unwrap()).collect();
        assert_eq!(sizes, table(&file, meta1.layout().chunksizes().offset()), "{}", file.name);
        files += 1;
    }
    assert!(files >= 45, "{files} files were compared");
}

#[test]
fn meta1_of_every_golden_set_follows_from_what_was_asked_for() {
    let mut files = 0;
    for file in recorded_files() {
        if meta1(&file).fileformat_version() != FormatVersion::V5 {
            continue;
        }
        let sizes = stored(file.rule, file.attributes.fsblksize, &file.requests).unwrap();
        let tasks: Vec<_> = file.globalranks.iter().copied().zip(sizes).collect();
        let meta1 = Meta1::new(&file.attributes, u64::try_from(tasks.len()).unwrap()).unwrap();
        let end = usize::try_from(meta1.layout().chunksizes().end()).unwrap();
        let (mut ours, mut window) = (vec![7; end + 12], [0; 100]);
        let prefix = file.prefix.as_bytes();
        let (front, store) = (Front::new(&meta1, prefix).unwrap(), &mut &mut ours[..]);
        let meta1_crc = write_meta1(&front, &tasks[..], Some(crc32c), store, &mut window).unwrap();
        assert_eq!(meta1_crc, crc32c(0, &ours[..end]), "{}", file.name);
        assert_eq!(ours.split_off(end), [0; 12], "unclosed, and not cut");
        let differs = ours.iter().zip(&file.bytes).position(|(ours, theirs)| ours != theirs);
        assert_eq!(differs, None, "{}", file.name);
        files += 1;
    }
    assert!(files >= 45, "{files} files were compared");
}

#[test]
fn mappings_follow_from_the_file_groups() {
    let mut mappings = 0;
    for set in golden_sets() {
        let RecordedSet { files, groups } = recorded(&set);
        for (first, groups) in groups {
            let (name, bytes) = (&files[first].name, files[first].bytes.as_slice());
            let Opened::Closed(file) = Physical::open(bytes, &mut [0; 2048]).unwrap() else {
                panic!("{name} is closed")
            };
            let Some(stored) = file.mapping().unwrap() else { continue };
            let address = |rank| {
                let at = usize::try_from(stored.entry(rank).unwrap().offset()).unwrap();
                stored.address(&bytes[at..]).unwrap()
            };
            let stored: Vec<_> = (0..stored.len()).map(address).collect();
            assert_eq!(mapping(&&*groups).collect::<Vec<_>>(), stored, "{name}");
            mappings += 1;
        }
    }
    assert!(mappings >= 7, "{mappings} mappings were compared");
}
