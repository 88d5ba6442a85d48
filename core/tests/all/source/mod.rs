//! Parsers that follow pointers find over any memory what they find in a slice, or say what the
//! memory lacks.

mod folder;
mod laws;
mod reads;

use std::cell::Cell;
use std::fmt::Debug;
use striae_core::source::{Fault, Miss, Restart, Source, View};
use striae_core::step::{DriveError, drive_read};
use striae_core::store::{FixedSize, ReadAt};

/// A store that counts reads.
struct Counting<'a>(&'a [u8], Cell<u64>);

impl ReadAt for Counting<'_> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.1.set(self.1.get() + u64::from(!buf.is_empty()));
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.0.size()
    }
}

/// What a parser finds over `N` pages, and how many reads that takes.
fn over_pages<const N: usize, S: Default, T: Copy + PartialEq + Debug, E: PartialEq + Debug>(
    file: &[u8],
    page_len: usize,
    most_reads: u64,
    parse: impl Fn(&View<'_, N>, &mut S) -> Result<T, Fault<E>>,
) -> (Result<T, Fault<E>>, u64) {
    let mut memory = vec![0xee; N * page_len];
    let view = View::<N>::new(&mut memory, file.len() as u64);
    let store = Counting(file, Cell::new(0));
    let found =
        Restart::new(view, S::default(), most_reads, &parse).read_from(&store).map_err(fault);

    let mut memory = vec![0xee; N * page_len];
    let view = View::<N>::new(&mut memory, file.len() as u64);
    let mut machine = Restart::new(view, S::default(), most_reads, &parse);
    let fed = drive_read(&mut machine, file, &mut vec![0; page_len]).map_err(fault);
    assert_eq!(fed, found, "a page filled by the driver or by the machine");
    (found, store.1.get())
}

fn fault<S: Debug, E: Debug>(error: DriveError<S, Fault<E>>) -> Fault<E> {
    match error {
        DriveError::Format(fault) => fault,
        error => panic!("{error:?}"),
    }
}
