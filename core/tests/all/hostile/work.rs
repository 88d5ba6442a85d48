//! Work and errors stay small.

use super::*;
use striae_kit::sion_file;

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
