//! A file of a set is not taken for the set without a word.

use super::*;

const SAYS: &str =
    "m05_np8_3files.sion.000001: is file 1, counted from 0, of the 3 files of the set ";

fn set() -> (Copy, String) {
    let copy = Copy::of("m05_np8_3files");
    let part = format!("{}.000001", copy.main());
    (copy, part)
}

#[test]
fn each_verb_says_that_a_file_is_a_part_of_a_set() {
    let (copy, part) = set();
    let (out, dir) = (copy.path("out.sion"), copy.path("tasks"));
    let all: [&[&str]; 6] = [
        &["info", &part],
        &["ls", &part],
        &["cat", &part, "task/0"],
        &["extract", &part, &dir],
        &["convert", &part, &out],
        &["verify", &part],
    ];
    for args in all {
        refused(args, 0, &format!("{SAYS}{}; only it was ", copy.main()));
    }
    // Who says that it is to be alone is not told.
    for args in &all[..5] {
        let _ = (fs::remove_dir_all(&dir), fs::remove_file(&out));
        output(&[args, &["--alone"][..]].concat());
    }
    output(&["verify", copy.main()]);
}

#[test]
fn json_says_which_file_of_which_set_it_is() {
    let (copy, part) = set();
    let expected = serde_json::json!({"file": 1, "files": 3, "set": copy.main()});
    for verb in ["info", "ls", "verify"] {
        assert_eq!(json(&output(&[verb, "--json", &part]))["part_of_set"], expected, "{verb}");
        let whole = json(&output(&[verb, "--json", copy.main()]));
        assert_eq!(whole["part_of_set"], Value::Null, "{verb}");
    }
    for verb in ["info", "ls"] {
        let first = json(&output(&[verb, "--json", "--alone", copy.main()]));
        assert_eq!(first["part_of_set"]["file"], 0, "{verb}");
        assert_eq!(first["part_of_set"]["set"], copy.main(), "{verb}");
    }
    // Under another name nobody knows where the set is.
    let other = copy.path("other");
    fs::rename(&part, &other).unwrap();
    let listed = json(&output(&["ls", "--json", &other]));
    assert_eq!(listed["part_of_set"], serde_json::json!({"file": 1, "files": 3}));
    refused(
        &["ls", &other],
        0,
        "other: is file 1, counted from 0, of the 3 files of the set; only",
    );
}

#[test]
fn a_lost_file_is_told_with_what_there_is_without_it() {
    for (name, lost) in [("m05_np8_3files", ".000001"), ("m11_np4_buddy", ".000001")] {
        let copy = Copy::of(name);
        let out = copy.path("out");
        let set = golden_set(name);
        let buddies = fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().path());
        let is_buddy = |path: &PathBuf| path.to_str().unwrap().contains(&format!("{name}.sion_"));
        for path in buddies.filter(is_buddy) {
            fs::copy(&path, copy.dir.path().join(path.file_name().unwrap())).unwrap();
        }
        fs::remove_file(format!("{}{lost}", copy.main())).unwrap();
        let missing = format!("{}{lost}: No such file", copy.main());
        let alone = "--alone opens one file without the others\n";
        let buddy = format!("{}_BUDDY_00", copy.main());
        for args in [&["ls", copy.main()][..], &["extract", copy.main(), &out]] {
            if name == "m11_np4_buddy" {
                let assert = striae(args).assert().success();
                let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
                let read = format!("{}{lost}: is lost; its streams are read from ", copy.main());
                assert!(stderr.contains(&read) && stderr.contains(&buddy), "{stderr}");
                continue;
            }
            let assert = striae(args).assert().code(2);
            let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
            assert!(stderr.contains(&missing), "{stderr}");
            assert!(stderr.ends_with(alone), "{stderr}");
        }
        if name == "m11_np4_buddy" {
            // It has what it is named for: every stream of the set. So has the set with its help.
            for file in [&buddy, copy.main()].map(|path| File::open(path).unwrap()) {
                for task in set.tasks() {
                    let globalrank = task["globalrank"].as_i64().unwrap();
                    let found = file.find_globalrank(globalrank).unwrap();
                    let bytes = stream_of(&file, found);
                    assert_eq!(hex_sha256(&bytes), task["sha256"], "{globalrank}");
                }
            }
        }
    }
}

#[test]
fn without_its_first_file_a_set_is_read_with_its_buddy_set() {
    for (name, has_buddy) in [("m05_np8_3files", false), ("m11_np4_buddy", true)] {
        let copy = Copy::of(name);
        let (out, buddy) = (copy.path("out"), format!("{}_BUDDY_00", copy.main()));
        if has_buddy {
            fs::copy(golden_dir().join(format!("{name}.sion_BUDDY_00")), &buddy).unwrap();
        }
        fs::remove_file(copy.main()).unwrap();
        let (main, rescued) = (copy.main(), format!("{out}.sion"));
        for args in [
            &["ls", main][..],
            &["verify", main],
            &["extract", main, &out],
            &["recover", main, &rescued],
        ] {
            let is_read = has_buddy && matches!(args[0], "ls" | "extract" | "recover");
            let assert = striae(args).assert().code(if is_read { 0 } else { 2 });
            let stderr = String::from_utf8(assert.get_output().stderr.clone()).unwrap();
            let what = if is_read { "is lost; its streams are read" } else { "No such file" };
            assert!(stderr.contains(&format!("{main}: {what}")), "{stderr}");
            assert_eq!(stderr.contains(&buddy), has_buddy, "{stderr}");
            assert!(!stderr.contains("--alone"), "{stderr}");
        }
    }
}
