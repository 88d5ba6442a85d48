//! What the program says of sealed files.

use super::*;
use std::io::Write;
use striae::sion::{Builder, Durability, FileWriter, Reopen};

/// A set of two files and three tasks, sealed and closed.
fn sealed(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("a.sion");
    let builder = Builder::new(3).fsblksize(512).chunksize(512).nfiles(2).sealed(true);
    let mut file = builder.durability(Durability::None).create(&path).unwrap();
    write(&file);
    file.close().unwrap();
    path
}

fn write(file: &FileWriter) {
    for task in 0..3 {
        file.task(task).unwrap().write_all(&[b'x'; 700]).unwrap();
    }
}

fn change(path: &Path, offset: usize, byte: u8) {
    let mut bytes = fs::read(path).unwrap();
    bytes[offset] = byte;
    fs::write(path, bytes).unwrap();
}

#[test]
fn verify_checks_seals_and_tells_by_its_exit_status() {
    let dir = TempDir::new().unwrap();
    let path = sealed(&dir);
    let name = path.to_str().unwrap();
    let text = String::from_utf8(output(&["verify", name])).unwrap();
    let says = ": sound: 2 physical files, 3 tasks, commit 1 of the set, 2100 of 2100 bytes of data \
                compared with checksums, 0 damage, 0 notes\n";
    assert!(text.ends_with(says), "{text}");

    change(&path, 1536, b'y');
    let says = predicate::str::contains("seal.crc of chunk 0 of task 0 is 0x")
        .and(predicate::str::contains("but the 512 bytes at offset 1536 that it seals have 0x"));
    striae(&["verify", name]).assert().code(1).stdout(says).stderr("");
    let report = striae(&["verify", "--json", name]).assert().code(1);
    let report = json(&report.get_output().stdout);
    assert_eq!((&report["sound"], &report["damage"]), (&false.into(), &1.into()));
    let found = &report["findings"][0];
    let keys: Vec<_> = found.as_object().unwrap().keys().cloned().collect();
    let expected = "chunk computed field file finding kind len offset severity stored task";
    assert_eq!(keys.join(" "), expected);
    assert_eq!(found["kind"], "chunk_checksum");
    assert_eq!(found["severity"], "damage");
    assert_eq!(found["field"], "seal.crc");
    assert_eq!(found["file"], name);
    assert_eq!((&found["task"], &found["chunk"]), (&0.into(), &0.into()));
    assert_eq!((&found["offset"], &found["len"]), (&1536.into(), &512.into()));
    assert!(found["stored"].is_u64() && found["computed"].is_u64());
    change(&path, 1536, b'x');
    striae(&["verify", name]).assert().code(0);
}

#[test]
fn verify_says_limits_and_usual_values_in_json() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(7680, &7i64.to_le_bytes()).overwrite(44, &[1]);
    let report = striae(&["verify", "--json", copy.main()]).assert().code(1);
    let report = json(&report.get_output().stdout);
    let [flag, count] = &report["findings"].as_array().unwrap()[..] else { panic!("{report}") };
    assert_eq!((&flag["severity"], &flag["kind"]), (&"note".into(), &"unusual".into()));
    assert_eq!((&flag["field"], &flag["offset"]), (&"META1.flag2".into(), &44.into()));
    assert_eq!((&flag["value"], &flag["usual"]), (&1.into(), &"0".into()));
    assert_eq!(
        (&count["kind"], &count["field"]),
        (&"too_large".into(), &"META2.blockcount".into())
    );
    assert_eq!((&count["value"], &count["max"]), (&7.into(), &3.into()));
}

#[test]
fn info_says_how_a_set_was_left_and_whether_it_is_sealed() {
    let dir = TempDir::new().unwrap();
    let path = sealed(&dir);
    let name = path.to_str().unwrap();
    let line = |what: &str| {
        let text = String::from_utf8(output(&["info", name])).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap();
        line.trim_start().to_owned()
    };
    let info = || json(&output(&["info", "--json", name]));
    assert_eq!((line("closed"), line("sealed")), ("yes".into(), "yes: verify checks it".into()));
    assert_eq!((&info()["ending"], &info()["seal"]), (&"closed".into(), &"sealed".into()));
    assert_eq!(info()["seals"], serde_json::json!(["sealed", "sealed"]));

    let later = dir.path().join("a.sion.000001");
    let len = fs::read(&later).unwrap().len();
    change(&later, len - 1, b'?');
    assert_eq!(line("sealed"), "damaged in 1 of 2 files");
    assert_eq!(info()["seals"], serde_json::json!(["sealed", "damaged"]));
    assert_eq!(info()["seal"], "damaged");
    change(&later, len - 1, b'l');

    let mut file = Reopen::new().sealed(false).open(&path).unwrap();
    write(&file);
    file.commit().unwrap();
    assert_eq!(line("closed"), "no, but committed: all until the last commit is there");
    assert_eq!(line("sealed"), "no");
    assert_eq!(info()["endings"], serde_json::json!(["committed", "committed"]));
    file.close().unwrap();
    assert_eq!((line("closed"), line("sealed")), ("yes".into(), "no".into()));
    assert_eq!((&info()["ending"], &info()["seal"]), (&"closed".into(), &"none".into()));
}
