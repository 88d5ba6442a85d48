//! The program, run by tests.

use assert_cmd::Command;
use predicates::prelude::*;
use sha2::{Digest, Sha256};

pub(crate) fn striae(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
    command.args(args);
    command
}

/// What it prints; it must succeed and complain about nothing.
pub(crate) fn output(args: &[&str]) -> Vec<u8> {
    let assert = striae(args).assert().success().stderr("");
    assert.get_output().stdout.clone()
}

/// Runs and expects this exit status, and one line on stderr that contains `text`. Returns what it
/// prints.
pub(crate) fn refused(args: &[&str], status: i32, text: &str) -> Vec<u8> {
    let one_line = predicate::function(|stderr: &str| stderr.lines().count() == 1);
    let starts = predicate::str::starts_with("striae: ");
    let says = predicate::str::contains(text);
    let assert = striae(args).assert().code(status).stderr(one_line.and(starts).and(says));
    assert.get_output().stdout.clone()
}

pub(crate) fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
