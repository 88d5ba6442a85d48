//! Ranges of frames, and of the rows of a chunk.

use crate::failure::Failure;
use crate::text::count;
use std::num::NonZeroU64;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

/// A range of the frames of a file, or of the rows of a chunk: `A..B`, `A..`, `..B`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    start: u64,
    end: Option<u64>,
}

impl Rows {
    /// The range within `len` frames or rows; all of them for `None`.
    pub(crate) fn of(part: Option<Self>, len: u64) -> Range<u64> {
        part.map_or(0..len, |part| part.start..part.end.unwrap_or(len))
    }

    /// Refuses a range that contains none of the frames of the file.
    pub(crate) fn check(part: Option<Self>, path: &Path, frames: u64) -> Result<(), Failure> {
        let wanted = Self::of(part, frames);
        match (part, frames.checked_sub(1)) {
            (Some(_), Some(last)) if wanted.start > last || wanted.is_empty() => {
                let has = count(frames, "frame");
                let text = format!("--frames selects none of the {has}, 0 to {last}");
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
        let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
        let part = Self {
            start: if start.is_empty() { 0 } else { number(start)? },
            end: if end.is_empty() { None } else { Some(number(end)?) },
        };
        match part.end {
            Some(end) if end < part.start => Err("must not end before it starts".to_owned()),
            _ => Ok(part),
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
