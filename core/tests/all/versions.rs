//! Every variant of a SIONlib file that the specification allows is read.
//!
//! Golden files show what SIONlib 1.7.6 wrote; the rest is made here, by a writer that was made
//! from `spec/sion.md` and not from striae's layout.

use striae_core::endian::ByteOrder;
use striae_core::sion::{Error, FormatVersion, KeyvalMode, Opened, Physical, Reader, Record};
use striae_kit::everything::{Summary, TaskSummary, read_within_budget};
use striae_kit::golden_sets::{as_v2, golden_set, payload};
use striae_kit::sion_file::{SionFile, SionTask};

fn closed(bytes: &[u8]) -> Physical<&[u8]> {
    match Physical::open(bytes, &mut [0; 1076]).unwrap() {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("not closed"),
    }
}

fn read(bytes: &[u8]) -> Summary {
    let summary = read_within_budget(bytes).unwrap();
    assert_eq!(summary.error(), None);
    summary
}

fn written(globalrank: i64, len: u64) -> Vec<u8> {
    (0..len).map(|i| payload(globalrank, i)).collect()
}

/// A task that wrote `lens` bytes into its chunks.
fn task(globalrank: i64, chunksize: u64, lens: &[usize]) -> SionTask {
    let total: usize = lens.iter().sum();
    let mut bytes = written(globalrank, u64::try_from(total).unwrap()).into_iter();
    let chunks = lens.iter().map(|&len| bytes.by_ref().take(len).collect()).collect();
    SionTask { globalrank, chunksize, chunks }
}

/// The file holds the tasks that it was made of, where the writer put them.
fn assert_same(file: &SionFile) -> Summary {
    let (summary, places) = (read(&file.bytes()), file.places());
    let tasks = summary.tasks.as_ref().unwrap();
    assert_eq!(tasks.len(), file.tasks.len());
    for (local, (read, written)) in tasks.iter().zip(&file.tasks).enumerate() {
        let read = read.as_ref().unwrap();
        let task = read.listed.task;
        assert_eq!(task.globalrank, written.globalrank);
        assert_eq!(task.chunks.start, places.starts[local]);
        assert_eq!(task.chunks.chunksize, places.sizes[local]);
        assert_eq!(task.chunks.globalskip, Some(places.globalskip));
        assert_eq!(read.stream, written.stream(), "task {local}");
        let lens = written.chunks.iter().map(|chunk| u64::try_from(chunk.len()).unwrap());
        assert!(read.lens.iter().copied().eq(lens));
    }
    assert_eq!(summary.prefix, file.prefix);
    summary
}

#[test]
fn version_2_holds_the_same_streams() {
    let set = golden_set("s02_three_unequal_noncontig");
    let old = as_v2(&set.files[0], 3);
    assert_eq!(old.len(), set.files[0].len());
    let file = closed(&old);
    assert_eq!(file.meta1().fileformat_version(), FormatVersion::V2);
    assert_eq!((file.meta1().filenumber(), file.meta1().flags()), (None, (0, 0)));
    assert_eq!(file.meta1().layout().commit_fields().end(), 1136 - 20);
    assert_eq!(read(&old), read(&set.files[0]));
}

#[test]
fn version_2_files_of_a_set_are_read_one_by_one() {
    let set = golden_set("m05_np8_3files");
    for (new, ntasks) in set.files.iter().zip([2, 2, 4]) {
        let old = as_v2(new, ntasks);
        let (mut read_new, read_old) = (read(new), read(&old));
        read_new.mapping = Ok(None); // the file does not say that it is the first one
        assert_eq!(read_old, read_new);
        let alone = Reader::alone(closed(&old));
        assert_eq!(alone.ntasks(), u64::try_from(ntasks).unwrap());
    }
}

#[test]
fn chunks_are_rounded_when_read_before_version_4_only() {
    for version in 2..=5 {
        let mut file = SionFile { version, fsblksize: 777, ..SionFile::default() };
        file.tasks = vec![task(0, 1, &[1, 0, 1]), task(1, 0, &[0]), task(2, 778, &[700, 778, 3])];
        let expected = if version < 4 { [777, 0, 1554] } else { [1, 0, 778] };
        assert_eq!(file.places().sizes, expected);
        let summary = assert_same(&file);
        let start = |task: Result<TaskSummary, Error>| task.unwrap().listed.task.chunks.start;
        let starts: Vec<_> = summary.tasks.unwrap().into_iter().map(start).collect();
        let first = 1554; // the first multiple of 777 behind 1088 + 16 * 3 = 1136
        assert_eq!(starts, [first, first + expected[0], first + expected[0]]);
    }
}

