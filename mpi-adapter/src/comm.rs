//! The rules of [`Collective`], once for every message layer, and what such a layer must have.

use crate::collective::{Collective, Fold, Traffic, gather};
use crate::error::{Code, Error, Failure, RECORD};
use crate::operation::Operation;
use crate::words::Stamp;
pub use crate::words::{Folded, Step, Words};
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use striae_core::store::usize_to_u64;

/// A message layer: it carries words and bytes between ranks and has no rule of its own.
///
/// Every method is called by all ranks in the same order, except [`send`](Self::send),
/// [`recv`](Self::recv) and [`abort`](Self::abort): [`exchange`](Self::exchange) is called before
/// any other one, and shows whether they all will. After an error no rank gets past the same call:
/// either all of them have finished it, or none can.
///
/// Other crates may implement it; a method of a later version has a default.
pub trait Transport: Sized {
    /// This rank, counted from 0.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// This rank in the first communicator.
    fn world_rank(&self) -> u32;

    /// Brings the words of all ranks together, folded by [`Words::fold`]. If there is `work`, which
    /// all ranks have or none, rank 0 alone runs it when all words are there, and it may change
    /// what the ranks get; it does nothing unless the words are [agreed](Words::is_agreed).
    ///
    /// This has the same messages whatever the ranks call: those that call different collectives
    /// all get the words that show it.
    ///
    /// # Errors
    /// A rank is lost, or the layer failed; so for all methods.
    fn exchange(
        &self,
        step: Step,
        words: &Words,
        work: Option<&mut dyn FnMut(&mut Words)>,
    ) -> Result<Folded, Error>;

    /// Copies the bytes of rank `root` to all others; all pass as many.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    fn bcast(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error>;

    /// Sends a message to one rank.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Error>;

    /// Receives the next message of a rank, and returns its length. If that is more than `buf` has,
    /// the message is dropped.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Error>;

    /// The bytes of all ranks, at rank `root`, in their order, by other means than messages between
    /// two ranks; `None` at all ranks of a layer that has such messages.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    fn gather(&self, _root: u32, _bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Error> {
        Ok(None)
    }

    /// Whether [`gather`](Self::gather) has a result.
    fn gathers(&self) -> bool {
        false
    }

    /// A new communicator of the ranks with the same color, in the order of their keys, and of
    /// their ranks if those are equal.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    fn split(&self, color: u32, key: u32) -> Result<Self, Error>;

    /// A new communicator of the ranks of a node.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    fn node(&self) -> Result<Self, Error>;

    /// A new communicator of the ranks that call this within the deadline, also if others do not,
    /// and after an error.
    ///
    /// # Errors
    /// This rank is not one of them; the layer cannot do this.
    fn shrink(&self) -> Result<Self, Error> {
        Err(Error::unsupported())
    }

    /// Gives the resources of the communicator back.
    ///
    /// # Errors
    /// As [`exchange`](Self::exchange).
    fn free(self) -> Result<(), Error>;

    /// Ends the job, if the layer can; else returns the error of all later calls.
    fn abort(&self, code: i32) -> Error;
}

/// A communicator over a message layer.
#[derive(Debug)]
pub struct Comm<T> {
    transport: T,
    poison: OnceCell<Error>,
    /// A message to or from one rank failed, which not all ranks know.
    untold: OnceCell<Error>,
    calls: Cell<u64>,
    stamp: Cell<Stamp>,
    counters: Arc<Counters>,
    kept: RefCell<Vec<(u64, Self)>>,
}

/// What this rank did with this communicator and those that were split from it.
#[derive(Debug, Default)]
struct Counters {
    calls: AtomicU64,
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Counters {
    fn add(counter: &AtomicU64, number: u64) {
        counter.fetch_add(number, Ordering::Relaxed);
    }
}

impl<T: Transport> Comm<T> {
    /// Makes the communicator of this rank.
    pub fn new(transport: T) -> Self {
        Self::counting(transport, Arc::default(), Stamp::NEW)
    }

