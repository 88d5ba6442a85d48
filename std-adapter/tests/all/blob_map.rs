//! Decomposition maps by the library and by the program: text maps become the netCDF maps of
//! E3SM-IO and back, and each fault of a map is found at its place.

use crate::run::{output, refused, striae};
use serde_json::{Value, json};
use std::fs;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};
use striae::blob::Map;
use striae::blob::map::{Lists, NetCdf, Order, Origin, Request, Rule, is_map};
use striae::cdf::File;
use striae::cdf::recover::Recover;
use striae::error::ErrorKind;
use striae::{Output, Verify};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/map").join(name)
}

/// A file that is not part of the repository; says so if it is absent.
fn shared(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/blob/maps");
    let path = folder.join(name);
    if !path.exists() {
        println!("skipped: {} is absent", path.display());
        return None;
    }
    Some(path)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The findings of a file, without texts and paths, and the exit status.
fn findings(path: &Path) -> (i32, Vec<Value>) {
    let assert = striae(&["verify", "--json", text(path)]).assert().stderr("");
    let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let mut findings = report["findings"].as_array().unwrap().clone();
    for finding in &mut findings {
        let finding = finding.as_object_mut().unwrap();
        finding.remove("finding");
        finding.remove("file");
        finding.remove("severity");
    }
    (assert.get_output().status.code().unwrap(), findings)
}

fn made(text: &str) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("map.dat");
    fs::write(&path, text).unwrap();
    (dir, path)
}

#[test]
fn faults_of_netcdf_maps_have_decomposition_rank_and_index() {
    let (status, found) = findings(&golden("ov_in.nc"));
    let inside = |decomposition: u32, index: u64, offset: u64| {
        json!({"kind": "overlap_in_rank", "decomposition": decomposition, "rank": 0,
               "index": index, "offset": offset, "len": 3})
    };
    let hole = |decomposition: u32, count: u64| {
        json!({"kind": "hole", "decomposition": decomposition, "offset": 7, "len": 3,
               "count": count, "value": 3 * count})
    };
    let expected = [
        inside(1, 1, 4),
        hole(1, 1),
        inside(2, 1, 4),
        hole(2, 1),
        inside(3, 1, 4),
        inside(3, 3, 24),
        hole(3, 2),
    ];
    assert_eq!((status, &found[..]), (1, &expected[..]));

    let (status, found) = findings(&golden("ov_x.nc"));
    let across = |decomposition: u32, index: u64, offset: u64| {
        json!({"kind": "overlap", "decomposition": decomposition, "rank": 1, "index": index,
               "offset": offset, "len": 14})
    };
    let expected = [across(1, 0, 6), across(2, 0, 6), across(3, 0, 6), across(3, 1, 26)];
    assert_eq!((status, &found[..]), (1, &expected[..]));

    let (status, found) = findings(&golden("oob.nc"));
    assert_eq!(status, 1);
    let outside = json!({"kind": "outside", "decomposition": 1, "rank": 1, "index": 0,
                         "offset": 8, "len": 15, "max": 20});
    assert_eq!(found[0], outside);

    for name in ["map_f_tiny_4p.nc", "empty_sub.nc"] {
        assert_eq!(findings(&golden(name)), (0, vec![]), "{name}");
    }
    let (status, found) = findings(&golden("map_f_holes_5p.nc"));
    assert_eq!(status, 0);
    assert!(!found.is_empty() && found.iter().all(|finding| finding["kind"] == "hole"));
}

/// dat2nc needs the lines of all ranks.
#[test]
fn ranks_without_requests_have_lines_in_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("map.dat");
    output(&["convert", text(&golden("map_i_tiny_7p.nc")), text(&out)]);
    let is_empty = |number: u32| {
        let written = Map::open(folder.path().join(format!("map.D{number}.dat"))).unwrap();
        let written = &written.decompositions()[0];
        assert!(written.ranks().eq(0..7));
        written.ranks().any(|rank| written.requests(rank).is_empty())
    };
    assert!([1, 2].map(is_empty).contains(&true));
}

