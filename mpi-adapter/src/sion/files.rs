//! The files of a set in which a rank takes part.

use super::outside::not_mine;
use super::part::Part;
use super::together::agree;
use crate::collective::Collective;
use crate::error::{Code, Error, Failure};
use crate::file::SharedFile;
use std::borrow::BorrowMut;
use std::io;

/// Files of buddy sets, and those with tasks of this rank.
pub(super) type Both<P> = (Vec<P>, Vec<P>);

/// The files of a rank.
#[derive(Debug)]
pub(super) struct Files<C, F> {
    /// The first file with tasks of this rank.
    pub(super) first: Part<C, F>,
    /// Further files with tasks of this rank, in order.
    others: Vec<Part<C, F>>,
    /// The files of buddy sets in which this rank takes part, in the order in which ranks meet.
    pub(super) copies: Vec<Part<C, F>>,
}

impl<C, F> Files<C, F> {
    /// Files with tasks of this rank, which has at least one: it helps with one if it has no task.
    pub(super) fn new(parts: Vec<Part<C, F>>) -> Result<Self, Error> {
        let mut parts = parts.into_iter();
        let none = || Error::agreed(Failure::new(Code::Damaged, "the set has no file"));
        let first = parts.next().ok_or_else(none)?;
        Ok(Self { first, others: parts.collect(), copies: Vec::new() })
    }

    /// The files with tasks of this rank.
    pub(super) fn own(&self) -> impl Iterator<Item = &Part<C, F>> + Clone {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// As [`own`](Self::own), to change them.
    pub(super) fn own_mut(&mut self) -> impl Iterator<Item = &mut Part<C, F>> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// The first file, and its copies in buddy sets: all that a record of this rank goes to.
    pub(super) fn streams_mut(&mut self) -> impl Iterator<Item = &mut Part<C, F>> {
        let copies = self.copies.iter_mut().filter(|part| part.is_own);
        std::iter::once(&mut self.first).chain(copies)
    }

    /// All files, in the order in which ranks meet.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Part<C, F>> {
        self.copies.iter_mut().chain([&mut self.first]).chain(&mut self.others)
    }

    /// The files of buddy sets, and those with tasks of this rank.
    pub(super) fn both_mut(&mut self) -> Both<&mut Part<C, F>> {
        let own = std::iter::once(&mut self.first).chain(&mut self.others);
        (self.copies.iter_mut().collect(), own.collect())
    }

    /// As [`both_mut`](Self::both_mut), to close them.
    pub(super) fn into_both(self) -> Both<Part<C, F>> {
        let own = std::iter::once(self.first).chain(self.others);
        (self.copies, own.collect())
    }
}

impl<C: Collective, F: SharedFile> Files<C, F> {
    /// The file with a task of this rank.
    pub(super) fn with_task(&mut self, task: u32) -> io::Result<&mut Part<C, F>> {
        let part = self.own_mut().find(|part| part.globalranks().any(|mine| mine == task));
        part.ok_or_else(|| not_mine(task))
    }

    /// Does `work` to all files, one after another: after an error to those only whose ranks learn
    /// of it by that.
    pub(super) fn in_turn(
        &mut self,
        mut work: impl FnMut(&mut Part<C, F>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut done = Ok(());
        for part in self.all_mut() {
            if part.goes_on_after(&done) {
                done = done.and(work(part));
            }
        }
        done
    }
}

/// Does `work` to files of buddy sets, and then to others, if no rank had an error: also after one
/// of this rank, since others wait for it in each file.
pub(super) fn copies_first<C: Collective, F: SharedFile, P: BorrowMut<Part<C, F>>>(
    whole: Option<&C>,
    (copies, own): Both<P>,
    mut work: impl FnMut(P) -> Result<(), Error>,
) -> Result<(), Error> {
    let (mut done, has_copies) = (Ok(()), !copies.is_empty());
    for mut part in copies {
        if part.borrow_mut().goes_on_after(&done) {
            done = done.and(work(part));
        }
    }
    if has_copies {
        agree(whole, done)?;
    }
    let mut done = Ok(());
    for part in own {
        done = done.and(work(part));
    }
    agree(whole, done)
}
