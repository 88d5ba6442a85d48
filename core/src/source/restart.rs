//! The machine that calls a parser over a [`View`].

use super::{Fault, Miss, View};
use crate::step::{DriveError, Fill, Need, ReadMachine, ReadStep, fill};
use crate::store::{ReadAt, copy_front};
use core::convert::Infallible;

/// Calls a parser until no bytes are missing.
///
/// As a [`ReadMachine`] it copies the bytes that it is fed to a page. [`Restart::read_from`] reads
/// straight into the page and needs no other buffer.
#[derive(Debug)]
pub struct Restart<'m, S, T, F, const N: usize> {
    view: View<'m, N>,
    state: S,
    parse: F,
    step: ReadStep<T>,
    reads: u64,
}

impl<'m, S, T, E, F, const N: usize> Restart<'m, S, T, F, N>
where
    T: Copy,
    F: Fn(&View<'m, N>, &mut S) -> Result<T, Fault<E>>,
{
    /// Makes a machine that calls `parse` on `view`. `state` is all that `parse` remembers between
    /// calls. After `reads` reads, a further one is [`Miss::Reads`].
    ///
    /// The first step of the machine is a read of 0 bytes: `parse` may fail, so it is called by
    /// `feed` and never by `poll`.
    #[must_use]
    pub const fn new(view: View<'m, N>, state: S, reads: u64, parse: F) -> Self {
        let step = ReadStep::Read { offset: 0, need: 0, want: 0 };
        Self { view, state, parse, step, reads }
    }

    /// Runs the parser to its end on `store`.
    ///
    /// # Errors
    /// The parser's error; a [`Miss`] other than [`Miss::Read`]; the store's own error.
    pub fn read_from<R: ReadAt + ?Sized>(
        &mut self,
        store: &R,
    ) -> Result<T, DriveError<R::Error, Fault<E>>> {
        fill(self, store)?;
        self.output()
    }

    /// [`Restart::read_from`] for an asynchronous store.
    ///
    /// # Errors
    /// See [`Restart::read_from`].
    #[cfg(feature = "async")]
    pub async fn read_from_async<R: crate::store::AsyncReadAt + ?Sized>(
        &mut self,
        store: &R,
    ) -> Result<T, DriveError<R::Error, Fault<E>>> {
        crate::step::fill_async(self, store).await?;
        self.output()
    }

    fn output<R>(&self) -> Result<T, DriveError<R, Fault<E>>> {
        match self.step {
            ReadStep::Done(output) => Ok(output),
            // never: `fill` has run to the end
            ReadStep::Read { offset, .. } => Err(DriveError::Ended { offset }),
        }
    }

    fn call(&mut self) -> Result<(), Fault<E>> {
        self.step = match (self.parse)(&self.view, &mut self.state) {
            Err(Fault::Miss(Miss::Read { offset, need, want })) => {
                self.reads = self.reads.checked_sub(1).ok_or(Miss::Reads)?;
                self.view.restart();
                ReadStep::Read { offset, need, want }
            }
            result => ReadStep::Done(result?),
        };
        Ok(())
    }
}

impl<'m, S, T, E, F, const N: usize> ReadMachine for Restart<'m, S, T, F, N>
where
    T: Copy,
    F: Fn(&View<'m, N>, &mut S) -> Result<T, Fault<E>>,
{
    type Output = T;
    type Error = Fault<E>;

    fn poll(&mut self) -> ReadStep<T> {
        self.step
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Fault<E>> {
        if let ReadStep::Read { offset, want, .. } = self.step {
            let len = copy_front(bytes, self.view.room(want));
            self.view.filled(offset, len);
            self.call()?;
        }
        Ok(())
    }
}

impl<'m, S, T, E, F, const N: usize> Fill for Restart<'m, S, T, F, N>
where
    T: Copy,
    F: Fn(&View<'m, N>, &mut S) -> Result<T, Fault<E>>,
{
    type Error = Fault<E>;

    fn need(&mut self) -> Result<Option<Need<'_>>, DriveError<Infallible, Fault<E>>> {
        if let ReadStep::Read { .. } = self.step {
            self.call().map_err(DriveError::Format)?;
        }
        match self.step {
            ReadStep::Read { offset, want, .. } => Ok(Some((offset, self.view.room(want)))),
            ReadStep::Done(_) => Ok(None),
        }
    }

    fn filled(&mut self) {
        if let ReadStep::Read { offset, want, .. } = self.step {
            let len = self.view.room(want).len();
            self.view.filled(offset, len);
        }
    }
}
