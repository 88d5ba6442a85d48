//! `info`, `ls` and `cat`.

use super::golden::path_of;
use super::*;
use striae::address::Address;
use striae_core::gsd::Version;

/// What `ls --json` must print, but for the order of chunks.
fn listing(golden: &Golden) -> Value {
    let version = |value: &Value| format!("{}.{}", value[0], value[1]);
    let without_sha256 = |chunk: &Value| {
        let mut chunk = chunk.clone();
        chunk.as_object_mut().unwrap().remove("sha256");
        chunk
    };
    json!({
        "format": "gsd",
        "gsd_version": version(&golden.expected["gsd_version"]),
        "application": golden.expected["application"],
        "schema": golden.expected["schema"],
        "schema_version": version(&golden.expected["schema_version"]),
        "frames": golden.expected["nframes"],
        "names": golden.expected["names"],
        "chunks": golden.chunks().iter().map(without_sha256).collect::<Vec<_>>(),
    })
}

fn sort_chunks(listing: &mut Value) {
    listing.as_object_mut().unwrap().remove("path");
    let chunks = listing["chunks"].as_array_mut().unwrap();
    for chunk in chunks.iter_mut() {
        let address = chunk.as_object_mut().unwrap().remove("address");
        if let (Some(address), Some(name)) = (address, chunk["name"].as_str()) {
            let expected = Address::chunk(chunk["frame"].as_u64().unwrap(), name.as_bytes());
            assert_eq!(address, expected.to_string());
        }
    }
    chunks.sort_by_key(|chunk| (chunk["frame"].as_u64(), chunk["name"].to_string()));
}

#[test]
fn ls_prints_what_gsd_wrote() {
    for golden in valid_files() {
        let mut listed = parsed(&["ls", "--json", golden.path()]);
        let mut wanted = listing(&golden);
        sort_chunks(&mut listed);
        sort_chunks(&mut wanted);
        assert_eq!(listed, wanted, "{}", golden.name);
    }
}

