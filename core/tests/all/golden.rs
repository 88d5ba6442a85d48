//! Every file set that SIONlib wrote for us reads as its expected contents say.
//!
//! The sets, and how they were made, are in `tests/golden/sion/README.md`. This test needs nothing
//! but `core`, so that it also runs on big-endian and 32-bit hosts.

use embedded_io::{Read, Seek, SeekFrom};
use serde_json::Value;
use sha2::{Digest, Sha256};
use striae_core::endian::ByteOrder;
use striae_core::sion::position::{Ends, Lengths};
use striae_core::sion::{
    Error, KeyvalMode, Listed, Meta1, Opened, Physical, ReadError, Reader, Records, Stream,
};
use striae_core::step::DriveError;
use striae_kit::golden_sets::{GoldenSet, golden_dir, golden_set, golden_sets, payload};

type File<'a> = Physical<&'a [u8]>;

fn open(bytes: &[u8]) -> Opened<&[u8]> {
    Physical::open(bytes, &mut [0; 1076]).unwrap()
}

fn closed(bytes: &[u8]) -> File<'_> {
    match open(bytes) {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("not closed"),
    }
}

fn reader(set: &GoldenSet) -> Reader<Vec<File<'_>>, &[u8]> {
    Reader::of_set(set.files.iter().map(|bytes| closed(bytes)).collect()).unwrap()
}

fn is_closed(set: &GoldenSet) -> bool {
    set.expected["closed"].as_bool().unwrap()
}

fn closed_sets() -> impl Iterator<Item = GoldenSet> {
    golden_sets().into_iter().filter(is_closed)
}

fn read_to_end<R: Read<Error: core::fmt::Debug>>(mut stream: R) -> Vec<u8> {
    let (mut all, mut buf) = (Vec::new(), [0; 701]);
    loop {
        match stream.read(&mut buf).unwrap() {
            0 => return all,
            n => all.extend_from_slice(&buf[..n]),
        }
    }
}

fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap()
}