#[test]
fn faults_of_text_maps_have_line_and_offset() {
    for name in ["z1.dat", "z3.dat"] {
        assert_eq!(findings(&golden(name)), (0, vec![]), "{name}");
    }
    assert_eq!(findings(&golden("z2.dat")), (0, vec![]));
    // Nothing compares the digits with anything, which is said.
    let shown = output(&["verify", text(&golden("z1.dat"))]);
    let says = "z1.dat: structure sound, data not checked: map, 1 decomposition, 4 ranks, \
                3 requests, 0 of 80 bytes of data compared with checksums";
    assert!(String::from_utf8(shown).unwrap().contains(says));
    let (_dir, path) = made("version 2001 npes 2 ndims 1 \n3 \n0 2\n1 9 \n0 1\n2 \n5 1\n3 \n");
    let found = findings(&path);
    let beyond = json!({"kind": "beyond", "decomposition": 1, "rank": 0, "index": 1, "line": 4,
                        "offset": 38, "value": 9, "max": 3});
    let expected = vec![
        json!({"kind": "text", "line": 5, "offset": 41}), // rank 0 again
        json!({"kind": "text", "line": 7, "offset": 48}), // no rank 5
        beyond,
        json!({"kind": "hole", "decomposition": 1, "offset": 1, "len": 2, "count": 1, "value": 2}),
    ];
    assert_eq!(found, (1, expected));
    refused(&["ls", text(&path)], 1, "line 5, offset 41: the rank is not larger");
    let (_dir, path) = made("version 2001 npes 2 ndims 1 \n3 \n0 2\n1 \n");
    let short = json!({"kind": "text", "line": 4, "offset": 38});
    assert_eq!(findings(&path), (1, vec![short]));
}

#[test]
fn ranks_without_elements_have_no_requests() {
    let request = |offset, len| Request { offset, len };
    let z1 = Map::open(golden("z1.dat")).unwrap();
    let z2 = Map::open(golden("z2.dat")).unwrap();
    for map in [&z1, &z2] {
        let one = map.decomposition(NonZeroU32::MIN).unwrap();
        assert_eq!(map.nprocs(), 4);
        let lists: Vec<_> = (0..4).map(|rank| one.requests(rank)).collect();
        let expected = [&[request(0, 4)][..], &[], &[request(4, 4)], &[request(8, 4)]];
        assert_eq!(lists, expected);
    }
    let z3 = Map::open(golden("z3.dat")).unwrap();
    let one = &z3.decompositions()[0];
    assert_eq!(one.requests(1), [request(4, 8)]);
    assert_eq!((one.requests(2), one.requests(3)), (&[][..], &[][..]));
}

#[test]
fn ls_and_info_describe_a_text_map() {
    let path = golden("z3.dat");
    let mut listed: Value =
        serde_json::from_slice(&output(&["ls", "--json", text(&path)])).unwrap();
    assert_eq!(listed.as_object_mut().unwrap().remove("path"), Some(json!(text(&path))));
    let ranks = json!([
        {"rank": 0, "requests": 1, "elements": 4},
        {"rank": 1, "requests": 1, "elements": 8},
    ]);
    let one = json!({"id": 1, "dims": [12], "nelems": 12, "requests": 2, "ranks": ranks});
    assert_eq!(listed, json!({"format": "map", "nprocs": 4, "decompositions": [one]}));
    let info: Value = serde_json::from_slice(&output(&["info", "--json", text(&path)])).unwrap();
    assert_eq!((&info["nprocs"], &info["covered"]), (&json!(4), &json!(12)));
    assert!(output(&["ls", text(&path)]).starts_with(b"decomposition"));
    assert!(output(&["info", text(&path)]).starts_with(b"format"));
    refused(&["cat", text(&path), "task/0"], 2, "does not support decomposition maps");
}

