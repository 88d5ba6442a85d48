//! What callers of stores get at the edges: reads of no bytes, files that change below a store,
//! blocks of each length, blocking stores and devices that are used as asynchronous ones.

use core::cell::{Cell, RefCell};
use embedded_io::ErrorKind;
use std::error::Error as _;
use striae_core::align::{Alignment, Plan, Rules, Run};
use striae_core::gsd;
use striae_core::source::Fault;
use striae_core::span::{Span, Stride};
use striae_core::store::{BlockStore, Cached, FixedSize, ReadAhead, ReadAt, StoreBlocks, WriteAt};
use striae_kit::growing::Growing;

/// A file that others change while it is read, on a medium that can fail.
#[derive(Debug, Default)]
struct Shared {
    bytes: RefCell<Vec<u8>>,
    fails: Cell<bool>,
}

impl Shared {
    fn of(bytes: std::ops::Range<u8>) -> Self {
        Self { bytes: RefCell::new(bytes.collect()), fails: Cell::new(false) }
    }
}

impl ReadAt for Shared {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        if self.fails.get() {
            return Err(ErrorKind::TimedOut);
        }
        Ok(self.bytes.borrow().as_slice().read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(self.bytes.borrow().len() as u64)
    }
}

#[test]
fn what_was_read_ahead_is_old_until_it_is_forgotten_and_a_reread_is_of_the_medium() {
    let (file, mut memory) = (Shared::of(0..64), [0; 32]);
    let store = ReadAhead::new(&file, &mut memory);
    let mut buf = [0; 4];
    assert_eq!(store.read_at(0, &mut buf), Ok(4));
    file.bytes.borrow_mut().fill(77);
    buf = [0; 4];
    assert_eq!((store.read_at(0, &mut buf), buf), (Ok(4), [0, 1, 2, 3]));
    assert_eq!(store.reread_at(0, &mut buf), Ok(4));
    assert_eq!(buf, [77; 4]);
    store.forget();
    buf = [0; 4];
    assert_eq!(store.read_at(0, &mut buf), Ok(4));
    assert_eq!(buf, [77; 4]);
}

#[test]
fn a_file_that_was_cut_is_read_up_to_its_end() {
    let (file, mut memory) = (Shared::of(0..64), [0; 32]);
    let store = ReadAhead::new(&file, &mut memory);
    assert_eq!(store.size(), Ok(64));
    file.bytes.borrow_mut().truncate(20);
    let mut buf = [0; 8];
    assert_eq!(store.read_at(16, &mut buf), Ok(4));
    assert_eq!(buf, [16, 17, 18, 19, 0, 0, 0, 0]);
    assert_eq!(store.read_at(20, &mut buf), Ok(0));
}

#[test]
fn an_error_of_a_read_ahead_is_the_error_of_the_store() {
    let (file, mut memory) = (Shared::of(0..64), [0; 32]);
    let store = ReadAhead::new(&file, &mut memory);
    assert_eq!(store.size(), Ok(64));
    file.fails.set(true);
    assert_eq!(store.read_at(0, &mut [0; 4]), Err(ErrorKind::TimedOut));
    assert_eq!(store.read_at(0, &mut []), Ok(0)); // nothing is asked of the medium
    file.fails.set(false);
    assert_eq!(store.read_at(0, &mut [0; 4]), Ok(4));
}

/// A medium whose second half cannot be read.
struct Half;

impl ReadAt for Half {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        buf.fill(7);
        if offset + buf.len() as u64 > 32 { Err(ErrorKind::Other) } else { Ok(buf.len()) }
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(64)
    }
}

#[test]
fn what_can_be_read_is_read_though_more_cannot_be_read_ahead() {
    let (mut memory, mut buf) = ([0; 64], [0; 4]);
    let store = ReadAhead::new(Half, &mut memory);
    assert_eq!((store.read_at(20, &mut buf), buf), (Ok(4), [7; 4]));
    assert_eq!(store.read_at(30, &mut buf), Err(ErrorKind::Other));
}

#[test]
fn a_store_that_reads_ahead_is_shown_as_the_store_below() {
    let mut memory = [0; 32];
    let store = ReadAhead::new(&[1_u8, 2][..], &mut memory);
    assert_eq!(format!("{store:?}"), "ReadAhead { store: [1, 2], .. }");
}

