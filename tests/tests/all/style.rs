//! What the sources look like where no compiler looks: their lines, files and comments. (How long a
//! function may be is in `clippy.toml`.)

use super::spec_tables::root;
use std::collections::BTreeMap;
use std::process::Command;

const COLUMNS: usize = 100;
const LINES: usize = 500;

/// Files that are longer, and why.
const LONG: &[(&str, &str)] =
    &[("core/src/gsd/verdict.rs", "one judgement: its parts have one order, and are read in it")];

/// All Rust files, by their paths in the repository.
pub(super) fn sources() -> Vec<(String, String)> {
    let (mut all, mut folders) = (Vec::new(), vec![root()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap();
            if path.is_dir() && !name.starts_with('.') && name != "target" {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let place = path.strip_prefix(root()).unwrap().to_str().unwrap().to_owned();
                all.push((place, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(all.len() > 400, "{}", all.len());
    all.sort();
    all
}

/// The lines that break a rule, which is told the line before as well.
fn wrong(rule: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut wrong = Vec::new();
    for (place, text) in sources() {
        let mut before = "";
        for (number, line) in (1..).zip(text.lines()) {
            if rule(before.trim(), line) {
                wrong.push(format!("{place}:{number}: {}", line.trim()));
            }
            before = line;
        }
    }
    wrong
}

fn is_doc(line: &str) -> bool {
    line.starts_with("///") || line.starts_with("//!")
}

/// What rustfmt leaves as it is: rows of a table, which Markdown cannot break; lines of examples
/// that rustdoc hides; texts for people, which are broken where their own lines are.
fn may_be_long(line: &str) -> bool {
    let doc = line.strip_prefix("//!").or_else(|| line.strip_prefix("///"));
    doc.is_some_and(|doc| doc.trim_start().starts_with(['|', '#']))
        || line.ends_with('\\')
        || line.starts_with('"')
        || line.ends_with("\")]")
}

#[test]
fn a_line_has_at_most_100_columns() {
    let wrong = wrong(|_, line| line.chars().count() > COLUMNS && !may_be_long(line.trim()));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// On docs.rs the item above is not in sight.
#[test]
fn no_documentation_begins_with_the_item_above() {
    let begins = |line: &str| line.trim_start_matches([' ', '/', '!']).starts_with("The same");
    let wrong = wrong(|before, line| is_doc(line.trim()) && !is_doc(before) && begins(line));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_file_has_at_most_500_lines() {
    let is_long = |(place, text): &(String, String)| {
        text.lines().count() > LINES && LONG.iter().all(|(long, _)| long != place)
    };
    let long: Vec<_> = sources().into_iter().filter(is_long).map(|(place, _)| place).collect();
    assert!(long.is_empty(), "{long:#?}");
}

/// A package whose modules use only those before them.
struct House {
    folder: &'static str,
    /// The modules from the bottom.
    modules: &'static [&'static str],
    /// The least number of imports: fewer, and the test has not seen them.
    imports: usize,
}

/// `files` is the public name of a part of `store`.
const HOUSES: [House; 4] = [
    House {
        folder: "std-adapter/src/",
        modules: &[
            "shown", "crc32", "posix", "finding", "formats", "address", "error", "each", "direct",
            "copy", "lock", "publish", "store", "files", "verb", "ffrecord", "gsd", "cdf", "blob",
            "sion", "format", "map",
        ],
        imports: 400,
    },
    House {
        folder: "std-adapter/src/bin/striae/",
        modules: &[
            "size",
            "files",
            "signals",
            "printable",
            "failure",
            "part",
            "certainty",
            "progress",
            "log",
            "text",
            "sheet",
            "bench",
            "args",
            "quick",
            "flags",
            "leftovers",
            "dump",
            "verify",
            "map",
            "ffrecord",
            "gsd",
            "decomposition",
            "cdf",
            "blob",
            "sion",
            "rows",
        ],
        imports: 150,
    },
    House {
        folder: "mpi-adapter/src/",
        modules: &[
            "error",
            "operation",
            "collective",
            "words",
            "comm",
            "threads",
            "mpi",
            "direct",
            "file",
            "collect",
            "gsd",
            "blob",
            "sion",
        ],
        imports: 200,
    },
    House {
        folder: "mpi-adapter/src/bin/striae-mpi/",
        modules: &["text", "verify", "convert", "blob", "set", "args"],
        imports: 6,
    },
];

/// What is named again at the root of a package, with the module that it is from.
fn named_again(lib: &str) -> BTreeMap<&str, &str> {
    let uses = lib.split("pub use ").skip(1);
    let paths = uses.filter_map(|path| path.split(';').next().unwrap().split_once("::"));
    let mut again = BTreeMap::new();
    for (module, names) in paths {
        let names = names.trim_matches(['{', '}']).split(',');
        again.extend(names.map(|name| (name.trim(), module)));
    }
    again
}

/// The modules that a text imports from the root of its package, each with its line.
fn imports(text: &str) -> Vec<(String, &str)> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let mut used = Vec::new();
    for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
        for path in line.split("crate::").skip(1) {
            let is_name = |c: char| c == '_' || c.is_alphanumeric();
            let (name, rest) = path.split_at(path.find(|c| !is_name(c)).unwrap_or(path.len()));
            match path.strip_prefix('{') {
                Some(list) => {
                    let names = list.split('}').next().unwrap().split(',').map(str::trim);
                    let first = |path: &str| path.split("::").next().unwrap().to_owned();
                    used.extend(names.map(|name| (first(name), line.trim())));
                }
                None if rest.starts_with('!') => {} // macros
                None => used.push((name.to_owned(), line.trim())),
            }
        }
    }
    used
}

#[test]
fn no_import_of_an_adapter_goes_up() {
    let sources = sources();
    for House { folder, modules, imports: least } in HOUSES {
        let level = |name: &str| modules.iter().position(|module| *module == name);
        let lib = format!("{folder}lib.rs");
        let lib = sources.iter().find(|(place, _)| *place == lib);
        let again = lib.map_or(BTreeMap::new(), |(_, text)| named_again(text));
        let (mut up, mut seen) = (Vec::new(), 0);
        for (place, text) in &sources {
            let Some(inside) = place.strip_prefix(folder) else { continue };
            let own = inside.split(['/', '.']).next().unwrap();
            if matches!(own, "bin" | "lib" | "main")
                || inside == "store/law.rs"
                || inside.ends_with("/tests.rs")
            {
                continue; // the programs, the list of modules, tests
            }
            let own = level(own).unwrap_or_else(|| panic!("{place} has no place in the house"));
            for (name, line) in imports(text) {
                if name == "striae_core" {
                    continue; // what is named again at the root
                }
                seen += 1;
                let name = again.get(name.as_str()).copied().unwrap_or(&name);
                if level(name).is_none_or(|level| level > own) {
                    up.push(format!("{place}: {line}"));
                }
            }
        }
        assert!(up.is_empty() && seen > least, "{folder}: {seen} imports: {up:#?}");
    }
}

/// Public enums of core that `defmt` cannot print, and why.
const NOT_LOGGED: &[(&str, &str)] = &[
    ("Opened", "it has the store, which may be anything"),
    ("$Reason", "an enum of a package that allocates, which firmware does not have"),
];

/// Firmware logs errors, verdicts and states by `defmt`: each enum that core shows, and each struct
/// that is an error, has `defmt::Format` under the feature `defmt`.
#[test]
fn firmware_can_log_each_error_and_state() {
    let (mut missing, mut seen) = (Vec::new(), 0);
    for (place, text) in sources().iter().filter(|(place, _)| place.starts_with("core/src/")) {
        let mut attributes = String::new();
        for line in text.lines().map(str::trim_start) {
            if line.starts_with("#[") || is_doc(line) {
                attributes.push_str(line);
                continue;
            }
            let attributes = core::mem::take(&mut attributes);
            let name = |rest: &str| rest.split(['<', ' ', ';', '(']).next().unwrap().to_owned();
            // A table of errors derives it for its enum.
            let shown = line.strip_prefix("pub enum ").filter(|_| !line.ends_with(';')).map(name);
            let error = line.strip_prefix("pub struct ").map(name);
            let error = error.filter(|name| text.contains(&format!("error::Error for {name} ")));
            let Some(name) = shown.or(error) else { continue };
            seen += 1;
            let is_logged = attributes.contains("derive(defmt::Format)");
            if is_logged == NOT_LOGGED.iter().any(|(not, _)| *not == name) {
                missing.push(format!("{place}: {name}"));
            }
        }
    }
    assert!(missing.is_empty() && seen > 40, "{missing:#?} of {seen}");
}

/// The rule is younger than many commits.
#[test]
fn the_subject_of_a_commit_has_at_most_72_columns() {
    let git = ["log", "--since=2026-11-22T14:00Z", "--no-merges", "--format=%s"];
    let Ok(log) = Command::new("git").arg("-C").arg(root()).args(git).output() else { return };
    let log = String::from_utf8(log.stdout).unwrap(); // nothing where there is no history
    let long: Vec<_> = log.lines().filter(|subject| subject.chars().count() > 72).collect();
    assert!(long.is_empty(), "{long:#?}");
}
