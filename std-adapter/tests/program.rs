//! The program on files that SIONlib wrote, and on files that it never would.
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

#[path = "../../core/tests/golden_sets/mod.rs"]
mod golden_sets;

use assert_cmd::Command;
use golden_sets::{GoldenSet, golden_dir, golden_set, golden_sets, payload};
use predicates::prelude::*;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn striae(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
    command.args(args);
    command
}

fn output(args: &[&str]) -> Vec<u8> {
    let assert = striae(args).assert().success().stderr("");
    assert.get_output().stdout.clone()
}

/// Runs and expects this exit status, and one line on stderr that contains `text`.
fn refused(args: &[&str], status: i32, text: &str) {
    let one_line = predicate::function(|stderr: &str| stderr.lines().count() == 1);
    let starts = predicate::str::starts_with("striae: ");
    let says = predicate::str::contains(text);
    striae(args).assert().code(status).stderr(one_line.and(starts).and(says));
}

fn json(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main_file(set: &GoldenSet) -> &str {
    set.paths[0].to_str().unwrap()
}

fn is_closed(set: &GoldenSet) -> bool {
    set.expected["closed"].as_bool().unwrap()
}

fn is_keyval(set: &GoldenSet) -> bool {
    set.expected["meta"]["keyvalmode"] == 51
}

fn closed_sets() -> impl Iterator<Item = GoldenSet> {
    golden_sets().into_iter().filter(is_closed)
}

/// A copy of a golden set whose files may be damaged.
struct Copy {
    dir: TempDir,
    main: PathBuf,
}

impl Copy {
    fn of(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let set = golden_set(name);
        for path in &set.paths {
            fs::copy(path, dir.path().join(path.file_name().unwrap())).unwrap();
        }
        let main = dir.path().join(set.paths[0].file_name().unwrap());
        Self { dir, main }
    }

    fn main(&self) -> &str {
        self.main.to_str().unwrap()
    }

    fn overwrite(&self, offset: usize, bytes: &[u8]) -> &Self {
        let mut file = fs::read(&self.main).unwrap();
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        fs::write(&self.main, file).unwrap();
        self
    }

    fn path(&self, name: &str) -> String {
        self.dir.path().join(name).to_str().unwrap().to_owned()
    }
}

fn names(dir: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn ls_prints_what_was_written() {
    for set in closed_sets() {
        let listed = json(&output(&["ls", "--json", "--keys", main_file(&set)]));
        let meta = &set.expected["meta"];
        assert_eq!(listed["format"], "sion");
        assert_eq!(listed["fileformat_version"], meta["ffv"], "{}", set.name);
        assert_eq!(listed["meta_order"], meta["meta_endian"]);
        assert_eq!(listed["data_order"], meta["data_endian"]);
        assert_eq!(listed["keyval"], if is_keyval(&set) { "inline" } else { "none" });
        assert_eq!(listed["closed"], true);
        assert_eq!(listed["fsblksize"], meta["fsblksize"]);
        assert_eq!(listed["files"].as_array().unwrap().len(), set.files.len());
        assert_eq!(listed["files"][0]["path"], main_file(&set));
        assert_eq!(listed["files"][0]["ntasks"], meta["ntasks"]);

        let tasks = set.tasks();
        assert_eq!(listed["ntasks"], tasks.len());
        let listed = listed["tasks"].as_array().unwrap();
        assert_eq!(listed.len(), tasks.len());
        for (index, (row, task)) in listed.iter().zip(tasks).enumerate() {
            assert_eq!(row["task"], index);
            assert_eq!(row["globalrank"], task["globalrank"], "{}", set.name);
            let serial = set.expected["api"] == "serial" || set.files.len() == 1;
            assert_eq!(row["file"], if serial { 0.into() } else { task["file"].clone() });
            assert_eq!(row["local"], task["lrank"]);
            assert_eq!(row["chunks"], task["chunks"], "{} task {index}", set.name);
            assert_eq!(row["bytes"], task["length"]);
            let keys = task["keyval"].as_array().cloned().unwrap_or_default();
            let keys: Vec<_> = keys
                .iter()
                .map(|key| serde_json::json!({"key": key["key"], "bytes": key["length"]}))
                .collect();
            assert_eq!(row["keys"], Value::Array(keys), "{} task {index}", set.name);
        }
    }
}

#[test]
fn ls_json_has_the_promised_keys() {
    let file = main_file(&golden_set("m05_np8_3files")).to_owned();
    let listed = json(&output(&["ls", "--json", &file]));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let of_set = "closed data_order fileformat_version files format fsblksize keyval meta_order \
                  ntasks tasks";
    assert_eq!(keys(&listed).join(" "), of_set);
    assert_eq!(keys(&listed["files"][0]).join(" "), "ntasks path");
    let of_task = "bytes chunks chunksize file globalrank local task";
    assert_eq!(keys(&listed["tasks"][0]).join(" "), of_task);
    let info = json(&output(&["info", "--json", &file]));
    assert_eq!(info["files"], listed["files"]);
}

#[test]
fn a_set_that_was_never_closed_is_listed_and_not_sound() {
    for set in golden_sets().iter().filter(|set| !is_closed(set)) {
        let file = main_file(set);
        let assert = striae(&["ls", "--json", file]).assert().code(1);
        let listed = json(&assert.get_output().stdout);
        assert_eq!(listed["closed"], false);
        assert_eq!(listed["tasks"][1]["chunks"], Value::Null);
        assert_eq!(listed["tasks"][1]["bytes"], Value::Null);
        let says = "META1.start_of_varheader at offset 1112 is 0";
        refused(&["ls", file], 1, says);
        refused(&["info", file], 1, says);
        refused(&["cat", file, "--task", "0"], 1, says);
        let out = tempfile::tempdir().unwrap();
        let out = out.path().join("out");
        refused(&["extract", file, out.to_str().unwrap()], 1, says);
        assert!(!out.exists());
    }
}

#[test]
fn cat_writes_every_stream() {
    for set in closed_sets() {
        for (index, task) in set.tasks().into_iter().enumerate() {
            let args = ["cat", main_file(&set), "--task", &index.to_string()];
            let bytes = output(&args);
            assert_eq!(hex_sha256(&bytes), task["sha256"].as_str().unwrap(), "{}", set.name);
        }
    }
}

#[test]
fn cat_finds_tasks_by_global_rank_also_negative_ones() {
    let file = golden_dir().join("m11_np4_buddy.sion_BUDDY_00");
    let file = file.to_str().unwrap();
    assert_eq!(output(&["cat", file, "--globalrank", "-3"]), b"");
    let bytes = output(&["cat", file, "--globalrank", "2"]);
    let expected: Vec<_> = (0..552).map(|i| payload(2, i)).collect();
    assert_eq!(bytes, expected);
    refused(&["cat", file, "--globalrank", "9"], 1, "no task has globalrank 9");
}

#[test]
fn a_repeated_global_rank_is_refused() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(1076 + 16, &10i64.to_le_bytes()); // task 2 as task 0
    let says = "globalrank 10 is that of several tasks, of 0 and 2 at least";
    refused(&["cat", copy.main(), "--globalrank", "10"], 2, says);
    assert_eq!(output(&["cat", copy.main(), "--globalrank", "7"]), b"");
}

#[test]
fn cat_writes_parts() {
    let set = golden_set("s02_three_unequal_noncontig");
    let file = main_file(&set);
    let part = |from: u64, to: u64| (from..to).map(|i| payload(42, i)).collect::<Vec<_>>();
    let cat = |more: &[&str]| output(&[&["cat", file, "--task", "2"], more].concat());
    assert_eq!(cat(&["--chunk", "1"]), part(1024, 1724));
    assert_eq!(cat(&["--chunk", "1", "--offset", "690"]), part(1714, 1724));
    assert_eq!(cat(&["--offset", "1000", "--length", "100"]), part(1000, 1100));
    assert_eq!(cat(&["--offset", "2400", "--length", "100"]), part(2400, 2424));
    assert_eq!(cat(&["--offset", "2424"]), b"");
    let says = "--offset is 2425, must be at most the length, 2424";
    refused(&["cat", file, "--task", "2", "--offset", "2425"], 2, says);
    refused(&["cat", file, "--task", "2", "--chunk", "3"], 2, "no chunk 3, the task has 3");
    refused(&["cat", file, "--task", "3"], 2, "there is no task 3, tasks are 0 to 2");
    refused(&["cat", file, "--task", "2", "--key", "1"], 2, "no key-value records");
}

#[test]
fn cat_writes_the_value_of_a_key_from_all_of_its_records() {
    let set = golden_set("s17_keyval_straddle");
    let file = main_file(&set);
    let value = |n: u64, len: u64| {
        let byte = |j: u64| (j * 7 + (j >> 8) * 13 + 3 * 37 + 5 * 101 + n * 59 + 11) & 255;
        (0..len).map(|j| u8::try_from(byte(j)).unwrap()).collect::<Vec<_>>()
    };
    let whole = [value(0, 480), value(1, 16)].concat();
    let cat = |more: &[&str]| output(&[&["cat", file, "--task", "1", "--key", "5"], more].concat());
    assert_eq!(cat(&[]), whole);
    assert_eq!(cat(&["--offset", "470", "--length", "20"]), whole[470..490]);
    refused(&["cat", file, "--task", "1", "--key", "8"], 1, "task 1 has no record with key 8");
}

#[test]
fn extract_makes_a_file_of_every_stream() {
    for set in closed_sets().filter(|set| !is_keyval(set)) {
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().join("new").to_str().unwrap().to_owned();
        output(&["extract", main_file(&set), &dir]);
        let tasks = set.tasks();
        let expected = (0..tasks.len()).map(|task| format!("task_{task:05}"));
        assert_eq!(names(&dir), expected.collect(), "{}", set.name);
        for (index, task) in tasks.into_iter().enumerate() {
            let bytes = fs::read(Path::new(&dir).join(format!("task_{index:05}"))).unwrap();
            assert_eq!(hex_sha256(&bytes), task["sha256"].as_str().unwrap(), "{}", set.name);
        }
    }
}

#[test]
fn extract_makes_a_file_of_every_key() {
    for set in closed_sets().filter(is_keyval) {
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().to_str().unwrap();
        output(&["extract", "--threads", "3", main_file(&set), dir]);
        let mut expected = BTreeSet::new();
        for (index, task) in set.tasks().into_iter().enumerate() {
            let records = task["keyval"].as_array().unwrap();
            for key in records.iter().map(|record| record["key"].as_u64().unwrap()) {
                let name = format!("task_{index:05}.key_{key}");
                let bytes = fs::read(out.path().join(&name)).unwrap();
                let (task, key) = (index.to_string(), key.to_string());
                let args = ["cat", main_file(&set), "--task", &task, "--key", &key];
                assert_eq!(bytes, output(&args), "{}", set.name);
                expected.insert(name);
            }
        }
        assert_eq!(names(dir), expected);
    }
}

#[test]
fn extract_overwrites_only_when_forced() {
    for name in ["m05_np8_3files", "s17_keyval_straddle"] {
        let set = golden_set(name);
        let out = tempfile::tempdir().unwrap();
        let dir = out.path().to_str().unwrap();
        let mine = out.path().join(if is_keyval(&set) { "task_00001.key_7" } else { "task_00007" });
        fs::write(&mine, b"mine").unwrap();
        let before = names(dir);
        refused(&["extract", main_file(&set), dir], 2, "exists already");
        assert_eq!(names(dir), before, "{name}");
        assert_eq!(fs::read(&mine).unwrap(), b"mine");
        output(&["extract", "--force", main_file(&set), dir]);
        assert_ne!(fs::read(&mine).unwrap(), b"mine");
        assert!(names(dir).len() > 1);
    }
}

#[test]
fn a_failed_extract_leaves_nothing_behind() {
    let copy = Copy::of("s03_eight_mixed");
    let file = fs::read(&copy.main).unwrap();
    // the last task's first block size: the other tasks are sound and may be copied before it
    let varheader = u64::from_le_bytes(file[1076 + 128 + 4..1076 + 128 + 12].try_into().unwrap());
    let place = usize::try_from(varheader).unwrap() + 8 * 8 + 7 * 8;
    copy.overwrite(place, &i64::MAX.to_le_bytes());
    let says = format!("META2.blocksize at offset {place} is 9223372036854775807, must be at most");

    let new = copy.path("new");
    refused(&["extract", "--threads", "1", copy.main(), &new], 1, &says);
    assert!(!Path::new(&new).exists());

    let old = copy.path("old");
    fs::create_dir(&old).unwrap();
    fs::write(Path::new(&old).join("task_00000"), b"mine").unwrap();
    refused(&["extract", "--force", copy.main(), &old], 1, &says);
    assert_eq!(names(&old), BTreeSet::from(["task_00000".to_owned()]));
    assert_eq!(fs::read(Path::new(&old).join("task_00000")).unwrap(), b"mine");
}

#[test]
fn a_wrong_file_gets_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("text"), "root:x:0:0").unwrap();
    fs::write(path("empty"), "").unwrap();
    for verb in ["info", "ls"] {
        refused(&[verb, &path("text")], 1, "META1.magic at offset 0 is \"root\", must be \"sion\"");
        refused(&[verb, &path("empty")], 1, "META1.magic at offset 0 needs 4 bytes");
        refused(&[verb, &path("missing")], 2, "missing: No such file or directory");
        refused(&[verb, dir.path().to_str().unwrap()], 2, "is a directory");
        refused(&[verb, "/dev/null"], 2, "/dev/null: not a regular file");
    }
    let copy = Copy::of("s01_one_task");
    copy.overwrite(24, &(-1i32).to_le_bytes());
    let says = "s01_one_task.sion: META1.ntasks at offset 24 is -1, must be at least 1";
    refused(&["ls", copy.main()], 1, says);
}

