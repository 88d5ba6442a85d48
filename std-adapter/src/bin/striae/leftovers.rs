//! Reports hidden folders that killed runs left in the folder of the output.

use crate::args::{Made, Verb, VerbArgs};
use crate::failure::complain;
use indicatif::BinaryBytes;
use std::path::{Path, PathBuf};
use striae::publish::{Leftover, leftovers};

/// Reports what was left in a folder, one line for each.
pub(crate) fn name_those_in(folder: &Path) {
    // If the folder cannot be listed, the verb reports that if it matters.
    for leftover in leftovers(folder).unwrap_or_default() {
        complain(&words(&leftover));
    }
}

/// The folder of the verb's output, if it makes files.
pub(crate) fn folder_of(verb: &Verb) -> Option<PathBuf> {
    let made = match verb {
        Verb::File(verb) => verb.args().makes(),
        Verb::Pack(args) => args.makes(),
        Verb::Bench { .. } | Verb::Completions { .. } | Verb::Man { .. } => Made::Nothing,
    };
    let out = match made {
        Made::Nothing => return None,
        Made::Folder(folder) => return Some(folder.to_owned()),
        Made::File(out) | Made::Picture(out) => out,
    };
    // If OUT is a symbolic link, the output is made in the folder of its target.
    let is_link = std::fs::symlink_metadata(out).is_ok_and(|out| out.is_symlink());
    let target = std::fs::canonicalize(out).ok().filter(|_| is_link);
    let out = target.as_deref().unwrap_or(out);
    let parent = out.parent().filter(|parent| !parent.as_os_str().is_empty());
    Some(parent.unwrap_or(Path::new(".")).to_owned())
}

fn words(leftover: &Leftover) -> String {
    let path = leftover.path.display();
    let who = match leftover.is_certain {
        true => "was left by a run that was killed",
        false => "was left by a run that was killed, or belongs to a run in progress",
    };
    let (files, bytes) = (leftover.files, BinaryBytes(leftover.bytes));
    let replaced = match leftover.replaced {
        0 => String::new(),
        n => format!(" and {n} replaced files in its folder replaced (check them first)"),
    };
    let remove = quoted(&leftover.path);
    format!("{path} {who}: {files} files{replaced}, {bytes}; rm -r {remove} removes it")
}

/// A path, quoted so that a shell reads it as one word.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,:@%".contains(c);
    let dash = if text.starts_with('-') { "./" } else { "" };
    match text.chars().all(is_plain) {
        true => format!("{dash}{text}"),
        false => format!("'{dash}{}'", text.replace('\'', r"'\''")),
    }
}