/// All of a netCDF file but the command line: dimensions, attributes, variables and values.
fn contents(path: &Path) -> Vec<String> {
    let file = File::open(path).unwrap();
    let header = file.header();
    let mut all: Vec<_> = header.dims().map(|dim| format!("{dim:?}")).collect();
    let attributes = header.attributes().filter(|one| one.name() != "command_line");
    all.extend(attributes.map(|one| format!("{} {:?}", one.name(), one.values())));
    for variable in header.variables() {
        let attributes: Vec<_> =
            variable.attributes().map(|one| format!("{} {:?}", one.name(), one.values())).collect();
        let values: Vec<i32> = file.read(variable).unwrap();
        let dims: Vec<_> = variable.dims().map(|dim| dim.name).collect();
        all.push(format!("{} {dims:?} {attributes:?} {values:?}", variable.name()));
    }
    all
}

/// A netCDF map, its text maps, and the netCDF map that these make.
#[test]
fn maps_go_to_text_and_back() {
    for name in ["map_f_tiny_4p.nc", "map_f_holes_5p.nc", "map_i_tiny_7p.nc"] {
        let dir = tempfile::tempdir().unwrap();
        let out = |name: &str| text(&dir.path().join(name)).to_owned();
        output(&["convert", text(&golden(name)), &out("map.dat")]);
        let map = Map::open(golden(name)).unwrap();
        let count = map.decompositions().len();
        let texts: Vec<_> = (1..=count).map(|id| out(&format!("map.D{id}.dat"))).collect();
        let made = out("made.nc");
        let mut args = vec!["pack", "--format", "map", &made];
        args.extend(texts.iter().map(String::as_str));
        output(&args);
        assert_eq!(Map::open(&made).unwrap().decompositions(), map.decompositions(), "{name}");
        let found = contents(Path::new(&made));
        for (found, expected) in found.iter().zip(contents(&golden(name))) {
            assert_eq!(*found, expected, "{name}");
        }
        assert_eq!(findings(Path::new(&made)), findings(&golden(name)));
        assert_eq!(findings(Path::new(&texts[0])).0, 0);
    }
    let dir = tempfile::tempdir().unwrap();
    let [nc, dat] = ["z3.nc", "z3.dat"].map(|name| text(&dir.path().join(name)).to_owned());
    output(&["convert", text(&golden("z3.dat")), &nc]);
    output(&["convert", &nc, &dat]);
    let nc = Map::open(nc).unwrap();
    let dat = Map::open(dat).unwrap();
    assert_eq!(nc.decompositions(), dat.decompositions());
}

/// E3SM-IO's own map of the F case, and the text maps that it was made of.
#[test]
fn text_maps_make_the_map_that_e3sm_io_made_of_them() {
    let Some(theirs) = shared("map_f_case_16p.nc") else { return };
    let names = ["514", "516"].map(|id| format!("piodecomp16tasks16io01dims_ioid_{id}.dat"));
    let texts: Vec<_> = names.iter().filter_map(|name| shared(name)).collect();
    let map = Map::join(&texts).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("made.nc");
    let how = NetCdf { command_line: "", raw: true };
    map.write_netcdf(&out, how, Output::new()).unwrap();
    let (theirs, ours) = (File::open(theirs).unwrap(), File::open(out).unwrap());
    for variable in ours.header().variables() {
        let other = theirs.variable(variable.name()).unwrap();
        let (ours, theirs) = (ours.read::<i32>(variable), theirs.read::<i32>(other));
        assert_eq!(ours.unwrap(), theirs.unwrap(), "{}", variable.name());
    }
    for attribute in ours.header().attributes().filter(|one| one.name() != "command_line") {
        let other = theirs.header().attribute(attribute.name()).unwrap();
        assert_eq!(attribute.values(), other.values(), "{}", attribute.name());
    }
}

