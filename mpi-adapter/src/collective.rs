//! The operations of all ranks of a parallel program.

use crate::error::{Error, Failure};
use crate::operation::Operation;

/// How the values of the ranks become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fold {
    /// Their sum; [`Code::Overflow`](crate::Code::Overflow) at 2^64.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
    /// Their exclusive or.
    Xor,
}

/// The largest number of values of a collective.
pub const MAX_VALUES: usize = 6;

/// What a rank did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Collective calls of the message layer, as [`Collective::calls`] counts them.
    pub calls: u64,
    /// Messages that it sent to one rank.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// The ranks of a parallel program, as seen by one of them. All ranks call the same methods in the
/// same order.
///
/// A collective takes the value of a rank, or the [`Failure`] because of which it has none. So a
/// rank whose own work failed still takes part, and all ranks get an equal [`Error`] from that
/// collective: of the ranks that failed, the lowest counts.
///
/// After an error the communicator is poisoned at every rank: each later call returns that error,
/// at once and without a message. A program goes on with another communicator, or ends.
///
/// If the world has a deadline, a rank that does not come within it is lost: the others get
/// [`Code::Lost`](crate::Code::Lost). The deadline must be longer than the longest work between two
/// collectives, and than that of [`decide`](Self::decide). After it only local work and
/// [`abort`](Self::abort) are promised.
///
/// Nothing happens in `Drop`: a rank that drops its communicator is gone, and the others notice by
/// the deadline or, among threads, at once.
///
/// [`exscan`](Self::exscan), [`send`](Self::send) and [`recv`](Self::recv) are for use between two
/// collectives. Only the ranks that take part in their messages learn of a failure, so they return
/// a [`Failure`], which must be passed to the next collective.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Collective: Sized {
    /// This rank, counted from 0.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// The error that poisoned this communicator.
    fn error(&self) -> Option<Error>;

    /// Number of collective calls of the message layer so far at this rank: of folds, of scans, and
    /// of copies of what one rank has to all.
    fn calls(&self) -> u64;

    /// What this rank did so far, with this communicator and all that were split from the same
    /// first one.
    fn traffic(&self) -> Traffic;

    /// Begins an operation of several collectives, with a number of those of its arguments that
    /// must be equal at all ranks. All ranks call this. There is no message: the next collectives
    /// compare the operation, how many there were on this communicator, and the number. Ranks that
    /// differ get one error, [`Code::Differ`](crate::Code::Differ), before any of them does
    /// anything; so do ranks that call different collectives. The [rank](Error::rank) of the error
    /// is the lowest one that differs from rank 0.
    fn begin(&self, operation: Operation, arguments: u32);

    /// The values of all ranks, combined value by value. One call of the message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    fn combine<const N: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
    ) -> Result<[u64; N], Error>;

    /// Combines the values as [`combine`](Self::combine) does, but for rank 0 alone, which then
    /// runs `work`; all ranks get its result. Two calls of the message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks; then `work` did not run. Else the
    /// failure of `work`.
    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
        work: impl FnOnce([u64; N]) -> Result<[u64; M], Failure>,
    ) -> Result<[u64; M], Error>;

    /// The bytes of rank `root`, at all ranks; what the others pass is not used. Two calls of the
    /// message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks; `root` fails with
    /// [`Code::TooLong`](crate::Code::TooLong) if it has more than `limit` bytes.
    fn bcast(
        &self,
        root: u32,
        mine: Result<&[u8], Failure>,
        limit: usize,
    ) -> Result<Vec<u8>, Error>;

    /// The sums of the values of all lower ranks; zeros at rank 0. One call of the message layer.
    ///
    /// # Errors
    /// The failure of this rank, or that a lower rank failed, or that a sum overflows. Some ranks
    /// may have a value and others none: each passes what it has to the next collective.
    fn exscan<const N: usize>(&self, mine: Result<[u64; N], Failure>) -> Result<[u64; N], Failure>;

    /// The sums of [`exscan`](Self::exscan), after rank 0 has done `work`, which it does only when
    /// all ranks have come, call the same, and have values. One call of the message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks; then `work` did not run. Else the
    /// failure of `work`.
    fn exscan_after<const N: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<[u64; N], Error>;

    /// Sends a message to one rank, which must call [`recv`](Self::recv) for it.
    ///
    /// # Errors
    /// A failure of the message layer.
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Failure>;

    /// Receives the next message of rank `from` into the start of `buf`; returns its length.
    ///
    /// # Errors
    /// [`Code::TooLong`](crate::Code::TooLong) if it is longer than `buf`; then it is gone. A
    /// failure of the message layer.
    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Failure>;

    /// A new communicator of the ranks that pass the same color, in the order of their ranks. A
    /// color is below 2^31. An error in the new communicator does not poison this one.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    fn split(&self, color: Result<u32, Failure>) -> Result<Self, Error> {
        self.split_ordered(color.map(|color| (color, self.rank())))
    }

    /// As [`split`](Self::split), in the order of keys, which are below 2^31: each rank passes a
    /// color and a key.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    fn split_ordered(&self, place: Result<(u32, u32), Failure>) -> Result<Self, Error>;

    /// A new communicator of the ranks that share the memory of a node.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    fn node(&self, mine: Result<(), Failure>) -> Result<Self, Error>;

    /// A new communicator of the ranks that still answer, in their order. All of them call this,
    /// after an error of this communicator or without one; a rank has the deadline to come. One
    /// that is not among them gets [`Code::Lost`](crate::Code::Lost), as all do if a further rank
    /// is lost.
    ///
    /// # Errors
    /// [`Code::Unsupported`](crate::Code::Unsupported) if the message layer cannot do this.
    fn shrink(&self) -> Result<Self, Error> {
        Err(Error::unsupported())
    }

    /// Keeps a communicator of some of these ranks under a number, until [`kept`](Self::kept) takes
    /// it or this one is freed. So it need not be made again for the next file. All ranks call
    /// this; those of the same part pass the same number, which has none yet. There is no message.
    fn keep(&self, number: u64, part: Self);

    /// Takes the communicator that is kept under a number.
    fn kept(&self, number: u64) -> Option<Self>;

    /// Ends this communicator and those that it keeps by a last collective, and gives their
    /// resources back. One that is dropped instead keeps them until the end of the program.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    fn free(self, mine: Result<(), Failure>) -> Result<(), Error>;

    /// Ends the job of all ranks with an exit code, without the other ranks. MPI does not return
    /// from it; among threads, all collectives of the world fail from now on with the error that is
    /// returned.
    fn abort(&self, code: i32) -> Error;

    /// What this rank has, if no rank failed. Every rank has called this when the first returns
    /// from it. One call of the message layer.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    fn agree<T>(&self, mine: Result<T, Failure>) -> Result<T, Error> {
        let (mine, failure) = match mine {
            Ok(mine) => (Some(mine), Ok([])),
            Err(failure) => (None, Err(failure)),
        };
        self.combine(failure, [])?;
        mine.ok_or_else(|| Error::lost(None)) // never: no rank has failed
    }

    /// The sums of the values of all ranks.
    ///
    /// # Errors
    /// As [`combine`](Self::combine).
    fn total<const N: usize>(&self, mine: Result<[u64; N], Failure>) -> Result<[u64; N], Error> {
        self.combine(mine, [Fold::Sum; N])
    }

    /// The largest of the values of all ranks.
    ///
    /// # Errors
    /// As [`combine`](Self::combine).
    fn max<const N: usize>(&self, mine: Result<[u64; N], Failure>) -> Result<[u64; N], Error> {
        self.combine(mine, [Fold::Max; N])
    }

    /// Gives the bytes of all ranks to `sink` at rank `root`, in the order of the ranks, in pieces
    /// of at most `window` bytes: that is all the memory that `root` needs. A rank sends a piece
    /// only when `root` has used the one before. `window` must be equal at all ranks;
    /// 0 counts as 1.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks; that of `sink` is one of `root`.
    /// `sink` may have got pieces before.
    fn gather(
        &self,
        root: u32,
        mine: Result<&[u8], Failure>,
        window: usize,
        sink: impl FnMut(u32, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Error> {
        gather(self, root, mine, window, sink)
    }

    /// Passes a state from rank to rank: rank 0 starts with `first`, and each rank's `step` makes
    /// the state of the next one. Returns what this rank's `step` returned, and the state after the
    /// last rank. After a failure the later ranks' steps do not run.
    ///
    /// # Errors
    /// The failure of the lowest rank that has one, at all ranks.
    fn chain<const N: usize, T>(
        &self,
        first: Result<[u64; N], Failure>,
        step: impl FnOnce([u64; N]) -> Result<([u64; N], T), Failure>,
    ) -> Result<(T, [u64; N]), Error> {
        let (rank, size) = (self.rank(), self.size());
        let received = match rank.checked_sub(1) {
            None => first.map(Some),
            Some(before) => recv_state(self, before).and_then(|state| first.map(|_| state)),
        };
        let done = received.and_then(|state| state.map(step).transpose());
        let next = rank.saturating_add(1);
        let sent = if next < size {
            let state = done.as_ref().ok().and_then(Option::as_ref).map(|(state, _)| *state);
            send_state(self, next, state)
        } else {
            Ok(())
        };
        let last = |state: &[u64; N]| if next == size { *state } else { [0; N] };
        let (mine, output) = match (done, sent) {
            (Err(failure), _) | (Ok(_), Err(failure)) => (Err(failure), None),
            (Ok(Some((state, output))), Ok(())) => (Ok(last(&state)), Some(output)),
            (Ok(None), Ok(())) => (Ok([0; N]), None), // a lower rank has the failure
        };
        let state = self.total(mine)?;
        output.map(|output| (output, state)).ok_or_else(|| Error::lost(None))
    }
}

/// As [`Collective::gather`], of numbers. `window` is in bytes, a multiple of 4.
pub(crate) fn gather_numbers<C: Collective>(
    comm: &C,
    root: u32,
    mine: Result<impl IntoIterator<Item = u32>, Failure>,
    window: usize,
    mut sink: impl FnMut(u32, &[u32]) -> Result<(), Failure>,
) -> Result<(), Error> {
    let bytes = mine.map(|mine| mine.into_iter().flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    comm.gather(root, bytes.as_deref().map_err(Clone::clone), window, |from, piece| {
        let numbers = piece.chunks_exact(4).filter_map(<[u8]>::first_chunk);
        sink(from, &numbers.map(|bytes| u32::from_le_bytes(*bytes)).collect::<Vec<_>>())
    })
}

/// The message by which the root asks for the next piece, and the one by which it asks for none.
const NEXT: [u8; 1] = [1];
const STOP: [u8; 1] = [0];

/// A gather by messages between two ranks.
pub(crate) fn gather<C: Collective>(
    comm: &C,
    root: u32,
    mine: Result<&[u8], Failure>,
    window: usize,
    sink: impl FnMut(u32, &[u8]) -> Result<(), Failure>,
) -> Result<(), Error> {
    let done = match comm.rank() == root {
        true => gather_at_root(comm, mine, window, sink),
        false => gather_from(comm, root, mine, window),
    };
    comm.agree(done)
}

fn gather_at_root<C: Collective>(
    comm: &C,
    mine: Result<&[u8], Failure>,
    window: usize,
    mut sink: impl FnMut(u32, &[u8]) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let (root, own) = (comm.rank(), mine.as_ref().copied().unwrap_or_default());
    let (mut done, mut buf) = (mine.map(drop), vec![0; window.max(1)]);
    for from in 0..comm.size() {
        if from == root {
            let mut pieces = own.chunks(buf.len());
            done = done.and_then(|()| pieces.try_for_each(|piece| sink(from, piece)));
            continue;
        }
        loop {
            comm.send(from, if done.is_ok() { &NEXT } else { &STOP })?;
            if done.is_err() {
                break;
            }
            match comm.recv(from, &mut buf) {
                Ok(0) => break,
                Ok(len) => done = sink(from, buf.get(..len).unwrap_or_default()),
                Err(failure) => done = Err(failure),
            }
        }
    }
    done
}

fn gather_from<C: Collective>(
    comm: &C,
    root: u32,
    mine: Result<&[u8], Failure>,
    window: usize,
) -> Result<(), Failure> {
    let bytes = mine.as_ref().copied().unwrap_or_default(); // a failed rank has none to send
    for piece in bytes.chunks(window.max(1)).chain([[].as_slice()]) {
        let mut answer = STOP;
        comm.recv(root, &mut answer)?;
        if answer == STOP {
            break;
        }
        comm.send(root, piece)?;
    }
    mine.map(drop)
}

/// Sends the state of a chain, or a message without one after a failure.
fn send_state<const N: usize>(
    comm: &impl Collective,
    to: u32,
    state: Option<[u64; N]>,
) -> Result<(), Failure> {
    let words = state.iter().flatten().flat_map(|word| word.to_le_bytes());
    let bytes: Vec<u8> = std::iter::once(u8::from(state.is_some())).chain(words).collect();
    comm.send(to, &bytes)
}

fn recv_state<const N: usize>(
    comm: &impl Collective,
    from: u32,
) -> Result<Option<[u64; N]>, Failure> {
    let mut buf = vec![0; N.saturating_mul(8).saturating_add(1)];
    comm.recv(from, &mut buf)?;
    let (is_state, bytes) = buf.split_first().unwrap_or((&0, &[]));
    let words = bytes.chunks_exact(8).filter_map(|word| word.first_chunk());
    let mut state = [0; N];
    state.iter_mut().zip(words).for_each(|(to, word)| *to = u64::from_le_bytes(*word));
    Ok((*is_state == 1).then_some(state))
}

/// The part of rank `rank` of `n` things that are dealt to `size` ranks, in their order.
#[must_use]
pub fn even_part(n: u64, rank: u32, size: u32) -> std::ops::Range<u64> {
    let at = |rank: u32| {
        let product = u128::from(n).saturating_mul(rank.into());
        let at = product.checked_div(size.into()).unwrap_or(0);
        u64::try_from(at).unwrap_or(n) // at most n
    };
    at(rank)..at(rank.saturating_add(1))
}
