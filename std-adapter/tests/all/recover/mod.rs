//! Sets that were never closed, or are damaged, become closed ones; what is a guess is said.

mod histories;
mod library;
mod mapping;
#[cfg(feature = "cli")]
mod program;
mod sealed;
mod sets;
mod sparse;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use striae::sion::File;
use striae_kit::golden_sets::{GoldenSet, golden_set};
use tempfile::TempDir;

/// A copy of a golden set whose files may be damaged.
pub(crate) struct Copy {
    pub(crate) dir: TempDir,
    pub(crate) files: Vec<PathBuf>,
}

impl Copy {
    pub(crate) fn of(set: &GoldenSet) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let name = |path: &PathBuf| dir.path().join(path.file_name().unwrap());
        let files: Vec<_> = set.paths.iter().map(name).collect();
        for (from, to) in set.paths.iter().zip(&files) {
            fs::copy(from, to).unwrap();
        }
        Self { dir, files }
    }

    pub(crate) fn named(name: &str) -> Self {
        Self::of(&golden_set(name))
    }

    pub(crate) fn main(&self) -> &Path {
        &self.files[0]
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Names of all files in the folder.
    #[cfg(feature = "cli")]
    pub(crate) fn names(&self) -> std::collections::BTreeSet<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

/// All streams of a closed set.
pub(crate) fn streams(path: &Path) -> Vec<Vec<u8>> {
    let file = File::open(path).unwrap();
    let stream = |task| {
        let mut bytes = Vec::new();
        file.stream(task).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    };
    (0..file.ntasks()).map(stream).collect()
}
