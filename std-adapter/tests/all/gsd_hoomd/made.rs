//! Trajectories of any chunks, also such as no program writes but all must read alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use striae::gsd::hoomd::schema::{FIELDS, Field, Group, Kind, Rows};
use striae::gsd::hoomd::{Floats, Quantity};
use striae::gsd::{Builder, Durability, File};
use striae_core::gsd::{ChunkType, Version};
use striae_kit::adapter::Random;

/// Type, columns, bytes.
type Values = (ChunkType, u32, Vec<u8>);

fn one_in(random: &mut Random, count: u64) -> bool {
    random.below(count) == 0
}

/// What is to be in a file.
#[derive(Debug, Clone)]
pub(crate) struct Trajectory {
    pub(crate) schema_version: Version,
    layer: Version,
    checksums: bool,
    frames: Vec<BTreeMap<String, Values>>,
}

impl Default for Trajectory {
    fn default() -> Self {
        Self {
            schema_version: Version { major: 1, minor: 4 },
            layer: Version::LAYER,
            checksums: false,
            frames: Vec::new(),
        }
    }
}

/// Names of logged quantities, of state, and such as the schema does not know.
const OTHERS: [&str; 8] = [
    "log/energy",
    "log/particles/force",
    "log/never",
    "state/other",
    "state/mine",
    "mine/author",
    "configuration/mine",
    "particles/mine",
];

impl Trajectory {
    pub(crate) fn chunk(&mut self, frame: u64, name: &str, kind: ChunkType, m: u32, bytes: &[u8]) {
        let frame = frame as usize;
        self.frames.resize_with(self.frames.len().max(frame + 1), BTreeMap::new);
        self.frames[frame].insert(name.into(), (kind, m, bytes.to_vec()));
    }

    /// Frames that have any chunks of the schema, of all types that it allows, and others.
    pub(crate) fn random(random: &mut Random) -> Self {
        let is_old = one_in(random, 4);
        let schema_version = match one_in(random, 2) {
            true => Version { major: 1, minor: 4 },
            false => Version { major: 2, minor: 0 },
        };
        let layer = if is_old { Version { major: 1, minor: 0 } } else { Version::LAYER };
        let mut made =
            Self { schema_version, layer, checksums: one_in(random, 3), ..Self::default() };
        let len = 1 + random.below(6);
        let mut first = BTreeMap::new();
        for number in 0..len {
            let frame = made.frame(random, number, &first);
            if number == 0 {
                first = frame.clone();
            }
            made.frames.push(frame);
        }
        // A frame without chunks at the end of a file is none.
        made.chunk(len - 1, "configuration/step", ChunkType::U64, 1, &len.to_le_bytes());
        made
    }

    /// With checksums, or without.
    pub(crate) fn sealed(mut self, checksums: bool) -> Self {
        self.checksums = checksums;
        self
    }

    fn frame(
        &self,
        random: &mut Random,
        number: u64,
        first: &BTreeMap<String, Values>,
    ) -> BTreeMap<String, Values> {
        let mut frame = BTreeMap::new();
        if one_in(random, 6) {
            return frame;
        }
        let dense = 2 + random.below(4);
        let mut members = BTreeMap::new();
        for group in Group::ALL {
            let name = group.count().name;
            if one_in(random, 3) {
                let n = [0_u32, 1, 3][random.index(3)];
                frame.insert(name.to_owned(), (ChunkType::U32, 1, n.to_le_bytes().to_vec()));
            }
            let n = frame.get(name).or_else(|| first.get(name));
            members.insert(name, n.map_or(0, |(_, _, bytes)| u64::from(bytes[0])));
        }
        for field in FIELDS {
            if field.until.is_none() && !field.name.ends_with("/N") && one_in(random, dense) {
                let n = match field.rows {
                    Rows::Each(group) => members[group.count().name],
                    Rows::Fixed(n) => n,
                    _ => 1 + random.below(3),
                };
                frame.insert(field.name.to_owned(), values(random, field, n));
            }
        }
        for name in OTHERS {
            let is_log = name.starts_with("log/");
            let is_valid = !is_log || number == 0 || first.contains_key(name);
            if is_valid && one_in(random, if is_log { 2 } else { 3 }) {
                let n = if name == "particles/mine" { members["particles/N"] } else { 2 };
                let bytes: Vec<u8> = (0..8 * n).map(|_| random.below(256) as u8).collect();
                frame.insert(name.to_owned(), (ChunkType::I64, 1, bytes));
            }
        }
        frame
    }

