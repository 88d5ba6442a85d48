//! Collective writes into the stream of a collector.

use super::Part;
use crate::collective::Collective;
use crate::error::{Error, Failure};
use crate::file::SharedFile;
use std::ops::Range;
use striae_core::store::usize_to_u64;

/// The longest message.
const WINDOW: usize = 1 << 16;

/// By this message the collector asks a rank for its record.
const NEXT: [u8; 1] = [1];

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// Puts the records of the ranks of `group` into the stream of the first of them, one after
    /// another, each in one chunk if it fits into any. Returns the sum of their lengths there, and
    /// 0 at the other ranks.
    pub(super) fn put_merged(&mut self, record: &[u8], group: &Range<u32>) -> Result<u64, Error> {
        if self.comm.rank() != group.start {
            // A rank that failed has a record of no bytes, and tells its failure when ranks meet.
            let record = if self.mine.is_failed() { &[] } else { record };
            let sent = send(&self.comm, group.start, record);
            sent.unwrap_or_else(|failure| self.mine.fail_with(failure));
            return Ok(0);
        }
        self.put(record);
        let senders = group.start.saturating_add(1)..group.end;
        let mut sum = usize_to_u64(record.len());
        let asked = senders.clone().try_for_each(|sender| self.comm.send(sender, &NEXT));
        let put = asked.and_then(|()| {
            for sender in senders {
                let record = receive(&self.comm, sender)?;
                self.put(&record);
                sum = sum.saturating_add(usize_to_u64(record.len()));
            }
            Ok(())
        });
        put.unwrap_or_else(|failure| self.mine.fail_with(failure));
        Ok(sum)
    }
}

/// Sends the length of a record, and its bytes, when `to` asks for it.
fn send<C: Collective>(comm: &C, to: u32, record: &[u8]) -> Result<(), Failure> {
    comm.recv(to, &mut NEXT.clone())?;
    comm.send(to, &usize_to_u64(record.len()).to_le_bytes())?;
    record.chunks(WINDOW).try_for_each(|piece| comm.send(to, piece))
}

fn receive<C: Collective>(comm: &C, from: u32) -> Result<Vec<u8>, Failure> {
    let (mut len, mut record, mut buf) = ([0; 8], Vec::new(), Vec::new());
    comm.recv(from, &mut len)?;
    let mut left = usize::try_from(u64::from_le_bytes(len)).unwrap_or(usize::MAX);
    while left > 0 {
        buf.resize(left.min(WINDOW), 0);
        let got = comm.recv(from, &mut buf)?;
        record.extend_from_slice(buf.get(..got).unwrap_or_default());
        left = left.saturating_sub(got.max(1)); // no piece is empty
    }
    Ok(record)
}
