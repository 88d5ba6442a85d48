//! `append`.

use super::*;
use std::io::Write;
use striae::sion::Builder;

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
    let must = |address: &str| {
        let refusal = striae(&["append", copy.main(), address, &source]).assert().code(2);
        refusal.stderr(predicates::str::contains("must be task/N, rank/R, task/N/key/K or"));
    };
    ["task/0/chunk/1", "task/*", "task/x"].into_iter().for_each(must);
    refuse(copy.main(), "task/0/key/1", &source, "no key-value records");
    refuse(copy.main(), "frame/0/a", &source, "addresses in a SIONlib file are ");
    refuse(copy.main(), "task/0", &copy.path("none"), "none: No such file");
    refuse(copy.main(), "task/0", &second, "cannot be appended to itself");
    refuse(&second, "task/0", &source, "is one file of the set ");
    let unclosed = Copy::of("s19_unclosed_flushed");
    striae(&["append", unclosed.main(), "task/0", &source]).assert().code(1);
}

#[test]
fn a_file_of_the_set_is_never_its_own_source() {
    let folder = Folder::new();
    let path = folder.path("a.sion");
    let builder = Builder::new(3).nfiles(3).buddies(1).chunksize(16).fsblksize(16);
    builder.create(&path).unwrap().close().unwrap();
    let files: Vec<_> = folder.names().into_iter().map(|name| folder.path(&name)).collect();
    let bytes = || -> Vec<_> { files.iter().map(|file| fs::read(file).unwrap()).collect() };
    let before = bytes();
    assert_eq!(before.len(), 6);
    for file in &files {
        let link = folder.path("link");
        fs::hard_link(file, &link).unwrap();
        for source in [file, &link] {
            refused(&["append", &path, "task/1", source], 2, "cannot be appended to itself");
        }
        fs::remove_file(&link).unwrap();
        let mut append = std::process::Command::new(env!("CARGO_BIN_EXE_striae"));
        let append = append.args(["append", &path, "task/1", "-"]);
        let output = append.stdin(fs::File::open(file).unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{file}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("cannot be appended to itself"));
        assert!(bytes() == before, "{file}");
    }
}

#[test]
fn a_key_is_not_appended_to_a_stream_whose_last_record_is_cut() {
    let folder = Folder::new();
    let path = folder.path("a.sion");
    let mut set = Builder::new(2).keyval(true).chunksize(256).fsblksize(16).create(&path).unwrap();
    for task in 0..2 {
        set.task(task).unwrap().write_key(7, b"a value").unwrap();
    }
    set.close().unwrap();
    let source = folder.write("source", "another");
    append(&[&path, "task/1/key/8", &source]);
    // The last record of task 1 states a longer value.
    let mut bytes = fs::read(&path).unwrap();
    let at = bytes.windows(7).rposition(|bytes| bytes == b"another").unwrap();
    let len = bytes[at - 8..at].iter_mut().find(|byte| **byte == 7).unwrap();
    *len = 100;
    fs::write(&path, &bytes).unwrap();
    refused(&["append", &path, "task/1/key/9", &source], 1, "task 1: ");
    assert!(fs::read(&path).unwrap() == bytes);
    append(&[&path, "task/0/key/9", &source]);
}

#[test]
fn a_set_that_another_program_writes_is_refused() {
    let folder = Folder::new();
    let path = folder.path("a.sion");
    let mut set = Builder::new(2).chunksize(16).fsblksize(16).create(&path).unwrap();
    set.task(0).unwrap().write_all(b"one").unwrap();
    set.commit().unwrap();
    let source = folder.write("source", " two");
    refused(&["append", &path, "task/0", &source], 2, "is being written by another program");
    set.close().unwrap();
    append(&[&path, "task/0", &source]);
    assert_eq!(streams(&path)[0], b"one two");
}
