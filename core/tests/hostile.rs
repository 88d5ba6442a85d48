//! A file may hold any bytes: it is read right, or the answer is an error that names what is wrong.
//!
//! What is expected here was computed by hand from `spec/sion.md` and the files' bytes, never by
//! the code under test.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    unreachable_pub,
    dead_code,
    reason = "a test: a panic fails it; shared modules are not used whole"
)]

#[path = "../../fuzz/src/everything.rs"]
mod everything;
mod golden_sets;
#[path = "../../fuzz/src/sion_file.rs"]
mod sion_file;

use everything::{Counted, Summary, read_everything, read_within_budget};
use golden_sets::golden_set;
use striae_core::field::FieldId;
use striae_core::sion::raw::{
    BlockcountEntry, BlocksizeEntry, ChunksizeEntry, CommitFields, GlobalrankEntry, Ident,
    MappingEntry, MappingSize, Meta1, Meta1V2,
};
use striae_core::sion::{Error, Opened, Physical, Reader};

/// A file, and what a person reads off its bytes.
#[derive(Debug, Clone)]
struct Specimen {
    name: &'static str,
    bytes: Vec<u8>,
    is_big: bool,
    version: i32,
    ntasks: u64,
    maxchunks: u64,
    varheader: u64,
    /// Entries of the mapping, if a reader looks there.
    mapping: Option<u64>,
}

fn golden(name: &str) -> Vec<u8> {
    golden_set(name).files.swap_remove(0)
}

fn specimens() -> Vec<Specimen> {
    let of = |name, is_big, ntasks, maxchunks, varheader, mapping| {
        let bytes = golden(name);
        Specimen { name, bytes, is_big, version: 5, ntasks, maxchunks, varheader, mapping }
    };
    let s02 = of("s02_three_unequal_noncontig", false, 3, 3, 7680, None);
    let v2 = Specimen { name: "v2 of s02", bytes: as_v2(&s02.bytes, 3), version: 2, ..s02.clone() };
    vec![
        s02,
        v2,
        of("c01_be_of_s02", true, 3, 3, 7680, None),
        of("s17_keyval_straddle", false, 2, 7, 8704, None),
        of("c03_be_of_s17_keyval", true, 2, 7, 8704, None),
        of("m05_np8_3files", false, 2, 2, 3584, Some(8)),
        of("s06_fsb1_packed", false, 4, 3, 1236, None),
    ]
}

/// A little-endian file as fileformat_version 2 has it, as far as anyone knows: without filenumber
/// and flags, with data where they were.
fn as_v2(bytes: &[u8], ntasks: usize) -> Vec<u8> {
    let commit_end = 1088 + 16 * ntasks;
    let mut file = [&bytes[..32], &bytes[52..commit_end], &[0; 20], &bytes[commit_end..]].concat();
    file[16..20].copy_from_slice(&2i32.to_le_bytes());
    file
}

impl Specimen {
    fn len(&self) -> u64 {
        u64::try_from(self.bytes.len()).unwrap()
    }

    /// Where the task tables start.
    fn tables(&self) -> u64 {
        if self.version == 2 { 1056 } else { 1076 }
    }

    fn commit(&self) -> u64 {
        self.tables() + 16 * self.ntasks
    }

    fn meta2_end(&self) -> u64 {
        self.varheader + 8 * self.ntasks * (1 + self.maxchunks)
    }

    fn with_i32(&self, at: u64, value: i32) -> Vec<u8> {
        self.with(at, &if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() })
    }

    fn with_i64(&self, at: u64, value: i64) -> Vec<u8> {
        self.with(at, &if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() })
    }

    fn with(&self, at: u64, value: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[usize::try_from(at).unwrap()..][..value.len()].copy_from_slice(value);
        bytes
    }

    fn i64_at(&self, at: u64) -> i64 {
        let eight = self.bytes[usize::try_from(at).unwrap()..][..8].try_into().unwrap();
        if self.is_big { i64::from_be_bytes(eight) } else { i64::from_le_bytes(eight) }
    }

    fn whole(&self) -> Summary {
        let whole = read_within_budget(&self.bytes).unwrap();
        assert_eq!(whole.error(), None, "{}", self.name);
        whole
    }
}

/// The first thing that is wrong with a file, in the order in which it is read.
fn first_error(bytes: &[u8]) -> Option<Error> {
    match read_within_budget(bytes) {
        Ok(summary) => summary.error().or(summary.mapping.err()),
        Err(error) => Some(error),
    }
}

// ---- cuts ----

