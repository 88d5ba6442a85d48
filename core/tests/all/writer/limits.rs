//! Limits: what no file can hold is refused, and nothing is written.

use super::model::Tasks;
use super::seals::chunks_of;
use super::shared::Shared;
use super::{streams, with_memory};
use embedded_io::Write;
use std::collections::HashMap;
use striae_core::field::FieldId;
use striae_core::sion::create::TaskTable;
use striae_core::sion::cursor::Cursor;
use striae_core::sion::{
    Attributes, Chunks, Error, Finished, Memory, Opened, Options, Pen, Physical, Writer, raw,
};
use striae_core::step::DriveError;
use striae_core::store::{FixedSize, ReadAt, WriteAt};

const I32_MAX: u32 = i32::MAX.unsigned_abs();
const LAST_OFFSET: u64 = i64::MAX.unsigned_abs();

fn out_of_range(field: FieldId, value: i64, min: i64, max: i64) -> Error {
    Error::OutOfRange { field, value, min, max }
}

/// Tasks that are only a number.
struct Many(u64);

impl TaskTable for Many {
    fn ntasks(&self) -> u64 {
        self.0
    }

    fn globalrank(&self, _: u32) -> i64 {
        0
    }

    fn chunksize(&self, _: u32) -> u64 {
        1
    }
}

/// Why a file cannot be created in a store that is not empty; nothing is written there.
fn refusal(
    attributes: Attributes,
    prefix: &[u8],
    tasks: &(impl TaskTable + ?Sized),
    options: Options<'_>,
) -> Error {
    let store = Shared::of(b"what was there before");
    let error = with_memory(1076, |memory| {
        let writer = Writer::create(store.clone(), &attributes, prefix, tasks, memory, options);
        writer.map(|_| ()).unwrap_err()
    });
    assert_eq!((store.changes(), store.bytes()), (0, b"what was there before".to_vec()));
    let DriveError::Format(error) = error else { panic!("{error}") };
    error
}

fn refused(attributes: Attributes) -> Error {
    refusal(attributes, b"", [(0, 1)].as_slice(), Options::default())
}

#[test]
fn counts_that_no_file_can_hold_are_refused() {
    let max = 134_217_659;
    for (ntasks, value) in
        [(0, 0), (max + 1, max as i64 + 1), (1 << 32, 1 << 32), (u64::MAX, i64::MAX)]
    {
        let error = refusal(Attributes::default(), b"", &Many(ntasks), Options::default());
        assert_eq!(error, out_of_range(raw::Meta1::ntasks, value, 1, max as i64));
    }
    let error = refusal(Attributes::default(), b"", &Many(max), Options::default());
    assert_eq!(error, Error::Pens { ntasks: max, have: 128 });

    let many = i64::from(I32_MAX);
    for nfiles in [0, I32_MAX + 1, u32::MAX] {
        let error = refused(Attributes { nfiles, filenumber: 0, ..Attributes::default() });
        assert_eq!(error, out_of_range(raw::Meta1::nfiles, nfiles.into(), 1, many));
    }
    for fsblksize in [0, I32_MAX + 1, u32::MAX] {
        let error = refused(Attributes { fsblksize, ..Attributes::default() });
        assert_eq!(error, out_of_range(raw::Meta1::fsblksize, fsblksize.into(), 1, many));
    }
    for (nfiles, filenumber, last) in
        [(1, 2, 1), (3, 3, 2), (3, u32::MAX, 2), (I32_MAX, I32_MAX, many - 1)]
    {
        let error = refused(Attributes { nfiles, filenumber, ..Attributes::default() });
        assert_eq!(error, out_of_range(raw::Meta1::filenumber, filenumber.into(), 0, last));
    }
}

