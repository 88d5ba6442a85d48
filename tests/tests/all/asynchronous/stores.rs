//! Stores.

use core::cell::RefCell;
use embedded_io::{ErrorKind, ErrorType, ReadExactError, SeekFrom};
use embedded_io_async::{Read, Seek, Write};
use striae_core::store::{
    AsyncReadAt, AsyncWriteAt, BlockStore, BlockStoreError, Cached, FixedSize, ReadAhead, ReadAt,
    Ready, SeekStore, SeekStoreError, StoreBlocks,
};
use striae_kit::power::PowerStore;
use striae_kit::waiting::{Slow, Waits};

/// A card of 100 bytes that is waited for: short reads and writes, no seek behind the end.
#[derive(Debug)]
struct Card {
    bytes: Vec<u8>,
    at: usize,
    flushes: usize,
}

async fn wait() {
    let mut is_first = true;
    std::future::poll_fn(|_| match std::mem::take(&mut is_first) {
        true => std::task::Poll::Pending,
        false => std::task::Poll::Ready(()),
    })
    .await;
}

impl ErrorType for Card {
    type Error = ErrorKind;
}

impl Read for Card {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        wait().await;
        let n = buf.len().min(3).min(self.bytes.len() - self.at);
        buf[..n].copy_from_slice(&self.bytes[self.at..][..n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Card {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        wait().await;
        let n = buf.len().min(5).min(100_usize.saturating_sub(self.at));
        let end = self.at + n;
        self.bytes.resize(self.bytes.len().max(end), 0xee); // not zero: gaps must be written
        self.bytes[self.at..end].copy_from_slice(&buf[..n]);
        self.at = end;
        Ok(n)
    }

    async fn flush(&mut self) -> Result<(), ErrorKind> {
        wait().await;
        self.flushes += 1;
        Ok(())
    }
}

impl Seek for Card {
    async fn seek(&mut self, to: SeekFrom) -> Result<u64, ErrorKind> {
        wait().await;
        let position = match to {
            SeekFrom::Start(position) => usize::try_from(position).unwrap(),
            SeekFrom::End(0) => self.bytes.len(),
            SeekFrom::Current(0) => self.at,
            _ => return Err(ErrorKind::Unsupported),
        };
        if position > self.bytes.len() {
            return Err(ErrorKind::InvalidInput);
        }
        self.at = position;
        Ok(u64::try_from(position).unwrap())
    }
}

fn store(bytes: &[u8]) -> SeekStore<Card> {
    SeekStore::new(Card { bytes: bytes.to_vec(), at: 0, flushes: 0 })
}

#[test]
fn a_seek_store_reads_what_there_is() {
    let (waits, store) = (Waits::new(1), store(b"0123456789"));
    assert_eq!(got!(waits, AsyncReadAt::size(&store)), Ok(10));
    let mut buf = [0; 10];
    for (offset, n) in [(0, 3), (7, 3), (8, 2), (10, 0), (11, 0), (u64::MAX >> 1, 0)] {
        assert_eq!(got!(waits, AsyncReadAt::read_at(&store, offset, &mut buf)), Ok(n));
    }
    assert_eq!(got!(waits, store.read_exact_at(0, &mut buf)), Ok(()));
    assert_eq!(&buf, b"0123456789");
    let read = got!(waits, store.read_exact_at(1, &mut buf));
    assert_eq!(read, Err(ReadExactError::UnexpectedEof));
}

#[test]
fn a_seek_store_writes_zeros_in_gaps_and_never_shrinks() {
    let (waits, mut store) = (Waits::new(1), store(b"0123"));
    assert_eq!(got!(waits, store.write_all_at(9, b"a long word")), Ok(()));
    assert_eq!(got!(waits, store.set_size(25)), Ok(()));
    let shrunk = got!(waits, store.set_size(24));
    assert_eq!(shrunk, Err(SeekStoreError::CannotShrink { len: 25, wanted: 24 }));
    assert_eq!(
        got!(waits, store.write_all_at(98, b"full")),
        Err(SeekStoreError::Full { offset: 100 })
    );
    assert_eq!((got!(waits, store.order()), got!(waits, store.sync())), (Ok(()), Ok(())));
    let card = store.into_inner();
    assert_eq!(card.flushes, 1);
    assert_eq!(&card.bytes[..26], b"0123\0\0\0\0\0a long word\0\0\0\0\0\0");
}

#[test]
fn a_second_future_of_a_seek_store_is_told_that_it_is_busy() {
    let (waits, store) = (Waits::new(1), store(b"0123456789"));
    let both = async {
        let (mut first, mut second) = ([0; 2], [0; 2]);
        let mut reading = std::pin::pin!(AsyncReadAt::read_at(&store, 0, &mut first));
        let waker = std::task::Waker::noop();
        assert!(reading.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        let busy = AsyncReadAt::read_at(&store, 4, &mut second).await;
        assert_eq!(busy, Err(SeekStoreError::Busy));
        reading.await
    };
    assert_eq!(waits.run(both), Some(Ok(2)));
}

/// A file whose bytes take some time to arrive.
#[derive(Debug)]
struct Remote(RefCell<Vec<u8>>);

impl AsyncReadAt for Remote {
    type Error = ErrorKind;

    async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let read = self.0.borrow().as_slice().read_at(offset, buf).unwrap();
        wait().await;
        Ok(read)
    }

    async fn size(&self) -> Result<u64, ErrorKind> {
        let len = self.0.borrow().len() as u64;
        wait().await;
        Ok(len)
    }
}

#[test]
fn what_was_read_ahead_is_forgotten_while_a_future_fetches() {
    let (waits, remote, mut memory) = (Waits::new(1), Remote(vec![1; 64].into()), [0; 32]);
    let store = ReadAhead::new(&remote, &mut memory);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let at = async |offset| {
        let mut buf = [0; 4];
        AsyncReadAt::read_at(&store, offset, &mut buf).await.map(|n| (n, buf))
    };
    assert_eq!(waits.run(at(0)), Some(Ok((4, [1; 4]))));
    let mut fetching = std::pin::pin!(at(20));
    assert!(fetching.as_mut().poll(&mut context).is_pending());
    remote.0.replace(vec![2; 80]);
    store.forget();
    assert_eq!(waits.run(at(0)), Some(Ok((4, [2; 4]))));
    assert_eq!(waits.run(fetching), Some(Ok((4, [1; 4]))));
    assert_eq!(waits.run(at(0)), Some(Ok((4, [2; 4]))));
    assert_eq!(waits.run(at(20)), Some(Ok((4, [2; 4]))));
    // A length that was on its way is not kept, either.
    store.forget();
    let mut asking = std::pin::pin!(AsyncReadAt::size(&store));
    assert!(asking.as_mut().poll(&mut context).is_pending());
    remote.0.replace(vec![3; 90]);
    store.forget();
    assert_eq!(waits.run(asking), Some(Ok(80)));
    assert_eq!(waits.run(AsyncReadAt::size(&store)), Some(Ok(90)));
}

#[test]
fn a_store_that_is_ready_needs_no_waiting() {
    let (waits, mut store) = (Waits::new(1), Ready(vec![0; 4]));
    let mut slice = Ready(&mut store.0[..]);
    let work = async {
        slice.write_all_at(1, b"ab").await?;
        slice.sync().await?;
        slice.set_size(4).await?;
        AsyncWriteAt::order(&mut slice).await?;
        slice.write_all_at(3, b"cd").await
    };
    assert_eq!(waits.run(work), Some(Err(FixedSize { len: 4, wanted: 5 })));
    assert_eq!(waits.count(), 0);
    assert_eq!(store.0, b"\0ab\0");
}

/// Writes through a cache of two blocks, each of which is dropped once while it waits; what is then
/// written again is there, and nothing else.
#[test]
fn a_block_store_keeps_what_was_written_when_futures_are_dropped() {
    for drop_at in 0..40 {
        let (waits, device) = (Waits::new(7), PowerStore::new(&[1; 8 * 512]));
        let card = StoreBlocks(Slow::new(device.clone(), &waits));
        let store = BlockStore::<_, _>::partition_async(card, [Cached::EMPTY; 2], 1..7);
        let mut store = waits.run(store).unwrap().unwrap();
        let mut model = vec![1; 6 * 512];
        for step in 0..24_u8 {
            let (at, len) = (usize::from(step) * 977 % 2400, 1 + usize::from(step % 3) * 300);
            let (at, len) = if step % 8 == 7 { (512, 1024) } else { (at, len) };
            let bytes = vec![step + 2; len];
            let offset = u64::try_from(at).unwrap();
            waits.drop_at(waits.count() + drop_at % 13);
            match waits.run(store.write_all_at(offset, &bytes)) {
                Some(written) => written.unwrap(),
                None => waits.run(store.write_all_at(offset, &bytes)).unwrap().unwrap(),
            }
            model[at..at + len].copy_from_slice(&bytes);
            let mut read = vec![0; 700];
            waits.drop_at(waits.count() + drop_at % 5);
            match waits.run(store.read_exact_at(300, &mut read)) {
                Some(done) => done.unwrap(),
                None => waits.run(store.read_exact_at(300, &mut read)).unwrap().unwrap(),
            }
            assert_eq!(read, model[300..1000], "{drop_at} {step}");
            if step % 5 == 4 {
                waits.drop_at(waits.count() + drop_at % 7);
                if waits.run(store.sync()).is_none() {
                    waits.run(store.sync()).unwrap().unwrap();
                }
                assert_eq!(device.live()[512..7 * 512], model, "{drop_at} {step}");
            }
        }
        let live = device.live();
        assert_eq!((&live[..512], &live[7 * 512..]), (&[1; 512][..], &[1; 512][..]));
    }
}

#[test]
fn a_block_store_has_a_fixed_size_and_says_when_it_is_busy() {
    let (waits, device) = (Waits::new(3), PowerStore::new(&[1; 4 * 512]));
    let card = StoreBlocks(Slow::new(device, &waits));
    let store = BlockStore::<_, _>::new_async(card, [Cached::EMPTY; 1]);
    let mut store = waits.run(store).unwrap().unwrap();
    assert_eq!(got!(waits, AsyncReadAt::size(&store)), Ok(2048));
    let fixed = BlockStoreError::FixedSize { len: 2048, wanted: 2049 };
    assert_eq!(got!(waits, store.set_size(2049)), Err(fixed));
    assert_eq!(got!(waits, store.write_all_at(2048, b"x")), Err(fixed));
    assert_eq!(got!(waits, AsyncReadAt::read_at(&store, 2048, &mut [0; 3])), Ok(0));
    let outside = BlockStoreError::Outside { end: 5, blocks: 4 };
    let ready = Ready(StoreBlocks(PowerStore::new(&[1; 4 * 512])));
    let made = BlockStore::<_, _>::partition_async(ready, [Cached::EMPTY; 1], 0..5);
    assert_eq!(waits.run(made).unwrap().unwrap_err(), outside);
}
