//! How much memory a set of many tasks takes.
//!
//! A program of its own, with little in it: what is used of a program counts as memory, too.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use striae::sion::{Builder, Durability};
use striae_kit::adapter::{argument, child};

const TASKS: u64 = 1 << 18;

/// Bytes that do not depend on the number of tasks: windows of tables.
const WINDOWS: u64 = 1 << 18;

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[test]
#[ignore = "the process that is measured"]
fn process() {
    let Some(argument) = argument() else { return };
    if argument != "nothing" {
        let chunksizes = (0..TASKS).map(|task| 512 + task % 1000).collect();
        let globalranks = (0..TASKS).map(|task| task as i64 * 3).collect();
        let builder = Builder::new(TASKS).chunksizes(chunksizes).globalranks(globalranks);
        let builder = builder.fsblksize(512).durability(Durability::None);
        builder.create(argument).unwrap().close().unwrap();
    }
    println!("\npeak {}", peak());
}

fn peak_of(argument: &str) -> u64 {
    let output = child("process", argument).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let peak = text.lines().find_map(|line| line.strip_prefix("peak "));
    peak.unwrap_or_else(|| panic!("{text}")).parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn a_set_of_many_tasks_is_created_and_closed_in_24_bytes_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sion");
    let nothing = peak_of("nothing");
    let all = peak_of(path.to_str().unwrap());
    let bytes = all.saturating_sub(nothing);
    println!("memory: {} bytes a task", bytes as f64 / TASKS as f64);
    assert!(bytes <= 24 * TASKS + WINDOWS, "{bytes} bytes for {TASKS} tasks");
}
