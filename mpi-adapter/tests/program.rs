//! The program `striae-mpi`, as threads of a process and under MPI.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test: a panic fails it")]

use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_striae-mpi");

fn output(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap()
}

fn as_threads(ranks: u32, args: &[&str]) -> Output {
    output(Command::new(PROGRAM).args(["--threads", &ranks.to_string()]).args(args))
}

/// Under the launcher that `MPIEXEC` names.
fn as_processes(ranks: u32, args: &[&str]) -> Output {
    let launcher = std::env::var("MPIEXEC").unwrap_or_else(|_| "mpiexec".into());
    let version = Command::new(&launcher).arg("--version").output().unwrap();
    let mut command = Command::new(launcher);
    if String::from_utf8_lossy(&version.stdout).contains("Open") {
        // In a container, as root, on few processors.
        command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
        command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    }
    output(command.args(["-n", &ranks.to_string(), PROGRAM, "--deadline", "60"]).args(args))
}

/// What a bench says in JSON about a way.
fn way<'a>(report: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    report["ways"].as_array().unwrap().iter().find(|way| way["way"] == name).unwrap()
}

fn check_bench(run: impl Fn(&[&str]) -> Output, folder: &Path) {
    let folder = folder.to_str().unwrap();
    let args = ["bench", "write", "--size", "100", "--bytes", "10050", "--buffer", "2000"];
    let more = ["--commits", "2", "--files", "2", "--turns", "2", "--json", folder];
    let done = run(&[args.as_slice(), &more].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["ranks"], &report["bytes"]), (&3.into(), &10050.into()));
    assert_eq!(report["ways"].as_array().unwrap().len(), 5);
    // A file a rank: all ranks meet once, to learn whether one failed.
    assert_eq!(way(&report, "stdio")["collectives"], 1);
    assert_eq!(way(&report, "alone")["messages"], 0);
    assert!(way(&report, "coll")["messages"].as_u64().unwrap() > 0);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "a file is left");

    let done = run(&["bench", "write", "--turns", "1", "--bytes", "0", "--way", "coll", folder]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(text.starts_with("3 ranks, 0 bytes each"), "{text}");

    let nowhere = Path::new(folder).join("nowhere");
    let done = run(&["bench", "write", "--turns", "1", nowhere.to_str().unwrap()]);
    assert!(!done.status.success());
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(text.contains("striae-mpi: rank 0: writing an own file: No such file"), "{text}");
}

#[test]
fn bench_measures_threads() {
    let folder = tempfile::tempdir().unwrap();
    check_bench(|args| as_threads(3, args), folder.path());
}

#[test]
fn bench_measures_processes() {
    let folder = tempfile::tempdir().unwrap();
    check_bench(|args| as_processes(3, args), folder.path());
}
