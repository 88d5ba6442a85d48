//! The verb: exit status, reports, and what is left behind.

use super::Copy;
use crate::run::striae;
use assert_cmd::Command;
use predicates::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;
use striae::sion::Builder;

fn recover(args: &[&Path], flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_striae"));
    command.arg("recover").args(args).args(flags);
    command
}

/// Expects status 2, one line that contains `text`, and nothing new in the folder.
fn refused(copy: &Copy, flags: &[&str], text: &str) {
    let names = copy.names();
    let one_line = predicate::function(|stderr: &str| stderr.lines().count() == 1);
    let says = predicate::str::starts_with("striae: ").and(predicate::str::contains(text));
    let out = copy.path("out");
    recover(&[copy.main(), &out], flags).assert().code(2).stdout("").stderr(one_line.and(says));
    assert_eq!(copy.names(), names);
}

fn report(copy: &Copy, flags: &[&str], status: i32) -> Value {
    let out = copy.path("out");
    let flags = [flags, &["--json"]].concat();
    let assert = recover(&[copy.main(), &out], &flags).assert().code(status).stderr("");
    serde_json::from_slice(&assert.get_output().stdout).unwrap()
}

#[test]
fn guesses_are_written_and_said() {
    let copy = Copy::named("s19_unclosed_flushed");
    let why = "there is no META2, zeros at the end of a chunk are not counted";
    let row = |task, chunks, bytes| {
        json!({
            "task": task, "file": 0, "globalrank": task, "chunks": chunks, "bytes": bytes,
            "word": "guess", "why": why,
        })
    };
    let expected = json!({
        "word": "guess", "sound": false, "files": 1,
        "counts": {"exact": 0, "as found": 0, "guess": 2, "lost": 0},
        "data": {"bytes": 1012, "checked": 0},
        "tasks": [row(0, 1, 400), row(1, 2, 612)],
    });
    assert_eq!(report(&copy, &[], 1), expected);
    let lens: Vec<_> = super::streams(&copy.path("out")).iter().map(Vec::len).collect();
    assert_eq!(lens, [400, 612]);
}

#[test]
fn streams_that_are_as_found_are_status_0() {
    let copy = Copy::named("s21_unclosed_keyval");
    let out = copy.path("out");
    let says = predicate::str::contains("task 0: 1122 bytes, as found: its records are whole\n")
        .and(predicate::str::contains(
            "as found: 0 of 1145 bytes of data compared with checksums; 1 physical file, 2 tasks, \
             0 guessed\n",
        ));
    recover(&[copy.main(), &out], &[]).assert().code(0).stderr("").stdout(says);
    let report = report(&copy, &["--force"], 0);
    assert_eq!((&report["word"], &report["sound"]), (&json!("as found"), &json!(true)));
}

#[test]
fn nothing_is_overwritten_unless_told() {
    let copy = Copy::named("m05_np8_3files");
    fs::write(copy.path("out.000002"), "mine").unwrap();
    refused(&copy, &[], "exists");
    assert_eq!(fs::read(copy.path("out.000002")).unwrap(), b"mine");
    assert_eq!(report(&copy, &["--force"], 0)["files"], 3);
    assert_eq!(super::streams(&copy.path("out")), super::streams(copy.main()));
    refused(&copy, &[], "exists");
}

#[test]
fn a_set_lacks_no_file() {
    let copy = Copy::named("m05_np8_3files");
    fs::remove_file(&copy.files[1]).unwrap();
    refused(&copy, &[], "the set has 3 files");
    let alone = report(&copy, &["--alone"], 0);
    assert_eq!((&alone["files"], alone["tasks"].as_array().unwrap().len()), (&json!(1), 2));
    // The others are not next to it, so it does not claim them.
    let out = copy.path("out");
    assert!(super::library::is_sound(&out));
    let mut first = super::streams(Copy::named("m05_np8_3files").main());
    first.truncate(2);
    assert_eq!(super::streams(&out), first);
}

#[test]
fn a_later_file_of_a_set_is_taken_alone() {
    let copy = Copy::named("m05_np8_3files");
    let (part, out) = (&copy.files[2], copy.path("out"));
    let set = copy.files[0].to_str().unwrap();
    let says = "000002: is file 2, counted from 0, of the 3 files of the set ";
    let says = format!("{says}{set}; only it was recovered\n");
    let says = predicate::str::starts_with("striae: ").and(predicate::str::ends_with(says));
    recover(&[part, &out], &[]).assert().code(0).stderr(says);
    assert_eq!(fs::read(&out).unwrap(), fs::read(part).unwrap());

    // Who asks for one alone knows it; programs are told in any case.
    recover(&[part, &out], &["--force", "--alone"]).assert().code(0).stderr("");
    let json = recover(&[part, &out], &["--force", "--json"]).assert().code(0).stderr("");
    let json: Value = serde_json::from_slice(&json.get_output().stdout).unwrap();
    assert_eq!(json["part_of_set"], json!({"file": 2, "files": 3, "set": set}));
}

