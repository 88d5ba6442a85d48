//! `spec/limits.md` has each limit of the code, with its value and a law that is there.

use super::spec_tables::root;
use std::collections::BTreeSet;
use std::path::Path;

/// What the name of a limit contains.
const WORDS: [&str; 5] = ["MAX", "MOST", "LONGEST", "LARGEST", "LAST_OFFSET"];

/// Packages of which each such constant has a row, but for their programs. Their paths begin the
/// place in a row.
const PACKAGES: [&str; 5] =
    ["core/src/", "core/inspect/src/", "core/hoomd/src/", "std-adapter/src/", "mpi-adapter/src/"];

/// Constants that have such a name and are no limit of a call: lengths of structures and buffers,
/// how much is read or sent together, and what the compiler refuses.
const OTHERS: [(&str, &str); 10] = [
    ("core/src/sion/disk/meta1.rs", "MAX_LEN"),
    ("mpi-adapter/src/blob/lost.rs", "MAX_TEXT"),
    ("mpi-adapter/src/collect/handle.rs", "MOST_PLACES"),
    ("mpi-adapter/src/collective.rs", "MAX_VALUES"),
    ("mpi-adapter/src/sion/part/rounds.rs", "MOST"),
    ("std-adapter/src/blob/plan.rs", "MOST"),
    ("std-adapter/src/blob/tasks.rs", "MOST_GROUPS"),
    ("std-adapter/src/cdf/runs.rs", "MOST"),
    ("std-adapter/src/direct/device.rs", "MOST"),
    ("std-adapter/src/gsd/window.rs", "MOST"),
];

/// The Rust files under a folder: path in the repository, text.
fn sources(folder: &Path, all: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "target" && !name.starts_with('.') {
            sources(&path, all);
        } else if name.ends_with(".rs") {
            let place = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
            all.push((place, std::fs::read_to_string(path).unwrap()));
        }
    }
}

/// The constants of a text: name and value.
fn constants(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (start, rest) = line.split_once("const ")?;
        let (name, rest) = rest.split_once(": ")?;
        let (_, value) = rest.split_once(" = ")?;
        let is_plain = !start.contains("//") && name.bytes().all(|byte| byte != b' ');
        is_plain.then_some((name, value.strip_suffix(';')?))
    })
}

/// The rows that name a constant.
fn rows(text: &str) -> impl Iterator<Item = &str> {
    let is_row = |line: &&str| PACKAGES.iter().any(|it| line.contains(&format!("` in {it}")));
    text.lines().filter(is_row)
}

#[test]
fn each_limit_is_written_down_and_has_a_law() {
    let mut all = Vec::new();
    sources(&root(), &mut all);
    let text = std::fs::read_to_string(root().join("spec/limits.md")).unwrap();
    let (mut written, mut wrong) = (BTreeSet::new(), Vec::new());
    for line in rows(&text) {
        let cells: Vec<_> = line.split('|').map(str::trim).collect();
        let ["", _, value, constant, law, ""] = cells[..] else { panic!("{line}") };
        let (name, file) = constant.split_once("` in ").unwrap();
        let [name, value, law] =
            [name, value, law].map(|cell| cell.trim_end_matches(" \\*").trim_matches('`'));
        let source = all.iter().find(|(place, _)| place == file);
        let found = source.and_then(|(_, text)| constants(text).find(|one| *one == (name, value)));
        if found.is_none() {
            wrong.push(format!("{file}: no {name} = {value}"));
        }
        if !all.iter().any(|(_, text)| text.contains(&format!("fn {law}("))) {
            wrong.push(format!("{name}: no law {law}"));
        }
        written.insert((file, name));
    }
    assert!(written.len() > 50, "{}", written.len());
    for (place, text) in &all {
        for (name, _) in constants(text) {
            let is_limit = PACKAGES.iter().any(|package| place.starts_with(package))
                && !place.contains("/bin/")
                && WORDS.iter().any(|word| name.contains(word))
                && !OTHERS.contains(&(place, name));
            if is_limit && !written.contains(&(place.as_str(), name)) {
                wrong.push(format!("{place}: {name} is not in spec/limits.md"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
