//! A plain reading of trajectories: `spec/gsd-hoomd.md#values`, value by value, from the list of
//! all chunks. It shares the table of the chunks with striae, and no way to find or read one.

use striae_core::gsd::{Chunk, ChunkType};
use striae_hoomd::schema::{FIELDS, Field, Group, Initial, Kind, Rows};
use striae_hoomd::{BondData, Floats, FrameData, Quantity, Values};

/// Values of a chunk, as bits that are the same for numbers of 32 and 64 bits that are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plain {
    /// Numbers; those with a sign and floats widened.
    Bits(Vec<u64>),
    /// Texts of a row each.
    Texts(Vec<String>),
}

/// A trajectory whose index is in order.
#[derive(Debug)]
pub struct PlainTrajectory<'a> {
    /// The file.
    pub bytes: &'a [u8],
    /// Names by id.
    pub names: Vec<&'a [u8]>,
    /// Chunks in the order of the index.
    pub chunks: Vec<Chunk>,
    /// Whether the last of equal chunks counts, as in layer 1.
    pub is_last: bool,
}

impl PlainTrajectory<'_> {
    /// The chunk of a name that a frame itself has.
    #[must_use]
    pub fn own(&self, frame: u64, name: &[u8]) -> Option<&Chunk> {
        let id = self.names.iter().position(|other| *other == name)?;
        let mut same =
            self.chunks.iter().filter(|it| it.frame == frame && usize::from(it.id) == id);
        if self.is_last { same.next_back() } else { same.next() }
    }

    fn members(&self, frame: u64, group: Group) -> u64 {
        let name = group.count().name.as_bytes();
        let chunk = self.own(frame, name).or_else(|| self.own(0, name));
        chunk.map_or(0, |chunk| match self.numbers(chunk)[..] {
            [n] => n,
            _ => panic!("{chunk:?}"),
        })
    }

    /// The chunk that a frame takes its values from, if not the default.
    fn source(&self, frame: u64, field: &Field) -> Option<&Chunk> {
        let is_alike = match field.rows {
            Rows::Each(group) => self.members(frame, group) == self.members(0, group),
            _ => true,
        };
        let name = field.name.as_bytes();
        self.own(frame, name).or_else(|| self.own(0, name).filter(|_| is_alike))
    }

    /// What a reader must see of a field in a frame.
    #[must_use]
    pub fn value(&self, frame: u64, field: &Field) -> Plain {
        let chunk = self.source(frame, field);
        if field.kind == Kind::Text {
            return Plain::Texts(match (chunk, field.default) {
                (Some(chunk), _) => self.texts(chunk),
                (None, Initial::Texts(texts)) => texts.iter().map(|text| (*text).into()).collect(),
                (None, other) => panic!("{other:?}"),
            });
        }
        let mut bits = match (chunk, field.default) {
            (Some(chunk), _) => self.numbers(chunk),
            (None, Initial::Values(row)) => {
                let times = match field.rows {
                    Rows::Each(group) => self.members(frame, group),
                    _ => 1,
                };
                let row: Vec<_> = row.iter().map(|&value| default_bits(field, value)).collect();
                row.repeat(usize::try_from(times).unwrap())
            }
            (None, other) => panic!("{other:?}"),
        };
        if field.kind == Kind::Tag {
            bits.iter_mut().for_each(|tag| *tag &= u64::from(u32::MAX));
        }
        Plain::Bits(bits)
    }

    /// The bytes of a chunk.
    #[must_use]
    pub fn bytes(&self, chunk: &Chunk) -> &[u8] {
        let [start, end] =
            [chunk.span.offset(), chunk.span.end()].map(|at| usize::try_from(at).unwrap());
        &self.bytes[start..end]
    }

    fn texts(&self, chunk: &Chunk) -> Vec<String> {
        let rows = self.bytes(chunk).chunks(usize::try_from(chunk.m).unwrap());
        let text = |row: &[u8]| row.split(|&byte| byte == 0).next().unwrap().to_vec();
        rows.map(|row| String::from_utf8(text(row)).unwrap()).collect()
    }

    /// The numbers of a chunk.
    #[must_use]
    pub fn numbers(&self, chunk: &Chunk) -> Vec<u64> {
        let size = usize::try_from(chunk.kind.size().get()).unwrap();
        self.bytes(chunk).chunks(size).map(|bytes| number_bits(chunk.kind, bytes)).collect()
    }
}

fn default_bits(field: &Field, value: i8) -> u64 {
    match field.kind {
        Kind::Float | Kind::F64 => f64::from(value).to_bits(),
        _ => i64::from(value).cast_unsigned(),
    }
}

