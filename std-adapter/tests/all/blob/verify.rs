//! Verify of sets: those of E3SM-IO are sound, and each fault is found at its place.

use super::made::Made;
use super::{copied, golden_dir, runs};
use crate::run::{output, striae};
use serde_json::Value;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use striae::Verify;
use striae::blob::verify::{Finding, FindingKind, SetFinding, Summary};
use striae::blob::{Request, Set};
use striae::finding::Severity;

pub(super) fn verify_by(path: &Path, map: Option<&Path>) -> (Summary, Vec<Finding>) {
    let mut findings = Vec::new();
    let each = &mut |finding| findings.push(finding);
    let summary = Verify::new().against(map).blob(path, each).unwrap();
    let damage = findings.iter().filter(|one| one.severity == Severity::Damage).count();
    assert_eq!((summary.damage + summary.notes) as usize, findings.len());
    assert_eq!(summary.damage as usize, damage);
    (summary, findings)
}

pub(super) fn verify(path: &Path) -> Vec<Finding> {
    verify_by(path, None).1
}

/// The kinds, with the number of the subfile in the name of the file.
fn kinds(findings: &[Finding]) -> Vec<(&'static str, String)> {
    let kind = |finding: &Finding| {
        (finding.facts().kind, finding.file.extension().unwrap().to_str().unwrap().to_owned())
    };
    findings.iter().map(kind).collect()
}

fn texts(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| finding.what.to_string()).collect()
}

#[test]
fn sets_of_e3sm_io_are_sound_and_have_their_holes() {
    for run in runs() {
        for path in run.sets() {
            let (summary, findings) = verify_by(&path, None);
            assert_eq!(summary.damage, 0, "{findings:?}");
            assert_eq!(summary.blobs, run.expected["nprocs"].as_u64().unwrap_or(summary.blobs));
            assert_eq!(summary.subfiles, summary.nsubfiles);
            assert_eq!(!findings.is_empty(), run.has_holes());
            assert!(findings.iter().all(|finding| finding.facts().kind == "hole"));
            let set = Set::open(&path).unwrap();
            for (finding, known) in findings.iter().zip(
                set.decompositions().unwrap().iter().filter(|known| known.covered < known.nelems),
            ) {
                let holes = finding.facts().value.unwrap();
                let expected = striae::finding::Value::from(known.nelems - known.covered);
                assert_eq!(holes, expected);
            }
        }
    }
}

/// What is unusual in E3SM-IO's set with an empty subfile is a note; its second subfile in CDF-5
/// could not be written.
#[test]
fn a_set_with_an_empty_subfile_of_e3sm_io_has_notes() {
    let dir = golden_dir().join("../blob_empty");
    let (summary, findings) = verify_by(&dir.join("es_h1.h5"), None);
    assert_eq!(summary.damage, 0);
    let mut kinds = kinds(&findings);
    assert_eq!(kinds.remove(0), ("stray", "0001".into()));
    assert!(kinds.len() == 27 && kinds.iter().all(|kind| *kind == ("copies", "0001".into())));
    let findings = verify(&dir.join("es_h1.nc"));
    assert_eq!(self::kinds(&findings), [("missing", "0001".into())]);
    assert!(verify(&dir.join("es_h1.nc.0000")).is_empty());
}

/// A set of 3 x 8 elements, in two subfiles of three and four blobs.
fn made(blobs: [&[(u32, u32)]; 7]) -> (tempfile::TempDir, PathBuf) {
    let blobs = blobs.map(<[_]>::to_vec);
    let subfiles = vec![blobs[..3].to_vec(), blobs[3..].to_vec()];
    let dir = crate::in_memory();
    Made { rows: 3, columns: 8, numrecs: 1, subfiles }.write(dir.path());
    let path = dir.path().join("set.nc");
    (dir, path)
}

const ROWS: [&[(u32, u32)]; 7] =
    [&[(0, 8)], &[(8, 4)], &[(12, 4)], &[(16, 2)], &[(18, 2)], &[(20, 2)], &[(22, 2)]];

