//! A bay for cards, one of which is changed for another when an operation fails.

use embedded_io::ErrorKind;
use std::cell::RefCell;
use std::rc::Rc;
use striae_core::store::{ReadAt, WriteAt};

/// The bay; a clone is the same one.
#[derive(Debug, Clone)]
pub struct Bay(Rc<RefCell<Inner>>);

#[derive(Debug)]
struct Inner {
    /// The card that is in the bay, and the one that comes after the failure.
    cards: [Vec<u8>; 2],
    is_other: bool,
    /// Whether the cards have a fixed length.
    is_fixed: bool,
    /// Operations until one fails, and how many halves of it are done then.
    fuel: Option<usize>,
    halves: usize,
    /// Writes, syncs and changes of the length.
    changes: usize,
}

impl Bay {
    pub fn new(card: Vec<u8>, is_fixed: bool) -> Self {
        let cards = [card, Vec::new()];
        let (is_other, fuel, halves, changes) = (false, None, 0, 0);
        Self(Rc::new(RefCell::new(Inner { cards, is_other, is_fixed, fuel, halves, changes })))
    }

    /// The operation after `fuel` others fails when so many halves of it are done.
    pub fn fail(&self, fuel: usize, halves: usize) {
        let mut inner = self.0.borrow_mut();
        (inner.fuel, inner.halves) = (Some(fuel), halves);
    }

    /// Changes the card for another one.
    pub fn put_in(&self, other: Vec<u8>) {
        let mut inner = self.0.borrow_mut();
        (inner.cards[1], inner.is_other) = (other, true);
    }

    /// Puts the first card back.
    pub fn put_back(&self) {
        self.0.borrow_mut().is_other = false;
    }

    pub fn card(&self, number: usize) -> Vec<u8> {
        self.0.borrow().cards[number].clone()
    }

    pub fn changes(&self) -> usize {
        self.0.borrow().changes
    }
}

impl Inner {
    fn now(&mut self) -> &mut Vec<u8> {
        &mut self.cards[usize::from(self.is_other)]
    }

    /// Does an operation, which may fail: `work` does its first halves.
    fn operate<T>(
        &mut self,
        work: impl FnOnce(&mut Self, usize) -> Result<T, ErrorKind>,
    ) -> Result<T, ErrorKind> {
        let fails = self.fuel == Some(0);
        self.fuel = self.fuel.and_then(|fuel| fuel.checked_sub(1));
        if !fails {
            return work(self, 2);
        }
        let halves = self.halves;
        let _ = work(self, halves);
        Err(ErrorKind::NotConnected)
    }
}

impl ReadAt for Bay {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        self.0.borrow_mut().operate(|inner, _| {
            let rest = inner.now().get(usize::try_from(offset).unwrap()..).unwrap_or_default();
            let len = rest.len().min(buf.len());
            buf[..len].copy_from_slice(&rest[..len]);
            Ok(len)
        })
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        let operate = |inner: &mut Inner, _| Ok(inner.now().len() as u64);
        self.0.borrow_mut().operate(operate)
    }
}

impl WriteAt for Bay {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        assert!(!bytes.is_empty(), "no writer writes nothing");
        self.0.borrow_mut().operate(|inner, halves| {
            inner.changes += 1;
            let bytes = &bytes[..bytes.len() * halves / 2];
            let start = usize::try_from(offset).unwrap();
            let (end, is_fixed) = (start + bytes.len(), inner.is_fixed);
            let card = inner.now();
            if end > card.len() {
                if is_fixed {
                    return Err(ErrorKind::OutOfMemory);
                }
                card.resize(end, 0);
            }
            card[start..end].copy_from_slice(bytes);
            Ok(())
        })
    }

    fn set_size(&mut self, len: u64) -> Result<(), ErrorKind> {
        self.0.borrow_mut().operate(|inner, halves| {
            inner.changes += 1;
            if halves == 2 {
                inner.now().resize(usize::try_from(len).unwrap(), 0);
            }
            Ok(())
        })
    }

    fn sync(&mut self) -> Result<(), ErrorKind> {
        self.0.borrow_mut().operate(|inner, _| {
            inner.changes += 1;
            Ok(())
        })
    }
}