fn list(file: &File<'_>, window: usize) -> Vec<Listed> {
    file.tasks(&mut vec![0; window]).unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_field_of_meta1_is_read() {
    for set in closed_sets() {
        let (file, meta) = (closed(&set.files[0]), &set.expected["meta"]);
        let meta1 = file.meta1();
        let field = |name: &str| number(&meta[name]);
        assert_eq!(meta1.order().to_string(), meta["meta_endian"].as_str().unwrap());
        assert_eq!(meta1.data_order().to_string(), meta["data_endian"].as_str().unwrap());
        let (version, patch) = meta1.library_version();
        assert_eq!((i64::from(version), i64::from(patch)), (field("version"), field("patch")));
        assert_eq!(i64::from(meta1.fileformat_version().number()), field("ffv"));
        assert_eq!(i64::from(meta1.fsblksize()), field("fsblksize"));
        assert_eq!(i64::from(meta1.ntasks()), field("ntasks"));
        assert_eq!(i64::from(meta1.nfiles()), field("nfiles"));
        assert_eq!(i64::from(meta1.filenumber().unwrap()), field("filenumber"));
        assert_eq!(meta1.flags(), (field("flag1"), field("flag2")));
        assert_eq!(*file.prefix().unwrap(), *meta["prefix"].as_str().unwrap().as_bytes());
        let inline = meta1.keyval() == KeyvalMode::Inline;
        assert_eq!(inline, field("keyvalmode") == 51, "{}", set.name);
    }
}

#[test]
fn each_field_of_meta1_that_is_too_small_is_judged_and_the_rest_is_read() {
    use striae_core::sion::raw::Meta1 as Raw;
    let wrong = [(Raw::fsblksize, 20, 1), (Raw::nfiles, 28, 1), (Raw::filenumber, 32, 0)];
    let wrong = wrong.map(|(field, offset, min)| Error::TooSmall { field, offset, value: -1, min });
    let ntasks = Error::TooSmall { field: Raw::ntasks, offset: 24, value: -1, min: 1 };
    for set in closed_sets() {
        let (whole, ntasks_of) = (&set.files[0], number(&set.expected["meta"]["ntasks"]));
        let mut bytes = whole.clone();
        for at in [20, 28, 32] {
            bytes[at..at + 4].fill(0xff);
        }
        let mut judged = Vec::new();
        let mut judge = |bytes: &[u8]| {
            judged.clear();
            let meta1 = Meta1::judge(bytes, bytes.len() as u64, |error| {
                judged.push(error);
                Ok(())
            });
            (meta1, judged.clone())
        };
        let (meta1, errors) = judge(&bytes);
        let meta1 = meta1.unwrap();
        assert_eq!(errors, wrong, "{}", set.name);
        assert_eq!((meta1.fsblksize(), meta1.nfiles(), meta1.filenumber()), (1, 1, Some(0)));
        assert_eq!(i64::from(meta1.ntasks()), ntasks_of);
        assert_eq!(Meta1::parse(&bytes, bytes.len() as u64), Err(wrong[0]));
        assert_eq!(judge(whole).1, []);
        bytes[24..28].fill(0xff);
        assert_eq!(judge(&bytes), (Err(ntasks), wrong[..1].to_vec()));
    }
}

#[test]
fn the_layout_is_where_the_writer_put_it() {
    for set in closed_sets() {
        let (file, meta) = (closed(&set.files[0]), &set.expected["meta"]);
        let offset = |name: &str| u64::try_from(number(&meta[name])).unwrap();
        let layout = file.meta1().layout();
        assert_eq!(layout.commit_fields().end(), offset("meta1_len"), "{}", set.name);
        assert_eq!(layout.first_chunk(), offset("first"), "{}", set.name);
        assert_eq!(file.meta2().start(), offset("start_of_varheader"), "{}", set.name);
        assert_eq!(u64::from(file.meta2().maxchunks()), offset("maxchunks"), "{}", set.name);
        assert_eq!(file.meta2().end(), offset("meta2_end"), "{}", set.name);
    }
}

#[test]
fn every_task_is_listed_with_its_chunks() {
    for set in closed_sets() {
        let reader = reader(&set);
        let expected = set.tasks();
        assert_eq!(reader.ntasks(), u64::try_from(expected.len()).unwrap(), "{}", set.name);
        let listed: Vec<_> = reader.files().iter().flat_map(|file| list(file, 40)).collect();
        for (index, (listed, expected)) in (0u64..).zip(listed.iter().zip(expected)) {
            let task = listed.task;
            assert_eq!(task.globalrank, number(&expected["globalrank"]), "{}", set.name);
            assert_eq!(i64::from(task.local), number(&expected["lrank"]), "{}", set.name);
            let chunk = task.chunks.chunk(0).unwrap();
            assert_eq!(chunk.offset(), expected["start"].as_u64().unwrap(), "{}", set.name);
            assert_eq!(task.chunks.globalskip, expected["globalskip"].as_u64(), "{}", set.name);
            assert_eq!(listed.bytes, expected["length"].as_u64().unwrap(), "{}", set.name);

            let (file, found) = reader.task(index, &mut [0; 8]).unwrap();
            let globalskip = task.chunks.globalskip.filter(|_| task.blockcount > 1);
            let mut same = task;
            same.chunks.globalskip = globalskip; // not read for a single chunk
            assert_eq!(found, same, "{}", set.name);
            for window in [8, 64, 4096] {
                let lens: Vec<_> =
                    file.chunk_lens(task, &mut vec![0; window]).map(|len| len.unwrap()).collect();
                let chunks = expected["chunks"].as_array().unwrap();
                let chunks: Vec<_> = chunks.iter().map(|len| len.as_u64().unwrap()).collect();
                assert_eq!(lens, chunks, "{} task {index}", set.name);
            }
        }
    }
}

#[test]
fn a_list_does_not_depend_on_the_window() {
    for set in closed_sets() {
        for bytes in &set.files {
            let file = closed(bytes);
            let whole = list(&file, 1 << 16);
            for window in [40, 47, 80, 120, 1000] {
                assert_eq!(list(&file, window), whole, "{} window {window}", set.name);
            }
        }
    }
}

#[test]
fn every_stream_has_the_bytes_that_were_written() {
    for set in closed_sets() {
        let reader = reader(&set);
        for (index, expected) in (0u64..).zip(set.tasks()) {
            let (file, task) = reader.task(index, &mut [0; 64]).unwrap();
            let bytes = read_to_end(file.stream(task));
            assert_eq!(hex_sha256(&bytes), expected["sha256"].as_str().unwrap(), "{}", set.name);
        }
    }
}

#[test]
fn both_kinds_of_chunk_lengths_seek_alike() {
    for set in closed_sets() {
        let reader = reader(&set);
        for index in 0..reader.ntasks() {
            let (file, task) = reader.task(index, &mut [0; 64]).unwrap();
            let ends: Vec<u64> = file
                .chunk_lens(task, &mut [0; 64])
                .scan(0, |end, len| {
                    *end += len.unwrap();
                    Some(*end)
                })
                .collect();
            let whole = read_to_end(file.stream(task));
            seeks_reach(&whole, file.stream(task));
            let ends = Ends::new(ends).unwrap();
            seeks_reach(&whole, Stream::new(*file.store(), task.chunks, ends));
        }
    }
}

/// Walks a stream forwards and backwards and compares with its bytes.
fn seeks_reach<'a, S, L>(whole: &[u8], mut stream: Stream<S, L>)
where
    S: striae_core::store::ReadAt<Error = <&'a [u8] as striae_core::store::ReadAt>::Error>,
    L: Lengths<ReadError<S>>,
{
    let len = u64::try_from(whole.len()).unwrap();
    assert_eq!(stream.total().unwrap(), len);
    let (mut byte, step) = ([0], len / 13 + 1);
    let forwards: Vec<_> = (0..len).step_by(usize::try_from(step).unwrap()).collect();
    for &position in forwards.iter().chain(forwards.iter().rev()) {
        assert_eq!(stream.seek(SeekFrom::Start(position)).unwrap(), position);
        assert_eq!(stream.read(&mut byte).unwrap(), 1);
        assert_eq!(byte[0], whole[usize::try_from(position).unwrap()]);
        stream.seek(SeekFrom::Current(-1)).unwrap();
        let (chunk, offset) = stream.location().unwrap().unwrap();
        assert_eq!(stream.position_of(chunk, offset).unwrap(), position);
    }
    assert_eq!(stream.seek(SeekFrom::End(0)).unwrap(), len);
    assert_eq!(stream.read(&mut byte).unwrap(), 0);
    assert_eq!(stream.seek(SeekFrom::Current(7)).unwrap(), len + 7);
    assert_eq!(stream.read(&mut byte).unwrap(), 0);
    assert!(stream.seek(SeekFrom::End(-(i64::try_from(len).unwrap()) - 1)).is_err());
}

#[test]
fn the_last_sixteen_bytes_are_read_as_nest_reads_them() {
    let set = golden_set("s02_three_unequal_noncontig");
    let file = closed(&set.files[0]);
    let mut stream = file.stream(file.task(2, &mut [0; 64]).unwrap());
    assert_eq!(stream.seek(SeekFrom::End(-16)).unwrap(), 2408);
    let expected: Vec<_> = (2408..2424).map(|i| payload(42, i)).collect();
    assert_eq!(read_to_end(&mut stream), expected);
    // chunks of 1024, 700 and 700 bytes; SIONlib's pointer behind a full chunk is (0, 1024)
    assert_eq!(stream.position_of(0, 1024), Ok(1024));
    assert_eq!(stream.position_of(1, 0), Ok(1024));
    assert_eq!(stream.position_of(2, 684), Ok(2408));
    assert_eq!(stream.position_of(1, 701), Err(DriveError::Format(Error::Position)));
    let no_chunk = Error::NoChunk { chunk: 3, blockcount: 3 };
    assert_eq!(stream.position_of(3, 0), Err(DriveError::Format(no_chunk)));
}

#[test]
fn key_value_records_are_found_across_chunks() {
    let mut records_seen = 0;
    for set in closed_sets().filter(|set| set.expected["meta"]["keyvalmode"] == 51) {
        let reader = reader(&set);
        let order = reader.files()[0].meta1().order();
        for (index, expected) in (0u64..).zip(set.tasks()) {
            let (file, task) = reader.task(index, &mut [0; 64]).unwrap();
            let mut stream = file.stream(task);
            let records: Vec<_> =
                Records::new(&mut stream, order).unwrap().map(Result::unwrap).collect();
            let expected = expected["keyval"].as_array().unwrap();
            assert_eq!(records.len(), expected.len(), "{} task {index}", set.name);
            for (record, expected) in records.iter().zip(expected) {
                assert_eq!(Some(record.key), expected["key"].as_u64());
                assert_eq!(Some(record.len), expected["length"].as_u64());
                stream.seek_to(record.position);
                let mut value = vec![0; usize::try_from(record.len).unwrap()];
                stream.read_all(&mut value).unwrap();
                assert_eq!(hex_sha256(&value), expected["sha256"].as_str().unwrap());
                records_seen += 1;
            }
            for key in records.iter().map(|record| record.key) {
                let mut whole = Vec::new();
                for record in records.iter().filter(|record| record.key == key) {
                    stream.seek_to(record.position);
                    let mut value = vec![0; usize::try_from(record.len).unwrap()];
                    stream.read_all(&mut value).unwrap();
                    whole.extend(value);
                }
                let value = Records::new(&mut stream, order).unwrap().value(key);
                assert_eq!(read_to_end(value), whole);
            }
        }
    }
    assert!(records_seen > 20, "{records_seen}");
}

#[test]
fn global_ranks_are_found_with_and_without_a_mapping() {
    for set in closed_sets() {
        let reader = reader(&set);
        for (index, expected) in (0u64..).zip(set.tasks()) {
            let globalrank = number(&expected["globalrank"]);
            let found = reader.find_globalrank(globalrank, &mut [0; 16]).unwrap();
            assert_eq!(found, Some(index), "{} globalrank {globalrank}", set.name);
        }
        assert_eq!(reader.find_globalrank(-77, &mut [0; 16]).unwrap(), None);
    }
}

#[test]
fn the_mapping_is_in_file_0_of_several_only() {
    for set in closed_sets() {
        for (number, bytes) in set.files.iter().enumerate() {
            let mapping = closed(bytes).mapping().unwrap();
            let expected = match &set.expected["meta"]["mapping"] {
                Value::Array(entries) if number == 0 => Some(entries.len()),
                _ => None,
            };
            let len = mapping.map(|mapping| usize::try_from(mapping.len()).unwrap());
            assert_eq!(len, expected, "{} file {number}", set.name);
        }
    }
}

#[test]
fn buddy_sets_are_sets() {
    let set = golden_set("m11_np4_buddy");
    let path = |suffix: &str| {
        let dir = golden_dir();
        std::fs::read(dir.join(format!("m11_np4_buddy.sion_BUDDY_00{suffix}"))).unwrap()
    };
    let files = [path(""), path(".000001")];
    let reader = Reader::of_set([closed(&files[0]), closed(&files[1])]).unwrap();
    // each file starts with its collector's own tasks as empty entries, numbered -(rank + 1)
    for expected in set.tasks() {
        let globalrank = number(&expected["globalrank"]);
        let task = reader.find_globalrank(globalrank, &mut [0; 16]).unwrap().unwrap();
        let (file, task) = reader.task(task, &mut [0; 64]).unwrap();
        let bytes = read_to_end(file.stream(task));
        assert_eq!(hex_sha256(&bytes), expected["sha256"].as_str().unwrap());
        let empty = reader.find_globalrank(-(globalrank + 1), &mut [0; 16]).unwrap().unwrap();
        let (file, task) = reader.task(empty, &mut [0; 64]).unwrap();
        assert_eq!(read_to_end(file.stream(task)), [0u8; 0]);
        assert_eq!(task.chunks.chunksize, 0);
    }
}

#[test]
fn an_unclosed_file_is_no_error_and_shows_its_tasks() {
    for set in golden_sets().into_iter().filter(|set| !is_closed(set)) {
        let Opened::Unclosed(file) = open(&set.files[0]) else { panic!("{} closed", set.name) };
        let expected = set.expected["expected_in_order_of_ranks"].as_array().unwrap();
        let mut window = [0; 80];
        let tasks: Vec<_> = file.tasks(&mut window).unwrap().map(Result::unwrap).collect();
        assert_eq!(tasks.len(), expected.len());
        for (listed, expected) in tasks.iter().zip(expected) {
            assert_eq!(listed.task.globalrank, number(&expected["globalrank"]));
            assert_eq!((listed.task.blockcount, listed.bytes), (0, 0));
            assert_eq!(file.task(listed.task.local, &mut [0; 8]).unwrap(), listed.task);
        }
    }
}

#[test]
fn parts_of_a_set_are_refused_or_read_alone() {
    let set = golden_set("m05_np8_3files");
    let files: Vec<_> = set.files.iter().map(|bytes| closed(bytes)).collect();
    let of = |numbers: &[usize]| {
        Reader::of_set(numbers.iter().map(|&n| files[n]).collect::<Vec<_>>()).map(|r| r.ntasks())
    };
    assert_eq!(of(&[0, 1, 2]), Ok(8));
    assert_eq!(of(&[0, 1]), Err(Error::SetOf { given: 2, nfiles: 3 }));
    assert_eq!(of(&[]), Err(Error::SetOf { given: 0, nfiles: 1 }));
    assert!(matches!(of(&[0, 2, 1]), Err(Error::Differs { file: 1, value: 2, expected: 1, .. })));
    let alone = Reader::alone(files[2]);
    assert_eq!(alone.ntasks(), 4);
    assert_eq!(alone.find_globalrank(4, &mut [0; 8]).unwrap(), Some(0));
    assert_eq!(alone.files()[0].meta1().filenumber(), Some(2));
    assert_eq!(closed(&set.files[0]).meta1().order(), ByteOrder::Little);
}

#[test]
fn spans_are_where_the_bytes_are() {
    let set = golden_set("s02_three_unequal_noncontig");
    let file = closed(&set.files[0]);
    let mut stream = file.stream(file.task(2, &mut [0; 64]).unwrap());
    for (position, len) in [(0, 2424), (1000, 800), (1023, 1), (1024, 700), (2400, 99), (2424, 1)] {
        let spans: Vec<_> = stream.spans(position, len).map(Result::unwrap).collect();
        let bytes = spans.iter().flat_map(|span| {
            let range =
                usize::try_from(span.offset()).unwrap()..usize::try_from(span.end()).unwrap();
            set.files[0][range].to_vec()
        });
        let expected = (position..2424.min(position + len)).map(|i| payload(42, i));
        assert_eq!(bytes.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        assert!(spans.len() <= 3); // one for each chunk
    }
}

#[test]
fn an_empty_chunk_is_a_chunk() {
    let set = golden_set("s08_all_empty");
    let file = closed(&set.files[0]);
    let mut stream = file.stream(file.task(0, &mut [0; 64]).unwrap());
    assert_eq!(stream.chunk(0).unwrap().len, 0);
    let no_chunk = Error::NoChunk { chunk: 5, blockcount: 1 };
    assert_eq!(stream.chunk(5), Err(DriveError::Format(no_chunk)));
}