#[test]
fn data_that_are_not_as_sealed_are_a_guess_and_the_copy_has_no_seal() {
    let dir = tempfile::tempdir().unwrap();
    let (path, out) = (dir.path().join("sealed.sion"), dir.path().join("out"));
    let mut file = Builder::new(2).fsblksize(512).sealed(true).create(&path).unwrap();
    file.task(0).unwrap().write_all(b"hello").unwrap();
    file.task(1).unwrap().write_all(b"world").unwrap();
    file.close().unwrap();
    recover(&[&path, &out], &[]).assert().code(0).stdout(predicate::str::contains(
        "out: exact: 10 of 10 bytes of data compared with checksums; ",
    ));
    let mut bytes = fs::read(&path).unwrap();
    assert_eq!(fs::read(&out).unwrap(), bytes);

    let at = bytes.windows(5).position(|window| window == b"hello").unwrap();
    bytes[at] = b'j';
    fs::write(&path, &bytes).unwrap();
    let says =
        predicate::str::contains("task 0: 5 bytes, guess: chunks are not as they were sealed\n")
            .and(predicate::str::contains("task 1: 5 bytes, exact: as its checksums say\n"))
            .and(predicate::str::contains("a guess: 5 of 10 bytes of data compared with checks"));
    recover(&[&path, &out], &["--force"]).assert().code(1).stderr("").stdout(says);
    assert_eq!(super::streams(&out), [b"jello", b"world"]);
    let mut verify = Command::new(env!("CARGO_BIN_EXE_striae"));
    verify.arg("verify").arg(&out).assert().code(0);
}

#[test]
fn a_lost_file_is_recovered_from_its_buddy_set_and_that_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("a.sion"), folder.path().join("out"));
    for sealed in [false, true] {
        let builder = Builder::new(5).nfiles(2).buddies(1).fsblksize(512).chunksize(512);
        let mut set = builder.sealed(sealed).force(true).create(&path).unwrap();
        for task in 0..5 {
            let stream = vec![b'a' + u8::try_from(task).unwrap(); 700];
            set.task(task).unwrap().write_all(&stream).unwrap();
        }
        set.close().unwrap();
        let whole = super::streams(&path);
        for lost in ["a.sion", "a.sion.000001"] {
            let (lost, aside) = (folder.path().join(lost), folder.path().join("aside"));
            fs::rename(&lost, &aside).unwrap();
            let says = predicate::str::contains("is lost; its streams are read from the buddy set");
            let placed = predicate::str::contains("its streams are placed anew");
            recover(&[&path, &out], &["--force"]).assert().code(0).stderr(says).stdout(placed);
            assert_eq!(super::streams(&out), whole);
            assert!(super::library::is_sound(&out));
            fs::rename(&aside, &lost).unwrap();
        }
    }
}

/// Bytes that a file takes, and its length.
fn sizes(path: &Path) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path).unwrap();
    (found.blocks() * 512, found.len())
}

#[test]
fn places_that_only_meta1_claims_are_not_kept_and_that_is_said() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/sion_recover");
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    for name in ["places_550_gb", "places_beyond_2_50"] {
        let path = seeds.join(name);
        let says = predicate::str::contains("its streams are placed anew, each in one chunk\n");
        recover(&[&path, &out], &["--force"]).assert().code(1).stderr("").stdout(says);
        let (taken, len) = sizes(&out);
        assert!(len < 3 * sizes(&path).1 && taken < 1 << 20, "{name}: {len}");
        assert!(super::library::is_sound(&out));
    }
    // Who asks for it gets the file with its places.
    let asks = ["--force", "--max-size", "1000000000000"];
    recover(&[&seeds.join("places_550_gb"), &out], &asks).assert().code(1).stderr("");
    assert!(sizes(&out).1 > 1 << 39);
}

#[test]
fn damaged_records_are_not_converted() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds/sion_convert");
    let folder = tempfile::tempdir().unwrap();
    let (path, out) = (folder.path().join("a.sion"), folder.path().join("out"));
    fs::write(&path, &fs::read(seeds.join("damaged_record_kept_order")).unwrap()[2..]).unwrap();
    let mut convert = Command::new(env!("CARGO_BIN_EXE_striae"));
    let says = predicate::str::contains("record.len at stream position 8");
    convert.arg("convert").args([&path, &out]).assert().code(1).stderr(says);
    assert!(!out.exists());
    recover(&[&path, &out], &[]).assert().code(1);
    assert!(super::library::is_sound(&out));
}

