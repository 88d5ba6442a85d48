//! Wrong files, missing ones, outputs that are gone or full, and usage.

use super::*;

#[test]
fn a_wrong_file_gets_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("text"), "root:x:0:0").unwrap();
    fs::write(path("empty"), "").unwrap();
    fs::write(path("cut"), "sion").unwrap();
    fs::write(path("flipped"), "siom").unwrap();
    for verb in ["info", "ls", "dump", "verify"] {
        let neither = "is neither a SIONlib file nor a GSD, ffrecord or netCDF file: it ";
        refused(&[verb, &path("text")], 2, &format!("{neither}starts with \"root:x:0\""));
        refused(&[verb, &path("empty")], 2, &format!("{neither}is empty"));
        refused(
            &[verb, "-"],
            2,
            "-: standard input is not read, because files are read at offsets",
        );
        refused(&[verb, &path("missing")], 2, "missing: No such file or directory");
        refused(&[verb, dir.path().to_str().unwrap()], 2, "is a directory");
        refused(&[verb, "/dev/null"], 2, "/dev/null: not a regular file");
    }
    for verb in ["info", "ls"] {
        refused(&[verb, &path("cut")], 1, "META1.endianness at offset 4 needs");
        let says = "META1.magic at offset 0 is \"siom\", must be \"sion\"";
        refused(&[verb, &path("flipped")], 1, says);
    }
    // Status 1 would say that there is a copy, with guesses.
    refused(
        &["recover", &path("text"), &path("out")],
        2,
        "neither a SIONlib file nor a GSD, ffrecord or netCDF file",
    );
    let copy = Copy::of("s01_one_task");
    copy.overwrite(24, &(-1i32).to_le_bytes());
    let says = "s01_one_task.sion: META1.ntasks at offset 24 is -1, must be at least 1";
    refused(&["ls", copy.main()], 1, says);
}

/// ADIOS writes a file, or a folder in BP4 and BP5.
#[test]
fn output_of_adios_is_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    for folder in ["set.bp", "other.bp"] {
        fs::create_dir(path(folder)).unwrap();
        fs::write(path(&format!("{folder}/data.0")), "data").unwrap();
    }
    fs::write(path("set.bp/md.idx"), "ADIOS-BP v2.9.2 Index Table").unwrap();
    fs::write(path("other.bp/md.idx"), "ADIOS").unwrap();
    fs::write(path("file.bp"), "ADIOS-BP v2.9.2 Metadata").unwrap();
    for verb in ["info", "ls", "dump", "verify"] {
        for name in ["set.bp", "file.bp", "set.bp/md.idx"] {
            let says = format!("{name}: is an ADIOS BP file, which striae does not read; of the");
            refused(&[verb, &path(name)], 2, &says);
        }
        refused(&[verb, &path("other.bp")], 2, "is a directory");
    }
}

#[test]
fn a_pipe_without_a_writer_is_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
    refused(&["ls", pipe.to_str().unwrap()], 2, "not a regular file");
}

#[test]
fn a_missing_or_foreign_sibling_is_named() {
    let copy = Copy::of("m05_np8_3files");
    let second = format!("{}.000002", copy.main());
    fs::remove_file(&second).unwrap();
    refused(&["ls", copy.main()], 2, "m05_np8_3files.sion.000002: No such file");
    fs::copy(format!("{}.000001", copy.main()), &second).unwrap();
    let says = "META1.filenumber at offset 32 of file 2 of the set is 1, must be 2";
    refused(&["ls", copy.main()], 1, says);
}

/// The first file says that it is the second one: no verb reads it as a whole set.
#[test]
fn a_first_file_with_a_wrong_number_is_not_taken_for_the_whole_set() {
    let copy = Copy::of("m05_np8_3files");
    copy.overwrite(32, &1_i32.to_le_bytes());
    let says = "META1.filenumber at offset 32 of file 0 of the set is 1, must be 0";
    for verb in ["info", "ls"] {
        refused(&[verb, copy.main()], 1, says);
    }
    let pictures = striae(&["map", copy.main()]).assert().get_output().stdout.clone();
    let pictures = String::from_utf8(pictures).unwrap();
    assert!(pictures.contains("m05_np8_3files.sion.000002"), "{pictures}");
}