/// The map of the I case has requests that fill holes: the rules differ from rank 1 on.
#[test]
fn requests_that_fill_holes_are_told() {
    let Some(path) = shared("map_i_case_16p.nc") else { return };
    let (status, found) = findings(&path);
    let fills = found.iter().filter(|finding| finding["kind"] == "fills").collect::<Vec<_>>();
    assert_eq!(status, 0);
    let first = json!({"kind": "fills", "decomposition": 1, "rank": 1, "count": 1363 - 976});
    assert_eq!((fills.len(), fills[0]), (5, &first));
    let right = Map::open(&path).unwrap();
    let wrong = Map::open_by(&path, Rule::FillStarts).unwrap();
    let [right, wrong] = [&right, &wrong].map(|map| &map.decompositions()[0]);
    let differ: Vec<_> =
        (0..16).filter(|&rank| right.requests(rank) != wrong.requests(rank)).collect();
    assert_eq!(differ, (1..16).collect::<Vec<_>>());
    let fills: usize = (0..16).map(|rank| right.fills(rank).len()).sum();
    assert_eq!(fills, 1363 - 976);
}

#[test]
fn maps_for_different_numbers_of_ranks_are_not_joined() {
    let (_dir, path) = made("version 2001 npes 2 ndims 1 \n3 \n0 1\n1 \n");
    let error = Map::join([&path, &golden("z1.dat")]).unwrap_err();
    assert!(error.to_string().ends_with("D2 is for 4 ranks, those before are for 2"), "{error}");
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out.nc");
    let plain = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/cdf/cdf1_empty.nc");
    refused(&["convert", text(&plain), text(&out)], 2, "only netCDF files that are maps");
}

/// The requests of the blobs of a variable-centric subfile.
fn blobs_of(path: &Path) -> Vec<Lists> {
    let file = File::open(path).unwrap();
    let header = file.header();
    let column = |name: &str| file.read::<i32>(file.variable(name).unwrap()).unwrap();
    let nblobs = header.dims().find(|dim| dim.name == "nblobs").unwrap().length as usize;
    let mut blobs = vec![Lists::new(); nblobs];
    for id in (1..).take_while(|id| header.variable(&format!("D{id}.nreqs")).is_some()) {
        let nreqs = column(&format!("D{id}.nreqs"));
        let [offsets, lengths] = ["offsets", "lengths"].map(|end| column(&format!("D{id}.{end}")));
        let most = offsets.len() / nblobs;
        for (blob, lists) in blobs.iter_mut().enumerate() {
            let row = blob * most..blob * most + nreqs[blob] as usize;
            let pairs = offsets[row.clone()].iter().zip(&lengths[row]);
            let request =
                |(&offset, &len): (&i32, &i32)| Request { offset: offset as u64, len: len as u64 };
            lists.push(pairs.map(request).collect());
        }
    }
    blobs
}

/// Sets of E3SM-IO are those that its map, our rules and our sort and merge make.
#[test]
fn the_blobs_of_real_sets_are_those_of_their_maps() {
    for (set, base, map, subfiles, nprocs) in [
        ("f4_n4_s1", "blob_h1", "map_f_tiny_4p.nc", 1, 4),
        ("f5h_n5_s1", "blob_h1", "map_f_holes_5p.nc", 1, 5),
        ("f8_n8_s1", "blob_h1", "map_f_tiny_8p.nc", 1, 8),
        ("f8_n10_s2", "blob_h1", "map_f_tiny_8p.nc", 2, 10),
        ("f8_n8_s3rr", "blob_h1", "map_f_tiny_8p.nc", 3, 8),
        ("i7_n7_s3", "blob_h0", "map_i_tiny_7p.nc", 3, 7),
    ] {
        let (map, mut folder) = (golden(map), golden("../blob").join(set));
        if !folder.exists() {
            let Some(there) = shared(&format!("../blob/{set}")) else { continue };
            folder = there;
        }
        let paths = (0..subfiles).map(|number| folder.join(format!("{base}.nc.{number:04}")));
        let mut blobs: Vec<_> = paths.flat_map(|path| blobs_of(&path)).collect();
        assert_eq!(blobs.len(), nprocs, "{set}");
        let nprocs = NonZeroU64::new(nprocs as u64).unwrap();
        let expected = Origin { rule: Rule::Nreqs, order: Order::Merged, matching: blobs.len() };
        assert_eq!(Map::origin(&map, nprocs, &blobs).unwrap(), expected, "{set}");
        let list = blobs.iter_mut().flatten().find(|list| !list.is_empty()).unwrap();
        list[0].len += 1;
        let one_less = Origin { matching: blobs.len() - 1, ..expected };
        assert_eq!(Map::origin(&map, nprocs, &blobs).unwrap(), one_less, "{set}");
    }
}

