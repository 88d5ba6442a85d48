//! [`ReadAhead`]: few requests of many reads, for a store far away.

#[twin(ReadAt)]
use super::ReadAt;
use super::{copy_front, usize_to_u64};
use crate::span::{Span, Stride};
use core::cell::{Cell, RefCell, RefMut};
use core::fmt;
use embedded_io::ReadExactError;
use striae_twin::twin;

/// The most pieces that are held at once.
const PIECES: usize = 16;

/// A store that reads ahead: a layer over a store for which each request is expensive, such as an
/// object on a web server.
///
/// It holds bytes in the caller's memory. A read of bytes that it does not hold is one request for
/// a sixteenth of the memory; where reads go on in order, for half of it, and a file that is no
/// longer than half of the memory is read whole. What readers say that they will read
/// ([`ReadAt::will_read`]) is read by one call of [`ReadAt::read_spans_at`], as far as three
/// quarters of the memory hold it, and at most 16 spans of it: spans with no more than a sixteenth
/// of the memory between them become one. Reads longer than half of the memory go past it.
///
/// So opening a file takes at most three requests, with the one for its length, and a list or a
/// contiguous read takes one, if the memory holds it twice (`spec/limits.md#requests`).
///
/// The bytes and the length of the file are taken to stay the same; [`forget`](Self::forget) says
/// that they may have changed. Futures that use the store at the same time do not wait for each
/// other: while one fetches, the reads of others go past the memory.
///
#[cfg_attr(feature = "sion", doc = "```")]
#[cfg_attr(not(feature = "sion"), doc = "```ignore")]
/// use striae_core::sion::{Opened, Physical};
/// use striae_core::store::ReadAhead;
///
/// # const FILE: &[u8] = include_bytes!("../../doc/s01_one_task.sion");
/// let mut memory = vec![0; 1 << 16];
/// let store = ReadAhead::new(FILE, &mut memory); // or your own `ReadAt`
/// let mut window = [0; 2048];
/// let Opened::Closed(file) = Physical::open(&store, &mut window)? else { panic!("not closed") };
/// assert_eq!(file.tasks(window)?.count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ReadAhead<'m, S> {
    store: S,
    len: Cell<Option<u64>>,
    /// How often all was forgotten.
    age: Cell<u32>,
    memory: RefCell<Memory<'m>>,
}

impl<S: fmt::Debug> fmt::Debug for ReadAhead<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadAhead").field("store", &self.store).finish_non_exhaustive()
    }
}

/// Bytes of the store.
struct Memory<'m> {
    bytes: &'m mut [u8],
    held: [Held; PIECES],
    /// The entry of `held` that is replaced next.
    entry: usize,
    /// The place in `bytes` that is filled next.
    next: usize,
    /// [`ReadAhead::age`] when the bytes were asked for.
    age: u32,
}

/// The spans whose bytes follow one another from a place in the memory on.
#[derive(Debug, Clone, Copy)]
struct Held {
    spans: Stride,
    at: usize,
}

impl Held {
    const NONE: Self = Self { spans: Stride::NONE, at: 0 };

    fn end(&self) -> usize {
        self.at.saturating_add(usize::try_from(self.spans.len()).unwrap_or(usize::MAX))
    }
}

/// Whether `these` have all bytes of `spans`.
fn has(these: Stride, spans: Stride) -> bool {
    let hull = spans.hull();
    let is_inside = |(_, left)| left >= hull.len();
    these == spans || these.find(hull.offset()).is_some_and(is_inside)
}

/// What one request asks for.
struct Plan {
    /// At most [`PIECES`], and one that may be joined with another.
    spans: [Stride; PIECES + 1],
    count: usize,
    len: u64,
}

impl Plan {
    const EMPTY: Self = Self { spans: [Stride::NONE; PIECES + 1], count: 0, len: 0 };

    fn one(span: Span) -> Self {
        let mut plan = Self::EMPTY;
        plan.add(Stride::one(span), 0, u64::MAX);
        plan
    }

    /// Adds spans, if all are then no more than `room` bytes, and no more than [`PIECES`] after
    /// they were [joined](Self::join).
    fn add(&mut self, spans: Stride, gap: u64, room: u64) {
        let len = self.len.saturating_add(spans.len());
        if let Some(place) = self.spans.get_mut(self.count).filter(|_| len <= room) {
            *place = spans;
            (self.count, self.len) = (self.count.saturating_add(1), len);
        }
        if self.count > PIECES {
            self.join(gap, room);
        }
        if self.count > PIECES {
            (self.count, self.len) = (PIECES, self.len.saturating_sub(spans.len()));
        }
    }

