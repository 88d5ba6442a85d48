//! `info` and `ls`.

use super::*;

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
                .map(|key| {
                    let address = format!("task/{index}/key/{}", key["key"]);
                    let (key, bytes) = (&key["key"], &key["length"]);
                    serde_json::json!({"key": key, "address": address, "bytes": bytes})
                })
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
                  ntasks path tasks";
    assert_eq!(keys(&listed).join(" "), of_set);
    assert_eq!(keys(&listed["files"][0]).join(" "), "ntasks path");
    let of_task = "address bytes chunks chunksize file globalrank local task";
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
        refused(&["cat", file, "task/0"], 1, says);
        let out = tempfile::tempdir().unwrap();
        let out = out.path().join("out");
        refused(&["extract", file, out.to_str().unwrap()], 1, says);
        assert!(!out.exists());
    }
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
    assert_eq!(output(&["cat", copy.main(), "task/2"]).len(), 2424);
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
fn one_file_is_read_alone_when_its_siblings_are_gone() {
    let copy = Copy::of("m05_np8_3files");
    fs::remove_file(format!("{}.000001", copy.main())).unwrap();
    refused(&["ls", copy.main()], 2, "; the set has 3 files, says ");
    let alone = json(&output(&["ls", "--json", "--alone", copy.main()]));
    assert_eq!(alone["ntasks"], 2);
    assert_eq!(output(&["cat", "--alone", copy.main(), "task/1"]).len(), 610);
}

#[test]
fn info_says_of_the_writer_only_what_the_file_shows() {
    let info = |path: &str| String::from_utf8(output(&["info", path])).unwrap();
    let set = golden_set("s02_three_unequal_noncontig");
    let theirs = info(main_file(&set));
    assert!(theirs.contains("version fields      SIONlib 1.7 patch 6\n"), "{theirs}");
    assert!(!theirs.contains("written by") && !theirs.contains("striae"), "{theirs}");
    // A file of striae that has nothing that SIONlib's have not shows no more than these.
    let folder = Folder::new();
    let out = folder.path("out.sion");
    output(&["convert", main_file(&set), &out]);
    let ours = info(&out);
    assert!(ours.contains("version fields      SIONlib 1.7 patch 6\n"), "{ours}");
    assert!(!ours.contains("marks of striae"), "{ours}");
    output(&["convert", "--force", "--seal", main_file(&set), &out]);
    assert!(info(&out).contains("marks of striae     a seal\n"));
    let writer = striae::sion::Reopen::new().sealed(false).open(&out).unwrap();
    std::io::Write::write_all(&mut writer.task(0).unwrap(), &[7; 5000]).unwrap();
    writer.commit().unwrap();
    drop(writer);
    let committed = info(&out);
    let says = "marks of striae     META2 not where a close puts it, as by a commit\n";
    assert!(committed.contains(says), "{committed}");
}

/// The rows of a list with `--csv`, each as a map from headings to values.
fn rows_of_csv(file: &str) -> Vec<BTreeMap<String, String>> {
    rows_of("ls", file)
}

fn rows_of(verb: &str, file: &str) -> Vec<BTreeMap<String, String>> {
    let text = String::from_utf8(printed(&[verb, "--csv", file])).unwrap();
    let split = |line: &str| {
        let (mut values, mut is_quoted) = (vec![String::new()], false);
        for c in line.chars() {
            match c {
                '"' => is_quoted = !is_quoted,
                ',' if !is_quoted => values.push(String::new()),
                c => values.last_mut().unwrap().push(c),
            }
        }
        values
    };
    let mut lines = text.lines().map(split);
    let heads = lines.next().unwrap();
    let row = |values: Vec<String>| {
        assert_eq!(values.len(), heads.len(), "{file}: {values:?}");
        heads.iter().cloned().zip(values).collect()
    };
    lines.map(row).collect()
}

/// A file, its list in JSON, and the names of some values in CSV and in JSON.
type ListedTwice = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

