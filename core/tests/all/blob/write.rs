//! What a writer of a set knows: what blobs have, which records, and the seal that many write.

use proptest::prelude::*;
use striae_core::blob::book::Sum;
use striae_core::blob::seal::{Duplicate, FindSeal, Shape};
use striae_core::blob::sealing::{NewSeal, complete};
use striae_core::blob::{Column, Fingerprint, Held, Pen, Records, Refusal, Sealing, Share};
use striae_core::cdf::Type;
use striae_core::integrity::{Crc32cParts, crc32c};
use striae_core::span::Span;
use striae_core::step::drive_read;

const HEADER: &[u8] = b"twelve bytes and then what the seal covers";

/// The seal of subfile 2 of 3, with 3 blobs and 2 variables, and its gap.
fn sealing() -> (Sealing, Span) {
    let shape = Shape::new(3, 2).unwrap();
    let gap = shape.gap_after(HEADER.len() as u64).unwrap();
    let header = (HEADER.len() as u64, HEADER);
    (Sealing::new((shape, gap), (2, 3), header, crc32c).unwrap(), gap)
}

#[test]
fn rows_that_blobs_write_in_any_order_are_the_table_that_one_writes() {
    let (seal, gap) = sealing();
    let sums = [[1, 2], [3, 4], [5, 6_u32]]; // of each blob
    let by_variable = [1, 3, 5, 2, 4, 6_u32];
    let values = seal.of_all(&by_variable);
    let mut joined = Fingerprint::default();
    for (blob, own) in (0..).zip(sums) {
        joined = joined.join(seal.of_blob(blob, own));
    }
    assert_eq!(values, joined);

    let mut together = vec![0; gap.end() as usize];
    let mut store = together.as_mut_slice();
    let mut parts = Crc32cParts::NONE;
    for blob in [2, 0, 1] {
        let own = sums[blob as usize];
        let more = seal.write_rows(&mut store, (blob, values), own, crc32c).unwrap();
        parts = parts.join(more);
    }
    let (len, numrecs) = (gap.end(), None);
    let sealed = NewSeal { seal: &seal, records: 7, values, parts };
    complete(&mut store, (len, numrecs), Some(sealed), crc32c).unwrap();

    let mut alone = vec![0; together.len()];
    let table: Vec<u8> = by_variable.iter().flat_map(|sum| sum.to_be_bytes()).collect();
    let reseal = seal.reseal(7, &table, values);
    for copy in 0..2 {
        reseal.write(&mut alone.as_mut_slice(), copy, crc32c).unwrap();
    }
    assert_eq!(together, alone);
    let mut at_once = vec![0; together.len()];
    let store = &mut at_once.as_mut_slice();
    assert_eq!(seal.write_table(store, (&table, values), crc32c), Ok(parts));
    complete(store, (len, numrecs), Some(sealed), crc32c).unwrap();
    assert_eq!(together, at_once);

    let mut window = [0; 512];
    let found = drive_read(&mut FindSeal::new(gap, crc32c), &together.as_slice(), &mut window);
    for copy in found.unwrap().copies {
        let Duplicate::Whole(whole) = copy else { panic!("{copy:?}") };
        assert_eq!((whole.facts().numrecs, whole.facts().tie.unwrap().number), (7, 2));
    }
}

