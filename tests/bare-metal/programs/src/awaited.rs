//! A card that is awaited, and what an executor does with one task.

use core::hint::{black_box, spin_loop};
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use embedded_io::ErrorKind;
use striae_core::store::{AsyncReadAt, AsyncWriteAt};

/// A card whose driver is not counted. Each operation waits, for all that the compiler knows.
#[derive(Debug)]
pub struct AsyncCard;

/// An operation of the card, and what it will return.
struct Done<T>(T);

impl<T: Copy + Unpin> Future for Done<T> {
    type Output = T;

    #[inline(never)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        black_box(context);
        black_box(Poll::Ready(self.0))
    }
}

impl AsyncReadAt for AsyncCard {
    type Error = ErrorKind;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        black_box((offset, buf.as_mut_ptr()));
        Done(Ok(buf.len())).await
    }

    async fn size(&self) -> Result<u64, ErrorKind> {
        Done(Ok(1 << 20)).await
    }
}

impl AsyncWriteAt for AsyncCard {
    async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        black_box((offset, bytes.as_ptr(), bytes.len()));
        Done(Ok(())).await
    }

    async fn set_size(&mut self, len: u64) -> Result<(), ErrorKind> {
        black_box(len);
        Done(Ok(())).await
    }

    async fn sync(&mut self) -> Result<(), ErrorKind> {
        Done(Ok(())).await
    }
}

/// Polls a future until it is done.
pub fn run<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => return output,
            Poll::Pending => spin_loop(),
        }
    }
}

/// The bytes of memory of the future that a function makes.
#[must_use]
pub const fn size_of_output<F: Fn() -> T, T>(_: &F) -> usize {
    size_of::<T>()
}
