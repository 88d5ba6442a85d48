//! Stores that have to be waited for, and who waits for them, or stops waiting.

use std::cell::Cell;
use std::ops::Range;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use striae_core::store::{AsyncReadAt, AsyncWriteAt, ReadAt, WriteAt};

/// How long things take, by a seed, and who waits for that. A clone is the same one once more.
#[derive(Debug, Clone)]
pub struct Waits(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    random: Cell<u64>,
    count: Cell<usize>,
    drop_at: Cell<Option<usize>>,
}

impl Waits {
    /// Times by `seed`, which must not be 0.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (random, count, drop_at) = (Cell::new(seed), Cell::new(0), Cell::new(None));
        Self(Rc::new(Inner { random, count, drop_at }))
    }

    /// The future that is waited for when that has happened so often is dropped.
    pub fn drop_at(&self, count: usize) {
        self.0.drop_at.set(Some(count));
    }

    /// How often anyone had to wait.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.count.get()
    }

    /// Waits for `future`; `None` if it was dropped instead.
    pub fn run<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(output) =
                future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
            {
                return Some(output);
            }
            let count = self.count();
            self.0.count.set(count + 1);
            if self.0.drop_at.get() == Some(count) {
                return None;
            }
        }
    }

    /// A number below `end`.
    fn random(&self, end: u64) -> u64 {
        let mut x = self.0.random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.random.set(x);
        x % end
    }

    /// Takes its time, or none.
    async fn some_time(&self) {
        for _ in 0..self.random(3) {
            let mut is_first = true;
            std::future::poll_fn(|_| match std::mem::take(&mut is_first) {
                true => Poll::Pending,
                false => Poll::Ready(()),
            })
            .await;
        }
    }
}

/// A store that takes its time, before it does anything and after that. Its reads are short at
/// random.
#[derive(Debug, Clone)]
pub struct Slow<S> {
    store: S,
    waits: Waits,
    /// Writes in these ranges are done at once, others in two parts; all at once if there are none.
    whole: Rc<[Range<u64>]>,
}

impl<S> Slow<S> {
    /// `store`, as slow as `waits` says.
    #[must_use]
    pub fn new(store: S, waits: &Waits) -> Self {
        Self { store, waits: waits.clone(), whole: [].into() }
    }

    /// With writes in two parts, but for those in these ranges.
    #[must_use]
    pub fn in_parts(self, whole: Vec<Range<u64>>) -> Self {
        Self { whole: whole.into(), ..self }
    }
}

impl<S: ReadAt> AsyncReadAt for Slow<S> {
    type Error = S::Error;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        self.waits.some_time().await;
        let len = match buf.len() {
            0..2 => buf.len(),
            len => len - usize::try_from(self.waits.random(2)).unwrap_or(0) * (len / 2),
        };
        let read = self.store.read_at(offset, buf.get_mut(..len).unwrap_or_default());
        self.waits.some_time().await;
        read
    }

    async fn size(&self) -> Result<u64, S::Error> {
        self.waits.some_time().await;
        let size = self.store.size();
        self.waits.some_time().await;
        size
    }
}

impl<S: WriteAt> AsyncWriteAt for Slow<S> {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), S::Error> {
        self.waits.some_time().await;
        let len = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let is_in = |range: &Range<u64>| range.start <= offset && offset + len <= range.end;
        let is_whole = self.whole.is_empty() || self.whole.iter().any(is_in);
        let (now, later) = bytes.split_at(if is_whole { bytes.len() } else { bytes.len() / 2 });
        let mut written = self.store.write_all_at(offset, now);
        self.waits.some_time().await;
        if written.is_ok() && !later.is_empty() {
            let skip = u64::try_from(now.len()).unwrap_or(u64::MAX);
            written = self.store.write_all_at(offset + skip, later);
            self.waits.some_time().await;
        }
        written
    }

    async fn set_size(&mut self, len: u64) -> Result<(), S::Error> {
        self.waits.some_time().await;
        let set = self.store.set_size(len);
        self.waits.some_time().await;
        set
    }

    async fn order(&mut self) -> Result<(), S::Error> {
        self.waits.some_time().await;
        let ordered = self.store.order();
        self.waits.some_time().await;
        ordered
    }

    async fn sync(&mut self) -> Result<(), S::Error> {
        self.waits.some_time().await;
        let synced = self.store.sync();
        self.waits.some_time().await;
        synced
    }
}
