//! The program `striae-mpi-lab`, as threads of a process and under MPI.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use std::path::Path;
use std::process::{Command, Output, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_striae-mpi-lab");

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
    output(command.args(["-n", &ranks.to_string(), PROGRAM]).args(args))
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

    let args = ["bench", "read", "--size", "100", "--bytes", "10050", "--buffer", "2000"];
    let done = run(&[&args[..], &["--files", "2", "--turns", "2", "--json", folder]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["ranks"], &report["bytes"]), (&3.into(), &10050.into()));
    assert_eq!(report["ways"].as_array().unwrap().len(), 3);
    assert_eq!(way(&report, "pread")["collectives"], 1);
    let calls = ["alone", "buffer"].map(|name| way(&report, name)["collectives"].as_u64());
    assert!(calls[0] == calls[1] && calls[0] < Some(10), "{calls:?}");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "a file is left");
    let done = run(&["bench", "read", "--turns", "1", "--bytes", "0", folder]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));

    let args = ["bench", "commit", "--size", "100", "--commits", "3", "--turns", "2", "--json"];
    let done = run(&[&args[..], &[folder]].concat());
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!((&report["ranks"], &report["commits"]), (&3.into(), &3.into()));
    assert_eq!(report["ways"].as_array().unwrap().len(), 6);
    for name in ["once", "twice", "chunks"] {
        assert_eq!(way(&report, name)["collectives"], 1);
    }
    assert_eq!(way(&report, "meet")["collectives"], 2 + 2 * 3, "twice a commit");
    assert!(way(&report, "set")["collectives"].as_u64().unwrap() >= 3, "a commit is collective");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "a file is left");

    // As many variables as E3SM-IO has, and all values; no map is for 3 decompositions.
    for (case, variables, elements) in [
        ("f", 414, 324 * 30 + 63 * 72 * 30 + 27),
        ("g", 52, (6 + 2 * 3 + 25 * 80 + 2 * 3 * 80 + 2 * 2 * 80 + 4 * 81) * 30 + 11),
        ("i", 560, (465 + 75 * 15 + 4 * 10 + 19 + 17) * 1800 + 14),
    ] {
        let args = ["bench", "blob", "--case", case, "--cells", "30", "--records", "2"];
        let done =
            run(&[&args[..], &["--subfiles", "2", "--turns", "1", "--json", folder]].concat());
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let report: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
        assert_eq!(report["variables"], variables);
        assert_eq!(report["bytes"], 2 * 8 * elements);
        assert_eq!(report["ways"].as_array().unwrap().len(), 3);
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "a file is left");
    }
    let map = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/map/map_f_holes_5p.nc");
    let done = run(&["bench", "blob", "--map", map, "--turns", "1", folder]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let done = run(&["bench", "blob", "--case", "g", "--map", map, "--turns", "1", folder]);
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(text.contains("map_f_holes_5p.nc: 3 decompositions, G has 6"), "{text}");

    let nowhere = Path::new(folder).join("nowhere");
    let done = run(&["bench", "write", "--turns", "1", nowhere.to_str().unwrap()]);
    assert!(!done.status.success());
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(text.contains("striae-mpi-lab: rank 0: writing an own file: No such file"), "{text}");
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

#[test]
fn scale_prints_the_figures_of_all_ranks_without_running_them() {
    let scale = |more: &[&str]| -> serde_json::Value {
        let args = ["scale", "--ranks", "300,1000", "--ranks-per-node", "10", "--json"];
        let done = output(Command::new(PROGRAM).args(args).args(more));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let (few, all) =
        (scale(&["--ranks-per-file", "100"]), scale(&["--every-rank", "--files", "10"]));
    let (few, all) = (&few["lines"][1], &all["lines"][1]);
    assert_eq!((&few["files"], &few["ran"], &all["ran"]), (&10.into(), &90.into(), &1000.into()));
    for name in ["create", "commits", "close", "collectives", "messages", "message_bytes", "opens"]
    {
        assert_eq!(few[name], all[name], "{name}");
    }
    assert_eq!(few["opens"], 100); // a writer a node
    // 16 and 5 collectives on the ranks of a file, and 3 on those of the set.
    assert_eq!(
        (&few["sionlib"]["collectives"], &few["sionlib"]["opens"]),
        (&24.into(), &1010.into())
    );

    let done = output(Command::new(PROGRAM).args(["scale", "--ranks", "134217660"]));
    let text = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(!done.status.success() && text.contains("must be from 1 to 134217659"), "{text}");
}