#[test]
fn any_block_size_and_either_order_is_read() {
    for (fsblksize, big_endian) in [1, 2, 777, 1136, 4096].into_iter().zip([true, false].repeat(3))
    {
        let mut file = SionFile { fsblksize, big_endian, ..SionFile::default() };
        file.tasks = vec![task(3, 512, &[512, 1, 512]), task(-5, 13, &[13, 13]), task(0, 0, &[0])];
        for (unused, gap) in [(0, 0), (-1, 0), (i64::MIN, 1), (7, 5000)] {
            (file.unused, file.gap) = (unused, gap);
            assert_same(&file);
        }
    }
}

#[test]
fn only_two_bits_of_the_endianness_have_a_meaning() {
    for name in ["s02_three_unequal_noncontig", "c01_be_of_s02"] {
        let mut bytes = golden_set(name).files.swap_remove(0);
        let whole = read(&bytes);
        let order = bytes[4] & 1;
        for other in [0x00, 0xfe, 0x54, 0x80] {
            for data in [0, 1] {
                bytes[4..8].copy_from_slice(&[order | other, data | other, !other, other]);
                assert_eq!(read(&bytes), whole);
                let expected = [ByteOrder::Little, ByteOrder::Big];
                let meta1 = *closed(&bytes).meta1();
                assert_eq!(meta1.data_order(), expected[usize::from(data)]);
                assert_eq!(meta1.order(), expected[usize::from(order)]);
            }
        }
    }
}

#[test]
fn key_value_flags_count_in_version_5_only() {
    let stream = [SionFile::default().record_header(7, 3), b"abc".to_vec()].concat();
    let modes = [
        (0, KeyvalMode::None),
        (50, KeyvalMode::None),
        (51, KeyvalMode::Inline),
        (52, KeyvalMode::Other(52)),
        (-1, KeyvalMode::Other(-1)),
    ];
    for version in 2..=5 {
        for (mode, expected) in modes {
            // the lower half has no meaning
            for low in [0, 51, 0xffff_ffff] {
                let tasks = vec![SionTask::filled(0, 512, &stream)];
                let flag1 = (mode << 32) | low;
                let file = SionFile { version, flag1, tasks, ..SionFile::default() };
                let bytes = file.bytes();
                let expected = if version == 5 { expected } else { KeyvalMode::None };
                assert_eq!(closed(&bytes).meta1().keyval(), expected, "version {version}");
                let summary = assert_same(&file);
                let task = summary.tasks.unwrap().swap_remove(0).unwrap();
                assert_eq!(task.records.is_some(), expected == KeyvalMode::Inline);
            }
        }
    }
}

#[test]
fn global_ranks_are_any_numbers_and_may_repeat() {
    let ranks = [5, -1, 5, i64::MIN, i64::MAX, 0, -1];
    let tasks = ranks.iter().map(|&rank| task(rank, 8, &[8, 3])).collect();
    let file = SionFile { tasks, ..SionFile::default() };
    assert_same(&file);
    let bytes = file.bytes();
    let reader = Reader::alone(closed(&bytes));
    for (rank, first) in [(5, 0), (-1, 1), (i64::MIN, 3), (i64::MAX, 4), (0, 5)] {
        for window in [8, 16, 1000] {
            let found = reader.find_globalrank(rank, &mut vec![0; window]).unwrap();
            assert_eq!(found, Some(first));
        }
    }
    assert_eq!(reader.find_globalrank(6, &mut [0; 8]).unwrap(), None);
}

#[test]
fn a_prefix_ends_at_a_nul_or_behind_1024_bytes() {
    for len in [0, 1, 1023, 1024] {
        for version in [2, 5] {
            let prefix = vec![b'\xff'; len];
            let tasks = vec![task(0, 4, &[4])];
            assert_same(&SionFile { version, prefix, tasks, ..SionFile::default() });
        }
    }
}

// ---- key-value records ----

fn keyval(tasks: Vec<SionTask>) -> SionFile {
    SionFile { flag1: 51 << 32, fsblksize: 1, tasks, ..SionFile::default() }
}

fn records(file: &SionFile) -> (Vec<Record>, Option<Error>) {
    let tasks = assert_same(file).tasks.unwrap();
    tasks[0].as_ref().unwrap().records.clone().unwrap()
}