#[test]
fn a_pipe_without_a_writer_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    refused(&["ls", pipe.to_str().unwrap()], 2, "not a regular file");
}

#[test]
fn a_missing_or_foreign_sibling_is_named() {
    let copy = Copy::of("m05_np8_3files");
    let second = format!("{}.000002", copy.main());
    fs::remove_file(&second).unwrap();
    refused(&["ls", copy.main()], 2, "m05_np8_3files.sion.000002: No such file");
    fs::copy(format!("{}.000001", copy.main()), &second).unwrap();
    let says = "META1.filenumber at offset 32 of file 2 of the set is 1, must be 2";
    refused(&["ls", copy.main()], 1, says);
}

#[test]
fn a_claim_of_many_siblings_costs_nothing() {
    let copy = Copy::of("m05_np8_3files");
    copy.overwrite(28, &i32::MAX.to_le_bytes());
    refused(&["ls", copy.main()], 2, "m05_np8_3files.sion.000003: No such file");
}

#[test]
fn a_renamed_set_is_found_by_its_new_name_and_a_later_file_is_read_alone() {
    let copy = Copy::of("m05_np8_3files");
    for suffix in ["", ".000001", ".000002"] {
        let old = format!("{}{suffix}", copy.main());
        fs::rename(old, copy.path(&format!("other{suffix}"))).unwrap();
    }
    assert_eq!(json(&output(&["ls", "--json", &copy.path("other")]))["ntasks"], 8);
    let alone = json(&output(&["ls", "--json", &copy.path("other.000002")]));
    assert_eq!(alone["ntasks"], 4);
    assert_eq!(alone["tasks"][0]["globalrank"], 4);
    assert_eq!(alone["tasks"][0]["file"], 0);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let set = golden_set("s11_130_chunks");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_striae"))
        .args(["cat", main_file(&set), "--task", "0"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
}

#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let set = golden_set("s11_130_chunks");
    for args in [&["ls"][..], &["ls", "--json"], &["dump"], &["verify"], &["info"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_striae"))
            .args(args)
            .arg(main_file(&set))
            .stdout(full)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} {stderr}");
        assert!(stderr.starts_with("striae: standard output: No space left"), "{args:?} {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?} {stderr}");
    }
}

#[test]
fn usage_is_explained() {
    striae(&[]).assert().code(2);
    striae(&["cat", "file"]).assert().code(2).stderr(predicate::str::contains("--task"));
    striae(&["ls", "--help"]).assert().success().stdout(predicate::str::contains("Examples:"));
    let script = output(&["completions", "bash"]);
    assert!(String::from_utf8(script).unwrap().contains("extract"));
    assert!(String::from_utf8(output(&["man"])).unwrap().starts_with(".ie"));
}

#[test]
fn verify_finds_golden_sets_sound_and_tells_damage() {
    for set in golden_sets() {
        let status = if is_closed(&set) { 0 } else { 1 };
        striae(&["verify", main_file(&set)]).assert().code(status).stderr("");
    }
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(7680, &7i64.to_le_bytes()).overwrite(44, &[1]);
    let says = predicate::str::contains("META2.blockcount at offset 7680 is 7, must be at most 3");
    let notes = predicate::str::contains("META1.flag2 at offset 44 is 1");
    striae(&["verify", copy.main()]).assert().code(1).stdout(says.and(notes));

    let report = striae(&["verify", "--json", "--limit", "1", copy.main()]).assert().code(1);
    let report = json(&report.get_output().stdout);
    assert_eq!(report["sound"], false);
    assert_eq!(report["damage"], 1);
    assert_eq!(report["findings"].as_array().unwrap().len(), 1);
    refused(&["verify", "/nonexistent"], 2, "No such file");
}

#[test]
fn dump_shows_what_there_is_of_a_damaged_file() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    let whole = output(&["dump", copy.main()]);
    let whole = String::from_utf8(whole).unwrap();
    let line = whole.lines().find(|line| line.contains("META1.ntasks")).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    assert_eq!(words, ["24", "03", "00", "00", "00", "META1.ntasks", "3"]);
    let rows = json(&output(&["dump", "--json", copy.main()]));
    assert_eq!(rows.as_array().unwrap().len(), whole.lines().count());

    copy.overwrite(24, &(-1i32).to_le_bytes());
    let says = "META1.ntasks at offset 24 is -1, must be at least 1";
    refused(&["dump", copy.main()], 1, says);
    let assert = striae(&["dump", "--json", copy.main()]).assert().code(1);
    let rows = json(&assert.get_output().stdout);
    let names: Vec<_> = rows.as_array().unwrap().iter().map(|row| &row["name"]).collect();
    assert!(names.contains(&&Value::from("META1.filenameprefix")));
    refused(&["dump", "/nonexistent"], 2, "No such file");
}