#[test]
fn what_cannot_be_recovered_leaves_nothing() {
    let copy = Copy::named("s19_unclosed_flushed");
    let whole = fs::read(copy.main()).unwrap();
    for (at, value, text) in [
        (0, &b"gsd!"[..], "neither a SIONlib file nor a GSD, ffrecord or netCDF file"),
        (24, &[255; 4], "META1.ntasks"),
        (1092, &[255; 8], "META1.chunksize"),
    ] {
        let mut damaged = whole.clone();
        damaged[at..at + value.len()].copy_from_slice(value);
        fs::write(copy.main(), damaged).unwrap();
        refused(&copy, &[], text);
    }
    fs::write(copy.main(), &whole[..1090]).unwrap();
    refused(&copy, &["--json"], "the file ends at 1090");
    fs::remove_file(copy.main()).unwrap();
    refused(&copy, &[], "No such file");
}

#[test]
fn files_of_two_sets_are_refused() {
    let copy = Copy::named("m05_np8_3files");
    let other = Copy::named("m17_np4_4files_zero");
    fs::copy(&other.files[1], &copy.files[1]).unwrap();
    refused(&copy, &[], "META1.nfiles");
}

#[test]
fn what_is_left_of_a_set_does_not_replace_it() {
    let copy = Copy::named("s19_unclosed_flushed");
    let before = fs::read(copy.main()).unwrap();
    for flags in [&[][..], &["--force"]] {
        recover(&[copy.main(), copy.main()], flags).assert().code(2);
    }
    assert!(fs::read(copy.main()).unwrap() == before);
    assert_eq!(copy.names().len(), 1);
}

#[test]
fn a_full_disk_leaves_nothing() {
    let copy = Copy::named("s03_eight_mixed");
    let names = copy.names();
    let script = "ulimit -f 8; exec \"$0\" recover a.sion out";
    fs::copy(copy.main(), copy.path("a.sion")).unwrap();
    fs::remove_file(copy.main()).unwrap();
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_striae")]).current_dir(copy.dir.path());
    command.assert().code(2).stdout("").stderr(predicate::str::contains("File too large"));
    assert_eq!(copy.names().len(), names.len());
    assert!(!copy.path("out").exists());
}

#[test]
fn what_is_saved_is_for_those_who_may_read_the_damaged_file() {
    use std::os::unix::fs::PermissionsExt;
    let copy = Copy::named("s19_unclosed_flushed");
    fs::set_permissions(copy.main(), fs::Permissions::from_mode(0o600)).unwrap();
    let out = copy.path("out");
    recover(&[copy.main(), &out], &[]).assert().code(1);
    assert_eq!(fs::metadata(&out).unwrap().permissions().mode() & 0o777, 0o600);
}

/// All chunks after one whose size is another by META1 are elsewhere: META2 is not where the sizes
/// put it.
#[test]
fn nothing_is_as_found_by_sizes_that_meta2_contradicts() {
    for (at, bit) in [(1141, 1), (1149, 1), (1165, 3), (1181, 1), (1197, 1)] {
        let copy = Copy::named("s03_eight_mixed");
        let mut bytes = fs::read(copy.main()).unwrap();
        bytes[at] ^= 1 << bit;
        fs::write(copy.main(), bytes).unwrap();
        let out = copy.path("out.sion");
        let args = ["recover", copy.main().to_str().unwrap(), out.to_str().unwrap()];
        let assert = striae(&args).assert().code(1);
        let told = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        assert!(told.contains("guess: META2 is not where chunk sizes"), "{at}: {told}");
        assert!(!told.contains("as found"), "{at}: {told}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let tasks = ["t0", "t1", "t2"].map(path);
    for (task, byte) in tasks.iter().zip(1..) {
        fs::write(task, [byte; 100]).unwrap();
    }
    let (set, out) = (path("a.sion"), path("b.sion"));
    let [t0, t1, t2] = &tasks;
    striae(&["pack", "--chunksize", "12288", &set, t0, t1, t2]).assert().success();
    let mut bytes = fs::read(&set).unwrap();
    let sizes = bytes.windows(8).position(|size| size == 12288_u64.to_be_bytes());
    let (sizes, place) = match sizes {
        Some(at) => (at, 6),
        None => (bytes.windows(8).position(|size| size == 12288_u64.to_le_bytes()).unwrap(), 1),
    };
    bytes[sizes + place] ^= 0x20;
    fs::write(&set, bytes).unwrap();
    striae(&["recover", &set, &out]).assert().code(1);
}