#[test]
fn a_record_header_is_split_at_any_byte() {
    for big_endian in [false, true] {
        let order = SionFile { big_endian, ..SionFile::default() };
        let header = |key, len| order.record_header(key, len);
        let stream =
            [header(u64::MAX, 5), b"12345".to_vec(), header(1, 0), header(2, 1), b"x".to_vec()];
        let stream = stream.concat();
        let expected = [(u64::MAX, 16, 5), (1, 37, 0), (2, 53, 1)];
        let expected = expected.map(|(key, position, len)| Record { key, position, len });
        // two chunk ends anywhere in the stream, so also both within a header, or at one place
        for first in 0..=stream.len() {
            for second in first..=stream.len() {
                let chunks = [&stream[..first], &stream[first..second], &stream[second..]];
                let chunksize = u64::try_from(stream.len()).unwrap();
                let chunks = chunks.map(<[u8]>::to_vec).to_vec();
                let task = SionTask { globalrank: 0, chunksize, chunks };
                let file = SionFile { big_endian, ..keyval(vec![task]) };
                assert_eq!(records(&file), (expected.to_vec(), None), "{first} {second}");
            }
        }
    }
}

#[test]
fn chunks_of_one_byte_hold_records() {
    let order = SionFile::default();
    let stream = [order.record_header(9, 2), b"ab".to_vec(), order.record_header(9, 0)].concat();
    let file = keyval(vec![SionTask::filled(0, 1, &stream)]);
    let record = |position, len| Record { key: 9, position, len };
    assert_eq!(records(&file), (vec![record(16, 2), record(34, 0)], None));
}

#[test]
fn empty_records_are_records_also_as_the_last() {
    let order = SionFile::default();
    for count in 1..5u64 {
        let stream = order.record_header(3, 0).repeat(usize::try_from(count).unwrap());
        for chunksize in [1, 16, 17, 512] {
            let file = keyval(vec![SionTask::filled(0, chunksize, &stream)]);
            let (found, error) = records(&file);
            let record = |number| Record { key: 3, position: 16 * number + 16, len: 0 };
            assert_eq!(found, (0..count).map(record).collect::<Vec<_>>());
            assert_eq!(error, None);
        }
    }
    assert_eq!(records(&keyval(vec![SionTask::filled(0, 512, b"")])), (vec![], None));
}

#[test]
fn a_record_that_is_longer_than_its_stream_is_cut() {
    let order = SionFile::default();
    let first = [order.record_header(1, 4), b"abcd".to_vec()].concat();
    let is_cut = |rest: &[u8], len| {
        let stream = [&first, rest].concat();
        let file = keyval(vec![SionTask::filled(0, 7, &stream)]);
        let left = u64::try_from(rest.len()).unwrap();
        let (found, error) = records(&file);
        assert_eq!(found, [Record { key: 1, position: 16, len: 4 }]);
        assert_eq!(error, Some(Error::RecordCut { position: 20, len, left }));
    };
    for len in 1..16 {
        is_cut(&vec![0; len], 16);
    }
    is_cut(&order.record_header(1, 1), 17);
    is_cut(&[order.record_header(1, 3), b"xy".to_vec()].concat(), 19);
    for len in [u64::MAX, u64::MAX - 15, u64::MAX - 16, i64::MAX.unsigned_abs(), 1 << 63] {
        is_cut(&order.record_header(1, len), len.saturating_add(16));
    }
}

#[test]
fn the_same_key_in_another_task_is_another_key() {
    let order = SionFile::default();
    let stream = |byte: u8| [order.record_header(1, 2), vec![byte; 2]].concat().repeat(2);
    let tasks = [1, 2].map(|byte| SionTask::filled(0, 11, &stream(byte))).to_vec();
    let bytes = keyval(tasks).bytes();
    let file = closed(&bytes);
    for (local, byte) in [(0, 1), (1, 2)] {
        let mut stream = file.stream(file.task(local, &mut [0; 8]).unwrap());
        let records = striae_core::sion::Records::new(&mut stream, ByteOrder::Little).unwrap();
        let mut value = Vec::new();
        let mut reader = records.value(1);
        let mut buf = [0; 3];
        while let n @ 1.. = embedded_io::Read::read(&mut reader, &mut buf).unwrap() {
            value.extend_from_slice(&buf[..n]);
        }
        assert_eq!(value, [byte; 4]);
    }
}

#[test]
fn a_file_of_version_2_is_a_set_of_its_own() {
    let set = golden_set("m05_np8_3files");
    let file = as_v2(&set.files[0], 2);
    let reader = Reader::of_set([closed(&file)]).unwrap();
    assert_eq!((reader.ntasks(), reader.files()[0].meta1().nfiles()), (2, 3));
    let two = Reader::of_set([closed(&file), closed(&file)]).err();
    assert_eq!(two, Some(Error::SetOf { given: 2, nfiles: 1 }));
}
