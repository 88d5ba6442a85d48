//! Damaged netCDF files whose headers are made byte by byte, and files with holes.

use std::cell::Cell;
use std::convert::Infallible;
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_inspect::cdf::recover::{Certainty, Doubt, Proof, Records, Recovery};
use striae_inspect::cdf::{FindingKind, Header, verify};
use striae_inspect::certainty::Word;
use striae_inspect::finding::Found as _;
use striae_inspect::subject::Subject;

/// A variable of one dimension: its name, the number of the dimension, its type, its vsize, and
/// where it begins after the header.
type Var = (&'static str, u32, u32, u32, u32);

const BYTE: u32 = 1;
const SHORT: u32 = 3;
const INT: u32 = 4;

/// The header of a file of CDF-1 with these dimensions; a length of 0 is that of records.
fn header(numrecs: u32, dims: &[u32], vars: &[Var]) -> Vec<u8> {
    let made = |start: u32| {
        let mut bytes = b"CDF\x01".to_vec();
        let mut word = |words: &[u32]| words.iter().for_each(|one| bytes.extend(one.to_be_bytes()));
        word(&[numrecs, 10, dims.len() as u32]);
        for (number, length) in (0..).zip(dims) {
            word(&[1, u32::from(b'p' + number) << 24, *length]);
        }
        word(&[0, 0, 11, vars.len() as u32]);
        for (name, dimid, nc_type, vsize, begin) in vars {
            let name = u32::from(name.as_bytes()[0]) << 24;
            word(&[1, name, 1, *dimid, 0, 0, *nc_type, *vsize, start + begin]);
        }
        bytes
    };
    made(made(0).len() as u32)
}

/// A file with holes, which counts the bytes that are read.
struct Holed {
    parts: Vec<(u64, Vec<u8>)>,
    len: u64,
    read: Cell<u64>,
}

impl Holed {
    /// A file that ends with its last part.
    fn new(parts: Vec<(u64, Vec<u8>)>) -> Self {
        let len = parts.last().map_or(0, |(at, bytes)| at + bytes.len() as u64);
        Self { parts, len, read: Cell::new(0) }
    }
}

impl ReadAt for Holed {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let len = self.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        self.read.set(self.read.get() + len as u64);
        buf[..len].fill(0);
        for (at, bytes) in &self.parts {
            let (from, to) =
                ((*at).max(offset), (at + bytes.len() as u64).min(offset + len as u64));
            if from < to {
                let stored = &bytes[(from - at) as usize..(to - at) as usize];
                buf[(from - offset) as usize..(to - offset) as usize].copy_from_slice(stored);
            }
        }
        Ok(len)
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.len)
    }
}

impl Subject for Holed {
    fn first_data(&self, span: Span) -> Result<Option<Span>, Infallible> {
        let data = self.parts.iter().filter_map(|(at, bytes)| {
            let (from, to) = ((*at).max(span.offset()), (at + bytes.len() as u64).min(span.end()));
            Span::between(from, to).filter(|part| !part.is_empty())
        });
        Ok(data.min_by_key(|part| part.offset()))
    }
}

/// What is recovered of a file, and the new file.
fn saved(store: &Holed) -> (Recovery, Vec<u8>) {
    let recovery = Recovery::examine(store).unwrap();
    let mut new = vec![0; usize::try_from(recovery.bytes()).unwrap()];
    recovery.save(store, &mut &mut new[..], &mut |_| ()).unwrap();
    let mut found = Vec::new();
    verify(&&new[..], &mut |what: FindingKind| found.push(what.to_string())).unwrap();
    assert_eq!(found, [""; 0]);
    (recovery, new)
}

/// The first values of a variable, or those of a record, as integers.
fn ints(data: &[u8], variable: &str, record: u64) -> Vec<i32> {
    let header = Header::read(data).unwrap();
    let layout = header.variable(variable).unwrap().layout();
    let span = layout.record(record).unwrap_or(layout.first);
    let bytes = &data[span.offset() as usize..span.end() as usize];
    bytes.chunks(4).map(|value| i32::from_be_bytes(value.try_into().unwrap())).collect()
}

#[test]
fn the_values_after_a_hole_in_a_record_with_gaps_are_saved() {
    // Two variables, of which the first one is a hole, and the second one is 1 MiB later or nearer.
    for gap in [4, 8, 65536, 1 << 20] {
        let header = header(1, &[0], &[("a", 0, INT, 4, 4096), ("b", 0, INT, 4, 4096 + gap)]);
        let value = (header.len() as u64 + 4096 + u64::from(gap), 1_234_567_i32);
        let parts = vec![(0, header), (value.0, value.1.to_be_bytes().to_vec())];
        let (recovery, new) = saved(&Holed::new(parts));
        assert_eq!(recovery.tally().word(), Word::AsFound, "{recovery:?}");
        assert_eq!((ints(&new, "a", 0), ints(&new, "b", 0)), (vec![0], vec![value.1]), "{gap}");
        assert_eq!(recovery.rest(), None, "{gap}: they belong to the variable");
    }
}

