//! `extract`.

use super::golden::{golden_dir, path_of};
use super::*;
use rustix::fs::FallocateFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use striae::gsd::{Builder, Durability, File};
use tempfile::TempDir;

/// An array as the description of NumPy's format 1.0 has it.
#[derive(Debug, PartialEq)]
struct Npy {
    descr: String,
    shape: Vec<u64>,
    bytes: Vec<u8>,
}

impl Npy {
    fn read(path: &Path) -> Self {
        let file = fs::read(path).unwrap();
        assert_eq!(file[..8], *b"\x93NUMPY\x01\x00", "{}", path.display());
        let len = usize::from(u16::from_le_bytes([file[8], file[9]]));
        assert_eq!((10 + len) % 64, 0, "values can be mapped");
        let header = std::str::from_utf8(&file[10..10 + len]).unwrap();
        let header = header.strip_suffix('\n').unwrap().trim_end_matches(' ');
        let rest = header.strip_prefix("{'descr': '").unwrap();
        let (descr, rest) = rest.split_once("', 'fortran_order': False, 'shape': (").unwrap();
        let shape = rest.strip_suffix("), }").unwrap();
        let lens: Vec<_> = shape.split(',').map(str::trim).filter(|len| !len.is_empty()).collect();
        assert!(lens.len() > 1 || shape.ends_with(','), "a tuple of one needs a comma: {shape}");
        let shape: Vec<u64> = lens.iter().map(|len| len.parse().unwrap()).collect();
        let array = Self { descr: descr.to_owned(), shape, bytes: file[10 + len..].to_vec() };
        let values: u64 = array.shape.iter().product();
        let size: u64 =
            array.descr.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap();
        assert_eq!(values * size, array.bytes.len() as u64, "{}", path.display());
        array
    }

    /// Its parts along the first axis.
    fn parts(&self) -> Vec<Self> {
        let shape = self.shape[1..].to_vec();
        let len = self.bytes.len() / usize::try_from(self.shape[0]).unwrap();
        let part = |number: usize| self.bytes[number * len..][..len].to_vec();
        let parts = (0..usize::try_from(self.shape[0]).unwrap()).map(part);
        parts.map(|bytes| Self { descr: self.descr.clone(), shape: shape.clone(), bytes }).collect()
    }

    fn numbers(&self) -> Vec<u64> {
        assert_eq!(self.descr, "<u8");
        let numbers =
            self.bytes.chunks(8).map(|bytes| u64::from_le_bytes(bytes.try_into().unwrap()));
        numbers.collect()
    }
}

/// All arrays in a folder: the one of each frame, and of each name as it stands in file names.
fn arrays(dir: &Path, frames: std::ops::Range<u64>) -> BTreeMap<(u64, String), Npy> {
    let mut arrays = BTreeMap::new();
    let names: BTreeSet<_> = names(dir);
    for name in &names {
        let stem = name.strip_suffix(".npy").unwrap();
        let array = Npy::read(&dir.join(name));
        match stem.split_once('@') {
            Some((stem, "frames")) => assert!(names.contains(&format!("{stem}.npy"))),
            Some((stem, frame)) => {
                assert_eq!(frame.len(), 5);
                arrays.insert((frame.parse().unwrap(), stem.to_owned()), array);
            }
            None => {
                let which = dir.join(format!("{stem}@frames.npy"));
                let frames = match which.exists() {
                    true => Npy::read(&which).numbers(),
                    false => frames.clone().collect(),
                };
                let parts = array.parts();
                assert_eq!(parts.len(), frames.len());
                for (frame, part) in frames.into_iter().zip(parts) {
                    arrays.insert((frame, stem.to_owned()), part);
                }
            }
        }
    }
    arrays
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// A chunk's name in file names, if it has none but usual characters.
fn usual(name: &str) -> Option<String> {
    let is_usual = |c: char| c.is_ascii_alphanumeric() || "/_".contains(c);
    (name.chars().all(is_usual) && name.len() < 200).then(|| name.replace('/', "."))
}

fn descr(kind: &str) -> &'static str {
    match kind {
        "uint8" => "|u1",
        "uint16" => "<u2",
        "uint32" => "<u4",
        "uint64" => "<u8",
        "int8" => "|i1",
        "int16" => "<i2",
        "int32" => "<i4",
        "int64" => "<i8",
        "float32" => "<f4",
        "float64" => "<f8",
        _ => "|S1",
    }
}

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    /// A copy of a golden file with other bytes at some place.
    fn patched(&self, name: &str, offset: usize, bytes: &[u8]) -> String {
        let mut file = fs::read(path_of(name)).unwrap();
        file[offset..offset + bytes.len()].copy_from_slice(bytes);
        let path = self.path("patched.gsd");
        fs::write(&path, file).unwrap();
        path
    }
}

