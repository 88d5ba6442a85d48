//! The verbs of the program.

use super::made::Made;
use super::verify::sealed;
use super::{copied, golden_dir, runs, sha256};
use crate::run::{output, refused, striae};
use serde_json::{Value, json};
use std::path::Path;
use striae::blob::Set;
use striae::cdf::File;

#[test]
fn cat_writes_the_canonical_values() {
    for run in runs() {
        for path in run.sets() {
            let path = path.to_str().unwrap();
            for variable in run.variables().iter().step_by(7) {
                let name = variable["name"].as_str().unwrap();
                let address = format!("variable/{name}");
                let found = output(&["cat", path, &address, "--fill", "0"]);
                assert_eq!(sha256(&found), variable["sha256_be_holes_zero"], "{name}");
            }
        }
    }
}

#[test]
fn ls_has_the_canonical_names_and_the_numbers_of_the_set() {
    for run in runs() {
        for path in run.sets() {
            let path = path.to_str().unwrap();
            let listing: Value = serde_json::from_slice(&output(&["ls", "--json", path])).unwrap();
            assert_eq!(listing["format"], "blob");
            assert_eq!(listing["numrecs"], run.expected["numrecs"]);
            let numrecs = listing["numrecs"].as_u64().unwrap();
            let dims =
                run.expected["dims"].as_array().unwrap().iter().map(|dim| match &dim["len"] {
                    len if *len == 0 => {
                        json!({"name": dim["name"], "length": numrecs, "unlimited": true})
                    }
                    len => json!({"name": dim["name"], "length": len, "unlimited": false}),
                });
            assert_eq!(listing["dims"], dims.collect::<Value>());
            for (found, expected) in
                listing["variables"].as_array().unwrap().iter().zip(run.variables())
            {
                for key in ["name", "type", "dims", "record", "covered"] {
                    assert_eq!(found[key], expected[key], "{key}");
                }
                assert_eq!(found["decomposition"], expected["decomposition_ID"]);
            }
            for (found, expected) in listing["subfiles"]
                .as_array()
                .unwrap()
                .iter()
                .zip(run.expected["subfiles"].as_array().unwrap())
            {
                assert_eq!(found["nblobs"], expected["nblobs"]);
            }
        }
    }
}

#[test]
fn a_region_is_printed_as_text() {
    let path = golden_dir().join("f4_n4_s1/blob_h1.h5");
    let path = path.to_str().unwrap();
    let text = output(&["cat", path, "variable/lev", "--text", "--start", "0", "--count", "2"]);
    assert_eq!(text, b"20495.0 20496.0\n");
}

/// The canonical file of this set has 53 elements in D2. How many of them a subfile has is in the
/// vectors of the program that wrote it.
#[test]
fn a_lost_subfile_is_named_with_what_is_filled_for_it_and_the_status_is_1() {
    let run = golden_dir().join("f8_n8_s3rr");
    let expected: Value =
        serde_json::from_slice(&std::fs::read(run.join("expected.json")).unwrap()).unwrap();
    let lost = expected["subfiles"][1]["decomp"]["D2"]["nelems"].as_u64().unwrap();
    let nothing: fn(&Path) = |path| std::fs::remove_file(path).unwrap();
    let empty: fn(&Path) = |path| std::fs::write(path, b"").unwrap();
    let zeroed: fn(&Path) = |path| {
        let len = std::fs::metadata(path).unwrap().len();
        std::fs::write(path, vec![0; usize::try_from(len).unwrap()]).unwrap();
    };
    for damage in [nothing, empty, zeroed] {
        let (dir, path) = copied(&run.join("blob_h1.nc"));
        damage(&path.with_extension("nc.0001"));
        let (name, out) = (path.to_str().unwrap(), dir.path().join("out.nc"));
        let folder = dir.path().join("out");
        let says = |args: &[&str]| {
            let failed = striae(args).assert().code(1);
            String::from_utf8(failed.get_output().stderr.clone()).unwrap()
        };
        let count = format!("D2: no subfile that can be read has {lost} of 53 elements");
        for args in [
            &["cat", name, "variable/lat"][..],
            &["extract", name, folder.to_str().unwrap(), "variable/lat"],
            &["convert", name, out.to_str().unwrap()],
        ] {
            let text = says(args);
            let line = text.lines().next().unwrap();
            assert!(line.contains("blob_h1.nc.0001: "), "{text}");
            assert!(line.ends_with("; its elements are filled"), "{text}");
            assert!(text.contains(&count), "{text}");
        }
        assert!(out.exists() && folder.exists());
        for args in [
            &["info", name][..],
            &["ls", name],
            &["ls", "--addresses", name],
            &["recover", name, dir.path().join("r.nc").to_str().unwrap()],
        ] {
            assert!(!says(args).contains("filled"));
        }
        for args in [&["info", name][..], &["ls", "--addresses", name]] {
            refused(args, 1, "blob_h1.nc.0001: ");
        }
    }
}

