//! Files to be damaged: those of gsd, and some that are made here, with what must be in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use striae::gsd::File;
use striae_core::gsd::{Attributes, ChunkType, Slot, Version, Writer};
use striae_kit::growing::Growing;
use striae_kit::gsd_files::golden_dir;

/// Type, rows, columns, bytes.
pub(crate) type Values = (ChunkType, u64, u32, Vec<u8>);

/// Chunks of a frame by their names, without checksums.
pub(crate) type Frame = BTreeMap<Vec<u8>, Values>;

/// What file to make.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) frames: u64,
    /// Frames of a commit.
    pub(crate) commit: u64,
    pub(crate) checksums: bool,
    pub(crate) align: u64,
    pub(crate) layer: Version,
    pub(crate) index_slots: u64,
    pub(crate) names_len: u64,
    pub(crate) shown_slots: u64,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            frames: 3,
            commit: 1,
            checksums: true,
            align: 1,
            layer: Version::LAYER,
            index_slots: 128,
            names_len: 1024,
            shown_slots: 128,
        }
    }
}

impl Shape {
    /// One of few bytes, all of whose bits can be tried.
    pub(crate) fn small() -> Self {
        Self { frames: 2, index_slots: 2, names_len: 64, shown_slots: 1, ..Self::default() }
    }
}

/// A file, and what is in it.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) bytes: Vec<u8>,
    pub(crate) frames: Vec<Frame>,
}

/// The chunks of a frame: three names, of which the last is only in every other frame.
pub(crate) fn frame_of(number: u64) -> Frame {
    let floats = |count: u64, seed: u64| -> Vec<u8> {
        (0..count).flat_map(|i| ((i + seed * 1000) as f32 * 0.5).to_le_bytes()).collect()
    };
    let mut frame = Frame::new();
    let rows = 2 + number % 3;
    frame.insert(b"position".to_vec(), (ChunkType::F32, rows, 3, floats(rows * 3, number + 1)));
    let step = (number * 100 + 7).to_le_bytes().to_vec();
    frame.insert(b"step".to_vec(), (ChunkType::U64, 1, 1, step));
    if number % 2 == 1 {
        let bytes: Vec<u8> = (0..5).map(|i| (number as u8).wrapping_mul(31) ^ i).collect();
        frame.insert(b"tag".to_vec(), (ChunkType::U8, 5, 1, bytes));
    }
    frame
}

impl Made {
    pub(crate) fn new(shape: Shape) -> Self {
        let attributes = Attributes {
            application: "test",
            schema: "probe",
            schema_version: Version { major: 1, minor: 2 },
            layer: shape.layer,
            align: shape.align,
            checksums: shape.checksums,
            one_sync: false,
            index_slots: shape.index_slots,
            names_len: shape.names_len,
            shown_slots: shape.shown_slots,
        };
        let mut writer =
            Writer::create(Growing::default(), &attributes, [Slot::EMPTY; 16]).unwrap();
        let frames: Vec<Frame> = (0..shape.frames).map(frame_of).collect();
        for (number, frame) in (1..).zip(&frames) {
            write_frame(&mut writer, frame);
            if number % shape.commit == 0 {
                writer.commit().unwrap();
            }
        }
        writer.close().unwrap();
        Self { bytes: writer.into_store().0, frames }
    }
}

pub(crate) fn write_frame(writer: &mut Writer<Growing, [Slot; 16]>, frame: &Frame) {
    for (name, (kind, _, m, bytes)) in frame {
        let id = writer.name(name).unwrap();
        writer.write_chunk(id, *kind, *m, bytes).unwrap();
    }
    writer.end_frame().unwrap();
}

/// All frames of a file, without checksums; an error in words.
pub(crate) fn frames_of(path: &Path) -> Result<Vec<Frame>, String> {
    let file = File::open(path).map_err(|error| error.to_string())?;
    let mut frames = vec![Frame::new(); file.frames() as usize];
    for chunk in file.chunks() {
        let chunk = chunk.map_err(|error| error.to_string())?;
        let name = file.name(&chunk).map_err(|error| error.to_string())?.as_bytes().to_vec();
        if name == striae_core::gsd::checksums::NAME {
            continue;
        }
        let bytes = file.read_bytes(&chunk).map_err(|error| error.to_string())?;
        let frame = frames.get_mut(chunk.frame as usize).ok_or("a frame behind the last")?;
        frame.insert(name, (chunk.kind, chunk.n, chunk.m, bytes));
    }
    Ok(frames)
}

/// Golden files whose names start with `prefix`.
pub(crate) fn golden_files(prefix: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().path());
    let is_wanted = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(prefix) && name.ends_with(".gsd")
    };
    let mut paths: Vec<_> = paths.filter(is_wanted).collect();
    paths.sort();
    assert!(!paths.is_empty(), "golden files are missing");
    paths
}
