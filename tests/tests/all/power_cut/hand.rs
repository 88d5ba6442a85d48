//! Writers of both kinds: one that waits for its store in the call, and one that is waited for.

use super::atomic;
use super::fixed::{self, Fixed};
use super::path::Shape;
use super::run::Failure;
use striae_core::sion::{Memory, Meta1, Options, Writer, cursor::Cursor};
use striae_core::step::DriveError;
use striae_kit::power::{PowerError, PowerStore};
use striae_kit::waiting::{Slow, Waits};

/// How a file is written.
#[derive(Debug, Clone)]
pub(crate) enum Mode {
    Blocking,
    /// By an asynchronous writer.
    Waiting(Waits),
    /// By one whose store writes in parts.
    InParts(Waits),
    /// By a writer of a fixed shape.
    Fixed,
    /// By an asynchronous one, whose store writes in parts.
    FixedInParts(Waits),
}

/// A writer.
#[derive(Debug)]
pub(crate) enum Hand<'m> {
    Blocking(Writer<'m, PowerStore>),
    Waiting(Writer<'m, Slow<PowerStore>>, Waits, PowerStore),
    Fixed(Box<dyn Fixed>),
}

/// A call that is dropped failed as if the store had.
pub(crate) fn wait<T, F>(
    waits: &Waits,
    store: &PowerStore,
    future: impl Future<Output = Result<T, DriveError<PowerError, F>>>,
) -> Result<T, DriveError<PowerError, F>> {
    let dropped = || Err(DriveError::Store(PowerError::Dropped { op: store.ops() }));
    waits.run(future).unwrap_or_else(dropped)
}

impl Mode {
    fn slow(&self, shape: &Shape, store: &PowerStore) -> Option<(Slow<PowerStore>, Waits)> {
        match self {
            Self::Blocking | Self::Fixed => None,
            Self::Waiting(waits) => Some((Slow::new(store.clone(), waits), waits.clone())),
            Self::InParts(waits) | Self::FixedInParts(waits) => {
                let slow = Slow::new(store.clone(), waits).in_parts(atomic(shape));
                Some((slow, waits.clone()))
            }
        }
    }

    pub(crate) fn create<'m>(
        &self,
        shape: &Shape,
        store: &PowerStore,
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Hand<'m>, Failure> {
        let (attributes, tasks, prefix) = (&shape.attributes, shape.tasks.as_slice(), b"a.sion");
        if matches!(self, Self::Fixed | Self::FixedInParts(_)) {
            let writer = fixed::create(shape, prefix, store, self.slow(shape, store))?;
            return Ok(Hand::Fixed(writer));
        }
        let Some((slow, waits)) = self.slow(shape, store) else {
            let store = store.clone();
            let writer = Writer::create(store, attributes, prefix, tasks, memory, options)?;
            return Ok(Hand::Blocking(writer));
        };
        let create = Writer::create_async(slow, attributes, prefix, tasks, memory, options);
        let writer = wait(&waits, store, create)?;
        Ok(Hand::Waiting(writer, waits, store.clone()))
    }

    pub(crate) fn reopen<'m>(
        &self,
        shape: &Shape,
        store: &PowerStore,
        memory: Memory<'m>,
        options: Options<'m>,
    ) -> Result<Hand<'m>, Failure> {
        let Some((slow, waits)) = self.slow(shape, store) else {
            return Ok(Hand::Blocking(Writer::reopen(store.clone(), memory, options)?));
        };
        let writer = wait(&waits, store, Writer::reopen_async(slow, memory, options))?;
        Ok(Hand::Waiting(writer, waits, store.clone()))
    }
}

impl Hand<'_> {
    pub(crate) fn meta1(&self) -> &Meta1 {
        match self {
            Self::Blocking(writer) => writer.meta1(),
            Self::Waiting(writer, ..) => writer.meta1(),
            Self::Fixed(writer) => writer.meta1(),
        }
    }

    pub(crate) fn cursor(&self, local: u32) -> &Cursor {
        match self {
            Self::Blocking(writer) => writer.cursor(local).unwrap(),
            Self::Waiting(writer, ..) => writer.cursor(local).unwrap(),
            Self::Fixed(writer) => writer.cursor(local),
        }
    }

    pub(crate) fn write(&mut self, local: u32, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Blocking(writer) => writer.write(local, bytes),
            Self::Waiting(writer, waits, store) => {
                wait(waits, store, writer.write_async(local, bytes))
            }
            Self::Fixed(writer) => writer.write(local, bytes),
        }
    }

    pub(crate) fn write_record(&mut self, local: u32, record: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Blocking(writer) => writer.write_record(local, record),
            Self::Waiting(writer, waits, store) => {
                wait(waits, store, writer.write_record_async(local, record))
            }
            Self::Fixed(_) => panic!("it has no records"),
        }
    }

    pub(crate) fn write_key(&mut self, local: u32, key: u64, value: &[u8]) -> Result<(), Failure> {
        match self {
            Self::Blocking(writer) => writer.write_key(local, key, value),
            Self::Waiting(writer, waits, store) => {
                wait(waits, store, writer.write_key_async(local, key, value))
            }
            Self::Fixed(_) => panic!("it has no keys"),
        }
    }

    pub(crate) fn commit(&mut self) -> Result<(), Failure> {
        match self {
            Self::Blocking(writer) => writer.commit(),
            Self::Waiting(writer, waits, store) => wait(waits, store, writer.commit_async()),
            Self::Fixed(writer) => writer.commit(),
        }
    }

    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        match self {
            Self::Blocking(writer) => writer.close(),
            Self::Waiting(writer, waits, store) => wait(waits, store, writer.close_async()),
            Self::Fixed(writer) => writer.close(),
        }
    }
}
