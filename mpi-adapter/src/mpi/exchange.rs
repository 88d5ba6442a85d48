//! Collectives that are made of messages between two ranks.

use super::messages::{Kind, Message};
use super::tree::Tree;
use super::{Communicator, to_int};
use crate::comm::{Folded, Words};
use crate::error::Error;
use mpi::ffi;
use std::time::Duration;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The most ranks that get short bytes from the root itself.
const FEW: u32 = 16;

/// The most bytes that are short: MPI sends as many without waiting for the receiver.
const SHORT: usize = 1 << 10;

/// Longer bytes are passed on in pieces.
const PIECE: usize = 1 << 16;

impl Communicator {
    fn times(&self, times: u32) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_mul(times))
    }

    /// Brings the words of all ranks to rank 0, and what it makes of them back.
    ///
    /// A rank waits for those below it, and has then its own way to the parent. So each level waits
    /// one deadline longer. Who is missing is known to the rank that waits for it, and then to rank
    /// 0, which tells all ranks itself: those below the missing one have no other way.
    pub(super) fn exchange_words(
        &self,
        words: &Words,
        work: Option<&mut dyn FnMut(&mut Words)>,
    ) -> Result<Folded, Error> {
        let tree = Tree(self.size);
        let children: Vec<u32> = tree.children(self.rank).map(|(child, _)| child).collect();
        let (mut all, mut own) = (*words, Vec::with_capacity(children.len()));
        let wanted = children.iter().map(|child| self.wanted(*child, Kind::Up, size_of::<Words>()));
        let received = self.transfer(wanted.collect(), self.times(tree.height(self.rank)))?;
        for (child, bytes) in children.iter().zip(received) {
            own.push(all);
            match bytes {
                Some(bytes) => all.fold(&words_of(&bytes)),
                None => all.lose(self.world_rank_of(*child)),
            }
        }
        let folded = match Tree::parent(self.rank) {
            None => {
                if all.lost().is_some() {
                    self.tell_lost(all)?;
                } else if let Some(work) = work {
                    work(&mut all);
                }
                Folded { all, before: *words }
            }
            Some(parent) => self.ask(parent, &all)?,
        };
        if let Some(lost) = folded.all.lost() {
            return Err(Error::lost(Some(lost)));
        }
        let down = children.into_iter().zip(own).map(|(child, own)| {
            let mut before = folded.before;
            match self.rank {
                0 => before = own,
                _ => before.fold(&own),
            }
            self.message(child, Kind::Down, Folded { before, ..folded }.as_bytes().to_vec())
        });
        self.transfer(down.collect(), self.deadline)?;
        Ok(folded)
    }

    /// Sends the words of this rank and those below it to its parent, and waits for the answer,
    /// which is that of rank 0 itself if a rank is lost.
    fn ask(&self, parent: u32, words: &Words) -> Result<Folded, Error> {
        let up = self.message(parent, Kind::Up, words.as_bytes().to_vec());
        let mut down = self.wanted(parent, Kind::Down, size_of::<Folded>());
        if parent != 0 {
            // SAFETY: a constant of mpi-sys.
            down.peer = unsafe { ffi::RSMPI_ANY_SOURCE };
        }
        // Rank 0 comes up to a deadline later than this one, and then waits for each level.
        let levels = Tree(self.size).height(0).saturating_add(1);
        let wait = self.times(levels).zip(self.deadline);
        let wait = wait.map(|(wait, deadline)| {
            wait.saturating_add(deadline.checked_div(4).unwrap_or_default())
        });
        let mut received = self.transfer(vec![up, down], wait)?;
        let answer = received.pop().flatten();
        answer.and_then(|bytes| Folded::read_from_bytes(&bytes).ok()).ok_or_else(|| self.lost(0))
    }

    /// Rank 0 tells all ranks who is lost.
    fn tell_lost(&self, all: Words) -> Result<(), Error> {
        let answer = Folded { all, before: all };
        let others = 1..self.size;
        let messages = others.map(|to| self.message(to, Kind::Down, answer.as_bytes().to_vec()));
        self.transfer(
            messages.collect(),
            self.deadline.map(|deadline| deadline.checked_div(4).unwrap_or_default()),
        )
        .map(drop)
    }

    /// Copies the bytes of rank `root` to all others, which all call this.
    pub(super) fn copy_from(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error> {
        // Ranks are counted from the root on.
        let place = |rank: u32| match rank.checked_sub(root) {
            Some(place) => place,
            None => rank.saturating_add(self.size.saturating_sub(root)),
        };
        let rank = |place: u32| match place.checked_sub(self.size.saturating_sub(root)) {
            Some(rank) => rank,
            None => place.saturating_add(root),
        };
        let me = place(self.rank);
        let (parent, children) = if self.size <= FEW && bytes.len() <= SHORT {
            (me.checked_sub(1).map(|_| 0), if me == 0 { 1..self.size } else { 0..0 })
        } else {
            let first = me.saturating_mul(2).saturating_add(1);
            let children = first.min(self.size)..first.saturating_add(2).min(self.size);
            (me.checked_sub(1).map(|before| before >> 1), children)
        };
        for piece in bytes.chunks_mut(PIECE) {
            if let Some(parent) = parent.map(rank) {
                let wanted = self.wanted(parent, Kind::Bytes, piece.len());
                let received = self.transfer(vec![wanted], self.deadline)?.pop().flatten();
                piece.copy_from_slice(&received.ok_or_else(|| self.lost(parent))?);
            }
            let messages =
                children.clone().map(|to| self.message(rank(to), Kind::Bytes, piece.to_vec()));
            let sent = self.transfer(messages.collect(), self.deadline)?;
            let lost = children.clone().zip(sent).find(|(_, sent)| sent.is_none());
            if let Some((child, _)) = lost {
                return Err(self.lost(rank(child)));
            }
        }
        Ok(())
    }

    /// The bytes of all ranks in their order, of `bytes.len()` each, at all of them.
    pub(super) fn all_gather(&self, bytes: Vec<u8>) -> Result<Vec<u8>, Error> {
        let (tree, len, mut all) = (Tree(self.size), bytes.len(), bytes);
        let count = |ranks: u32| usize::try_from(ranks).unwrap_or(usize::MAX).saturating_mul(len);
        let children: Vec<_> = tree.children(self.rank).collect();
        let wanted = children.iter().map(|(child, end)| {
            self.wanted(*child, Kind::Bytes, count(end.saturating_sub(*child)))
        });
        let received = self.transfer(wanted.collect(), self.times(tree.height(self.rank)))?;
        for ((child, _), bytes) in children.iter().zip(received) {
            all.extend(bytes.ok_or_else(|| self.lost(*child))?);
        }
        if let Some(parent) = Tree::parent(self.rank) {
            let message = self.message(parent, Kind::Bytes, all);
            let sent = self.transfer(vec![message], self.deadline)?.pop().flatten();
            sent.ok_or_else(|| self.lost(parent))?;
            all = vec![0; count(self.size)];
        }
        self.copy_from(0, &mut all)?;
        Ok(all)
    }

    fn message(&self, to: u32, kind: Kind, bytes: Vec<u8>) -> Message {
        let peer = to_int(self.world_rank_of(to));
        Message { peer, tag: self.tag(kind), is_sent: true, bytes }
    }

    fn wanted(&self, from: u32, kind: Kind, len: usize) -> Message {
        let peer = to_int(self.world_rank_of(from));
        Message { peer, tag: self.tag(kind), is_sent: false, bytes: vec![0; len] }
    }
}

fn words_of(bytes: &[u8]) -> Words {
    Words::read_from_bytes(bytes).unwrap_or_else(|_| Words::new_zeroed()) // they are its length
}
