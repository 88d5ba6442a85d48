//! GSD files through the library and the program: files that gsd wrote, and damaged ones.

mod damaged;
mod dump;
mod extract;
mod find;
mod golden;
mod library;
mod live;
mod program;
mod replace;
mod shared;

use assert_cmd::Command;
use golden::{Golden, golden, name_of, valid_files};
use predicates::prelude::*;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs;

fn striae(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> Vec<u8> {
    let assert = striae(args).assert().success().stderr("");
    assert.get_output().stdout.clone()
}

fn text(args: &[&str]) -> String {
    String::from_utf8(output(args)).unwrap()
}

fn parsed(args: &[&str]) -> Value {
    serde_json::from_slice(&output(args)).unwrap()
}

/// Runs and expects this exit status, and one line on stderr that contains `text`.
fn refused(args: &[&str], status: i32, text: &str) -> Vec<u8> {
    let one_line = predicate::function(|stderr: &str| stderr.lines().count() == 1);
    let starts = predicate::str::starts_with("striae: ");
    let says = predicate::str::contains(text);
    let assert = striae(args).assert().code(status).stderr(one_line.and(starts).and(says));
    assert.get_output().stdout.clone()
}

fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
