//! `striae bench read`: what it prints, and what it refuses. How fast anything is, is not tested.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Output};
use tempfile::NamedTempFile;

const WAYS: [&str; 8] =
    ["pread", "pread4", "registered", "ring", "aio", "threads", "uncached", "buffered"];

fn bench(args: &[&str]) -> Output {
    let program = env!("CARGO_BIN_EXE_striae");
    Command::new(program).args(["bench", "read"]).args(args).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

fn output(args: &[&str]) -> String {
    let done = bench(args);
    assert!(done.status.success(), "{args:?}: {}", text(&done.stderr));
    assert_eq!(text(&done.stderr), "", "{args:?}");
    text(&done.stdout).to_owned()
}

fn json(args: &[&str]) -> Value {
    let text = output(&[args, &["--json"]].concat());
    assert_eq!(text.lines().count(), 1);
    serde_json::from_str(&text).unwrap()
}

/// A file in the folder of the build, which is on a disk.
fn made(len: usize) -> (NamedTempFile, String) {
    let file = NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bytes: Vec<u8> = (0..len).map(|at| (at / 251 + at) as u8).collect();
    fs::write(file.path(), bytes).unwrap();
    let path = file.path().to_str().unwrap().to_owned();
    (file, path)
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// Whether it is a row of figures, or one that says why there are none.
fn check(way: &Value) {
    let all =
        "batch_latency_us cache_growth_bytes cpu_s_per_gb mib_per_s name refused rung times_pread";
    assert_eq!(keys(way), all.split(' ').collect());
    let is_refused = way["refused"].is_string();
    for figure in ["mib_per_s", "cpu_s_per_gb", "cache_growth_bytes"] {
        assert_eq!(way[figure].is_null(), is_refused, "{way}");
        let Some(range) = way[figure].as_object() else { continue };
        let [min, median, max] = ["min", "median", "max"].map(|key| range[key].as_f64().unwrap());
        assert!(range.len() == 3 && min <= median && median <= max, "{way}");
    }
    if let Some(latency) = way["batch_latency_us"].as_object() {
        let at = ["p50", "p90", "p99", "max"].map(|key| latency[key].as_f64().unwrap());
        assert!(latency.len() == 4 && at[0] > 0.0 && at.is_sorted(), "{way}");
    } else {
        assert!(is_refused, "{way}");
    }
}

#[test]
fn every_way_has_a_row_in_the_table() {
    let (_file, path) = made(300_000);
    let table = output(&["--size", "1KiB..9000", "--count", "100", "--turns", "2", &path]);
    assert!(table.starts_with(&format!("{path}: 300000 bytes; 100 random spans of 1024 to 9000")));
    assert!(table.contains("dropped from the page cache before each way"));
    let names = [
        "pread  ",
        "pread by 4 threads",
        "io_uring with registered buffers",
        "io_uring  ",
        "Linux AIO",
        "direct reads by threads",
        "uncached reads by threads",
        "buffered reads by threads",
    ];
    for name in names {
        assert_eq!(table.lines().filter(|line| line.starts_with(name)).count(), 1, "{table}");
    }
}

#[test]
fn json_has_the_promised_keys() {
    let (_file, path) = made(300_000);
    for kind in [&[][..], &["--sequential"], &["--warm"]] {
        let more =
            ["--size", "10000", "--count", "70", "--turns", "3", "--crc", "--seed", "9", &path];
        let report = json(&[kind, &more].concat());
        let all = "batch cache_by cached_before cold count crc depth file file_bytes seed sequential size \
                   turns ways";
        assert_eq!(keys(&report), all.split_whitespace().collect());
        assert_eq!(
            (report["file"].as_str(), &report["file_bytes"]),
            (Some(&*path), &300_000.into())
        );
        assert_eq!(report["size"], serde_json::json!([10_000, 10_000]));
        assert_eq!((&report["seed"], &report["turns"]), (&9.into(), &3.into()));
        assert_eq!(report["cold"], kind != ["--warm"]);
        let ways = report["ways"].as_array().unwrap();
        let rungs: Vec<_> = ways.iter().map(|way| way["rung"].as_str().unwrap()).collect();
        assert_eq!(rungs, WAYS);
        ways.iter().for_each(check);
        assert_eq!(ways[0]["times_pread"], 1.0);
        // Through the page cache everybody can.
        assert!([0, 1, 7].iter().all(|&way: &usize| ways[way]["refused"].is_null()), "{report}");
    }
}

#[test]
fn only_the_ways_that_are_asked_for_are_gone() {
    let (_file, path) = made(5000);
    let args = ["--rung", "buffered", "--rung", "pread4", "--rung", "buffered", "--size", "5000"];
    let report = json(&[&args[..], &["--count", "3", "--batch", "1", &path]].concat());
    let ways = report["ways"].as_array().unwrap();
    let rungs: Vec<_> = ways.iter().map(|way| way["rung"].as_str().unwrap()).collect();
    assert_eq!(rungs, ["pread4", "buffered"]);
    assert!(ways.iter().all(|way| way["times_pread"].is_null()));
}

#[test]
fn a_rung_that_the_system_refuses_says_why() {
    // A memory file system knows RWF_DONTCACHE no more than a disk of an old kernel does.
    let Ok(file) = NamedTempFile::new_in("/dev/shm") else { return };
    fs::write(file.path(), [7; 70_000]).unwrap();
    let path = file.path().to_str().unwrap();
    let report = json(&["--rung", "uncached", "--count", "9", path]);
    let way = &report["ways"][0];
    check(way);
    if let Some(why) = way["refused"].as_str() {
        assert!(!why.is_empty());
    }
}

#[test]
fn reads_that_are_made_one_by_one_are_told_once_at_most() {
    // A memory file system makes them so.
    let Ok(file) = NamedTempFile::new_in("/dev/shm") else { return };
    fs::write(file.path(), [7; 300_000]).unwrap();
    let path = file.path().to_str().unwrap();
    let args = ["-v", "bench", "read", "--rung", "aio", "--count", "4000", "--crc", path];
    let done = Command::new(env!("CARGO_BIN_EXE_striae")).args(args).output().unwrap();
    let said = text(&done.stderr);
    assert!(done.status.success(), "{said}");
    let told = said.lines().filter(|line| line.contains("io_submit makes reads one by one"));
    assert!(told.count() <= 1, "{said}");
}

#[test]
fn what_cannot_be_read_is_an_error_of_one_line() {
    let (_file, small) = made(1000);
    let (_empty, empty) = made(0);
    let dir = env!("CARGO_TARGET_TMPDIR");
    let cases: [(&[&str], &str); 8] = [
        (&[&empty], "is empty: there is nothing to read"),
        (&[&small], "--size is 65536 bytes, the file has 1000 bytes"),
        (&["/nowhere/at/all"], "No such file"),
        (&[dir], "is a directory"),
        (&["/dev/null"], "not a regular file"),
        (&["--size", "0", &small], "must be at least 1"),
        (&["--size", "9KiB..1KiB", &small], "must not end before it starts"),
        (&["--size", "9XiB", &small], "9XiB: must be a number, or one with a unit"),
    ];
    for (args, says) in cases {
        let done = bench(args);
        assert_eq!(done.status.code(), Some(2), "{args:?}");
        assert_eq!(text(&done.stdout), "");
        assert!(text(&done.stderr).contains(says), "{args:?}: {}", text(&done.stderr));
    }
}

#[test]
fn a_verb_of_two_words_has_a_manual_page() {
    let program = env!("CARGO_BIN_EXE_striae");
    let page = Command::new(program).args(["man", "bench-read"]).output().unwrap();
    assert!(page.status.success());
    let page = text(&page.stdout);
    assert!(page.contains("striae bench read") && page.contains("sequential"), "{page}");
}
