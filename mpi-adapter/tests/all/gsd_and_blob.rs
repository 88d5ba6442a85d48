//! A program that writes and reads a GSD file and a blob set: whatever happens to a rank at any
//! operation, all others get the same error.

use crate::common::gsd_and_blob;
use crate::world::{Sweep, ranks};
use striae::gsd::Durability;

#[test]
fn the_files_are_read_as_they_were_written() {
    for size in [1, 2, 3, 5, 8] {
        let folder = tempfile::tempdir().unwrap();
        let done = ranks(size, |comm| {
            gsd_and_blob::write_and_read(comm, folder.path(), Durability::OnCommit)
        });
        assert_eq!(done, vec![Ok(()); size as usize]);
        gsd_and_blob::check(folder.path(), size);
    }
}

#[test]
fn whatever_happens_to_a_rank_the_others_get_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("of_a_run");
    let before = || {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
    };
    let mut runs = 0;
    Sweep::new(3).run(
        before,
        |comm, ()| gsd_and_blob::write_and_read(comm, &folder, Durability::None),
        |_, ()| runs += 1,
    );
    assert!(runs > 400, "{runs}");
}