/// The requests of a rank that has a fault, the kind of the finding, and its text.
type Case = (usize, &'static [(u32, u32)], &'static str, &'static str);

const CASES: [Case; 8] = [
    (
        4,
        &[(18, 4)],
        "overlap",
        "D1: request 0 of blob 2 (2 elements from 20) overlaps request \
         0 of blob 1 of subfile 1",
    ),
    (
        3,
        &[(7, 1), (16, 2)],
        "overlap",
        "D1: request 0 of blob 0 (1 elements from 7) overlaps \
         request 0 of blob 0 of subfile 0",
    ),
    (
        5,
        &[(20, 2), (21, 1)],
        "overlap_in_blob",
        "D1: request 1 of blob 2 (1 elements from 21) \
         overlaps request 0",
    ),
    (
        6,
        &[(22, 5)],
        "outside",
        "D1: request 0 of blob 3 (5 elements from 22) ends after the \
         array of 24 elements",
    ),
    (
        2,
        &[(14, 2)],
        "hole",
        "D1: no blob has 2 elements in 1 hole, the first of 2 elements \
         from 12 on",
    ),
    (
        1,
        &[(10, 2), (8, 2)],
        "unsorted",
        "D1: request 1 of blob 1 begins before the one before; \
         1 request not in order",
    ),
    (3, &[(16, 2), (3, 0)], "empty", "D1: request 1 of blob 0 has no elements"),
    (
        0,
        &[(0, 6)],
        "hole",
        "D1: no blob has 2 elements in 1 hole, the first of 2 elements from \
         6 on",
    ),
];

#[test]
fn faults_of_requests_have_subfile_blob_and_index() {
    let (_dir, path) = made(ROWS);
    assert_eq!(texts(&verify(&path)), [""; 0]);
    for (rank, requests, kind, text) in CASES {
        let mut blobs = ROWS;
        blobs[rank] = requests;
        let (_dir, path) = made(blobs);
        let findings = verify(&path);
        let found = findings.iter().find(|finding| finding.facts().kind == kind);
        let found = found.unwrap_or_else(|| panic!("{kind}: {:?}", texts(&findings)));
        assert_eq!(found.what.to_string(), text);
        let subfile = if kind == "hole" { 0 } else { usize::from(rank > 2) };
        assert!(found.file.ends_with(format!("set.nc.{subfile:04}")), "{kind}");
        let is_damage = matches!(kind, "overlap" | "overlap_in_blob" | "outside");
        assert_eq!(found.severity == Severity::Damage, is_damage, "{kind}");
    }
    let mut blobs = ROWS;
    (blobs[0], blobs[1]) = (&[(0, 6)], &[(6, 6)]);
    let (_dir, path) = made(blobs);
    let text = "D1: request 0 of blob 1 crosses the end of a row; 1 request so";
    assert_eq!(texts(&verify(&path)), [text]);
}

/// Both containers of a set of three subfiles.
const SETS: [&str; 2] = ["f8_n8_s3rr/blob_h1.nc", "f8_n8_s3rr/blob_h1.h5"];

/// Replaces the first bytes of a part that a subfile has by others of the same length.
pub(super) fn patch(path: &Path, at: usize, bytes: &[u8]) {
    let mut all = std::fs::read(path).unwrap();
    all[at..at + bytes.len()].copy_from_slice(bytes);
    std::fs::write(path, all).unwrap();
}

/// The offset of the values of a variable in CDF-5.
fn begin(path: &Path, name: &str) -> usize {
    let file = striae::cdf::File::open(path).unwrap();
    file.variable(name).unwrap().begin() as usize
}

/// `D1.max_nreqs`.
fn max_nreqs(path: &Path) -> usize {
    let file = striae::cdf::File::open(path).unwrap();
    file.variable("D1.lengths").unwrap().shape()[1] as usize
}

fn position(path: &Path, bytes: &[u8]) -> usize {
    let all = std::fs::read(path).unwrap();
    all.windows(bytes.len()).position(|window| window == bytes).unwrap()
}

#[test]
fn faults_of_tables_have_the_blob() {
    let name = golden_dir().join(SETS[0]);
    for (table, blob, value, kind, text) in [
        ("D1.nreqs", 1, -1_i64, "negative", "D1.nreqs of blob 1 is -1, must be at least 0"),
        ("D2.nreqs", 0, 99, "too_large", "D2.nreqs of blob 0 is 99, must be at most"),
        ("D3.blob_start", 1, 5, "differs", "D3.blob_start of blob 1 is 5, must be"),
        ("D1.blob_count", 0, 3, "differs", "D1.blob_count of blob 0 is 3, must be"),
        ("D1.lengths", 1, -7, "negative", "D1.lengths of blob 1 is -7, must be at least 0"),
        ("D1.lengths", 1, 200, "differs", "D1.lengths of blob 1 is"),
    ] {
        let (_dir, copy) = copied(&name);
        let path = copy.with_extension("nc.0002");
        let size = if table.contains("blob_") { 8 } else { 4 };
        // The first request of a blob, in a table with a row for each.
        let row = if table.contains("lengths") { max_nreqs(&path) } else { 1 };
        let value = value.to_be_bytes();
        patch(&path, begin(&path, table) + blob * row * size, &value[8 - size..]);
        let findings = verify(&copy);
        let found = findings.iter().find(|one| one.facts().kind == kind);
        let found = found.unwrap_or_else(|| panic!("{table}: {:?}", texts(&findings)));
        assert!(found.what.to_string().starts_with(text), "{}", found.what);
        assert_eq!((&*found.file, found.severity), (&*path, Severity::Damage));
    }
}

/// In HDF5 the tables of a blob are at its start.
#[test]
fn blobs_that_do_not_end_with_the_data_are_damage() {
    let name = golden_dir().join(SETS[1]);
    let (_dir, copy) = copied(&name);
    let path = copy.with_extension("h5.0001");
    let header = position(&path, b"CDF\x05");
    let data = header + 16236; // as all headers of these files
    let whole = std::fs::read(&path).unwrap();
    let nelems = position(&path, b"D1.nelems") + 12;
    let usual = i64::from_le_bytes(whole[nelems..nelems + 8].try_into().unwrap());
    for (at, bytes, kind) in [
        (data, (-2_i32).to_le_bytes().to_vec(), "negative"),
        (nelems, (usual + 1).to_le_bytes().to_vec(), "elements"),
        (data + 4, 1_i64.to_le_bytes().to_vec(), "differs"),
    ] {
        patch(&path, at, &bytes);
        let findings = verify(&copy);
        let is_there = |one: &&Finding| one.severity == Severity::Damage && *one.file == *path;
        let damage = findings.iter().filter(is_there);
        // A length of the header also contradicts the sizes of variables.
        let is_size = |one: &Finding| one.facts().kind == "wrong_vsize";
        assert_eq!(damage.clone().any(is_size), at == nelems);
        let damage: Vec<_> = damage.filter(|one| !is_size(one)).collect();
        let (facts, is_of_blob) = (damage[0].facts(), kind != "elements");
        assert_eq!((facts.kind, facts.decomposition), (kind, Some(1)));
        assert_eq!(facts.blob, is_of_blob.then_some(0));
        std::fs::write(&path, &whole).unwrap();
    }
    assert!(verify(&copy).is_empty());
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let findings = verify(&copy);
    let found = kinds(&findings);
    assert!(found.contains(&("blob_cut", "0001".into())), "{found:?}");
    assert!(found.contains(&("lost_blobs", "0001".into())), "{found:?}");
}

/// A set that cannot be opened is not sound: names that netCDF refuses, and two of one name.
#[test]
fn names_that_the_canonical_file_cannot_have_are_damage() {
    for name in SETS {
        for (other, shown) in [(&b"ti/le"[..], "ti/le"), (b"histo", "histo")] {
            let (_dir, copy) = copied(&golden_dir().join(name));
            let paths: Vec<_> = Set::open(&copy).unwrap().subfiles().map(|one| one.1).collect();
            for path in &paths {
                patch(path, position(path, b"title"), other);
            }
            let is_refused = Set::open(&copy).is_err();
            assert_eq!(is_refused, other.contains(&b'/'), "{name}");
            let findings = verify(&copy);
            let damage: Vec<_> =
                findings.iter().filter(|one| one.severity == Severity::Damage).collect();
            assert_eq!(damage.len(), if is_refused { paths.len() } else { 0 }, "{findings:?}");
            for (found, path) in damage.into_iter().zip(&paths) {
                assert_eq!((&*found.file, found.facts().kind), (&**path, "not_canonical"));
                assert!(found.what.to_string().contains(shown), "{}", found.what);
            }
        }
    }
}

#[test]
fn subfiles_that_contradict_each_other_are_named() {
    for (name, ending) in SETS.into_iter().zip(["nc", "h5"]) {
        let whole = golden_dir().join(name);
        let sibling =
            |copy: &Path, number: u32| copy.with_extension(format!("{ending}.{number:04}"));

        let (_dir, copy) = copied(&whole);
        std::fs::remove_file(sibling(&copy, 1)).unwrap();
        let findings = verify(&copy);
        assert_eq!(kinds(&findings)[0], ("missing", "0001".into()));
        assert!(kinds(&findings)[1..].iter().all(|(kind, _)| *kind == "hole"));
        // A subfile alone is whole; what others have is no hole of it.
        assert_eq!(verify_by(&sibling(&copy, 2), None).0.damage, 0);

        let (_dir, copy) = copied(&whole);
        std::fs::copy(sibling(&copy, 2), sibling(&copy, 7)).unwrap();
        assert_eq!(kinds(&verify(&copy)), [("extra", "0007".into())]);

        let (_dir, copy) = copied(&whole);
        let other = golden_dir().join(format!("f4_n4_s1/blob_h1.{ending}.0000"));
        std::fs::copy(other, sibling(&copy, 2)).unwrap();
        let found = kinds(&verify(&copy));
        assert_eq!(found[0], ("other_set", "0002".into()), "{found:?}");

        // An attribute of the set, and one of the program.
        let (_dir, copy) = copied(&whole);
        let path = sibling(&copy, 1);
        let at = position(&path, b"global_nprocs") + 16 + 12;
        let nprocs: u32 = 9;
        let bytes = if ending == "nc" { nprocs.to_be_bytes() } else { nprocs.to_le_bytes() };
        patch(&path, at, &bytes);
        assert_eq!(texts(&verify(&copy)), ["global_nprocs is 9, but 8 in the first subfile"]);

        let (_dir, copy) = copied(&whole);
        let path = sibling(&copy, 2);
        patch(&path, position(&path, b"title") + 8 + 12, b"#");
        let found = verify(&copy);
        assert_eq!(kinds(&found), [("attribute", "0002".into())]);
        assert_eq!(found[0].severity, Severity::Note);
    }
}

#[test]
fn records_and_copies_that_differ_are_named() {
    let (_dir, copy) = copied(&golden_dir().join(SETS[0]));
    let path = copy.with_extension("nc.0001");
    patch(&path, begin(&path, "lev"), &9.5_f64.to_be_bytes());
    let findings = verify(&copy);
    assert_eq!(kinds(&findings), [("copies", "0001".into())]);
    let text = "variable lev: the values are not those in the first subfile, which count";
    assert_eq!(texts(&findings), [text]);

    let path = copy.with_extension("nc.0002");
    patch(&path, 4, &1_u64.to_be_bytes());
    let found = verify(&copy);
    let kind = |finding: &Finding| finding.facts().kind;
    let records = found.iter().find(|one| kind(one) == "records").unwrap();
    assert_eq!(records.what.to_string(), "has 1 record, but the first subfile has 2");
    assert_eq!((&*records.file, records.severity), (&*path, Severity::Damage));
}

#[test]
fn a_set_and_its_map_are_compared() {
    let map = golden_dir().join("../map/map_f_holes_5p.nc");
    for ending in ["nc", "h5"] {
        let name = golden_dir().join(format!("f5h_n5_s1/blob_h1.{ending}"));
        let (summary, _) = verify_by(&name, Some(&map));
        let origin = summary.origin.unwrap();
        assert_eq!((origin.matching, summary.damage), (5, 0));
        assert_eq!(origin.rule, striae::blob::map::Rule::Nreqs);
    }
    let (_dir, copy) = copied(&golden_dir().join("f5h_n5_s1/blob_h1.nc"));
    let path = copy.with_extension("nc.0000");
    let at = begin(&path, "D1.offsets");
    let first = i32::from_be_bytes(std::fs::read(&path).unwrap()[at..at + 4].try_into().unwrap());
    patch(&path, at, &(first + 1).to_be_bytes());
    let (summary, findings) = verify_by(&copy, Some(&map));
    assert_eq!(summary.origin.unwrap().matching, 4);
    let of_map = findings.iter().find_map(|finding| match &finding.what {
        SetFinding::Set(FindingKind::NotOfMap { of, process, found, expected }) => {
            Some((*of, *process, found.unwrap(), expected.unwrap()))
        }
        _ => None,
    });
    let (of, process, found, expected) = of_map.unwrap();
    assert_eq!((of.id, of.blob, of.index, process), (NonZeroU32::MIN, 0, 0, 0));
    let Request { offset, len } = expected;
    assert_eq!((found, offset), (Request { offset: offset + 1, len }, first as u64));

    let other = golden_dir().join("f4_n4_s1/blob_h1.nc");
    let findings = verify_by(&other, Some(&map)).1;
    assert!(findings.iter().any(|finding| finding.facts().kind == "other_map"));
}

#[test]
fn the_program_verifies_sets_and_single_subfiles() {
    let name = golden_dir().join("f5h_n5_s1/blob_h1.nc");
    let map = golden_dir().join("../map/map_f_holes_5p.nc");
    let (name, map) = (name.to_str().unwrap(), map.to_str().unwrap());
    let report: Value =
        serde_json::from_slice(&output(&["verify", "--json", "--map", map, name])).unwrap();
    assert_eq!((&report["format"], &report["container"]), (&"blob".into(), &"cdf".into()));
    assert_eq!((&report["sound"], &report["blobs"]), (&true.into(), &5.into()));
    assert_eq!(report["map"]["rule"], "nreqs");
    assert_eq!(report["map"]["matching_blobs"], 5);
    let text = String::from_utf8(output(&["verify", "--map", map, name])).unwrap();
    assert!(text.contains("5 of 5 blobs as in the map by nreqs, sorted"), "{text}");

    let (_dir, copy) = copied(&golden_dir().join(SETS[1]));
    std::fs::remove_file(copy.with_extension("h5.0000")).unwrap();
    let text = striae(&["verify", copy.to_str().unwrap()]).assert().code(1);
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("damage ") && text.contains("subfile 0 is missing"), "{text}");
    let one = copy.with_extension("h5.0002");
    striae(&["verify", one.to_str().unwrap()]).assert().code(0);
}

