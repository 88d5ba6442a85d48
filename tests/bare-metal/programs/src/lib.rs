//! What all programs have: a store that stands for a card, and an end.
#![no_std]

#[cfg(feature = "async")]
mod awaited;

#[cfg(feature = "async")]
pub use awaited::{AsyncCard, run, size_of_output};

use core::hint::black_box;
use embedded_io::ErrorKind;
use striae_core::store::{ReadAt, WriteAt};

/// A card whose driver is not counted.
#[derive(Debug)]
pub struct Card;

impl ReadAt for Card {
    type Error = ErrorKind;

    #[inline(never)]
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        black_box((offset, buf.as_mut_ptr(), buf.len()));
        Ok(black_box(buf.len()))
    }

    #[inline(never)]
    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(black_box(1 << 20))
    }
}

impl WriteAt for Card {
    #[inline(never)]
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        black_box((offset, bytes.as_ptr(), bytes.len()));
        black_box(Ok(()))
    }

    #[inline(never)]
    fn set_size(&mut self, len: u64) -> Result<(), ErrorKind> {
        black_box(len);
        black_box(Ok(()))
    }

    #[inline(never)]
    fn sync(&mut self) -> Result<(), ErrorKind> {
        black_box(Ok(()))
    }
}

/// Ends a program that did `done`.
pub fn end<E>(done: &Result<(), E>) -> ! {
    black_box(done.is_ok());
    loop {
        core::hint::spin_loop();
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
