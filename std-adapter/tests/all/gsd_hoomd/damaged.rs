//! Files that are not as the schema wants them.

use super::golden::{expected, open};
use super::golden_dir;
use crate::run::refused;
use serde_json::from_slice;
use std::fs;
use striae::error::ErrorKind;
use striae::gsd::Builder;
use striae::gsd::ErrorKind::Hoomd;
use striae::gsd::hoomd::schema::{FIELDS, Field};
use striae::gsd::hoomd::{Error, Frame, Trajectory, Values};
use striae_core::gsd::{ChunkType, Label, Version};
use tempfile::TempDir;

/// A golden file that is changed.
struct Copy {
    folder: TempDir,
    bytes: Vec<u8>,
}

/// What an entry of the index says.
#[derive(Debug, Clone)]
struct Entry {
    /// Where it is.
    at: usize,
    frame: u64,
    name: String,
    n: u64,
    m: u32,
    kind: u8,
}

impl Copy {
    fn of(name: &str) -> Self {
        let bytes = fs::read(golden_dir().join(name)).unwrap();
        Self { folder: crate::in_memory(), bytes }
    }

    fn u64(&self, at: usize) -> u64 {
        u64::from_le_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn open(&self) -> Result<Trajectory, striae::Error> {
        let path = self.folder.path().join("copy.gsd");
        fs::write(&path, &self.bytes).unwrap();
        Trajectory::open(path)
    }

    fn entries(&self) -> Vec<Entry> {
        let names = &self.bytes[self.u64(24) as usize..];
        let names: Vec<_> =
            names.split(|&byte| byte == 0).take_while(|name| !name.is_empty()).collect();
        let mut entries = Vec::new();
        for at in (self.u64(8) as usize..).step_by(32) {
            if self.u64(at + 16) == 0 {
                return entries;
            }
            let word = |at| u32::from_le_bytes(self.bytes[at..at + 4].try_into().unwrap());
            let id = (word(at + 28) & 0xFFFF) as usize;
            entries.push(Entry {
                at,
                frame: self.u64(at),
                name: String::from_utf8(names[id].to_vec()).unwrap(),
                n: self.u64(at + 8),
                m: word(at + 24),
                kind: self.bytes[at + 30],
            });
        }
        entries
    }

    fn entry(&self, frame: u64, name: &str) -> Entry {
        self.entries().into_iter().find(|entry| entry.frame == frame && entry.name == name).unwrap()
    }
}

fn field(name: &str) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name == name)
}

fn hoomd(error: &striae::Error) -> Error {
    let ErrorKind::Gsd(Hoomd(error)) = error.kind() else { panic!("{error}") };
    error.clone()
}

/// All of a frame, state too.
fn read(frame: &Frame<'_>) -> Result<(), striae::Error> {
    for name in frame.state_names()? {
        frame.state(name.0)?;
    }
    frame.read().map(drop)
}

#[test]
fn a_file_of_another_schema_is_refused() {
    for (schema, is_hoomd) in [("hoomd", true), ("hoomd2", false), ("hoom", false), ("", false)] {
        let mut copy = Copy::of("v20_hoomd14.gsd");
        copy.put(112, &[0; 64]);
        copy.put(112, schema.as_bytes());
        match copy.open() {
            Ok(_) => assert!(is_hoomd),
            Err(error) => {
                assert!(!is_hoomd);
                assert_eq!(hoomd(&error), Error::Schema { schema: Label::new(schema).unwrap() });
                let says = format!("header.schema is \"{schema}\", must be \"hoomd\"");
                assert!(error.to_string().ends_with(&says), "{error}");
            }
        }
    }
}

/// gsd 5.0.1: `version < (3, 0) and version >= (1, 0)`.
#[test]
fn a_version_that_gsd_does_not_read_is_refused() {
    for (version, is_read) in [
        ([0, 0], false),
        ([0, 9], false),
        ([1, 0], true),
        ([1, 1], true),
        ([1, 4], true),
        ([1, 5], true),
        ([2, 0], true),
        ([2, 1], true),
        ([3, 0], false),
        ([65535, 65535], false),
    ] {
        let [major, minor]: [u16; 2] = version;
        let mut copy = Copy::of("v20_hoomd14.gsd");
        copy.put(40, &[minor.to_le_bytes(), major.to_le_bytes()].concat());
        match copy.open() {
            Ok(trajectory) => {
                assert!(is_read);
                assert_eq!(trajectory.schema_version(), Version { major, minor });
            }
            Err(error) => {
                assert!(!is_read);
                assert_eq!(hoomd(&error), Error::Version { version: Version { major, minor } });
            }
        }
    }
}

