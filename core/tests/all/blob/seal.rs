//! Seals: both copies say the same, one damaged copy costs nothing, and a cut between the steps of
//! an append leaves a seal of the records that count.

use striae_core::blob::raw::SealHead;
use striae_core::blob::seal::{COPIES, Duplicate, Facts, FindSeal, Found, Seal, Shape, header_crc};
use striae_core::blob::{Error, Fingerprint, Part, Tie};
use striae_core::field::FieldId;
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::step::drive_read;
use zerocopy::IntoBytes;

const HEADER: &[u8] = b"CDF\x05........the rest of the header";

/// The end of the header, and the first value.
fn gap(shape: Shape) -> Span {
    let gap = shape.gap_after(700).unwrap();
    assert_eq!((gap.offset(), gap.end()), (700, 1024 + shape.gap_len().unwrap()));
    gap
}

fn facts(numrecs: u64) -> Facts {
    let shape = Shape::new(3, 7).unwrap();
    Facts {
        shape,
        header_len: 700,
        header_crc: header_crc(HEADER, crc32c),
        values_begin: gap(shape).end(),
        numrecs,
        tie: Some(tie(numrecs)),
    }
}

fn tie(commit: u64) -> Tie {
    let mut set = *b"identity of a se";
    set[..8].copy_from_slice(&commit.to_be_bytes());
    Tie { set, number: 3, nsubfiles: 7 }
}

/// The bytes of a table: each number of records has another.
fn table(facts: &Facts) -> Vec<u8> {
    let rows = 0..facts.shape.rows() as u32;
    rows.flat_map(|row| (row * 1000 + facts.numrecs as u32).to_be_bytes()).collect()
}

fn write(file: &mut [u8], facts: &Facts, number: usize) {
    let place = facts.shape.places(gap(facts.shape), facts.tie.is_some()).unwrap()[number];
    let table = table(facts);
    let head = facts.head(crc32c(facts.tie_crc(crc32c), &table), crc32c);
    if let Some(tie) = facts.tie {
        let at = place.tie.offset() as usize;
        file[at..at + 24].copy_from_slice(tie.stored().as_bytes());
    }
    for (span, bytes) in [(place.table, &table[..]), (place.head, head.as_bytes())] {
        file[span.offset() as usize..][..bytes.len()].copy_from_slice(bytes);
    }
}

fn sealed(numrecs: u64) -> Vec<u8> {
    let facts = facts(numrecs);
    let mut file = vec![0xee; facts.values_begin as usize];
    file[700..].fill(0);
    (0..COPIES).for_each(|number| write(&mut file, &facts, number));
    file
}

fn find(file: &[u8], gap: Span) -> Found {
    drive_read(&mut FindSeal::new(gap, crc32c), file, &mut [0; 64]).unwrap()
}

fn judge(file: &[u8], facts: &Facts) -> Result<Option<Seal>, Error> {
    find(file, gap(facts.shape)).judge(facts)
}

#[test]
fn a_seal_is_found_with_the_checksums_of_its_blobs() {
    let (file, facts) = (sealed(5), facts(5));
    let seal = judge(&file, &facts).unwrap().unwrap();
    assert_eq!(seal.facts(), facts);
    for (variable, blob, row) in [(0, 0, 0), (0, 2, 2), (1, 0, 3), (6, 2, 20)] {
        let at = seal.entry(variable, blob).unwrap();
        let entry: [u8; 4] = file[at.offset() as usize..][..4].try_into().unwrap();
        let right = row * 1000 + 5;
        assert_eq!(seal.check(variable, blob, entry, right), Ok(()));
        let wrong = Error::NotAsSealed { variable, blob, stored: right, computed: 0 };
        assert_eq!(seal.check(variable, blob, entry, 0), Err(wrong));
    }
    assert_eq!((seal.entry(7, 0), seal.entry(0, 3)), (None, None));
    let [first, second] = facts.shape.places(gap(facts.shape), true).unwrap();
    assert_eq!(first.head.offset(), 1024, "the first multiple of 512 after the header");
    assert_eq!(second.head.end(), facts.values_begin);
    assert!(second.tie.offset() / 512 > (first.table.end() - 1) / 512, "other sectors");
}

#[test]
fn a_gap_without_a_seal_has_none() {
    let facts = facts(0);
    for byte in [0, 0xff, b's'] {
        let file = vec![byte; facts.values_begin as usize];
        assert_eq!(judge(&file, &facts), Ok(None));
    }
    // Gaps without room for heads at 1024 and after it: nothing is read.
    for len in 0..452 {
        let found = find(&[], Span::new(700, len).unwrap());
        assert_eq!(found, Found::default());
    }
    assert_eq!(Shape::new(u64::from(u32::MAX) + 1, 1), None);
}

#[test]
fn a_damaged_copy_costs_nothing() {
    let facts = facts(2);
    let file = sealed(2);
    let places = facts.shape.places(gap(facts.shape), true).unwrap();
    for (number, place) in places.into_iter().enumerate() {
        for span in [place.head, place.tie, place.table] {
            for bit in span.offset() * 8..span.end() * 8 {
                let mut file = file.clone();
                file[bit as usize / 8] ^= 1 << (bit % 8);
                let found = find(&file, gap(facts.shape));
                assert!(!matches!(found.copies[number], Duplicate::Whole(_)), "bit {bit}");
                let seal = found.judge(&facts).unwrap().unwrap();
                assert_eq!(seal.place(), places[1 - number]);
            }
        }
    }
}