    fn counting(transport: T, counters: Arc<Counters>, stamp: Stamp) -> Self {
        let (poison, untold) = (OnceCell::new(), OnceCell::new());
        let (calls, stamp, kept) = (Cell::new(0), Cell::new(stamp), RefCell::new(Vec::new()));
        Self { transport, poison, untold, calls, stamp, counters, kept }
    }

    /// A communicator of some of these ranks, which are in the same operation.
    fn child(&self, transport: T) -> Self {
        let stamp = Stamp { operations: 0, steps: 0, ..self.stamp.get() };
        Self::counting(transport, Arc::clone(&self.counters), stamp)
    }

    /// The message layer.
    pub const fn transport(&self) -> &T {
        &self.transport
    }

    /// Runs an operation of the message layer. Its error poisons the communicator.
    fn run<R>(&self, operation: impl FnOnce(&T) -> Result<R, Error>) -> Result<R, Error> {
        if let Some(error) = self.poison.get() {
            return Err(error.clone());
        }
        operation(&self.transport).map_err(|error| self.poison(error))
    }

    fn call<R>(&self, operation: impl FnOnce(&T) -> Result<R, Error>) -> Result<R, Error> {
        self.run(|transport| {
            self.count_call();
            operation(transport)
        })
    }

    fn count_call(&self) {
        self.calls.set(self.calls.get().saturating_add(1));
        Counters::add(&self.counters.calls, 1);
    }

    /// Sends or receives a message. Its error is that of this rank alone, until the next collective
    /// tells all of them. Until then there are no more messages: a rank would wait for each.
    fn pass<R>(&self, operation: impl FnOnce(&T) -> Result<R, Error>) -> Result<R, Error> {
        if let Some(error) = self.poison.get().or(self.untold.get()) {
            return Err(error.clone());
        }
        operation(&self.transport).map_err(|error| self.untold.get_or_init(|| error).clone())
    }

    fn poison(&self, error: Error) -> Error {
        self.poison.get_or_init(|| error).clone()
    }

    /// What this rank has, unless a message failed.
    fn told<R>(&self, mine: Result<R, Failure>) -> Result<R, Failure> {
        self.untold.get().map_or(mine, |error| Err(error.clone().into()))
    }

    /// Brings the words of all ranks together, and compares what they call.
    fn exchange<const N: usize>(
        &self,
        (step, detail): (Step, u32),
        mine: &Result<[u64; N], Failure>,
        folds: [Fold; N],
        work: Option<&mut dyn FnMut(&mut Words)>,
    ) -> Result<Folded, Error> {
        let last = self.stamp.get();
        let steps = last.steps.wrapping_add(1);
        let stamp = Stamp { step: step.number(), steps, detail, ..last };
        self.stamp.set(stamp);
        let ranks = (self.transport.rank(), self.transport.world_rank());
        let words = Words::new(mine.as_ref().map(|it| *it).map_err(drop), ranks, stamp, folds);
        let folded = self.call(|transport| transport.exchange(step, &words, work))?;
        match folded.all.difference() {
            Some(failure) => Err(self.poison(Error::agreed(failure))),
            None => Ok(folded),
        }
    }

    /// Tells all ranks the failure of rank `root`, which all ranks know to have failed, and poisons
    /// the communicator.
    fn tell<R>(&self, root: u32, mine: Option<&Failure>) -> Result<R, Error> {
        let mut record = [0; RECORD];
        if let Some(mine) = mine.filter(|_| root == self.transport.rank()) {
            record = mine.to_record(self.transport.world_rank());
        }
        self.call(|transport| transport.bcast(root, &mut record))?;
        Err(self.poison(Error::agreed(Failure::from_record(&record))))
    }

    /// The values if no rank failed and no sum is too large. All ranks pass equal words.
    fn judge<const N: usize>(
        &self,
        words: &Words,
        mine: Option<&Failure>,
    ) -> Result<[u64; N], Error> {
        if let Some(failed) = words.failed() {
            return self.tell(failed, mine);
        }
        if words.is_overflow() {
            return Err(self.poison(Error::agreed(overflow())));
        }
        Ok(words.values())
    }