#[test]
fn dump_and_map_show_subfiles_of_both_containers() {
    for name in SETS {
        let set = golden_dir().join(name);
        let set = set.to_str().unwrap();
        let dump = String::from_utf8(output(&["dump", set])).unwrap();
        for line in ["header.numrecs", "global_nprocs", "D1.blob_start", "bytes of the header"] {
            assert!(dump.contains(line), "{name}: {line}");
        }
        let numrecs = dump.lines().find(|line| line.contains("header.numrecs")).unwrap();
        assert!(numrecs.trim_end().ends_with('2'), "{numrecs}");
    }
    let set = golden_dir().join(SETS[0]);
    let picture: Value =
        serde_json::from_slice(&output(&["map", "--json", set.to_str().unwrap()])).unwrap();
    assert_eq!(picture["files"].as_array().unwrap().len(), 3);
}

/// Packs a sealed set of one subfile.
pub(super) fn sealed(dir: &Path, ending: &str) -> PathBuf {
    let golden = golden_dir().join("f5h_n5_s1");
    let path = dir.join(format!("set.{ending}"));
    let paths = [
        golden_dir().join("../map/map_f_holes_5p.nc"),
        golden.join("blob_h1.nc.0000"),
        path.clone(),
        golden.join("can_h1.nc"),
    ];
    let [map, like, out, canonical] = paths.each_ref().map(|path| path.to_str().unwrap());
    let container = if ending == "nc" { "cdf" } else { "hdf5" };
    let args = ["pack", "--format", "blob", "--seal", "--container", container, "--map", map];
    output(&[&args[..], &["--like", like, out, canonical]].concat());
    path
}