/// Nothing was found out about its contents, so it is no damage, and nothing is made.
#[test]
fn a_subfile_that_is_no_file_is_an_error_of_the_system_and_no_damage() {
    let (dir, path) = copied(&golden_dir().join("f8_n8_s3rr/blob_h1.nc"));
    let subfile = path.with_extension("nc.0001");
    std::fs::remove_file(&subfile).unwrap();
    std::fs::create_dir(&subfile).unwrap();
    let (name, out) = (path.to_str().unwrap(), dir.path().join("out.nc"));
    for args in [
        &["info", name][..],
        &["cat", name, "variable/lat"],
        &["convert", name, out.to_str().unwrap()],
        &["recover", name, out.to_str().unwrap()],
        &["verify", name],
    ] {
        refused(args, 2, "blob_h1.nc.0001: is a directory");
        assert!(!out.exists());
    }
}

/// A name with a slash cannot be in the canonical file: that is the fault of the subfile.
#[test]
fn a_name_that_netcdf_does_not_have_is_the_fault_of_the_file() {
    let (_dir, path) = copied(&golden_dir().join("f4_n4_s1/blob_h1.nc"));
    let subfile = path.with_extension("nc.0000");
    let mut bytes = std::fs::read(&subfile).unwrap();
    let place = bytes.windows(4).position(|name| name == b"ilev").unwrap();
    bytes[place + 1] = b'/';
    std::fs::write(&subfile, bytes).unwrap();
    for verb in ["info", "ls", "verify"] {
        let failed = striae(&[verb, path.to_str().unwrap()]).assert().code(1);
        let out = failed.get_output();
        let text = String::from_utf8([&out.stdout[..], &out.stderr].concat()).unwrap();
        assert!(text.contains("its name is empty, too long, or has a wrong character"), "{text}");
    }
}

#[test]
fn info_says_how_many_subfiles_have_a_seal() {
    let dir = tempfile::tempdir().unwrap();
    let set = sealed(dir.path(), "nc");
    for (path, text) in [(set, "yes"), (golden_dir().join("f4_n4_s1/blob_h1.nc"), "no")] {
        let found = String::from_utf8(output(&["info", path.to_str().unwrap()])).unwrap();
        assert!(found.contains(&format!("\nsealed              {text}\n")), "{found}");
    }
}

#[test]
fn a_file_that_is_no_subfile_by_its_name_or_its_content_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("one.nc");
    let run = golden_dir().join("f4_n4_s1");
    for name in ["blob_h1.nc.0000", "blob_h1.h5.0000"] {
        std::fs::copy(run.join(name), &path).unwrap();
        refused(&["ls", path.to_str().unwrap()], 1, "its name does not end in its number");
    }
    std::fs::copy(golden_dir().join("../hdf5/superblock0.h5"), &path).unwrap();
    for verb in ["info", "ls", "verify"] {
        let only = "; of HDF5 files, striae reads only the blob files of E3SM-IO";
        let text = format!("is an HDF5 file without a dataset header_blob{only}");
        refused(&[verb, path.to_str().unwrap()], 1, &text);
        let other = golden_dir().join("../hdf5/refused_dense_links.h5");
        refused(&[verb, other.to_str().unwrap()], 1, only);
    }
    std::fs::remove_file(&path).unwrap();
    refused(&["ls", path.to_str().unwrap()], 2, "No such file");
}

