//! Errors of the schema, and of requests to readers and writers.

use crate::names::Name;
use crate::precision::Precision;
use crate::schema;
use crate::shown::Shown;
use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;
use striae_core::gsd::{self, ChunkType, Label, Version};
use striae_core::texts;

texts! {
    /// The reason why a file does not follow the schema, a chunk cannot be read, or a frame cannot
    /// be written.
    #[derive(Debug, Clone, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Error;

    /// The file has another schema.
    Schema {
        /// The schema in its header.
        schema: Label,
    } => "header.schema is \"{}\", must be \"{}\"",
        Name(schema.as_bytes()), schema::NAME;
    /// The file's schema version is neither 1.x nor 2.x.
    Version { version: Version } => "header.schema_version is {version}, must be 1.x or 2.x";
    /// The file: the values of a chunk have a type that the schema does not allow.
    Type { name: Box<[u8]>, frame: u64, found: ChunkType, want: &'static [ChunkType] }
        => "{} is of type {found}, must be {}", Chunk(name, *frame), Types(want);
    /// The file: a chunk has a number of rows or columns that the schema does not allow.
    Shape { name: Box<[u8]>, frame: u64, found: (u64, u32), want: (Option<u64>, Option<u32>) }
        => "{} has {} rows of {}, must have {}",
        Chunk(name, *frame), found.0, found.1, Wanted(*want);
    /// The file: a text is not UTF-8.
    NotText {
        name: Box<[u8]>,
        frame: u64,
        /// The row.
        row: u64,
        /// Offset in the row of the first byte that is not UTF-8.
        at: u64,
    } => "{} is no UTF-8 text at byte {at} of its row {row}", Chunk(name, *frame);
    /// The file claims more members of a group than its length allows. Members with default values
    /// need no bytes in the file.
    Members { name: Box<[u8]>, frame: u64, value: u64, max: u64 }
        => "{} is {value}, must be at most {max} in a file of this length",
        Chunk(name, *frame);
    /// The file: a logged quantity is not in frame 0, so frames without it have no value.
    Late {
        name: Box<[u8]>,
        /// The first frame that has it.
        frame: u64,
    } => "{} must be in frame 0 as well", Chunk(name, *frame);
    /// The file: a number is not a type number, or not the tag of a particle.
    Number {
        name: Box<[u8]>,
        /// The frame that has it, possibly from frame 0.
        frame: u64,
        value: u32,
        /// Number of types or particles of the frame.
        end: u64,
    } => "{} has {value}, for HOOMD-blue it must be below {end}", Chunk(name, *frame);
    /// The file: the dimensions are neither 2 nor 3.
    Dimensions { frame: u64, value: u8 } => "{} is {value}, for HOOMD-blue it must be 2 or 3",
        Chunk(b"configuration/dimensions", *frame);
    /// The file claims more frames than its length allows; most of them are empty.
    Frames { frames: u64, max: u64 }
        => "there are {frames} frames, must be at most {max} for a series";
    /// The file: frame 0 logs large values, and many frames repeat them without any bytes in the
    /// file. Series of these frames would need more memory than the length of the file allows.
    /// Reading fewer frames or names at once may work.
    Series {
        /// The number of frames that were asked for.
        frames: u64,
        /// The bytes of their values.
        bytes: u64,
        /// The largest number of bytes that is accepted.
        max: u64,
    } => "series of {frames} frames have {bytes} bytes, must be at most {max} in a file of this \
         length: fewer frames or names at once can be had";
    /// The file: frames that are to be copied without frame 0 take so many values from it, or from
    /// the defaults, that the copy would be larger than the length of the file allows. Copying
    /// fewer frames at once may work.
    Part {
        /// The bytes of these values.
        bytes: u64,
        /// The largest number of bytes that is accepted.
        max: u64,
    } => "the frames take {bytes} bytes from frame 0 or the defaults, must be at most {max} in a \
         file of this length: fewer frames at once can be had";
    /// The file: a logged quantity is in the first frame that is copied, but neither in frame 0 nor
    /// in this frame. In the copy, this frame would get the value of the first one.
    Gap {
        name: Box<[u8]>,
        /// The frame without it.
        frame: u64,
        /// The first frame that is copied.
        first: u64,
    } => "chunk {} is in frame {first}, and neither in frame 0 nor in frame {frame}, which would \
         have it in a file that starts with frame {first}",
        Shown::new(name);
    /// The file: a logged quantity has another type or shape in this frame than in frame 0, so it
    /// is not a series.
    Varies {
        name: Box<[u8]>,
        frame: u64,
        /// Type, rows and columns found.
        found: (ChunkType, u64, u32),
        /// Type, rows and columns in frame 0.
        want: (ChunkType, u64, u32),
    } => "{} is {}, must be {} as in frame 0", Chunk(name, *frame), Form(*found), Form(*want);
    /// The caller: the number of values does not fit the rows of the chunk.
    Length {
        name: Box<[u8]>,
        /// The number of values given.
        found: u64,
        /// The number of values required.
        want: u64,
    } => "{found} values for chunk {}, must be {want}", Shown::new(name);
    /// The caller: a text has a NUL, which a chunk of texts cannot hold.
    Nul {
        name: Box<[u8]>,
        /// The text.
        text: String,
    } => "a text of chunk {} cannot have a NUL, as {text:?} has", Shown::new(name);
    /// The caller: two types have the same name.
    SameType {
        name: Box<[u8]>,
        /// The type's name.
        text: String,
    } => "chunk {} cannot have {text:?} twice", Shown::new(name);
    /// The caller: frame 0 does not have this quantity, so frames without it would have no value.
    NotInFrame0 { name: Box<[u8]> }
        => "chunk {} must be in frame 0 if it is in any frame", Shown::new(name);
    /// The caller: two quantities have the same name.
    SameName { name: Box<[u8]> } => "a frame cannot have chunk {} twice", Shown::new(name);
    /// The caller: a part of the frame was written before with other values.
    OtherFrame { frame: u64 }
        => "frame {frame} was begun with other values, and must be ended with those";
    /// The caller: a file of this version cannot have values of this precision.
    Precision { version: Version, precision: Precision }
        => "a file of schema {version} cannot be of {precision} precision";
}

impl Error {
    /// Whether the error is the caller's and not the file's.
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

texts! {
    /// An error that a reader or writer of trajectories found. A [`Source`](crate::Source) or a
    /// [`Sink`](crate::Sink) converts it to its own error type.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub enum Fault;

    /// The file does not follow the schema, or the request is wrong.
    Hoomd(error: Error) => "{error}";
    /// The GSD file is damaged, or it does not have the requested part.
    Gsd(error: gsd::Error) => "{error}";
    /// A chunk is damaged, or it does not have the requested part.
    Chunk { frame: u64, name: Box<[u8]>, error: gsd::Error } => "{}: {error}", Chunk(name, *frame);
    /// The bytes of a chunk of text are not UTF-8.
    NotText {
        frame: u64,
        name: Box<[u8]>,
        /// Offset in the chunk of the first byte that is not UTF-8.
        at: u64,
    } => "{} is no UTF-8 text at its byte {at}", Chunk(name, *frame);
    /// The memory for the values could not be allocated.
    Memory => "out of memory";
}

impl core::error::Error for Fault {}

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

/// A chunk, as error texts name it.
struct Chunk<'a>(&'a [u8], u64);

impl fmt::Display for Chunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "chunk {} of frame {}", Shown::new(self.0), self.1)
    }
}

/// A list of types, as error texts show it: `float32 or float64`.
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

/// Rows and columns that a chunk must have, as error texts show them.
struct Wanted((Option<u64>, Option<u32>));

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            (Some(n), Some(m)) => write!(f, "{n} of {m}"),
            (Some(n), None) => write!(f, "{n}"),
            (None, Some(m)) => write!(f, "rows of {m}"),
            (None, None) => f.write_str("others"),
        }
    }
}

/// A type and shape, as error texts show it: `1 row of 3 float32`.
struct Form((ChunkType, u64, u32));

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, n, m) = self.0;
        let rows = if n == 1 { "row" } else { "rows" };
        write!(f, "{n} {rows} of {m} {kind}")
    }
}
