//! What a device takes for a blank card.

use embedded_io::ErrorKind;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use striae_core::gsd::fixed::Fault;
use striae_core::gsd::{Attributes, Error, FixedLogger, Logger, OwnLogger, Shape};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt};
use striae_kit::waiting::{Slow, Waits};

/// A card of any length, whose bytes are `fill` but for some; a clone is the same one.
#[derive(Debug, Clone)]
struct Card(Rc<RefCell<Inner>>);

#[derive(Debug)]
struct Inner {
    len: u64,
    fill: u8,
    bytes: BTreeMap<u64, u8>,
    /// The blocks that were read.
    read: BTreeSet<u64>,
    changes: usize,
}

impl Card {
    fn new(len: u64, fill: u8, offset: u64, bytes: &[u8]) -> Self {
        let bytes = (offset..).zip(bytes.iter().copied()).collect();
        let (read, changes) = (BTreeSet::new(), 0);
        Self(Rc::new(RefCell::new(Inner { len, fill, bytes, read, changes })))
    }

    fn changes(&self) -> usize {
        self.0.borrow().changes
    }
}

impl ReadAt for Card {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let inner = &mut *self.0.borrow_mut();
        let len = usize::try_from(inner.len.saturating_sub(offset)).unwrap().min(buf.len());
        buf[..len].fill(inner.fill);
        let end = offset + len as u64;
        if inner.read.last() != Some(&(offset / 512)) || offset / 512 != (end - 1) / 512 {
            inner.read.extend(offset / 512..end.div_ceil(512));
        }
        for (at, byte) in inner.bytes.range(offset..end) {
            buf[(at - offset) as usize] = *byte;
        }
        Ok(len)
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(self.0.borrow().len)
    }
}

impl WriteAt for Card {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), ErrorKind> {
        let inner = &mut *self.0.borrow_mut();
        inner.changes += 1;
        assert!(offset + bytes.len() as u64 <= inner.len);
        inner.bytes.extend((offset..).zip(bytes.iter().copied()));
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), ErrorKind> {
        let inner = &mut *self.0.borrow_mut();
        inner.changes += usize::from(len != inner.len);
        if len == inner.len { Ok(()) } else { Err(ErrorKind::OutOfMemory) }
    }

    fn sync(&mut self) -> Result<(), ErrorKind> {
        self.0.borrow_mut().changes += 1;
        Ok(())
    }
}

static FIXED: Shape<'static, 2> = match Shape::new(&Attributes::DEFAULT, ["a", "b"]) {
    Ok(shape) => shape,
    Err(_) => panic!("no shape"),
};
static OWN: Shape<'static, 0> = match Shape::new(&Attributes::DEFAULT, []) {
    Ok(shape) => shape,
    Err(_) => panic!("no shape"),
};

/// Opens a log or makes one, and logs a frame: whether the card was blank.
type Begin = fn(Card) -> bool;

fn is_blank<T, F: PartialEq>(
    log: Result<T, DriveError<ErrorKind, F>>,
    refuses: impl FnOnce(&F) -> bool,
) -> Option<T> {
    match log {
        Ok(log) => Some(log),
        Err(DriveError::Format(error)) if refuses(&error) => None,
        Err(_) => panic!("another error"),
    }
}

fn not_blank(error: &Error) -> bool {
    matches!(error, Error::NotBlank { .. })
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    Waits::new(7).run(future).unwrap()
}

fn slow(card: Card) -> Slow<Card> {
    Slow::new(card, &Waits::new(7))
}

const BEGINS: [Begin; 6] = [
    |card| {
        is_blank(Logger::<_, 4>::open_or_create(card, &Attributes::DEFAULT), not_blank).is_some()
    },
    |card| {
        is_blank(FixedLogger::open_or_create(card, &FIXED), |it| *it == Fault::NotBlank).is_some()
    },
    |card| {
        let log = OwnLogger::<_, 4>::open_or_create(card, &OWN);
        is_blank(log, |it| *it == Fault::NotBlank).is_some()
    },
    |card| {
        let log = Logger::<_, 4>::open_or_create_async(slow(card), &Attributes::DEFAULT);
        is_blank(wait(log), not_blank).is_some()
    },
    |card| {
        let log = FixedLogger::open_or_create_async(slow(card), &FIXED);
        is_blank(wait(log), |it| *it == Fault::NotBlank).is_some()
    },
    |card| {
        let log = OwnLogger::<_, 4>::open_or_create_async(slow(card), &OWN);
        is_blank(wait(log), |it| *it == Fault::NotBlank).is_some()
    },
];

/// The lengths of cards: 64 MiB, 32 GB, and one that is a multiple of nothing.
const LENGTHS: [u64; 3] = [1 << 26, 62_333_952 * 512, 100_000_001];

/// A signature: its name, its bytes, and its place in a store of a length.
struct Signature {
    name: String,
    bytes: Vec<u8>,
    place: Box<dyn Fn(u64) -> u64>,
}

/// The table of the specification.
fn signatures() -> Vec<Signature> {
    let spec = include_str!("../../../spec/gsd.md");
    let (_, table) = spec.split_once("<!-- signatures -->").unwrap();
    let rows = table.trim_start().lines().take_while(|line| line.starts_with('|')).skip(2);
    let of = |row: &str| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let byte = |hex| u8::from_str_radix(hex, 16).unwrap();
        let number = |text: &str| text.trim().parse::<u64>().unwrap();
        let place: Box<dyn Fn(u64) -> u64> = match cells[2].strip_prefix("end (") {
            None => {
                let place = number(cells[2]);
                Box::new(move |_| place)
            }
            Some(rest) => {
                let (unit, before) = rest.split_once(") -").unwrap();
                let (unit, before) = (number(unit), number(before));
                Box::new(move |len| len / unit * unit - before)
            }
        };
        let bytes = cells[3].split(' ').map(byte).collect();
        Signature { name: cells[1].to_owned(), bytes, place }
    };
    rows.map(of).collect()
}

#[test]
fn a_store_with_a_known_signature_is_refused_and_not_written() {
    let mut count = 0;
    let all = signatures();
    assert!(all.len() > 50, "{}", all.len());
    for signature in &all {
        for (len, begin) in LENGTHS.into_iter().flat_map(|len| BEGINS.map(|begin| (len, begin))) {
            let card =
                Card::new(len, [0, 0xFF][count % 2], (signature.place)(len), &signature.bytes);
            assert!(!begin(card.clone()), "{}, {len}", signature.name);
            assert_eq!(card.changes(), 0, "{}", signature.name);
            count += 1;
        }
    }
    println!("{count} cards with a signature");
}

/// Nothing is read that the specification does not name; the log is made.
#[test]
fn a_blank_store_is_read_in_the_documented_places_and_nowhere_else() {
    for fill in [0, 0xFF] {
        for begin in BEGINS {
            let card = Card::new(LENGTHS[1], fill, 0, &[]);
            assert!(begin(card.clone()));
            let inner = card.0.borrow();
            assert_eq!(inner.read.len(), 6159);
            let far =
                inner.read.iter().filter(|&&block| (2048..62_333_952 - 4096).contains(&block));
            assert!(far.clone().all(|block| block.is_power_of_two()));
            assert_eq!(far.count(), 15);
        }
        for len in (0..3000).chain((1 << 21) - 2..(1 << 21) + 3) {
            let (first, last) = (Card::new(len, fill, 0, &[7]), Card::new(len, fill, len, &[]));
            if len > 8 {
                last.0.borrow_mut().bytes.insert(len - 1, 7);
                assert!(!BEGINS[0](first) && !BEGINS[1](last), "{len}");
            }
        }
    }
}
