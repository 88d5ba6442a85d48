//! Addresses of chunks of a trajectory: `cat` writes what a reader of the schema sees.

use super::golden::path_of;
use super::*;
use std::path::Path;
use striae::gsd::File;
use striae::gsd::hoomd::Trajectory;

fn cat(path: &str, address: &str, more: &[&str]) -> Vec<u8> {
    output(&[&["cat", path, address][..], more].concat())
}

#[test]
fn cat_gives_each_frame_of_a_trajectory_the_values_that_a_reader_sees() {
    let mut taken = 0;
    for name in ["v21_hoomd_varying_N", "v21_hoomd_full_single", "v20_hoomd14"] {
        let path = path_of(name);
        let file = File::open(Path::new(&path)).unwrap();
        let trajectory = Trajectory::open(&path).unwrap();
        for number in 0..file.frames() {
            let frame = trajectory.frame(number).unwrap();
            let bytes = |address: &str| cat(&path, &format!("frame/{number}/{address}"), &[]);
            let typeid = frame.particles().typeid().unwrap();
            let typeid: Vec<u8> = typeid.iter().flat_map(|id| id.to_le_bytes()).collect();
            assert_eq!(bytes("particles/typeid"), typeid, "{name} {number}");
            assert_eq!(bytes("configuration/dimensions"), [frame.dimensions().unwrap()]);
            let n = frame.particles().n().unwrap();
            assert_eq!(bytes("particles/N"), n.to_le_bytes(), "{name} {number}");
            let body = frame.particles().body().unwrap();
            let body: Vec<u8> = body.iter().flat_map(|id| id.to_le_bytes()).collect();
            assert_eq!(bytes("particles/body"), body, "{name} {number}");
            taken += usize::from(file.find(number, "particles/typeid").unwrap().is_none());
        }
        // A state is of its frame alone, and a name of no schema too.
        refused(&["cat", &path, "frame/1/state/none"], 1, "state/none");
        refused(&["cat", &path, "frame/1/other"], 1, "other");
    }
    assert!(taken > 3, "{taken}");
}

#[test]
fn rows_of_a_default_are_those_that_are_asked_for() {
    let path = path_of("v21_hoomd_varying_N");
    let n = Trajectory::open(&path).unwrap().frame(1).unwrap().particles().n().unwrap();
    let rows = |part: &str| {
        let text = cat(&path, "frame/1/particles/angmom", &["--text", "--rows", part]);
        String::from_utf8(text).unwrap()
    };
    assert_eq!(rows("-1.."), "0.0 0.0 0.0 0.0\n");
    assert_eq!(rows("..").lines().count(), n as usize);
    let past = format!("0..{}", n + 1);
    let args = ["cat", &path, "frame/1/particles/angmom", "--rows", &past];
    refused(&args, 2, &format!("--rows ends at {}, but there are {n} rows", n + 1));
}

#[test]
fn an_address_of_a_folder_of_names_is_answered_with_the_names() {
    let path = path_of("v21_hoomd_varying_N");
    for address in ["frame/0/particles", "frame/0/particles/"] {
        refused(&["cat", &path, address], 1, "; it has particles/N, ");
    }
}

#[test]
fn frames_count_from_the_end_too() {
    let path = path_of("v21_hoomd_varying_N");
    let last = File::open(Path::new(&path)).unwrap().frames() - 1;
    for (part, same) in [
        ("-1..".to_owned(), format!("{last}..")),
        ("-2..-1".to_owned(), format!("{}..{last}", last - 1)),
        ("..-1".to_owned(), format!("0..{last}")),
        ("1..-1".to_owned(), format!("1..{last}")),
        ("-99999..".to_owned(), "0..".to_owned()),
    ] {
        let ls = |part: &str| output(&["ls", "--frames", part, &path]);
        assert_eq!(ls(&part), ls(&same), "{part}");
        let dir = tempfile::tempdir().unwrap();
        let convert = |part: &str, name: &str| {
            let out = dir.path().join(name);
            output(&["convert", "--frames", part, &path, out.to_str().unwrap()]);
            fs::read(out).unwrap()
        };
        assert_eq!(convert(&part, "a.gsd"), convert(&same, "b.gsd"), "{part}");
    }
    let backward = striae(&["ls", "--frames", "-1..-2", &path]).assert().code(2);
    backward.stderr(predicate::str::contains("must not end before it starts"));
}
