//! How many requests sets of blob files and their maps make of a store far away.

use std::path::{Path, PathBuf};
use striae_core::store::ReadAhead;
use striae_inspect::blob::map::Map;
use striae_inspect::blob::subfile::{Head, Subfile, bytes_of};
use striae_kit::far::Far;

/// The golden files in a folder and its folders whose names have this.
pub(crate) fn golden(folder: &str, part: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let mut folders =
        vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden").join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.file_name().unwrap().to_str().unwrap().contains(part) {
                files.push((path.clone(), std::fs::read(path).unwrap()));
            }
        }
    }
    files
}

/// So much memory that the file is held, and so much that it is not read whole.
fn memories(bytes: &[u8]) -> [usize; 2] {
    [1 << 16, (2 * bytes.len()).saturating_sub(17)]
}

#[test]
fn a_subfile_takes_three_requests_to_open_and_one_for_each_list() {
    let files = golden("blob", "blob_h1");
    assert!(files.len() >= 16, "{}", files.len());
    for (path, bytes) in files {
        for memory in memories(&bytes) {
            let (far, mut memory) = (Far::new(&bytes), vec![0; memory]);
            let store = ReadAhead::new(&far, &mut memory);
            let head = Head::read(&store).unwrap();
            let opened = far.asked().0;
            let subfile = Subfile::examine(&store, &head, &mut Err).unwrap();
            let tables = far.asked().0 - opened;
            assert!(opened <= 3 && tables <= 1, "{path:?}: {opened}, {tables}");
            for blob in 0..subfile.nblobs {
                for decomposition in 0..head.grammar.canonical.decompositions.len() {
                    for (span, _) in subfile.requests(blob, decomposition).unwrap() {
                        let before = far.asked().0;
                        bytes_of(&store, span).unwrap();
                        assert!(far.asked().0 - before <= 1);
                    }
                }
            }
        }
    }
}

#[test]
fn a_map_takes_three_requests_to_open_and_one_for_each_decomposition() {
    let files = golden("map", "map_");
    assert_eq!(files.len(), 4);
    for (path, bytes) in files {
        for memory in memories(&bytes) {
            let (far, mut memory) = (Far::new(&bytes), vec![0; memory]);
            let store = ReadAhead::new(&far, &mut memory);
            let map = Map::read(&store).unwrap();
            let (asked, lists) = (far.asked().0, map.decompositions().len() as u64);
            assert!(asked <= 3 + lists, "{path:?}: {asked} for {lists}");
        }
    }
}