/// Readers, verify and recover count alike.
#[test]
fn the_padding_after_the_last_record_of_a_stream_may_be_missing() {
    let vars = [("a", 0, BYTE, 4, 0), ("b", 0, BYTE, 4, 4)];
    let start = header(u32::MAX, &[0], &vars);
    for (len, expected) in [(0, 0), (4, 0), (5, 1), (8, 1), (12, 1), (13, 2), (15, 2), (16, 2)] {
        let data = [&start[..], &vec![1; len]].concat();
        let header = Header::read(&data[..]).unwrap();
        assert_eq!((header.numrecs(), header.whole_records()), (expected, expected), "{len}");
        let recovery = Recovery::examine(&data[..]).unwrap();
        assert_eq!(recovery.records(), Records { claimed: None, saved: expected }, "{len}");
        let summary = verify(&&data[..], &mut |_| ()).unwrap();
        assert_eq!(summary.numrecs, expected, "{len}");
    }
}

/// What follows the last record of a file with gaps is named from its end on.
#[test]
fn bytes_after_a_record_with_gaps_belong_to_nothing() {
    let mut data = header(1, &[0], &[("a", 0, INT, 4, 0), ("b", 0, INT, 4, 100)]);
    let end = data.len() as u64 + 104;
    data.resize(end as usize, 1);
    assert_eq!(Recovery::examine(&data[..]).unwrap().rest(), None);
    data.extend([0, 0, 7, 0]);
    let rest = Recovery::examine(&data[..]).unwrap().rest();
    assert_eq!(rest, Span::between(end, end + 3));
}

#[test]
fn there_are_no_more_records_than_the_version_can_count() {
    // STREAMING has all bits set: the number before it is the largest one.
    let most = u64::from(u32::MAX) - 1;
    for claimed in [0, u32::MAX] {
        for more in [0, 1, 7] {
            let header = header(claimed, &[0], &[("v", 0, BYTE, 4, 0)]);
            let start = header.len() as u64;
            let store = Holed::new(vec![(0, header), (start + most + more - 1, vec![1])]);
            let recovery = Recovery::examine(&store).unwrap();
            let numrecs = Some(u64::from(claimed)).filter(|&claimed| claimed == 0);
            assert_eq!(recovery.records(), Records { claimed: numrecs, saved: most });
            assert_eq!(recovery.header().numrecs(), most);
            let rest = Span::between(start + most, start + most + more);
            assert_eq!(recovery.rest(), rest.filter(|rest| !rest.is_empty()));
        }
    }
}

/// Byte variables at these places after the header, in a file of `len` bytes that are all 1.
fn bytes_of(claimed: u32, begins: [u32; 2], len: usize) -> Holed {
    let [a, b] = begins;
    let mut data = header(claimed, &[0], &[("a", 0, BYTE, 4, a), ("b", 0, BYTE, 4, b)]);
    data.resize(len, 1);
    Holed::new(vec![(0, data)])
}

#[test]
fn records_that_the_header_does_not_count_do_not_overlap() {
    // Records are 8 bytes apart; with the gap each one would be longer than 1 MiB, or than 8.
    for (gap, len) in [(9, 4096), ((1 << 20) - 9, 2 << 20), (1 << 20, 2 << 20)] {
        for claimed in [0, u32::MAX] {
            let store = bytes_of(claimed, [0, gap], len);
            let (recovery, _) = saved(&store);
            assert_eq!(recovery.records().saved, (len as u64 - 116 - 5) / 8 + 1);
            let words: Vec<_> = recovery.variables().map(|(_, word)| word).collect();
            let [Certainty::AsFound(_), Certainty::Guess(Doubt::Begin { taken: 120, .. })] =
                words[..]
            else {
                panic!("{gap} {claimed}: {words:?}");
            };
            let read = store.read.get();
            assert!(read <= 8 * len as u64, "{gap} {claimed}: {read} of {len} bytes");
        }
    }
}

#[test]
fn a_single_record_may_have_gaps_also_if_the_header_does_not_count_it() {
    for claimed in [0, 1] {
        let store = bytes_of(claimed, [0, 1000], 116 + 1001);
        let (recovery, new) = saved(&store);
        assert_eq!(recovery.records().saved, 1);
        assert!(recovery.variables().all(|(_, word)| matches!(word, Certainty::AsFound(_))));
        assert_eq!(new[116..], [1, 0, 0, 0, 1, 0, 0, 0]);
    }
}

fn words(recovery: &Recovery) -> Vec<Certainty> {
    recovery.variables().map(|(_, word)| word).collect()
}

