//! What the program prints and makes.

use super::{all, golden, list};
use crate::run::{hex_sha256, output, refused};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use striae::address::Address;
use striae_core::cdf::{Alignment, Definition, DimDef, Encode, Plan, Type, VarDef, Version};

fn listing(path: &str) -> Value {
    serde_json::from_slice(&output(&["ls", "--json", path])).unwrap()
}

/// An attribute of a list, as the golden file's description has it.
fn described(attribute: &Value) -> Value {
    json!({
        "name": attribute["name"], "type": attribute["type"], "n": attribute["count"],
        "value": attribute["value"],
    })
}

#[test]
fn a_listing_says_all_that_the_header_says() {
    for (path, expected) in all() {
        let found = listing(&path);
        assert_eq!((&found["format"], &found["version"]), (&json!("cdf"), &expected["version"]));
        for (dim, expected) in list(&found["dims"]).iter().zip(list(&expected["dims"])) {
            assert_eq!(dim["name"], expected["name"]);
            assert_eq!(dim["unlimited"], expected["unlimited"]);
            let records = dim["unlimited"].as_bool().unwrap();
            let length = if records { &found["numrecs"] } else { &expected["len"] };
            assert_eq!(&dim["length"], length, "{path}");
        }
        let attributes: Vec<_> = list(&found["attributes"]).iter().map(described).collect();
        assert_eq!(attributes, list(&expected["gatts"]), "{path}");
        let (variables, vars) = (list(&found["variables"]), list(&expected["vars"]));
        assert_eq!(variables.len(), vars.len());
        for (variable, expected) in variables.iter().zip(vars) {
            let name = expected["name"].as_str().unwrap();
            let address = Address::variable(name).to_string();
            assert_eq!(variable["address"], json!(address), "{path}");
            for field in ["name", "type", "record", "begin", "vsize"] {
                assert_eq!(variable[field], expected[field], "{path}");
            }
            let attributes: Vec<_> = list(&variable["attributes"]).iter().map(described).collect();
            assert_eq!(attributes, list(&expected["atts"]), "{path}");
        }
    }
}

#[test]
fn a_dump_of_any_names_does_not_command_a_terminal() {
    let is_it = |(path, _): &(String, Value)| path.ends_with("cdf5_alltypes.nc");
    let (path, expected) = all().into_iter().find(is_it).unwrap();
    let name = list(&expected["vars"])[0]["name"].as_str().unwrap().as_bytes();
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.windows(name.len()).position(|bytes| bytes == name).unwrap();
    bytes[at..at + 4].copy_from_slice(b"\x1b[\r\n");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nc");
    fs::write(&path, bytes).unwrap();
    let path = path.to_str().unwrap();
    let text = String::from_utf8(output(&["dump", path])).unwrap();
    assert!(text.lines().any(|line| line.contains("\\u{1b}[\\r\\n")), "{text:?}");
    assert!(!text.contains(['\x1b', '\r']), "{text:?}");
    let lines: Value = serde_json::from_slice(&output(&["dump", "--json", path])).unwrap();
    let is_it = |line: &Value| line["value"].as_str().unwrap().starts_with("\x1b[\r\n");
    assert!(list(&lines).iter().any(is_it), "a program gets the name as it is");
}

#[test]
fn cat_writes_each_variable_by_its_address() {
    for (path, expected) in all() {
        let addresses = String::from_utf8(output(&["ls", "--addresses", &path])).unwrap();
        let vars = list(&expected["vars"]);
        assert_eq!(addresses.lines().count(), vars.len());
        for (address, expected) in addresses.lines().zip(vars) {
            let bytes = output(&["cat", &path, address]);
            assert_eq!(expected["sha256_be"], hex_sha256(&bytes), "{path} {address}");
        }
    }
}