#[test]
fn the_largest_numbers_are_not_refused() {
    let attributes = Attributes {
        fsblksize: I32_MAX,
        nfiles: I32_MAX,
        filenumber: I32_MAX - 1,
        ..Attributes::default()
    };
    let store = Shared::default();
    with_memory(1076, |memory| {
        let tasks = [(i64::MIN, 0), (i64::MAX, 1 << 40)];
        let options = Options::default();
        let prefix = [b'x'; 1023];
        let writer =
            Writer::create(store.clone(), &attributes, &prefix, &tasks[..], memory, options);
        let place = writer.unwrap().cursor(1).unwrap().place(1).unwrap();
        assert_eq!(place.offset(), u64::from(I32_MAX));
    });
    let bytes = store.bytes();
    let Opened::Unclosed(file) = Physical::open(bytes.as_slice(), &mut [0; 1100]).unwrap() else {
        panic!("it was never committed")
    };
    assert_eq!(*file.prefix().unwrap(), [b'x'; 1023]);
    assert_eq!(file.head().meta1.nfiles(), I32_MAX);
}

#[test]
fn a_prefix_that_sionlib_cannot_read_is_refused() {
    let tasks = [(0, 1)];
    let store = Shared::of(b"");
    with_memory(1076, |memory| {
        let (attributes, options) = (Attributes::default(), Options::default());
        let prefix = [b'x'; 1023];
        Writer::create(store.clone(), &attributes, &prefix, &tasks[..], memory, options).unwrap();
    });
    let refused = |prefix| refusal(Attributes::default(), prefix, &tasks[..], Options::default());
    assert_eq!(refused(&[b'x'; 1024]), Error::PrefixTooLong { len: 1024 });
    assert_eq!(refused(&[b'x'; 5000]), Error::PrefixTooLong { len: 5000 });
    assert_eq!(refused(b"a\0b"), out_of_range(raw::Meta1::filenameprefix, 0, 1, 255));
}

#[test]
fn chunks_that_do_not_fit_into_a_file_are_refused() {
    let refused =
        |tasks: &[(i64, u64)]| refusal(Attributes::default(), b"", tasks, Options::default());
    let field = raw::ChunksizeEntry::chunksize;
    let room = |ntasks: i64| i64::MAX - (1088 + 16 * ntasks + 511) / 512 * 512;
    for size in [u64::MAX, LAST_OFFSET + 1, LAST_OFFSET] {
        assert_eq!(refused(&[(0, size)]), out_of_range(field, i64::MAX, 0, room(1)));
    }
    let half = LAST_OFFSET / 2;
    let (value, left) = (half as i64, room(3) - half as i64 - 1);
    assert_eq!(refused(&[(0, half), (1, 1), (2, half)]), out_of_range(field, value, 0, left));
    // block 0 has a place, META2 has none
    for less in [0, 1, 15] {
        let size = room(1).unsigned_abs() - less;
        assert_eq!(refused(&[(0, size)]), Error::FileFull { chunk: 0 });
    }
}

#[test]
fn memory_that_is_too_small_is_refused() {
    let store = Shared::of(b"old");
    let create = |pens: usize, window: usize| {
        let (mut pens, mut window) = (vec![Pen::EMPTY; pens], vec![0; window]);
        let memory = Memory { pens: &mut pens, ledger: &mut [], window: &mut window };
        let (attributes, options) = (Attributes::default(), Options::default());
        let tasks = [(0, 1), (1, 1)];
        let writer = Writer::create(store.clone(), &attributes, b"", &tasks[..], memory, options);
        writer.map(|_| ()).map_err(|error| match error {
            DriveError::Format(error) => error,
            error => panic!("{error}"),
        })
    };
    assert_eq!(create(2, 1075), Err(Error::Window { need: 1076 }));
    assert_eq!(create(2, 0), Err(Error::Window { need: 1076 }));
    assert_eq!(create(1, 1076), Err(Error::Pens { ntasks: 2, have: 1 }));
    assert_eq!((store.changes(), store.bytes()), (0, b"old".to_vec()));
    assert_eq!(create(2, 1076), Ok(()));
}

