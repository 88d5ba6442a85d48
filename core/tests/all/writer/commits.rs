//! Commits: what was written before one is there, what comes after it does not disturb it.

use super::{Growing, streams, with_memory, written};
use core::cell::Cell;
use core::convert::Infallible;
use std::rc::Rc;
use striae_core::endian::ByteOrder;
use striae_core::sion::{Attributes, Options, Writer};
use striae_core::store::{ReadAt, SeekStoreError, WriteAt};

#[test]
fn every_commit_is_a_whole_file() {
    let file =
        written(&Attributes::default(), &[(0, 100), (1, 50)], Options::default(), |writer| {
            writer.write(0, &[1; 250]).unwrap();
            writer.commit().unwrap();
        });
    assert_eq!(streams(&file), [vec![1; 250], vec![]]);
}

#[test]
fn what_is_written_behind_a_commit_leaves_it_as_it_is() {
    for ahead in [0, 1, 5] {
        let options = Options { ahead, ..Options::default() };
        let tasks = [(0, 100), (1, 50)];
        let file = written(&Attributes::default(), &tasks, options, |writer| {
            writer.write(0, &[1; 250]).unwrap();
            writer.commit().unwrap();
            writer.write(1, &[2; 1000]).unwrap(); // far beyond where META2 was
        });
        assert_eq!(streams(&file), [vec![1; 250], vec![]], "{ahead} ahead");
    }
}

#[test]
fn a_closed_file_can_be_written_on() {
    let tasks = [(0, 100), (1, 50)];
    let mut store =
        Growing(written(&Attributes::default(), &tasks, Options::default(), |writer| {
            writer.write(0, &[1; 250]).unwrap();
            writer.write_record(1, &[2; 30]).unwrap();
            writer.close().unwrap();
        }));
    for round in 0..3 {
        with_memory(2000, |memory| {
            let mut writer = Writer::reopen(&mut store, memory, Options::default()).unwrap();
            writer.write(0, &[1; 10]).unwrap();
            writer.write_record(1, &[2; 30]).unwrap();
            writer.close().unwrap();
        });
        let expected = [vec![1; 260 + 10 * round], vec![2; 60 + 30 * round]];
        assert_eq!(streams(&store.0), expected);
    }
}

/// A device without a way to cut a file, and one that may not be written.
#[derive(Default)]
struct Uncut(Growing, Rc<Cell<bool>>);

impl ReadAt for Uncut {
    type Error = SeekStoreError<Infallible>;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        Ok(self.0.read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, Self::Error> {
        Ok(self.0.size().unwrap())
    }
}

impl WriteAt for Uncut {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        if self.1.get() {
            return Err(SeekStoreError::CannotShrink { len: 0, wanted: 0 });
        }
        self.0.write_all_at(offset, bytes).unwrap();
        Ok(())
    }

    fn set_size(&mut self, wanted: u64) -> Result<(), Self::Error> {
        let len = self.size()?;
        if wanted < len {
            return Err(SeekStoreError::CannotShrink { len, wanted });
        }
        self.0.set_size(wanted).unwrap();
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}

#[test]
fn a_file_that_cannot_be_cut_can_be_closed_and_written_on() {
    let (tasks, attributes) = ([(0, 100), (1, 50)], Attributes::default());
    let mut store = Uncut::default();
    with_memory(2000, |memory| {
        let options = Options { ahead: 3, ..Options::default() };
        let mut writer =
            Writer::create(&mut store, &attributes, b"a", &tasks[..], memory, options).unwrap();
        for _ in 0..3 {
            writer.write(0, &[1; 110]).unwrap();
            writer.commit().unwrap();
        }
        writer.write(1, &[2; 7]).unwrap();
        writer.close().unwrap();
        writer.write(1, &[2; 70]).unwrap();
        writer.close().unwrap();
    });
    assert_eq!(streams(&store.0.0), [vec![1; 330], vec![2; 77]]);
}

#[test]
fn a_close_whose_tables_are_refused_is_an_error_though_the_file_was_closed_before() {
    let (tasks, attributes) = ([(0, 100), (1, 50)], Attributes::default());
    let mut store = Uncut::default();
    let refuses = Rc::clone(&store.1);
    with_memory(2000, |memory| {
        let options = Options::default();
        let mut writer =
            Writer::create(&mut store, &attributes, b"a", &tasks[..], memory, options).unwrap();
        writer.write(0, &[1; 10]).unwrap();
        writer.close().unwrap();
        writer.write(0, &[1; 20]).unwrap();
        refuses.set(true);
        assert!(writer.close().is_err());
        refuses.set(false);
        writer.close().unwrap();
    });
    assert_eq!(streams(&store.0.0), [vec![1; 30], vec![]]);
}

/// A file as another program may have left it: task 0 has 40 chunks, and META2 stands in chunk 3 of
/// task 1, which does not use it.
fn with_meta2_in_an_unused_chunk(attributes: &Attributes) -> Vec<u8> {
    let tasks = [(0, 100), (1, 2000)];
    let mut file = written(attributes, &tasks, Options::default(), |writer| {
        writer.write(0, &(0..4000).map(|i| (i % 251) as u8).collect::<Vec<_>>()).unwrap();
        writer.close().unwrap();
    });
    let (fields, from, to) = (1076 + 32, file.len() - (16 + 40 * 16 + 4), 1120 + 3 * 2100 + 100);
    assert_eq!(file[fields + 4..fields + 12], (from as u64).to_le_bytes());
    let meta2 = file.split_off(from);
    file[to..to + meta2.len()].copy_from_slice(&meta2);
    file[fields + 4..fields + 12].copy_from_slice(&(to as u64).to_le_bytes());
    file
}

#[test]
fn meta2_moves_behind_all_blocks_in_use_and_not_only_the_one_that_is_entered() {
    let attributes = Attributes { order: ByteOrder::Little, fsblksize: 1, ..Attributes::default() };
    let old = with_meta2_in_an_unused_chunk(&attributes);
    let expected = streams(&old);
    for ahead in [0, 1, 50] {
        let mut store = Growing(old.clone());
        with_memory(2000, |memory| {
            let options = Options { ahead, ..Options::default() };
            let mut writer = Writer::reopen(&mut store, memory, options).unwrap();
            writer.write(1, &[2; 16_000]).unwrap();
        });
        assert_eq!(streams(&store.0), expected, "{ahead} ahead");
    }
}