#[test]
fn a_damaged_task_is_listed_as_such_and_the_others_as_ever() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(7688, &9i64.to_le_bytes()); // blockcount of task 1
    let says = "META2.blockcount at offset 7688 is 9, must be at most 3";
    refused(&["ls", copy.main()], 1, says);
    let assert = striae(&["ls", "--json", copy.main()]).assert().code(1);
    let listed = json(&assert.get_output().stdout);
    assert_eq!(listed["tasks"][0]["bytes"], 350);
    assert!(listed["tasks"][1]["error"].as_str().unwrap().contains(says));
    assert_eq!(listed["tasks"][2]["chunks"], serde_json::json!([1024, 700, 700]));
    refused(&["dump", copy.main()], 1, says);
    assert_eq!(output(&["cat", copy.main(), "--task", "2"]).len(), 2424);
}

#[test]
fn a_damaged_record_names_its_task() {
    let copy = Copy::of("s17_keyval_straddle");
    copy.overwrite(2048 + 8, &9999u64.to_le_bytes()); // len of the first record of task 1
    let says = "task 1: record.len at stream position 8 is 9999, must be at most the 1043 bytes";
    refused(&["ls", "--keys", copy.main()], 1, says);
    let assert = striae(&["ls", "--json", "--keys", copy.main()]).assert().code(1);
    let listed = json(&assert.get_output().stdout);
    assert_eq!(listed["tasks"][0]["keys"].as_array().unwrap().len(), 4);
    assert_eq!(listed["tasks"][1]["keys"], serde_json::json!([]));
    let out = copy.path("out");
    refused(&["extract", copy.main(), &out], 1, says);
    assert!(!Path::new(&out).exists());
}

