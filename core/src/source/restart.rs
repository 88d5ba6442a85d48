//! The machine that calls a parser over a [`View`].

use super::{Fault, Miss, View};
#[twin(read_exact)]
use crate::step::read_exact;
use crate::step::{DriveError, ReadMachine, ReadStep};
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::copy_front;
use striae_twin::twin;

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

#[twin(ReadAt)]
impl<'m, S, T, E, F, const N: usize> Restart<'m, S, T, F, N>
where
    T: Copy,
    F: Fn(&View<'m, N>, &mut S) -> Result<T, Fault<E>>,
{
    /// Runs the parser to its end on `store`.
    ///
    /// # Errors
    /// The parser's error; a [`Miss`] other than [`Miss::Read`]; the store's own error.
    pub async fn read_from<R: ReadAt + ?Sized>(
        &mut self,
        store: &R,
    ) -> Result<T, DriveError<R::Error, Fault<E>>> {
        loop {
            if let ReadStep::Read { .. } = self.step {
                self.call().map_err(DriveError::Format)?;
            }
            match self.step {
                ReadStep::Read { offset, want, .. } => {
                    let room = self.view.room(want);
                    let len = room.len();
                    read_exact(store, offset, room).await?;
                    self.view.filled(offset, len);
                }
                ReadStep::Done(output) => return Ok(output),
            }
        }
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
