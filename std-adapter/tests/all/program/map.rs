//! The program draws whose bytes are where, as text, as SVG and as JSON.

use super::*;

fn golden(path: &str) -> String {
    format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"))
}

/// A file of each format.
const FILES: [&str; 3] =
    ["sion/s03_eight_mixed.sion", "gsd/v21_sparse_chunks.gsd", "ffrecord/folder.ffr"];

fn text(args: &[&str]) -> String {
    String::from_utf8(output(args)).unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

#[test]
fn each_letter_is_that_of_the_bytes_it_stands_for() {
    let folder = Folder::new();
    let path = folder.path("folder.ffr");
    fs::copy(golden("ffrecord/folder.ffr"), &path).unwrap();
    let shown = text(&["map", &path, "--width", "60"]);
    let rows: Vec<_> = shown.lines().skip(1).take(4).collect();
    // 12 bytes of header, 3 checksums of 4 and 3 offsets of 8 bytes, then 5, 7 and 80 of samples.
    let letters = ["H".repeat(12), "C".repeat(12), "I".repeat(24)].concat();
    let letters = format!("{letters}DDDDDddddddd{}", "D".repeat(80));
    let cells = |at| letters.chars().skip(at).take(46).collect::<String>();
    let row = |at: usize| format!("{at:>12}  {}", cells(at));
    assert_eq!(rows, [row(0), row(46), row(92), row(138)]);
    for line in ["H  header                  12   8.57 %", "Dd data                    92  65.71 %"]
    {
        assert!(shown.contains(line), "{shown}");
    }
    assert!(!shown.contains("unknown") && !shown.contains('\u{1b}') && !shown.contains('~'));
}

#[test]
fn no_width_is_exceeded_and_none_changes_the_legend() {
    for file in FILES {
        let path = golden(file);
        let legend = |shown: &str| shown.split("\n\n").nth(1).unwrap().to_owned();
        let wanted = legend(&text(&["map", &path]));
        for width in [1, 2, 13, 29, 30, 31, 80, 200, 65535] {
            let shown = text(&["map", &path, "--width", &width.to_string()]);
            let (picture, _) = shown.split_once("\n\n").unwrap();
            let rows: Vec<_> = picture.lines().skip(1).collect();
            assert!(rows.len() <= 16 && rows.iter().all(|row| row.len() <= width), "{shown}");
            // Which owners can be told apart depends on the width.
            let kinds = |text: &str| text.lines().filter(|line| line.contains('%')).count();
            assert_eq!(kinds(&legend(&shown)), kinds(&wanted));
        }
    }
    striae(&["map", &golden(FILES[0]), "--width", "0"]).assert().code(2);
}

#[test]
fn json_adds_up() {
    for file in FILES {
        let path = golden(file);
        let map = json(&output(&["map", "--json", &path]));
        let file = &map["files"][0];
        let bytes = fs::metadata(&path).unwrap().len();
        assert_eq!(number(&file["bytes"]), bytes);
        let legend = map["legend"].as_array().unwrap();
        for part in ["kinds", "cells"] {
            let parts = file[part].as_array().unwrap();
            assert_eq!(parts.iter().map(|part| number(&part["bytes"])).sum::<u64>(), bytes);
            let has = |part: &Value| legend.iter().any(|entry| entry["kind"] == part["kind"]);
            assert!(parts.iter().all(has));
        }
        let mut end = 0;
        for cell in file["cells"].as_array().unwrap() {
            assert_eq!(number(&cell["offset"]), end);
            end += number(&cell["bytes"]);
        }
        assert_eq!(file["tables"][0]["offset"], 0);
    }
}

#[test]
fn a_set_has_a_picture_of_each_file() {
    let path = golden("sion/m05_np8_3files.sion");
    let map = json(&output(&["map", "--json", &path]));
    let names: Vec<_> = map["files"].as_array().unwrap().iter().map(|file| &file["file"]).collect();
    assert_eq!(names, [&*path, &format!("{path}.000001"), &format!("{path}.000002")]);
    let alone = json(&output(&["map", "--json", "--alone", &path]));
    assert_eq!(alone["files"].as_array().unwrap().len(), 1);

    let copy = Copy::of("m05_np8_3files");
    fs::remove_file(format!("{}.000002", copy.main())).unwrap();
    refused(&["map", copy.main()], 2, "--alone opens one file without the others");
    output(&["map", "--alone", copy.main()]);
}

#[test]
fn what_is_damaged_is_unknown_and_said() {
    // A task's block count that cannot be: how much of its chunks is used is not known.
    let copy = Copy::of("s03_eight_mixed");
    let sound = json(&output(&["map", "--json", copy.main()]));
    copy.overwrite(19968, &[0; 8]);
    let assert = striae(&["map", "--json", copy.main()]).assert().code(1);
    let damaged =
        json(&assert.stderr(predicate::str::contains("verify says why")).get_output().stdout);
    let of = |map: &Value, kind: &str| {
        let kinds = map["files"][0]["kinds"].as_array().unwrap();
        kinds.iter().find(|row| row["kind"] == kind).map(|row| number(&row["bytes"]))
    };
    assert_eq!((of(&sound, "unknown"), of(&sound, "header")), (None, Some(1088)));
    assert!(of(&damaged, "unknown").unwrap() > 0);
    assert_eq!(of(&damaged, "lengths"), of(&sound, "lengths"));

    // META2 cannot be found.
    copy.overwrite(1204, &[0; 12]);
    let assert = striae(&["map", copy.main()]).assert().code(1);
    let shown = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    assert!(shown.contains("?  unknown") && !shown.contains("lengths"), "{shown}");
    // Not even a header.
    copy.overwrite(24, &[0xff; 4]);
    refused(&["map", copy.main()], 1, "META1.ntasks at offset 24 is -1, must be at least 1");
}

#[test]
fn holes_are_seen_where_nothing_is_read() {
    let folder = Folder::new();
    let path = folder.path("a.sion");
    let mut set = striae::sion::Builder::new(2).chunksize(1 << 20).create(&*path).unwrap();
    std::io::Write::write_all(&mut set.task(1).unwrap(), b"a few bytes").unwrap();
    set.close().unwrap();
    let map = json(&output(&["map", "--json", &path]));
    let kinds = map["files"][0]["kinds"].as_array().unwrap();
    let bytes =
        |kind| kinds.iter().find(|row| row["kind"] == kind).map(|row| number(&row["bytes"]));
    assert_eq!(bytes("data"), Some(11));
    assert!(bytes("hole").unwrap() > 1 << 20, "{kinds:?}");
}

#[test]
fn a_seal_is_checksums() {
    let folder = Folder::new();
    let (source, path) = (folder.write("a", [7; 500]), folder.path("a.sion"));
    output(&["pack", "--seal", &path, &source, &source]);
    let map = json(&output(&["map", "--json", &path]));
    let tables = map["files"][0]["tables"].as_array().unwrap();
    let kind_at = |offset| {
        let is_there = |table: &&Value| {
            let start = number(&table["offset"]);
            (start..start + number(&table["bytes"])).contains(&offset)
        };
        tables.iter().find(is_there).unwrap()["kind"].as_str().unwrap()
    };
    let dump = json(&output(&["dump", "--json", &path]));
    let is_seal = |line: &&Value| line["name"].as_str().unwrap().starts_with("seal.");
    let fields: Vec<_> = dump.as_array().unwrap().iter().filter(is_seal).collect();
    assert!(fields.len() > 3);
    assert!(fields.iter().all(|field| kind_at(number(&field["offset"])) == "checksums"));
}

/// Checks that tags are closed in order, and that attributes are quoted and text is escaped.
/// Returns the names of elements.
fn elements(xml: &str) -> Vec<String> {
    let (mut open, mut names, mut rest) = (Vec::new(), Vec::new(), xml);
    rest = rest.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap();
    while let Some((text, tag)) = rest.split_once('<') {
        assert!(!text.contains('>') && (text.trim().is_empty() || !open.is_empty()), "{text}");
        for entity in text.split('&').skip(1) {
            assert!(["amp;", "lt;", "gt;"].iter().any(|name| entity.starts_with(name)), "{text}");
        }
        let (tag, behind) = tag.split_once('>').unwrap();
        assert!(tag.matches('"').count() % 2 == 0 && !tag.contains('&'), "{tag}");
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap().to_owned();
        if !tag.ends_with('/') {
            open.push(name.clone());
        }
        names.push(name);
    }
    assert!(open.is_empty() && rest.trim().is_empty());
    names
}

#[test]
fn a_picture_is_one_well_formed_svg() {
    let folder = Folder::new();
    let odd = folder.path("<a> & \"b\"\u{1b}.sion");
    fs::copy(golden(FILES[0]), &odd).unwrap();
    let set = golden("sion/m05_np8_3files.sion");
    for path in FILES.map(golden).iter().chain([&odd, &set]) {
        let svg = text(&["map", "--svg", "-", path]);
        let names = elements(&svg);
        assert_eq!(names[..3], ["svg", "title", "desc"]);
        assert!(names[3..].iter().all(|name| ["rect", "text"].contains(&&**name)), "{names:?}");
        assert_eq!(svg, text(&["map", "--svg", "-", path]), "the same each time");
    }
}

#[test]
fn a_picture_is_a_new_file() {
    let folder = Folder::new();
    let out = folder.path("a.svg");
    let (path, written) = (golden(FILES[1]), |args: &[&str]| text(&[&["map"], args].concat()));
    assert_eq!(written(&["--svg", &out, &path]), "");
    assert_eq!(fs::read_to_string(&out).unwrap(), written(&["--svg", "-", &path]));
    refused(&["map", "--svg", &out, &path], 2, "--force replaces it");
    written(&["--svg", &out, "--force", "--width", "20", &path]);
    assert_ne!(fs::read_to_string(&out).unwrap(), written(&["--svg", "-", &path]));
    assert_eq!(folder.names().len(), 1);
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("std-adapter/README.md")).unwrap();
    let (_, shown) = readme.split_once("$ striae map ").unwrap();
    let (command, shown) = shown.split_once('\n').unwrap();
    let (shown, _) = shown.split_once("```").unwrap();
    let args: Vec<_> = ["map"].into_iter().chain(command.split(' ')).collect();
    let assert = striae(&args).current_dir(root).assert().success();
    let printed = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
    assert_eq!(printed, shown);
}

