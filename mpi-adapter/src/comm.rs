//! The rules of [`Collective`], once for every message layer, and what such a layer must have.

use crate::collective::{Collective, Fold, MAX_VALUES, Traffic};
use crate::error::{Code, Error, Failure, RECORD};
use std::cell::{Cell, OnceCell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use striae_core::store::usize_to_u64;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A message layer: it carries words and bytes between ranks and has no rule of its own.
///
/// Every method is called by all ranks in the same order, except [`send`](Self::send),
/// [`recv`](Self::recv) and [`abort`](Self::abort). After an error no rank gets past the same call:
/// either all of them have finished it, or none can.
pub trait Transport: Sized {
    /// This rank, counted from 0.
    fn rank(&self) -> u32;

    /// Number of ranks.
    fn size(&self) -> u32;

    /// This rank in the first communicator.
    fn world_rank(&self) -> u32;

    /// Folds the words of all ranks by [`Words::fold`], for one rank or for all of them.
    ///
    /// # Errors
    /// A rank is lost, or the layer failed; so for all methods.
    fn reduce(&self, words: &mut Words, to: Option<u32>) -> Result<(), Error>;

    /// Folds the words of all lower ranks; those of rank 0 stay as they are.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    fn exscan(&self, words: &mut Words) -> Result<(), Error>;

    /// Copies the bytes of rank `root` to all others; all pass as many.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    fn bcast(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error>;

    /// Sends a message to one rank.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Error>;

    /// Receives the next message of a rank, and returns its length. If that is more than `buf` has,
    /// the message is dropped.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Error>;

    /// A new communicator of the ranks with the same color, in the order of their keys, and of
    /// their ranks if those are equal.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    fn split(&self, color: u32, key: u32) -> Result<Self, Error>;

    /// A new communicator of the ranks of a node.
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
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
    /// As [`reduce`](Self::reduce).
    fn free(self) -> Result<(), Error>;

    /// Ends the job, if the layer can; else returns the error of all later calls.
    fn abort(&self, code: i32) -> Error;
}

/// The words of a fold, and how each is folded: nine `u64`s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C)]
pub struct Words {
    /// The lowest rank that failed, or [`NONE`].
    failed: u64,
    /// 1 if a sum was too large.
    overflow: u64,
    /// The [`Fold`] of each value, 8 bits each.
    folds: u64,
    values: [u64; MAX_VALUES],
}

/// No rank failed.
const NONE: u64 = u64::MAX;

impl Words {
    fn new<const N: usize>(values: Result<[u64; N], ()>, rank: u32, folds: [Fold; N]) -> Self {
        const { assert!(N <= MAX_VALUES, "a collective has at most MAX_VALUES values") };
        let failed = if values.is_ok() { NONE } else { rank.into() };
        let mut words = Self { failed, overflow: 0, folds: 0, values: [0; MAX_VALUES] };
        let values = values.unwrap_or([0; N]);
        words.values.iter_mut().zip(values).for_each(|(to, value)| *to = value);
        words.folds = folds.iter().rev().fold(0, |folds, fold| folds << 8 | fold.to_byte());
        words
    }

    /// Folds the words of another rank into these.
    pub fn fold(&mut self, other: &Self) {
        self.failed = self.failed.min(other.failed);
        self.overflow |= other.overflow;
        let mut folds = self.folds;
        for (value, other) in self.values.iter_mut().zip(other.values) {
            match folds & 0xff {
                1 => *value = (*value).max(other),
                2 => *value = (*value).min(other),
                3 => *value ^= other,
                _ => {
                    let sum = value.checked_add(other);
                    self.overflow |= u64::from(sum.is_none());
                    *value = sum.unwrap_or(u64::MAX);
                }
            }
            folds >>= 8;
        }
    }

    /// The words of so many ranks that all have these: only sums change.
    #[must_use]
    pub fn times(mut self, ranks: u64) -> Self {
        let mut folds = self.folds;
        for value in &mut self.values {
            if folds & 0xff == Fold::Sum.to_byte() {
                let sum = value.checked_mul(ranks);
                self.overflow |= u64::from(sum.is_none());
                *value = sum.unwrap_or(u64::MAX);
            }
            folds >>= 8;
        }
        self
    }

    fn values<const N: usize>(&self) -> [u64; N] {
        self.values.first_chunk().copied().unwrap_or([0; N]) // N is at most MAX_VALUES
    }
}

impl Fold {
    const fn to_byte(self) -> u64 {
        match self {
            Self::Sum => 0,
            Self::Max => 1,
            Self::Min => 2,
            Self::Xor => 3,
        }
    }
}

/// A communicator over a message layer.
#[derive(Debug)]
pub struct Comm<T> {
    transport: T,
    poison: OnceCell<Error>,
    calls: Cell<u64>,
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
        Self::counting(transport, Arc::default())
    }

    const fn counting(transport: T, counters: Arc<Counters>) -> Self {
        let kept = RefCell::new(Vec::new());
        Self { transport, poison: OnceCell::new(), calls: Cell::new(0), counters, kept }
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
            self.calls.set(self.calls.get().saturating_add(1));
            Counters::add(&self.counters.calls, 1);
            operation(transport)
        })
    }

    fn poison(&self, error: Error) -> Error {
        self.poison.get_or_init(|| error).clone()
    }

    /// Tells all ranks the failure of rank `failed`, which all ranks know to have failed, and
    /// poisons the communicator.
    fn tell<R>(&self, failed: u64, mine: Option<&Failure>) -> Result<R, Error> {
        let root = u32::try_from(failed).unwrap_or(u32::MAX);
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
        if words.failed != NONE {
            return self.tell(words.failed, mine);
        }
        if words.overflow != 0 {
            return Err(self.poison(Error::agreed(overflow())));
        }
        Ok(words.values())
    }

    /// Frees what is kept, in the same order at all ranks, and this.
    fn free_transports(self) -> Result<(), Error> {
        self.kept.into_inner().into_iter().try_for_each(|(_, part)| part.free_transports())?;
        self.transport.free()
    }

    fn words<const N: usize>(&self, mine: &Result<[u64; N], Failure>, folds: [Fold; N]) -> Words {
        let values = mine.as_ref().map(|values| *values).map_err(drop);
        Words::new(values, self.transport.rank(), folds)
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

    fn combine<const N: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
    ) -> Result<[u64; N], Error> {
        let mut words = self.words(&mine, folds);
        self.call(|transport| transport.reduce(&mut words, None))?;
        self.judge(&words, mine.as_ref().err())
    }

    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
        work: impl FnOnce([u64; N]) -> Result<[u64; M], Failure>,
    ) -> Result<[u64; M], Error> {
        let mut words = self.words(&mine, folds);
        self.call(|transport| transport.reduce(&mut words, Some(0)))?;
        let mut mine = mine.err();
        let mut answer = [0; 8 * (2 + MAX_VALUES)];
        if self.rank() == 0 {
            if words.failed == NONE {
                let sums = if words.overflow == 0 { Ok(words.values()) } else { Err(overflow()) };
                let values = sums.and_then(work);
                words = Words::new(values.as_ref().map(|v| *v).map_err(drop), 0, [Fold::Sum; M]);
                mine = values.err();
            }
            let numbers = [words.failed, words.overflow].into_iter().chain(words.values);
            let bytes = numbers.flat_map(u64::to_le_bytes);
            answer.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        }
        self.call(|transport| transport.bcast(0, &mut answer))?;
        let mut numbers = answer.chunks_exact(8).filter_map(|word| word.first_chunk());
        let mut next = || numbers.next().map_or(0, |word| u64::from_le_bytes(*word));
        let (failed, overflow) = (next(), next());
        let mut values = [0; MAX_VALUES];
        values.iter_mut().for_each(|value| *value = next());
        self.judge(&Words { failed, overflow, folds: 0, values }, mine.as_ref())
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
        let [len] = self.total(len)?;
        let mut bytes = vec![0; usize::try_from(len).unwrap_or(0).min(limit)];
        if is_root {
            bytes.copy_from_slice(own);
        }
        self.call(|transport| transport.bcast(root, &mut bytes))?;
        Ok(bytes)
    }

    fn exscan<const N: usize>(&self, mine: Result<[u64; N], Failure>) -> Result<[u64; N], Failure> {
        let mut words = self.words(&mine, [Fold::Sum; N]);
        self.call(|transport| transport.exscan(&mut words))?;
        mine?;
        match self.rank() {
            0 => Ok([0; N]),
            _ if words.failed != NONE => {
                // The next collective has the failure of that rank itself.
                let text = format_args!("rank {} of this communicator failed", words.failed);
                Err(Failure::new(Code::Lost, text))
            }
            _ if words.overflow != 0 => Err(overflow()),
            _ => Ok(words.values()),
        }
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Failure> {
        self.run(|transport| transport.send(to, bytes))?;
        Counters::add(&self.counters.messages, 1);
        Counters::add(&self.counters.bytes, usize_to_u64(bytes.len()));
        Ok(())
    }

    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Failure> {
        let (len, limit) = (self.run(|transport| transport.recv(from, buf))?, buf.len());
        if len > limit {
            let text = format_args!("a message of {len} bytes, must have at most {limit}");
            return Err(Failure::new(Code::TooLong, text));
        }
        Ok(len)
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
        self.agree(place)?;
        let child = self.run(|transport| transport.split(own, key))?;
        Ok(Self::counting(child, Arc::clone(&self.counters)))
    }

    fn node(&self, mine: Result<(), Failure>) -> Result<Self, Error> {
        self.agree(mine)?;
        let child = self.run(Transport::node)?;
        Ok(Self::counting(child, Arc::clone(&self.counters)))
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
        let child = self.transport.shrink()?;
        Ok(Self::counting(child, Arc::clone(&self.counters)))
    }

    fn free(self, mine: Result<(), Failure>) -> Result<(), Error> {
        self.agree(mine)?;
        self.free_transports()
    }

    fn abort(&self, code: i32) -> Error {
        self.poison(self.transport.abort(code))
    }
}