#[test]
fn a_slice_is_a_store_of_fixed_length() {
    let mut bytes = [1_u8, 2, 3, 4];
    let store = &mut bytes[..];
    assert_eq!(WriteAt::write_all_at(store, 2, &[8, 9]), Ok(()));
    let long = FixedSize { len: 4, wanted: 5 };
    assert_eq!(WriteAt::write_all_at(store, 3, &[7, 7]), Err(long));
    assert_eq!((WriteAt::set_size(store, 4), WriteAt::set_size(store, 5)), (Ok(()), Err(long)));
    assert_eq!(WriteAt::sync(store), Ok(()));
    assert_eq!(bytes, [1, 2, 8, 9]);
}

fn holds_what_was_written<const B: usize>() {
    let device = StoreBlocks(Growing(vec![7; 4 * B]));
    let mut store = BlockStore::<_, _, B>::new(device, [Cached::EMPTY; 2]).unwrap();
    let at = 3 * B - 5; // in two blocks
    store.write_all_at(at as u64, b"0123456789").unwrap();
    store.sync().unwrap();
    let mut expected = vec![7; 4 * B];
    expected[at..at + 10].copy_from_slice(b"0123456789");
    let mut read = vec![0; 4 * B];
    assert_eq!(store.size(), Ok(expected.len() as u64));
    store.read_exact_at(0, &mut read).unwrap();
    assert_eq!(read, expected);
    assert_eq!(store.into_inner().0.0, expected);
}

#[test]
fn blocks_of_each_length_hold_what_was_written() {
    holds_what_was_written::<512>();
    holds_what_was_written::<1024>();
    holds_what_was_written::<2048>();
    holds_what_was_written::<4096>();
}

#[test]
fn a_plan_has_the_rules_that_it_was_made_by() {
    let rules = Rules::new(Alignment::of(512), 4096).unwrap().with_max_gap(600);
    let mut runs = [Run::EMPTY; 1];
    let spans = [Span::new(10, 20).unwrap()];
    let plan = Plan::new(&spans, rules, &mut runs).unwrap();
    assert_eq!(*plan.rules(), rules);
    let rules = rules.unaligned();
    assert_eq!((rules.unit(), rules.memory(), rules.granule()), (1, 1, 1));
    assert_eq!((rules.file_len(), rules.max_gap()), (4096, 600));
}

#[test]
fn an_error_of_a_parser_has_the_source_of_the_formats_error() {
    let no_frame = gsd::Error::NoFrame { frame: 5, frames: 2 };
    let fault = Fault::Format(no_frame);
    assert_eq!(fault.to_string(), no_frame.to_string());
    assert!(no_frame.source().is_none() && fault.source().is_none());
}

