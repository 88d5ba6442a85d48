//! One text, two forms: both do the same, and what differs is what the rules say.
#![allow(
    clippy::unwrap_used,
    clippy::arithmetic_side_effects,
    reason = "tests: a panic fails them"
)]

#[cfg(feature = "async")]
mod both;
mod stores;

use stores::Tape;
use striae_twin::twin;

#[twin(Store, Named, Full = Late)]
use stores::{Full, Named, Store};

/// A log with all that a text may have.
#[derive(Debug, Default)]
struct Log<S> {
    store: S,
    end: u64,
    is_torn: bool,
}

/// Sets a flag while something is under way, also if its future is dropped.
struct Torn<'l, S>(&'l mut Log<S>);

impl<S> Drop for Torn<'_, S> {
    fn drop(&mut self) {
        self.0.is_torn = true;
    }
}

#[twin(Store, Full = Late)]
impl<S: Store> Log<S> {
    /// Adds pieces.
    ///
    /// # Errors
    /// The store's.
    #[inline(never)]
    pub(crate) async fn add(&mut self, pieces: &[&[u8]]) -> Result<usize, Full> {
        let mut count = 0;
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            count = match self.put(piece).await {
                Ok(()) if count < 9 => count + 1,
                Ok(()) => return Ok(count),
                Err(error) => return Err(error),
            };
        }
        assert!(self.size().await? >= self.end, "in a macro, too");
        Ok(count)
    }

    /// A piece.
    async fn put(&mut self, piece: &[u8]) -> Result<(), Full> {
        let torn = Torn(self);
        torn.0.store.write(torn.0.end, piece).await?;
        copy(&mut torn.0.store, 0, 100).await?;
        std::mem::forget(torn);
        self.end += u64::try_from(piece.len()).unwrap();
        self.store.sync().await
    }

    async fn size(&self) -> Result<u64, Full> {
        let store = &self.store;
        store.size().await
    }

    async fn made<const N: usize>(store: S, bytes: [u8; N]) -> Result<Self, Full>
    where
        S: Sized,
    {
        let mut log = Self { store, end: 0, is_torn: false };
        log.add(&[&bytes]).await.map(drop)?;
        Ok(log)
    }
}

/// A store over another one, with a byte for each.
#[derive(Debug, Default)]
struct Over<S>(S);

#[twin(Named)]
impl<S: Named> Named for Over<S> {
    const NAME: &str = S::NAME;
}

/// Its functions have the names of the trait, and so have those that they call, but for `byte_of`.
#[twin(Store, Full = Late, byte_of)]
impl<S: Store> Store for Over<S> {
    async fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Full> {
        self.0.write(at + 1, bytes).await
    }

    async fn byte(&self, at: u64) -> Result<u8, Full> {
        byte_of(&self.0, at + 1).await
    }

    async fn size(&self) -> Result<u64, Full> {
        (self.0).size().await.map(|size| size - 1)
    }

    async fn sync(&mut self) -> Result<(), Full> {
        self.0.sync().await
    }
}

#[twin(Store, Full = Late)]
async fn byte_of<S: Store>(device: &S, at: u64) -> Result<u8, Full> {
    device.byte(at).await
}

/// Copies a byte.
#[twin(Store, Full = Late)]
async fn copy<S: Store>(store: &mut S, from: u64, to: u64) -> Result<(), Full> {
    let byte = store.byte(from).await?;
    store.write(to, &[byte]).await
}

/// The rest of a word: `awaited`, `store_async` and `asynchronous` are names like others.
#[twin(Store)]
async fn names<S: Store>(store: &mut S) -> u64 {
    let (awaited, asynchronous) = (store.size().await.unwrap_or(0), 1);
    awaited + asynchronous
}

const STEPS: [&str; 9] = [
    "write 0 3",
    "byte 0",
    "write 100 1",
    "sync",
    "write 3 5",
    "byte 0",
    "write 100 1",
    "sync",
    "size",
];

impl Log<Tape> {
    fn with_fuel(fuel: usize) -> Self {
        Self { store: Tape { fuel: fuel.into(), ..Tape::default() }, end: 0, is_torn: false }
    }
}

#[test]
fn the_blocking_form_is_the_text_without_waiting() {
    let mut log = Log::<Tape>::default();
    assert_eq!(log.add(&[b"one", b"", b"three"]), Ok(2));
    assert_eq!(log.end, 8);
    assert_eq!(*log.store.steps.borrow(), STEPS);
    assert_eq!(names(&mut log.store), 102);
    assert_eq!(Log::made(Tape::default(), [0; 4]).unwrap().end, 4);
}

#[test]
fn a_guard_takes_back_what_failed() {
    for fuel in 0..5 {
        let mut log = Log::with_fuel(fuel);
        assert_eq!(log.add(&[b"one"]), Err(Full), "{fuel}");
        assert_eq!((log.end, log.is_torn), (if fuel < 3 { 0 } else { 3 }, fuel < 3));
    }
}

const OVER: [&str; 4] = ["write 8 3", "byte 1", "size", "sync"];

#[test]
fn an_impl_of_a_trait_keeps_its_names() {
    let mut store = Over::<Tape>::default();
    Store::write(&mut store, 7, b"abc").unwrap();
    assert_eq!((Store::byte(&store, 0), Store::size(&store)), (Ok(7), Ok(100)));
    Store::sync(&mut store).unwrap();
    assert_eq!(*store.0.steps.borrow(), OVER);
    assert_eq!((Store::sum(&store, &[0, 1]), Store::twice(&store, 4)), (Ok(14), 8));
    assert_eq!((<Tape as Named>::NAME, <Tape as Store>::LEN), ("tape", 0));
}