#[test]
fn cat_writes_regions_and_text() {
    let path = golden("cdf1_onerec_short.nc");
    let text = |args: &[&str]| {
        let all = [&["cat", "--text", &path, "variable/r"], args].concat();
        String::from_utf8(output(&all)).unwrap()
    };
    assert_eq!(text(&[]), "0 1 2\n3 4 5\n6 7 8\n9 10 11\n");
    assert_eq!(text(&["--start", "1,1"]), "4 5\n7 8\n10 11\n");
    assert_eq!(text(&["--start", "1,0", "--count", "2,2", "--stride", "2,2"]), "3 5\n9 11\n");
    refused(&["cat", &path, "variable/r", "--start", "1"], 2, "for each dimension of r: 2");
    refused(&["cat", &path, "variable/r", "--start", "4,0", "--count", "1,1"], 2, "no index 4");
    refused(&["cat", &path, "variable/rr"], 1, "did you mean r?");
    refused(&["cat", &path, "variable/r", "--rows", "0..1"], 2, "--rows is for GSD files");
    refused(&["cat", &path, "task/1"], 2, "variable/NAME");
}

#[test]
fn extract_makes_arrays_of_numpy() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("arrays");
    let path = golden("cdf1_onerec_short.nc");
    output(&["extract", &path, out.to_str().unwrap()]);
    let array = fs::read(out.join("r.npy")).unwrap();
    let text = "{'descr': '>i2', 'fortran_order': False, 'shape': (4, 3), }";
    assert!(array[10..].starts_with(text.as_bytes()));
    assert_eq!(array[128..], output(&["cat", &path, "variable/r"]));
    refused(&["extract", &path, out.to_str().unwrap()], 2, "exists already");
    let one = dir.path().join("one");
    output(&["extract", &path, one.to_str().unwrap(), "variable/r*"]);
    assert_eq!(fs::read_dir(one).unwrap().count(), 1);
}

/// A listing without what recovery may change: the path and the places.
fn without_places(path: &str) -> Value {
    let mut listing = listing(path);
    listing["path"] = Value::Null;
    for variable in listing["variables"].as_array_mut().unwrap() {
        variable["begin"] = Value::Null;
    }
    listing
}

#[test]
fn golden_files_are_sound_and_recover_to_the_same_listing_and_values() {
    let dir = tempfile::tempdir().unwrap();
    for (number, (path, expected)) in all().into_iter().enumerate() {
        output(&["verify", &path]);
        let new = dir.path().join(format!("{number}.nc"));
        let new = new.to_str().unwrap();
        output(&["recover", &path, new]);
        assert_eq!(without_places(&path), without_places(new));
        for variable in list(&expected["vars"]) {
            let name = variable["name"].as_str().unwrap();
            let bytes = output(&["cat", new, &Address::variable(name).to_string()]);
            assert_eq!(variable["sha256_be"], hex_sha256(&bytes), "{path} {name}");
        }
        output(&["verify", new]);
        output(&["map", &path]);
    }
}

#[test]
fn a_lost_number_of_records_is_found_and_one_that_is_too_large_is_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (damaged, new) = (dir.path().join("damaged.nc"), dir.path().join("new.nc"));
    let [damaged, new] = [&damaged, &new].map(|path| path.to_str().unwrap());
    let path = golden("cdf1_onerec_short.nc");
    let bytes = fs::read(&path).unwrap();
    for (numrecs, status) in [(u32::MAX, 0), (0, 1), (77, 1)] {
        let mut wrong = bytes.clone();
        wrong[4..8].copy_from_slice(&numrecs.to_be_bytes());
        fs::write(damaged, wrong).unwrap();
        crate::run::striae(&["recover", "--force", damaged, new]).assert().code(status);
        assert_eq!(without_places(new), without_places(&path), "{numrecs}");
        let values = |path: &str| output(&["cat", path, "variable/r"]);
        assert_eq!(values(new), values(&path), "{numrecs}");
    }
}

