//! The body of `blob_verify`: a set of up to four subfiles of any bytes.

use crate::mapping::check_dump;
use crate::split_set;
use std::num::NonZeroUsize;
use std::path::Path;
use striae::blob::recover::Recover;
use striae::blob::{OpenOptions, Set};
use striae::cdf::{Variable, whole};
use striae_inspect::blob::verify::{Options, verify};
use striae_inspect::finding::{Found, Severity};
use striae_inspect::size::{FACTOR, ROOM};

/// Bytes of a variable that are compared: a header may claim any number.
const MOST: usize = 1 << 12;

/// Bytes of a canonical file that are written.
const WRITTEN: u64 = 1 << 16;

/// The value of elements that no subfile has.
const FILL: [u8; 8] = [0xa5; 8];

/// Verifies the set in memory, and recovers it. If it is sound, all variables are read without an
/// error; without a subfile, each element is as before or has the fill value.
pub fn blob_verify(data: &[u8]) {
    let Some(files) = split_set(data) else { return };
    for file in &files {
        check_dump(file, |each| striae_inspect::blob::dump(file, each).is_ok());
    }
    let mut damage = 0;
    let each = &mut |number: u32, what: striae_inspect::blob::SetFinding| {
        let text = what.to_string();
        assert!(!text.contains('\n') && !text.is_empty());
        assert!(!what.facts().kind.is_empty(), "{text}");
        assert!(number < 4 || text.contains("missing"), "{text}");
        damage += u64::from(what.severity() == Severity::Damage);
    };
    let summary = verify(files.as_slice(), Options::default(), each).unwrap();
    assert_eq!(summary.damage, damage);

    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("a");
    for (number, file) in files.iter().enumerate() {
        std::fs::write(subfile(&path, number), file).unwrap();
    }
    let input = files.iter().map(|file| file.len() as u64).sum();
    recover(&path, damage > 0, input);
    // Records without values are as many as a header claims.
    if damage > 0 || summary.numrecs > data.len() as u64 {
        return;
    }
    let set = open(&path).unwrap();
    let all = fronts(&set);
    assert!(set.is_whole(), "{:?}", set.lost());
    for (lost, file) in files.iter().enumerate() {
        let name = subfile(&path, lost);
        std::fs::remove_file(&name).unwrap();
        if let Some(set) = open(&path) {
            check(&set, &fronts(&set), &all);
        }
        std::fs::write(&name, file).unwrap();
    }
}

fn subfile(path: &Path, number: usize) -> std::path::PathBuf {
    path.with_extension(format!("{number:04}"))
}

fn open(path: &Path) -> Option<Set> {
    OpenOptions::new().threads(NonZeroUsize::MIN).buffer(MOST).open(path).ok()
}

/// The first bytes of each variable.
fn fronts(set: &Set) -> Vec<Vec<u8>> {
    set.header().variables().map(|variable| front(set, variable)).collect()
}

fn front(set: &Set, variable: Variable<'_>) -> Vec<u8> {
    let (start, mut bytes) = (vec![0; variable.shape().len()], Vec::new());
    let region = whole(variable, &start);
    let read = set.read_pieces(variable, region, Some(FILL), &mut |piece| {
        bytes.extend_from_slice(piece);
        bytes.len() < MOST
    });
    read.unwrap();
    bytes.truncate(MOST);
    bytes
}

/// Each element of a decomposed variable is as before or has the fill value.
fn check(set: &Set, found: &[Vec<u8>], all: &[Vec<u8>]) {
    for ((variable, found), all) in set.header().variables().zip(found).zip(all) {
        if set.decomposition(variable).is_none() {
            continue; // another copy counts
        }
        let width = variable.nc_type().size() as usize;
        for (found, all) in found.chunks(width).zip(all.chunks(width)) {
            assert!(found == all || found == &FILL[..found.len()], "{}", variable.name());
        }
    }
}

/// What is recovered verifies, is as large as the input justifies, has the canonical header, and is
/// the same a second time; it is called sound only if the set verifies.
fn recover(path: &Path, is_damaged: bool, input: u64) {
    let Ok(recovery) = Recover::new().examine(path) else { return };
    assert!(!is_damaged || !recovery.is_complete(), "verify calls it damaged");
    let out = path.with_extension("nc");
    if recovery.bytes() > WRITTEN && recovery.bytes() <= FACTOR * input + 2 * ROOM {
        return; // it takes time
    }
    if let Err(error) = recovery.write(&out, &|_| {}) {
        assert!(recovery.bytes() > WRITTEN, "{error}");
        assert!(!out.exists());
        return;
    }
    let file = striae::cdf::File::open(&out).unwrap();
    assert_eq!(file.header().bytes(), recovery.set().header().bytes());
    let bytes = std::fs::read(&out).unwrap();
    assert!(bytes.len() as u64 <= FACTOR * input + 2 * ROOM, "{}", bytes.len());
    let each = &mut |what: striae_inspect::cdf::FindingKind| {
        assert_eq!(what.severity(), Severity::Note, "{what}");
    };
    striae_inspect::cdf::verify(&&bytes[..], each).unwrap();
    std::fs::remove_file(&out).unwrap();
    Recover::new().examine(path).unwrap().write(&out, &|_| {}).unwrap();
    assert_eq!(std::fs::read(&out).unwrap(), bytes);
    std::fs::remove_file(&out).unwrap();
}