#[test]
fn a_chunk_of_a_wrong_type_is_named_by_every_frame_that_needs_it_and_by_no_other() {
    for (name, _) in expected() {
        let copy = Copy::of(&name);
        for entry in copy.entries() {
            let Some(field) = field(&entry.name) else { continue };
            let right = field.kind.types();
            assert!(right.iter().any(|kind| kind.number() == entry.kind), "{entry:?}");
            // A type as long as the right one, so that the chunk stays in the file.
            let old = ChunkType::from_number(entry.kind).unwrap();
            for found in ChunkType::ALL.into_iter().filter(|kind| kind.size() == old.size()) {
                let mut copy = Copy { folder: crate::in_memory(), bytes: copy.bytes.clone() };
                copy.put(entry.at + 30, &[found.number()]);
                let trajectory = copy.open().unwrap();
                let want = if right.contains(&found) {
                    None
                } else {
                    let name = entry.name.as_bytes().into();
                    Some(Error::Type { name, frame: entry.frame, found, want: right })
                };
                let own = trajectory.frame(entry.frame).unwrap();
                assert_eq!(read(&own).err().map(|error| hoomd(&error)), want);
                for frame in trajectory.frames(..).map(Result::unwrap) {
                    let error = read(&frame).err().map(|error| hoomd(&error));
                    assert!(error.is_none() || error == want, "{error:?} {want:?}");
                    assert!(error.is_none() || entry.frame == 0 || frame.number() == entry.frame);
                }
            }
        }
    }
}

#[test]
fn a_chunk_of_a_wrong_shape_is_named_with_the_right_one() {
    for (name, _) in expected() {
        let copy = Copy::of(&name);
        for entry in copy.entries() {
            let Some(field) = field(&entry.name) else { continue };
            let Some(columns) = field.columns else { continue };
            // A row less, a row for each value, all values in a row.
            let values = entry.n * u64::from(entry.m);
            let shapes = [(entry.n.saturating_sub(1), entry.m), (values, 1), (1, values as u32)];
            for found in
                shapes.into_iter().filter(|found| *found != (entry.n, entry.m) && found.1 > 0)
            {
                let mut copy = Copy { folder: crate::in_memory(), bytes: copy.bytes.clone() };
                copy.put(entry.at + 8, &found.0.to_le_bytes());
                copy.put(entry.at + 24, &found.1.to_le_bytes());
                let trajectory = copy.open().unwrap();
                let result = read(&trajectory.frame(entry.frame).unwrap());
                let is_free = entry.name.starts_with("state/hpmc/sphere") && found.1 == columns;
                if is_free {
                    // As many rows as there are types, which a reader takes as they are.
                    result.unwrap();
                    continue;
                }
                let error = result.unwrap_err();
                let Error::Shape { name, frame, found: shape, want } = hoomd(&error) else {
                    panic!("{error}")
                };
                assert_eq!((&*name, frame, shape), (entry.name.as_bytes(), entry.frame, found));
                assert_eq!(want.1, Some(columns));
                assert!(want.0.is_none_or(|n| n == entry.n), "{want:?} {entry:?}");
            }
        }
    }
}

#[test]
fn n_that_is_not_that_of_the_chunks_is_an_error_of_the_chunks() {
    let mut copy = Copy::of("v21_hoomd_full_single.gsd");
    let location = copy.u64(copy.entry(0, "particles/N").at + 16) as usize;
    copy.put(location, &[4]);
    let trajectory = copy.open().unwrap();
    let frame = trajectory.frame(1).unwrap();
    assert_eq!(frame.particles().n().unwrap(), 4);
    let of = |frame| Error::Shape {
        name: b"particles/position"[..].into(),
        frame,
        found: (5, 3),
        want: (Some(4), Some(3)),
    };
    let error = frame.particles().position().unwrap_err();
    assert_eq!(hoomd(&error), of(1));
    let says = "chunk particles/position of frame 1 has 5 rows of 3, must have 4 of 3";
    assert!(error.to_string().ends_with(says), "{error}");
    let first = trajectory.frame(0).unwrap();
    assert_eq!(hoomd(&first.particles().position().unwrap_err()), of(0));
    // What was not asked for does no harm.
    assert_eq!(frame.bonds().n().unwrap(), 2);
}

