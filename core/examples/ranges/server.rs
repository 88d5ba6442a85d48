//! What a web server and an executor do, in memory.

use std::cell::Cell;
use std::future::poll_fn;
use std::ops::Range;
use std::task::{Context, Poll, Waker};

/// An object on a server, and the number of requests for it.
pub(crate) struct Object {
    bytes: &'static [u8],
    requests: Cell<u32>,
}

impl Object {
    pub(crate) const fn new(bytes: &'static [u8]) -> Self {
        Self { bytes, requests: Cell::new(0) }
    }

    pub(crate) const fn requests(&self) -> u32 {
        self.requests.get()
    }

    /// Waits for the length: `HEAD`.
    pub(crate) async fn head(&self) -> u64 {
        self.request().await;
        self.bytes.len() as u64
    }

    /// Waits for the bytes of these ranges, one after another: `GET` of several ranges, or a `GET`
    /// for each, all of them at once. A range past the end has fewer bytes.
    pub(crate) async fn get(&self, ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<u8> {
        self.request().await;
        let at = |offset: u64| self.bytes.len().min(offset as usize);
        ranges.into_iter().flat_map(|it| &self.bytes[at(it.start)..at(it.end)]).copied().collect()
    }

    async fn request(&self) {
        self.requests.set(self.requests.get() + 1);
        let mut is_here = false;
        poll_fn(|_| {
            if std::mem::replace(&mut is_here, true) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// Runs a future to its end.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
