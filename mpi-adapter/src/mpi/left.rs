//! A communicator of the processes that still answer.
//!
//! They must know each other before. The lowest rank that answers collects them: each rank tells
//! rank 0 that it is there, and waits for the list of those that are; if none comes, it takes that
//! back and goes on with rank 1, and so on. So a rank that comes late finds nobody.

use super::messages::Kind;
use super::{Communicator, to_int};
use crate::error::Error;
use mpi::ffi;
use std::time::{Duration, Instant};

impl Communicator {
    /// A communicator of the ranks that come here within the deadline.
    pub(super) fn of_the_left(&self) -> Result<Self, Error> {
        let Some(deadline) = self.deadline else { return Err(Error::unsupported()) };
        self.check_alive()?;
        // A rank comes up to a deadline later than another one, and asks as many ranks before.
        let [collect, wait] = [2, 4].map(|times| deadline.saturating_mul(times));
        for root in 0..self.size {
            let left = match root == self.rank {
                true => Some(self.collect(collect)?),
                false => self.ask_for_list(root, wait),
            };
            match left {
                // A rank that nobody answers is itself the one that is lost.
                Some((context, left)) if left.len() > 1 => return self.of(context, &left),
                _ if root == self.rank => break,
                _ => {}
            }
        }
        Err(Error::lost(Some(self.world_rank)))
    }

    /// Tells `root` that this rank is there, and waits for the list; `None` if none comes.
    fn ask_for_list(&self, root: u32, wait: Duration) -> Option<(u32, Vec<u32>)> {
        let peer = to_int(self.world_rank_of(root));
        let mine = self.next_context().to_le_bytes();
        let list = self.send_as(Kind::Here, root, &mine, Some(wait)).and_then(|()| {
            self.poll(Some(wait), || {
                // One that came too late before is of another communicator.
                let list = self.receive(peer, Kind::List)?.map(|(_, bytes)| bytes);
                let context = |bytes: &Vec<u8>| words(bytes).next().unwrap_or(0);
                Ok(list.filter(|bytes| context(bytes) >= self.next_context()))
            })
        });
        let Ok(Some(bytes)) = list else {
            // The root may only be late. If it is gone, it does not matter that this fails.
            _ = self.send_as(Kind::Here, root, &[], Some(Duration::ZERO));
            return None;
        };
        let mut words = words(&bytes);
        Some((words.next()?, words.collect()))
    }

    /// Collects the ranks that tell this one that they are there, and sends them the list, after
    /// the number of their communicator.
    fn collect(&self, time: Duration) -> Result<(u32, Vec<u32>), Error> {
        let (mut left, start) = (vec![self.rank], Instant::now());
        let mut context = self.next_context();
        // SAFETY: a constant of mpi-sys.
        let any = unsafe { ffi::RSMPI_ANY_SOURCE };
        // Those below have not answered.
        let most = self.size.saturating_sub(self.rank);
        loop {
            // If all are there, only what has come already is looked at: some took it back.
            let is_all = u32::try_from(left.len()).unwrap_or(u32::MAX) >= most;
            let rest = if is_all { Duration::ZERO } else { time.saturating_sub(start.elapsed()) };
            let Some((from, bytes)) = self.poll(Some(rest), || self.receive(any, Kind::Here))?
            else {
                break;
            };
            let of = |rank: &u32| self.world_rank_of(*rank) == from;
            left.retain(|rank| !of(rank));
            if let Some(theirs) = words(&bytes).next() {
                context = context.max(theirs);
                left.extend((0..self.size).find(of));
            }
        }
        left.sort_unstable();
        // Ranks that collect at a time must not choose one number: that of each has its own rest.
        let rest = |of: u32| of.checked_rem(self.size).unwrap_or(0);
        let more = self.rank.saturating_add(self.size).saturating_sub(rest(context));
        context = context.saturating_add(rest(more));
        let list = std::iter::once(&context).chain(&left);
        let bytes: Vec<u8> = list.flat_map(|word| word.to_le_bytes()).collect();
        for rank in left.iter().filter(|rank| **rank != self.rank) {
            self.send_as(Kind::List, *rank, &bytes, self.deadline)?;
        }
        Ok((context, left))
    }
}

fn words(bytes: &[u8]) -> impl Iterator<Item = u32> {
    let words = bytes.chunks_exact(4).filter_map(|word| word.first_chunk());
    words.map(|word| u32::from_le_bytes(*word))
}
