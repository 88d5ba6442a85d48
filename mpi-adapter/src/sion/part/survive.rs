//! How the ranks that are left go on with a file of which a rank is gone.
//!
//! The ranks may differ in whether the last commit became visible, so what is in the file counts.
//! A rank that took part in a commit or a move of META2 without learning how it ended writes
//! nothing to the file until then. So no stream is where META2 now is, and the
//! [`Pen`](striae_core::sion::Pen)s stay as they are: a commit from them writes too many entries at
//! most, none too few.

use super::reopen::{State, book_of, changed, last_of, state, unowned};
use super::{Known, Part};
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use crate::file::{SharedFile, agree_in_cache};
use std::io;
use striae_core::sion::Head;
use striae_core::sion::book::Ahead;
use striae_core::store::ReadAt;

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// Goes on with the file in its last commit, by the ranks of `comm`, each with its own tasks
    /// and what it wrote to them. Tasks of no rank stay as the commit has them. Rank 0 calls `lock`
    /// before it reads the file. Returns the largest number of a commit of the set in the file.
    ///
    /// # Errors
    /// [`Error`]; then this can be called again.
    pub(in crate::sion) fn continue_on(
        &mut self,
        comm: C,
        mine: Result<(), Failure>,
        lock: impl FnOnce() -> io::Result<()>,
    ) -> Result<u32, Error> {
        (self.comm, self.counted) = (comm, None);
        self.leave_lane().rounds.meet();
        self.known.replace(Known::new());
        let own = self.mine.take_own_failure().map_or(Ok(()), Err);
        let mine = mine.and(own).and_then(|()| self.file.go_on_alone());
        let locals = mine.map(|()| {
            let locals = self.mine.tasks().iter().map(|task| task.pen().local());
            (self.book.meta1().ntasks(), locals)
        });
        let unowned = unowned(&self.comm, locals)?;
        let entered = self.book.entered();
        let found = self.comm.decide(Ok([entered]), [Fold::Max], |[entered]| {
            lock().map_err(|error| Failure::io("locking the file", &error))?;
            self.found(entered, !unowned.is_empty())
        })?;
        let [start, entered, ..] = found;
        let is_committed = start > 0;
        self.mine.leave_unowned(unowned);
        let resumed = match is_committed {
            true => self.resume(found),
            false => self.begin_again(entered),
        };
        let ((), cache) = agree_in_cache(&self.comm, resumed, |()| self.file.cache())?;
        self.file.synced_in(cache);
        Ok(if is_committed { last_of(found) } else { 0 })
    }

    /// The state of the last commit; without one, the number of blocks that a rank has entered,
    /// after a 0.
    fn found(&self, entered: u64, has_unowned: bool) -> Result<State, Failure> {
        let (meta1, file) = (*self.book.meta1(), &self.file);
        let file_len = file.io().size().map_err(|e| Failure::io("asking for the size", &e))?;
        let head = Head { file_len, meta1, meta2: None };
        match state(file, &head, Some(self.is_sealed()), has_unowned) {
            Err(failure) if failure.code() == Code::Unclosed => Ok([0, entered, 0, 0, 0, 0]),
            state => state,
        }
    }

    fn resume(&mut self, found: State) -> Result<(), Failure> {
        let book = book_of(self.book.meta1(), found);
        self.book = book.filter(|book| book.blocks() == self.book.blocks()).ok_or_else(changed)?;
        Ok(())
    }

    /// Nothing was committed yet. Some ranks may not have entered the blocks that others have.
    fn begin_again(&mut self, entered: u64) -> Result<(), Failure> {
        if let Some(last) = entered.checked_sub(1).and_then(|last| u32::try_from(last).ok()) {
            self.book.enter(last, Ahead::Blocks(1)).map_err(super::refused)?;
        }
        if self.book.meta1().is_first_of_several() && !self.mine.has_mapping() {
            let text = "the rank that has the mapping of the set is gone, and no commit has it";
            return Err(Failure::new(Code::Refused, text));
        }
        Ok(())
    }
}