/// That what was extracted of a file is what `find` finds in it.
fn check(file: &str, dir: &str, frames: std::ops::Range<u64>) {
    let file = File::open(file).unwrap();
    let extracted = arrays(Path::new(dir), frames.clone());
    let mut wanted = 0;
    for frame in frames {
        for name in file.names().unwrap().iter() {
            let Some(chunk) = file.find(frame, name.as_bytes()).unwrap() else { continue };
            wanted += 1;
            let Some(name) = usual(name.as_str().unwrap()) else { continue };
            let array = &extracted[&(frame, name)];
            assert_eq!(array.bytes, file.read_bytes(&chunk).unwrap());
            assert_eq!(array.descr, descr(chunk.kind.name()));
        }
    }
    assert_eq!(extracted.len(), wanted);
}

#[test]
fn extract_makes_arrays_of_all_chunks_as_gsd_wrote_them() {
    for golden in valid_files() {
        let out = Folder::new();
        let dir = out.path("new");
        output(&["extract", golden.path(), &dir]);
        let frames = golden.expected["nframes"].as_u64().unwrap();
        let extracted = arrays(Path::new(&dir), 0..frames);
        assert_eq!(extracted.len(), golden.chunks().len(), "{}", golden.name);
        for chunk in golden.chunks() {
            let number = |key: &str| chunk[key].as_u64().unwrap();
            let Some(name) = chunk["name"].as_str().and_then(usual) else { continue };
            let array = &extracted[&(number("frame"), name)];
            assert_eq!(array.descr, descr(chunk["type"].as_str().unwrap()));
            let columns = Some(number("M")).filter(|&columns| columns != 1);
            let shape: Vec<_> = [number("N")].into_iter().chain(columns).collect();
            assert_eq!(array.shape, shape, "{} {chunk}", golden.name);
            assert_eq!(hex_sha256(&array.bytes), chunk["sha256"], "{} {chunk}", golden.name);
        }
    }
}

#[test]
fn a_name_of_one_shape_becomes_one_file_and_others_one_a_frame() {
    let out = Folder::new();
    let dir = out.path("new");
    output(&["extract", &path_of("v21_sparse_chunks"), &dir]);
    let third = [0, 3, 6, 9].map(|frame| format!("third@0000{frame}.npy"));
    let whole = ["every.npy", "only7.npy", "only7@frames.npy"].map(str::to_owned);
    assert_eq!(names(Path::new(&dir)), third.into_iter().chain(whole).collect());
    assert_eq!(Npy::read(&Path::new(&dir).join("only7@frames.npy")).numbers(), [7]);
    assert_eq!(Npy::read(&Path::new(&dir).join("every.npy")).shape, [12, 1]);
}

#[test]
fn file_names_are_safe_and_none_is_lost() {
    let odd =
        ["a/b", "a.b", "a%2Eb", "/etc/passwd", "../up", "-rf", "a@frames", "a@00000", " ", "."];
    let long = ["x".repeat(300), "x".repeat(301)];
    let out = Folder::new();
    let path = out.path("odd.gsd");
    let mut writer = Builder::new().durability(Durability::None).create(&path).unwrap();
    let all: Vec<&str> = odd.into_iter().chain(long.iter().map(String::as_str)).collect();
    for (number, name) in (0u64..).zip(&all) {
        writer.write(name, &[number], 1).unwrap();
    }
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let dir = out.path("new");
    output(&["extract", &path, &dir]);
    let names = names(Path::new(&dir));
    assert_eq!(names.len(), all.len());
    assert!(names.iter().all(|name| !name.starts_with(['.', '-']) && name.len() <= 255));
    let found = names.iter().map(|name| Npy::read(&Path::new(&dir).join(name)).numbers()[0]);
    assert_eq!(found.collect::<BTreeSet<_>>(), (0..all.len() as u64).collect());
    assert!(names.contains("a.b.npy") && names.contains("%2Fetc.passwd.npy"));
}