/// `particles/N` is the only chunk, so that nothing in the file bounds it.
#[test]
fn members_by_the_billion_without_a_place_in_the_file_are_refused() {
    for n in [1_u32 << 20, (1 << 20) + 1, u32::MAX] {
        let mut copy = Copy::of("v20_hoomd14_state.gsd");
        let location = copy.u64(copy.entry(0, "particles/N").at + 16) as usize;
        copy.put(location, &n.to_le_bytes());
        let trajectory = copy.open().unwrap();
        let frame = trajectory.frame(0).unwrap();
        assert_eq!(frame.particles().n().unwrap(), n);
        let typeid = frame.particles().typeid();
        if n > 1 << 20 {
            let (name, value) = (b"particles/N"[..].into(), u64::from(n));
            let members = Error::Members { name, frame: 0, value, max: 1 << 20 };
            assert_eq!(hoomd(&typeid.unwrap_err()), members);
        } else {
            assert_eq!(typeid.unwrap(), vec![0; n as usize]);
        }
    }
}

#[test]
fn frames_by_the_billion_are_read_one_by_one_but_are_no_series() {
    let mut copy = Copy::of("v21_hoomd_full_single.gsd");
    let last = 1_u64 << 40;
    for entry in copy.entries().into_iter().filter(|entry| entry.frame == 2) {
        copy.put(entry.at, &last.to_le_bytes());
    }
    let trajectory = copy.open().unwrap();
    assert_eq!(trajectory.len(), last + 1);
    assert_eq!(trajectory.frame(last).unwrap().step().unwrap(), 14);
    assert_eq!(trajectory.frame(last - 1).unwrap().step().unwrap(), 0);
    let error = trajectory.logs().read().unwrap_err();
    assert_eq!(hoomd(&error), Error::Frames { frames: last + 1, max: 1 << 20 });
    let some = trajectory.logs().frames(last - 1..last + 1).matching("").read().unwrap();
    assert_eq!(some[0].quantity.values, vec![0_u64, 14].into());
}

#[test]
fn a_type_that_is_not_utf_8_is_named_with_its_row() {
    let mut copy = Copy::of("v21_hoomd_full_double.gsd");
    let types = copy.entry(0, "particles/types");
    let location = copy.u64(types.at + 16) as usize;
    let second = location + types.m as usize;
    copy.put(second + 1, &[0xff]);
    let trajectory = copy.open().unwrap();
    let error = trajectory.frame(2).unwrap().particles().types().unwrap_err();
    let name = b"particles/types"[..].into();
    assert_eq!(hoomd(&error), Error::NotText { name, frame: 0, row: 1, at: 1 });
}

/// A row without a NUL is as wide as the text; what stands behind a NUL is no part of it.
#[test]
fn a_text_ends_at_its_first_nul_or_with_its_row() {
    let mut copy = Copy::of("v20_hoomd14.gsd");
    let types = copy.entry(0, "particles/types");
    let location = copy.u64(types.at + 16) as usize;
    for (bytes, wanted) in [
        (b"A\0B\0", ["A", "B"]),
        (b"ABCD", ["AB", "CD"]),
        (b"\0BC\0", ["", "C"]),
        (b"\0\0\xc3\xa4", ["", "\u{e4}"]),
    ] {
        copy.put(location, bytes);
        assert_eq!(copy.open().unwrap().frame(1).unwrap().particles().types().unwrap(), wanted);
        copy.put(types.at + 30, &[ChunkType::U8.number()]);
        assert_eq!(copy.open().unwrap().frame(1).unwrap().particles().types().unwrap(), wanted);
    }
}

#[test]
fn a_logged_quantity_that_changes_its_type_is_no_series() {
    let mut copy = Copy::of("v20_hoomd14.gsd");
    let entry = copy.entry(2, "log/md/energy");
    copy.put(entry.at + 30, &[ChunkType::I64.number()]);
    let trajectory = copy.open().unwrap();
    let error = trajectory.logs().read().unwrap_err();
    let (name, found, want) =
        (b"log/md/energy"[..].into(), (ChunkType::I64, 1, 1), (ChunkType::F64, 1, 1));
    assert_eq!(hoomd(&error), Error::Varies { name, frame: 2, found, want });
    let says = "chunk log/md/energy of frame 2 is 1 row of 1 int64, must be 1 row of 1 float64 as \
                in frame 0";
    assert!(error.to_string().ends_with(says), "{error}");
    // The other quantities are, and so is this one before it changes.
    assert_eq!(trajectory.logs().matching("log/particles/*").read().unwrap().len(), 2);
    assert_eq!(trajectory.logs().frames(0..2).read().unwrap().len(), 3);
    assert!(open("v20_hoomd14.gsd").logs().read().is_ok());
}

