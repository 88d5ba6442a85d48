//! How what waits comes to the writer.

use super::{Handle, WINDOW, writing};
use crate::collective::Collective;
use crate::error::{Code, Failure};
use crate::file::SharedFile;
use std::io;
use striae_core::store::{WriteAt, usize_to_u64};

/// How many bytes of its ranks a writer collects before it writes them.
const POOL: usize = 4 << 20;

/// What a message is, besides its pieces: each an offset, a length, and its bytes. The bytes of
/// `PLACES` are in the slot of the sender.
const MORE: u8 = 0;
const LAST: u8 = 1;
const FAILED: u8 = 2;
const PLACES: u8 = 3;

/// The length of the offset and of the length of a piece.
const PIECE_HEAD: usize = 16;

impl<C: Collective, F: SharedFile> Handle<C, F> {
    /// Hands what waits over to the writer. All ranks of the group call this, each with its own
    /// result so far, and pass what is returned to their next collective: only after that is it
    /// known that all of it was written.
    pub(crate) fn hand_over(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        match (&self.group, self.writer()) {
            (None, _) => mine.and_then(|()| self.spill().map_err(|e| writing(&e))),
            (Some(_), Some(group)) => {
                let mine = mine.and_then(|()| self.write_long().map_err(|error| writing(&error)));
                let sent = self.send_all(group, &mine);
                mine.and(sent)
            }
            (Some(group), None) => {
                let (mut done, mut places) = (mine, Vec::new());
                for from in 1..group.size() {
                    self.receive_all(group, from, &mut done, &mut places)?;
                }
                done.and_then(|()| self.write_all(&places).map_err(|error| writing(&error)))
            }
        }
    }

    /// Writes what waits here and in the slots of the other ranks.
    fn write_all(&self, places: &[(u32, u64, usize)]) -> io::Result<()> {
        let Some(segment) = self.segment.as_ref().filter(|_| !places.is_empty()) else {
            return self.spill();
        };
        let mut waiting = self.waiting.borrow_mut();
        let mut pieces: Vec<_> = waiting.iter().collect();
        let (mut slot, mut at) = (0, 0);
        for &(rank, offset, len) in places {
            if rank != slot {
                (slot, at) = (rank, 0);
            }
            let bytes = segment.bytes(rank, at, len).ok_or(io::ErrorKind::InvalidData)?;
            pieces.push((offset, bytes));
            at = at.saturating_add(len);
        }
        self.write_pieces(&pieces)?;
        drop(pieces);
        waiting.clear();
        Ok(())
    }

    /// As [`hand_over`](Self::hand_over), and what this rank wrote is durable; or will be by the
    /// sync that the first of all ranks makes after the next collective, if it has its cache.
    pub(crate) fn deliver(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        let sync = |file: &F| match self.leaves_syncs(file) {
            true => Ok(()),
            false => file.io().sync().map_err(|e| Failure::io("syncing the file", &e)),
        };
        if self.writer().is_some() {
            let write = || self.write_long().and_then(|()| self.finish());
            let written = mine.and_then(|()| write().map_err(|error| writing(&error)));
            // The writer syncs the file that it has passed, after this rank has told that it wrote.
            let opened = self.file.get().filter(|_| !self.is_passed.get());
            let mine = written.and_then(|()| opened.map_or(Ok(()), |file| sync(file)));
            return self.hand_over(mine);
        }
        self.hand_over(mine)?;
        self.finish().map_err(|error| writing(&error))?;
        self.opened().map_err(|error| Failure::io("opening the file", &error)).and_then(sync)
    }

    /// All ranks know that what they handed over was written.
    pub(crate) fn settle(&self) {
        self.waiting.borrow_mut().settle();
    }

    /// Goes on without the other ranks of the group, of which some are gone: this rank writes for
    /// itself, and what it handed over without learning that it was written, it writes again.
    pub(crate) fn go_on_alone(&mut self) -> Result<(), Failure> {
        if self.is_behind() {
            let text = "what the thread of another rank had to write may be lost with that rank";
            return Err(Failure::new(Code::Refused, text));
        }
        (self.group, self.segment) = (None, None);
        self.waiting.get_mut().take_back();
        self.spill().map_err(|error| writing(&error))
    }

    fn send_all(&self, group: &C, mine: &Result<(), Failure>) -> Result<(), Failure> {
        let mut waiting = self.waiting.borrow_mut();
        if mine.is_err() {
            return group.send(0, &[FAILED]);
        }
        if waiting.segment().is_some() {
            let places = waiting.places().iter().flat_map(|(offset, len)| {
                [offset.to_le_bytes(), usize_to_u64(*len).to_le_bytes()].into_iter().flatten()
            });
            let message: Vec<u8> = std::iter::once(PLACES).chain(places).collect();
            waiting.hand_over(); // nothing is put there before the next collective of all ranks
            return group.send(0, &message);
        }
        let mut message = vec![MORE];
        for (mut offset, bytes) in waiting.iter() {
            for piece in bytes.chunks(WINDOW >> 1) {
                let len = usize_to_u64(piece.len());
                let end = message.len().saturating_add(PIECE_HEAD).saturating_add(piece.len());
                if end > WINDOW {
                    group.send(0, &message)?;
                    message.truncate(1);
                }
                message.extend(offset.to_le_bytes());
                message.extend(len.to_le_bytes());
                message.extend_from_slice(piece);
                offset = offset.saturating_add(len);
            }
        }
        if let Some(kind) = message.first_mut() {
            *kind = LAST;
        }
        waiting.hand_over();
        group.send(0, &message)
    }

    /// Receives the messages of a rank to the last, also after a failure, which becomes `done`.
    ///
    /// # Errors
    /// The group has no more messages.
    fn receive_all(
        &self,
        group: &C,
        from: u32,
        done: &mut Result<(), Failure>,
        places: &mut Vec<(u32, u64, usize)>,
    ) -> Result<(), Failure> {
        let mut buf = vec![0; WINDOW];
        loop {
            let len = group.recv(from, &mut buf)?;
            let (kind, mut rest) =
                buf.get(..len).and_then(<[u8]>::split_first).unwrap_or((&FAILED, &[]));
            if *kind == PLACES {
                while let Some((offset, len, tail)) = next_place(rest) {
                    places.push((from, offset, len));
                    rest = tail;
                }
            }
            while let (Ok(()), Some((offset, bytes, tail))) = (&*done, next_piece(rest)) {
                *done = self.take(offset, bytes).map_err(|error| writing(&error));
                rest = tail;
            }
            match *kind {
                MORE => {}
                _ => return Ok(()), // a rank that failed tells its failure in the next collective
            }
        }
    }

    /// A writer's turn with a piece of another rank.
    fn take(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.borrow().len().saturating_add(bytes.len()) > POOL {
            self.spill()?;
        }
        self.put(offset, bytes)
    }
}

/// The next piece of a message, and what follows it.
fn next_piece(message: &[u8]) -> Option<(u64, &[u8], &[u8])> {
    let (offset, len, rest) = next_place(message)?;
    let (bytes, rest) = rest.split_at_checked(len)?;
    Some((offset, bytes, rest))
}

/// The next offset and length of a message, and what follows them.
fn next_place(message: &[u8]) -> Option<(u64, usize, &[u8])> {
    let (offset, rest) = message.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    Some((u64::from_le_bytes(*offset), len, rest))
}
