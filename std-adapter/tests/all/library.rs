//! The library on sets that SIONlib wrote.

use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use striae::sion::{File, OpenOptions, Opened};
use striae_kit::golden_sets::{GoldenSet, golden_set, payload};
use tempfile::TempDir;

fn expected(globalrank: i64, len: u64) -> Vec<u8> {
    (0..len).map(|i| payload(globalrank, i)).collect()
}

/// A folder with the files of a set.
fn copied(set: &GoldenSet) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for path in &set.paths {
        fs::copy(path, dir.path().join(path.file_name().unwrap())).unwrap();
    }
    dir
}

/// How many files in `folder` this process has open.
fn open_files(folder: &Path) -> usize {
    let descriptors = fs::read_dir("/proc/self/fd").unwrap().map(|entry| entry.unwrap().path());
    let files = descriptors.filter_map(|link| fs::read_link(link).ok());
    files.filter(|file| file.starts_with(folder)).count()
}

#[test]
fn many_threads_read_one_set_at_once() {
    let set = golden_set("m05_np8_3files");
    let file = File::open(&set.paths[0]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for task in (0..64).map(|round| (round * 3 + thread) % 8) {
                    let mut bytes = Vec::new();
                    file.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
                    let globalrank = i64::try_from(task).unwrap();
                    assert_eq!(bytes, expected(globalrank, 600 + task * 10));
                }
            });
        }
    });
}

#[test]
fn a_stream_goes_to_another_thread_and_outlives_its_file() {
    let set = golden_set("s02_three_unequal_noncontig");
    let mut stream = File::open(&set.paths[0]).unwrap().stream(2).unwrap();
    let bytes = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).map(|_| bytes)
    });
    assert_eq!(bytes.join().unwrap().unwrap(), expected(42, 2424));
}

#[test]
fn no_more_files_are_open_than_allowed_and_all_can_be_read() {
    let set = golden_set("m17_np4_4files_zero");
    let dir = copied(&set); // no other test opens a file in this folder
    let main = dir.path().join(set.paths[0].file_name().unwrap());
    let opened = OpenOptions::new().max_open_files(2).open(&main).unwrap();
    let Opened::Closed(file) = opened else { panic!("not closed") };
    for _ in 0..2 {
        for (index, task) in (0u64..).zip(set.tasks()) {
            let mut bytes = Vec::new();
            file.stream(index).unwrap().read_to_end(&mut bytes).unwrap();
            assert_eq!(Some(u64::try_from(bytes.len()).unwrap()), task["length"].as_u64());
            assert_eq!(open_files(dir.path()), 2);
        }
    }
}

#[test]
fn a_file_that_was_replaced_while_the_set_was_open_is_refused() {
    let set = golden_set("m05_np8_3files");
    let dir = copied(&set);
    let main = dir.path().join("m05_np8_3files.sion");
    let opened = OpenOptions::new().max_open_files(1).open(&main).unwrap();
    let Opened::Closed(file) = opened else { panic!("not closed") };
    let third = dir.path().join("m05_np8_3files.sion.000002");
    assert_eq!(file.task(7).unwrap().bytes, 670);
    assert_eq!(file.task(0).unwrap().bytes, 600); // closes the third file
    fs::rename(&third, dir.path().join("old")).unwrap();
    fs::copy(dir.path().join("old"), &third).unwrap();
    let error = file.task(7).unwrap_err().to_string();
    assert!(error.ends_with(".000002: was replaced while the set was open"), "{error}");
}