#[test]
fn a_claim_of_many_siblings_costs_nothing() {
    let copy = Copy::of("m05_np8_3files");
    copy.overwrite(28, &i32::MAX.to_le_bytes());
    refused(&["ls", copy.main()], 2, "m05_np8_3files.sion.000003: No such file");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let set = golden_set("s11_130_chunks");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_striae"))
        .args(["cat", main_file(&set), "task/0"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"");
}

#[test]
fn help_that_does_not_reach_its_reader_is_an_error() {
    for args in [&["--help"][..], &["--version"], &["ls", "--help"], &["bench", "read", "-h"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut striae = std::process::Command::new(env!("CARGO_BIN_EXE_striae"));
        let output = striae.args(args).stdout(full).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} {stderr}");
        assert!(stderr.starts_with("striae: standard output: No space left"), "{args:?} {stderr}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_told() {
    let set = golden_set("s11_130_chunks");
    for args in [&["ls"][..], &["ls", "--json"], &["dump"], &["verify"], &["info"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_striae"))
            .args(args)
            .arg(main_file(&set))
            .stdout(full)
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?} {stderr}");
        assert!(stderr.starts_with("striae: standard output: No space left"), "{args:?} {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{args:?} {stderr}");
    }
}

#[test]
fn usage_is_explained() {
    striae(&[]).assert().code(2);
    striae(&["cat", "file"]).assert().code(2).stderr(predicate::str::contains("ADDRESS"));
    striae(&["ls", "--help"]).assert().success().stdout(predicate::str::contains("Examples:"));
    let script = output(&["completions", "bash"]);
    assert!(String::from_utf8(script).unwrap().contains("extract"));
    assert!(String::from_utf8(output(&["man"])).unwrap().starts_with(".ie"));
}

/// Each line that a help shows as an example, of more than 10 verbs, has options and arguments that
/// its verb takes: without the files it fails for them, and not for its words.
#[test]
fn the_examples_of_all_helps_are_commands() {
    let exe = Path::new(env!("CARGO_BIN_EXE_striae"));
    let path = format!("{}:{}", exe.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let help = String::from_utf8(output(&["--help"])).unwrap();
    let verbs = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let verbs = verbs.take_while(|line| !line.is_empty() && !line.starts_with("Options:"));
    let verbs = verbs.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let mut verbs: Vec<_> = verbs.filter_map(|line| line.split_whitespace().next()).collect();
    verbs.retain(|verb| *verb != "help");
    let (mut shown, mut with) = (0, 0);
    for verb in verbs {
        let help = String::from_utf8(output(&[verb, "--help"])).unwrap();
        let before = shown;
        for line in help.lines().filter_map(|line| line.strip_prefix("  striae ")) {
            let dir = tempfile::tempdir().unwrap();
            let mut command = std::process::Command::new("bash");
            command.args(["-c", &format!("striae {line}")]).env("PATH", &path);
            let ran = command.current_dir(dir.path()).output().unwrap();
            let stderr = String::from_utf8(ran.stderr).unwrap();
            assert!(!stderr.contains("error: ") && !stderr.contains("Usage:"), "{line}: {stderr}");
            shown += 1;
        }
        with += u32::from(shown > before);
    }
    assert!(with > 10 && shown > 20, "{shown} examples of {with} verbs");
}

#[test]
fn a_verdict_does_not_need_a_reader() {
    let copy = Copy::of("s02_three_unequal_noncontig");
    copy.overwrite(7680, &7i64.to_le_bytes());
    for args in [&["verify"][..], &["verify", "--json"], &["ls", "--json"]] {
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_striae"))
            .args(args)
            .arg(&copy.main)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        assert_eq!(child.wait().unwrap().code(), Some(1), "{args:?}");
    }
}

#[test]
fn every_verb_has_a_manual_page() {
    let page = String::from_utf8(output(&["man", "cat"])).unwrap();
    assert!(page.contains("rank/42"), "{page}");
    assert!(page.contains("striae cat"), "the synopsis can be typed: {page}");
    refused(&["man", "dog"], 2, "there is no verb dog");
}
