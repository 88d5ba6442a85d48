//! A rank that has a fault at one of its operations.

use std::cell::Cell;
use std::rc::Rc;
use striae_mpi::{Code, Collective, Error, Failure, Fold, Operation, Traffic};

/// What happens to a rank instead of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Its own work fails.
    Fail,
    /// It unwinds.
    Panic,
    /// It comes after the deadline.
    Lag,
    /// It never comes.
    Vanish,
}

pub(crate) const INJECTED: Code = Code::Other(77);

/// A rank that counts its operations, and has a fault at one of them.
pub(crate) struct Faulty<C> {
    inner: C,
    script: Rc<Script<C>>,
}

struct Script<C> {
    count: Cell<u32>,
    fault: Option<(u32, Fault)>,
    /// Messages between two ranks are operations too.
    with_messages: Cell<bool>,
    /// Makes the rank late, or lets it never come.
    sleep: fn(&C, Fault),
}

impl<C: Collective> Faulty<C> {
    /// `fault` is the number of an operation, and what happens at it.
    pub(crate) fn new(inner: C, fault: Option<(u32, Fault)>, sleep: fn(&C, Fault)) -> Self {
        let script = Script { count: Cell::new(0), fault, with_messages: Cell::new(true), sleep };
        Self { inner, script: Rc::new(script) }
    }

    /// Takes only collectives for operations.
    pub(crate) fn only_collectives(self) -> Self {
        self.script.with_messages.set(false);
        self
    }

    pub(crate) fn count(&self) -> Rc<dyn Fn() -> u32>
    where
        C: 'static,
    {
        let script = Rc::clone(&self.script);
        Rc::new(move || script.count.get())
    }

    fn turn<T>(&self, mine: Result<T, Failure>) -> Result<T, Failure> {
        let now = self.script.count.replace(self.script.count.get() + 1);
        match self.script.fault {
            Some((at, fault)) if at == now => match fault {
                Fault::Fail => return Err(Failure::new(INJECTED, "injected")),
                Fault::Panic => std::panic::resume_unwind(Box::new("injected")), // not printed
                Fault::Lag | Fault::Vanish => (self.script.sleep)(&self.inner, fault),
            },
            _ => {}
        }
        mine
    }

    fn turn_of_message(&self) -> Result<(), Failure> {
        if self.script.with_messages.get() { self.turn(Ok(())) } else { Ok(()) }
    }

    fn child(&self, inner: Result<C, Error>) -> Result<Self, Error> {
        inner.map(|inner| Self { inner, script: Rc::clone(&self.script) })
    }
}

impl<C: Collective> Collective for Faulty<C> {
    fn rank(&self) -> u32 {
        self.inner.rank()
    }

    fn size(&self) -> u32 {
        self.inner.size()
    }

    fn error(&self) -> Option<Error> {
        self.inner.error()
    }

    fn calls(&self) -> u64 {
        self.inner.calls()
    }

    fn traffic(&self) -> Traffic {
        self.inner.traffic()
    }

    fn begin(&self, operation: Operation, arguments: u32) {
        self.inner.begin(operation, arguments);
    }

    fn combine<const N: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
    ) -> Result<[u64; N], Error> {
        self.inner.combine(self.turn(mine), folds)
    }

    fn decide<const N: usize, const M: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        folds: [Fold; N],
        work: impl FnOnce([u64; N]) -> Result<[u64; M], Failure>,
    ) -> Result<[u64; M], Error> {
        let mine = self.turn(mine);
        self.inner.decide(mine, folds, |values| self.turn(work(values)))
    }

    fn bcast(
        &self,
        root: u32,
        mine: Result<&[u8], Failure>,
        limit: usize,
    ) -> Result<Vec<u8>, Error> {
        self.inner.bcast(root, self.turn(mine), limit)
    }

    fn exscan<const N: usize>(&self, mine: Result<[u64; N], Failure>) -> Result<[u64; N], Failure> {
        self.inner.exscan(self.turn(mine))
    }

    fn exscan_after<const N: usize>(
        &self,
        mine: Result<[u64; N], Failure>,
        work: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<[u64; N], Error> {
        self.inner.exscan_after(self.turn(mine), work)
    }

    fn send(&self, to: u32, bytes: &[u8]) -> Result<(), Failure> {
        self.turn_of_message()?;
        self.inner.send(to, bytes)
    }

    fn recv(&self, from: u32, buf: &mut [u8]) -> Result<usize, Failure> {
        self.turn_of_message()?;
        self.inner.recv(from, buf)
    }

    fn split_ordered(&self, place: Result<(u32, u32), Failure>) -> Result<Self, Error> {
        self.child(self.inner.split_ordered(self.turn(place)))
    }

    fn node(&self, mine: Result<(), Failure>) -> Result<Self, Error> {
        self.child(self.inner.node(self.turn(mine)))
    }

    fn keep(&self, number: u64, part: Self) {
        self.inner.keep(number, part.inner);
    }

    fn kept(&self, number: u64) -> Option<Self> {
        let inner = self.inner.kept(number)?;
        Some(Self { inner, script: Rc::clone(&self.script) })
    }

    fn shrink(&self) -> Result<Self, Error> {
        self.child(self.inner.shrink())
    }

    fn free(self, mine: Result<(), Failure>) -> Result<(), Error> {
        let mine = self.turn(mine);
        self.inner.free(mine)
    }

    fn abort(&self, code: i32) -> Error {
        self.inner.abort(code)
    }
}
