//! Every field at the ends of its range.

use super::*;

/// What a value of a field must lead to.
enum Expected {
    Error(Error),
    /// Nothing changes.
    Same,
    /// Another reading, or an error of another field.
    Other,
}

fn expected_of_fixed(file: &Specimen, at: u64, value: i32) -> Expected {
    let field = |field, min| match value {
        value if value >= min => Expected::Other,
        _ => Expected::Error(Error::TooSmall {
            field,
            offset: at,
            value: value.into(),
            min: min.into(),
        }),
    };
    let is_v2 = file.version == 2;
    match at {
        8 if value >= 2000 => Expected::Error(Error::Sionlib2 { version: value }),
        8 | 12 => Expected::Same,
        16 if !(2..=5).contains(&value) => {
            Expected::Error(Error::FormatVersion { fileformat_version: value })
        }
        16 => Expected::Other,
        20 => field(Meta1::fsblksize, 1),
        24 => match (u64::try_from(value), file.tables(), file.len()) {
            (Ok(n @ 1..), tables, file_len) if tables + 8 * n > file_len => {
                let field = GlobalrankEntry::globalrank;
                Expected::Error(Error::Cut { field, offset: tables, count: n, file_len })
            }
            (Ok(n @ 1..), tables, file_len) if tables + 16 * n > file_len => {
                let (field, offset) = (ChunksizeEntry::chunksize, tables + 8 * n);
                Expected::Error(Error::Cut { field, offset, count: n, file_len })
            }
            _ => field(Meta1::ntasks, 1),
        },
        28 => field(Meta1::nfiles, 1),
        32 if is_v2 => Expected::Other, // the prefix
        32 => field(Meta1::filenumber, 0),
        _ => panic!("no field at {at}"),
    }
}

fn check(file: &Specimen, whole: &Summary, bytes: &[u8], at: u64, value: i64, expected: &Expected) {
    let case = format!("{}: {value} at {at}", file.name);
    match expected {
        Expected::Error(error) => assert_eq!(first_error(bytes), Some(*error), "{case}"),
        Expected::Same => assert_eq!(read_within_budget(bytes).as_ref(), Ok(whole), "{case}"),
        Expected::Other => drop(read_within_budget(bytes)),
    }
    // the same in a file that a copy broke off
    for len in [file.len() - 1, file.varheader, 1536, file.commit() + 12, file.commit()] {
        let len = usize::try_from(len).unwrap().min(bytes.len());
        drop(read_within_budget(&bytes[..len]));
    }
}

#[test]
fn extreme_values_of_the_fixed_part_are_refused_or_read() {
    let values = [0, 1, 2, 3, 9, -1, i32::MIN, i32::MIN + 1, i32::MAX, i32::MAX - 1, i32::MAX / 2];
    for file in specimens() {
        let whole = file.whole();
        for at in [8, 12, 16, 20, 24, 28, 32] {
            for value in values {
                let bytes = file.with_i32(at, value);
                let expected = expected_of_fixed(&file, at, value);
                check(&file, &whole, &bytes, at, value.into(), &expected);
            }
        }
    }
}

const EXTREMES: [i64; 13] = [
    0,
    1,
    -1,
    -9,
    i64::MIN,
    i64::MIN + 1,
    i64::MAX,
    i64::MAX - 1,
    i64::MAX / 2,
    -0x8000_0000,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 60,
];

#[test]
fn extreme_values_of_the_tables_are_refused_or_read() {
    for file in specimens() {
        let whole = file.whole();
        for task in 0..file.ntasks {
            let chunksizes = file.tables() + 8 * file.ntasks;
            for value in EXTREMES {
                let at = file.tables() + 8 * task;
                // whatever it is, the other tasks are as before
                check(&file, &whole, &file.with_i64(at, value), at, value, &Expected::Other);
                let renamed = read_within_budget(&file.with_i64(at, value)).unwrap();
                let rank = |local: u64| {
                    let tasks = renamed.tasks.as_ref().unwrap();
                    tasks[usize::try_from(local).unwrap()].as_ref().unwrap().listed.task.globalrank
                };
                assert_eq!(rank(task), value);
                assert_eq!(renamed.error(), None);

                let offset = chunksizes + 8 * task;
                let field = ChunksizeEntry::chunksize;
                let expected = match value {
                    ..0 => Expected::Error(Error::TooSmall { field, offset, value, min: 0 }),
                    _ => Expected::Other,
                };
                let bytes = file.with_i64(offset, value);
                check(&file, &whole, &bytes, offset, value, &expected);
            }
        }
    }
}