#[test]
fn a_verdict_does_not_need_a_reader() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(7680, &7i64.to_le_bytes());
    for args in [&["verify"][..], &["verify", "--json"], &["ls", "--json"]] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_striae"))
            .args(args)
            .arg(&copy.main)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1), "{args:?}");
    }
}

#[test]
fn a_terminal_is_not_obeyed_by_what_a_file_says() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(52, b"\x1b]0;title\x07\rclosed  no\n");
    let text = String::from_utf8(output(&["info", copy.main()])).unwrap();
    assert!(text.lines().all(|line| !line.contains(['\x1b', '\x07', '\r'])), "{text:?}");
    assert!(text.contains("\\u{1b}]0;title\\u{7}\\rclosed  no\\n"), "{text:?}");
}

#[test]
fn nothing_is_replaced_if_something_cannot_be() {
    let set = golden_set("m05_np8_3files");
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("task_00000"), b"mine").unwrap();
    fs::create_dir(out.path().join("task_00003")).unwrap();
    let dir = out.path().to_str().unwrap();
    let before = names(dir);
    refused(&["extract", "--force", main_file(&set), dir], 2, "task_00003: is a directory");
    assert_eq!(names(dir), before);
    assert_eq!(fs::read(out.path().join("task_00000")).unwrap(), b"mine");
    let file = out.path().join("task_00000");
    refused(&["extract", main_file(&set), file.to_str().unwrap()], 2, "not a directory");
}

