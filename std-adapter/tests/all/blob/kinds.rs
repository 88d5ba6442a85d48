//! Each kind of finding is provoked, with its subfile and its place.

use super::made::Made;
use super::verify::{patch, sealed, verify, verify_by};
use super::{copied, golden_dir};
use crate::run::output;
use std::path::{Path, PathBuf};
use striae::blob::verify::Finding;
use striae::finding::{Severity, Value};
use striae_core::hdf5::Container;

fn find(bytes: &[u8], what: &[u8]) -> usize {
    bytes.windows(what.len()).position(|part| part == what).unwrap()
}

/// The offset after a name in a header, where a dimension has its length, a variable the number of
/// its dimensions, and an attribute its type.
fn after(path: &Path, name: &str) -> usize {
    find(&std::fs::read(path).unwrap(), name.as_bytes()) + name.len().next_multiple_of(4)
}

fn rename(path: &Path, from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    patch(path, find(&std::fs::read(path).unwrap(), from.as_bytes()), to.as_bytes());
}

/// 8 bytes of a header in the byte order of the container.
fn number(path: &Path, at: usize, value: u64) {
    let is_cdf = std::fs::read(path).unwrap().starts_with(b"CDF");
    patch(path, at, &if is_cdf { value.to_be_bytes() } else { value.to_le_bytes() });
}

/// The value of an attribute that is one int.
fn int(path: &Path, name: &str, value: u32) {
    let is_cdf = std::fs::read(path).unwrap().starts_with(b"CDF");
    let bytes = if is_cdf { value.to_be_bytes() } else { value.to_le_bytes() };
    patch(path, after(path, name) + 4 + 8, &bytes);
}

/// The container, what is changed in subfile 1, the kind of the finding, and its text.
type Case = (&'static str, fn(&Path), &'static str, Option<&'static str>);

const HEADERS: [Case; 18] = [
    (
        "nc",
        |path| rename(path, "num_subfiles", "num_subfilex"),
        "no_attribute",
        Some("num_subfiles"),
    ),
    (
        "h5",
        |path| rename(path, "global_nprocs", "global_nprocx"),
        "no_attribute",
        Some("global_nprocs"),
    ),
    ("nc", |path| int(path, "num_subfiles", 0), "wrong_attribute", Some("num_subfiles")),
    (
        "h5",
        |path| int(path, "num_decompositions", 999),
        "wrong_attribute",
        Some("num_decompositions"),
    ),
    ("nc", |path| rename(path, "D2.nelems", "X2.nelems"), "no_dimension", Some("D2.nelems")),
    ("nc", |path| rename(path, "D3.lengths", "X3.lengths"), "no_map", Some("D3.lengths")),
    // The type comes 12 bytes before the place.
    (
        "nc",
        |path| patch(path, begin_of(path, "D1.nreqs") - 12, &5_u32.to_be_bytes()),
        "map_type",
        Some("D1.nreqs"),
    ),
    ("h5", swapped, "order", None),
    ("h5", |path| number(path, after(path, "ilev"), 0), "two_record_dims", Some("ilev")),
    ("h5", |path| number(path, after(path, "nblobs"), 1 << 40), "size", Some("nblobs")),
    // The first dimension of the variable.
    ("nc", |path| number(path, after(path, "D1.nreqs") + 8, 0), "shape", Some("D1.nreqs")),
    ("nc", |path| rename(path, "global_dimids", "global_dimidx"), "dimids", Some("D1.nreqs")),
    ("nc", |path| int(path, "decomposition_ID", 9), "decomposition_id", None),
    ("h5", |path| int(path, "decomposition_ID", 0), "decomposition_id", None),
    ("h5", |path| patch(path, 44, b"\0"), "hdf5", None), // the checksum of the superblock
    (
        "h5",
        |path| patch(path, find(&std::fs::read(path).unwrap(), b"CDF\x05"), b"X"),
        "header_blob",
        None,
    ),
    ("h5", |path| cut(path, 9000), "cut", None),
    (
        "h5",
        |path| patch(path, find(&std::fs::read(path).unwrap(), b"CDF\x05") + 4, &[0xff; 8]),
        "no_numrecs",
        None,
    ),
];

/// The place of a variable in the header of a CDF-5 file: the offset of its `begin`, less 8 bytes
/// of its size.
fn begin_of(path: &Path, name: &str) -> usize {
    let begin = striae::cdf::File::open(path).unwrap().variable(name).unwrap().begin();
    find(&std::fs::read(path).unwrap(), &begin.to_be_bytes())
}

fn swapped(path: &Path) {
    rename(path, "D1.blob_start", "D1.blob_other");
    rename(path, "D1.blob_count", "D1.blob_start");
    rename(path, "D1.blob_other", "D1.blob_count");
}

fn cut(path: &Path, len: u64) {
    std::fs::OpenOptions::new().write(true).open(path).unwrap().set_len(len).unwrap();
}

fn subfile(set: &Path, number: u32) -> PathBuf {
    let ending = set.extension().unwrap().to_str().unwrap();
    set.with_extension(format!("{ending}.{number:04}"))
}

fn of_kind<'a>(findings: &'a [Finding], kind: &str) -> Vec<&'a Finding> {
    findings.iter().filter(|one| one.facts().kind == kind).collect()
}