/// What is cut if only the first `len` bytes of `file` are there; `None` if it reads as unclosed.
fn cut_at(file: &Specimen, len: u64) -> Option<Error> {
    let n = file.ntasks;
    let head: [(FieldId, u64, u64); 9] = [
        (Ident::magic, 0, 4),
        (Ident::endianness, 4, 4),
        (Ident::version, 8, 4),
        (Ident::patchlevel, 12, 4),
        (Ident::fileformat_version, 16, 4),
        (Meta1::fsblksize, 20, 4),
        (Meta1::ntasks, 24, 4),
        (Meta1::nfiles, 28, 4),
        (Meta1::filenumber, 32, 4),
    ];
    let mut fields: Vec<_> = head.map(|(field, at, size)| (field, at, size, 1)).into();
    if file.version == 2 {
        for (field, v2) in
            fields[5..].iter_mut().zip([Meta1V2::fsblksize, Meta1V2::ntasks, Meta1V2::nfiles])
        {
            field.0 = v2;
        }
        fields.pop();
        fields.push((Meta1V2::filenameprefix, 32, 1024, 1));
    } else {
        fields.push((Meta1::flag1, 36, 8, 1));
        fields.push((Meta1::flag2, 44, 8, 1));
        fields.push((Meta1::filenameprefix, 52, 1024, 1));
    }
    fields.push((GlobalrankEntry::globalrank, file.tables(), 8, n));
    fields.push((ChunksizeEntry::chunksize, file.tables() + 8 * n, 8, n));
    let cut = |&(field, offset, size, count): &(FieldId, u64, u64, u64)| {
        (len < offset + size * count).then_some(Error::Cut { field, offset, count, file_len: len })
    };
    if let Some(error) = fields.iter().find_map(cut) {
        return Some(error);
    }
    if len < file.commit() + 12 {
        return None;
    }
    if len < file.varheader {
        let value = i64::try_from(file.varheader).unwrap();
        let field = CommitFields::start_of_varheader;
        let max = i64::try_from(len).unwrap();
        return Some(Error::TooLarge { field, offset: file.commit() + 4, value, max });
    }
    let blocksizes = file.varheader + 8 * n;
    let mut fields = vec![
        (BlockcountEntry::blockcount, file.varheader, 8, n),
        (BlocksizeEntry::blocksize, blocksizes, 8, n * file.maxchunks),
    ];
    if let Some(entries) = file.mapping {
        fields.push((MappingSize::mapping_size, file.meta2_end(), 4, 1));
        fields.push((MappingEntry::filenumber, file.meta2_end() + 4, 8, entries));
    }
    Some(fields.iter().find_map(cut).unwrap_or(Error::NoKeyval)) // NoKeyval: nothing is cut
}

#[test]
fn every_prefix_of_a_file_names_the_field_that_is_cut() {
    for file in specimens() {
        let whole = file.whole();
        for len in 0..file.bytes.len() {
            let read = read_within_budget(&file.bytes[..len]);
            let expected = cut_at(&file, u64::try_from(len).unwrap());
            let (name, len) = (file.name, len);
            match (read, expected) {
                (Ok(summary), None) => assert!(!summary.closed, "{name} cut at {len}"),
                (Err(error), Some(expected)) => assert_eq!(error, expected, "{name} cut at {len}"),
                (Ok(summary), Some(Error::NoKeyval)) => assert_eq!(summary, whole, "{name} {len}"),
                (Ok(summary), Some(expected)) => {
                    // only the mapping is cut
                    assert_eq!(summary.mapping, Err(expected), "{name} cut at {len}");
                    assert_eq!(summary.tasks, whole.tasks, "{name} cut at {len}");
                }
                (Err(error), None) => panic!("{name} cut at {len}: {error}"),
            }
        }
    }
}

#[test]
fn an_unclosed_file_keeps_its_tasks_until_the_tables_are_cut() {
    for name in ["s19_unclosed_flushed", "s21_unclosed_keyval"] {
        let bytes = golden(name);
        let whole = read_within_budget(&bytes).unwrap();
        let tables_end = 1076 + 16 * whole.tasks.as_ref().unwrap().len();
        for len in 0..bytes.len() {
            match read_within_budget(&bytes[..len]) {
                Ok(summary) => assert!(len >= tables_end && summary == whole, "{name} {len}"),
                Err(error) => {
                    assert!(matches!(error, Error::Cut { .. }) && len < tables_end, "{error}");
                }
            }
        }
    }
}