#[test]
fn chunks_that_end_behind_all_offsets_are_refused() {
    for file in specimens().into_iter().filter(|file| file.version == 5) {
        let offset = file.tables() + 8 * file.ntasks;
        let first = if file.ntasks == 4 { 1152 } else { 1536 }; // 1088 + 16 N, rounded up
        let most = i64::MAX - first;
        let field = ChunksizeEntry::chunksize;
        let error = Error::TooLarge { field, offset, value: most + 1, max: most };
        assert_eq!(first_error(&file.with_i64(offset, most + 1)), Some(error), "{}", file.name);

        let other = Specimen { bytes: file.with_i64(offset, most - 5), ..file.clone() };
        let error = Error::TooLarge { field, offset: offset + 8, value: 6, max: 5 };
        assert_eq!(first_error(&other.with_i64(offset + 8, 6)), Some(error), "{}", file.name);
    }
}

#[test]
fn an_unclosed_file_of_enormous_chunks_is_listed_as_its_tasks_are_found() {
    // nothing bounds them but the largest offset: found by fuzzing, as a start of i64::MAX
    let file = specimens().swap_remove(0);
    let unclosed = Specimen { bytes: file.with_i64(1128, 0), ..file };
    for sizes in [[i64::MAX - 1536, 0, 0], [0, i64::MAX - 1536, 0], [1 << 62, 1 << 61, 1 << 60]] {
        let mut bytes = unclosed.bytes.clone();
        for (place, size) in bytes[1100..].chunks_exact_mut(8).zip(sizes) {
            place.copy_from_slice(&size.to_le_bytes());
        }
        let summary = read_within_budget(&bytes).unwrap();
        let tasks = summary.tasks.unwrap();
        let mut start = 1536;
        for (task, size) in tasks.iter().zip(sizes) {
            let chunks = task.as_ref().unwrap().listed.task.chunks;
            assert_eq!((chunks.start, chunks.chunksize), (start, size.unsigned_abs()));
            start += chunks.chunksize;
        }
    }
}

#[test]
fn extreme_commit_fields_are_refused() {
    for file in specimens() {
        let (whole, at) = (file.whole(), file.commit());
        let file_len = file.len();
        for value in [0, -1, i32::MIN, i32::MAX, i32::MAX / 2, 1, 1_000_000] {
            let field = BlocksizeEntry::blocksize;
            let (offset, count) = (file.varheader + 8 * file.ntasks, file.ntasks);
            let expected = match u64::try_from(value) {
                Ok(rows @ 1_000..) => Error::Cut { field, offset, count: count * rows, file_len },
                Ok(1) => {
                    let field = BlockcountEntry::blockcount;
                    let used = |t: &u64| file.i64_at(file.varheader + 8 * t) > 1;
                    let offset = file.varheader + 8 * (0..file.ntasks).find(used).unwrap();
                    Error::TooLarge { field, offset, value: file.i64_at(offset), max: 1 }
                }
                _ => {
                    let field = CommitFields::maxchunks;
                    Error::TooSmall { field, offset: at, value: value.into(), min: 1 }
                }
            };
            let bytes = file.with_i32(at, value);
            check(&file, &whole, &bytes, at, value.into(), &Expected::Error(expected));
        }
        let (field, offset) = (CommitFields::start_of_varheader, at + 4);
        let (min, max) = (1088 + 16 * file.ntasks, i64::try_from(file_len).unwrap());
        let min = i64::try_from(min).unwrap();
        for value in EXTREMES.into_iter().chain([min - 1, min, max - 1, max, max + 1]) {
            let expected = match value {
                0 => Expected::Other,
                _ if value < min => Expected::Error(Error::TooSmall { field, offset, value, min }),
                _ if value > max => Expected::Error(Error::TooLarge { field, offset, value, max }),
                _ if value < max - 1 => Expected::Other,
                _ => Expected::Error(Error::Cut {
                    field: BlockcountEntry::blockcount,
                    offset: u64::try_from(value).unwrap(),
                    count: file.ntasks,
                    file_len,
                }),
            };
            let bytes = file.with_i64(offset, value);
            check(&file, &whole, &bytes, offset, value, &expected);
            let is_closed = read_within_budget(&bytes).is_ok_and(|read| read.closed);
            assert!(!is_closed || value >= min);
        }
    }
}

