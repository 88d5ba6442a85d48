//! Each row of the tables of findings is reached by a file: a golden one, a seed of the fuzz
//! targets, or one of them with a few bytes changed.

use super::spec_tables::root;
use embedded_io::ErrorKind;
use std::collections::BTreeSet;
use std::path::Path;
use striae_core::store::ReadAt;
use striae_inspect::finding::{Found, Kind, Severity};
use striae_inspect::gsd::verify::Depth;
use striae_inspect::subject::{Files, Subject};
use striae_inspect::{blob, cdf, ffrecord, gsd, sion};

/// Longer files are left out: others show the same.
const MOST: usize = 1 << 17;

/// A kind, the file of the test that shows it, and a text that the test has.
type Elsewhere = (&'static str, &'static str, &'static str);

/// Of a set of files, one that cannot be read is `unreadable`. Of one file, this is the error of
/// `verify`; the finding would be too little memory of the caller, which `verify` always has.
const OF_SETS: Elsewhere =
    ("unreadable", "core/inspect/src/report.rs", "error => K::unreadable(ErrorKind::OutOfMemory");

const GSD: &[Elsewhere] = &[
    ("hoomd_late", "std-adapter/tests/all/gsd_hoomd/verified.rs", "\"hoomd_late\""),
    ("shared", "std-adapter/tests/all/gsd/shared.rs", "FindingKind::Wrong(Error::Shared"),
    OF_SETS,
];

const CDF: &[Elsewhere] = &[
    ("begin", "std-adapter/tests/all/blob/kinds.rs", "\"begin\""),
    ("streaming", "core/inspect/tests/all/cdf.rs", "\"streaming\""),
    OF_SETS,
];

const FFRECORD: &[Elsewhere] =
    &[("shared", "std-adapter/tests/all/ffrecord/verify.rs", "FindingKind::Shared"), OF_SETS];

const MAP: &[Elsewhere] = &[OF_SETS];

const SION: &[Elsewhere] = &[
    ("other_set", "std-adapter/tests/all/write/other_set.rs", "\"other_set\""),
    ("set_commit", "std-adapter/tests/all/write/set_commits.rs", "\"set_commit\""),
    ("too_many_tasks", "tests/tests/all/sion_verify/hostile.rs", "FindingKind::TooManyTasks"),
];

const BLOB: &[Elsewhere] = &[
    ("blob_size", "core/tests/all/blob/walk.rs", "Error::Size"),
    ("blobs", "std-adapter/tests/all/blob/verify.rs", "\"blobs\""),
    ("decomposition_id", "std-adapter/tests/all/blob/kinds.rs", "\"decomposition_id\""),
    ("extra", "std-adapter/tests/all/blob/verify.rs", "\"extra\""),
    ("fill_starts", "std-adapter/tests/all/blob/kinds.rs", "\"fill_starts\""),
    ("long_header", "std-adapter/tests/all/blob/kinds.rs", "\"long_header\""),
    ("no_dataset", "std-adapter/tests/all/blob/kinds.rs", "\"no_dataset\""),
    ("no_numrecs", "std-adapter/tests/all/blob/kinds.rs", "\"no_numrecs\""),
    ("not_of_map", "std-adapter/tests/all/blob/verify.rs", "FindingKind::NotOfMap"),
    ("older", "std-adapter/tests/all/blob/belong.rs", "\"older\""),
    ("order", "std-adapter/tests/all/blob/kinds.rs", "\"order\""),
    ("other_map", "std-adapter/tests/all/blob/verify.rs", "\"other_map\""),
    ("other_place", "std-adapter/tests/all/blob/belong.rs", "is a copy of {other}"),
    ("sealed_rows", "core/tests/all/edges_blob.rs", "Error::SealedRows"),
];

/// Kinds of finding by name and severity.
type Rows = BTreeSet<(String, String)>;

fn row(name: &str, severity: Severity) -> (String, String) {
    (name.to_owned(), severity.to_string())
}

/// The bytes of all files of a folder, and of those inside of it.
fn files(folder: &Path, all: &mut Vec<Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all);
        } else if path.metadata().unwrap().len() <= MOST as u64 {
            all.push(std::fs::read(path).unwrap());
        }
    }
}