#[test]
fn a_mapping_to_where_nothing_can_be_is_refused() {
    let attributes = Attributes { nfiles: 3, filenumber: 0, ..Attributes::default() };
    let refused = |mapping: &[(u32, u32)]| {
        refusal(attributes, b"", [(0, 1)].as_slice(), Options { mapping, ..Options::default() })
    };
    let field = raw::MappingEntry::filenumber;
    assert_eq!(refused(&[(0, 0), (3, 0)]), out_of_range(field, 3, 0, 2));
    let (field, max) = (raw::MappingEntry::lrank, 134_217_658);
    assert_eq!(refused(&[(2, u32::MAX)]), out_of_range(field, u32::MAX.into(), 0, max));
}

#[test]
fn what_a_file_has_not_is_refused_and_nothing_is_written() {
    for keyval in [false, true] {
        let store = Shared::default();
        with_memory(1076, |memory| {
            let attributes = Attributes { keyval, ..Attributes::default() };
            let (tasks, options) = ([(0, 20), (1, 0)], Options::default());
            let writer =
                Writer::create(store.clone(), &attributes, b"", &tasks[..], memory, options);
            let mut writer = writer.unwrap();
            let changes = store.changes();
            let no_task = Err(DriveError::Format(Error::NoTask { task: 2, ntasks: 2 }));
            if keyval {
                let only = Err(DriveError::Format(Error::OnlyKeyval));
                assert_eq!(writer.write(0, b"x"), only);
                assert_eq!(writer.write_record(0, b"x"), only);
                assert_eq!(writer.ensure_free_space(0, 1), only);
                assert_eq!(writer.write_some(0, b"x").map(|_| ()), only);
                assert_eq!(writer.task(0).map(|_| ()), only);
                assert_eq!(writer.write_key(2, 0, b""), no_task);
            } else {
                let long =
                    |len| Err(DriveError::Format(Error::RecordTooLong { len, chunksize: 20 }));
                assert_eq!(writer.write_key(0, 0, b""), Err(DriveError::Format(Error::NoKeyval)));
                assert_eq!(writer.write_record(0, &[0; 21]), long(21));
                assert_eq!(writer.ensure_free_space(0, u64::MAX), long(u64::MAX));
                let none = Err(DriveError::Format(Error::NoRoom));
                assert_eq!(writer.write(1, b"x"), none);
                assert_eq!(writer.write_some(1, b"x").map(|_| ()), none);
                assert_eq!(writer.write_record(1, b"x"), none);
                for empty in [0, 1] {
                    assert_eq!(writer.write(empty, b""), Ok(()));
                    assert_eq!(writer.write_record(empty, b""), Ok(()));
                    assert_eq!(writer.write_some(empty, b""), Ok(0));
                }
                for empty in [b"".as_slice(), b"x"] {
                    assert_eq!(writer.write(2, empty), no_task);
                    assert_eq!(writer.write_record(2, empty), no_task);
                    assert_eq!(writer.write_some(2, empty).map(|_| ()), no_task);
                }
                assert_eq!(writer.task(2).map(|_| ()), no_task);
            }
            assert_eq!(store.changes(), changes);
            writer.close().unwrap();
        });
        assert!(streams(&store.bytes()).iter().all(Vec::is_empty));
    }
}

#[test]
fn a_chunk_behind_the_last_index_is_refused() {
    let chunks = Chunks { start: 1536, chunksize: 1, globalskip: Some(1) };
    let last = u64::from(I32_MAX) - 1;
    let cursor = Cursor::resume(chunks, last, 1).unwrap();
    assert_eq!(cursor.next_chunk(), Err(Error::FileFull { chunk: last + 1 }));
    for chunk in [last + 1, u64::from(u32::MAX) + 1, u64::MAX] {
        assert_eq!(Cursor::resume(chunks, chunk, 0), Err(Error::FileFull { chunk }));
    }
}

/// A file with holes, as long as files can be.
#[derive(Debug, Default)]
struct Sparse {
    len: u64,
    bytes: HashMap<u64, u8>,
}

