//! `verify` says how much of the data it compared with checksums.

use super::*;

fn golden(path: &str) -> String {
    format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// The verdict, the bytes of data, and those that were checked, in JSON and in words.
fn verdict(path: &str, status: i32) -> (String, u64, u64) {
    let assert = striae(&["verify", "--json", path]).assert().code(status);
    let report = json(&assert.get_output().stdout);
    let number = |name: &str| report[name].as_u64().unwrap();
    let (bytes, checked) = (number("data_bytes"), number("checked_bytes"));
    let verdict = report["verdict"].as_str().unwrap().to_owned();
    assert_eq!(report["sound"], status == 0);
    let assert = striae(&["verify", path]).assert().code(status);
    let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    let last = text.lines().last().unwrap();
    assert!(last.starts_with(&format!("{path}: {verdict}: ")), "{last}");
    let says = format!(", {checked} of {bytes} bytes of data compared with checksums, ");
    assert!(last.contains(&says), "{last}");
    (verdict, bytes, checked)
}

const UNCHECKED: &str = "structure sound, data not checked";

#[test]
fn a_set_without_a_seal_is_not_just_sound() {
    for set in closed_sets() {
        let tasks = set.tasks();
        let bytes: u64 = tasks.iter().map(|task| task["length"].as_u64().unwrap()).sum();
        let word = if bytes == 0 { "sound" } else { UNCHECKED };
        assert_eq!(verdict(main_file(&set), 0), (word.to_owned(), bytes, 0), "{}", set.name);
        let folder = Folder::new();
        let sealed = folder.path("sealed.sion");
        output(&["convert", "--seal", main_file(&set), &sealed]);
        assert_eq!(verdict(&sealed, 0), ("sound".to_owned(), bytes, bytes), "{}", set.name);
    }
}

#[test]
fn a_seal_of_an_older_state_checks_nothing() {
    let folder = Folder::new();
    let sealed = folder.path("sealed.sion");
    output(&["convert", "--seal", main_file(&golden_set("s11_130_chunks")), &sealed]);
    let (_, bytes, checked) = verdict(&sealed, 0);
    assert_eq!(bytes, checked);
    // Gone on with by a writer without seals, and closed.
    let mut writer = striae::sion::Reopen::new().sealed(false).open(&sealed).unwrap();
    std::io::Write::write_all(&mut writer.task(0).unwrap(), &[7; 100]).unwrap();
    writer.close().unwrap();
    drop(writer);
    assert_eq!(verdict(&sealed, 0), (UNCHECKED.to_owned(), bytes + 100, 0));
}

#[test]
fn one_file_of_a_set_without_its_seal_is_told() {
    let folder = Folder::new();
    let sealed = folder.path("sealed.sion");
    let set = golden_set("m05_np8_3files");
    output(&["convert", "--seal", "--nfiles", "2", main_file(&set), &sealed]);
    let second = format!("{sealed}.000001");
    let (len, trailer) = (fs::metadata(&second).unwrap().len(), 64);
    fs::OpenOptions::new().write(true).open(&second).unwrap().set_len(len - trailer).unwrap();
    let (word, bytes, checked) = verdict(&sealed, 0);
    assert_eq!(word, "structure sound, data checked in part");
    assert!(0 < checked && checked < bytes, "{checked} of {bytes}");
}

#[test]
fn frames_without_checksums_are_not_just_sound() {
    let folder = Folder::new();
    for (name, bytes) in [("v20_hoomd14", None), ("v21_empty", Some(0)), ("v10_all_types", None)] {
        let path = golden(&format!("gsd/{name}.gsd"));
        let (word, found, checked) = verdict(&path, 0);
        assert_eq!(checked, 0, "{name}");
        assert_eq!(word, if found == 0 { "sound" } else { UNCHECKED }, "{name}");
        assert!(bytes.is_none_or(|bytes| bytes == found), "{name}");
        let listed = json(&output(&["ls", "--json", &path]));
        let len = |chunk: &Value| {
            let size = match chunk["type"].as_str().unwrap() {
                "uint8" | "int8" | "character" => 1,
                "uint16" | "int16" => 2,
                "uint32" | "int32" | "float32" => 4,
                _ => 8,
            };
            chunk["N"].as_u64().unwrap() * chunk["M"].as_u64().unwrap() * size
        };
        let expected: u64 = listed["chunks"].as_array().unwrap().iter().map(len).sum();
        assert_eq!(found, expected, "{name}");
        let out = folder.path(&format!("{name}.gsd"));
        output(&["convert", "--checksums", &path, &out]);
        assert_eq!(verdict(&out, 0), ("sound".to_owned(), expected, expected), "{name}");
    }
}

#[test]
fn every_sample_is_checked_and_damage_is_damage() {
    let path = golden("ffrecord/many.ffr");
    let (word, bytes, checked) = verdict(&path, 0);
    assert_eq!((&*word, checked), ("sound", bytes));
    assert!(bytes > 0);
    assert_eq!(verdict(&golden("ffrecord/no_checksum.ffr"), 0).0, "sound");
    let (word, bytes, checked) = verdict(&golden("ffrecord/bad_sample_byte.ffr"), 1);
    assert_eq!((&*word, checked), ("damaged", bytes), "what differs was compared, too");
}