    /// Joins spans that have no more than `gap` bytes between them, if all are then no more than
    /// `room` bytes.
    fn join(&mut self, gap: u64, room: u64) {
        for first in 0..self.count {
            for second in 0..self.count {
                self.join_two(first, second, gap, room);
            }
        }
        let all = core::mem::replace(self, Self { len: self.len, ..Self::EMPTY });
        let joined = all.spans().iter().filter(|spans| !spans.is_empty());
        for (place, spans) in self.spans.iter_mut().zip(joined) {
            (*place, self.count) = (*spans, self.count.saturating_add(1));
        }
    }

    fn join_two(&mut self, first: usize, second: usize, gap: u64, room: u64) {
        let (Some(&one), Some(&other)) = (self.spans.get(first), self.spans.get(second)) else {
            return;
        };
        let is_one = first != second && one.count() == 1 && other.count() == 1;
        let (start, end) = (one.hull(), other.hull());
        let is_near = start.offset() <= end.offset()
            && end.offset().saturating_sub(start.end().min(end.offset())) <= gap;
        let hull = Span::between(start.offset(), start.end().max(end.end()));
        let joined = Stride::one(hull.unwrap_or(Span::ZERO));
        let less = self.len.saturating_sub(one.len()).saturating_sub(other.len());
        let len = less.saturating_add(joined.len());
        if is_one && is_near && len <= room {
            for (index, spans) in [(first, joined), (second, Stride::NONE)] {
                if let Some(place) = self.spans.get_mut(index) {
                    *place = spans;
                }
            }
            self.len = len;
        }
    }

    fn spans(&self) -> &[Stride] {
        self.spans.get(..self.count).unwrap_or_default()
    }
}

impl Memory<'_> {
    fn forget(&mut self, age: u32) {
        (self.held, self.entry, self.next, self.age) = ([Held::NONE; PIECES], 0, 0, age);
    }

    /// The part of the memory, as a number of bytes.
    fn part(&self, sixteenths: u64) -> u64 {
        (usize_to_u64(self.bytes.len()) >> 4).saturating_mul(sixteenths)
    }

    /// The bytes at `offset`, up to the end of what is held there.
    fn find(&self, offset: u64) -> Option<&[u8]> {
        let (held, (skip, left)) =
            self.held.iter().find_map(|held| Some((held, held.spans.find(offset)?)))?;
        let at = held.at.checked_add(usize::try_from(skip).ok()?)?;
        self.bytes.get(at..)?.get(..usize::try_from(left).ok()?)
    }

    /// Copies bytes at `offset` to the front of `buf`; `None` if they are not here.
    fn copy(&self, offset: u64, buf: &mut [u8]) -> Option<usize> {
        Some(copy_front(self.find(offset)?, buf))
    }

    /// What to read for a read of `need` bytes at `offset` that are not here; `None` if they go
    /// past the memory.
    fn reach(&self, offset: u64, need: usize, len: u64) -> Option<Span> {
        let rest = len.checked_sub(offset).filter(|&rest| rest > 0)?;
        let half = self.part(8);
        if len <= half {
            return Span::new(0, len);
        }
        let is_next = offset.checked_sub(1).is_some_and(|before| self.find(before).is_some());
        let want = self.part(if is_next { 8 } else { 1 }).max(usize_to_u64(need));
        (want <= half).then(|| Span::new(offset, want.min(rest))).flatten()
    }

    /// What to read of `spans`, for a store of `len` bytes.
    fn plan(&self, spans: &[Stride], len: u64) -> Plan {
        let (mut plan, room, page) = (Plan::EMPTY, self.part(12), self.part(1));
        // As a read of it would; in parts, it would take more requests.
        let whole = [Stride::one(Span::new(0, len).unwrap_or(Span::ZERO))];
        let is_short = len <= self.part(8) && spans.iter().any(|spans| !spans.is_empty());
        for &spans in if is_short { &whole } else { spans } {
            let hull = spans.hull();
            let is_dense = spans.step() <= page && hull.len() <= room;
            let mut spans = if is_dense { Stride::one(hull) } else { spans };
            if spans.count() == 1
                && let Some(front) = self.find(spans.first().offset())
            {
                spans = Stride::one(spans.first().skip(usize_to_u64(front.len())));
            }
            let is_held = self.held.iter().any(|held| has(held.spans, spans))
                || plan.spans().iter().any(|&planned| has(planned, spans));
            if !spans.is_empty() && !is_held && hull.fits(len) {
                plan.add(spans, page, room);
            }
        }
        plan.join(page, room);
        plan
    }

    /// Makes room for the bytes of a plan and returns its place; they are not held yet.
    fn reserve(&mut self, len: u64) -> Option<(usize, &mut [u8])> {
        let len = usize::try_from(len).ok().filter(|&len| len <= self.bytes.len())?;
        let fits = |at: usize| at.checked_add(len).is_some_and(|end| end <= self.bytes.len());
        let at = if fits(self.next) { self.next } else { 0 };
        let end = at.saturating_add(len);
        for held in &mut self.held {
            if held.at < end && at < held.end() {
                *held = Held::NONE;
            }
        }
        self.next = end;
        Some((at, self.bytes.get_mut(at..end)?))
    }

    /// Notes that the bytes of a plan are now at `at`.
    fn hold(&mut self, plan: &Plan, mut at: usize) {
        for &spans in plan.spans() {
            let held = Held { spans, at };
            if let Some(place) = self.held.get_mut(self.entry) {
                *place = held;
            }
            self.entry = self.entry.saturating_add(1).checked_rem(PIECES).unwrap_or(0);
            at = held.end();
        }
    }
}