#[test]
fn damage_of_a_header_has_its_subfile_and_the_name() {
    for (ending, change, kind, text) in HEADERS {
        let (_dir, set) = copied(&golden_dir().join(format!("f8_n8_s3rr/blob_h1.{ending}")));
        let path = subfile(&set, 1);
        change(&path);
        let findings = verify(&set);
        let [found] = of_kind(&findings, kind)[..] else { panic!("{kind}: {findings:?}") };
        assert_eq!((&*found.file, found.severity), (&*path, Severity::Damage), "{kind}");
        if text.is_some() {
            assert_eq!(found.facts().value, text.map(|text| Value::Text(text.into())), "{kind}");
        }
        // The others are as they were.
        let is_other = |one: &&Finding| *one.file != *path && one.severity == Severity::Damage;
        assert_eq!(findings.iter().find(is_other), None, "{kind}");
    }
}

/// Its header is a dataset, which starts at 2048: an error says so, and has the place in the file.
#[test]
fn a_fault_in_the_header_of_an_hdf5_file_is_where_it_is_in_the_file() {
    let (_dir, set) = copied(&golden_dir().join("f4_n4_s1/blob_h1.h5"));
    let path = subfile(&set, 0);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[2060] = 9; // the tag of the first list
    std::fs::write(&path, bytes).unwrap();
    let findings = verify(&path);
    let found = of_kind(&findings, "header_blob");
    let [found] = &found[..] else { panic!("{findings:?}") };
    let facts = found.facts();
    assert_eq!((facts.offset, facts.field.as_deref()), (Some(2060), Some("list.tag")));
    let says = found.what.to_string();
    let start =
        "in header_blob, whose byte 0 is at offset 2048 of the file: list.tag at offset 12 is ";
    assert!(says.starts_with(start), "{says}");
}

/// Of the header in HDF5 the same is checked as of that in CDF-5, but for places.
#[test]
fn numbers_that_no_reader_of_an_hdf5_header_needs_are_checked() {
    let (_dir, set) = copied(&golden_dir().join("f4_n4_s1/blob_h1.h5"));
    let path = subfile(&set, 0);
    let sound = std::fs::read(&path).unwrap();
    assert!(verify(&path).is_empty());
    // The last variable ends with its size and its place.
    let end = 2048
        + usize::try_from(
            striae_inspect::blob::subfile::Head::read(&&sound[..])
                .unwrap()
                .header
                .head()
                .header_len,
        )
        .unwrap();
    for (at, bytes, kind, field) in [
        (end - 8, &7_u64.to_le_bytes()[..], "begin", Some("var.begin")),
        (end - 16, &9_u64.to_le_bytes(), "wrong_vsize", Some("var.vsize")),
        (after(&path, "ndbase") - 2, b"x", "padding", None),
    ] {
        patch(&path, at, bytes);
        let findings = verify(&path);
        let [found] = &findings[..] else { panic!("{kind}: {findings:?}") };
        let facts = found.facts();
        assert_eq!((facts.kind, facts.field.as_deref()), (kind, field), "{findings:?}");
        let offset = facts.offset.and_then(|offset| usize::try_from(offset).ok());
        assert_eq!(offset, Some(at), "{findings:?}");
        std::fs::write(&path, &sound).unwrap();
    }
}

