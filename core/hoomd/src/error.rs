//! What can be wrong with the chunks of a schema, or with what was asked of them.

use crate::names::Name;
use crate::schema;
use crate::shown::Shown;
use crate::values::Precision;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use striae_core::gsd::{self, ChunkType, Label, Version};

/// Why a file is none of the schema, one of its chunks cannot be read, or a frame not be written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The file: it has another schema.
    Schema {
        /// What its header says.
        schema: Label,
    },
    /// The file: neither 1.x nor 2.x.
    Version {
        /// What its header says.
        version: Version,
    },
    /// The file: the values of a chunk are of a type that they cannot have.
    Type {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The frame that it stands in, which may be frame 0 for all frames without it.
        frame: u64,
        /// The type found.
        found: ChunkType,
        /// The right ones.
        want: &'static [ChunkType],
    },
    /// The file: a chunk has rows or columns that it cannot have.
    Shape {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The frame that it stands in, which may be frame 0 for all frames without it.
        frame: u64,
        /// Rows and columns found.
        found: (u64, u32),
        /// The right ones; `None`: any.
        want: (Option<u64>, Option<u32>),
    },
    /// The file: a text is not UTF-8.
    NotText {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The frame that it stands in.
        frame: u64,
        /// The row.
        row: u64,
        /// The first byte of the row that is none.
        at: u64,
    },
    /// The file: it claims more members of a group than a file of its length would, and they have
    /// default values, which need no place in it.
    Members {
        /// The name of the chunk that says how many.
        name: Box<[u8]>,
        /// The frame that was asked for.
        frame: u64,
        /// How many.
        value: u64,
        /// Most that are believed.
        max: u64,
    },
    /// The file: a logged quantity is not in frame 0, so that frames without it have no value.
    Late {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The first frame that has it.
        frame: u64,
    },
    /// The file: a number is none of a type, or of a particle.
    Number {
        /// The name of its chunk.
        name: Box<[u8]>,
        /// The frame that has it, be it from frame 0.
        frame: u64,
        /// The number.
        value: u32,
        /// Types or particles of the frame.
        end: u64,
    },
    /// The file: space has neither 2 nor 3 dimensions.
    Dimensions {
        /// The frame.
        frame: u64,
        /// What it has.
        value: u8,
    },
    /// The file: it claims more frames than a file of its length would, most of them empty.
    Frames {
        /// How many.
        frames: u64,
        /// Most that are believed.
        max: u64,
    },
    /// The file: its frame 0 logs so much, and it claims so many frames which repeat that without a
    /// place in it, that series of them would take more memory than a file of its length would.
    /// Fewer frames or names at once may be read.
    Series {
        /// How many frames were asked for.
        frames: u64,
        /// The bytes of their values.
        bytes: u64,
        /// Most that are believed.
        max: u64,
    },
    /// The file: frames that are to be copied without frame 0 take so much from it, or from the
    /// defaults, that they would need more room than a file of its length would. Fewer frames at
    /// once may be copied.
    Part {
        /// The bytes of what they take.
        bytes: u64,
        /// Most that are believed.
        max: u64,
    },
    /// The file: a logged quantity is not in frame 0, but in the first frame that is to be copied,
    /// and not in this one, which could only have it as well in a file that starts with the other.
    Gap {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The frame without it.
        frame: u64,
        /// The first frame that is to be copied.
        first: u64,
    },
    /// The file: a logged quantity has one type and shape here and another in frame 0, so that it
    /// is no series.
    Varies {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The frame.
        frame: u64,
        /// Type, rows and columns found.
        found: (ChunkType, u64, u32),
        /// Those of frame 0.
        want: (ChunkType, u64, u32),
    },
    /// The caller: values that are not N rows of the chunk.
    Length {
        /// The chunk's name.
        name: Box<[u8]>,
        /// Values that were given.
        found: u64,
        /// Values that it has.
        want: u64,
    },
    /// The caller: a text that a chunk of texts cannot hold, as it has a NUL.
    Nul {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The text.
        text: String,
    },
    /// The caller: two types of one name.
    SameType {
        /// The chunk's name.
        name: Box<[u8]>,
        /// The type's name.
        text: String,
    },
    /// The caller: a quantity that frame 0 does not have, so that frames without it have no value.
    NotInFrame0 {
        /// The chunk's name.
        name: Box<[u8]>,
    },
    /// The caller: two quantities of one name.
    SameName {
        /// The chunk's name.
        name: Box<[u8]>,
    },
    /// The caller: a part of the frame is written already, and had other values.
    OtherFrame {
        /// The frame.
        frame: u64,
    },
    /// The caller: a file of this version cannot have numbers of this precision.
    Precision {
        /// The file's version.
        version: Version,
        /// What was asked for.
        precision: Precision,
    },
}