#[test]
fn extreme_values_of_meta2_are_refused_for_their_task_only() {
    for file in specimens() {
        let whole = file.whole();
        let maxchunks = i64::try_from(file.maxchunks).unwrap();
        for task in 0..file.ntasks {
            let offset = file.varheader + 8 * task;
            let blockcount = file.i64_at(offset);
            for value in EXTREMES.into_iter().chain([maxchunks + 1, 1_000_000]) {
                let field = BlockcountEntry::blockcount;
                let expected = match value {
                    ..=0 => Expected::Error(Error::TooSmall { field, offset, value, min: 1 }),
                    _ if value <= maxchunks => Expected::Other,
                    _ => Expected::Error(Error::TooLarge { field, offset, value, max: maxchunks }),
                };
                let bytes = file.with_i64(offset, value);
                check(&file, &whole, &bytes, offset, value, &expected);
            }
            for chunk in 0..file.maxchunks {
                let offset = file.varheader + 8 * (file.ntasks * (1 + chunk) + task);
                let max = match file.version {
                    2 => [512, 512, 1024][usize::try_from(task).unwrap()],
                    _ => file.i64_at(file.tables() + 8 * (file.ntasks + task)),
                };
                let field = BlocksizeEntry::blocksize;
                for value in EXTREMES.into_iter().chain([max, max + 1, 1 << 50]) {
                    let expected = match value {
                        _ if i64::try_from(chunk).unwrap() >= blockcount => Expected::Same,
                        ..0 => Expected::Error(Error::TooSmall { field, offset, value, min: 0 }),
                        _ if value <= max => Expected::Other,
                        _ => Expected::Error(Error::TooLarge { field, offset, value, max }),
                    };
                    let bytes = file.with_i64(offset, value);
                    check(&file, &whole, &bytes, offset, value, &expected);
                    let read = read_within_budget(&bytes).unwrap();
                    for other in (0..file.ntasks).filter(|&other| other != task) {
                        let other = usize::try_from(other).unwrap();
                        assert_eq!(read.stream(other), whole.stream(other));
                    }
                }
            }
        }
    }
}

#[test]
fn extreme_mappings_are_refused() {
    let file = specimens().into_iter().find(|file| file.mapping.is_some()).unwrap();
    let (at, file_len) = (file.meta2_end(), file.len());
    for value in [0, 1, 7, 8, 9, -1, i32::MIN, i32::MAX, i32::MAX / 2] {
        let read = read_within_budget(&file.with_i32(at, value)).unwrap();
        let field = MappingEntry::filenumber;
        match u64::try_from(value) {
            Ok(count @ 0..=8) => {
                let entries = read.mapping.unwrap().unwrap();
                assert_eq!(u64::try_from(entries.len()), Ok(count));
            }
            Ok(count) => {
                assert_eq!(
                    read.mapping,
                    Err(Error::Cut { field, offset: at + 4, count, file_len })
                );
            }
            Err(_) => {
                let (field, value) = (MappingSize::mapping_size, value.into());
                let error = Error::TooSmall { field, offset: at, value, min: 0 };
                assert_eq!(read.mapping, Err(error));
            }
        }
    }
    for (number, value) in [(0, -1), (0, i32::MIN), (1, -1)] {
        let read = read_within_budget(&file.with_i32(at + 4 + 4 * number, value)).unwrap();
        assert_eq!(read.mapping.unwrap().unwrap()[0], None);
    }
}

#[test]
fn a_mapping_that_lies_is_not_believed() {
    let set = golden_set("m05_np8_3files");
    let mut files = set.files.clone();
    // all global ranks are said to be task 0 of file 0, then of files and tasks that are not there
    for (filenumber, lrank) in [(0, 0), (7, 0), (1, 2), (i32::MAX, i32::MAX), (-1, -1)] {
        for entry in files[0][3636..].chunks_exact_mut(8) {
            entry[..4].copy_from_slice(&i32::to_le_bytes(filenumber));
            entry[4..].copy_from_slice(&i32::to_le_bytes(lrank));
        }
        let opened = files.iter().map(|bytes| match open(bytes) {
            Opened::Closed(file) => file,
            Opened::Unclosed(_) => panic!("not closed"),
        });
        let reader = Reader::of_set(opened.collect::<Vec<_>>()).unwrap();
        for rank in 0..8 {
            let found = reader.find_globalrank(rank, &mut [0; 16]).unwrap();
            assert_eq!(found, Some(u64::try_from(rank).unwrap()));
        }
    }
}