#[test]
fn a_sum_of_records_out_of_order_is_that_of_the_bytes_in_order() {
    let bytes = b"..one...two...";
    let places = [Span::new(2, 3).unwrap(), Span::new(8, 3).unwrap()];
    let (mut ordered, mut turned) = (Sum::default(), Sum::default());
    for (record, piece) in [(0, b"one"), (1, b"two")] {
        ordered.add(ordered, record, crc32c(ordered.crc(), piece));
    }
    for (record, piece) in [(1, b"two"), (0, b"one")] {
        turned.add(turned, record, crc32c(turned.crc(), piece));
    }
    let want = crc32c(0, b"onetwo");
    let all = |sum: Sum, window: &mut [u8]| {
        sum.over(places.into_iter(), &bytes.as_slice(), window, crc32c).ok()
    };
    assert_eq!(all(ordered, &mut []), Some(want)); // nothing is read
    for len in 1..5 {
        assert_eq!(all(turned, &mut vec![0; len]), Some(want));
    }
    assert_eq!(all(turned, &mut []), None);
    let past = [Span::new(12, 3).unwrap()];
    let cut = turned.over(past.into_iter(), &bytes.as_slice(), &mut [0; 8], crc32c);
    assert!(cut.is_err());
}

#[test]
fn a_blob_holds_its_share_in_both_layouts() {
    let shares = [Share { nreqs: 1, start: 4, count: 3 }];
    let some = Column { nc_type: Type::Int, is_record: true, decomposition: Some(0), len: 40 };
    let held = some.in_values((100, 60), 1, &shares).unwrap();
    assert_eq!(held.span(2), Span::new(100 + 4 * 4 + 2 * 60, 12));
    let held = some.in_blob(100, 1, &shares).unwrap();
    assert_eq!(held.span(2), Span::new(100 + 2 * 12, 12));
    // All of a variable that is not decomposed is in the first blob.
    let whole = Column { decomposition: None, ..some };
    assert_eq!(whole.in_values((100, 60), 0, &shares).unwrap().len, 40);
    assert_eq!(whole.in_values((100, 60), 1, &shares).unwrap().len, 0);
    assert_eq!(Column { decomposition: Some(1), ..some }.in_blob(0, 0, &shares), None);
    let far = held.span(u64::MAX);
    assert_eq!(far, None);
}

#[test]
fn each_record_is_written_once() {
    let with = Column { nc_type: Type::Int, is_record: true, decomposition: None, len: 4 };
    let without = Column { is_record: false, ..with };
    let new = Records { before: None, all: Some(2) };
    assert_eq!((new.check(with, 1), new.check(without, 0)), (Ok(()), Ok(())));
    assert_eq!(new.check(with, 2), Err(Refusal::Past { records: 2 }));
    assert_eq!(new.check(without, 1), Err(Refusal::Past { records: 1 }));
    assert_eq!((new.of(with, 2), new.of(without, 2)), (0..2, 0..1));
    let old = Records { before: Some(5), all: None };
    assert_eq!((old.check(with, 4), old.check(with, 5)), (Err(Refusal::Stored), Ok(())));
    assert_eq!(old.check(without, 0), Err(Refusal::Stored));
    assert_eq!(old.check(with, u64::MAX), Ok(()));
    assert_eq!((old.of(with, 9), old.of(without, 9)), (5..9, 0..0));
    assert_eq!((new.count(1), old.count(7)), (2, 7));
}

#[test]
fn a_record_has_its_place_if_all_bytes_of_it_are_given() {
    let column = Column { nc_type: Type::Int, is_record: true, decomposition: None, len: 8 };
    let (held, records) = (Held { start: 100, len: 8, step: 30 }, Records::default());
    assert_eq!(records.place(column, held, 2, 8), Ok(Span::new(160, 8).unwrap()));
    assert_eq!(records.place(column, held, 2, 4), Err(Refusal::Len { given: 4, len: 8 }));
    assert_eq!(records.place(column, held, u64::MAX, 8), Err(Refusal::Size));
    let old = Records { before: Some(3), all: None };
    assert_eq!(old.place(column, held, 2, 4), Err(Refusal::Stored), "whatever is given");
}

/// Memory that grows to `most` words.
struct Few {
    words: Vec<u64>,
    most: usize,
}

impl AsRef<[u64]> for Few {
    fn as_ref(&self) -> &[u64] {
        &self.words
    }
}

