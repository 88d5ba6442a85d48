//! What tests of writers share, whatever the format: child processes, folders, numbers, warnings.

pub mod denying;
pub mod killed;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, Once};

/// Names in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<_> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

/// This program once more, to run only the test `test`, which must be an ignored one, with
/// `argument`.
pub fn child(test: &str, argument: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(ARGUMENT, argument).stdin(Stdio::null());
    command
}

/// What [`child`] was given, if this process is one.
pub fn argument() -> Option<String> {
    std::env::var(ARGUMENT).ok()
}

const ARGUMENT: &str = "STRIAE_TEST_ARGUMENT";

/// Runs a child, which must succeed, and shows the line that has one of `words` in it.
pub fn run(mut child: Command, words: &[&str]) {
    let output = child.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{}\n{text}\n{errors}", output.status);
    let said = |line: &&str| words.iter().any(|word| line.contains(word));
    println!("{}", text.lines().find(said).unwrap());
}

/// Limits the size of this process's files, or, with `u64::MAX`, does not.
pub fn set_limit(bytes: u64) {
    let maximum = getrlimit(Resource::Fsize).maximum;
    let current = Some(bytes).filter(|&bytes| bytes < u64::MAX).or(maximum);
    setrlimit(Resource::Fsize, Rlimit { current, maximum }).unwrap();
}

/// Bits that look random: number `i` of those of `seed`.
pub fn bits(seed: u64, i: usize) -> u64 {
    (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed.wrapping_mul(0x0101_1357))
}

/// Numbers that look random, the same ones each time.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// One below `below`.
    pub fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % below
    }

    pub fn index(&mut self, below: usize) -> usize {
        self.below(below as u64) as usize
    }
}

/// What was logged, by all tests of this program.
static LOGGED: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        match record.level() {
            log::Level::Warn => LOGGED.lock().unwrap().push(record.args().to_string()),
            level => assert_eq!(level, log::Level::Info), // how a file is read past the page cache
        }
    }

    fn flush(&self) {}
}

/// From here on, [`warnings`] knows what is logged.
pub fn keep_warnings() {
    static INSTALL: Once = Once::new();
    INSTALL.call_once(|| log::set_logger(&Logger).unwrap());
    log::set_max_level(log::LevelFilter::Trace);
}

/// What was logged of the file at `path`.
pub fn warnings(path: &Path) -> Vec<String> {
    let name = path.to_str().unwrap();
    LOGGED.lock().unwrap().iter().filter(|text| text.contains(name)).cloned().collect()
}
