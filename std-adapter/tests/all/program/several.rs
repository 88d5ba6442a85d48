//! `info`, `ls` and `verify` of several files.

use super::*;

/// A file of each format, and what a heading calls it.
fn files() -> Vec<String> {
    let golden = |path| format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"));
    let paths = ["sion/s01_one_task.sion", "gsd/v21_sparse_chunks.gsd", "ffrecord/many.ffr"];
    paths.map(golden).into()
}

const VERBS: [&[&str]; 4] = [&["info"], &["ls"], &["ls", "--addresses"], &["verify"]];

#[test]
fn several_files_are_printed_as_one_by_one_with_headings() {
    let files = files();
    let paths: Vec<_> = files.iter().map(String::as_str).collect();
    for verb in VERBS {
        let heading = |path: &&str| {
            [format!("==> {path} <==\n").into_bytes(), output(&[verb, &[path]].concat())].concat()
        };
        let one_by_one: Vec<_> = paths.iter().map(heading).collect();
        let together = output(&[verb, &paths].concat());
        assert_eq!(together, one_by_one.join(&b"\n"[..]), "{verb:?}");
    }
}

#[test]
fn json_of_several_files_is_a_line_for_each_that_names_it_and_its_format() {
    let files = files();
    let paths: Vec<_> = files.iter().map(String::as_str).collect();
    for verb in ["info", "ls", "verify"] {
        let text = String::from_utf8(output(&[&[verb, "--json"], &paths[..]].concat())).unwrap();
        let lines: Vec<_> = text.lines().map(|line| json(line.as_bytes())).collect();
        assert_eq!(lines.len(), 3);
        for ((line, path), format) in lines.iter().zip(&paths).zip(["sion", "gsd", "ffrecord"]) {
            assert_eq!(
                (&line["path"], &line["format"]),
                (&(*path).into(), &format.into()),
                "{verb}"
            );
            assert_eq!(*line, json(&output(&[verb, "--json", path])), "{verb}");
        }
    }
}

#[test]
fn the_exit_status_is_the_worst_and_no_file_is_left_out() {
    let files = files();
    let folder = Folder::new();
    let damaged = Copy::of("s01_one_task");
    damaged.overwrite(24, &[0xff; 4]); // ntasks
    let foreign = folder.write("foreign", "hello, world, this is no such file");
    let none = folder.path("none");
    for (bad, status) in [(foreign.as_str(), 2), (damaged.main(), 1), (&none, 2)] {
        for order in [[bad, &files[0]], [&files[0], bad]] {
            let assert = striae(&[&["verify"], &order[..]].concat()).assert().code(status);
            let stdout = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
            assert!(stdout.contains(&format!("{}: structure sound", files[0])), "{stdout}");
            assert_eq!(stdout.matches("==> ").count(), 2);
        }
    }
    striae(&["verify", &none, &foreign]).assert().code(2);
}

#[test]
fn a_summary_has_a_line_for_each_name() {
    let files = files();
    let text = String::from_utf8(output(&["ls", "--summary", &files[1]])).unwrap();
    let lines: Vec<Vec<_>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    let listed = json(&output(&["ls", "--json", &files[1]]));
    let chunks = listed["chunks"].as_array().unwrap();
    assert_eq!(lines[0], ["frames", "type", "N", "M", "bytes", "name"]);
    assert_eq!(lines.len(), 1 + listed["names"].as_array().unwrap().len());
    let file = striae::gsd::File::open(&files[1]).unwrap();
    for line in &lines[1..] {
        let [frames, kind, n, _, bytes, name] = line[..] else { panic!("{text}") };
        let of_name: Vec<_> = chunks.iter().filter(|chunk| chunk["name"] == name).collect();
        assert_eq!(frames, of_name.len().to_string());
        assert!(of_name.iter().all(|chunk| chunk["type"] == kind));
        let rows = of_name.iter().map(|chunk| chunk["N"].as_u64().unwrap());
        let (least, most) = (rows.clone().min().unwrap(), rows.max().unwrap());
        let expected = if least == most { least.to_string() } else { format!("{least}-{most}") };
        assert_eq!(n, expected);
        let sum: u64 = (0..file.frames())
            .filter_map(|frame| file.find(frame, name).unwrap())
            .map(|chunk| chunk.span.len())
            .sum();
        assert_eq!(bytes, sum.to_string());
    }
    let summary = json(&output(&["ls", "--summary", "--json", &files[1]]));
    assert_eq!(summary["names"].as_array().unwrap().len(), lines.len() - 1);
    let part = json(&output(&["ls", "--summary", "--json", "--frames", "1..3", &files[1]]));
    assert_eq!(part["frames"], 2);
}

#[test]
fn one_thing_is_counted_in_the_singular() {
    let text = String::from_utf8(output(&["verify", &files()[0]])).unwrap();
    assert!(text.contains(" 1 physical file, 1 task, "), "{text}");
}

#[test]
fn a_closed_pipe_changes_no_status_of_several_files() {
    let files = files();
    let folder = Folder::new();
    let foreign = folder.write("foreign", "hello, world, this is no such file");
    for (bad, status) in [(foreign, 2), (folder.path("none"), 2)] {
        for order in [[&*bad, &*files[0], &*files[1]], [&*files[0], &*files[1], &*bad]] {
            for args in [vec!["verify"], vec!["verify", "--json"], vec!["info"], vec!["ls"]] {
                let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_striae"));
                let (reader, writer) = std::io::pipe().unwrap();
                drop(reader);
                let stdout = std::process::Stdio::from(writer);
                let ended = command.args(&args).args(order).stdout(stdout).output().unwrap();
                assert_eq!(ended.status.code(), Some(status), "{args:?} {order:?}");
            }
        }
    }
}

#[test]
fn a_file_that_cannot_be_verified_is_a_line_of_json_that_is_not_sound() {
    let files = files();
    let folder = Folder::new();
    let foreign = folder.write("foreign", "hello, world, this is no such file");
    let cut = folder.write("cut.gsd", &fs::read(&files[1]).unwrap()[..100]);
    let netcdf = folder.write("none.nc", b"CDF\x01\0\0\0\0");
    for (bad, status) in [(foreign, 2), (cut, 1), (folder.path("none"), 2), (netcdf, 1)] {
        let args = ["verify", "--json", &files[0], &bad, &files[1]];
        let assert = striae(&args).assert().code(status);
        let text = String::from_utf8(assert.get_output().stdout.clone()).unwrap();
        let lines: Vec<_> = text.lines().map(|line| json(line.as_bytes())).collect();
        assert_eq!(lines.len(), 3, "{text}");
        let sound: Vec<_> = lines.iter().map(|line| line["sound"] == true).collect();
        assert_eq!(sound, [true, false, true]);
        assert_eq!(lines[1]["path"], *bad);
        let error = lines[1]["error"].as_str();
        assert_eq!(lines[1]["sound"].is_null(), error.is_some());
        assert!(error.is_none_or(|error| error.contains(&bad)), "{text}");
    }
}