#[test]
fn streams_seek_like_files() {
    let set = golden_set("s02_three_unequal_noncontig");
    let file = File::open(&set.paths[0]).unwrap();
    let mut stream = file.stream(2).unwrap();
    let whole = expected(42, 2424);
    assert_eq!((stream.len(), stream.is_empty()), (2424, false));
    assert_eq!(stream.seek(SeekFrom::End(-16)).unwrap(), 2408);
    let mut tail = [0; 16];
    stream.read_exact(&mut tail).unwrap();
    assert_eq!(tail, whole[2408..]);
    assert!(stream.seek(SeekFrom::Current(-2425)).is_err());
    assert_eq!(stream.position_of(1, 3).unwrap(), 1027);
    assert_eq!(stream.chunk(2).unwrap(), (1724, 700));
    stream.seek(SeekFrom::Start(1000)).unwrap();
    let mut middle = [0; 100]; // over the end of chunk 0
    stream.read_exact(&mut middle).unwrap();
    assert_eq!(middle, whole[1000..1100]);
    assert!(stream.read_exact(&mut [0; 2000]).is_err());
}

#[test]
fn a_file_that_shrinks_is_noticed() {
    let set = golden_set("s02_three_unequal_noncontig");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.sion");
    fs::copy(&set.paths[0], &path).unwrap();
    let file = File::open(&path).unwrap();
    let mut stream = file.stream(2).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(3000).unwrap();
    let error = stream.read_to_end(&mut Vec::new()).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::UnexpectedEof);
    assert!(error.to_string().contains("a.sion: ended at offset 3000"), "{error}");
    assert!(file.task(0).unwrap_err().to_string().contains("ended at offset"));
}

#[test]
fn one_file_of_a_set_can_be_opened_alone() {
    let set = golden_set("m05_np8_3files");
    let opened = OpenOptions::new().alone(true).open(&set.paths[0]).unwrap();
    assert_eq!(opened.files().len(), 1);
    assert_eq!(opened.tasks().unwrap().count(), 2);
}

/// Compiles if what these interfaces take and give has a name in striae alone.
#[test]
fn what_interfaces_need_has_a_name_here() {
    use striae::direct::Alignment;
    use striae::error::ErrorKind;
    use striae::finding::FieldId;
    use striae::posix::PosixFile;
    use striae::{ReadAt, Span, WriteAt, ffrecord, gsd, sion};

    let _: fn(sion::Builder, sion::ByteOrder) -> sion::Builder = sion::Builder::order;
    let _: fn(sion::Builder, sion::ChunkRule) -> sion::Builder = sion::Builder::rule;
    let _: fn(&File) -> sion::KeyvalMode = File::keyval;
    let _: fn(&sion::Head) -> sion::Meta1 = |head| head.meta1;
    let _: fn(&sion::TaskEntry) -> sion::Task = |entry| entry.place;
    let _: fn(sion::Record) -> u64 = |record| record.key;
    let _: fn(sion::ErrorKind) -> ErrorKind = ErrorKind::Sion;
    let _: fn(sion::Error) -> sion::ErrorKind = sion::ErrorKind::Format;
    let _: fn(&sion::Grouping, &sion::SealState) = |_, _| ();
    let _: fn(&gsd::File) -> &gsd::Head = gsd::File::head;
    let _: fn(&gsd::File) -> &gsd::Header = gsd::File::header;
    let _: fn(&gsd::Header) -> (gsd::Label, gsd::Version) =
        |header| (header.schema, header.version);
    let _: fn(&gsd::Head) -> gsd::State = |head| head.state;
    let _: fn(gsd::Chunk) -> (gsd::ChunkType, Span) = |chunk| (chunk.kind, chunk.span);
    let _: fn(gsd::ErrorKind) -> ErrorKind = ErrorKind::Gsd;
    let _: fn(gsd::Error) -> gsd::ErrorKind = gsd::ErrorKind::Format;
    let _: fn(&ffrecord::File) -> &ffrecord::Head = ffrecord::File::head;
    let _: fn(ffrecord::Sample) -> Span = |sample| sample.span;
    let _: fn(ffrecord::ErrorKind) -> ErrorKind = ErrorKind::Ffrecord;
    let _: fn(ffrecord::Error) -> ffrecord::ErrorKind = ffrecord::ErrorKind::Format;
    let _: fn(FieldId) -> u16 = FieldId::offset;
    let _: fn(Alignment) = |_| ();
    fn store<S: ReadAt + WriteAt>() {}
    let _: fn() = store::<PosixFile>;
}