/// The map of the I case tells the rules and the orders apart.
#[test]
fn the_rule_and_the_order_of_a_set_are_found() {
    let Some(path) = shared("map_i_case_16p.nc") else { return };
    for rule in [Rule::Nreqs, Rule::FillStarts] {
        let map = Map::open_by(&path, rule).unwrap();
        for order in [Order::Merged, Order::Kept] {
            let nprocs = NonZeroU64::new(6).unwrap();
            let of = |process| -> Lists {
                let lists = map.decompositions().iter();
                lists.map(|one| one.of_process(process, nprocs, order)).collect()
            };
            let blobs: Vec<_> = (0..6).map(of).collect();
            let expected = Origin { rule, order, matching: 6 };
            assert_eq!(Map::origin(&path, nprocs, &blobs).unwrap(), expected);
        }
    }
}

#[test]
fn all_text_maps_of_a_map_are_made_or_none() {
    let folder = tempfile::tempdir().unwrap();
    let names = || {
        let entries = fs::read_dir(&folder).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let map = Map::open(golden("map_f_tiny_8p.nc")).unwrap();
    let ids: Vec<_> = map.decompositions().iter().map(|one| one.id().get()).collect();
    assert_eq!(ids, [1, 2, 3]);
    let out = folder.path().join("new.dat");
    fs::write(folder.path().join("new.D3.dat"), "mine").unwrap();
    let error = map.write_texts(&out, Output::new()).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Exists) && error.path().ends_with("new.D3.dat"));
    assert_eq!(names(), ["new.D3.dat"]);
    let paths = map.write_texts(&out, Output::new().force(true)).unwrap();
    assert_eq!(names(), ["new.D1.dat", "new.D2.dat", "new.D3.dat"]);
    for (path, decomposition) in paths.iter().zip(map.decompositions()) {
        let text = Map::open(path).unwrap();
        let [one] = text.decompositions() else { panic!() };
        assert_eq!(one.grid(), decomposition.grid());
    }
}

/// Whether the netCDF file or the text map at `path` is sound, as `striae verify` says.
fn is_sound(path: &Path) -> bool {
    let bytes = fs::read(path).unwrap();
    let is_netcdf = bytes.starts_with(b"CDF");
    let of_file = || Verify::new().cdf(path, &mut |_| ()).unwrap().is_sound();
    (!is_netcdf || of_file()) && Verify::new().map(path, &mut |_| ()).unwrap().is_sound()
}

/// What is made of a map is sound, or nothing is made: by all verbs that make something of it.
/// Returns how many made something.
fn made_is_sound(input: &Path, folder: &Path) -> usize {
    let mut made = 0;
    let mut check = |out: &Path, is_ok: bool| {
        if is_ok {
            assert!(is_sound(out), "{}", out.display());
            made += 1;
        }
        assert_eq!(out.exists(), is_ok, "{}", out.display());
        let _ = fs::remove_file(out);
    };
    let (netcdf, dat) = (folder.join("new.nc"), folder.join("new.dat"));
    if let Ok(map) = Map::open(input) {
        check(&netcdf, map.write_netcdf(&netcdf, NetCdf::default(), Output::new()).is_ok());
        if let [_] = map.decompositions() {
            check(&dat, map.write_texts(&dat, Output::new()).is_ok());
        }
    }
    let recovery = Recover::new().examine(input);
    let is_map = is_map(input).unwrap();
    if let Some(recovery) = recovery.ok().filter(|_| is_map) {
        check(&netcdf, recovery.write(&netcdf, &|_| ()).is_ok());
    }
    made
}