    /// A fold for all ranks, before they do `step` together.
    fn combine_for<const N: usize>(
        &self,
        step: (Step, u32),
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
    ) -> Result<[u64; N], Error> {
        let mine = self.told(mine);
        let folded = self.exchange(step, &mine, folds, None)?;
        self.judge(&folded.all, mine.as_ref().err())
    }

    /// Frees what is kept, in the same order at all ranks, and this.
    fn free_transports(self) -> Result<(), Error> {
        self.kept.into_inner().into_iter().try_for_each(|(_, part)| part.free_transports())?;
        self.transport.free()
    }
}

fn overflow() -> Failure {
    Failure::new(Code::Overflow, "the sum of the values of the ranks must be below 2^64")
}

impl<T: Transport> Collective for Comm<T> {
    fn rank(&self) -> u32 {
        self.transport.rank()
    }

    fn size(&self) -> u32 {
        self.transport.size()
    }

    fn error(&self) -> Option<Error> {
        self.poison.get().cloned()
    }

    fn calls(&self) -> u64 {
        self.calls.get()
    }

    fn traffic(&self) -> Traffic {
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let Counters { calls, messages, bytes } = &*self.counters;
        Traffic { calls: number(calls), messages: number(messages), bytes: number(bytes) }
    }

    fn begin(&self, operation: Operation, arguments: u32) {
        let last = self.stamp.get();
        let (operation, operations) = (operation.number(), last.operations.wrapping_add(1));
        self.stamp.set(Stamp { operation, operations, arguments, ..Stamp::NEW });
    }

