//! What the program does, as one recorded table: every verb and option on every golden file, on
//! damaged copies of them, and pairs of options.
//!
//! A line of `table.txt` is a run: exit status, hashes of standard output, of standard error and of
//! what was written (`-` if there is none), arguments. A line of options starts with `=`, and with
//! the exit status for each kind of file. A change of the program leaves the table as it
//! is, or says in its commit what changes for users. `STRIAE_RECORD=1` writes the table anew:
//!
//! ```text
//! STRIAE_RECORD=1 cargo test -p striae --test all recorded::
//! ```

mod cases;
mod options;

use crate::in_memory;
use crate::run::hex_sha256;
use cases::{Case, FOLDERS, Rule};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/recorded/table.txt");

/// Number of threads that run the program; each has its own copies of the files.
const THREADS: usize = 2;

/// How many lines that differ are shown.
const SHOWN: usize = 40;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden")
}

/// Files in a folder and below, sorted.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files.sort();
    files
}

/// Makes the inputs in `folder`: the golden files, and copies of all of them: one a way of damage.
fn make_inputs(folder: &Path) {
    let golden = golden();
    for part in FOLDERS {
        for path in files_below(&golden.join(part)) {
            let name = path.strip_prefix(&golden).unwrap();
            let bytes = fs::read(&path).unwrap();
            let copies = Rule::ALL.into_iter().map(|rule| {
                (folder.join(rule.name()).join(name), rule.damage(name, bytes.clone()))
            });
            for (path, bytes) in copies.chain([(folder.join(name), bytes.clone())]) {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
    }
}

/// The first digits of the SHA-256 of some bytes; `-` if there are none.
fn short_hash(bytes: &[u8]) -> String {
    match bytes {
        [] => "-".to_owned(),
        bytes => hex_sha256(bytes).chars().take(10).collect(),
    }
}

/// Names and bytes of the files that were written.
fn written(out: &Path) -> Vec<u8> {
    let mut all = Vec::new();
    for path in files_below(out) {
        let name = path.strip_prefix(out).unwrap().to_str().unwrap();
        all.extend_from_slice(format!("{name}\n{}\n", path.metadata().unwrap().len()).as_bytes());
        all.extend(without_identity(fs::read(path).unwrap()));
    }
    all
}

/// A file without the random identity of its SIONlib set, if it has one, and the checksum over it.
fn without_identity(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(trailer) = bytes.len().checked_sub(64)
        && bytes.ends_with(b"striae SION seal")
    {
        bytes[trailer + 28..trailer + 32].fill(0);
        bytes[trailer + 44..trailer + 48].fill(0);
    }
    bytes
}

/// What a run of the program did.
struct Outcome {
    status: i32,
    stdout: Vec<u8>,
    stderr: Vec<u8>,
    written: Vec<u8>,
}

impl Outcome {
    /// Runs a case in `folder`, where the inputs are.
    fn of(case: &Case, folder: &Path) -> Self {
        let out = folder.join("out");
        let _ = fs::remove_dir_all(&out);
        fs::create_dir(&out).unwrap();
        for name in &case.copied {
            let name = folder.join(name);
            fs::copy(&name, out.join(name.file_name().unwrap())).unwrap();
        }
        let program = Command::new(env!("CARGO_BIN_EXE_striae"))
            .args(&case.args)
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let written = written(&out);
        let status = program.status.code();
        let (stdout, stderr) = (program.stdout, program.stderr);
        let status = status.unwrap_or_else(|| panic!("{}: ended by a signal", case.name()));
        // A panic has status 101.
        let says = String::from_utf8_lossy(&stderr);
        assert!((0..=2).contains(&status), "{}: status {status}: {says}", case.name());
        Self { status, stdout, stderr, written }
    }
}

/// Runs each case with `run`, and returns the results in the order of the cases.
fn each<T: Send>(cases: &[Case], run: impl Fn(&Case, &Path) -> T + Sync) -> Vec<T> {
    let share = |first: usize| {
        let folder = in_memory();
        make_inputs(folder.path());
        let mine = cases.iter().enumerate().skip(first).step_by(THREADS);
        mine.map(|(number, case)| (number, run(case, folder.path()))).collect::<Vec<_>>()
    };
    let done: BTreeMap<_, _> = std::thread::scope(|scope| {
        let share = &share;
        let threads: Vec<_> = (0..THREADS).map(|first| scope.spawn(move || share(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    done.into_values().collect()
}

/// The line of a case.
fn line(case: &Case, folder: &Path) -> String {
    let Outcome { status, stdout, stderr, written } = Outcome::of(case, folder);
    let [stdout, stderr, written] = [stdout, stderr, written].map(|bytes| short_hash(&bytes));
    format!("{status} {stdout} {stderr} {written} {}", case.name())
}

/// The lines of all cases; those of pairs of options have the statuses for all kinds of files.
fn table() -> String {
    let cases = cases::all();
    let pairs = options::pairs();
    let mut lines = each(&cases, line);
    let all: Vec<_> = pairs.iter().flat_map(|pair| pair.cases.iter().cloned()).collect();
    let mut outcomes = each(&all, |case, folder| {
        let Outcome { status, stdout, stderr, written } = Outcome::of(case, folder);
        (status, [stdout, stderr, written].concat())
    })
    .into_iter();
    for pair in &pairs {
        let (mut statuses, mut bytes) = (String::new(), Vec::new());
        for (status, of_case) in outcomes.by_ref().take(pair.cases.len()) {
            write!(statuses, "{status}").unwrap();
            bytes.extend(of_case);
        }
        lines.push(format!("={statuses} {} {}", short_hash(&bytes), pair.name));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The arguments of a line, without the results.
fn arguments(line: &str) -> &str {
    line.splitn(if line.starts_with('=') { 3 } else { 5 }, ' ').last().unwrap()
}

#[test]
fn the_program_does_what_is_recorded() {
    let table = table();
    if std::env::var_os("STRIAE_RECORD").is_some() {
        fs::write(TABLE, table).unwrap();
        return;
    }
    let recorded = fs::read_to_string(TABLE).unwrap();
    let old: BTreeMap<_, _> = recorded.lines().map(|line| (arguments(line), line)).collect();
    let new: BTreeMap<_, _> = table.lines().map(|line| (arguments(line), line)).collect();
    assert_eq!(new.len(), table.lines().count(), "two cases have one name");
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name));
    let gone = gone.map(|(_, line)| format!("- {line}"));
    let changed = new.iter().filter(|(name, line)| old.get(*name) != Some(line));
    let changed = changed.map(|(name, line)| match old.get(name) {
        Some(old) => format!("- {old}\n+ {line}"),
        None => format!("+ {line}"),
    });
    let all: Vec<_> = gone.chain(changed).collect();
    let shown = all.iter().take(SHOWN).cloned().collect::<Vec<_>>().join("\n");
    assert!(all.is_empty(), "{} of {} runs differ:\n{shown}", all.len(), new.len());
}