#[test]
fn what_is_made_of_a_damaged_map_is_sound_or_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input");
    let (mut cases, mut made) = (0, 0);
    for path in fs::read_dir(golden(".")).unwrap().map(|entry| entry.unwrap().path()) {
        let bytes = fs::read(&path).unwrap();
        let is_map = path.extension().is_some_and(|ending| ending != "md");
        for at in (0..bytes.len()).step_by(97).filter(|_| is_map) {
            let mut wrong = bytes.clone();
            wrong[at] ^= 1 << (at % 8);
            fs::write(&input, wrong).unwrap();
            made += made_is_sound(&input, folder.path());
            cases += 1;
        }
    }
    assert!(cases > 100 && made > 60, "{made} of {cases}");
}

#[test]
fn a_damaged_map_is_refused_with_its_first_finding() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.nc");
    let beyond = folder.path().join("beyond.dat");
    fs::write(&beyond, "version 2001 npes 1 ndims 1\n4\n0 2\n1 9\n").unwrap();
    let inputs = [golden("oob.nc"), golden("ov_in.nc"), golden("ov_x.nc"), beyond.clone()];
    for input in inputs {
        for args in [["convert", text(&input), text(&out)], ["pack", text(&out), text(&input)]] {
            let format: &[&str] = if args[0] == "pack" { &["--format", "map"] } else { &[] };
            let run = striae(&[&args[..], format].concat()).assert().code(1);
            let error = String::from_utf8(run.get_output().stderr.clone()).unwrap();
            assert!(error.contains("is a damaged map: D1: "), "{error}");
        }
        if input != beyond {
            refused(&["recover", text(&input), text(&out)], 2, "is a damaged map: D1: ");
        }
        assert!(!out.exists());
    }
    refused(
        &["recover", text(&golden("too_few.nc")), text(&out)],
        2,
        "is a damaged map: map: D3.nreqs",
    );
}

#[test]
fn a_map_that_claims_much_is_not_written_without_max_size() {
    let folder = tempfile::tempdir().unwrap();
    let (claims, out) = (folder.path().join("claims.dat"), folder.path().join("out.nc"));
    fs::write(&claims, "version 2001 npes 16000000 ndims 1\n4\n0 2\n1 2\n").unwrap();
    let asks = "decomp_nprocs is 16000000";
    refused(&["convert", text(&claims), text(&out)], 2, asks);
    output(&["convert", text(&claims), text(&out), "--max-size", "1G"]);
    // One request of the netCDF map is nearly the whole array of 2^30 elements.
    let input = golden("map_f_tiny_4p.nc");
    let mut bytes = fs::read(&input).unwrap();
    let file = File::open(&input).unwrap();
    let offsets: Vec<i32> = file.read(file.variable("D1.offsets").unwrap()).unwrap();
    let (index, offset) = (0..).zip(&offsets).max_by_key(|(_, offset)| **offset).unwrap();
    let length = file.variable("D1.lengths").unwrap().begin() as usize + 4 * index;
    let name = bytes.windows(7).position(|bytes| bytes == b"D1.dims").unwrap();
    bytes[name + 20..name + 24].copy_from_slice(&(1_i32 << 30).to_be_bytes());
    bytes[length..length + 4].copy_from_slice(&((1 << 30) - offset).to_be_bytes());
    let claims = folder.path().join("claims.nc");
    fs::write(&claims, bytes).unwrap();
    assert!(is_sound(&claims));
    let out = folder.path().join("out.dat");
    refused(&["convert", text(&claims), text(&out)], 2, "names each element");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 3);
}