/// What a cut file has, and what it must have.
#[test]
fn a_cut_says_where_the_file_ends_and_where_it_should() {
    let (_dir, set) = copied(&golden_dir().join("f8_n8_s3rr/blob_h1.h5"));
    let path = subfile(&set, 1);
    let bytes = std::fs::read(&path).unwrap();
    // header_blob begins at 2048, and data_blob where it ends.
    cut(&path, 9000);
    let findings = verify(&set);
    let [found] = of_kind(&findings, "cut")[..] else { panic!("{findings:?}") };
    let facts = found.facts();
    assert_eq!((facts.value, facts.offset), (Some(Value::from(9000_u64)), None));
    let end = usize::try_from(facts.min.unwrap()).unwrap();
    assert!((9001..bytes.len()).contains(&end), "{end}");
    let says =
        format!("the file is cut: it ends at offset 9000, and has bytes up to {end} by its tables");
    assert_eq!(found.what.to_string(), says);
}

/// A header of more bytes than any has is not read into memory, whether the file has them or not.
#[test]
fn a_header_in_hdf5_of_more_than_64_mib_is_refused() {
    const MOST: u64 = 1 << 26;
    for (len, kind) in [(MOST, "header_blob"), (MOST + 1, "long_header")] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("set.h5.0000");
        let container = Container::new(len, 8).unwrap();
        std::fs::write(&path, container.metadata()).unwrap();
        cut(&path, container.data().end()); // it gets longer
        let findings = verify(&path);
        let [found] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(found.facts().kind, kind, "{findings:?}");
        if kind == "long_header" {
            let says = "header_blob has 67108865 bytes, and at most 67108864 are read";
            assert_eq!(found.what.to_string(), says);
        }
    }
}

#[test]
fn a_file_of_another_program_has_no_dataset() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("set.h5.0000");
    std::fs::copy(golden_dir().join("../hdf5/superblock3.h5"), &path).unwrap();
    let findings = verify(&path);
    let [found] = &findings[..] else { panic!("{findings:?}") };
    let facts = found.facts();
    assert_eq!((facts.kind, &*found.file), ("no_dataset", &*path));
    assert_eq!(facts.value, Some(Value::Text("header_blob".into())));
}

#[test]
fn numbers_of_the_set_are_compared() {
    let (_dir, set) = copied(&golden_dir().join("f8_n8_s3rr/blob_h1.nc"));
    (0..3).for_each(|number| int(&subfile(&set, number), "global_nprocs", 9));
    let findings = verify(&set);
    let [found] = &findings[..] else { panic!("{findings:?}") };
    let facts = found.facts();
    assert_eq!((facts.kind, &*found.file), ("nblobs", &*subfile(&set, 0)));
    assert_eq!((facts.value, facts.expected), (Some(Value::from(8_u64)), Some(9)));
    assert_eq!(found.severity, Severity::Damage);

    // In HDF5 no place depends on it, but the sizes of two variables.
    let (_dir, set) = copied(&golden_dir().join("f8_n8_s3rr/blob_h1.h5"));
    let path = subfile(&set, 2);
    let at = after(&path, "D2.max_nreqs");
    let usual =
        std::fs::read(&path).unwrap()[at..at + 8].try_into().map(u64::from_le_bytes).unwrap();
    number(&path, at, usual + 5);
    let findings = verify(&set);
    let [offsets, lengths, found] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!([offsets, lengths].map(|one| one.facts().kind), ["wrong_vsize"; 2]);
    let facts = found.facts();
    assert_eq!((facts.kind, facts.decomposition), ("max_nreqs", Some(2)));
    let numbers = (Some(Value::from(usual + 5)), Some(i128::from(usual)));
    assert_eq!((facts.value, facts.expected), numbers);
    assert_eq!((&*found.file, found.severity), (&*path, Severity::Note));
}