/// The files of these folders, the shortest first.
pub(super) fn inputs(folders: &[&str]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    folders.iter().for_each(|folder| files(&root().join(folder), &mut all));
    all.sort_by_key(|bytes| (bytes.len(), bytes.clone()));
    all.dedup();
    assert!(all.len() > 3, "{folders:?} have files");
    all
}

/// A file in memory that ends at `end`, whatever its size was, and of which `lost` cannot be read.
#[derive(Clone, Copy)]
pub(super) struct Worn<'a> {
    bytes: &'a [u8],
    end: usize,
    lost: usize,
}

/// The bytes that cannot be read.
const LOST: usize = 16;

impl<'a> Worn<'a> {
    pub(super) const fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, end: bytes.len(), lost: usize::MAX }
    }

    /// The bytes that it still has.
    pub(super) fn held(&self) -> &'a [u8] {
        &self.bytes[..self.end]
    }
}

impl ReadAt for Worn<'_> {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let start = usize::try_from(offset).unwrap().min(self.end);
        let len = buf.len().min(self.end - start);
        match start < self.lost.saturating_add(LOST) && self.lost < start + len {
            true => Err(ErrorKind::Other),
            false => Ok(self.bytes[..self.end].read_at(offset, buf).unwrap()),
        }
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(self.bytes.len() as u64)
    }
}

impl Subject for Worn<'_> {}

/// The files of a set.
struct Set<'a>(Vec<Worn<'a>>);

impl<'a> Set<'a> {
    /// The files of the input of a target that takes sets: their number, the lengths of all but the
    /// last, the files.
    fn of(input: Worn<'a>) -> Self {
        let data = input.bytes;
        let Some((&first, rest)) = data.split_first() else { return Self(Vec::new()) };
        let count = usize::from(first & 3);
        let Some((lens, mut rest)) = rest.split_at_checked(2 * count) else {
            return Self(Vec::new());
        };
        let mut set = Vec::new();
        let mut at = 1 + 2 * count;
        let mut add = |file: &'a [u8]| {
            let end = input.end.saturating_sub(at).min(file.len());
            let lost = input.lost.checked_sub(at).unwrap_or(usize::MAX);
            set.push(Worn { bytes: file, end, lost });
            at += file.len();
        };
        for len in lens.chunks_exact(2) {
            let len = usize::from(u16::from_le_bytes([len[0], len[1]]));
            let (file, behind) = rest.split_at(len.min(rest.len()));
            add(file);
            rest = behind;
        }
        add(rest);
        Self(set)
    }
}

impl<'a> Files for Set<'a> {
    type Subject = Worn<'a>;

    fn open(&self, number: u32) -> Result<Worn<'a>, ErrorKind> {
        Ok(self.0.get(number as usize).copied().unwrap_or(Worn::whole(&[])))
    }

    fn there(&self) -> Result<BTreeSet<u32>, ErrorKind> {
        Ok((0..).zip(&self.0).map(|(number, _)| number).collect())
    }
}

/// Looks at all inputs until each kind of finding was found, first as they are, then with changes.
/// Findings of what a file is made of may be kinds of `parts`, too. What they do not show is
/// `elsewhere`: the kind, the file of the test that shows it, and a text that the test has.
fn check(
    [kinds, parts]: [&[&[Kind]]; 2],
    folders: &[&str],
    elsewhere: &[(&str, &str, &str)],
    find: impl Fn(Worn<'_>, &mut dyn FnMut(&dyn Found)),
) {
    for (kind, place, expected) in elsewhere {
        let text = std::fs::read_to_string(root().join(place)).unwrap();
        assert!(text.contains(expected), "{place} does not show {kind}");
    }
    let inputs = inputs(folders);
    let named = kinds.iter().copied().flatten().filter(|kind| !kind.name.is_empty());
    let rows: Rows = named.map(|kind| row(kind.name, kind.severity)).collect();
    let is_elsewhere =
        |(name, _): &&(String, String)| elsewhere.iter().any(|(kind, ..)| kind == name);
    let (other, own): (Rows, Rows) = rows.iter().cloned().partition(|row| is_elsewhere(&row));
    let mut reached = Rows::new();
    let mut look = |input: Worn<'_>| {
        find(input, &mut |found| {
            reached.insert(row(found.facts().kind, found.severity()));
        });
        own.is_subset(&reached)
    };
    let is_done = inputs.iter().any(|input| look(Worn::whole(input)))
        || inputs.iter().any(|input| changed(input, &mut look));
    let missing: Vec<_> = own.difference(&reached).collect();
    assert!(is_done && other.len() >= elsewhere.len(), "no input has {missing:?}");
    let is_of_parts = |(name, _): &&(String, String)| {
        parts.iter().copied().flatten().any(|kind| kind.name == name)
    };
    let unlisted: Vec<_> = reached.difference(&rows).filter(|row| !is_of_parts(row)).collect();
    assert!(unlisted.is_empty(), "KINDS does not list {unlisted:?}");
}