    fn combine<const N: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
    ) -> Result<[u64; N], Error> {
        self.combine_for((Step::Combine, 0), mine, folds)
    }

    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
        work: impl FnOnce([u64; N]) -> Result<[u64; M], Failure>,
    ) -> Result<[u64; M], Error> {
        let mine = self.told(mine);
        let (mut work, mut failed) = (Some(work), None);
        let mut answer = |words: &mut Words| {
            let Some(work) = work.take().filter(|_| words.is_agreed()) else { return };
            let sums = if words.is_overflow() { Err(overflow()) } else { Ok(words.values()) };
            let values = sums.and_then(work);
            words.answer(values.as_ref().ok().copied());
            failed = values.err();
        };
        let folded = self.exchange((Step::Decide, 0), &mine, folds, Some(&mut answer))?;
        self.count_call(); // of the answer
        let mine = mine.err().or(failed);
        self.judge(&folded.all, mine.as_ref())
    }

    fn bcast(
        &self,
        root: u32,
        mine: Result<&[u8], Failure>,
        limit: usize,
    ) -> Result<Vec<u8>, Error> {
        let own = mine.as_ref().copied().unwrap_or_default();
        let is_root = self.rank() == root;
        let len = mine.and_then(|bytes| match u64::try_from(bytes.len()) {
            Ok(len) if is_root && bytes.len() <= limit => Ok([len]),
            _ if !is_root && root < self.size() => Ok([0]),
            _ if !is_root => Err(Failure::new(Code::Refused, format_args!("no rank {root}"))),
            _ => {
                let len = bytes.len();
                let text = format_args!("a message of {len} bytes, must have at most {limit}");
                Err(Failure::new(Code::TooLong, text))
            }
        });
        let [len] =
            self.combine_for((Step::Broadcast, root), len.map(|len: [u64; 1]| len), [Fold::Sum])?;
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0).min(limit)];
        if is_root {
            bytes.copy_from_slice(own);
        }
        self.call(|transport| transport.bcast(root, &mut bytes))?;
        Ok(bytes)
    }

    fn exscan<const N: usize>(&self, mine: Result<[u64; N], Failure>) -> Result<[u64; N], Failure> {
        let mine = self.told(mine);
        let folded = self.exchange((Step::Scan, 0), &mine, [Fold::Sum; N], None)?;
        mine?;
        let Folded { before, .. } = folded;
        match (self.rank(), before.failed()) {
            (0, _) => Ok([0; N]),
            (_, Some(failed)) => {
                // The next collective has the failure of that rank itself.
                let text = format_args!("rank {failed} of this communicator failed");
                Err(Failure::new(Code::Lost, text))
            }
            _ if before.is_overflow() => Err(overflow()),
            _ => Ok(before.values()),
        }
    }

    fn exscan_after<const N: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<[u64; N], Error> {
        let mine = self.told(mine);
        let (mut work, mut failed) = (Some(work), None);
        let mut first = |words: &mut Words| {
            let may = words.is_agreed() && !words.is_overflow();
            let Some(work) = work.take().filter(|_| may) else { return };
            failed = work().err();
            if failed.is_some() {
                words.answer::<N>(None);
            }
        };
        let folded = self.exchange((Step::Scan, 0), &mine, [Fold::Sum; N], Some(&mut first))?;
        let mine = mine.err().or(failed);
        let _sums: [u64; N] = self.judge(&folded.all, mine.as_ref())?;
        Ok(if self.rank() == 0 { [0; N] } else { folded.before.values() })
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Failure> {
        self.pass(|transport| transport.send(to, bytes))?;
        Counters::add(&self.counters.messages, 1);
        Counters::add(&self.counters.bytes, usize_to_u64(bytes.len()));
        Ok(())
    }

    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Failure> {
        let (len, limit) = (self.pass(|transport| transport.recv(from, buf))?, buf.len());
        if len > limit {
            let text = format_args!("a message of {len} bytes, must have at most {limit}");
            return Err(Failure::new(Code::TooLong, text));
        }
        Ok(len)
    }

    fn gather(
        &self,
        root: u32,
        mine: Result<&[u8], Failure>,
        window: usize,
        mut sink: impl FnMut(u32, &[u8]) -> Result<(), Failure>,
    ) -> Result<(), Error> {
        if !self.transport.gathers() {
            return gather(self, root, mine, window, sink);
        }
        let own = mine.as_ref().copied().unwrap_or_default();
        self.agree(mine.as_ref().map(|_| ()).map_err(Clone::clone))?; // or the ranks differ
        let all = self.call(|transport| transport.gather(root, own))?;
        let mut pieces = (0..).zip(all.iter().flatten()).filter(|_| self.rank() == root);
        let done = pieces.try_for_each(|(rank, bytes)| {
            bytes.chunks(window.max(1)).try_for_each(|piece| sink(rank, piece))
        });
        self.agree(done)
    }

    fn split_ordered(&self, place: Result<(u32, u32), Failure>) -> Result<Self, Error> {
        let (own, key) = place.as_ref().copied().unwrap_or((0, 0));
        let place = place.and_then(|(color, key)| match i32::try_from(color.max(key)) {
            Ok(_) => Ok(()),
            Err(_) => {
                let text = format_args!("the color {color} and key {key}, must be below 2^31");
                Err(Failure::new(Code::Refused, text))
            }
        });
        self.combine_for((Step::Split, 0), place.map(|()| []), [])?;
        self.run(|transport| transport.split(own, key)).map(|child| self.child(child))
    }

    fn node(&self, mine: Result<(), Failure>) -> Result<Self, Error> {
        self.combine_for((Step::Node, 0), mine.map(|()| []), [])?;
        self.run(Transport::node).map(|child| self.child(child))
    }

    fn keep(&self, number: u64, part: Self) {
        self.kept.borrow_mut().push((number, part));
    }

    fn kept(&self, number: u64) -> Option<Self> {
        let mut kept = self.kept.borrow_mut();
        let at = kept.iter().position(|(has, _)| *has == number)?;
        Some(kept.swap_remove(at).1)
    }

    fn shrink(&self) -> Result<Self, Error> {
        // Its ranks may be in different operations: some had the error in the next one.
        let new = |child| Self::counting(child, Arc::clone(&self.counters), Stamp::NEW);
        self.transport.shrink().map(new)
    }

    fn free(self, mine: Result<(), Failure>) -> Result<(), Error> {
        self.combine_for((Step::Free, 0), mine.map(|()| []), [])?;
        self.free_transports()
    }

    fn abort(&self, code: i32) -> Error {
        self.poison(self.transport.abort(code))
    }
}