#[test]
fn a_set_that_was_written_by_the_sum_of_fill_starts_is_noted() {
    // Request r is element 2 r. Rank 0 has two of them, of which the second one fills a hole.
    let dir = tempfile::tempdir().unwrap();
    let (text, map) = (dir.path().join("map.dat"), dir.path().join("map.nc"));
    let mut lines = "version 2001 npes 7 ndims 2 \n8 3 \n0 2\n1 3 \n".to_owned();
    for rank in 1..7 {
        lines += &format!("{rank} 1\n{} \n", 2 * rank + 3);
    }
    std::fs::write(&text, lines).unwrap();
    output(&["convert", text.to_str().unwrap(), map.to_str().unwrap()]);
    let fill_starts = striae::cdf::File::open(&map).unwrap();
    let fill_starts = fill_starts.variable("D1.fill_starts").unwrap().begin() as usize;
    patch(&map, fill_starts, &1_u32.to_be_bytes());

    let of_rank = |first: u32| {
        move |rank: u32| if rank == 0 { vec![(0, 1)] } else { vec![(2 * (rank + first), 1)] }
    };
    for (first, kinds) in [(0, &["hole", "fill_starts"][..]), (1, &["hole"])] {
        let blobs = (0..7).map(of_rank(first)).collect();
        Made { rows: 3, columns: 8, numrecs: 1, subfiles: vec![blobs] }.write(dir.path());
        let set = dir.path().join("set.nc");
        let (summary, findings) = verify_by(&set, Some(&map));
        assert_eq!((summary.damage, summary.origin.unwrap().matching), (0, 7), "{findings:?}");
        let found: Vec<_> = findings.iter().map(|one| one.facts().kind).collect();
        assert_eq!(found, kinds);
        assert!(findings.iter().all(|one| *one.file == *subfile(&set, 0)));
    }
}

#[test]
fn a_damaged_copy_of_a_seal_and_a_seal_of_other_records_are_told() {
    for ending in ["nc", "h5"] {
        let dir = tempfile::tempdir().unwrap();
        let path = subfile(&sealed(dir.path(), ending), 0);
        let whole = std::fs::read(&path).unwrap();
        let first = find(&whole, b"striae blob seal");
        // A number of the head, and one of the table.
        for at in [first + 20, first + 64] {
            patch(&path, at, &[whole[at] ^ 1]);
            let findings = verify(&path);
            let [found] = of_kind(&findings, "seal_copy")[..] else { panic!("{findings:?}") };
            assert_eq!((found.severity, &*found.file), (Severity::Note, &*path));
            let field = if at == first + 20 { ("head_crc", 60) } else { ("table_crc", 56) };
            let facts = found.facts();
            assert!(facts.field.unwrap().ends_with(field.0));
            assert_eq!(facts.offset, Some(first as u64 + field.1));
            std::fs::write(&path, &whole).unwrap();
        }
    }
    // Both copies are of 2 records.
    let dir = tempfile::tempdir().unwrap();
    let path = subfile(&sealed(dir.path(), "nc"), 0);
    number(&path, 4, 1);
    let findings = verify(&path);
    let [found] = of_kind(&findings, "not_as_sealed")[..] else { panic!("{findings:?}") };
    assert_eq!((found.severity, &*found.file), (Severity::Damage, &*path));
    let facts = found.facts();
    assert_eq!((facts.value, facts.expected), (Some(Value::from(2_u64)), Some(1)));
}