#[test]
fn ls_json_is_one_line_with_the_promised_keys_in_their_order() {
    let path = path_of("v21_sparse_chunks");
    let text = text(&["ls", "--json", &path]).replacen(&format!(r#""path":"{path}","#), "", 1);
    let starts = concat!(
        r#"{"format":"gsd","gsd_version":"2.1","application":"gsd 5.0.1 mkv21","schema":"none","#,
        r#""schema_version":"1.2","frames":12,"names":["every","third","only7"],"#,
        r#""chunks":[{"frame":0,"name":"every","type":"int64","N":1,"M":1,"#,
        r#""address":"frame/0/every"},"#,
    );
    assert!(text.starts_with(starts), "{text}");
    assert!(text.ends_with("}]}\n"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn ls_lists_the_frames_that_are_asked_for_one_chunk_a_line() {
    let file = path_of("v21_sparse_chunks");
    let whole = parsed(&["ls", "--json", &file]);
    for (part, frames) in [("3..6", 3..6), ("..2", 0..2), ("10..", 10..12), ("5..5", 5..5)] {
        let listed = parsed(&["ls", "--json", "--frames", part, &file]);
        let in_part = |chunk: &&Value| frames.contains(&chunk["frame"].as_u64().unwrap());
        let wanted: Vec<_> = whole["chunks"].as_array().unwrap().iter().filter(in_part).collect();
        assert_eq!(listed["chunks"], json!(wanted), "{part}");
        let text = text(&["ls", "--frames", part, &file]);
        assert_eq!(text.lines().count(), 1 + wanted.len(), "{text}");
        for (line, chunk) in text.lines().skip(1).zip(wanted) {
            let words: Vec<_> = line.split_whitespace().collect();
            let of = |key: &str| chunk[key].to_string().replace('"', "");
            assert_eq!(words, ["frame", "type", "N", "M", "name"].map(of));
        }
    }
    striae(&["ls", "--frames", "6..3", &file]).assert().code(2);
    refused(&["ls", "--keys", &file], 2, "is a GSD file; --keys is for SIONlib sets");
}

#[test]
fn a_damaged_entry_is_listed_as_such_and_the_others_as_ever() {
    let says = "index.kind at offset 382 is 12, must be 1 to 11";
    let file = path_of("bad_entry3_type_12");
    let stdout = refused(&["ls", "--json", &file], 1, says);
    let listed: Value = serde_json::from_slice(&stdout).unwrap();
    let chunks = listed["chunks"].as_array().unwrap();
    assert_eq!(chunks.len(), 9);
    for (slot, chunk) in chunks.iter().enumerate() {
        if slot == 3 {
            assert_eq!(chunk["slot"], 3);
            assert!(chunk["error"].as_str().unwrap().contains(says));
        } else {
            let name = ["a", "b", "c"][slot % 3];
            let frame = slot / 3;
            let address = format!("frame/{frame}/{name}");
            let wanted = json!({
                "frame": frame, "name": name, "type": "float32", "N": 10, "M": 1,
                "address": address
            });
            assert_eq!(*chunk, wanted);
        }
    }
    refused(&["ls", &file], 1, says);
    let says = "chunk a of frame 1: index.kind at offset 382 is 12";
    refused(&["cat", &file, "frame/1/a"], 1, says);
    output(&["cat", &file, "frame/1/b"]);
}

#[test]
fn damaged_files_get_one_clear_line() {
    let starts = r#"it starts with "e\xdfe\xdfe\xdfe\xdf""#;
    for (name, says) in [
        ("bad_magic_byteswapped", starts),
        (
            "bad_zero_length",
            "is neither a SIONlib file nor a GSD, ffrecord or netCDF file: it is empty",
        ),
        ("bad_version_0_9", "header.gsd_version at offset 44 is 0.9, must be 0.3, 1.x or 2.x"),
        (
            "bad_trunc_in_index",
            "header.namelist_location at offset 24 is 4352, where 1024 bytes must be",
        ),
        ("bad_namelist_not_terminated", "the last byte of the name list at offset 5375 is 65"),
        ("bad_index_loc_minus1", "header.index_location at offset 8 is 18446744073709551615"),
        (
            "bad_trunc_relocated_index",
            "index.location at offset 29972: the chunk ends at 31876, but the file at 31852; striae \
             recover saves what is left",
        ),
    ] {
        let file = path_of(name);
        let has_format = !matches!(name, "bad_magic_byteswapped" | "bad_zero_length");
        for args in [&["info"][..], &["ls"], &["cat"]] {
            let address: &[&str] = if args == ["cat"] { &["frame/0/a"] } else { &[] };
            refused(&[args, &[&file], address].concat(), if has_format { 1 } else { 2 }, says);
        }
    }
}

#[test]
fn a_name_that_is_no_text_is_hex_in_json_and_escaped_in_text() {
    let file = path_of("bad_name_invalid_utf8");
    let listed = parsed(&["ls", "--json", &file]);
    let hex = &listed["names"][0]["hex"];
    assert_eq!(listed["chunks"][0]["name"]["hex"], *hex);
    let name = name_of(&listed["names"][0]);
    assert!(std::str::from_utf8(&name).is_err());
    let escaped = format!("\\x{}", hex.as_str().unwrap());
    assert!(text(&["ls", &file]).contains(&escaped));
    assert_eq!(output(&["cat", &file, &Address::chunk(0, name).to_string()]).len(), 40);
}

#[test]
fn cat_writes_every_chunk() {
    for golden in valid_files() {
        let step = golden.chunks().len() / 40 + 1; // a process each
        for chunk in golden.chunks().iter().step_by(step) {
            let frame = chunk["frame"].as_u64().unwrap();
            let address = Address::chunk(frame, name_of(&chunk["name"])).to_string();
            let stdout = output(&["cat", golden.path(), &address]);
            assert_eq!(hex_sha256(&stdout), chunk["sha256"], "{} {chunk}", golden.name);
        }
    }
}

#[test]
fn cat_writes_rows_and_numbers() {
    let file = path_of("v20_hoomd14");
    let cat =
        |more: &[&str]| output(&[&["cat", &file, "frame/0/particles/position"], more].concat());
    let whole = cat(&[]);
    assert_eq!(whole.len(), 4 * 3 * 4);
    assert_eq!(cat(&["--rows", "1..3"]), whole[12..36]);
    assert_eq!(cat(&["--rows", "..1"]), whole[..12]);
    assert_eq!(cat(&["--rows", "4.."]), b"");
    let lines = "0.0 0.1 0.2\n0.3 0.4 0.5\n0.6 0.7 0.8\n0.9 1.0 1.1\n";
    assert_eq!(cat(&["--text"]), lines.as_bytes());
    assert_eq!(cat(&["--text", "--rows", "2..3"]), b"0.6 0.7 0.8\n");

    let cat = |frame, name| ["cat", &file, &format!("frame/{frame}/{name}")].map(str::to_owned);
    let refuse = |args: [String; 3], more: &[&str], status, says| {
        let args: Vec<_> = args.iter().map(String::as_str).chain(more.iter().copied()).collect();
        refused(&args, status, says);
    };
    let position = "particles/position";
    let says = "chunk particles/position of frame 0: there are no rows 0..5, the chunk has 4";
    refuse(cat("0", position), &["--rows", "0..5"], 2, says);
    let says = "is for SIONlib and ffrecord files";
    refuse(cat("0", position), &["--offset", "3"], 2, says);
    refuse(cat("0", position), &["--length", "2"], 2, says);
    refuse(cat("3", position), &[], 2, "the file has 3 frames, 0 to 2");
    refuse(cat("0", "nothing"), &[], 1, "frame 0 has no chunk nothing");
    refused(&["cat", &file, "task/0"], 2, "addresses in a GSD file are frame/N/NAME");
    striae(&["cat", &file, "frame/0"]).assert().code(2);
    striae(&["cat", &file, "task/0", "--text"]).assert().code(2);
}

/// Bytes without a line break at their end too, which Rust keeps in memory.
#[test]
fn a_full_standard_output_is_an_error() {
    let file = path_of("v21_sparse_chunks");
    let chunk = ["cat", &file, "frame/0/every"];
    for args in [&chunk[..], &[&chunk[..], &["--text"]].concat(), &["info", &file], &["ls", &file]]
    {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut striae = std::process::Command::new(env!("CARGO_BIN_EXE_striae"));
        let out = striae.args(args).stdout(full).output().unwrap();
        let stderr = String::from_utf8(out.stderr).unwrap();
        assert_eq!(out.status.code(), Some(2), "{args:?}: {stderr}");
        assert!(stderr.starts_with("striae: standard output: "), "{args:?}: {stderr}");
    }
}

#[test]
fn every_type_of_number_prints_so_that_it_reads_back() {
    let file = path_of("v10_all_types");
    let listed = parsed(&["ls", "--json", &file]);
    for chunk in listed["chunks"].as_array().unwrap() {
        let (frame, name) = (chunk["frame"].to_string(), chunk["name"].as_str().unwrap());
        let address = format!("frame/{frame}/{name}");
        let args = ["cat", &file, &address];
        let (bytes, text) = (output(&args), text(&[&args[..], &["--text"]].concat()));
        let columns = usize::try_from(chunk["M"].as_u64().unwrap()).unwrap();
        assert_eq!(text.lines().count(), usize::try_from(chunk["N"].as_u64().unwrap()).unwrap());
        assert!(text.lines().all(|line| line.split(' ').count() == columns), "{text}");
        let kind = chunk["type"].as_str().unwrap();
        let again: Vec<u8> = text.split_whitespace().flat_map(|word| parse(kind, word)).collect();
        assert_eq!(again, bytes, "{kind} {text}");
    }
}

fn parse(kind: &str, word: &str) -> Vec<u8> {
    match kind {
        "uint8" => word.parse::<u8>().unwrap().to_le_bytes().to_vec(),
        "uint16" => word.parse::<u16>().unwrap().to_le_bytes().to_vec(),
        "uint32" => word.parse::<u32>().unwrap().to_le_bytes().to_vec(),
        "uint64" => word.parse::<u64>().unwrap().to_le_bytes().to_vec(),
        "int8" => word.parse::<i8>().unwrap().to_le_bytes().to_vec(),
        "int16" => word.parse::<i16>().unwrap().to_le_bytes().to_vec(),
        "int32" => word.parse::<i32>().unwrap().to_le_bytes().to_vec(),
        "int64" => word.parse::<i64>().unwrap().to_le_bytes().to_vec(),
        "float32" => word.parse::<f32>().unwrap().to_le_bytes().to_vec(),
        _ => word.parse::<f64>().unwrap().to_le_bytes().to_vec(),
    }
}

#[test]
fn text_is_printed_as_text() {
    let file = path_of("v21_character_utf8");
    let cat =
        |name, more: &[&str]| output(&[&["cat", &file, &format!("frame/1/{name}")], more].concat());
    assert_eq!(cat("str0", &["--text"]), "héllo 🙂\n".as_bytes());
    assert_eq!(cat("str0", &["--text", "--rows", "0..3"]), "hé\n".as_bytes());
    assert_eq!(cat("str0", &[]), "héllo 🙂\0".as_bytes());
}

#[test]
fn nothing_that_a_terminal_obeys_is_printed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.gsd");
    let mut writer = striae::gsd::Builder::new().application("a\u{202e}b").create(&path).unwrap();
    writer.write_text("t\u{2066}", "one\ttwo\nh\u{e9}\x1b[2J\u{202e}\u{200f}\r").unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let path = path.to_str().unwrap();
    let address = Address::chunk(0, *b"t\xe2\x81\xa6").to_string();
    let cat = ["cat", path, &address];
    let wanted = "one\ttwo\nh\u{e9}\\u{1b}[2J\\u{202e}\\u{200f}\\r\n";
    assert_eq!(text(&[&cat[..], &["--text"]].concat()), wanted);
    // Half of a character.
    let half = text(&[&cat[..], &["--text", "--rows", "8..10"]].concat());
    assert_eq!(half, "h\\xc3\n");
    assert!(output(&cat).contains(&0x1b), "bytes are as they are");
    for args in [["ls", path], ["info", path]] {
        let text = text(&args);
        assert!(!text.contains(['\u{2066}', '\u{202e}']), "{text}");
        assert!(text.contains("\\u{20"), "{text}");
    }
}

#[test]
fn a_file_written_anew_has_no_bytes_that_are_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let converted = dir.path().join("a.gsd").to_str().unwrap().to_owned();
    for golden in valid_files() {
        for more in [&[][..], &["--checksums"], &["--align", "4096"], &["--upgrade", "--checksums"]]
        {
            output(&[&["convert", "--force", golden.path(), &converted], more].concat());
            let verified = parsed(&["verify", "--json", &converted]);
            let findings = verified["findings"].as_array().unwrap();
            let is_unused = |finding: &Value| finding["kind"] == "unused";
            assert!(!findings.iter().any(is_unused), "{} {more:?}: {verified}", golden.name);
        }
    }
}

#[test]
fn what_is_asked_for_wrongly_is_told_so_that_it_can_be_mended() {
    let file = path_of("v21_sparse_chunks");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out").to_str().unwrap().to_owned();
    let says = "is a GSD file; --threads is for SIONlib sets";
    refused(&["extract", "--threads", "2", &file, &out], 2, says);
    let says = predicate::str::contains("the step must be at least 1");
    for frames in ["12..", "1..1", "17..19"] {
        for verb in ["convert", "extract"] {
            let says = "--frames selects nothing: the file has 12 frames, 0 to 11";
            refused(&[verb, "--frames", frames, &file, &out], 2, says);
            assert!(!fs::exists(&out).unwrap(), "{verb} {frames}");
        }
    }
    striae(&["convert", "--frames", "0..3:0", &file, &out]).assert().code(2).stderr(says);
    assert!(!fs::exists(&out).unwrap());
    let long = striae::gsd::Builder::new().schema("x".repeat(64), Version { major: 1, minor: 0 });
    let error = long.create(&out).unwrap_err().to_string();
    assert!(error.ends_with("header.schema cannot be 64 bytes, must be from 0 to 63 bytes"));
    let unsealed = striae::gsd::verify::FindingKind::FramesUnsealed { frame: 3, count: 1 };
    let says = "1 frame has no checksums, the first is 3; others do";
    assert_eq!(unsealed.to_string(), says);
}

#[test]
fn verify_counts_the_chunks_that_ls_lists() {
    let dir = tempfile::tempdir().unwrap();
    let converted = dir.path().join("a.gsd").to_str().unwrap().to_owned();
    for golden in valid_files() {
        output(&["convert", "--force", golden.path(), &converted]);
        for path in [golden.path(), &converted] {
            let chunks = parsed(&["ls", "--json", path])["chunks"].as_array().unwrap().len();
            let verified = parsed(&["verify", "--json", path]);
            assert_eq!(verified["chunks"], chunks, "{}: {verified}", golden.name);
        }
    }
}

#[test]
fn info_says_what_the_header_says() {
    let golden = golden("v20_hoomd14");
    let info = parsed(&["info", "--json", golden.path()]);
    let layout = &golden.expected["layout"];
    let names = golden.names().len();
    let wanted = json!({
        "path": golden.path(), "format": "gsd", "gsd_version": "2.0", "application": "gsd.hoomd 3.3.2",
        "schema": "hoomd", "schema_version": "1.4", "frames": 3, "names": names,
        "entries": layout["index_used"], "bytes": golden.expected["size"],
        "index": {
            "location": layout["index_location"],
            "bytes": layout["index_allocated"].as_u64().unwrap() * 32,
            "used": layout["index_used"].as_u64().unwrap() * 32,
        },
        "namelist": {
            "location": layout["namelist_location"],
            "bytes": layout["namelist_allocated"].as_u64().unwrap() * 64,
            "used": layout["namelist_bytes_used"],
        },
        "record": "none", "commit": null,
        "hoomd": {
            "steps": [0, 20], "particles": [4, 4], "types": ["A", "B"],
            "log": ["md/energy", "particles/f"],
        },
    });
    assert_eq!(info, wanted);
    let text = text(&["info", golden.path()]);
    for line in ["format              GSD, file layer 2.0", "schema              hoomd 1.4"] {
        assert!(text.lines().any(|found| found == line), "{text}");
    }
    for golden in valid_files() {
        let info = parsed(&["info", "--json", golden.path()]);
        assert_eq!(info["frames"], golden.expected["nframes"], "{}", golden.name);
        output(&["info", golden.path()]);
    }
}

/// What gsd.hoomd read of them stands in `hoomd.json`.
#[test]
fn info_says_what_is_in_a_trajectory() {
    let golden_dir = golden::golden_dir();
    let expected: Value =
        serde_json::from_slice(&fs::read(golden_dir.join("hoomd.json")).unwrap()).unwrap();
    for (name, expected) in expected.as_object().unwrap() {
        let info = parsed(&["info", "--json", golden_dir.join(name).to_str().unwrap()]);
        let frames = expected["frames"].as_array().unwrap();
        let (first, last) = (&frames[0], &frames[frames.len() - 1]);
        let hoomd = &info["hoomd"];
        let steps = json!([first["configuration"]["step"], last["configuration"]["step"]]);
        assert_eq!(hoomd["steps"], steps, "{name}");
        let particles = json!([first["particles"]["N"], last["particles"]["N"]]);
        assert_eq!(hoomd["particles"], particles, "{name}");
        assert_eq!(hoomd["types"], first["particles"]["types"], "{name}");
    }
    let other = parsed(&["info", "--json", golden("v21_zero_size").path()]);
    assert_eq!(other.get("hoomd"), None);
}
