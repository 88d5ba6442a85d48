//! A store that keeps a hash of what is done to it, and fails when it is told to.

use std::cell::RefCell;
use std::fmt::{Debug, Display, Formatter, Result as Formatted};
use std::rc::Rc;
use striae_core::integrity::crc32c;
use striae_core::store::{ReadAt, WriteAt};

/// When a store fails.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    None,
    /// At this step.
    Once(u64),
    /// At this step and all after it, until [`Tape::mend`].
    From(u64),
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        match self {
            Self::None => f.write_str("- none"),
            Self::Once(at) => write!(f, "{at} once"),
            Self::From(at) => write!(f, "{at} on"),
        }
    }
}

/// The store failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Failed;

impl Display for Failed {
    fn fmt(&self, f: &mut Formatter<'_>) -> Formatted {
        f.write_str("the store failed")
    }
}

impl std::error::Error for Failed {}

impl embedded_io::Error for Failed {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::Other
    }
}

/// A store that grows. A clone is the same one.
#[derive(Debug, Clone)]
pub(super) struct Tape(Rc<RefCell<Inner>>);

#[derive(Debug)]
struct Inner {
    bytes: Vec<u8>,
    fault: Fault,
    steps: u64,
    hash: u64,
    tells: bool,
}

impl Tape {
    pub(super) fn new(bytes: &[u8], fault: Fault, tells: bool) -> Self {
        let hash = 0xcbf2_9ce4_8422_2325;
        Self(Rc::new(RefCell::new(Inner { bytes: bytes.to_vec(), fault, steps: 0, hash, tells })))
    }

    /// The number of steps, and the hash of them and of the results.
    pub(super) fn end(&self) -> (u64, u64) {
        let inner = self.0.borrow();
        (inner.steps, inner.hash)
    }

    /// Fails no more.
    pub(super) fn mend(&self) {
        self.0.borrow_mut().fault = Fault::None;
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.borrow().bytes.clone()
    }

    /// Notes the result of a call, and whether it is one.
    pub(super) fn note<T: Into<u64>, E: Debug>(&self, call: &str, result: Result<T, E>) -> bool {
        let is_ok = result.is_ok();
        let text = match result {
            Ok(value) => format!("{call} {}", value.into()),
            Err(error) => format!("{call} {error:?}"),
        };
        self.say(&text);
        is_ok
    }

    /// Notes what a writer says of itself.
    pub(super) fn say(&self, text: &str) {
        let mut inner = self.0.borrow_mut();
        text.bytes().for_each(|byte| inner.mix(byte.into()));
        if inner.tells {
            println!("  {text}");
        }
    }

    fn step(&self, name: &str, numbers: [u64; 2], bytes: &[u8]) -> Result<(), Failed> {
        self.0.borrow_mut().step(name, numbers, bytes)
    }
}

impl Inner {
    /// FNV-1a, of words.
    fn mix(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x0100_0000_01b3);
    }

    fn step(&mut self, name: &str, numbers: [u64; 2], bytes: &[u8]) -> Result<(), Failed> {
        let crc = crc32c(0, bytes);
        name.bytes().for_each(|byte| self.mix(byte.into()));
        numbers.into_iter().chain([crc.into()]).for_each(|word| self.mix(word));
        let at = self.steps;
        self.steps += 1;
        let fails = match self.fault {
            Fault::None => false,
            Fault::Once(when) => at == when,
            Fault::From(when) => at >= when,
        };
        if self.tells {
            let how = if fails { ": fails" } else { "" };
            println!("{at} {name} {numbers:?} {crc:08x}{how}");
        }
        if fails { Err(Failed) } else { Ok(()) }
    }
}