#[test]
fn frames_and_names_can_be_chosen() {
    let file = path_of("v20_hoomd14");
    let out = Folder::new();
    let dir = out.path("some");
    output(&[
        "extract",
        "--frames",
        "1..3",
        &file,
        &dir,
        "frame/*/log/*",
        "frame/*/particles/position",
    ]);
    let wanted = ["log.md.energy.npy", "log.particles.f.npy", "particles.position.npy"];
    assert_eq!(names(Path::new(&dir)), wanted.map(str::to_owned).into());
    assert_eq!(Npy::read(&Path::new(&dir).join(wanted[2])).shape, [2, 4, 3]);
    let whole = out.path("frames");
    output(&["extract", "--frames", "1..", &file, &whole]);
    check(&file, &whole, 1..3);

    let new = out.path("new");
    let refuse = |more: &[&str], status, says| {
        refused(&[&["extract", &file, &new], more].concat(), status, says);
    };
    refuse(&["frame/*/position"], 1, "frame/*/position: nothing has such an address");
    refuse(&["--frames", "1..4"], 2, "there is no frame 3, frames are 0 to 2");
    let set = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/sion/s01_one_task.sion");
    refused(
        &["extract", set, &new, "--frames", "1.."],
        2,
        "is a SIONlib file; --frames is for GSD files",
    );
    assert!(!Path::new(&new).exists());
}

#[test]
fn extract_overwrites_only_when_forced() {
    let file = path_of("v21_sparse_chunks");
    for name in ["every.npy", "third@00009.npy"] {
        let out = Folder::new();
        let dir = out.path("");
        fs::write(out.path(name), b"mine").unwrap();
        refused(&["extract", &file, &dir], 2, "exists already");
        assert_eq!(names(Path::new(&dir)), [name.to_owned()].into());
        assert_eq!(fs::read(out.path(name)).unwrap(), b"mine");
        output(&["extract", "--force", &file, &dir]);
        check(&file, &dir, 0..12);
    }
}

#[test]
fn a_failed_extract_leaves_nothing_behind() {
    for (name, says) in [
        ("bad_entry3_type_12", "index.kind at offset 382 is 12"),
        ("bad_entry4_frame_decreases", "index.frame at offset 384 is"),
        ("bad_trunc_in_index", "namelist_location at offset 24 is 4352"),
    ] {
        let out = Folder::new();
        let new = out.path("new");
        refused(&["extract", &path_of(name), &new], 1, says);
        assert!(!Path::new(&new).exists());
        fs::write(out.path("a.npy"), b"mine").unwrap();
        refused(&["extract", "--force", &path_of(name), &out.path("")], 1, says);
        assert_eq!(names(out.0.path()), ["a.npy".to_owned()].into());
        assert_eq!(fs::read(out.path("a.npy")).unwrap(), b"mine");
    }
}

#[test]
fn of_several_chunks_of_one_name_in_a_frame_that_is_taken_which_is_found() {
    let out = Folder::new();
    // slot 1 of a frame of layer 1 gets the id of slot 0, and the other way round
    for (number, slot) in [0, 1].into_iter().enumerate() {
        let bytes = fs::read(path_of("v10_unsorted_ids")).unwrap();
        let id = 256 + 32 * (1 - slot) + 28;
        let file = out.patched("v10_unsorted_ids", 256 + 32 * slot + 28, &bytes[id..id + 2]);
        let dir = out.path(&format!("v1_{number}"));
        output(&["extract", &file, &dir]);
        check(&file, &dir, 0..6);
    }
    let file = path_of("bad_dup_frame_id");
    let dir = out.path("v2");
    output(&["extract", &file, &dir]);
    check(&file, &dir, 0..3);
    // Two ids of one name: both are extracted.
    let dir = out.path("names");
    output(&["extract", &path_of("bad_dup_names"), &dir]);
    assert_eq!(names(Path::new(&dir)), ["a.npy", "a~1.npy", "c.npy"].map(str::to_owned).into());
}