#[test]
fn cut_data_is_refused_for_the_task_that_loses_bytes() {
    // META2 moved behind META1, so that the data can be cut: task 2 of s02 ends last, at 7356
    let mut file = specimens().swap_remove(0);
    let meta2 = file.bytes.split_off(7680);
    file.bytes[1136..][..96].copy_from_slice(&meta2[..96]);
    let bytes = file.with_i64(1128, 1136);
    let whole = read_within_budget(&bytes).unwrap();
    assert_eq!(whole.stream(2).unwrap().len(), 2424);
    assert_eq!(whole.stream(2), specimens()[0].whole().stream(2));
    assert_eq!(first_error(&bytes[..7356]), None);
    let field = BlocksizeEntry::blocksize;
    let offset = 1136 + 24 + 2 * 24 + 16;
    let cut = Error::TooLarge { field, offset, value: 700, max: 699 };
    assert_eq!(first_error(&bytes[..7355]), Some(cut));
    let gone = Error::TooLarge { field, offset, value: 700, max: 0 };
    assert_eq!(first_error(&bytes[..6000]), Some(gone));
    let rest = read_within_budget(&bytes[..7355]).unwrap();
    assert_eq!((rest.stream(0), rest.stream(1)), (whole.stream(0), whole.stream(1)));
    assert_eq!(rest.stream(2), None);
}

// ---- flips ----

/// Which tasks' streams the metadata at an offset belong to.
#[derive(Debug, PartialEq, Eq)]
enum Touches {
    All,
    One(u64),
    None,
}

fn touches(file: &Specimen, at: u64, bit: u8) -> Touches {
    let tables = file.tables();
    let chunksizes = tables + 8 * file.ntasks;
    match at {
        4 if bit == 0 => Touches::All,
        4..8 | 12..16 => Touches::None,
        0..28 => Touches::All,
        _ if at < chunksizes => Touches::None, // nfiles to globalrank: no stream depends on them
        _ if at < file.commit() + 12 => Touches::All,
        _ if at >= file.meta2_end() => Touches::None,
        _ => Touches::One((at - file.varheader) / 8 % file.ntasks),
    }
}

#[test]
fn a_flipped_bit_of_the_metadata_touches_only_what_it_says() {
    for (number, file) in specimens().into_iter().enumerate() {
        let whole = file.whole();
        let streams = |summary: &Summary, but: &Touches| -> Vec<_> {
            let others = (0..file.ntasks).filter(|&task| *but != Touches::One(task));
            let stream = |task| summary.stream(usize::try_from(task).unwrap()).map(<[u8]>::to_vec);
            others.map(stream).collect()
        };
        for at in (0..file.commit() + 12).chain(file.varheader..file.len()) {
            // The prefix is 1024 times the same: every bit of it in one file, some in the others.
            let is_sampled = number > 0 && (52..1056).contains(&at);
            for bit in (0..8).filter(|&bit| !is_sampled || at % 80 == 9 * u64::from(bit)) {
                let flipped = file.bytes[usize::try_from(at).unwrap()] ^ (1 << bit);
                let touches = touches(&file, at, bit);
                let read = read_within_budget(&file.with(at, &[flipped]));
                match (read, &touches) {
                    (_, Touches::All) => {}
                    (Err(error), _) => {
                        assert!((28..36).contains(&at), "{} {at}: {error}", file.name)
                    }
                    (Ok(read), touches) => {
                        let (left, right) = (streams(&read, touches), streams(&whole, touches));
                        assert_eq!(left, right, "{} byte {at} bit {bit}", file.name);
                    }
                }
            }
        }
    }
}

#[test]
fn a_flipped_bit_of_a_record_header_spares_the_records_before_it() {
    for file in specimens().into_iter().filter(|file| file.maxchunks == 7) {
        let whole = file.whole();
        for (task, summary) in (0..2).zip(whole.tasks.as_ref().unwrap()) {
            let (records, _) = summary.as_ref().unwrap().records.as_ref().unwrap();
            assert!(records.len() >= 4);
            for (number, record) in records.iter().enumerate() {
                for position in record.position - 16..record.position {
                    // both tasks have chunks of 512 bytes and fill them
                    let at = 1536 + 512 * task + 1024 * (position / 512) + position % 512;
                    for bit in 0..8 {
                        let flipped = file.bytes[usize::try_from(at).unwrap()] ^ (1 << bit);
                        let read = read_within_budget(&file.with(at, &[flipped])).unwrap();
                        let tasks = read.tasks.as_ref().unwrap();
                        let local = usize::try_from(task).unwrap();
                        let read = tasks[local].as_ref().unwrap().records.as_ref().unwrap();
                        assert_eq!(read.0[..number], records[..number]);
                        assert_ne!(read.0.get(number), records.get(number));
                        assert_eq!(tasks[1 - local], whole.tasks.as_ref().unwrap()[1 - local]);
                    }
                }
            }
        }
    }
}

