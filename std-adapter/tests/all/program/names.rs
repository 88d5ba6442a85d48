//! Names: what their endings promise, and very long ones in messages.

use super::*;

fn golden(path: &str) -> String {
    format!("{}/../tests/golden/{path}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_name_that_promises_another_format_is_refused() {
    let folder = Folder::new();
    let set = main_file(&golden_set("s02_three_unequal_noncontig")).to_owned();
    let gsd = golden("gsd/v20_hoomd14.gsd");
    let source = folder.write("a", "bytes");
    let before = folder.names();
    for (args, out, says) in [
        (
            &["convert", &set][..],
            "x.gsd",
            "x.gsd: has the ending of a GSD file, but the new file is a SIONlib file",
        ),
        (&["convert", "--force", &set], "x.GSD", "new file is a SIONlib file"),
        (&["convert", &set], "x.ffr", "ending of an ffrecord file"),
        (&["convert", &gsd], "x.sion", "ending of a SIONlib file, but the new file is a GSD file"),
        (&["convert", &set], "x.gsd.000001", "new file is a SIONlib file"),
        (&["recover", &gsd], "x.sion.000001", "new file is a GSD file"),
        (&["recover", &set], "x.gsd", "new file is a SIONlib file"),
        (&["recover", &gsd], "x.sion", "new file is a GSD file"),
        (&["pack"], "x.gsd", "new file is a SIONlib file"),
        (
            &["pack", "--format", "blob"],
            "x.gsd",
            "ending of a GSD file, but the new file is an E3SM-IO",
        ),
        (&["pack", "--format", "ffrecord"], "x.sion", "new file is an ffrecord file"),
        (&["pack", "--format", "ffrecord"], "x.gsd", "new file is an ffrecord file"),
    ] {
        let out = folder.path(out);
        let mut all = [args, &[&*out]].concat();
        if args[0] == "pack" {
            all.push(&source);
        }
        refused(&all, 2, says);
        assert_eq!(folder.names(), before, "{all:?}");
    }
    for (from, out) in
        [(&set, "x"), (&set, "x.sion"), (&set, "x.dat"), (&gsd, "x.gsd"), (&gsd, "y")]
    {
        let out = folder.path(out);
        output(&["convert", "--force", from, &out]);
    }
    // E3SM-IO's own sets have the ending of netCDF files before the number.
    let map = golden("map/map_f_tiny_8p.nc");
    let like = golden("blob/f8_n8_s3rr/blob_h1.nc.0000");
    let canonical = golden("blob/f8_n8_s3rr/can_h1.nc");
    let out = folder.path("set.nc");
    let options = ["pack", "--format", "blob", "--map", &map, "--like", &like];
    output(&[&options[..], &[&out, &canonical]].concat());
    output(&["ls", &folder.path("set.nc.0000")]);
}

#[test]
fn a_long_name_does_not_make_a_long_message() {
    let folder = Folder::new();
    let gsd = golden("gsd/v20_hoomd14.gsd");
    let set = main_file(&golden_set("s02_three_unequal_noncontig")).to_owned();
    let long = format!("\x1b[31m{}end", "é".repeat(3500));
    let out = folder.path(&long);
    let chunk = format!("frame/0/{long}");
    let all: [&[&str]; 9] = [
        &["ls", &long],
        &["convert", &set, &out],
        &["extract", &set, &out],
        &["recover", &gsd, &out],
        &["pack", &out, &set],
        &["pack", "--format", "ffrecord", &out, &set],
        &["cat", &gsd, &chunk],
        &["extract", &gsd, &folder.path("dir"), &chunk],
        &["man", &long],
    ];
    for args in all {
        let assert = striae(args).assert();
        let output = assert.get_output();
        let stderr = std::str::from_utf8(&output.stderr).unwrap();
        assert!(matches!(output.status.code(), Some(1 | 2)), "{args:?}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert!(stderr.len() < 1000, "{}: {stderr}", stderr.len());
        assert!(stderr.contains("end (") && stderr.contains(" bytes)"), "{stderr}");
        assert!(!stderr.contains(['\x1b', '\u{fffd}']), "{stderr:?}");
    }
}

#[test]
fn json_has_a_long_name_whole() {
    let folder = Folder::new();
    let path = folder.path("long.gsd");
    let name = "n".repeat(7000);
    let mut file = striae::gsd::Builder::new().create(&path).unwrap();
    file.write(&name, &[1.0f32], 1).unwrap();
    file.end_frame().unwrap();
    file.close().unwrap();
    let listed = json(&output(&["ls", "--json", &path]));
    assert_eq!(listed["chunks"][0]["name"], name);
    let text = String::from_utf8(output(&["ls", &path])).unwrap();
    assert!(text.contains(&name), "a list is no message");
}
