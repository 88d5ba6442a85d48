//! A folder in the place of a file.

use crate::common::calls::{self, State};
use crate::world::ranks;
use striae_mpi::Code;

#[test]
fn a_folder_as_path_is_one_clear_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.sion", "a.gsd", "a", "a.0000"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    for call in calls::calls(State::Fresh).iter().filter(|call| **call != "drop") {
        let make = |comm| calls::make(comm, State::Fresh, call, folder.path());
        let errors: Vec<_> = ranks(3, make).into_iter().map(Option::unwrap).collect();
        assert!(errors.iter().all(|error| *error == errors[0]), "{call}: {errors:?}");
        let told = (errors[0].code(), errors[0].rank());
        assert_eq!(told, (Code::Io(21), Some(0)), "{call}"); // EISDIR
        let text = errors[0].to_string().to_lowercase();
        let path = folder.path().display().to_string().to_lowercase();
        assert!(text.contains("is a directory") && text.contains(&path), "{call}: {text}");
    }
}
