//! The program on files of ffrecord.

use super::{expected, fs, golden, made, output, refused, samples_of, striae, text, valid};
use predicates::prelude::*;
use serde_json::{Value, json};

fn json_of(args: &[&str]) -> Value {
    serde_json::from_slice(&output(args)).unwrap()
}

#[test]
fn ls_lists_every_sample() {
    for (name, expected) in valid() {
        let path = golden(&name);
        let found = json_of(&["ls", "--json", text(&path)]);
        assert_eq!(found["format"], "ffrecord");
        assert_eq!(found["samples"], expected["n"]);
        match expected["checksum_meta"].as_u64() {
            Some(0) => assert!(found["meta_crc"].is_null()),
            _ => assert_eq!(found["meta_crc"], expected["checksum_meta"]),
        }
        let rows: Vec<_> = (0..).zip(expected["samples"].as_array().unwrap()).map(rows).collect();
        let mut found = found["rows"].clone();
        for (number, row) in found.as_array_mut().unwrap().iter_mut().enumerate() {
            let address = row.as_object_mut().unwrap().remove("address").unwrap();
            assert_eq!(address, format!("sample/{number}"));
        }
        assert_eq!(found, Value::Array(rows), "{name}");
    }
    let listed = String::from_utf8(output(&["ls", text(&golden("last_empty.ffr"))])).unwrap();
    let columns = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<_> = listed.lines().map(columns).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[0], ["sample", "offset", "bytes", "crc32"]);
    assert_eq!(lines[1][..3], ["0", "36", "3"]);
    assert_eq!(lines[2], ["1", "39", "0", "00000000"]);
}

fn rows((number, sample): (u64, &Value)) -> Value {
    json!({
        "number": number,
        "offset": sample["offset"],
        "bytes": sample["bytes"],
        "crc32": sample["crc32"],
    })
}

#[test]
fn ls_goes_on_behind_a_sample_that_has_no_place() {
    let path = golden("bad_offset_negative.ffr");
    let assert = striae(&["ls", "--json", text(&path)]).assert().code(1);
    let found: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let rows = found["rows"].as_array().unwrap();
    let of_error: Vec<_> = rows.iter().map(|row| row["error"].is_string()).collect();
    assert_eq!(of_error, [true, true, false]);
    assert_eq!(rows[1]["number"], 1);
    refused(&["ls", text(&path)], 1, "sample 0: offsets.offset at offset 32 is -8");
    refused(&["ls", "--keys", text(&path)], 2, "is an ffrecord file; --keys is for SIONlib sets");
}

#[test]
fn cat_writes_a_sample_or_a_part_of_it() {
    let path = golden("five_one_empty.ffr");
    for (number, sample) in samples_of("five_one_empty.ffr").into_iter().enumerate() {
        let address = format!("sample/{number}");
        assert_eq!(output(&["cat", text(&path), &address]), sample);
        for (offset, length) in [(0, 1), (1, 2), (0, 5000)] {
            if offset > sample.len() {
                continue;
            }
            let (skip, take) = (offset.to_string(), length.to_string());
            let part = ["cat", text(&path), &address, "--offset", &skip];
            let found = output(&[&part[..], &["--length", &take]].concat());
            assert_eq!(found, sample[offset..][..length.min(sample.len() - offset)]);
        }
    }
    refused(&["cat", text(&path), "sample/5"], 2, "sample/5: the file has 5 samples, 0 to 4");
    refused(&["cat", text(&path), "task/0"], 2, "addresses in an ffrecord file are sample/N");
    let far = ["cat", text(&path), "sample/1", "--offset", "2"];
    refused(&far, 2, "--offset is 2, must be at most the length, 1");
}

#[test]
fn cat_tells_behind_a_damaged_sample_that_it_is_damaged() {
    let path = golden("bad_sample_byte.ffr");
    let assert = striae(&["cat", text(&path), "sample/2"]).assert().code(1);
    let assert = assert.stderr(predicate::str::contains("sample 2: checksums.checksum"));
    assert_eq!(assert.get_output().stdout, b"cccccccb");
    assert_eq!(output(&["cat", text(&path), "sample/0"]), b"aaaaaaaa");
}

#[test]
fn info_says_what_a_file_is() {
    for (name, expected) in valid() {
        let found = json_of(&["info", "--json", text(&golden(&name))]);
        assert_eq!(found["format"], "ffrecord");
        assert_eq!(found["samples"], expected["n"]);
        assert_eq!(found["bytes"], expected["size"]);
        assert_eq!(found["header_bytes"], 12 + 12 * expected["n"].as_u64().unwrap());
        assert_eq!(found["packed_folder"], name == "folder.ffr");
    }
    let info = |name: &str| String::from_utf8(output(&["info", text(&golden(name))])).unwrap();
    assert!(info("folder.ffr").contains("as a pickle"));
    assert!(info("no_checksum.ffr").contains("not of the tables"));
}

#[test]
fn verify_says_whether_a_file_is_sound() {
    for (name, expected) in expected() {
        let path = golden(&name);
        let sound = expected["n"].is_u64();
        let status = i32::from(!sound);
        let assert = striae(&["verify", "--json", text(&path)]).assert().code(status).stderr("");
        let found: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
        assert_eq!(found["sound"], sound, "{name}");
        assert_eq!(found["format"], "ffrecord");
        if sound {
            assert_eq!(found["samples"], expected["n"]);
            assert_eq!(found["checked"], expected["n"]);
        }
        let says = if sound { ": sound: " } else { ": damaged: " };
        striae(&["verify", text(&path)])
            .assert()
            .code(status)
            .stdout(predicate::str::contains(says));
    }
    let found =
        striae(&["verify", "--json", text(&golden("bad_sample_byte.ffr"))]).assert().code(1);
    let found: Value = serde_json::from_slice(&found.get_output().stdout).unwrap();
    let finding = &found["findings"][0];
    assert_eq!((&finding["kind"], &finding["sample"]), (&json!("checksum"), &json!(2)));
}

#[test]
fn dump_shows_every_field_and_stops_where_the_file_does() {
    let path = golden("last_empty.ffr");
    let lines = json_of(&["dump", "--json", text(&path)]);
    let names: Vec<_> = lines.as_array().unwrap().iter().map(|line| line["name"].clone()).collect();
    let fields = [
        "header.checksum_meta",
        "header.n",
        "checksums.checksum[0]",
        "checksums.checksum[1]",
        "offsets.offset[0]",
        "offsets.offset[1]",
    ];
    assert_eq!(names[..6], fields);
    assert_eq!((&lines[4]["offset"], &lines[4]["value"]), (&json!(20), &json!("36")));
    let bytes = fs::read(&path).unwrap();
    let cut = made("a.ffr", &bytes[..30]);
    refused(&["dump", text(&cut.path)], 1, "header.n at offset 4 is 2, must be at most 1");
}

#[test]
fn what_there_is_not_for_these_files_is_refused() {
    let path = golden("one.ffr");
    let out = golden("none.ffr");
    for verb in ["convert", "recover"] {
        let says = "one.ffr: this verb does not support ffrecord files";
        refused(&[verb, text(&path), text(&out)], 2, says);
    }
    let text_file = made("text.ffr", b"hello, world, this is no such file");
    refused(&["ls", text(&text_file.path)], 1, "header.n at offset 4 is ");
}