#[test]
fn values_separated_by_commas_are_those_of_json() {
    let lists: [ListedTwice; 5] = [
        ("sion/m05_np8_3files.sion", "tasks", &[("task", "task"), ("bytes", "bytes")]),
        ("gsd/v20_hoomd14.gsd", "chunks", &[("frame", "frame"), ("N", "N"), ("name", "name")]),
        ("ffrecord/many.ffr", "rows", &[("sample", "number"), ("offset", "offset")]),
        ("cdf/cdf5_alltypes.nc", "variables", &[("begin", "begin"), ("type", "type")]),
        ("blob/f4_n4_s1/blob_h1.nc", "variables", &[("covered", "covered"), ("type", "type")]),
    ];
    for (name, list, values) in lists {
        let file = golden(name);
        let listed = json(&output(&["ls", "--json", &file]));
        let listed = listed[list].as_array().unwrap();
        let rows = rows_of_csv(&file);
        assert!(!rows.is_empty() && rows.len() == listed.len(), "{name}");
        for (row, listed) in rows.iter().zip(listed) {
            for (head, key) in values {
                let value = &listed[key];
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                assert_eq!(row[*head], text, "{name}");
            }
        }
    }
    // The dimensions of a variable are separated by commas, too.
    let rows = rows_of_csv(&golden("blob/f4_n4_s1/can_h1.nc"));
    assert!(rows.iter().any(|row| row["variable"].contains(", ")));
    assert_eq!(rows_of_csv(&golden("map/z1.dat")).len(), 4);
}

#[test]
fn files_with_the_same_columns_make_one_table() {
    let files = ["gsd/v20_hoomd14.gsd", "gsd/v21_empty.gsd", "gsd/v20_hoomd14.gsd"].map(golden);
    let one = printed(&["ls", "--csv", &files[0]]);
    let one: Vec<_> = std::str::from_utf8(&one).unwrap().lines().collect();
    let paths = files.iter().map(String::as_str);
    let all = printed(&["ls", "--csv"].into_iter().chain(paths.clone()).collect::<Vec<_>>());
    let head = format!("path,{}", one[0]);
    let rows = one[1..].iter().map(|row| format!("{},{row}", files[0]));
    let rows = [head].into_iter().chain(rows.clone()).chain(rows);
    assert!(std::str::from_utf8(&all).unwrap().lines().eq(rows));
    // Tables with other columns have a head of their own.
    let mixed = printed(&["ls", "--csv", &files[1], &golden("ffrecord/many.ffr"), &files[0]]);
    let mixed = std::str::from_utf8(&mixed).unwrap();
    assert_eq!(mixed.lines().filter(|line| line.starts_with("path,")).count(), 3);
    let damaged = ["gsd/bad_trunc_relocated_index.gsd"; 2].map(golden);
    let twice = printed(&["verify", "--csv", &damaged[0], &damaged[1]]);
    let once = printed(&["verify", "--csv", &damaged[0]]);
    let [once, twice] = [&once, &twice].map(|text| text.iter().filter(|&&b| b == b'\n').count());
    assert_eq!(twice, 2 * once - 1);
}

fn golden(name: &str) -> String {
    format!("{}/../tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// What is printed, whatever the exit status.
fn printed(args: &[&str]) -> Vec<u8> {
    striae(args).assert().get_output().stdout.clone()
}

#[test]
fn findings_past_the_limit_of_a_spreadsheet_are_counted_on_standard_error() {
    let file = golden("gsd/bad_trunc_relocated_index.gsd");
    let all = String::from_utf8(printed(&["verify", "--csv", &file])).unwrap().lines().count();
    let assert = striae(&["verify", "--csv", "--limit", "2", &file]).assert().code(1);
    assert_eq!(String::from_utf8_lossy(&assert.get_output().stdout).lines().count(), 3);
    let says = format!("{} more findings; --limit N prints them", all - 3);
    assert!(String::from_utf8_lossy(&assert.get_output().stderr).contains(&says), "{says}");
}

#[test]
fn findings_and_tables_separated_by_commas_are_those_of_json() {
    let file = golden("gsd/bad_trunc_relocated_index.gsd");
    let verified = json(&printed(&["verify", "--json", &file]));
    let findings = verified["findings"].as_array().unwrap();
    let rows = rows_of("verify", &file);
    assert!(!rows.is_empty() && rows.len() == findings.len());
    for (row, finding) in rows.iter().zip(findings) {
        for key in ["severity", "kind", "file", "finding"] {
            assert_eq!(row[key], finding[key].as_str().unwrap());
        }
    }
    for file in [golden("sion/m05_np8_3files.sion"), golden("gsd/v21_hoomd_varying_N.gsd")] {
        let map = json(&printed(&["map", "--json", &file]));
        let files = map["files"].as_array().unwrap();
        let tables = files.iter().flat_map(|file| {
            file["tables"].as_array().unwrap().iter().map(move |table| (&file["file"], table))
        });
        let rows = rows_of("map", &file);
        assert!(rows.len() > files.len() && rows.len() == tables.clone().count());
        for (row, (path, table)) in rows.iter().zip(tables) {
            assert_eq!(row["file"], path.as_str().unwrap());
            for key in ["offset", "bytes", "kind", "name"] {
                let value = &table[key];
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                assert_eq!(row[key], text);
            }
        }
    }
}