#[test]
fn convert_checks_the_fill_value_and_the_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = golden_dir().join("f5h_n5_s1/blob_h1.nc");
    let path = path.to_str().unwrap();
    for (out, fill, code) in [
        ("a.nc", "x", 2),
        ("a.nc", "1e400", 2), // too large for a double, and no infinity
        ("a.gsd", "0", 2),
        ("a.nc", "7", 0),
        ("b.nc", "NaN", 0),
        ("c.nc", "-inf", 0),
    ] {
        let out = dir.path().join(out);
        let args = ["convert", path, out.to_str().unwrap(), "--fill", fill];
        let output = striae(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}");
        assert_eq!(out.exists(), code == 0);
    }
    // All decomposed variables of that set have values of type double, but those of this one have
    // integers.
    let made = Made { rows: 1, columns: 2, numrecs: 1, subfiles: vec![vec![vec![(0, 1)]]] };
    made.write(dir.path());
    let set = Set::open(dir.path().join("set.nc")).unwrap();
    let path = set.path().to_str().unwrap();
    let text = "variable fixed: \"NaN\" is no value of its type, int64";
    for args in [
        &["convert", path, dir.path().join("c.nc").to_str().unwrap()][..],
        &["extract", path, dir.path().join("c").to_str().unwrap()],
        &["cat", path, "variable/fixed"],
    ] {
        refused(&[args, &["--fill", "NaN"]].concat(), 2, text);
    }
}

#[test]
fn what_is_no_map_or_a_map_of_another_size_is_refused_with_the_numbers() {
    let set = golden_dir().join("f8_n8_s3rr/blob_h1.nc");
    let set = set.to_str().unwrap();
    let verify = |map: &Path| striae(&["verify", set, "--map", map.to_str().unwrap()]);
    let canonical = golden_dir().join("f8_n8_s3rr/can_h1.nc");
    let header = golden_dir().join("../gsd/v21_hoomd_full_single.gsd");
    for no_map in [canonical, header] {
        let map = no_map.to_str().unwrap();
        refused(&["verify", set, "--map", map], 2, "; --map takes a decomposition map");
    }
    refused(&["verify", set, "--map", "/nowhere"], 2, "/nowhere: No such file");
    // Three decompositions of an array of 12 elements, and one of them alone.
    let dir = tempfile::tempdir().unwrap();
    let (text, three) = (dir.path().join("one.dat"), dir.path().join("three.nc"));
    std::fs::write(&text, "version 2001 npes 1 ndims 1\n12\n0 2\n1 2\n").unwrap();
    let (text, three) = (text.to_str().unwrap(), three.to_str().unwrap());
    output(&["pack", "--format", "map", three, text, text, text]);
    for (map, says) in [
        (text, "its number of decompositions is 1, the set has 3"),
        (three, "its D1 is of 12 elements, that of the set of 53"),
    ] {
        let failed = verify(Path::new(map)).assert().code(1);
        let found = String::from_utf8(failed.get_output().stdout.clone()).unwrap();
        assert!(found.contains(says), "{found}");
    }
}

