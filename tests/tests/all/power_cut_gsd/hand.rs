//! Writers of both kinds: one that waits for its store in the call, and one that is waited for.

use super::run::Failure;
use striae_core::gsd::{Attributes, ChunkType, Slot, Version, Writer};
use striae_core::step::DriveError;
use striae_kit::power::{PowerError, PowerStore};
use striae_kit::waiting::{Slow, Waits};

/// How a file is written.
#[derive(Debug, Clone, Default)]
pub(crate) enum Mode {
    #[default]
    Blocking,
    /// By an asynchronous writer, whose store writes in parts; but the header as it is told to.
    Waiting(Waits),
}

/// A writer.
#[derive(Debug)]
pub(crate) enum FileWriter {
    Blocking(Writer<PowerStore, Vec<Slot>>),
    Waiting(Writer<Slow<PowerStore>, Vec<Slot>>, Waits, PowerStore),
}

/// A call that is dropped failed as if the store had.
fn wait<T>(
    waits: &Waits,
    store: &PowerStore,
    future: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let dropped = || Err(DriveError::Store(PowerError::Dropped { op: store.ops() }));
    waits.run(future).unwrap_or_else(dropped)
}

impl Mode {
    pub(crate) fn create(
        &self,
        store: &PowerStore,
        attributes: &Attributes<'_>,
        memory: Vec<Slot>,
    ) -> Result<FileWriter, Failure> {
        let Self::Waiting(waits) = self else {
            return Writer::create(store.clone(), attributes, memory).map(FileWriter::Blocking);
        };
        let create = Writer::create_async(slow(store, waits), attributes, memory);
        let writer = wait(waits, store, create)?;
        Ok(FileWriter::Waiting(writer, waits.clone(), store.clone()))
    }

    pub(crate) fn open(
        &self,
        store: &PowerStore,
        memory: Vec<Slot>,
    ) -> Result<FileWriter, Failure> {
        let Self::Waiting(waits) = self else {
            return Writer::open(store.clone(), memory).map(FileWriter::Blocking);
        };
        let writer = wait(waits, store, Writer::open_async(slow(store, waits), memory))?;
        Ok(FileWriter::Waiting(writer, waits.clone(), store.clone()))
    }
}

fn slow(store: &PowerStore, waits: &Waits) -> Slow<PowerStore> {
    let header = 0..256;
    Slow::new(store.clone(), waits).in_parts(vec![header])
}

/// A method of both writers.
macro_rules! both {
    ($self:ident, $writer:ident => $call:expr) => {
        match $self {
            Self::Blocking($writer) => $call,
            Self::Waiting($writer, ..) => $call,
        }
    };
}

/// A call of one, or of the other.
macro_rules! either {
    ($self:ident, $writer:ident => $call:expr, $waited:expr) => {
        match $self {
            Self::Blocking($writer) => $call,
            Self::Waiting($writer, waits, store) => wait(waits, store, $waited),
        }
    };
}

impl FileWriter {
    pub(crate) fn frames(&self) -> u64 {
        both!(self, writer => writer.frames())
    }

    pub(crate) fn names(&self) -> u32 {
        both!(self, writer => writer.names())
    }

    pub(crate) fn version(&self) -> Version {
        both!(self, writer => writer.version())
    }

    pub(crate) fn data_end(&self) -> u64 {
        both!(self, writer => writer.data_end())
    }

    pub(crate) fn set_one_sync(&mut self, one_sync: bool) {
        both!(self, writer => writer.set_one_sync(one_sync));
    }

    pub(crate) fn discard_frame(&mut self) {
        match self {
            Self::Blocking(writer) => writer.discard_frame(),
            Self::Waiting(writer, waits, _) => {
                waits.run(writer.discard_frame_async()).unwrap_or_default();
            }
        }
    }

    pub(crate) fn name(&mut self, name: &[u8]) -> Result<u16, Failure> {
        either!(self, writer => writer.name(name), writer.name_async(name))
    }

    pub(crate) fn write_chunk(
        &mut self,
        id: u16,
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        let chunk = either!(
            self,
            writer => writer.write_chunk(id, kind, m, bytes),
            writer.write_chunk_async(id, kind, m, bytes)
        );
        chunk.map(drop)
    }

    /// Writes a chunk in pieces, and finishes it or gives it up.
    pub(crate) fn stream<'b>(
        &mut self,
        (id, kind, m): (u16, ChunkType, u32),
        mut pieces: impl Iterator<Item = &'b [u8]>,
        is_finished: bool,
    ) -> Result<(), Failure> {
        either!(
            self,
            writer => {
                let mut stream = writer.begin_chunk(id, kind, m)?;
                pieces.try_for_each(|piece| stream.write(piece))?;
                if is_finished { stream.finish().map(drop) } else { Ok(()) }
            },
            async {
                let mut stream = writer.begin_chunk_async(id, kind, m).await?;
                for piece in pieces {
                    stream.write_async(piece).await?;
                }
                if is_finished { stream.finish_async().await.map(drop) } else { Ok(()) }
            }
        )
    }

    pub(crate) fn end_frame(&mut self) -> Result<u64, Failure> {
        either!(self, writer => writer.end_frame(), writer.end_frame_async())
    }

    pub(crate) fn commit(&mut self) -> Result<(), Failure> {
        either!(self, writer => writer.commit(), writer.commit_async())
    }

    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        either!(self, writer => writer.close(), writer.close_async())
    }

    pub(crate) fn upgrade(&mut self) -> Result<(), Failure> {
        either!(self, writer => writer.upgrade(), writer.upgrade_async())
    }

    pub(crate) fn truncate(&mut self) -> Result<(), Failure> {
        either!(self, writer => writer.truncate(), writer.truncate_async())
    }
}
