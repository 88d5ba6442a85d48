//! Collectives that are made of messages between two ranks.
//!
//! Among few ranks the root exchanges a message with each of the others. That is one step in each
//! direction, where a tree takes log2 of the number of ranks. With more ranks than processors every
//! step waits until the operating system has run the next rank.

use super::{Communicator, to_int};
use crate::comm::Words;
use crate::error::Error;
use mpi::ffi;
use std::ffi::{c_int, c_void};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The most ranks that are few.
const FEW: u32 = 16;

/// The most bytes of a broadcast that few ranks get by messages: MPI sends as many without waiting
/// for the receiver.
const SHORT: usize = 1 << 10;

/// The tag of these messages.
const TAG: c_int = 1;

/// The length of [`Words`].
const LEN: usize = size_of::<Words>();

impl Communicator {
    pub(super) const fn is_few(&self) -> bool {
        self.size <= FEW
    }

    /// Whether so many bytes are broadcast by messages.
    pub(super) const fn is_short(&self, len: usize) -> bool {
        self.is_few() && len <= SHORT
    }

    /// Folds the words of all ranks at `to`, or at all of them.
    pub(super) fn reduce_few(&self, words: &mut Words, to: Option<u32>) -> Result<(), Error> {
        let root = to.unwrap_or(0);
        if self.rank == root {
            for theirs in self.exchange([], self.others().map(|from| (from, LEN)))? {
                words.fold(&words_of(&theirs));
            }
        } else {
            self.exchange([(root, words.as_bytes())], [])?;
        }
        if to.is_none() { self.bcast_short(root, words.as_mut_bytes()) } else { Ok(()) }
    }

    /// Copies the bytes of rank `root` to all others.
    pub(super) fn bcast_short(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error> {
        if self.rank == root {
            return self.exchange(self.others().map(|to| (to, &*bytes)), []).map(drop);
        }
        let received = self.exchange([], [(root, bytes.len())])?;
        received.iter().for_each(|received| bytes.copy_from_slice(received));
        Ok(())
    }

    /// Folds the words of all lower ranks, however many there are, in log2 of their number steps.
    /// Open MPI 4.1's `MPI_Iexscan` goes from rank to rank.
    pub(super) fn exscan_in_steps(&self, words: &mut Words) -> Result<(), Error> {
        // `mine` are those of this rank and of the `step - 1` ranks before it.
        let (mut mine, mut lower, mut step) = (*words, None::<Words>, 1_u32);
        while step < self.size {
            let to = self.rank.checked_add(step).filter(|to| *to < self.size);
            let from = self.rank.checked_sub(step).map(|from| (from, LEN));
            let sent = mine;
            let message = to.map(|to| (to, sent.as_bytes()));
            for theirs in self.exchange(message, from)?.iter().map(|bytes| words_of(bytes)) {
                mine.fold(&theirs);
                match &mut lower {
                    Some(lower) => lower.fold(&theirs),
                    None => lower = Some(theirs),
                }
            }
            step = step.saturating_mul(2);
        }
        lower.into_iter().for_each(|lower| *words = lower);
        Ok(())
    }

    fn others(&self) -> impl Iterator<Item = u32> {
        (0..self.size).filter(|rank| *rank != self.rank)
    }

    /// Sends messages, each to a rank, and receives others, each from a rank and of so many bytes.
    /// Returns what was received.
    fn exchange<'m>(
        &self,
        messages: impl IntoIterator<Item = (u32, &'m [u8])>,
        wanted: impl IntoIterator<Item = (u32, usize)>,
    ) -> Result<Vec<Vec<u8>>, Error> {
        let messages = messages.into_iter().map(|(to, bytes)| (to, bytes.to_vec()));
        let wanted = wanted.into_iter().map(|(from, len)| (from, vec![0; len]));
        let mut buffers: (Vec<_>, Vec<_>) = (messages.collect(), wanted.collect());
        let (messages, wanted) = &mut buffers;
        let place = |(rank, bytes): &mut (u32, Vec<u8>)| {
            (to_int(*rank), to_int(bytes.len()), bytes.as_mut_ptr().cast::<c_void>())
        };
        let sends = messages.iter_mut().map(|message| (true, place(message)));
        let receives = wanted.iter_mut().map(|message| (false, place(message)));
        let places: Vec<_> = receives.chain(sends).collect();
        // SAFETY: a constant of mpi-sys.
        let (raw, kind) = (self.raw, unsafe { ffi::RSMPI_UINT8_T });
        let begin = places.into_iter().map(|(sends, (rank, len, at))| {
            // SAFETY: MPI-3.1 3.7.2: each buffer has `len` bytes, and is used by nobody else until
            // its request is complete.
            move |request| unsafe {
                match sends {
                    true => ffi::MPI_Isend(at, len, kind, rank, TAG, raw, request),
                    false => ffi::MPI_Irecv(at, len, kind, rank, TAG, raw, request),
                }
            }
        });
        let (_, received) = self.run(buffers, begin)?;
        Ok(received.into_iter().map(|(_, bytes)| bytes).collect())
    }
}

fn words_of(bytes: &[u8]) -> Words {
    Words::read_from_bytes(bytes).unwrap_or_else(|_| Words::new_zeroed()) // they are LEN bytes
}
