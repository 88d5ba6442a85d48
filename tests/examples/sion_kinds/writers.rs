//! Who writes: core's writer over files, and the one for many threads.

use super::shapes::Shape;
use std::io::{self, Write as _};
use std::path::Path;
use striae::posix::PosixFile;
use striae::sion::{Builder, Durability, FileWriter, Reopen};
use striae_core::sion::{Attributes, Finished, Memory, Options, Pen, Writer};
use striae_core::store::{ReadAt, WriteAt};

/// A set that is written, by either of our writers.
pub(crate) trait SetWriter: Sized {
    fn create(path: &Path, shape: &Shape, sealed: bool) -> Self;
    fn reopen(path: &Path, shape: &Shape) -> Self;
    fn write(&mut self, task: usize, bytes: &[u8]);
    fn write_record(&mut self, task: usize, bytes: &[u8]);
    fn write_key(&mut self, task: usize, key: u64, value: &[u8]);
    fn commit(&mut self);
    fn close(&mut self);
}

impl SetWriter for FileWriter {
    fn create(path: &Path, shape: &Shape, sealed: bool) -> Self {
        let Attributes { order, data_order, fsblksize, nfiles, keyval, .. } = shape.attributes;
        let (ranks, sizes): (Vec<_>, _) = shape.tasks().unzip();
        Builder::new(u64::try_from(ranks.len()).unwrap())
            .globalranks(ranks)
            .chunksizes(sizes)
            .order(order)
            .data_order(data_order)
            .fsblksize(fsblksize)
            .nfiles(nfiles)
            .keyval(keyval)
            .sealed(sealed)
            .prefix(shape.prefix.clone().unwrap())
            .durability(Durability::None) // nothing here is ever cut
            .force(true)
            .create(path)
            .unwrap()
    }

    fn reopen(path: &Path, _: &Shape) -> Self {
        Reopen::new().durability(Durability::None).open(path).unwrap()
    }

    fn write(&mut self, task: usize, bytes: &[u8]) {
        self.task(u64::try_from(task).unwrap()).unwrap().write_all(bytes).unwrap();
    }

    fn write_record(&mut self, task: usize, bytes: &[u8]) {
        self.task(u64::try_from(task).unwrap()).unwrap().write_record(bytes).unwrap();
    }

    fn write_key(&mut self, task: usize, key: u64, value: &[u8]) {
        self.task(u64::try_from(task).unwrap()).unwrap().write_key(key, value).unwrap();
    }

    fn commit(&mut self) {
        Self::commit(self).unwrap();
    }

    fn close(&mut self) {
        Self::close(self).unwrap();
    }
}

/// A file that nobody waits for: nothing here is ever cut.
#[derive(Debug)]
struct Unsynced(PosixFile);

impl ReadAt for Unsynced {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        self.0.size()
    }
}

impl WriteAt for Unsynced {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.0.set_size(len)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Core's writers, one for each file of the set.
pub(crate) struct CoreSet {
    writers: Vec<Writer<'static, Unsynced>>,
    /// File and local rank of each task.
    places: Vec<(usize, u32)>,
}

impl CoreSet {
    fn new(path: &Path, shape: &Shape, sealed: Option<bool>) -> Self {
        let files = shape.files.iter().zip(0..);
        let writers = files.clone().map(|(tasks, number)| {
            let path = if number == 0 {
                path.to_owned()
            } else {
                path.with_extension(format!("sion.{number:06}"))
            };
            // Memory that lives as long as this program, which is short.
            let memory = Memory {
                pens: Box::leak(vec![Pen::EMPTY; tasks.len()].into()),
                ledger: Box::leak(vec![Finished::EMPTY; 4000].into()),
                window: Box::leak(vec![0; 2000].into()),
            };
            let ahead = u32::try_from(tasks.len() % 3).unwrap();
            let mapping = Box::leak(shape.mapping().into());
            let options = Options {
                mapping,
                sealed: sealed.unwrap_or_default(),
                ahead,
                ..Options::default()
            };
            if sealed.is_none() {
                let store = Unsynced(PosixFile::open_rw(&path).unwrap());
                return Writer::reopen(store, memory, options).unwrap();
            }
            let store = Unsynced(PosixFile::create(&path, true).unwrap());
            let prefix = shape.prefix.as_deref().unwrap();
            let attributes = shape.of_file(number);
            Writer::create(store, &attributes, prefix, &tasks[..], memory, options).unwrap()
        });
        let writers = writers.collect();
        let places = files.flat_map(|(tasks, number)| {
            let file = usize::try_from(number).unwrap();
            (0..).take(tasks.len()).map(move |local| (file, local))
        });
        Self { writers, places: places.collect() }
    }

    fn of_task(&mut self, task: usize) -> (&mut Writer<'static, Unsynced>, u32) {
        let (file, local) = self.places[task];
        (&mut self.writers[file], local)
    }
}

impl SetWriter for CoreSet {
    fn create(path: &Path, shape: &Shape, sealed: bool) -> Self {
        Self::new(path, shape, Some(sealed))
    }

    fn reopen(path: &Path, shape: &Shape) -> Self {
        Self::new(path, shape, None)
    }

    fn write(&mut self, task: usize, bytes: &[u8]) {
        let (writer, local) = self.of_task(task);
        writer.write(local, bytes).unwrap();
    }

    fn write_record(&mut self, task: usize, bytes: &[u8]) {
        let (writer, local) = self.of_task(task);
        writer.write_record(local, bytes).unwrap();
    }

    fn write_key(&mut self, task: usize, key: u64, value: &[u8]) {
        let (writer, local) = self.of_task(task);
        writer.write_key(local, key, value).unwrap();
    }

    fn commit(&mut self) {
        self.writers.iter_mut().for_each(|writer| writer.commit().unwrap());
    }

    fn close(&mut self) {
        self.writers.iter_mut().for_each(|writer| writer.close().unwrap());
    }
}
