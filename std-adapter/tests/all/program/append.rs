//! `append`.

use super::*;

fn append(args: &[&str]) {
    assert_eq!(output(&[&["append"], args].concat()), b"");
}

/// Sets that append can go on with.
fn golden_copies() -> Vec<Copy> {
    let names = ["s01_one_task", "s03_eight_mixed", "m05_np8_3files", "o01_omp4"];
    names.map(Copy::of).into()
}

#[test]
fn what_is_appended_follows_what_was_there_and_nothing_else_changes() {
    for copy in golden_copies() {
        let before = streams(copy.main());
        let more: Vec<u8> = (0..70_000u32).map(|i| payload(9, i.into())).collect();
        let source = copy.path("more");
        fs::write(&source, &more).unwrap();
        append(&[copy.main(), "task/-1", &source]);
        append(&[copy.main(), "task/0", &source]);
        let mut expected = before.clone();
        expected.last_mut().unwrap().extend(&more);
        expected.first_mut().unwrap().extend(&more);
        assert_eq!(streams(copy.main()), expected, "{}", copy.main());
        output(&["verify", copy.main()]);
    }
}

#[test]
fn standard_input_is_appended_to_the_task_of_a_rank() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    let before = streams(copy.main());
    let mut append = striae(&["append", copy.main(), "rank/42", "-"]);
    append.write_stdin("hello").assert().success().stdout("").stderr("");
    assert_eq!(streams(copy.main())[2], [&before[2][..], b"hello"].concat());
}

#[test]
fn a_record_of_a_key_is_appended() {
    let copy = Copy::of("s17_keyval_straddle");
    let before = records(copy.main());
    let source = copy.path("value");
    fs::write(&source, "a value").unwrap();
    append(&[copy.main(), "task/1/key/5", &source]);
    append(&[copy.main(), "task/1/key/77", &source]);
    let mut expected = before;
    expected[1].extend([(5, b"a value".to_vec()), (77, b"a value".to_vec())]);
    assert_eq!(records(copy.main()), expected);
    refused(&["append", copy.main(), "task/1", &source], 2, "key-value records");
    assert_eq!(records(copy.main()), expected);
}

#[test]
fn what_fails_leaves_all_that_was_there() {
    for copy in golden_copies() {
        let before = streams(copy.main());
        let source = copy.path("more");
        fs::write(&source, vec![7; 3 << 20]).unwrap();
        let len = fs::metadata(copy.main()).unwrap().len();
        let limit = format!("-f {}", len / 512 + 128); // blocks of 512 bytes
        limits(&limit, &["append", copy.main(), "task/0", &source]).assert().code(2);
        assert_eq!(streams(copy.main()), before, "{}", copy.main());
        output(&["verify", copy.main()]);
        // And it can be gone on with.
        append(&[copy.main(), "task/0", &source]);
        assert_eq!(streams(copy.main())[0].len(), before[0].len() + (3 << 20));
    }
}

#[test]
fn what_cannot_be_appended_to_is_refused_and_not_touched() {
    let copy = Copy::of("m05_np8_3files");
    let second = format!("{}.000001", copy.main());
    let source = copy.path("more");
    fs::write(&source, "more").unwrap();
    let bytes = || [fs::read(copy.main()).unwrap(), fs::read(&second).unwrap()];
    let before = bytes();
    let refuse = |set: &str, address: &str, source: &str, says: &str| {
        refused(&["append", set, address, source], 2, says);
        assert_eq!(bytes(), before, "{set} {address} {source}");
    };
    refuse(copy.main(), "task/8", &source, "task/8: the file has 8 tasks, 0 to 7");
    refuse(copy.main(), "task/0/chunk/1", &source, "and not to a chunk");
    refuse(copy.main(), "task/0/key/1", &source, "no key-value records");
    refuse(copy.main(), "frame/0/a", &source, "addresses in a SIONlib file are ");
    refuse(copy.main(), "task/0", &copy.path("none"), "none: No such file");
    refuse(copy.main(), "task/0", &second, "cannot be appended to itself");
    refuse(&second, "task/0", &source, "is one file of the set ");
    let unclosed = Copy::of("s19_unclosed_flushed");
    striae(&["append", unclosed.main(), "task/0", &source]).assert().code(1);
}
