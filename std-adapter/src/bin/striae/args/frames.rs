//! Ranges of frames, and of the rows of a chunk.

use crate::failure::Failure;
use crate::printable::count;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

/// A range of the frames of a file, or of the rows of a chunk: `A..B`, `A..`, `..B`. A negative
/// number counts from the end: -1 is the last one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    start: Place,
    end: Option<Place>,
}

/// The number of a frame or row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    FromStart(u64),
    /// The last one is 1.
    FromEnd(u64),
}

impl Place {
    /// The number within `len`; one before the first is the first.
    const fn of(self, len: u64) -> u64 {
        match self {
            Self::FromStart(number) => number,
            Self::FromEnd(number) => len.saturating_sub(number),
        }
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
        Ok(match text.strip_prefix('-') {
            Some(text) => Self::FromEnd(number(text)?),
            None => Self::FromStart(number(text)?),
        })
    }
}

impl Rows {
    /// The range within `len` frames or rows; all of them for `None`.
    pub(crate) fn of(part: Option<Self>, len: u64) -> Range<u64> {
        let Some(Self { start, end }) = part else { return 0..len };
        let start = start.of(len);
        start..end.map_or(len, |end| end.of(len)).max(start)
    }

    /// Refuses a range that contains none of the frames of the file.
    pub(crate) fn check(part: Option<Self>, path: &Path, frames: u64) -> Result<(), Failure> {
        let wanted = Self::of(part, frames);
        match (part, frames.checked_sub(1)) {
            (Some(_), Some(last)) if wanted.start > last || wanted.is_empty() => {
                let has = count(frames, "frame");
                let text = format!("--frames selects nothing: the file has {has}, 0 to {last}");
                Err(Failure::usage(path, &text))
            }
            _ => Ok(()),
        }
    }
}

impl FromStr for Rows {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (start, end) = text.split_once("..").ok_or("must be A..B, A.. or ..B")?;
        let part = Self {
            start: if start.is_empty() { Place::FromStart(0) } else { start.parse()? },
            end: if end.is_empty() { None } else { Some(end.parse()?) },
        };
        let is_backward = match (part.start, part.end) {
            (Place::FromStart(start), Some(Place::FromStart(end))) => end < start,
            (Place::FromEnd(start), Some(Place::FromEnd(end))) => start < end,
            _ => false,
        };
        match is_backward {
            true => Err("must not end before it starts".to_owned()),
            false => Ok(part),
        }
    }
}

/// Every n-th frame of a range: `A..B:STEP`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Steps {
    part: Rows,
    step: NonZeroU64,
}

impl Steps {
    /// The range within `len` frames, without the step.
    pub(crate) fn of(self, len: u64) -> Range<u64> {
        Rows::of(Some(self.part), len)
    }

    /// Refuses a range that contains none of the frames of the file.
    pub(crate) fn check(self, path: &Path, frames: u64) -> Result<(), Failure> {
        Rows::check(Some(self.part), path, frames)
    }

    pub(crate) const fn step(self) -> NonZeroU64 {
        self.step
    }
}

impl FromStr for Steps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (part, step) = text.split_once(':').unwrap_or((text, "1"));
        let number: u64 = step.parse().map_err(|error| format!("{step}: {error}"))?;
        let step = NonZeroU64::new(number).ok_or("the step must be at least 1")?;
        Ok(Self { part: part.parse()?, step })
    }
}
