//! `dump`.

use super::golden::path_of;
use super::*;
use striae::gsd::{Builder, Durability};

/// Rows of `dump --json` that are fields: name, offset, length, bytes, value.
fn fields(rows: &Value) -> Vec<(String, usize, usize, Vec<u8>, String)> {
    let rows = rows.as_array().unwrap().iter().filter(|row| row.get("offset").is_some());
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let fields = rows.map(|row| {
        let bytes = name_of(&json!({"hex": row["bytes"]}));
        (
            text(&row["name"]),
            number(&row["offset"]),
            number(&row["len"]),
            bytes,
            text(&row["value"]),
        )
    });
    fields.collect()
}

/// The number in these bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[test]
fn every_field_is_shown_once_as_it_stands_in_the_file() {
    for golden in valid_files() {
        let file = fs::read(&golden.path).unwrap();
        let fields = fields(&parsed(&["dump", "--json", golden.path()]));
        for (name, offset, len, bytes, _) in &fields {
            assert_eq!(file[*offset..*offset + *len], bytes[..], "{} {name}", golden.name);
        }
        let mut spans: Vec<_> = fields.iter().map(|field| (field.1, field.1 + field.2)).collect();
        spans.sort_unstable();
        assert!(spans.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{}", golden.name);

        // All of the header, the index's used slots and the used part of the name list, and no
        // more.
        let layout = |key: &str| golden.expected["layout"][key].as_u64().unwrap();
        let bytes_of = |part: &str| {
            let of_part = fields.iter().filter(|field| field.0.starts_with(part));
            of_part.map(|field| field.2 as u64).sum::<u64>()
        };
        assert_eq!(bytes_of("header."), 256, "{}", golden.name);
        assert_eq!(bytes_of("index."), 32 * layout("index_used"), "{}", golden.name);
        assert_eq!(bytes_of("namelist."), layout("namelist_bytes_used"), "{}", golden.name);
        let value = |name: &str| fields.iter().find(|field| field.0 == name).unwrap().4.clone();
        assert_eq!(value("header.index_location"), layout("index_location").to_string());
        assert_eq!(value("header.application"), golden.expected["application"]);
        let version = &golden.expected["gsd_version"];
        assert_eq!(value("header.gsd_version"), format!("{}.{}", version[0], version[1]));
        for (id, name) in golden.names().into_iter().enumerate() {
            let field = fields.iter().find(|field| field.0 == format!("namelist.name[{id}]"));
            assert_eq!(field.unwrap().3.split(|&byte| byte == 0).next().unwrap(), name);
        }
    }
}

#[test]
fn numbers_and_types_are_shown_as_what_they_mean() {
    let rows = parsed(&["dump", "--json", &path_of("v21_sparse_chunks")]);
    let kinds = [
        "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "float32",
        "float64",
    ];
    for (name, _, _, bytes, value) in fields(&rows) {
        match name.split(['.', '[']).nth(1).unwrap() {
            "kind" => {
                let kind = kinds[usize::from(bytes[0]) - 1];
                assert_eq!(value, format!("{} ({kind})", bytes[0]));
            }
            "frame" | "n" | "m" | "id" | "flags" | "location" | "index_location" => {
                assert_eq!(value, number(&bytes).to_string(), "{name}");
            }
            _ => {}
        }
    }
    let derived = |name: &str| {
        let rows = rows.as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap()["value"].clone()
    };
    assert_eq!(derived("frames"), "12");
    let used = golden("v21_sparse_chunks").expected["layout"]["index_used"].to_string();
    assert_eq!(derived("index.used"), format!("{used} of 128 slots"));
}

#[test]
fn a_commit_record_and_its_shadow_are_shown_field_by_field() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    let mut file = Builder::new().durability(Durability::None).create(&path).unwrap();
    for frame in 0..3u64 {
        file.write("step", &[frame], 1).unwrap();
        file.end_frame().unwrap();
        file.commit().unwrap();
    }
    file.close().unwrap();
    let bytes = fs::read(&path).unwrap();
    let fields = fields(&parsed(&["dump", "--json", path.to_str().unwrap()]));
    let field = |name: &str| {
        let mut found = fields.iter().filter(|field| field.0 == name);
        let field = found.next().unwrap_or_else(|| panic!("no {name}"));
        assert!(found.next().is_none(), "{name} is there twice");
        field.clone()
    };
    assert_eq!(field("commit.magic").1, 176);
    assert_eq!(field("commit.commit_crc").1, 252);
    assert_eq!(number(&field("commit.entries").3), number(&bytes[184..192]));
    let shadow = usize::try_from(number(&bytes[208..216])).unwrap();
    assert_eq!(field("commit.shadow").4, shadow.to_string());
    // The shadow of the last commit: they take turns.
    let turn = usize::from(bytes[224] % 2);
    let (shadow, name) = (shadow + 256 * turn, format!("shadow[{turn}]"));
    let of_shadow = |part: &str| field(&format!("{name}.{part}"));
    assert_eq!(of_shadow("magic").4, "striaeSH");
    // Bytes 8 to 47 and 176 to 255 of the header, as they are now.
    let new: Vec<u8> = fields
        .iter()
        .filter(|field| field.0.starts_with(&format!("{name}.new.")))
        .flat_map(|field| field.3.clone())
        .collect();
    assert_eq!(new, [&bytes[8..48], &bytes[176..256]].concat());
    assert_eq!(of_shadow("new.index_location").1, shadow + 128);
    assert_eq!(of_shadow("old.commit_crc").1, shadow + 8 + 116);
    let before = number(&bytes[224..228]) - 1;
    assert_eq!(number(&of_shadow("old.sequence").3), before);
    assert_eq!(of_shadow("crc").1, shadow + 252);
}

