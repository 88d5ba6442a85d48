//! `verify`, `dump`, and what `info` shows of a damaged file.

use super::*;

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
fn a_terminal_is_not_obeyed_by_what_a_file_says() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(52, b"\x1b]0;title\x07\rclosed  no\n");
    let text = String::from_utf8(output(&["info", copy.main()])).unwrap();
    assert!(text.lines().all(|line| !line.contains(['\x1b', '\x07', '\r'])), "{text:?}");
    assert!(text.contains("\\u{1b}]0;title\\u{7}\\rclosed  no\\n"), "{text:?}");
}
