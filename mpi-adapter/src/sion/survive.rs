//! How the ranks that are left go on with a set of which a rank is gone.

use super::builder::sibling_path;
use super::owners::{each, split};
use super::part::Part;
use super::{FileWriter, Numbers};
use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use crate::file::SharedFile;
use crate::operation::Operation;

impl<C: Collective, F: SharedFile> FileWriter<C, F> {
    /// Goes on without ranks that are gone: `ranks` are those that are left, in any order, each
    /// with its handle of this set. All of them call this, after an error of a call of all ranks
    /// ([`Code::Lost`]); see [`Collective::shrink`].
    ///
    /// Each file is in the state of its last commit, which is read again: it may be that of a
    /// commit that returned an error. What the ranks wrote since then is part of the next commit.
    /// Tasks of ranks that are gone stay as the last commit has them, and so do files of which no
    /// rank is left; [`commit_set`](Self::commit_set) then has no numbers. If such a file has no
    /// commit, only [`Recover`](striae::sion::recover::Recover) opens the set.
    ///
    /// From then on each rank writes its own buffer
    /// ([`Builder::collect`](super::Builder::collect)), also what another one had to write and may
    /// not have written. The record of a [`coll_write`](Self::coll_write) that was the first call
    /// to return an error is part of the stream, too. The lowest of the ranks of a file locks it,
    /// if the rank that had the lock is gone.
    ///
    /// [`close`](Self::close) takes the set with it, also if it returns an error: commit before,
    /// then a rank that is gone costs nothing but the close.
    ///
    /// A rank that is left out must be dead, or write no more to its files: nothing else keeps it
    /// from that. If it is the one that has the lock, this is an error (EBUSY) as long as it lives.
    ///
    /// ```
    /// use striae_mpi::sion::Builder;
    /// use striae_mpi::{Collective, Threads};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("run.sion");
    /// let done = Threads::new(4).run(|world| {
    ///     let ranks = world.split(Ok(0))?;
    ///     let mut file = Builder::new().create(ranks, &path)?;
    ///     assert!(file.write(b"first").is_ok());
    ///     file.commit()?;
    ///     if world.rank() == 0 {
    ///         return Ok(()); // it is gone
    ///     }
    ///     assert!(file.write(b", second").is_ok());
    ///     if file.commit().is_err() {
    ///         let left = world.shrink()?;
    ///         file.continue_on(left.split(Ok(0))?)?;
    ///         file.commit()?;
    ///     }
    ///     file.close().map(drop)
    /// });
    /// done.into_iter().try_for_each(|done| done.expect("no rank panicked"))?;
    /// let set = striae::sion::File::open(&path)?;
    /// assert_eq!((set.task(0)?.bytes, set.task(1)?.bytes), (5, 13));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: an own one that the others did not know yet, an error
    /// of the operating system, or a further rank that is gone. Then the last commit holds, and
    /// this can be called again. [`Code::Refused`] if no rank can go on:
    /// - the set has [buddy sets](super::Builder::buddies), or merged chunks
    ///   ([`Builder::rule`](super::Builder::rule));
    /// - a thread of another rank writes ([`Collect::write_behind`](crate::Collect::write_behind)),
    ///   which may have lost what it had to write;
    /// - there was no commit yet, and the rank with the mapping of [`color`](super::Builder::color)
    ///   or [`placed`](super::Builder::placed) is gone; or a set without seals is to be sealed.
    pub fn continue_on(&mut self, ranks: C) -> Result<(), Error> {
        let mine = self.can_go_on();
        ranks.begin(Operation::SionContinue, 0);
        let nfiles = self.files.first.meta1().files_in_set();
        let comms = if self.whole.is_some() {
            let comms = split(&ranks, &self.numbers_of_files(), nfiles)?;
            self.whole = Some(ranks);
            comms
        } else {
            ranks.agree(Ok(()))?; // before rank 0 waits for messages
            vec![ranks]
        };
        // The number of a commit that failed may be in a file that nobody sees.
        let last = self.numbers.last.saturating_add(1);
        let parts = self.files.own_mut();
        let (numbers, done) = each(comms, parts, |comm, part| {
            let (locks, number) = (self.locks.as_ref(), part.number());
            let lock = || locks.map_or(Ok(()), |it| it.lock(&sibling_path(&self.path, number)));
            part.continue_on(comm, mine.clone(), lock)
        });
        let done = done.map(|()| numbers.into_iter().fold(last, u32::max));
        // The identity of the set stays.
        (self.numbers, _) = Numbers::of(self.whole.as_ref(), self.files.own(), nfiles, done)?;
        Ok(())
    }

    /// The numbers of the files of this rank, in order.
    fn numbers_of_files(&self) -> Vec<u32> {
        self.files.own().map(Part::number).collect()
    }

    fn can_go_on(&self) -> Result<(), Failure> {
        if self.files.copies.is_empty() && !self.files.first.is_merged() {
            return Ok(());
        }
        let text = "a set with buddy sets or merged chunks needs all of its ranks";
        Err(Failure::new(Code::Refused, text))
    }
}