impl<'m, S> ReadAhead<'m, S> {
    /// Makes a store that holds bytes of `store` in `memory`.
    #[must_use]
    pub const fn new(store: S, memory: &'m mut [u8]) -> Self {
        let memory =
            Memory { bytes: memory, held: [Held::NONE; PIECES], entry: 0, next: 0, age: 0 };
        Self { store, len: Cell::new(None), age: Cell::new(0), memory: RefCell::new(memory) }
    }

    /// The store below.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Forgets all bytes and the length: the file may have changed. A future that fetches at this
    /// time returns what it fetches, which nobody else gets.
    pub fn forget(&self) {
        self.len.set(None);
        self.age.set(self.age.get().wrapping_add(1));
    }

    /// The memory, unless a future fetches into it.
    fn memory(&self) -> Option<RefMut<'_, Memory<'m>>> {
        let mut memory = self.memory.try_borrow_mut().ok()?;
        if memory.age != self.age.get() {
            memory.forget(self.age.get());
        }
        Some(memory)
    }
}

#[twin(ReadAt)]
#[allow(clippy::await_holding_refcell_ref, reason = "the reads of others go past the memory")]
impl<S: ReadAt> ReadAhead<'_, S> {
    async fn known_len(&self) -> Result<u64, S::Error> {
        if let Some(len) = self.len.get() {
            return Ok(len);
        }
        let age = self.age.get();
        let len = self.store.size().await?;
        if self.age.get() == age {
            self.len.set(Some(len));
        }
        Ok(len)
    }

    async fn read(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        if buf.is_empty() {
            return Ok(0);
        }
        if let Some(n) = self.memory().and_then(|memory| memory.copy(offset, buf)) {
            return Ok(n);
        }
        let len = self.known_len().await?;
        if let Some(mut memory) = self.memory()
            && let Some(span) = memory.reach(offset, buf.len(), len)
        {
            // Of a span that cannot be read, or was cut, this part may be there.
            if self.fetch(&mut memory, &Plan::one(span)).await.is_ok() {
                return Ok(memory.copy(offset, buf).unwrap_or(0));
            }
        }
        self.store.read_at(offset, buf).await
    }

    async fn fetch(
        &self,
        memory: &mut Memory<'_>,
        plan: &Plan,
    ) -> Result<(), ReadExactError<S::Error>> {
        if let Some((at, bytes)) = memory.reserve(plan.len) {
            match plan.spans() {
                [spans] if spans.count() == 1 => {
                    self.store.read_exact_at(spans.first().offset(), bytes).await?;
                }
                spans => self.store.read_spans_at(spans, bytes).await?,
            }
            memory.hold(plan, at);
        }
        Ok(())
    }

    /// An error is that of the read that comes next.
    async fn read_ahead(&self, spans: &[Stride]) {
        let Ok(len) = self.known_len().await else { return };
        if let Some(mut memory) = self.memory() {
            let plan = memory.plan(spans, len);
            if plan.len > 0 {
                let _ = self.fetch(&mut memory, &plan).await;
            }
        }
    }
}

#[twin(ReadAt, read, known_len, read_ahead)]
impl<S: ReadAt> ReadAt for ReadAhead<'_, S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        self.read(offset, buf).await
    }

    async fn reread_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        self.store.reread_at(offset, buf).await
    }

    async fn size(&self) -> Result<u64, S::Error> {
        self.known_len().await
    }

    async fn will_read(&self, spans: &[Stride]) {
        self.read_ahead(spans).await;
    }
}