#[test]
fn one_file_is_read_alone_when_its_siblings_are_gone() {
    let copy = Copy::of("m05_np8_3files");
    fs::remove_file(format!("{}.000001", copy.main())).unwrap();
    refused(&["ls", copy.main()], 2, "; the set has 3 files, says ");
    let alone = json(&output(&["ls", "--json", "--alone", copy.main()]));
    assert_eq!(alone["ntasks"], 2);
    assert_eq!(output(&["cat", "--alone", copy.main(), "--task", "1"]).len(), 610);
}

#[test]
fn a_claim_of_many_chunks_costs_no_memory() {
    let copy = Copy::of("s01_one_task");
    let bytes = fs::read(&copy.main).unwrap();
    let start = u64::from_le_bytes(bytes[1096..1104].try_into().unwrap());
    copy.overwrite(1092, &i32::MAX.to_le_bytes());
    copy.overwrite(usize::try_from(start).unwrap(), &i64::from(i32::MAX).to_le_bytes());
    let file = fs::OpenOptions::new().write(true).open(&copy.main).unwrap();
    file.set_len(start + (8 << 31)).unwrap(); // sparse
    let says = "a task has 2147483647 chunks, must have at most 16777216";
    refused(&["cat", copy.main(), "--task", "0"], 2, says);
}

#[test]
fn every_verb_has_a_manual_page() {
    let page = String::from_utf8(output(&["man", "cat"])).unwrap();
    assert!(page.contains("globalrank"), "{page}");
    refused(&["man", "dog"], 2, "there is no verb dog");
}
