//! What is reported if only one file of a SIONlib set was read.

use crate::failure::complain;
use serde::Serialize;
use std::path::Path;
use striae::{shown, sion};

/// The only file of a set that was read, in JSON.
#[derive(Serialize)]
pub(crate) struct PartOfSet {
    file: u32,
    files: u32,
    /// The name of the set, if it follows from the name of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<String>,
}

impl PartOfSet {
    pub(crate) fn new(part: sion::PartOfSet, path: &Path) -> Self {
        let set = sion::set_path(part, path).map(|set| set.to_string_lossy().into_owned());
        Self { file: part.file, files: part.files, set }
    }
}

/// Reports if only one file of a set was read. `done` says what was done with it: read, checked.
pub(crate) fn complain_of_part(part: Option<sion::PartOfSet>, path: &Path, done: &str) {
    let Some(part) = part else { return };
    let set = match sion::set_path(part, path) {
        Some(set) => format!(" {}", shown::path(&set)),
        None => String::new(),
    };
    let (file, files) = (part.file, part.files);
    complain(&format!(
        "{}: is file {file}, counted from 0, of the {files} files of the set{set}; only it was \
         {done}",
        shown::path(path)
    ));
}
