//! The chunks of the schema: names, types, shapes, defaults (`spec/gsd-hoomd.md#chunks`).

use striae_core::gsd::{ChunkType, Version};

/// The schema name in the header of a file.
pub const NAME: &str = "hoomd";

/// The schema version of new files, unless programs that know only 1.x must read them.
pub const VERSION: Version = version(2, 0);

/// The last version of 1.x, which all readers of the schema know.
pub const VERSION_1: Version = version(1, 4);

/// Whether files with this version of the schema can be read: 1.x and 2.x, as in gsd.
#[must_use]
pub const fn is_readable(version: Version) -> bool {
    matches!(version.major, 1 | 2)
}

const fn version(major: u16, minor: u16) -> Version {
    Version { major, minor }
}

/// A chunk of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name in the file.
    pub name: &'static str,
    /// The types that its values may have.
    pub kind: Kind,
    /// The number of its rows.
    pub rows: Rows,
    /// The number of its columns; `None`: as many as the longest text needs, with its NUL.
    pub columns: Option<u32>,
    /// The value if neither the frame nor frame 0 has the chunk.
    pub default: Initial,
    /// The first version of the schema that has it.
    pub since: Version,
    /// The last version of the schema that has it, if it was removed.
    pub until: Option<Version>,
}

/// The types that the values of a chunk may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `uint8`.
    U8,
    /// `uint32`.
    U32,
    /// `uint64`.
    U64,
    /// `int32`.
    I32,
    /// Always `float64`.
    F64,
    /// `float32` or `float64`, chosen for each chunk.
    Float,
    /// Tags of particles: `uint32`, or `int32` as gsd's Python package wrote them up to 4.x.
    Tag,
    /// Texts of equal width, padded with NULs: `int8` or `uint8`.
    Text,
}

impl Kind {
    /// The allowed types. The first one is written by default; for [`Float`](Self::Float) the
    /// writer may choose another.
    #[must_use]
    pub const fn types(self) -> &'static [ChunkType] {
        match self {
            Self::U8 => &[ChunkType::U8],
            Self::U32 => &[ChunkType::U32],
            Self::U64 => &[ChunkType::U64],
            Self::I32 => &[ChunkType::I32],
            Self::F64 => &[ChunkType::F64],
            Self::Float => &[ChunkType::F32, ChunkType::F64],
            Self::Tag => &[ChunkType::U32, ChunkType::I32],
            Self::Text => &[ChunkType::I8, ChunkType::U8],
        }
    }
}

/// The number of rows of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows {
    /// A fixed number.
    Fixed(u64),
    /// One for each member of a group: N.
    Each(Group),
    /// One for each type: NT, the number of names in the chunk of type names.
    Types,
    /// The sum of another chunk's values.
    Sum,
}

impl Rows {
    /// The group whose N is the number of rows.
    #[must_use]
    pub const fn group(self) -> Option<Group> {
        match self {
            Self::Each(group) => Some(group),
            _ => None,
        }
    }
}

/// A group of members, which has its own N.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Group {
    /// `particles/`.
    Particles,
    /// `bonds/`.
    Bonds,
    /// `angles/`.
    Angles,
    /// `dihedrals/`.
    Dihedrals,
    /// `impropers/`.
    Impropers,
    /// `constraints/`.
    Constraints,
    /// `pairs/`: special pairs.
    Pairs,
}

/// The value of a chunk that was not written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Initial {
    /// One row, or all rows of a chunk with a fixed number of rows.
    Values(&'static [i8]),
    /// A text for each row.
    Texts(&'static [&'static str]),
    /// No default: the value is unknown.
    None,
}

impl Group {
    /// All groups, in the order in which gsd writes them.
    pub const ALL: [Self; 7] = [
        Self::Particles,
        Self::Bonds,
        Self::Angles,
        Self::Dihedrals,
        Self::Impropers,
        Self::Constraints,
        Self::Pairs,
    ];

