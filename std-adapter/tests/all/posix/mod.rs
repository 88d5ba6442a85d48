//! Files: made, written by offset, copied with their holes, published.

mod copy;
mod file;
mod publish;
mod sync;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::process::Command;

/// Runs the test `name` once more, in a process in which no file may become longer than `bytes`,
/// and returns true in that process.
fn in_a_process_with_file_limit(name: &str, bytes: u64) -> bool {
    const MARK: &str = "STRIAE_TEST_WITH_FILE_LIMIT";
    if std::env::var_os(MARK).is_some() {
        let maximum = getrlimit(Resource::Fsize).maximum;
        setrlimit(Resource::Fsize, Rlimit { current: Some(bytes), maximum }).unwrap();
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let child = Command::new(program).args(["--exact", name]).env(MARK, "").output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{:?}: {said}", child.status);
    false
}