#[test]
fn long_chunks_are_copied_with_their_holes() {
    const BLOCK: u64 = 4096;
    let out = Folder::new();
    let path = out.path("long.gsd");
    let mut writer = Builder::new().durability(Durability::None).create(&path).unwrap();
    let long: Vec<u64> = (0..40_000).collect(); // 320 KB
    for frame in 0..3u64 {
        writer.write("long", &long[usize::try_from(frame).unwrap()..][..39_000], 3).unwrap();
        writer.write("short", &[frame, 1, 2], 1).unwrap();
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    let dir = out.path("new");
    output(&["extract", &path, &dir]);
    check(&path, &dir, 0..3);

    let chunk = File::open(&path).unwrap().chunk(2, "long").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    rustix::fs::fallocate(&file, punch, chunk.span.offset(), chunk.span.len()).unwrap();
    let dir = out.path("holes");
    output(&["extract", "--frames", "2..", &path, &dir, "frame/*/long"]);
    check_holes(&Path::new(&dir).join("long.npy"), chunk.span.len(), BLOCK);
}

/// That a file of zeros behind its header has them as a hole.
fn check_holes(path: &Path, len: u64, block: u64) {
    fs::File::open(path).unwrap().sync_all().unwrap(); // blocks have a place now
    let array = Npy::read(path);
    assert_eq!(array.bytes, vec![0; usize::try_from(len).unwrap()]);
    assert!(fs::metadata(path).unwrap().blocks() * 512 <= 4 * block);
}

/// The values of an array.
fn values(array: &Npy) -> Vec<f64> {
    macro_rules! read {
        ($T:ty) => {{
            let values = array.bytes.chunks(size_of::<$T>());
            let values = values.map(|bytes| <$T>::from_le_bytes(bytes.try_into().unwrap()));
            values.map(f64::from).collect()
        }};
    }
    match array.descr.as_str() {
        "|u1" => read!(u8),
        "<u4" => read!(u32),
        "<i4" => read!(i32),
        "<u8" => array.numbers().into_iter().map(|step| step as f64).collect(),
        "<f4" => read!(f32),
        "<f8" => read!(f64),
        other => panic!("{other}"),
    }
}

/// What gsd's reader finds for each frame of 5 trajectories, with frame 0's values and defaults, is
/// in the arrays: more than 150 of them, of which the frames themselves have less than half.
#[test]
fn hoomd_gives_each_frame_what_gsds_reader_finds() {
    let golden: Value =
        serde_json::from_slice(&fs::read(golden_dir().join("hoomd.json")).unwrap()).unwrap();
    let (mut compared, mut own) = (0, 0);
    for (name, file) in golden.as_object().unwrap() {
        let path = path_of(name.strip_suffix(".gsd").unwrap());
        let frames = file["frames"].as_array().unwrap();
        let (all, few) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let [all, few] = [&all, &few].map(|dir| dir.path());
        output(&["extract", "--hoomd", &path, all.to_str().unwrap()]);
        output(&["extract", &path, few.to_str().unwrap()]);
        let [all, few] = [all, few].map(|dir| arrays(dir, 0..frames.len() as u64));
        assert!(few.keys().all(|key| all.contains_key(key)), "{name}: more, and nothing less");
        let fields = all.keys().filter_map(|(_, stem)| stem.split_once('.'));
        let fields = fields.filter(|(_, field)| !["types", "type_shapes"].contains(field)); // text
        for (group, field) in fields.collect::<BTreeSet<_>>() {
            for (number, frame) in (0..).zip(frames) {
                let expected = match &frame[group][field] {
                    Value::Object(typed) => typed["values"].clone(),
                    Value::Number(one) => json!([one]),
                    list => list.clone(),
                };
                let is_number =
                    |one: &Value| one.as_str().is_none_or(|it| it.parse::<f64>().is_ok());
                let Some(expected) = expected.as_array().filter(|all| all.iter().all(is_number))
                else {
                    continue; // null: gsd's reader has no such field
                };
                let key = (number, format!("{group}.{field}"));
                let found = values(&all[&key]);
                let parsed = expected.iter().map(|one| match one.as_str() {
                    Some(text) => text.parse().unwrap(),
                    None => one.as_f64().unwrap(),
                });
                assert_eq!(found, parsed.collect::<Vec<f64>>(), "{name}: {key:?}");
                compared += 1;
                own += u32::from(few.contains_key(&key));
            }
        }
    }
    assert!(compared > 150 && own < compared / 2, "{own} of {compared}");
}
