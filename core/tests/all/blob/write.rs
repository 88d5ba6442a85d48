//! What a writer of a set knows: what blobs have, which records, and the seal that many write.

use striae_core::blob::book::Sum;
use striae_core::blob::seal::{Duplicate, FindSeal, Shape};
use striae_core::blob::{Column, Fingerprint, Records, Refusal, Sealing, Share};
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
    seal.write_heads(&mut store, (7, values), parts, crc32c).unwrap();

    let mut alone = vec![0; together.len()];
    let table: Vec<u8> = by_variable.iter().flat_map(|sum| sum.to_be_bytes()).collect();
    let reseal = seal.reseal(7, &table, values);
    for copy in 0..2 {
        reseal.write(&mut alone.as_mut_slice(), copy, crc32c).unwrap();
    }
    assert_eq!(together, alone);

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
    assert_eq!(old.check(with, 4), Err(Refusal::Stored));
    assert_eq!(old.check(without, 0), Err(Refusal::Stored));
    assert_eq!(old.check(with, u64::MAX), Ok(()));
    assert_eq!((old.of(with, 9), old.of(without, 9)), (5..9, 0..0));
    assert_ne!(old.bit(3, 2, 5), old.bit(3, 0, 6));
    assert_eq!(old.bit(3, 1, 5), new.bit(3, 1, 0));
}