fn damaged(name: &str) -> String {
    format!("{}/../tests/golden/cdf_damaged/{name}.nc", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn recover_says_how_certain_it_is_and_how_much_was_compared_with_checksums() {
    let dir = tempfile::tempdir().unwrap();
    let new = dir.path().join("new.nc");
    let new = new.to_str().unwrap();
    let text = |path: &str, status| {
        let run = crate::run::striae(&["recover", "--force", path, new]).assert().code(status);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let path = golden("cdf1_onerec_short.nc");
    let found = text(&path, 0);
    let len = output(&["cat", &path, "variable/*"]).len();
    let end = format!(": as found: 0 of {len} bytes of data compared with checksums\n");
    assert!(found.ends_with(&end), "{found}");
    for name in ["min1_begin_400M", "min5_begin_2e40"] {
        let found = text(&damaged(name), 1);
        assert!(found.contains("variable v: lost: 4 of 4 bytes are not in the file"), "{found}");
        assert!(fs::metadata(new).unwrap().len() < 200);
        output(&["verify", new]);
    }
    let found = text(&damaged("zeroed_var_list"), 1);
    assert!(found.contains("header.numrecs at offset 4 is 4, must be 0"), "{found}");
    assert!(found.lines().last().unwrap().contains(": 0 variables, "), "{found}");
    assert!(found.contains(" a guess: "), "{found}");
    let mut run =
        crate::run::striae(&["recover", "--force", "--json", &damaged("min1_begin_400M"), new]);
    let report: Value = serde_json::from_slice(&run.assert().code(1).get_output().stdout).unwrap();
    assert_eq!(
        (&report["word"], &report["variables"][0]["word"]),
        (&json!("lost"), &json!("lost"))
    );
}

#[test]
fn a_variable_that_only_the_header_claims_needs_max_size() {
    let dir = tempfile::tempdir().unwrap();
    let (claiming, new) = (dir.path().join("claiming.nc"), dir.path().join("new.nc"));
    let [claiming, new] = [&claiming, &new].map(|path| path.to_str().unwrap());
    let path = golden("cdf5_pn_default.nc");
    let mut bytes = fs::read(&path).unwrap();
    let header = listing(&path);
    let dim = list(&header["dims"]).iter().rposition(|dim| dim["unlimited"] == json!(false));
    let dump: Value = serde_json::from_slice(&output(&["dump", "--json", &path])).unwrap();
    let name = format!("dim.length[{}]", dim.unwrap());
    let field = list(&dump).iter().find(|line| line["name"] == json!(name)).unwrap();
    let at = field["offset"].as_u64().unwrap() as usize;
    bytes[at..at + 8].copy_from_slice(&1_000_000_u64.to_be_bytes());
    fs::write(claiming, &bytes).unwrap();
    let run = |args: &[&str]| {
        let args = [&["recover", "--force", claiming, new], args].concat();
        let run = crate::run::striae(&args).assert();
        (run.get_output().clone(), fs::metadata(new).map_or(0, |new| new.len()))
    };
    let (printed, len) = run(&[]);
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(
        text.contains("the new file has at most") && text.contains("--max-size BYTES"),
        "{text}"
    );
    assert!(len <= 18 * bytes.len() as u64 + (1 << 20) && printed.status.code() == Some(1));
    let (printed, len) = run(&["--max-size", "1G"]);
    assert!(len > 2_000_000 && printed.status.code() == Some(1), "{len}");
    output(&["verify", new]);
    refused(&["recover", "--force", &path, new, "--max-size", "100"], 2, "at most 100 are written");
}

#[test]
fn dump_prints_every_field_and_cdl_every_value() {
    let path = golden("cdf1_onerec_short.nc");
    let dump: Value = serde_json::from_slice(&output(&["dump", "--json", &path])).unwrap();
    let names: Vec<_> =
        list(&dump).iter().map(|line| line["name"].as_str().unwrap().to_owned()).collect();
    assert_eq!(names[..3], ["header.magic", "header.numrecs", "list.tag"]);
    for name in ["dim.length[0]", "var.ndims[0]", "var.dimid[0][0]", "var.begin[1]"] {
        assert!(names.iter().any(|other| other == name), "{name}: {names:?}");
    }
    // Every byte of the header is that of one field, or padding.
    let mut end = 0;
    for line in list(&dump).iter().filter(|line| line["offset"].is_u64()) {
        let offset = line["offset"].as_u64().unwrap();
        assert!((end..end + 4).contains(&offset), "{line}");
        end = offset + line["len"].as_u64().unwrap();
    }
    let cdl = String::from_utf8(output(&["dump", "--cdl", &path])).unwrap();
    assert!(cdl.starts_with("netcdf cdf1_onerec_short {\ndimensions:\n"), "{cdl}");
    assert!(cdl.contains("\n r =\n  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 ;\n"), "{cdl}");
    let sion =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/gsd/v21_hoomd_full_single.gsd");
    refused(&["dump", "--cdl", sion], 2, "--cdl is for netCDF files");
}

#[test]
fn an_output_is_as_large_as_the_bytes_that_exist_justify() {
    let dir = tempfile::tempdir().unwrap();
    let (sparse, out) = (dir.path().join("sparse.nc"), dir.path().join("out"));
    let bytes = VarDef { name: "bytes", nc_type: Type::Byte, dimids: &[0] };
    let dims = [DimDef { name: "x", length: 1 << 34 }];
    let definition = Definition { dims: &dims, attrs: &[], vars: &[(bytes, &[])] };
    let plan = Plan::new(&definition, Version::Cdf5, Alignment::COMPACT).unwrap();
    let (mut header, mut window) = (vec![0; plan.header_len() as usize], [0; 512]);
    let encode = Encode::new(&definition, &plan, 0, &mut window).unwrap();
    encode.run(&mut &mut header[..]).unwrap();
    fs::write(&sparse, &header).unwrap();
    // All values are a hole.
    let file = fs::OpenOptions::new().write(true).open(&sparse).unwrap();
    file.set_len(plan.file_len(0).unwrap()).unwrap();
    let [sparse, out] = [&sparse, &out].map(|path| path.to_str().unwrap());
    for args in
        [&["cat", sparse, "variable/*"][..], &["dump", "--cdl", sparse], &["extract", sparse, out]]
    {
        refused(args, 2, "has the length 17179869184 at offset");
    }
    assert!(!fs::exists(out).unwrap());
    // A hole of the input is one of the output.
    let new = dir.path().join("new.nc");
    output(&["recover", sparse, new.to_str().unwrap()]);
    let (new, file) = (fs::metadata(new).unwrap(), file.metadata().unwrap());
    assert_eq!(new.len(), file.len());
    assert!(new.blocks() <= file.blocks() + 64, "{} blocks", new.blocks());
}

/// A hole of the input is one of the output; a fill value of netCDF is none.
#[test]
fn a_hole_justifies_no_fill_values() {
    let dir = tempfile::tempdir().unwrap();
    let (sparse, new) = (dir.path().join("sparse.nc"), dir.path().join("new.nc"));
    let (hole, mut sizes) = (1_u64 << 24, Vec::new());
    for claimed in [hole / 4, hole / 4 + 1, hole, 4 * hole] {
        let values = VarDef { name: "values", nc_type: Type::Float, dimids: &[0] };
        let dims = [DimDef { name: "x", length: claimed }];
        let definition = Definition { dims: &dims, attrs: &[], vars: &[(values, &[])] };
        let plan = Plan::new(&definition, Version::Cdf5, Alignment::COMPACT).unwrap();
        let (mut header, mut window) = (vec![0; plan.header_len() as usize], [0; 512]);
        let encode = Encode::new(&definition, &plan, 0, &mut window).unwrap();
        encode.run(&mut &mut header[..]).unwrap();
        fs::write(&sparse, &header).unwrap();
        let file = fs::OpenOptions::new().write(true).open(&sparse).unwrap();
        file.set_len(plan.header_len() + hole).unwrap();
        let existing = file.metadata().unwrap().blocks() * 512;
        let args = ["recover", "--force", sparse.to_str().unwrap(), new.to_str().unwrap()];
        let run = crate::run::striae(&args).assert().code(i32::from(claimed > hole / 4));
        let made = fs::metadata(&new).unwrap();
        assert!(made.blocks() * 512 <= 16 * existing + (1 << 20) + 4096, "{claimed}: {made:?}");
        let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        assert_eq!(claimed > hole / 2, text.contains("--max-size BYTES"), "{text}");
        output(&["verify", new.to_str().unwrap()]);
        sizes.push(made.len());
    }
    assert!(sizes[0] > hole && sizes[1] > hole && sizes[2] < 4096 && sizes[3] < 4096, "{sizes:?}");
}
