//! A store in both forms, whose methods have the same names.

use std::cell::{Cell, RefCell};
use striae_twin::twin;

/// The store is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Full;

/// A store, with all that a trait may have.
#[twin(Store, Named, Full = Late)]
#[allow(async_fn_in_trait, reason = "tests poll it")]
pub(crate) trait Store: Named {
    /// The length of each write.
    const LEN: usize = 0;

    async fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Full>;
    async fn byte(&self, at: u64) -> Result<u8, Full>;
    async fn size(&self) -> Result<u64, Full>;
    async fn sync(&mut self) -> Result<(), Full>;

    /// A byte of each of some places: a body is text, too.
    async fn sum(&self, places: &[u64]) -> Result<u64, Full> {
        let mut sum = 0;
        for &at in places {
            sum += u64::from(self.byte(at).await?);
        }
        Ok(sum)
    }

    /// It waits for nothing.
    fn twice(&self, of: u64) -> u64 {
        2 * of
    }
}

/// A trait without functions.
#[twin(Named)]
pub(crate) trait Named {
    const NAME: &str;
}

#[twin(Named)]
impl Named for Tape {
    const NAME: &str = "tape";
}

/// What was done, as long as there is fuel.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) steps: RefCell<Vec<String>>,
    pub(crate) fuel: Cell<usize>,
}

impl Default for Tape {
    fn default() -> Self {
        Self { steps: RefCell::default(), fuel: Cell::new(usize::MAX) }
    }
}

impl Tape {
    fn step(&self, step: String) -> Result<(), Full> {
        self.fuel.set(self.fuel.get().checked_sub(1).ok_or(Full)?);
        self.steps.borrow_mut().push(step);
        Ok(())
    }
}

impl Store for Tape {
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Full> {
        self.step(format!("write {at} {}", bytes.len()))
    }

    fn byte(&self, at: u64) -> Result<u8, Full> {
        self.step(format!("byte {at}")).map(|()| 7)
    }

    fn size(&self) -> Result<u64, Full> {
        self.step("size".into()).map(|()| 101)
    }

    fn sync(&mut self) -> Result<(), Full> {
        self.step("sync".into())
    }
}

#[cfg(feature = "async")]
pub(crate) use late::Late;

#[cfg(feature = "async")]
mod late {
    use super::{AsyncStore, Store, Tape};
    use std::task::Poll;

    /// The asynchronous store is full.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub(crate) struct Late;

    /// Has to be waited for once.
    async fn once() {
        let mut is_first = true;
        let poll = std::future::poll_fn(|_| match std::mem::take(&mut is_first) {
            true => Poll::Pending,
            false => Poll::Ready(()),
        });
        poll.await;
    }

    impl AsyncStore for Tape {
        async fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Late> {
            once().await;
            Store::write(self, at, bytes).map_err(|_| Late)
        }

        async fn byte(&self, at: u64) -> Result<u8, Late> {
            once().await;
            Store::byte(self, at).map_err(|_| Late)
        }

        async fn size(&self) -> Result<u64, Late> {
            once().await;
            Store::size(self).map_err(|_| Late)
        }

        async fn sync(&mut self) -> Result<(), Late> {
            once().await;
            Store::sync(self).map_err(|_| Late)
        }
    }
}