#[test]
fn a_changed_value_of_a_sealed_set_is_found_with_its_blob() {
    for ending in ["nc", "h5"] {
        let dir = crate::in_memory();
        let set = sealed(dir.path(), ending);
        let (summary, findings) = verify_by(&set, None);
        assert_eq!((summary.damage, summary.sealed), (0, 1), "{:?}", texts(&findings));
        assert_eq!(summary.data.checked, summary.data.bytes);
        assert_eq!(summary.data.verdict(0), "sound");
        // The progress is of all that the seal covers: values, and maps.
        let sum = std::sync::atomic::AtomicU64::new(0);
        let add = |bytes| {
            sum.fetch_add(bytes, std::sync::atomic::Ordering::Relaxed);
        };
        Verify::new().progress(&add).blob(&set, &mut |_| {}).unwrap();
        let (sum, most) = (sum.into_inner(), striae::blob::verify::sealed_bytes(&set));
        assert!(summary.data.bytes < sum && sum <= most, "{sum}, {most}");
        let path = set.with_extension(format!("{ending}.0000"));
        let whole = std::fs::read(&path).unwrap();
        // The last byte is of the last record, and in HDF5 of the last blob.
        let at = whole.len() - 1;
        patch(&path, at, &[whole[at] ^ 1]);
        let findings = verify(&set);
        let damage: Vec<_> =
            findings.iter().filter(|one| one.severity == Severity::Damage).collect();
        assert_eq!(damage.len(), 1, "{findings:?}");
        let facts = damage[0].facts();
        assert_eq!(facts.kind, "blob_checksum");
        assert!(facts.stored.is_some() && facts.stored != facts.computed);
        if ending == "h5" {
            assert_eq!(facts.blob, Some(4));
        }
        std::fs::write(&path, &whole).unwrap();
        // An attribute of the header.
        let title = position(&path, b"title") + 8 + 12;
        patch(&path, title, b"#");
        let kinds = kinds(&verify(&set));
        assert!(kinds.iter().any(|(kind, _)| *kind == "checksum"), "{kinds:?}");
    }
}