    /// Gives a chunk of the schema another type or shape, or another text.
    pub(crate) fn spoil(&mut self, random: &mut Random) {
        let frame = random.index(self.frames.len());
        let chunks = self.frames[frame].iter_mut().filter(|(name, _)| {
            FIELDS.iter().any(|field| field.name == *name && field.until.is_none())
        });
        let mut chunks: Vec<_> = chunks.collect();
        if chunks.is_empty() {
            return;
        }
        let index = random.index(chunks.len());
        let (kind, m, bytes) = &mut *chunks[index].1;
        match random.below(4) {
            0 => bytes.extend(vec![0; *m as usize * kind.size().get() as usize]), // a row more
            1 if !bytes.is_empty() => bytes[0] = 0xff,
            2 => *m = bytes.len().max(1) as u32 / kind.size().get() as u32, // one row
            _ => *kind = [ChunkType::I8, ChunkType::U64][random.index(2)],
        }
        let row = (*m as usize).max(1) * kind.size().get() as usize;
        *m = (*m).max(1);
        bytes.resize(bytes.len() / row * row, 0);
    }

    pub(crate) fn write(&self, path: &Path) {
        let _ = fs::remove_file(path);
        let builder = Builder::new().schema("hoomd", self.schema_version).layer(self.layer);
        let builder = builder.checksums(self.checksums).durability(Durability::None);
        let mut writer = builder.create(path).unwrap();
        for frame in &self.frames {
            for (name, (kind, m, bytes)) in frame {
                writer.write_bytes(name, *kind, *m, bytes).unwrap();
            }
            writer.end_frame().unwrap();
        }
        writer.close().unwrap();
    }
}

/// `n` rows of a field.
fn values(random: &mut Random, field: &Field, n: u64) -> Values {
    let types = field.kind.types();
    let kind = types[random.index(types.len())];
    let width = match field.columns {
        Some(columns) => columns,
        None => 2 + random.below(3) as u32,
    };
    let bytes = match field.kind {
        Kind::Text => (0..n)
            .flat_map(|row| [&[b'a' + row as u8][..], &vec![0; width as usize - 1]].concat())
            .collect(),
        _ => {
            let small = || [0_u8, 1, 2][random.index(3)];
            numbers(kind, n * u64::from(width), small)
        }
    };
    (kind, width, bytes)
}

fn numbers(kind: ChunkType, count: u64, mut small: impl FnMut() -> u8) -> Vec<u8> {
    let one = |value: u8| match kind {
        ChunkType::F32 => f32::from(value).to_le_bytes().to_vec(),
        ChunkType::F64 => f64::from(value).to_le_bytes().to_vec(),
        _ => {
            let mut bytes = u64::from(value).to_le_bytes().to_vec();
            bytes.truncate(kind.size().get() as usize);
            bytes
        }
    };
    (0..count).flat_map(|_| one(small())).collect()
}

/// All that readers see of a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// What the schema knows, in words; values of no members are all alike.
    known: String,
    /// What it does not know, by name.
    mine: Vec<Option<(ChunkType, Vec<u8>)>>,
}

impl Seen {
    /// Whether this is as good as another one. What a frame does not have, and the schema does not
    /// know, it may have: that it has not is nothing that a chunk could say.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        let mut mine = self.mine.iter().zip(&other.mine);
        self.known == other.known && mine.all(|(has, had)| had.is_none() || has == had)
    }

    /// What is seen of a frame.
    pub(crate) fn of(frame: &striae::gsd::hoomd::Frame<'_>) -> Self {
        let file = frame.trajectory().file();
        let mut data = frame.read().unwrap();
        data.log.sort_by(|a, b| a.0.cmp(&b.0));
        let particles = &mut data.particles;
        for floats in [
            &mut particles.mass,
            &mut particles.charge,
            &mut particles.diameter,
            &mut particles.moment_inertia,
            &mut particles.position,
            &mut particles.orientation,
            &mut particles.velocity,
            &mut particles.angmom,
            &mut data.constraints.value,
        ] {
            if floats.as_ref().is_some_and(Floats::is_empty) {
                *floats = None;
            }
        }
        let mut others: BTreeMap<String, Quantity> = BTreeMap::new();
        for name in frame.state_names().unwrap() {
            let name = name.to_string();
            others.insert(format!("state/{name}"), frame.state(&name).unwrap().unwrap());
        }
        let is_mine = |name: &&&str| !name.starts_with("log/") && !name.starts_with("state/");
        let mine = OTHERS.iter().filter(is_mine).map(|name| mine(file, frame, name)).collect();
        Self { known: format!("{data:?} {others:?}"), mine }
    }
}

/// All frames of a file.
pub(crate) fn frames_of(path: &Path) -> Vec<Seen> {
    let trajectory = striae::gsd::hoomd::Trajectory::open(path).unwrap();
    trajectory.frames(..).map(|frame| Seen::of(&frame.unwrap())).collect()
}

/// What a reader finds of a name that the schema does not know: as it does with those that it
/// knows.
fn mine(
    file: &File,
    frame: &striae::gsd::hoomd::Frame<'_>,
    name: &str,
) -> Option<(ChunkType, Vec<u8>)> {
    let chunk = match file.find(frame.number(), name).unwrap() {
        Some(chunk) => chunk,
        None => file.find(0, name).unwrap()?,
    };
    let n = u64::from(frame.particles().n().unwrap());
    let is_alike = !name.starts_with("particles/") || chunk.n == n;
    (is_alike && chunk.n > 0).then(|| (chunk.kind, file.read_bytes(&chunk).unwrap()))
}