// ---- extremes ----

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

fn open(bytes: &[u8]) -> Opened<&[u8]> {
    Physical::open(bytes, &mut [0; 1076]).unwrap()
}

// ---- damage that SIONlib 1.7.6 does not survive, or does not notice ----

fn assert_refused(bytes: &[u8], error: Error, text: &str) {
    assert_eq!(first_error(bytes), Some(error));
    assert_eq!(error.to_string(), text);
}

#[test]
fn headers_that_crash_sionlib_are_refused_by_name() {
    let file = specimens().swap_remove(0);
    assert_refused(
        &file.with_i32(20, 0), // SIGFPE
        Error::TooSmall { field: Meta1::fsblksize, offset: 20, value: 0, min: 1 },
        "META1.fsblksize at offset 20 is 0, must be at least 1",
    );
    assert_refused(
        &file.with_i64(7680, 1_000_000), // SIGSEGV
        Error::TooLarge {
            field: BlockcountEntry::blockcount,
            offset: 7680,
            value: 1_000_000,
            max: 3,
        },
        "META2.blockcount at offset 7680 is 1000000, must be at most 3",
    );
    assert_refused(
        &file.with_i32(24, i32::MAX), // more than 20 s
        Error::Cut {
            field: GlobalrankEntry::globalrank,
            offset: 1076,
            count: 2_147_483_647,
            file_len: 7780,
        },
        "META1.globalrank at offset 1076 needs 2147483647 times 8 bytes, but the file ends at 7780",
    );
    assert_refused(
        &file.with_i32(1124, i32::MAX), // more than 20 s
        Error::Cut {
            field: BlocksizeEntry::blocksize,
            offset: 7704,
            count: 6_442_450_941,
            file_len: 7780,
        },
        "META2.blocksize at offset 7704 needs 6442450941 times 8 bytes, but the file ends at 7780",
    );
    assert_refused(
        &file.with_i64(1100, -512), // sionsplit does not end
        Error::TooSmall { field: ChunksizeEntry::chunksize, offset: 1100, value: -512, min: 0 },
        "META1.chunksize at offset 1100 is -512, must be at least 0",
    );
}

#[test]
fn headers_that_sionlib_believes_are_refused_by_name() {
    let file = specimens().swap_remove(0);
    let (field, value) = (CommitFields::start_of_varheader, 1 << 60);
    assert_refused(
        &file.with_i64(1128, value), // all sizes 0
        Error::TooLarge { field, offset: 1128, value, max: 7780 },
        "META1.start_of_varheader at offset 1128 is 1152921504606846976, must be at most 7780",
    );
    let field = BlocksizeEntry::blocksize;
    assert_refused(
        &file.with_i64(7704, -9),
        Error::TooSmall { field, offset: 7704, value: -9, min: 0 },
        "META2.blocksize at offset 7704 is -9, must be at least 0",
    );
    assert_refused(
        &file.with_i64(7704, 1 << 50),
        Error::TooLarge { field, offset: 7704, value: 1 << 50, max: 512 },
        "META2.blocksize at offset 7704 is 1125899906842624, must be at most 512",
    );
    // nfiles 3, filenumber 1: one file of a set that is not there
    let bytes = file.with_i32(28, 3);
    let Opened::Closed(alone) = open(&bytes) else { panic!("not closed") };
    let error = Reader::of_set([alone]).unwrap_err();
    assert_eq!(error, Error::SetOf { given: 1, nfiles: 3 });
    assert_eq!(error.to_string(), "1 physical files given, the set has 3");
    assert_eq!(read_within_budget(&bytes), Ok(file.whole()));
}

#[test]
fn other_files_are_refused_by_name() {
    let file = specimens().swap_remove(0);
    for version in [1, 6, 9, 0, -1] {
        assert_refused(
            &file.with_i32(16, version),
            Error::FormatVersion { fileformat_version: version },
            &format!("META1.fileformat_version at offset 16 is {version}, must be 2, 3, 4 or 5"),
        );
    }
    assert_refused(
        &file.with_i32(8, 2000),
        Error::Sionlib2 { version: 2000 },
        "META1.version at offset 8 is 2000: the file was written by SIONlib 2 in another layout, \
         must be at most 1999",
    );
    assert_refused(
        &[0; 4096],
        Error::NotSion { magic: [0; 4] },
        r#"META1.magic at offset 0 is "\x00\x00\x00\x00", must be "sion""#,
    );
    assert_refused(
        b"SION",
        Error::NotSion { magic: *b"SION" },
        r#"META1.magic at offset 0 is "SION", must be "sion""#,
    );
    // SIONlib swaps by the first byte; a big-endian version in a file that says little is 5 << 24
    let swapped = file.with_i32(16, 0x0500_0000);
    let error = Error::FormatVersion { fileformat_version: 0x0500_0000 };
    assert_eq!(first_error(&swapped), Some(error));
}