impl Error {
    /// Whether the caller is to blame, and not the file.
    #[must_use]
    pub const fn blames_caller(&self) -> bool {
        matches!(
            self,
            Self::Length { .. }
                | Self::Nul { .. }
                | Self::SameType { .. }
                | Self::NotInFrame0 { .. }
                | Self::SameName { .. }
                | Self::OtherFrame { .. }
                | Self::Precision { .. }
        )
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Schema { schema } => {
                let schema = Name(schema.as_bytes());
                write!(f, "header.schema is \"{schema}\", must be \"{}\"", schema::NAME)
            }
            Self::Version { version } => {
                write!(f, "header.schema_version is {version}, must be 1.x or 2.x")
            }
            Self::Type { name, frame, found, want } => {
                write!(f, "{} is of type {found}, must be {}", Chunk(name, *frame), Types(want))
            }
            Self::Shape { name, frame, found: (n, m), want } => {
                write!(f, "{} has {n} rows of {m}, must have ", Chunk(name, *frame))?;
                match want {
                    (Some(n), Some(m)) => write!(f, "{n} of {m}"),
                    (Some(n), None) => write!(f, "{n}"),
                    (None, Some(m)) => write!(f, "rows of {m}"),
                    (None, None) => f.write_str("others"),
                }
            }
            Self::NotText { name, frame, row, at } => {
                let chunk = Chunk(name, *frame);
                write!(f, "{chunk} is no UTF-8 text at byte {at} of its row {row}")
            }
            Self::Members { name, frame, value, max } => {
                let chunk = Chunk(name, *frame);
                write!(f, "{chunk} is {value}, must be at most {max} in a file of this length")
            }
            Self::Late { name, frame } => {
                write!(f, "{} must be in frame 0 as well", Chunk(name, *frame))
            }
            Self::Number { name, frame, value, end } => {
                write!(
                    f,
                    "{} has {value}, for HOOMD-blue it must be below {end}",
                    Chunk(name, *frame)
                )
            }
            Self::Dimensions { frame, value } => {
                let chunk = Chunk(b"configuration/dimensions", *frame);
                write!(f, "{chunk} is {value}, for HOOMD-blue it must be 2 or 3")
            }
            Self::Frames { frames, max } => {
                write!(f, "there are {frames} frames, must be at most {max} for a series")
            }
            Self::Series { frames, bytes, max } => write!(
                f,
                "series of {frames} frames have {bytes} bytes, must be at most {max} in a file of \
                 this length: fewer frames or names at once can be had"
            ),
            Self::Part { bytes, max } => write!(
                f,
                "the frames take {bytes} bytes from frame 0 or the defaults, must be at most {max} \
                 in a file of this length: fewer frames at once can be had"
            ),
            Self::Gap { name, frame, first } => write!(
                f,
                "chunk {} is in frame {first}, and neither in frame 0 nor in frame {frame}, which \
                 would have it in a file that starts with frame {first}",
                Shown::new(name)
            ),
            Self::Varies { name, frame, found, want } => {
                let chunk = Chunk(name, *frame);
                write!(f, "{chunk} is {}, must be {} as in frame 0", Form(*found), Form(*want))
            }
            _ => self.fmt_request(f),
        }
    }
}

impl Error {
    /// The texts of errors that blame the caller.
    fn fmt_request(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length { name, found, want } => {
                write!(f, "{found} values for chunk {}, must be {want}", Shown::new(name))
            }
            Self::Nul { name, text } => {
                write!(f, "a text of chunk {} cannot have a NUL, as {text:?} has", Shown::new(name))
            }
            Self::SameType { name, text } => {
                write!(f, "chunk {} cannot have {text:?} twice", Shown::new(name))
            }
            Self::NotInFrame0 { name } => {
                write!(f, "chunk {} must be in frame 0 if it is in any frame", Shown::new(name))
            }
            Self::SameName { name } => {
                write!(f, "a frame cannot have chunk {} twice", Shown::new(name))
            }
            Self::OtherFrame { frame } => {
                write!(f, "frame {frame} was begun with other values, and must be ended with those")
            }
            Self::Precision { version, precision } => {
                write!(f, "a file of schema {version} cannot be of {precision} precision")
            }
            _ => f.write_str("the file is not of the schema"), // all such have their text above
        }
    }
}

/// What a reader or writer of trajectories finds wrong with a file, or with what was asked of it. A
/// [`Source`](crate::Source) or a [`Sink`](crate::Sink) makes its own error of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is none of the schema, or something in it is not as the schema wants it.
    Hoomd(Error),
    /// It is a damaged GSD file, or does not have what was asked for.
    Gsd(gsd::Error),
    /// A chunk is damaged, or does not have what was asked for.
    Chunk {
        /// Its frame.
        frame: u64,
        /// Its name.
        name: Box<[u8]>,
        /// What is wrong with it.
        error: gsd::Error,
    },
    /// The bytes of a chunk of text are not UTF-8.
    NotText {
        /// Its frame.
        frame: u64,
        /// Its name.
        name: Box<[u8]>,
        /// The first byte that is none, counted from the chunk's start.
        at: u64,
    },
    /// There is no memory for the values.
    Memory,
}

impl core::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hoomd(error) => error.fmt(f),
            Self::Gsd(error) => error.fmt(f),
            Self::Chunk { frame, name, error } => write!(f, "{}: {error}", Chunk(name, *frame)),
            Self::NotText { frame, name, at } => {
                write!(f, "{} is no UTF-8 text at its byte {at}", Chunk(name, *frame))
            }
            Self::Memory => f.write_str("out of memory"),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Hoomd(error)
    }
}

impl From<gsd::Error> for Fault {
    fn from(error: gsd::Error) -> Self {
        Self::Gsd(error)
    }
}

/// A chunk as error texts name it.
struct Chunk<'a>(&'a [u8], u64);

impl fmt::Display for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {} of frame {}", Shown::new(self.0), self.1)
    }
}

/// Types: `float32 or float64`.
struct Types(&'static [ChunkType]);

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, kind) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { " or " })?;
            kind.fmt(f)?;
        }
        Ok(())
    }
}

/// Type and shape: `1 row of 3 float32`.
struct Form((ChunkType, u64, u32));

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, n, m) = self.0;
        let rows = if n == 1 { "row" } else { "rows" };
        write!(f, "{n} {rows} of {m} {kind}")
    }
}
