//! Tests that no store reports success after a failed sync.
#![allow(clippy::unwrap_used, reason = "a test: a panic fails it")]

use super::Gatherer;
use crate::direct::{Policy, Writer};
use crate::posix::{PosixFile, SyncFailed};
use rustix::io::Errno;
use std::io;
use std::path::Path;
use striae_core::store::{ReadAt, WriteAt};
use striae_kit::adapter::denying::on_a_failing_disk;

/// Makes a store of a file.
type Make = fn(&PosixFile, usize) -> Box<dyn Store + '_>;

/// All stores that write, by the name that the code has for them.
const KINDS: [(&str, Make); 4] = [
    ("PosixFile", |file, _| Box::new(file.same().unwrap())),
    ("&PosixFile", |file, _| Box::new(file)),
    ("Gatherer", |file, capacity| Box::new(Gatherer::new(file, capacity).unwrap())),
    ("Writer", |file, capacity| {
        let policy = if capacity == 0 { Policy::Off } else { Policy::Preferred };
        Box::new(Writer::new(file.same().unwrap(), policy).unwrap())
    }),
];

trait Store: WriteAt<Error = io::Error> + Send {}
impl<S: WriteAt<Error = io::Error> + Send> Store for S {}

/// With each store, and another descriptor of its file.
fn with_store(durable: bool, check: impl Fn(&PosixFile, &mut dyn Store)) {
    // On a disk, for direct writing.
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for (name, store) in KINDS {
        for capacity in [0, 7, 1 << 20] {
            let path = folder.path().join(format!("{name} {capacity}"));
            let file = PosixFile::create(&path, false).unwrap();
            let other = file.same().unwrap().durable(durable);
            check(&file, &mut *store(&other, capacity));
        }
    }
}

fn is_lost(result: io::Result<()>) -> bool {
    result.is_err_and(|error| error.get_ref().is_some_and(|error| error.is::<SyncFailed>()))
}

/// Checks the contract of [`WriteAt::sync`] for stores whose next success would not cover lost
/// data.
#[test]
fn a_store_goes_on_failing_after_a_failed_sync() {
    with_store(true, |file, store| {
        store.write_all_at(0, b"first").unwrap();
        store.sync().unwrap();
        store.write_all_at(5, b"second").unwrap();
        let error = on_a_failing_disk(|| store.sync().unwrap_err());
        assert_eq!(Errno::from_io_error(&error), Some(Errno::IO));
        // Whatever is done now, and though the disk could again.
        for _ in 0..2 {
            assert!(is_lost(store.sync()));
            store.write_all_at(5, b"second").unwrap();
            assert!(is_lost(store.sync()));
            store.set_size(11).unwrap();
            assert!(is_lost(store.sync()));
        }
        assert!(is_lost(file.sync()));
    });
}

#[test]
fn a_store_fails_after_a_failed_sync_of_another_descriptor() {
    for durable in [true, false] {
        with_store(durable, |file, store| {
            store.write_all_at(0, b"first").unwrap();
            on_a_failing_disk(|| file.sync().unwrap_err());
            assert!(is_lost(store.sync()));
        });
    }
}

#[test]
fn a_store_that_is_not_durable_does_not_ask_the_disk() {
    with_store(false, |file, store| {
        store.write_all_at(0, b"bytes").unwrap();
        on_a_failing_disk(|| store.sync().unwrap());
        let mut bytes = [0; 5];
        file.read_exact_at(0, &mut bytes).unwrap();
        assert_eq!(&bytes, b"bytes");
    });
}

/// The types for which `code` implements [`WriteAt`], without parameters.
fn implementors(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().filter(|line| line.starts_with("impl"));
    let names = lines.filter_map(|line| line.split_once(" WriteAt for ")).map(|(_, name)| name);
    names.filter_map(|name| name.split([' ', '<']).next())
}

fn visit(path: &Path, found: &mut Vec<String>) {
    if path.is_dir() {
        path.read_dir().unwrap().for_each(|entry| visit(&entry.unwrap().path(), found));
    } else {
        let code = std::fs::read_to_string(path).unwrap();
        found.extend(implementors(&code).map(str::to_owned));
    }
}

#[test]
fn all_that_writes_is_in_few_places_and_the_law_is_checked_of_it() {
    let (source, [mut all, mut here]) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), [const { Vec::new() }; 2]);
    visit(&source, &mut all);
    for place in ["posix", "store", "direct"] {
        visit(&source.join(place), &mut here);
    }
    assert_eq!(all.len(), here.len(), "{all:?}, {here:?}");
    let mut checked = KINDS.map(|(name, _)| name);
    checked.sort_unstable();
    here.sort_unstable();
    assert_eq!(here, checked);
}