#[test]
fn two_damaged_copies_are_an_error_and_not_an_unsealed_file() {
    let facts = facts(2);
    let mut file = sealed(2);
    for place in facts.shape.places(gap(facts.shape), true).unwrap() {
        file[place.table.offset() as usize] ^= 1;
    }
    let field = SealHead::table_crc;
    assert!(
        matches!(judge(&file, &facts), Err(Error::Checksum { field: found, .. }) if found == field)
    );
}

#[test]
fn a_header_that_is_not_as_sealed_is_an_error() {
    let file = sealed(3);
    let right = facts(3);
    let other = |shape| Facts { shape, ..right };
    let wrong: [(Facts, FieldId); 6] = [
        (other(Shape::new(4, 7).unwrap()), SealHead::nblobs),
        (other(Shape::new(3, 8).unwrap()), SealHead::nvars),
        (Facts { header_len: 701, ..right }, SealHead::header_len),
        (Facts { values_begin: 9, ..right }, SealHead::values_begin),
        (Facts { header_crc: !right.header_crc, ..right }, SealHead::header_crc),
        (Facts { numrecs: 2, ..right }, SealHead::numrecs),
    ];
    let found = find(&file, gap(right.shape));
    for (facts, wanted) in wrong {
        match found.judge(&facts) {
            Err(Error::Checksum { field, .. } | Error::Sealed { field, .. }) => {
                assert_eq!(field, wanted);
            }
            other => panic!("{other:?}"),
        }
    }
    // The first bytes of the header change when records are added.
    assert_eq!(
        header_crc(b"CDF\x05abcdefghrest", crc32c),
        header_crc(b"CDF\x05ABCDEFGHrest", crc32c)
    );
}

#[test]
fn a_cut_append_leaves_a_seal_of_the_records_that_count() {
    let (old, new) = (facts(4), facts(6));
    let mut file = sealed(4);
    let first = find(&file, gap(old.shape)).next(4);
    let mut whole = file.clone();
    write(&mut whole, &new, first);
    // Any part of the new copy is in the file; the header has the old number of records.
    let changed: Vec<usize> = (0..file.len()).filter(|&at| file[at] != whole[at]).collect();
    for &at in &changed {
        let before = file[at];
        file[at] = whole[at];
        assert_eq!(judge(&file, &old).unwrap().unwrap().facts(), old);
        let mut torn = whole.clone();
        torn[at] = before;
        assert_eq!(judge(&torn, &old).unwrap().unwrap().facts(), old);
    }
    // Then the header has the new number, and the other copy is replaced.
    assert_eq!(judge(&file, &new).unwrap().unwrap().facts(), new);
    let second = find(&file, gap(old.shape)).next(6);
    assert_ne!(first, second);
    // If the header is as before the cut, the same copy is replaced again.
    assert_eq!(find(&file, gap(old.shape)).next(4), first);
    write(&mut file, &new, second);
    assert_eq!(file, sealed(6));
}

#[test]
fn records_of_another_program_are_after_those_of_the_seal() {
    let file = sealed(4);
    assert_eq!(judge(&file, &facts(9)).unwrap().unwrap().facts().numrecs, 4);
    // But a damaged copy may be the one of all records.
    let mut file = file;
    let [first, _] = facts(4).shape.places(gap(facts(4).shape), true).unwrap();
    file[first.table.offset() as usize] ^= 1;
    assert!(judge(&file, &facts(9)).is_err());
    assert!(judge(&file, &facts(4)).is_ok());
}

#[test]
fn an_error_names_the_field() {
    let file = sealed(3);
    let found = find(&file, gap(facts(3).shape));
    let error = found.judge(&facts(2)).unwrap_err();
    assert_eq!(error.to_string(), "seal.numrecs at offset 1072 is 3, must be 2");
    assert_eq!(Part::VARIABLES.len(), 5, "so many rows of each decomposition come first");
}

/// A seal of the first version has no tie; it is continued without one.
#[test]
fn a_seal_without_a_tie_is_read() {
    let facts = Facts { tie: None, ..facts(5) };
    let mut file = vec![0; facts.values_begin as usize];
    (0..COPIES).for_each(|number| write(&mut file, &facts, number));
    let seal = judge(&file, &facts).unwrap().unwrap();
    assert_eq!((seal.facts(), seal.place().tie.len()), (facts, 0));
    assert_eq!(seal.facts().head(0, crc32c).version.get(), 1);
    assert_eq!(sealed(5)[1024 + 16..][..4], [0, 0, 0, 2]);
}

/// Blobs may be joined in any order, and each counts: also if two have the same values, or if all
/// change in the same way.
#[test]
fn a_fingerprint_tells_values_and_their_places() {
    let of = |values: [u32; 3]| {
        let blobs = (0_u32..).zip(values);
        let one = |(blob, value)| Fingerprint::of_blob((blob / 2, blob % 2), 0, [value, 1]);
        blobs.map(one).fold(Fingerprint::default(), Fingerprint::join)
    };
    let all = [[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [7, 7, 0], [2, 1, 0]];
    for (number, one) in all.iter().enumerate() {
        for other in &all[..number] {
            let ([a, b], [c, d]) = (of(*one).words(), of(*other).words());
            assert!(a != c && b != d, "{one:?}, {other:?}");
        }
        assert_eq!(Fingerprint::from_words(of(*one).words()), of(*one));
    }
    let [header, none] = [5, 0].map(|crc| Fingerprint::of_blob((0, 0), crc, [1]));
    assert_ne!(header, none);
    let (first, second) = (of([1, 2, 3]), of([1, 2, 4]));
    assert_ne!(Tie::new(first, 1, 2).set, Tie::new(second, 1, 2).set);
}