/// Looks at an input with changes, until `look` has seen all.
pub(super) fn changed(input: &[u8], look: &mut dyn FnMut(Worn<'_>) -> bool) -> bool {
    for part in 0..32 {
        let end = input.len() * part / 32;
        let ended = Worn { end, ..Worn::whole(input) };
        let lost = Worn { lost: end, ..Worn::whole(input) };
        if [Worn::whole(&input[..end]), ended, lost].into_iter().any(&mut *look) {
            return true;
        }
    }
    let mut bytes = input.to_vec();
    let places = (0..input.len().min(512)).chain(input.len().saturating_sub(128)..input.len());
    for at in places {
        for value in [input[at] ^ 1, input[at] ^ 0x80, 0, 0xFF] {
            bytes[at] = value;
            if look(Worn::whole(&bytes)) {
                return true;
            }
        }
        bytes[at] = input[at];
    }
    // A slot of a list, without the end of a text, and inside of a character.
    (0..input.len().min(1 << 13) / 64).any(|slot| {
        let mut bytes = input.to_vec();
        bytes[64 * slot..][..64].fill(0xC3);
        look(Worn::whole(&bytes))
    })
}

#[test]
fn each_finding_of_gsd_is_reached() {
    let folders = [
        "tests/golden/gsd",
        "tests/golden/gsd_log",
        "fuzz/seeds/gsd_verify",
        "fuzz/seeds/gsd_recover",
        "fuzz/seeds/hoomd_read",
    ];
    check([gsd::FindingKind::KINDS, &[]], &folders, GSD, |file, each| {
        gsd::verify::verify(&file, Depth::Data, &mut |found| each(&found)).ok();
    });
}

#[test]
fn each_finding_of_cdf_is_reached() {
    let folders = ["tests/golden/cdf", "fuzz/seeds/cdf_verify", "fuzz/seeds/cdf_open"];
    check([cdf::FindingKind::KINDS, &[]], &folders, CDF, |file, each| {
        cdf::verify(&file, &mut |found| each(&found)).ok();
    });
}

#[test]
fn each_finding_of_ffrecord_is_reached() {
    let folders = ["tests/golden/ffrecord", "fuzz/seeds/ffrecord_verify"];
    check([ffrecord::FindingKind::KINDS, &[]], &folders, FFRECORD, |file, each| {
        ffrecord::verify(&file, &mut |found| each(&found)).ok();
    });
}

#[test]
fn each_finding_of_maps_is_reached() {
    let folders = ["tests/golden/map", "fuzz/seeds/map_text", "fuzz/seeds/map_plain"];
    check([blob::map::FindingKind::KINDS, &[]], &folders, MAP, |file, each| {
        blob::map::verify(&file, &mut |found| each(&found)).ok();
    });
}

#[test]
fn each_finding_of_sion_is_reached() {
    let folders = [
        "fuzz/seeds/sion_verify",
        "fuzz/seeds/sion_set",
        "fuzz/seeds/sion_recover",
        "tests/golden/sion",
    ];
    check([sion::FindingKind::KINDS, &[]], &folders, SION, |file, each| {
        for files in [Set(vec![file]), Set::of(file)] {
            sion::verify(&files, &mut |_, found| each(&found)).ok();
        }
    });
}

#[test]
fn each_finding_of_blob_is_reached() {
    let folders = ["fuzz/seeds/blob_verify", "fuzz/seeds/blob_open"];
    check([blob::FindingKind::KINDS, cdf::FindingKind::KINDS], &folders, BLOB, |file, each| {
        let options = blob::verify::Options::default();
        blob::verify::verify(&Set::of(file), options, &mut |_, found| each(&found)).ok();
    });
}
