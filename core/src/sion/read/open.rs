//! The machine that opens one physical file: it reads META1 and the place of META2.

use crate::sion::disk::head::Head;
use crate::sion::disk::meta1::Meta1;
use crate::sion::disk::meta2::Meta2;
use crate::sion::error::Error;
use crate::step::{ReadMachine, ReadStep};

/// Opens a physical file in two reads. The buffer needs [`Meta1::MAX_LEN`] bytes.
#[derive(Debug)]
pub struct Open {
    file_len: u64,
    state: State,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Fixed,
    CommitFields(Meta1),
    Done(Head),
}

impl Open {
    /// Makes a machine that opens a physical file of `file_len` bytes.
    #[must_use]
    pub const fn new(file_len: u64) -> Self {
        Self { file_len, state: State::Fixed }
    }
}

impl ReadMachine for Open {
    type Output = Head;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Head> {
        match self.state {
            State::Fixed => {
                let need = usize::try_from(self.file_len).unwrap_or(usize::MAX).min(Meta1::MAX_LEN);
                ReadStep::Read { offset: 0, need, want: crate::store::usize_to_u64(need) }
            }
            State::CommitFields(meta1) => {
                let span = meta1.layout().commit_fields();
                let want = span.len().min(self.file_len.saturating_sub(span.offset()));
                let need = usize::try_from(want).unwrap_or(usize::MAX);
                ReadStep::Read { offset: span.offset(), need, want }
            }
            State::Done(head) => ReadStep::Done(head),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        self.state = match self.state {
            State::Fixed => State::CommitFields(Meta1::parse(bytes, self.file_len)?),
            State::CommitFields(meta1) => {
                let meta2 = Meta2::parse(bytes, &meta1, self.file_len)?;
                State::Done(Head { file_len: self.file_len, meta1, meta2 })
            }
            State::Done(head) => State::Done(head),
        };
        Ok(())
    }
}