#[test]
fn pack_refuses_what_is_not_the_file_that_an_option_or_the_verb_takes() {
    let dir = tempfile::tempdir().unwrap();
    let run = golden_dir().join("f8_n8_s3rr");
    let path = |name: &str| run.join(name).to_str().unwrap().to_owned();
    let map = golden_dir().join("../map/map_f_tiny_8p.nc").to_str().unwrap().to_owned();
    let (set, canonical) = (path("blob_h1.nc"), path("can_h1.nc"));
    let out = dir.path().join("out.nc").to_str().unwrap().to_owned();
    let no_set = "is no file of a blob set: no variable has a decomposition";
    let ranks = "cannot have 9 subfiles: each needs a process, of 8";
    for (file, map, like, more, text) in [
        (&canonical, &map, &canonical, "--seal", no_set),
        (&canonical, &map, &map, "--seal", no_set),
        (&canonical, &canonical, &set, "--seal", "; --map takes a decomposition map"),
        (&set, &map, &set, "--seal", "striae convert makes the netCDF file of one"),
        (&canonical, &map, &set, "--subfiles=9", ranks),
    ] {
        let args = ["pack", "--format", "blob", more, "--map", map, "--like", like, &out, file];
        refused(&args, 2, text);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
    let says = "--decomposition VAR=K or --like SET says it";
    refused(&["pack", "--format", "blob", "--map", &map, &out, &canonical], 2, says);
}

/// The bytes of a kind in the picture of a file.
fn bytes_of_kind(file: &Value, kind: &str) -> u64 {
    let kinds = file["kinds"].as_array().unwrap();
    let bytes = kinds.iter().find(|one| one["kind"] == kind).map(|one| one["bytes"].as_u64());
    bytes.map_or(0, Option::unwrap)
}

/// The tables of a blob are as long as its numbers of requests say, which the CDF-5 subfile of the
/// same ranks has, too.
#[test]
fn map_shows_the_tables_and_values_of_hdf5_blobs() {
    let folder = golden_dir().join("f8_n10_s2");
    let shown = output(&["map", "--json", folder.join("blob_h1.h5").to_str().unwrap()]);
    let shown: Value = serde_json::from_slice(&shown).unwrap();
    let files = shown["files"].as_array().unwrap();
    assert_eq!(files.len(), 2);
    for (number, file) in files.iter().enumerate() {
        let cdf = File::open(folder.join(format!("blob_h1.nc.{number:04}"))).unwrap();
        let tables: u64 = (1..=3)
            .flat_map(|id| {
                let nreqs = cdf.variable(&format!("D{id}.nreqs")).unwrap();
                cdf.read::<i32>(nreqs).unwrap()
            })
            .map(|nreqs| 4 + 8 + 8 + 2 * 4 * u64::try_from(nreqs).unwrap())
            .sum();
        assert_eq!(bytes_of_kind(file, "index"), tables);
        let [front, header] = [0, 1].map(|table| file["tables"][table]["bytes"].as_u64().unwrap());
        assert_eq!(bytes_of_kind(file, "header"), front + header);
        let data = file["bytes"].as_u64().unwrap() - front - header - tables;
        assert_eq!((&file["owner"], bytes_of_kind(file, "data")), (&json!("blob"), data));
    }
}

#[test]
fn map_shows_the_seals_of_both_containers() {
    for ending in ["nc", "h5"] {
        let dir = tempfile::tempdir().unwrap();
        let path = sealed(dir.path(), ending);
        let shown = output(&["map", "--json", path.to_str().unwrap()]);
        let shown: Value = serde_json::from_slice(&shown).unwrap();
        for file in shown["files"].as_array().unwrap() {
            let tables = file["tables"].as_array().unwrap();
            let names: Vec<_> = tables.iter().map(|one| one["name"].as_str().unwrap()).collect();
            let seals = ["seal", "seal tie", "seal table", "seal tie", "seal table", "seal"];
            assert!(names.ends_with(&seals), "{names:?}");
            let seals = &tables[tables.len() - 6..];
            let bytes = seals.iter().map(|one| one["bytes"].as_u64().unwrap());
            assert_eq!(bytes_of_kind(file, "checksums"), bytes.sum::<u64>());
        }
    }
}

#[test]
fn an_address_of_another_format_and_a_region_after_the_end_are_refused() {
    let set = golden_dir().join("f4_n4_s1/blob_h1.nc");
    let set = set.to_str().unwrap();
    let text = "task/1: addresses in an E3SM-IO blob file are variable/NAME";
    refused(&["cat", set, "task/1"], 2, text);
    let dir = tempfile::tempdir().unwrap();
    refused(&["extract", set, dir.path().join("o").to_str().unwrap(), "task/1"], 2, text);
    // A file of this set has 6 levels.
    let canonical = golden_dir().join("f4_n4_s1/can_h1.nc");
    for path in [set, canonical.to_str().unwrap()] {
        let text = "variable lev: there is no index 7 in dimension 0, its length is 6";
        refused(&["cat", path, "variable/lev", "--start", "7"], 2, text);
        assert!(output(&["cat", path, "variable/lev", "--start", "6"]).is_empty());
    }
}

/// Without `--no-seal`, `cat` and `extract` fill the blob of a variable that is not as sealed.
#[test]
fn a_changed_value_of_a_sealed_set_is_filled_by_cat_and_extract() {
    for ending in ["nc", "h5"] {
        let dir = tempfile::tempdir().unwrap();
        let set = sealed(dir.path(), ending);
        let path = set.with_extension(format!("{ending}.0000"));
        let name = set.to_str().unwrap();
        let folder = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        let (whole, checked, plain) = (folder("whole"), folder("checked"), folder("plain"));
        output(&["extract", name, &whole]);
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        std::fs::write(&path, bytes).unwrap();

        let damage = striae(&["extract", name, &checked]).assert().code(1);
        let text = String::from_utf8(damage.get_output().stderr.clone()).unwrap();
        assert!(text.contains("is not as sealed") && text.contains("filled"), "{text}");
        output(&["extract", "--no-seal", name, &plain]);
        let variables = Set::open(&set).unwrap();
        let mut harmed = Vec::new();
        for variable in variables.header().variables() {
            let address = format!("variable/{}", variable.name());
            let plain = output(&["cat", "--no-seal", name, &address]);
            let found = striae(&["cat", name, &address]).output().unwrap();
            let is_harmed = !found.status.success();
            assert_eq!(is_harmed, found.stdout != plain, "{address}");
            if is_harmed {
                let text = String::from_utf8(found.stderr).unwrap();
                let says = format!("variable {}: blob ", variable.name());
                assert!(text.contains(&says) && text.contains("is not as sealed"), "{text}");
                harmed.push(address);
            }
        }
        assert_eq!(harmed.len(), 1, "{harmed:?}");
    }
}

/// The dimensions of a decomposition that no variable has change no value.
#[test]
fn pack_takes_any_dimensions_for_a_decomposition_that_no_variable_has() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/pack");
    let (input, map) = (golden.join("ambig.nc"), golden.join("ambig_map.nc"));
    let dir = tempfile::tempdir().unwrap();
    let (set, out) = (dir.path().join("set"), dir.path().join("out.nc"));
    let [input, map, set, out] = [&input, &map, &set, &out].map(|path| path.to_str().unwrap());
    output(&["pack", "--format", "blob", set, input, "--map", map]);
    output(&["verify", set]);
    output(&["convert", set, out]);
    let [found, right] = [out, input].map(|path| output(&["cat", path, "variable/T"]));
    assert_eq!(found, right);
}

#[test]
fn a_map_of_a_set_says_which_subfiles_are_missing() {
    let (_dir, set) = copied(&golden_dir().join("f8_n8_s3rr/blob_h1.nc"));
    let set = set.to_str().unwrap();
    std::fs::remove_file(format!("{set}.0001")).unwrap();
    let missing = || predicates::str::contains(format!("{set}.0001: is missing"));
    for args in [&["map", set][..], &["map", "--json", set], &["map", "--svg", "-", set]] {
        striae(args).assert().code(1).stderr(missing());
    }
    // A subfile is asked for by itself.
    output(&["map", &format!("{set}.0002")]);
    let file = std::fs::OpenOptions::new().write(true).open(format!("{set}.0002")).unwrap();
    file.set_len(3000).unwrap();
    let damaged = predicates::str::contains(".0002: list.nelems");
    striae(&["map", set]).assert().code(1).stderr(missing()).stderr(damaged);
}
