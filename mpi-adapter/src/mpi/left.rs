//! A communicator of the processes that still answer.
//!
//! MPI-3.1 has `MPI_Comm_create_group`, which only the processes of the new communicator call. So
//! they must know each other before. The lowest rank that answers collects them: each rank tells
//! rank 0 that it is there, and waits for the list of those that are; if none comes, it goes on
//! with rank 1, and so on.

use super::{Communicator, PIECE, to_int};
use crate::error::Error;
use mpi::ffi;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// The tags of the messages to the rank that collects, and of its lists. No others have them: those
/// of an operation that did not end may still be under way.
const HERE: c_int = 2;
const LIST: c_int = 3;

impl Communicator {
    /// A communicator of the ranks that come here within the deadline.
    pub(super) fn of_the_left(&self) -> Result<Self, Error> {
        let Some(deadline) = self.deadline else { return Err(Error::unsupported()) };
        self.check_alive()?;
        // A rank comes up to a deadline later than another one, and asks as many ranks before.
        let [collect, wait] = [2, 4].map(|times| deadline.saturating_mul(times));
        for root in 0..self.size {
            let left = match root == self.rank {
                true => self.collect(collect)?,
                false => self.ask(root, wait),
            };
            match left {
                // A rank that nobody answers is itself the one that is lost.
                Some(left) if left.len() > 1 => return self.of(&left),
                _ if root == self.rank => break,
                _ => {}
            }
        }
        Err(Error::lost(Some(self.world_rank)))
    }

    /// This communicator with another deadline.
    const fn within(&self, deadline: Duration) -> Self {
        let Self { raw, rank, size, world_rank, .. } = *self;
        Self { raw, rank, size, world_rank, deadline: Some(deadline) }
    }

    /// Tells `root` that this rank is there, and waits for the list; `None` if none comes.
    fn ask(&self, root: u32, wait: Duration) -> Option<Vec<u32>> {
        let (it, from) = (self.within(wait), to_int(root));
        it.send_as(HERE, root, &[]).ok()?;
        let (_, bytes) = it.poll(|| it.receive(from, LIST)).ok()?;
        let ranks = bytes.chunks_exact(4).filter_map(|rank| rank.first_chunk());
        Some(ranks.map(|rank| u32::from_le_bytes(*rank)).collect())
    }

    /// Collects the ranks that tell this one that they are there, and sends them the list.
    fn collect(&self, time: Duration) -> Result<Option<Vec<u32>>, Error> {
        let (mut left, start) = (vec![self.rank], Instant::now());
        // SAFETY: a constant of mpi-sys.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        // Those below have not answered.
        let most = self.size.saturating_sub(self.rank);
        while u32::try_from(left.len()).unwrap_or(u32::MAX) < most {
            let rest = time.saturating_sub(start.elapsed());
            let Ok((from, _)) = self.within(rest).poll(|| self.receive(any, HERE)) else { break };
            left.push(from);
        }
        left.sort_unstable();
        left.dedup();
        let bytes: Vec<u8> = left.iter().flat_map(|rank| rank.to_le_bytes()).collect();
        for rank in left.iter().filter(|rank| **rank != self.rank) {
            self.send_as(LIST, *rank, &bytes)?;
        }
        Ok(Some(left))
    }

    /// The source and the bytes of a message, if it is there.
    fn receive(&self, from: c_int, tag: c_int) -> Result<Option<(u32, Vec<u8>)>, Error> {
        let (mut is_there, mut len) = (0, 0);
        let (mut message, mut status) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: MPI-3.1 3.8.2, 3.2.5: local calls; message and status are written if the flag is
        // true.
        let (mut message, source) = unsafe {
            let (there, message_at) = (&raw mut is_there, message.as_mut_ptr());
            let code =
                ffi::MPI_Improbe(from, tag, self.raw, there, message_at, status.as_mut_ptr());
            self.check(code)?;
            if is_there == 0 {
                return Ok(None);
            }
            let kind = ffi::RSMPI_UINT8_T;
            self.check(ffi::MPI_Get_count(status.as_ptr(), kind, &raw mut len))?;
            (message.assume_init(), status.assume_init().MPI_SOURCE)
        };
        let mut buffer = vec![0; usize::try_from(len).unwrap_or(0)];
        let at = buffer.as_mut_ptr().cast();
        // SAFETY: MPI-3.1 3.8.3: the buffer has the length of the message and is used by nobody
        // else until the request is complete.
        let begin = |request| unsafe {
            ffi::MPI_Imrecv(at, len, ffi::RSMPI_UINT8_T, &raw mut message, request)
        };
        let buffer = self.run(buffer, [begin])?;
        Ok(Some((u32::try_from(source).unwrap_or(0), buffer)))
    }

    fn send_as(&self, tag: c_int, to: u32, bytes: &[u8]) -> Result<(), Error> {
        let buffer = bytes.get(..PIECE).unwrap_or(bytes).to_vec();
        let (at, len) = (buffer.as_ptr().cast(), to_int(buffer.len()));
        // SAFETY: MPI-3.1 3.7.2: the buffer has `len` bytes and is not changed until the request is
        // complete.
        let begin = |request| unsafe {
            ffi::MPI_Isend(at, len, ffi::RSMPI_UINT8_T, to_int(to), tag, self.raw, request)
        };
        self.run(buffer, [begin]).map(drop)
    }

    /// A communicator of these ranks, which all call this.
    fn of(&self, left: &[u32]) -> Result<Self, Error> {
        let ranks: Vec<c_int> = left.iter().map(|rank| to_int(*rank)).collect();
        let (mut all, mut some) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        let mut raw = MaybeUninit::uninit();
        // SAFETY: MPI-3.1 6.3: local calls that write a group each on success. 6.4.2,
        // MPI_Comm_create_group: "must be called by all processes in group"; a communicator is
        // written on success.
        let raw = unsafe {
            self.check(ffi::MPI_Comm_group(self.raw, all.as_mut_ptr()))?;
            let (mut all, count) = (all.assume_init(), to_int(ranks.len()));
            self.check(ffi::MPI_Group_incl(all, count, ranks.as_ptr(), some.as_mut_ptr()))?;
            let mut some = some.assume_init();
            let code = ffi::MPI_Comm_create_group(self.raw, some, LIST, raw.as_mut_ptr());
            ffi::MPI_Group_free(&raw mut some);
            ffi::MPI_Group_free(&raw mut all);
            self.check(code)?;
            raw.assume_init()
        };
        self.child(raw)
    }
}