    /// The chunk that states the number of members.
    #[must_use]
    pub const fn count(self) -> &'static Field {
        match self {
            Self::Particles => &PARTICLES_N,
            Self::Bonds => &BONDS.n,
            Self::Angles => &ANGLES.n,
            Self::Dihedrals => &DIHEDRALS.n,
            Self::Impropers => &IMPROPERS.n,
            Self::Constraints => &CONSTRAINTS_N,
            Self::Pairs => &PAIRS.n,
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    #[must_use]
    pub fn place(self) -> usize {
        Self::ALL.iter().position(|&group| group == self).unwrap_or_default()
    }

    /// The group to which a chunk of this name belongs.
    #[must_use]
    pub fn of_name(name: &[u8]) -> Option<Self> {
        let folder = name.split_inclusive(|&byte| byte == b'/').next()?;
        let is_of = |group: &Self| {
            let count = group.count().name.as_bytes();
            count.strip_suffix(b"N") == Some(folder)
        };
        Self::ALL.into_iter().find(is_of)
    }
}

/// The chunks of bonds, or of another group with the same chunks.
#[derive(Debug, Clone, Copy)]
pub struct Topology {
    /// The group.
    pub members: Group,
    /// Number of particles of each member.
    pub columns: u32,
    /// Number of members.
    pub n: Field,
    /// Names of their types.
    pub types: Field,
    /// Type number of each member.
    pub typeid: Field,
    /// Particles of each member.
    pub group: Field,
}

const PARTICLES: Rows = Rows::Each(Group::Particles);

const fn field(
    name: &'static str,
    kind: Kind,
    rows: Rows,
    columns: u32,
    default: &'static [i8],
) -> Field {
    let default = Initial::Values(default);
    Field { name, kind, rows, columns: Some(columns), default, since: version(1, 0), until: None }
}

const fn texts(name: &'static str, default: &'static [&'static str]) -> Field {
    Field {
        kind: Kind::Text,
        rows: Rows::Types,
        columns: None,
        default: Initial::Texts(default),
        ..field(name, Kind::Text, Rows::Types, 1, &[])
    }
}

/// A chunk of HPMC's state, which versions 1.2 to 1.4 have.
const fn state(name: &'static str, kind: Kind, rows: Rows, columns: u32) -> Field {
    Field {
        default: Initial::None,
        since: version(1, 2),
        until: Some(VERSION_1),
        ..field(name, kind, rows, columns, &[])
    }
}

macro_rules! topology {
    ($Group:ident, $name:literal, $columns:literal, $zeros:expr, $since:expr) => {
        Topology {
            members: Group::$Group,
            columns: $columns,
            n: Field {
                since: $since,
                ..field(concat!($name, "/N"), Kind::U32, Rows::Fixed(1), 1, &[0])
            },
            types: Field { since: $since, ..texts(concat!($name, "/types"), &[]) },
            typeid: Field {
                since: $since,
                ..field(concat!($name, "/typeid"), Kind::U32, Rows::Each(Group::$Group), 1, &[0])
            },
            group: Field {
                since: $since,
                ..field(
                    concat!($name, "/group"),
                    Kind::Tag,
                    Rows::Each(Group::$Group),
                    $columns,
                    $zeros,
                )
            },
        }
    };
}

/// Defines a constant for each chunk, and [`FIELDS`], with the four chunks of each topology.
macro_rules! fields {
    ({ $($($name:ident = $value:expr;)+ [$($bonds:ident),+])+ } $($more:expr,)+) => {
        $($(
            /// One of [`FIELDS`].
            pub const $name: Field = $value;
        )+)+

        /// All chunks that the schema defines; logged quantities are defined by the user.
        pub const FIELDS: &[Field] = &[
            $($($name,)+ $($bonds.n, $bonds.types, $bonds.typeid, $bonds.group,)+)+
            $($more,)+
        ];
    };
}

fields! {
    {
        STEP = field("configuration/step", Kind::U64, Rows::Fixed(1), 1, &[0]);
        DIMENSIONS = field("configuration/dimensions", Kind::U8, Rows::Fixed(1), 1, &[3]);
        BOX = field("configuration/box", Kind::Float, Rows::Fixed(6), 1, &[1, 1, 1, 0, 0, 0]);
        PARTICLES_N = field("particles/N", Kind::U32, Rows::Fixed(1), 1, &[0]);
        TYPES = texts("particles/types", &["A"]);
        TYPEID = field("particles/typeid", Kind::U32, PARTICLES, 1, &[0]);
        TYPE_SHAPES = Field { since: version(1, 4), ..texts("particles/type_shapes", &["{}"]) };
        MASS = field("particles/mass", Kind::Float, PARTICLES, 1, &[1]);
        CHARGE = field("particles/charge", Kind::Float, PARTICLES, 1, &[0]);
        DIAMETER = field("particles/diameter", Kind::Float, PARTICLES, 1, &[1]);
        BODY = field("particles/body", Kind::I32, PARTICLES, 1, &[-1]);
        MOMENT_INERTIA = field("particles/moment_inertia", Kind::Float, PARTICLES, 3, &[0, 0, 0]);
        POSITION = field("particles/position", Kind::Float, PARTICLES, 3, &[0, 0, 0]);
        ORIENTATION = field("particles/orientation", Kind::Float, PARTICLES, 4, &[1, 0, 0, 0]);
        VELOCITY = field("particles/velocity", Kind::Float, PARTICLES, 3, &[0, 0, 0]);
        ANGMOM = field("particles/angmom", Kind::Float, PARTICLES, 4, &[0, 0, 0, 0]);
        IMAGE = field("particles/image", Kind::I32, PARTICLES, 3, &[0, 0, 0]);
        [BONDS, ANGLES, DIHEDRALS, IMPROPERS]
        CONSTRAINTS_N = field("constraints/N", Kind::U32, Rows::Fixed(1), 1, &[0]);
        VALUE = field("constraints/value", Kind::Float, Rows::Each(Group::Constraints), 1, &[0]);
        CONSTRAINTS_GROUP =
            field("constraints/group", Kind::Tag, Rows::Each(Group::Constraints), 2, &[0, 0]);
        [PAIRS]
    }
    state("state/hpmc/integrate/d", Kind::F64, Rows::Fixed(1), 1),
    state("state/hpmc/integrate/a", Kind::F64, Rows::Fixed(1), 1),
    state("state/hpmc/sphere/radius", Kind::Float, Rows::Types, 1),
    Field {
        since: version(1, 3),
        ..state("state/hpmc/sphere/orientable", Kind::U8, Rows::Types, 1)
    },
    state("state/hpmc/ellipsoid/a", Kind::Float, Rows::Types, 1),
    state("state/hpmc/ellipsoid/b", Kind::Float, Rows::Types, 1),
    state("state/hpmc/ellipsoid/c", Kind::Float, Rows::Types, 1),
    state("state/hpmc/convex_polyhedron/N", Kind::U32, Rows::Types, 1),
    state("state/hpmc/convex_polyhedron/vertices", Kind::Float, Rows::Sum, 3),
    state("state/hpmc/convex_spheropolyhedron/N", Kind::U32, Rows::Types, 1),
    state("state/hpmc/convex_spheropolyhedron/vertices", Kind::Float, Rows::Sum, 3),
    state("state/hpmc/convex_spheropolyhedron/sweep_radius", Kind::Float, Rows::Types, 1),
    state("state/hpmc/convex_polygon/N", Kind::U32, Rows::Types, 1),
    state("state/hpmc/convex_polygon/vertices", Kind::Float, Rows::Sum, 2),
    state("state/hpmc/convex_spheropolygon/N", Kind::U32, Rows::Types, 1),
    state("state/hpmc/convex_spheropolygon/vertices", Kind::Float, Rows::Sum, 2),
    state("state/hpmc/convex_spheropolygon/sweep_radius", Kind::Float, Rows::Types, 1),
    state("state/hpmc/simple_polygon/N", Kind::U32, Rows::Types, 1),
    state("state/hpmc/simple_polygon/vertices", Kind::Float, Rows::Sum, 2),
}

/// Bonds of two particles.
pub const BONDS: Topology = topology!(Bonds, "bonds", 2, &[0, 0], version(1, 0));
/// Angles of three.
pub const ANGLES: Topology = topology!(Angles, "angles", 3, &[0, 0, 0], version(1, 0));
/// Dihedrals of four.
pub const DIHEDRALS: Topology = topology!(Dihedrals, "dihedrals", 4, &[0, 0, 0, 0], version(1, 0));
/// Impropers of four.
pub const IMPROPERS: Topology = topology!(Impropers, "impropers", 4, &[0, 0, 0, 0], version(1, 0));
/// Special pairs.
pub const PAIRS: Topology = topology!(Pairs, "pairs", 2, &[0, 0], version(1, 1));

/// The chunk of this name, if the schema defines it.
#[must_use]
pub fn by_name(name: &[u8]) -> Option<&'static Field> {
    FIELDS.iter().find(|field| field.name.as_bytes() == name)
}
