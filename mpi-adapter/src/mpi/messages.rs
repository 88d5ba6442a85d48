//! Messages between two processes.

use super::{Communicator, is_success, to_int};
use crate::error::Error;
use mpi::ffi;
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::Duration;

/// What a message is for. Those of an operation that did not end may still be under way, so each
/// kind has a tag of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Of [`Transport::send`](crate::comm::Transport::send).
    Own,
    /// Words that go up the tree.
    Up,
    /// Words that come down the tree.
    Down,
    /// Bytes of a rank for all others.
    Bytes,
    /// A rank is there, of those that are left.
    Here,
    /// The list of those that are left.
    List,
}

/// The number of tags of a communicator: more than kinds.
const TAGS: u32 = 8;

/// The most communicators whose tags MPI has: MPI-3.1 8.1.2 promises 32767 at least.
pub(super) const fn contexts(largest_tag: u32) -> u32 {
    match largest_tag.checked_div(TAGS) {
        Some(contexts) => contexts,
        None => 0,
    }
}

/// A message that is sent or wanted.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) peer: c_int,
    pub(super) tag: c_int,
    pub(super) is_sent: bool,
    /// Its bytes; of one that is wanted, their place.
    pub(super) bytes: Vec<u8>,
}

impl Communicator {
    #[allow(clippy::as_conversions, reason = "the number of a variant, as `repr(u8)` says")]
    pub(super) fn tag(&self, kind: Kind) -> c_int {
        to_int(self.context.saturating_mul(TAGS).saturating_add(u32::from(kind as u8)))
    }

    /// Sends and receives messages, all at once, and waits for the end of all, or until the time is
    /// over. Returns the bytes of each that is done. MPI may use the memory of the others until the
    /// program ends, so it is leaked.
    pub(super) fn transfer(
        &self,
        mut messages: Vec<Message>,
        time: Option<Duration>,
    ) -> Result<Vec<Option<Vec<u8>>>, Error> {
        self.check_alive()?;
        // SAFETY: constants of mpi-sys.
        let (null, kind) = unsafe { (ffi::RSMPI_REQUEST_NULL, ffi::RSMPI_UINT8_T) };
        let mut requests = vec![null; messages.len()];
        let begun = messages.iter_mut().zip(&mut requests).try_for_each(|(message, request)| {
            let Message { peer, tag, is_sent, bytes } = message;
            let (at, len) = (bytes.as_mut_ptr().cast(), to_int(bytes.len()));
            let (peer, tag, raw) = (*peer, *tag, self.base.raw);
            // SAFETY: MPI-3.1 3.7.2: the buffer has `len` bytes, and is used by nobody else until
            // its request is complete.
            self.check(unsafe {
                match is_sent {
                    true => ffi::MPI_Isend(at, len, kind, peer, tag, raw, request),
                    false => ffi::MPI_Irecv(at, len, kind, peer, tag, raw, request),
                }
            })
        });
        let done = begun.and_then(|()| self.poll(time, || self.test_all(&mut requests)));
        let (is_done, error) = match done {
            Ok(Some(())) => return Ok(messages.into_iter().map(|it| Some(it.bytes)).collect()),
            Ok(None) => (true, None),
            Err(error) => (false, Some(error)),
        };
        let done = messages.into_iter().zip(requests).map(|(message, mut request)| {
            if is_done && is_complete(&mut request) {
                return Some(message.bytes);
            }
            std::mem::forget(message.bytes);
            None
        });
        let done = done.collect();
        error.map_or(Ok(done), Err)
    }

    pub(super) fn send_message(&self, to: u32, bytes: &[u8]) -> Result<(), Error> {
        if c_int::try_from(bytes.len()).is_err() {
            let text = format_args!("a message of {} bytes, must be below 2^31", bytes.len());
            return Err(Error::carrier(self.world_rank, 0, text));
        }
        self.send_as(Kind::Own, to, bytes, self.deadline)
    }

    /// Sends a message of a kind.
    pub(super) fn send_as(
        &self,
        kind: Kind,
        to: u32,
        bytes: &[u8],
        time: Option<Duration>,
    ) -> Result<(), Error> {
        let (peer, bytes) = (to_int(self.world_rank_of(to)), bytes.to_vec());
        let message = Message { peer, tag: self.tag(kind), is_sent: true, bytes };
        let sent = self.transfer(vec![message], time)?.pop().flatten();
        sent.map(drop).ok_or_else(|| self.lost(to))
    }

    pub(super) fn receive_message(&self, from: u32, buf: &mut [u8]) -> Result<usize, Error> {
        self.check_alive()?;
        let peer = to_int(self.world_rank_of(from));
        let received = self.poll(self.deadline, || self.receive(peer, Kind::Own))?;
        let (_, bytes) = received.ok_or_else(|| self.lost(from))?;
        buf.iter_mut().zip(&bytes).for_each(|(to, byte)| *to = *byte);
        Ok(bytes.len())
    }

    /// The source and the bytes of a message of any length, if it is there.
    pub(super) fn receive(&self, peer: c_int, kind: Kind) -> Result<Option<(u32, Vec<u8>)>, Error> {
        let (mut is_there, mut len) = (0, 0);
        let (mut message, mut status) = (MaybeUninit::uninit(), MaybeUninit::uninit());
        // SAFETY: MPI-3.1 3.8.2, 3.2.5: local calls; message and status are written if the flag is
        // true.
        let (mut message, source) = unsafe {
            let (there, message_at) = (&raw mut is_there, message.as_mut_ptr());
            let (tag, raw) = (self.tag(kind), self.base.raw);
            self.check(ffi::MPI_Improbe(peer, tag, raw, there, message_at, status.as_mut_ptr()))?;
            if is_there == 0 {
                return Ok(None);
            }
            self.check(ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &raw mut len))?;
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
}

/// Whether a request is complete. One that is not, or is wrong, still has its memory.
fn is_complete(request: &mut ffi::MPI_Request) -> bool {
    let (mut flag, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
    // SAFETY: MPI-3.1 3.7.3: a local call that writes a flag and a status. A null request, of a
    // message that was complete before, sets the flag.
    let code = unsafe { ffi::MPI_Test(request, &raw mut flag, status.as_mut_ptr()) };
    is_success(code) && flag != 0
}