/// From a clean clone: each file that a command reads is there.
#[test]
fn the_commands_of_the_first_page_work() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let folder = Folder::new();
    std::os::unix::fs::symlink(root.canonicalize().unwrap().join("tests"), folder.path("tests"))
        .unwrap();
    let mut verbs = Vec::new();
    for command in readme.lines().filter_map(|line| line.strip_prefix("$ striae ")) {
        let words: Vec<_> = command.split('#').next().unwrap().split_whitespace().collect();
        // Of a damaged file a part is lost, which is status 1.
        let status = if words[0] == "recover" { 1 } else { 0 };
        striae(&words).current_dir(folder.path("")).assert().code(status);
        verbs.push(words[0]);
    }
    assert_eq!(verbs, ["ls", "verify", "recover"]);
    assert!(fs::metadata(folder.path("saved.gsd")).unwrap().len() > 0);
}

#[test]
fn the_first_page_has_the_picture_that_the_program_draws() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    let (_, picture) = readme.split_once("](spec/").unwrap();
    let (picture, rest) = picture.split_once(')').unwrap();
    let (_, command) = rest.split_once("`striae ").unwrap();
    let (command, _) = command.split_once('`').unwrap();
    let out = format!("spec/{picture}");
    let words = command.split(' ').map(|word| if word == out { "-" } else { word });
    let words: Vec<_> = words.collect();
    assert!(words.contains(&"-"), "{command}");
    let assert = striae(&words).current_dir(&root).assert().success();
    let shown = fs::read(root.join("spec").join(picture)).unwrap();
    assert!(assert.get_output().stdout == shown);
}

#[test]
fn a_set_of_more_files_than_may_be_open_is_drawn() {
    let folder = Folder::new();
    let path = folder.path("a.sion");
    let builder = striae::sion::Builder::new(60).nfiles(60).chunksize(100).fsblksize(16);
    builder.create(&path).unwrap().close().unwrap();
    let drawn = limits("-n 24", &["map", "--json", &path]).assert().success();
    assert!(drawn.get_output().stdout == output(&["map", "--json", &path]));
    fs::remove_file(format!("{path}.000059")).unwrap();
    refused(
        &["map", &path],
        2,
        "a.sion.000059: No such file or directory (os error 2); the set has",
    );
}