const fn of_size(number: u64, stored: u64, computed: u64) -> Certainty {
    Certainty::Guess(Doubt::Size { number, stored, computed })
}

#[test]
fn a_dimension_that_differs_from_the_stored_size_makes_a_guess() {
    // In the second file one bit of the first length is wrong.
    for (length, expected) in [(10, as_found()), (8, of_size(0, 40, 32))] {
        let vars = [("v", 0, INT, 40, 0), ("w", 1, INT, 12, 40)];
        let mut data = header(0, &[length, 3], &vars);
        (1..=13).for_each(|value: i32| data.extend(value.to_be_bytes()));
        let (recovery, new) = saved(&Holed::new(vec![(0, data)]));
        assert_eq!(words(&recovery), [expected, as_found()]);
        assert_eq!(recovery.tally().is_sound(), length == 10);
        assert_eq!(ints(&new, "w", 0), [11, 12, 13]);
    }
}

const fn as_found() -> Certainty {
    Certainty::AsFound(Proof::Header)
}

/// Two variables with a doubtful size of the first one: its type may have been that of 8 bytes.
#[test]
fn where_several_records_are_follows_from_all_stored_sizes() {
    let wrong = of_size(0, 8, 4);
    for (claimed, saved_records, expected) in [
        (0, 0, [as_found(), as_found(), as_found()]),
        (1, 1, [wrong, as_found(), as_found()]),
        (2, 2, [wrong; 3]),
        (u32::MAX, 1, [wrong, as_found(), wrong]),
        (u32::MAX, 2, [wrong; 3]),
    ] {
        let mut data = header(claimed, &[0], &[("a", 0, INT, 8, 0), ("b", 0, INT, 4, 4)]);
        data.resize(data.len() + 8 * saved_records, 1);
        let (recovery, _) = saved(&Holed::new(vec![(0, data)]));
        assert_eq!(recovery.records().saved, saved_records as u64);
        let words = [words(&recovery), vec![recovery.of_records().unwrap()]].concat();
        assert_eq!(words, expected, "{claimed}");
    }
}

#[test]
fn a_size_that_a_library_stores_is_no_guess() {
    // The only record variable: netCDF-C and PnetCDF pad it, SciPy does not, or stores 0 before
    // there are records.
    for (vsize, numrecs, is_usual) in
        [(4, 3, true), (2, 3, true), (0, 0, true), (0, 3, true), (1, 3, false), (8, 3, false)]
    {
        let mut data = header(numrecs, &[0], &[("v", 0, SHORT, vsize, 0)]);
        data.resize(data.len() + 2 * numrecs as usize, 1);
        let store = Holed::new(vec![(0, data)]);
        let mut found = Vec::new();
        verify(&store, &mut |what: FindingKind| found.push(what.facts().kind)).unwrap();
        let expected = if is_usual { "vsize" } else { "wrong_vsize" };
        assert!(found.iter().all(|found| *found == expected), "{vsize}: {found:?}");
        assert_eq!(found.is_empty(), vsize == 4, "{vsize}");
        let (recovery, _) = saved(&store);
        assert_eq!(recovery.tally().is_sound(), is_usual, "{vsize}: {recovery:?}");
    }
    // SciPy gives all record variables the same place if there are no records. If it stores 0 for
    // one of several, it has written records that have no room for it.
    for (numrecs, kind) in [(0, "vsize"), (1, "wrong_vsize")] {
        let mut data = header(numrecs, &[0], &[("a", 0, SHORT, 4, 0), ("b", 0, SHORT, 0, 4)]);
        data.resize(data.len() + 8 * numrecs as usize, 1);
        let mut found = Vec::new();
        verify(&&data[..], &mut |what: FindingKind| found.push(what.facts().kind)).unwrap();
        assert_eq!(found, [kind]);
    }
    // Of one of several it is padded by all.
    let mut data = header(1, &[0], &[("a", 0, SHORT, 2, 0), ("b", 0, SHORT, 4, 4)]);
    data.resize(data.len() + 8, 1);
    assert_eq!(words(&saved(&Holed::new(vec![(0, data)])).0), [of_size(0, 2, 4), as_found()]);
    // 2^32 + 4 bytes: the field has no such number.
    for (vsize, is_usual) in [(u32::MAX, true), (4, true), (0, true), (8, false)] {
        let header = header(0, &[(1 << 30) + 1], &[("v", 0, INT, vsize, 0)]);
        let end = header.len() as u64 + (1 << 32) + 4;
        let store = Holed::new(vec![(0, header), (end - 1, vec![1])]);
        let word = words(&Recovery::examine(&store).unwrap());
        let doubt = of_size(0, u64::from(vsize), u64::from(u32::MAX));
        assert_eq!(word, [if is_usual { as_found() } else { doubt }], "{vsize}");
    }
}