impl ReadAt for Sparse {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        let len =
            buf.len().min(usize::try_from(self.len.saturating_sub(offset)).unwrap_or(usize::MAX));
        for (byte, at) in buf[..len].iter_mut().zip(offset..) {
            *byte = self.bytes.get(&at).copied().unwrap_or(0);
        }
        Ok(len)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        Ok(self.len)
    }
}

impl WriteAt for Sparse {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        self.bytes.extend((offset..).zip(bytes.iter().copied()));
        self.len = self.len.max(offset + bytes.len() as u64);
        assert!(self.len <= LAST_OFFSET);
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), FixedSize> {
        self.bytes.retain(|at, _| *at < len);
        self.len = len;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        Ok(())
    }
}

#[test]
fn a_full_file_can_be_committed_and_closed() {
    for (sealed, ahead) in [(false, 0), (true, 3), (false, u32::MAX)] {
        for commits in [false, true] {
            let mut store = Sparse::default();
            with_memory(1076, |memory| {
                let (attributes, tasks) = (Attributes::default(), [(0, 1 << 60), (1, 7)]);
                let options = Options { sealed, ahead, ..Options::default() };
                let writer =
                    Writer::create(&mut store, &attributes, b"", &tasks[..], memory, options);
                let mut writer = writer.unwrap();
                let full = Err(DriveError::Format(Error::FileFull { chunk: 7 }));
                for chunk in 0..8 {
                    writer.write(0, &[chunk]).unwrap();
                    writer.write(1, &[chunk; 7]).unwrap();
                    if commits {
                        writer.commit().unwrap();
                    }
                    let next = writer.ensure_free_space(0, 1 << 60);
                    if chunk == 6 {
                        assert_eq!(next, full);
                        assert_eq!(writer.write_record(1, &[9]), full);
                        assert_eq!(writer.write(1, &[9]), full);
                        break;
                    }
                    next.unwrap();
                }
                writer.commit().unwrap();
                assert_eq!(writer.write(1, &[9]), full);
                writer.write(0, &[100]).unwrap();
                writer.close().unwrap();
            });
            let Opened::Closed(file) = Physical::open(store, &mut [0; 1100]).unwrap() else {
                panic!("it is closed")
            };
            let task = file.task(0, &mut [0; 64]).unwrap();
            let lens: Vec<_> = file.chunk_lens(task, [0; 64]).map(Result::unwrap).collect();
            assert_eq!(lens, [1, 1, 1, 1, 1, 1, 2]);
        }
    }
}

#[test]
fn a_chunk_behind_which_meta2_has_no_place_is_refused() {
    let first = 1536; // of one task
    for (sealed, ahead) in [(false, 0), (true, 1)] {
        let mut store = Sparse::default();
        let size = (LAST_OFFSET - first) / 2;
        with_memory(1076, |memory| {
            let (attributes, tasks) = (Attributes::default(), [(0, size)]);
            let options = Options { sealed, ahead, ..Options::default() };
            let writer = Writer::create(&mut store, &attributes, b"", &tasks[..], memory, options);
            let mut writer = writer.unwrap();
            writer.write(0, &[1; 9]).unwrap();
            let full = Err(DriveError::Format(Error::FileFull { chunk: 1 }));
            assert_eq!(writer.write_record(0, &[]), Ok(()));
            assert_eq!(writer.ensure_free_space(0, size), full);
            for _ in 0..3 {
                writer.commit().unwrap();
                writer.write(0, &[2]).unwrap();
            }
            writer.close().unwrap();
        });
        let Opened::Closed(file) = Physical::open(store, &mut [0; 1100]).unwrap() else {
            panic!("it is closed")
        };
        let task = file.task(0, &mut [0; 64]).unwrap();
        assert_eq!((task.blockcount, file.chunk_len(&task, 0)), (1, Ok(12)));
    }
}