#[cfg(feature = "async")]
mod ready {
    use super::Shared;
    use core::convert::Infallible;
    use embedded_io::{ErrorKind, ReadExactError};
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};
    use striae_core::span::{Span, Stride};
    use striae_core::store::{
        AsyncBlockDevice, AsyncReadAt, BlockDevice, ReadAhead, ReadAt, Ready,
    };

    fn now<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("there is nothing to wait for"),
        }
    }

    /// A store far away, which fetches all spans at once.
    struct Far;

    impl ReadAt for Far {
        type Error = ErrorKind;

        fn read_at(&self, _: u64, _: &mut [u8]) -> Result<usize, ErrorKind> {
            Err(ErrorKind::Unsupported)
        }

        fn size(&self) -> Result<u64, ErrorKind> {
            Ok(100)
        }

        fn read_spans_at(
            &self,
            spans: &[Stride],
            buf: &mut [u8],
        ) -> Result<(), ReadExactError<ErrorKind>> {
            buf.fill(spans.len() as u8);
            Ok(())
        }
    }

    #[test]
    fn a_ready_store_asks_for_all_spans_at_once_if_its_store_does() {
        let span = |offset| Stride::one(Span::new(offset, 2).unwrap());
        let mut buf = [0; 6];
        assert_eq!(now(Ready(Far).read_spans_at(&[span(0), span(9), span(50)], &mut buf)), Ok(()));
        assert_eq!(buf, [3; 6]);
    }

    #[test]
    fn an_asynchronous_reread_is_of_the_medium_too() {
        let (file, mut memory) = (Shared::of(0..64), [0; 32]);
        let store = ReadAhead::new(Ready(&file), &mut memory);
        let mut buf = [0; 4];
        assert_eq!(now(AsyncReadAt::read_at(&store, 0, &mut [])), Ok(0));
        assert_eq!(now(AsyncReadAt::read_at(&store, 0, &mut buf)), Ok(4));
        file.bytes.borrow_mut().fill(77);
        assert_eq!(now(AsyncReadAt::reread_at(&store, 0, &mut buf)), Ok(4));
        assert_eq!(buf, [77; 4]);
        assert_eq!(now(AsyncReadAt::read_at(&store, 0, &mut buf)), Ok(4));
        assert_eq!(buf, [0, 1, 2, 3]);
    }

    #[derive(Default)]
    struct Ram {
        bytes: Vec<u8>,
        flushes: usize,
    }

    impl BlockDevice for Ram {
        type Error = Infallible;

        fn blocks(&mut self) -> Result<u64, Infallible> {
            Ok(self.bytes.len() as u64 / 512)
        }

        fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
            bytes.copy_from_slice(&self.bytes[first as usize * 512..][..bytes.len()]);
            Ok(())
        }

        /// The medium is another one than the cache has.
        fn reread_blocks(&mut self, _: u64, bytes: &mut [u8]) -> Result<(), Infallible> {
            bytes.fill(9);
            Ok(())
        }

        fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), Infallible> {
            self.bytes[first as usize * 512..][..bytes.len()].copy_from_slice(bytes);
            Ok(())
        }

        fn flush(&mut self) -> Result<(), Infallible> {
            self.flushes += 1;
            Ok(())
        }
    }

    #[test]
    fn a_ready_device_does_what_its_device_does() {
        let mut device = Ready(Ram { bytes: vec![0; 4 * 512], flushes: 0 });
        assert_eq!(now(device.blocks()), Ok(4));
        assert_eq!(now(device.write_blocks(2, &[5; 512])), Ok(()));
        assert_eq!(now(device.flush()), Ok(()));
        let mut read = [1; 1024];
        assert_eq!(now(device.read_blocks(1, &mut read)), Ok(()));
        assert_eq!(read, *[[0; 512], [5; 512]].as_flattened());
        assert_eq!((now(device.reread_blocks(1, &mut read)), read), (Ok(()), [9; 1024]));
        assert_eq!(device.0.flushes, 1);
        assert_eq!(device.0.bytes, [vec![0; 1024], vec![5; 512], vec![0; 512]].concat());
    }
}

/// A store that says which cache its writes go to, or one that does not.
#[derive(Debug)]
struct Named(Vec<u8>);

impl ReadAt for Named {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        Ok(self.0.as_slice().read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(self.0.len() as u64)
    }
}

impl WriteAt for Named {
    fn write_all_at(&mut self, _: u64, _: &[u8]) -> Result<(), ErrorKind> {
        Err(ErrorKind::Unsupported)
    }

    fn set_size(&mut self, _: u64) -> Result<(), ErrorKind> {
        Err(ErrorKind::Unsupported)
    }

    fn order(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }

    fn sync(&mut self) -> Result<(), ErrorKind> {
        Ok(())
    }

    fn cache(&self) -> Option<[u64; 3]> {
        Some([1, 2, 3])
    }
}

#[test]
fn a_reference_to_a_store_names_the_same_cache_and_most_stores_name_none() {
    fn cache<S: WriteAt>(store: S) -> Option<[u64; 3]> {
        store.cache()
    }
    let mut named = Named(vec![0; 3]);
    assert_eq!((cache(&mut named), cache(named)), (Some([1, 2, 3]), Some([1, 2, 3])));
    assert_eq!(cache([0; 3].as_mut_slice()), None);
}

#[test]
fn a_stride_has_no_span_after_its_last_one() {
    let spans = Stride::new(Span::new(10, 2).unwrap(), 5, 3).unwrap();
    let found = [0, 1, 2, 3, u64::MAX].map(|number| spans.get(number).map(Span::offset));
    assert_eq!(found, [Some(10), Some(15), Some(20), None, None]);
}