#[test]
fn an_empty_file_and_a_bare_magic_are_cut() {
    let cut = |field, offset, file_len| Error::Cut { field, offset, count: 1, file_len };
    let text = "META1.magic at offset 0 needs 4 bytes, but the file ends at 0";
    assert_refused(b"", cut(Ident::magic, 0, 0), text);
    let text = "META1.magic at offset 0 needs 4 bytes, but the file ends at 3";
    assert_refused(b"sio", cut(Ident::magic, 0, 3), text);
    assert_refused(
        b"six",
        Error::NotSion { magic: *b"six\0" },
        r#"META1.magic at offset 0 is "six\x00", must be "sion""#,
    );
    let text = "META1.endianness at offset 4 needs 4 bytes, but the file ends at 4";
    assert_refused(b"sion", cut(Ident::endianness, 4, 4), text);
}

#[test]
fn a_meta2_of_zeros_is_not_taken_for_empty_streams() {
    // SIONlib writes the commit fields before META2, so a crash in between leaves a hole there
    let file = specimens().swap_remove(0);
    let bytes = file.with(7680, &[0; 96]);
    let field = BlockcountEntry::blockcount;
    assert_refused(
        &bytes,
        Error::TooSmall { field, offset: 7680, value: 0, min: 1 },
        "META2.blockcount at offset 7680 is 0, must be at least 1",
    );
}

// ---- work ----

#[test]
fn work_is_bounded_by_the_size_of_the_file() {
    // as many entries as fit: chunks without bytes, so that nothing but entries is in the file
    let tasks = |ntasks: usize, chunks: usize| {
        let task = |rank| sion_file::SionTask {
            globalrank: rank,
            chunksize: 0,
            chunks: vec![vec![]; chunks],
        };
        let tasks = (0..i64::try_from(ntasks).unwrap()).map(task).collect();
        sion_file::SionFile { fsblksize: 1, flag1: 51 << 32, tasks, ..Default::default() }
    };
    for (ntasks, chunks) in [(1, 1), (2000, 1), (1000, 2), (60, 60), (2, 1500), (1, 4000)] {
        let bytes = tasks(ntasks, chunks).bytes();
        let store = Counted::new(&bytes);
        let summary = read_everything(&store).unwrap();
        assert_eq!(summary.error(), None);
        let (len, (reads, moved)) = (u64::try_from(bytes.len()).unwrap(), store.spent());
        assert!(reads < Counted::budget(len).0 && moved < Counted::budget(len).1);
    }
}

#[test]
fn errors_are_small_and_of_one_line() {
    assert!(size_of::<Error>() <= 32);
    let field = BlocksizeEntry::blocksize;
    let errors = [
        Error::NotSion { magic: *b"\n\r\0\xff" },
        Error::Sionlib2 { version: i32::MAX },
        Error::FormatVersion { fileformat_version: i32::MIN },
        Error::Cut { field, offset: u64::MAX, count: u64::MAX, file_len: u64::MAX },
        Error::Cut { field, offset: 0, count: 1, file_len: 0 },
        Error::TooSmall { field, offset: 0, value: i64::MIN, min: i64::MAX },
        Error::TooLarge { field, offset: 0, value: i64::MAX, max: i64::MIN },
        Error::Differs { field, file: u32::MAX, value: -1, expected: 1 },
        Error::RecordCut { position: u64::MAX, len: u64::MAX, left: u64::MAX },
        Error::NotClosed { offset: 1108 },
        Error::SetOf { given: 0, nfiles: u32::MAX },
        Error::NoTask { task: 0, ntasks: 0 },
        Error::NoChunk { chunk: u64::MAX, blockcount: 0 },
        Error::NoKeyval,
        Error::Position,
        // a field of another format's tables
        Error::TooSmall { field: FieldId::new(200, 3), offset: 0, value: 0, min: 1 },
    ];
    for error in errors {
        let text = error.to_string();
        assert!(!text.contains('\n') && text.len() > 10 && text.is_ascii(), "{text}");
        assert!(!text.ends_with('.') && !text.starts_with("sion"), "{text}");
    }
}
