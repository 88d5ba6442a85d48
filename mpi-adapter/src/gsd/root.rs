//! The part of rank 0: the index, the names and the places of chunks.

use super::rows::Column;
use super::{Named, failed, refused};
use crate::error::{Code, Failure};
use std::collections::HashMap;
use std::io;
use striae::lock::Locked;
use striae_core::gsd::open::Open;
use striae_core::gsd::{Attributes, Chunk, Reader, Slot, Writer, checksums};
use striae_core::store::WriteAt;
use zerocopy::FromZeros;

/// The most chunks of a frame and their checksums: a file has no more names.
const SLOTS: usize = 1 << 20;

/// Core's writer, with what it has no memory for.
pub(super) struct Root<F> {
    writer: Writer<F, Vec<Slot>>,
    names: HashMap<Vec<u8>, u16>,
    /// Keeps other writers out while this lives.
    _lock: Option<Locked>,
}

/// Memory for the slots of the largest frame, which the operating system gives at the first use.
fn memory() -> Result<Vec<Slot>, Failure> {
    let text = "no memory for the chunks of a frame";
    Slot::new_vec_zeroed(SLOTS).map_err(|_| Failure::new(Code::Io(12), text)) // ENOMEM
}

impl<F: WriteAt<Error = io::Error>> Root<F> {
    /// Makes the empty `file` a GSD file.
    pub(super) fn create(
        file: F,
        about: &Attributes<'_>,
        lock: Option<Locked>,
    ) -> Result<Self, Failure> {
        let writer = Writer::create_with(file, about, memory()?, crc32c::crc32c_append);
        let writer = writer.map_err(|error| failed::<F>("making the file", error))?;
        Ok(Self { writer, names: HashMap::new(), _lock: lock })
    }

    /// Opens `file` to append to it.
    pub(super) fn open(file: F, lock: Option<Locked>) -> Result<Self, Failure> {
        let (what, mut window) = ("opening the file", [0; Open::WINDOW]);
        let mut names = HashMap::new();
        let reader = Reader::open(&file, &mut window).map_err(|error| failed::<&F>(what, error))?;
        let list = striae::striae_hoomd::NameList::read(&reader);
        let list = list.map_err(|error| failed::<&F>(what, error))?;
        for (name, id) in list.iter().zip(0..) {
            names.entry(name.as_bytes().to_vec()).or_insert(id); // of equal names, the first counts
        }
        let checksum = crc32c::crc32c_append;
        let writer = Writer::open_with(file, memory()?, checksum, &mut window);
        let writer = writer.map_err(|error| failed::<F>(what, error))?;
        Ok(Self { writer, names, _lock: lock })
    }

    pub(super) const fn file(&self) -> &F {
        self.writer.store()
    }

    pub(super) const fn frames(&self) -> u64 {
        self.writer.frames()
    }

    pub(super) const fn has_checksums(&self) -> bool {
        self.writer.has_checksums()
    }

    /// Reserves the place of a chunk with `n` rows of all ranks.
    pub(super) fn place(&mut self, column: &Column<'_>, n: u64) -> Result<Chunk, Failure> {
        let id = self.id(&column.name)?;
        let placed = self.writer.place_chunk(id, column.kind, n, column.m);
        placed.map_err(|error| failed::<F>(Named(&column.name), error))
    }

    fn id(&mut self, name: &[u8]) -> Result<u16, Failure> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        let id = match name == checksums::NAME {
            true => self.writer.name(name), // which the writer itself may have added
            false => self.writer.add_name(name),
        };
        let id = id.map_err(|error| failed::<F>(Named(name), error))?;
        self.names.insert(name.to_vec(), id);
        Ok(id)
    }

    /// Adds a chunk that all ranks have written, or will have written before the next commit.
    pub(super) fn add(&mut self, chunk: Chunk, crc: u32) -> Result<(), Failure> {
        self.writer.add_placed(chunk, crc).map_err(|error| refused("adding a chunk", error))
    }

    pub(super) fn end_frame(&mut self) -> Result<(), Failure> {
        let ended = self.writer.end_frame();
        ended.map(drop).map_err(|error| failed::<F>("ending a frame", error))
    }

    pub(super) fn commit(&mut self) -> Result<(), Failure> {
        self.writer.commit().map_err(|error| failed::<F>("committing", error))
    }

    pub(super) fn close(&mut self) -> Result<(), Failure> {
        self.writer.close().map_err(|error| failed::<F>("closing the file", error))
    }
}