#[test]
fn what_there_is_of_a_damaged_file_is_shown() {
    let shown = |name: &str, says: &str| {
        let stdout = refused(&["dump", "--json", &path_of(name)], 1, says);
        fields(&serde_json::from_slice(&stdout).unwrap())
    };
    let has = |fields: &[(String, usize, usize, Vec<u8>, String)], name: &str| {
        fields.iter().any(|field| field.0 == name)
    };
    let found = shown("bad_entry4_type_0", "index.kind at offset 414 is 0, must be 1 to 11");
    assert!(has(&found, "index.kind[8]") && has(&found, "namelist.name[2]"));
    // Behind the hole, too.
    let found = shown("bad_hole_entry4_location_0", "index.location at offset 400 is 0");
    assert!(has(&found, "index.frame[8]"));
    let found = shown("bad_trunc_in_index", "header.namelist_location at offset 24 is 4352");
    assert!(has(&found, "header.reserved") && has(&found, "index.flags[8]"));
    assert!(!has(&found, "namelist.name[0]"));
    let found =
        shown("bad_index_loc_minus1", "header.index_location at offset 8 is 18446744073709551615");
    assert!(!has(&found, "index.frame[0]") && has(&found, "namelist.name[0]"));
    let found = shown("bad_version_0_9", "header.gsd_version at offset 44 is 0.9");
    assert!(has(&found, "header.reserved") && !has(&found, "index.frame[0]"));

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.gsd");
    fs::write(&path, &fs::read(path_of("v21_empty")).unwrap()[..100]).unwrap();
    let says = "the header needs 256 bytes, but the file ends at 100";
    let stdout = refused(&["dump", path.to_str().unwrap()], 1, says);
    assert_eq!(String::from_utf8(stdout).unwrap().lines().count(), 7);
}

#[test]
fn a_dump_in_text_has_a_line_for_every_row_in_json() {
    let file = path_of("v10_unsorted_ids");
    let rows = parsed(&["dump", "--json", &file]);
    let text = text(&["dump", &file]);
    assert_eq!(text.lines().count(), rows.as_array().unwrap().len());
    let line = text.lines().find(|line| line.contains("header.namelist_location")).unwrap();
    let words: Vec<_> = line.split_whitespace().collect();
    let bytes = ["00", "11", "00", "00", "00", "00", "00", "00"];
    assert_eq!(words, [&["24"], &bytes[..], &["header.namelist_location", "4352"]].concat());
}