/// Its first frame is not frame 0, so the spec calls it invalid; the rest is read all the same.
#[test]
fn a_logged_quantity_that_frame_0_lacks_is_none_where_it_is_not() {
    let mut copy = Copy::of("v20_hoomd14.gsd");
    let (first, own) = (copy.entry(0, "log/md/energy"), copy.entry(0, "log/particles/f"));
    let id = copy.bytes[own.at + 28];
    copy.put(first.at + 28, &[id]); // frame 0 has the other twice
    let trajectory = copy.open().unwrap();
    assert_eq!(trajectory.frame(0).unwrap().log("md/energy").unwrap(), None);
    assert_eq!(trajectory.frame(0).unwrap().log_names().unwrap().len(), 1);
    assert!(trajectory.frame(1).unwrap().log("md/energy").unwrap().is_some());
    let series = trajectory.logs().matching("log/md/*").read().unwrap();
    assert_eq!(series.len(), 1);
}

/// Whatever a file says, reading ends, and with values or an error. What stands behind the used
/// part of a block is not looked at.
#[test]
fn no_flipped_bit_leads_to_more_than_an_error() {
    let copy = Copy::of("v21_hoomd_varying_N.gsd");
    let (index, names) = (copy.u64(8) as usize, copy.u64(24) as usize);
    let used = index..index + 32 * (copy.entries().len() + 1);
    let (mut read_through, mut refused) = (0, 0);
    for at in (0..176).chain(used).chain(names..names + 128).chain(5376..copy.bytes.len()) {
        for bit in [at % 8, 7 - at % 8] {
            let mut copy = Copy { folder: crate::in_memory(), bytes: copy.bytes.clone() };
            copy.bytes[at] ^= 1 << bit;
            let read = copy.open().and_then(|trajectory| {
                for frame in trajectory.frames(..).take(5) {
                    read(&frame?)?;
                }
                trajectory.logs().read().map(drop)
            });
            match read {
                Ok(()) => read_through += 1,
                Err(_) => refused += 1,
            }
        }
    }
    assert!(read_through > 100 && refused > 100, "{read_through} {refused}");
}

/// A find takes the first of two equal chunks. So do series.
#[test]
fn of_a_chunk_that_a_frame_has_twice_all_take_the_same() {
    let mut copy = Copy { folder: crate::in_memory(), bytes: Vec::new() };
    let path = copy.folder.path().join("made.gsd");
    let schema = Version { major: 1, minor: 4 };
    let mut writer = Builder::new().schema("hoomd", schema).create(&path).unwrap();
    for frame in [0.0, 10.0] {
        writer.write("log/one", &[frame + 1.0], 1).unwrap();
        writer.write("log/two", &[frame + 2.0], 1).unwrap();
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    copy.bytes = fs::read(&path).unwrap();
    let [one, two] = ["log/one", "log/two"].map(|name| copy.entry(1, name));
    let id = copy.bytes[one.at + 28..][..2].to_vec();
    copy.put(two.at + 28, &id);

    let trajectory = copy.open().unwrap();
    let of_frame = trajectory.frame(1).unwrap().log("one").unwrap().unwrap();
    assert_eq!(of_frame.values, Values::F64(vec![11.0]));
    let series = trajectory.logs().matching("log/one").read().unwrap();
    let one = series.iter().find(|one| one.name == "log/one").unwrap();
    assert_eq!(one.quantity.values, Values::F64(vec![1.0, 11.0]));
}

/// What the file says is printed, and what is wrong with its trajectory; it is not sound.
#[test]
fn info_of_a_trajectory_that_cannot_be_read_is_no_success() {
    let folder = crate::in_memory();
    let path = folder.path().join("made.gsd");
    let schema = Version { major: 1, minor: 4 };
    let mut writer = Builder::new().schema("hoomd", schema).create(&path).unwrap();
    writer.write("particles/N", &[3.0_f32], 1).unwrap(); // must be of 32-bit integers
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let path = path.to_str().unwrap();
    let says = "particles/N";
    let text = refused(&["info", path], 1, says);
    let text = String::from_utf8(text).unwrap();
    assert!(text.contains("schema              hoomd 1.4") && text.contains(says), "{text}");
    let json: serde_json::Value = from_slice(&refused(&["info", "--json", path], 1, says)).unwrap();
    assert_eq!(json["frames"], 1);
    assert!(json["hoomd"]["error"].as_str().unwrap().contains(says), "{json}");
}