impl ReadAt for Tape {
    type Error = Failed;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Failed> {
        self.step("read", [offset, buf.len() as u64], &[])?;
        let inner = self.0.borrow();
        Ok(inner.bytes.as_slice().read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, Failed> {
        self.step("size", [0; 2], &[])?;
        Ok(self.0.borrow().bytes.len() as u64)
    }
}

impl WriteAt for Tape {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failed> {
        let done = self.step("write", [offset, bytes.len() as u64], bytes);
        // what fails leaves a half
        let bytes = if done.is_ok() { bytes } else { &bytes[..bytes.len() / 2] };
        let (start, store) = (usize::try_from(offset).unwrap(), &mut self.0.borrow_mut().bytes);
        let end = start + bytes.len();
        if !bytes.is_empty() {
            store.resize(store.len().max(end), 0);
            store[start..end].copy_from_slice(bytes);
        }
        done
    }

    fn set_size(&mut self, len: u64) -> Result<(), Failed> {
        self.step("set_size", [len, 0], &[])?;
        self.0.borrow_mut().bytes.resize(usize::try_from(len).unwrap(), 0);
        Ok(())
    }

    fn order(&mut self) -> Result<(), Failed> {
        self.step("order", [0; 2], &[])
    }

    fn sync(&mut self) -> Result<(), Failed> {
        self.step("sync", [0; 2], &[])
    }
}

/// Numbers by a seed.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        let mut dice = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..8).for_each(|_| _ = dice.below(2));
        dice
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// So many bytes.
    pub(super) fn bytes(&mut self, len: u64) -> Vec<u8> {
        let first = self.below(256);
        (first..first + len).map(|value| (value % 251) as u8).collect()
    }
}

/// The blocking form: the call has done it.
pub(super) fn now<T>(done: T) -> T {
    done
}

pub(super) fn plain(tape: &Tape) -> Tape {
    tape.clone()
}

#[cfg(feature = "async")]
pub(super) use late::{hanging, ready, wait, wait_or_drop};

#[cfg(feature = "async")]
mod late {
    use super::{Failed, Tape};
    use embedded_io::ReadExactError;
    use std::future::pending;
    use std::task::{Context, Poll, Waker};
    use striae_core::step::DriveError;
    use striae_core::store::{AsyncReadAt, AsyncWriteAt, ReadAt, Ready, WriteAt};

    fn poll<T>(future: impl Future<Output = T>) -> Poll<T> {
        std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    pub(in super::super) fn ready(tape: &Tape) -> Ready<Tape> {
        Ready(tape.clone())
    }

    /// The asynchronous form on a store that never has to be waited for.
    pub(in super::super) fn wait<T>(future: impl Future<Output = T>) -> T {
        match poll(future) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("the store is ready"),
        }
    }

    /// The asynchronous form on a store that hangs where another one fails: then the future is
    /// dropped, which is to be the same as the failure.
    pub(in super::super) fn wait_or_drop<T: Call>(future: impl Future<Output = T>) -> T {
        match poll(future) {
            Poll::Ready(output) => output,
            Poll::Pending => T::failed(),
        }
    }

    /// The result of a call.
    pub(in super::super) trait Call {
        fn failed() -> Self;
    }

    impl<T, F> Call for Result<T, DriveError<Failed, F>> {
        fn failed() -> Self {
            Err(DriveError::Store(Failed))
        }
    }

    impl<T> Call for Result<T, Failed> {
        fn failed() -> Self {
            Err(Failed)
        }
    }

    impl<T> Call for Result<T, ReadExactError<Failed>> {
        fn failed() -> Self {
            Err(ReadExactError::Other(Failed))
        }
    }

    impl Call for () {
        fn failed() -> Self {}
    }

    /// Hangs where the tape fails.
    #[derive(Debug)]
    pub(in super::super) struct Hanging(Tape);

    pub(in super::super) fn hanging(tape: &Tape) -> Hanging {
        Hanging(tape.clone())
    }

    async fn hang<T>(done: Result<T, Failed>) -> Result<T, Failed> {
        match done {
            Ok(done) => Ok(done),
            Err(_) => pending().await,
        }
    }

    impl AsyncReadAt for Hanging {
        type Error = Failed;

        async fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Failed> {
            hang(self.0.read_at(offset, buf)).await
        }

        async fn size(&self) -> Result<u64, Failed> {
            hang(self.0.size()).await
        }
    }

    impl AsyncWriteAt for Hanging {
        async fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Failed> {
            hang(self.0.write_all_at(offset, bytes)).await
        }

        async fn set_size(&mut self, len: u64) -> Result<(), Failed> {
            hang(self.0.set_size(len)).await
        }

        async fn order(&mut self) -> Result<(), Failed> {
            hang(self.0.order()).await
        }

        async fn sync(&mut self) -> Result<(), Failed> {
            hang(self.0.sync()).await
        }
    }
}