/// What is in a file that is written with room for `finished` chunks in the ledger.
fn with_ledger(finished: usize, sealed: bool, work: impl FnOnce(&mut Writer<'_, Shared>)) -> Tasks {
    let store = Shared::default();
    let mut ledger = vec![Finished::EMPTY; finished];
    let (mut pens, mut window) = ([Pen::EMPTY; 2], [0; 1076]);
    let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
    let (attributes, tasks) = (Attributes::default(), [(0, 10), (1, 10)]);
    let options = Options { sealed, ..Options::default() };
    let mut writer =
        Writer::create(store.clone(), &attributes, b"", &tasks[..], memory, options).unwrap();
    work(&mut writer);
    writer.close().unwrap();
    chunks_of(&store.bytes()).unwrap()
}

#[test]
fn a_full_ledger_is_emptied_by_a_commit_and_nothing_is_lost() {
    let full = |capacity| Err(DriveError::Format(Error::LedgerFull { capacity }));
    let tasks = with_ledger(2, false, |writer| {
        writer.write_record(0, &[1; 6]).unwrap();
        writer.write_record(0, &[2; 6]).unwrap();
        writer.write_record(0, &[3; 6]).unwrap();
        assert_eq!(writer.write_record(0, &[4; 6]), full(2));
        assert_eq!(writer.ensure_free_space(0, 6), full(2));
        writer.write(1, &[5; 35]).unwrap(); // chunks that are just full need no room there
        writer.write_record(0, &[6; 4]).unwrap();
        writer.commit().unwrap();
        writer.write_record(0, &[4; 6]).unwrap();
    });
    assert_eq!(tasks[0], [vec![1; 6], vec![2; 6], [vec![3; 6], vec![6; 4]].concat(), vec![4; 6]]);
    assert_eq!(tasks[1].concat(), [5; 35]);

    let tasks = with_ledger(2, true, |writer| {
        assert_eq!(writer.write(0, &[1; 31]), full(2));
        writer.write(0, &[2; 30]).unwrap();
        assert_eq!(writer.write(0, &[3; 1]), full(2));
        assert_eq!(writer.write(1, &[4; 11]), full(2));
        writer.write(1, &[4; 10]).unwrap();
        writer.commit().unwrap();
        writer.write(0, &[3; 1]).unwrap();
    });
    assert_eq!(tasks[0].concat(), [vec![2; 30], vec![3]].concat());
    assert_eq!(tasks[1].concat(), [4; 10]);
}

#[test]
fn what_no_ledger_holds_is_written_in_parts() {
    for ledger in [0, 1] {
        let tasks = with_ledger(ledger, true, |writer| {
            let bytes: Vec<u8> = (0..100).collect();
            let mut rest = bytes.as_slice();
            while !rest.is_empty() {
                match writer.write_some(0, rest) {
                    Ok(n) => {
                        assert!(n > 0);
                        rest = &rest[n..];
                    }
                    Err(DriveError::Format(Error::LedgerFull { .. })) => writer.commit().unwrap(),
                    Err(error) => panic!("{error}"),
                }
                if ledger == 0 {
                    break; // a sealed chunk cannot be left
                }
            }
        });
        let expected: Vec<u8> = (0..if ledger == 0 { 10 } else { 100 }).collect();
        assert_eq!(tasks[0].concat(), expected);
    }
}

#[test]
fn embedded_io_takes_what_goes_into_one_chunk() {
    let tasks = with_ledger(0, false, |writer| {
        let mut task = writer.task(1).unwrap();
        assert_eq!(task.write(&[]).unwrap(), 0);
        assert_eq!(task.write(&[1; 4]).unwrap(), 4);
        assert_eq!(task.write(&[2; 20]).unwrap(), 6);
        assert_eq!(task.write(&[3; 20]).unwrap(), 10);
        task.write_all(&[4; 33]).unwrap();
        task.flush().unwrap();
    });
    assert_eq!(tasks[1].concat(), [vec![1; 4], vec![2; 6], vec![3; 10], vec![4; 33]].concat());
}