fn number_bits(kind: ChunkType, bytes: &[u8]) -> u64 {
    let mut wide = [0; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let value = u64::from_le_bytes(wide);
    let unused = u32::try_from(64 - 8 * bytes.len()).unwrap();
    match kind {
        ChunkType::I8 | ChunkType::I16 | ChunkType::I32 | ChunkType::I64 => {
            (value.cast_signed() << unused >> unused).cast_unsigned()
        }
        ChunkType::F32 => f32_bits(f32::from_bits(u32::try_from(value).unwrap())),
        _ => value,
    }
}

fn f32_bits(value: f32) -> u64 {
    f64::from(value).to_bits()
}

// ---- what striae read ----

fn of_floats(floats: &Option<Floats>) -> Plain {
    Plain::Bits(match floats.as_ref().unwrap() {
        Floats::F32(values) => values.iter().map(|&value| f32_bits(value)).collect(),
        Floats::F64(values) => values.iter().map(|value| value.to_bits()).collect(),
    })
}

fn of_u32(values: &Option<Vec<u32>>) -> Plain {
    Plain::Bits(values.as_ref().unwrap().iter().map(|&value| value.into()).collect())
}

fn of_i32(values: &Option<Vec<i32>>) -> Plain {
    let values = values.as_ref().unwrap().iter();
    Plain::Bits(values.map(|&value| i64::from(value).cast_unsigned()).collect())
}

fn of_texts(texts: &Option<Vec<String>>) -> Plain {
    Plain::Texts(texts.clone().unwrap())
}

fn bonds(group: &str, of: &BondData) -> [(String, Plain); 4] {
    [
        (format!("{group}/N"), Plain::Bits(vec![of.n.into()])),
        (format!("{group}/types"), of_texts(&of.types)),
        (format!("{group}/typeid"), of_u32(&of.typeid)),
        (format!("{group}/group"), of_u32(&of.group)),
    ]
}

/// All values of a frame that was read, by the names of their chunks; without logged quantities.
#[must_use]
pub fn values(data: &FrameData) -> Vec<(String, Plain)> {
    let FrameData { configuration, particles, constraints, .. } = data;
    let lengths = configuration.box_.unwrap().map(f64::to_bits);
    let mut all = vec![
        ("configuration/step".into(), Plain::Bits(vec![configuration.step.unwrap()])),
        ("configuration/box".into(), Plain::Bits(lengths.into())),
        ("particles/types".into(), of_texts(&particles.types)),
        ("particles/type_shapes".into(), of_texts(&particles.type_shapes)),
        ("particles/typeid".into(), of_u32(&particles.typeid)),
        ("particles/body".into(), of_i32(&particles.body)),
        ("particles/image".into(), of_i32(&particles.image)),
        ("constraints/value".into(), of_floats(&constraints.value)),
        ("constraints/group".into(), of_u32(&constraints.group)),
    ];
    let numbers = [
        ("configuration/dimensions", configuration.dimensions.unwrap().into()),
        ("particles/N", particles.n.into()),
        ("constraints/N", constraints.n.into()),
    ];
    all.extend(numbers.map(|(name, value)| (name.into(), Plain::Bits(vec![value]))));
    let floats = [
        ("mass", &particles.mass),
        ("charge", &particles.charge),
        ("diameter", &particles.diameter),
        ("moment_inertia", &particles.moment_inertia),
        ("position", &particles.position),
        ("orientation", &particles.orientation),
        ("velocity", &particles.velocity),
        ("angmom", &particles.angmom),
    ];
    all.extend(floats.map(|(name, values)| (format!("particles/{name}"), of_floats(values))));
    for (group, of) in [
        ("bonds", &data.bonds),
        ("angles", &data.angles),
        ("dihedrals", &data.dihedrals),
        ("impropers", &data.impropers),
        ("pairs", &data.pairs),
    ] {
        all.extend(bonds(group, of));
    }
    all
}

/// The values of a quantity.
#[must_use]
pub fn quantity(quantity: &Quantity) -> Plain {
    macro_rules! bits {
        ($values:expr, $value:ident, $bits:expr) => {
            Plain::Bits($values.iter().map(|&$value| $bits).collect())
        };
    }
    match &quantity.values {
        Values::U8(values) => bits!(values, value, value.into()),
        Values::U16(values) => bits!(values, value, value.into()),
        Values::U32(values) => bits!(values, value, value.into()),
        Values::U64(values) => bits!(values, value, value),
        Values::I8(values) => bits!(values, value, i64::from(value).cast_unsigned()),
        Values::I16(values) => bits!(values, value, i64::from(value).cast_unsigned()),
        Values::I32(values) => bits!(values, value, i64::from(value).cast_unsigned()),
        Values::I64(values) => bits!(values, value, value.cast_unsigned()),
        Values::F32(values) => bits!(values, value, f32_bits(value)),
        Values::F64(values) => bits!(values, value, value.to_bits()),
        Values::Text(texts) => Plain::Texts(texts.clone()),
    }
}

/// The chunk of the schema of this name.
#[must_use]
pub fn field(name: &str) -> &'static Field {
    FIELDS.iter().find(|field| field.name == name).unwrap()
}
