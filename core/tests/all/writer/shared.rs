//! A store that several hold, that counts what is done to it, and that fails when it is told to.

use std::cell::RefCell;
use std::rc::Rc;
use striae_core::store::{ReadAt, WriteAt};

/// The store failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the store is broken")
    }
}

impl std::error::Error for Broken {}

impl embedded_io::Error for Broken {
    fn kind(&self) -> embedded_io::ErrorKind {
        embedded_io::ErrorKind::Other
    }
}

/// How much of an operation is done before it fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    Nothing,
    /// Of bytes that a disk writes as a whole: nothing.
    Half,
    All,
}

/// An operation that fails.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fault {
    /// How many writes, syncs and cuts come before it.
    pub(crate) at: usize,
    pub(crate) done: Done,
}

#[derive(Debug, Default)]
struct Inner {
    bytes: Vec<u8>,
    changes: usize,
    faults: Vec<Fault>,
}

/// Memory that grows, as a file does.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shared(Rc<RefCell<Inner>>);

/// Bytes of the commit fields, which lie in one sector.
const FIELDS: usize = 12;

impl Shared {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let shared = Self::default();
        shared.0.borrow_mut().bytes = bytes.to_vec();
        shared
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.0.borrow().bytes.clone()
    }

    /// Writes, syncs and cuts so far.
    pub(crate) fn changes(&self) -> usize {
        self.0.borrow().changes
    }

    pub(crate) fn fail(&self, faults: &[Fault]) {
        self.0.borrow_mut().faults = faults.to_vec();
    }

    fn change(&self, parts: usize, apply: impl Fn(&mut Vec<u8>, usize)) -> Result<(), Broken> {
        let mut inner = self.0.borrow_mut();
        let fault = inner.faults.iter().find(|fault| fault.at == inner.changes).copied();
        inner.changes += 1;
        let Some(Fault { done, .. }) = fault else {
            apply(&mut inner.bytes, parts);
            return Ok(());
        };
        match done {
            Done::Nothing => {}
            Done::Half if parts <= FIELDS => {}
            Done::Half => apply(&mut inner.bytes, parts / 2),
            Done::All => apply(&mut inner.bytes, parts),
        }
        Err(Broken)
    }
}

impl ReadAt for Shared {
    type Error = Broken;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Broken> {
        self.0.borrow().bytes.as_slice().read_at(offset, buf).map_err(|_| Broken)
    }

    fn size(&self) -> Result<u64, Broken> {
        Ok(self.0.borrow().bytes.len() as u64)
    }
}

impl WriteAt for Shared {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Broken> {
        let offset = usize::try_from(offset).unwrap();
        self.change(bytes.len(), |file, len| {
            let end = offset + len;
            file.resize(file.len().max(end), 0);
            file[offset..end].copy_from_slice(&bytes[..len]);
        })
    }

    fn set_size(&mut self, len: u64) -> Result<(), Broken> {
        let len = usize::try_from(len).unwrap();
        self.change(1, |file, parts| {
            if parts == 1 {
                file.resize(len, 0);
            }
        })
    }

    fn sync(&mut self) -> Result<(), Broken> {
        self.change(0, |_, _| {})
    }
}
