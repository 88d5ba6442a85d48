//! The work for a set is bounded by the bytes that its files have, whatever numbers they claim.

use super::made::Made;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs::OpenOptions;
use std::path::PathBuf;
use striae::blob::recover::Recover;
use striae::striae_core::store::ReadAt;
use striae_inspect::blob::Summary;
use striae_inspect::blob::verify::{Options, verify};
use striae_inspect::finding::Found;
use striae_inspect::subject::{Files, Subject};

/// The bytes of subfiles, of which the rest up to `len` are a hole; reads are counted.
struct Sparse<'a> {
    subfiles: &'a [Vec<u8>],
    len: u64,
    reads: Cell<u64>,
    bytes: Cell<u64>,
}

struct One<'a>(&'a Sparse<'a>, usize);

impl ReadAt for One<'_> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let Self(all, number) = *self;
        all.reads.set(all.reads.get() + 1);
        let len = all.len.saturating_sub(offset).min(buf.len() as u64) as usize;
        all.bytes.set(all.bytes.get() + len as u64);
        buf[..len].fill(0);
        let stored = &all.subfiles[number][..];
        if let Some(rest) = usize::try_from(offset).ok().and_then(|offset| stored.get(offset..)) {
            let n = rest.len().min(len);
            buf[..n].copy_from_slice(&rest[..n]);
        }
        Ok(len)
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.0.len)
    }
}

impl Subject for One<'_> {}

impl<'a> Files for &'a Sparse<'a> {
    type Subject = One<'a>;

    fn open(&self, number: u32) -> Result<One<'a>, Infallible> {
        Ok(One(self, number as usize))
    }

    fn there(&self) -> Result<BTreeSet<u32>, Infallible> {
        Ok((0..).zip(self.subfiles).map(|(number, _)| number).collect())
    }
}

/// A set of two subfiles with two records of 2 x 8 elements.
fn made() -> (tempfile::TempDir, PathBuf, Vec<Vec<u8>>) {
    let subfiles = vec![vec![vec![(0, 8)]], vec![vec![(8, 4)], vec![(12, 4)]]];
    let dir = tempfile::tempdir().unwrap();
    Made { rows: 2, columns: 8, numrecs: 2, subfiles }.write(dir.path());
    let path = dir.path().join("set.nc");
    let read = |number: u32| std::fs::read(path.with_extension(format!("nc.{number:04}"))).unwrap();
    let bytes = vec![read(0), read(1)];
    (dir, path, bytes)
}

/// Verifies subfiles of this length: the summary, the kinds of findings and the reads.
fn verified(subfiles: &[Vec<u8>], len: u64) -> (Summary, BTreeSet<&'static str>, u64) {
    let sparse = Sparse { subfiles, len, reads: Cell::new(0), bytes: Cell::new(0) };
    let mut kinds = BTreeSet::new();
    let each = &mut |_, what: striae_inspect::blob::SetFinding| {
        kinds.insert(what.facts().kind);
    };
    let Ok(summary) = verify(&&sparse, Options::default(), each);
    assert!(sparse.bytes.get() < 1 << 26, "{}", sparse.bytes.get());
    (summary, kinds, sparse.reads.get())
}

/// The offset of the length of a dimension.
fn length_of(bytes: &[u8], dimension: &str) -> usize {
    let at = bytes.windows(dimension.len()).position(|part| part == dimension.as_bytes()).unwrap();
    at + dimension.len().next_multiple_of(4)
}

fn put(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
}

/// A header may be read once more if it is damaged: another process may have changed it.
const HUGE: u64 = 1 << 40;

#[test]
fn records_that_a_hole_could_have_are_not_read() {
    let (_dir, _, subfiles) = made();
    let (summary, kinds, usual) =
        verified(&subfiles, subfiles[0].len().max(subfiles[1].len()) as u64);
    assert_eq!((summary.numrecs, summary.blobs), (2, 3), "{kinds:?}");
    // A hole of a TB after the records.
    let (summary, kinds, reads) = verified(&subfiles, HUGE);
    assert_eq!(summary.numrecs, 2);
    assert!(kinds.contains("tail"), "{kinds:?}");
    assert!(reads <= usual + 9, "{reads}, {usual}");
    // More records than the file has room for.
    for numrecs in [1 << 40, 1 << 62] {
        let mut claiming = subfiles.clone();
        claiming.iter_mut().for_each(|bytes| put(bytes, 4, numrecs));
        let (_, kinds, reads) = verified(&claiming, HUGE);
        assert!(kinds.contains("too_large"), "{kinds:?}");
        assert!(reads <= usual + 9, "{reads}, {usual}");
    }
}

#[test]
fn of_a_seal_only_its_own_records_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = super::verify::sealed(dir.path(), "nc").with_extension("nc.0000");
    let mut subfiles = vec![std::fs::read(path).unwrap()];
    let (summary, _, usual) = verified(&subfiles, subfiles[0].len() as u64);
    assert_eq!((summary.damage, summary.sealed), (0, 1));
    put(&mut subfiles[0], 4, 1 << 62);
    let (summary, kinds, reads) = verified(&subfiles, HUGE);
    assert_eq!(summary.sealed, 1);
    assert!(kinds.contains("too_large") && kinds.contains("unsealed"), "{kinds:?}");
    assert!(reads <= usual + 9, "{reads}, {usual}");
}

#[test]
fn blobs_that_a_hole_could_have_are_not_read_one_by_one() {
    let (_dir, _, mut subfiles) = made();
    let at = length_of(&subfiles[1], "nblobs");
    let (.., usual) = verified(&subfiles, HUGE);
    put(&mut subfiles[1], at, 1 << 20);
    let (_, kinds, reads) = verified(&subfiles, HUGE);
    assert!(kinds.contains("overlap") || kinds.contains("elements"), "{kinds:?}");
    assert!(reads < usual + 200, "{reads}, {usual}");
}

#[test]
fn lost_records_of_a_long_file_are_one_row() {
    let (_dir, path, subfiles) = made();
    let numrecs = 1_u64 << 32;
    for (number, mut bytes) in (0_u32..).zip(subfiles) {
        put(&mut bytes, 4, numrecs);
        let path = path.with_extension(format!("nc.{number:04}"));
        std::fs::write(&path, &bytes).unwrap();
        // 8 elements of 8 bytes and `time`; the second subfile ends in a record.
        let first = bytes.len() as u64 - 2 * 68;
        let len = if number == 0 { first + numrecs * 68 } else { first + 68 * 1000 + 36 };
        OpenOptions::new().write(true).open(&path).unwrap().set_len(len).unwrap();
    }
    let recovery = Recover::new().examine(&path).unwrap();
    let rows: Vec<_> = recovery
        .lost_values()
        .iter()
        .map(|lost| {
            let ranges: Vec<_> = lost.ranges.iter().map(|one| (one.offset, one.len)).collect();
            (&*lost.name, lost.records.clone().unwrap(), lost.values, ranges)
        })
        .collect();
    let rest = numrecs - 1001;
    assert_eq!(
        rows,
        [
            ("record", 1000..1001, 4, vec![(12, 4)]),
            ("record", 1001..numrecs, rest * 8, vec![(8, 8)]),
        ]
    );
}