impl AsMut<[u64]> for Few {
    fn as_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

impl Extend<u64> for Few {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, more: I) {
        let room = self.most - self.words.len();
        self.words.extend(more.into_iter().take(room));
    }
}

#[test]
fn a_word_of_memory_is_for_64_records_and_memory_that_is_full_loses_no_gap() {
    let column = Column { nc_type: Type::Int, is_record: true, decomposition: None, len: 8 };
    let held = Held { start: 0, len: 8, step: 8 };
    for most in 0..3 {
        let few = Few { words: Vec::new(), most };
        let mut pen = Pen::new(Records::default(), 1, few, [Sum::default(); 1]);
        let (hole, end) = (64 * most as u64 - most as u64, 64 * most as u64);
        let missing = |pen: &Pen<_, _>| pen.missing([(column, Some(held))], end + 1);
        for record in (0..=end).rev().filter(|&record| record != hole) {
            pen.wrote(0, column, record, None);
        }
        assert_eq!(missing(&pen), Some((0, hole)));
        pen.wrote(0, column, hole, None);
        assert_eq!(missing(&pen), Some((0, end)));
    }
}

proptest! {
    /// Of 3 variables, one of them without records and one of which the blob has nothing.
    #[test]
    fn a_pen_misses_the_first_record_that_was_not_written(
        before in prop::option::of(0..3_u64),
        writes in prop::collection::vec((0..3_usize, 0..90_u64), 0..400),
        records in 0..9_u64,
    ) {
        let with = Column { nc_type: Type::Int, is_record: true, decomposition: None, len: 4 };
        let columns = [with, Column { is_record: false, ..with }, with];
        let held = [4, 4, 0].map(|len| Held { start: 0, len, step: 4 });
        let wanted = Records { before, all: None };
        let mut pen = Pen::new(wanted, 3, Vec::new(), Vec::<Sum>::new());
        let mut model = std::collections::BTreeSet::new();
        for (variable, record) in writes {
            let record = record / 9; // those that are needed, often
            if wanted.check(columns[variable], record).is_ok() {
                pen.wrote(variable, columns[variable], record, None);
                model.insert((variable, record));
            }
        }
        let first = before.unwrap_or(0);
        let with_records = model.iter().filter(|(variable, _)| *variable != 1);
        let last = with_records.map(|(_, record)| record + 1);
        prop_assert_eq!(pen.reached(), last.max().unwrap_or(0).max(first));
        let fixed = (0..1).filter(|_| before.is_none()).map(|record| (1, record));
        let mut needed = (first..records).map(|record| (0, record)).chain(fixed);
        let missing = needed.find(|one| !model.contains(one));
        prop_assert_eq!(pen.missing(columns.into_iter().zip(held.map(Some)), records), missing);
    }

    /// Whatever the order, and if a record is written twice.
    #[test]
    fn a_pen_sums_up_the_bytes_in_the_order_of_the_file(
        bytes in prop::collection::vec(any::<u8>(), 12..=12),
        order in prop::collection::vec(0..3_u64, 0..6),
    ) {
        let column = Column { nc_type: Type::Int, is_record: true, decomposition: None, len: 4 };
        let held = Held { start: 0, len: 4, step: 4 };
        let mut pen = Pen::new(Records::default(), 1, Vec::new(), vec![Sum::default()]);
        let all = [0, 1, 2].into_iter().filter(|record| !order.contains(record));
        for record in order.iter().copied().chain(all) {
            let (sum, place) = (pen.sum(0).unwrap(), held.span(record).unwrap());
            let own = &bytes[place.offset() as usize..place.end() as usize];
            pen.wrote(0, column, record, Some((sum, crc32c(sum.crc(), own))));
        }
        let (of, store, window) = ((0, column, held), bytes.as_slice(), &mut [0; 3]);
        let crc = pen.sum_of_all(of, 3, store, window, crc32c).unwrap();
        prop_assert_eq!(crc, crc32c(0, &bytes));
    }
}
