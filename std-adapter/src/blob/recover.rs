//! Saves what is left of a damaged set: the canonical file, and a list of what was lost.
//!
//! ```
//! use striae::blob::recover::Recover;
//!
//! # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/blob/f8_n10_s2/blob_h1.nc");
//! # let folder = tempfile::tempdir()?;
//! # let (damaged, whole) = (folder.path().join("blob_h1.nc"), folder.path().join("whole.nc"));
//! # std::fs::copy(format!("{golden}.0000"), folder.path().join("blob_h1.nc.0000"))?;
//! let recovery = Recover::new().examine(&damaged)?; // blob_h1.nc.0001 is missing
//! assert_eq!(recovery.set().missing().collect::<Vec<_>>(), [1]);
//! assert!(recovery.uncovered().iter().any(|one| one.elements > 0));
//! recovery.write(&whole, &|_| {})?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::convert::Convert;
use super::set::{Lost, OpenOptions, Set};
use super::subfile::Subfile;
use crate::error::Error;
use crate::output::Output;
use std::path::Path;
use std::sync::Arc;
use striae_core::blob::map::Request;
use striae_core::store::usize_to_u64;

/// How to recover a set. Its subfiles are only read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recover {
    output: Output,
}

/// Elements of a decomposition that no subfile has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered {
    /// The decomposition, from 1.
    pub id: usize,
    /// The number of these elements.
    pub elements: u64,
    /// Whether it is certain that nobody wrote them: all maps are sound. If not, they are lost or
    /// were never written; the maps that say this are lost, too.
    pub is_hole: bool,
    /// The elements, in order.
    pub ranges: Box<[Request]>,
}

/// Values of a variable that are lost, although the place of each is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostValues {
    /// The name of the variable.
    pub name: Box<str>,
    /// The record; `None` for a variable without records.
    pub record: Option<u64>,
    /// The number of the values.
    pub values: u64,
    /// The values in the flattened array of a record, in order.
    pub ranges: Box<[Request]>,
}

/// What can be recovered from a set.
#[derive(Debug)]
pub struct Recovery {
    set: Set,
    output: Output,
    uncovered: Vec<Uncovered>,
    lost_values: Vec<LostValues>,
}

impl Recover {
    /// Replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how the new file is made. By default, no file is replaced.
    #[must_use]
    pub const fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }

    /// Finds what can be recovered from the set with this name, or of which `path` is a subfile:
    /// reads headers and maps of all subfiles.
    ///
    /// # Errors
    /// [`NoSubfile`](super::ErrorKind::NoSubfile) if no subfile can be read; an error of the
    /// operating system.
    pub fn examine(&self, path: impl AsRef<Path>) -> Result<Recovery, Error> {
        let set = OpenOptions::new().mend(true).open(path)?;
        let covered = set.decompositions()?;
        let is_hole = set.is_whole();
        let mut uncovered = Vec::new();
        for (index, known) in covered.iter().enumerate() {
            let ranges = complement(&set, index, known.nelems)?;
            let elements = known.nelems.saturating_sub(known.covered);
            uncovered.push(Uncovered { id: index.saturating_add(1), elements, is_hole, ranges });
        }
        let lost_values = lost_values(&set)?;
        Ok(Recovery { set, output: self.output, uncovered, lost_values })
    }
}

/// The elements of a decomposition that no subfile has.
fn complement(set: &Set, index: usize, total: u64) -> Result<Box<[Request]>, Error> {
    let elements = set.elements(index)?;
    let (mut ranges, mut at) = (Vec::new(), 0);
    for run in elements.runs.as_slice() {
        add(&mut ranges, at, run.offset);
        at = run.end();
    }
    add(&mut ranges, at, total);
    Ok(ranges.into())
}

/// Adds the elements from `offset` to `end`, if there are any.
fn add(ranges: &mut Vec<Request>, offset: u64, end: u64) {
    let Some(len @ 1..) = end.checked_sub(offset) else { return };
    match ranges.last_mut().filter(|last| last.end() == offset) {
        Some(last) => last.len = last.len.saturating_add(len),
        None => ranges.push(Request { offset, len }),
    }
}

/// A subfile that was opened.
type Opened = (u32, Arc<Subfile>);

/// The values of all variables whose places are known and are not in the files.
fn lost_values(set: &Set) -> Result<Vec<LostValues>, Error> {
    let mut subfiles = Vec::new();
    for (_, number) in set.numbers() {
        if let Some((subfile, _)) = set.subfile(number)? {
            subfiles.push((number, subfile));
        }
    }
    let mut all = Vec::new();
    for variable in set.header().variables() {
        let Some((index, known)) = set.decomposed(variable) else { continue };
        let records = if known.is_record { set.header().numrecs() } else { 1 };
        let width = known.nc_type.size();
        for record in 0..records {
            let mut ranges = Vec::new();
            match known.decomposition {
                None => {
                    let left = subfiles.iter().map(|(_, subfile)| {
                        left_of_whole(subfile, index, (known.count, known.is_record, width), record)
                    });
                    add(&mut ranges, left.max().unwrap_or(0), known.count);
                }
                Some(decomposition) => {
                    for run in set.elements(decomposition)?.runs.as_slice() {
                        let number = run.place.subfile;
                        let at = subfiles.binary_search_by_key(&number, |(number, _)| *number);
                        let Some(opened) = at.ok().and_then(|at| subfiles.get(at)) else {
                            continue;
                        };
                        let place = (run.place.blob, run.place.position, run.len);
                        if known.is_record && record >= opened.1.numrecs {
                            add(&mut ranges, run.offset, run.end());
                            continue;
                        }
                        let left = left_of(opened, (index, decomposition, width), record, place);
                        add(&mut ranges, run.offset.saturating_add(left), run.end());
                    }
                }
            }
            if !ranges.is_empty() {
                let values = ranges.iter().fold(0_u64, |sum, one| sum.saturating_add(one.len));
                let record = known.is_record.then_some(record);
                let (name, ranges) = (known.name.clone(), ranges.into());
                all.push(LostValues { name, record, values, ranges });
            }
        }
    }
    Ok(all)
}

/// How many of the first elements of a run are in the subfile.
fn left_of(
    (_, subfile): &Opened,
    (variable, decomposition, width): (usize, usize, u64),
    record: u64,
    (blob, position, len): (u32, u64, u64),
) -> u64 {
    let first = match subfile.is_joined() {
        true => subfile.share(blob, decomposition).start.saturating_add(position),
        false => position,
    };
    let at = subfile.elements(variable, decomposition, (record, blob, width));
    let at = at.and_then(|at| at.checked_add(first.checked_mul(width)?));
    let room = at.map_or(0, |at| subfile.file_len.saturating_sub(at));
    room.checked_div(width).unwrap_or(0).min(len)
}

/// How many of the first values of a variable that is not decomposed are in the subfile.
fn left_of_whole(
    subfile: &Subfile,
    variable: usize,
    (count, is_record, width): (u64, bool, u64),
    record: u64,
) -> u64 {
    if is_record && record >= subfile.numrecs {
        return 0;
    }
    let layout = subfile.whole(variable, count, (is_record, width));
    let span = layout.and_then(|layout| match layout.recsize {
        Some(_) => layout.record(record),
        None => Some(layout.first),
    });
    // A file that has not all values is not taken.
    span.filter(|span| span.fits(subfile.file_len)).map_or(0, |_| count)
}

impl Recovery {
    /// The set. Its subfiles that are damaged are [lost](Set::lost), even if all of their elements
    /// are saved.
    #[must_use]
    pub const fn set(&self) -> &Set {
        &self.set
    }

    /// The damaged subfiles, with the first damage of each.
    #[must_use]
    pub fn damaged(&self) -> Vec<Lost> {
        self.set.lost()
    }

    /// For each decomposition the elements that no subfile has.
    #[must_use]
    pub fn uncovered(&self) -> &[Uncovered] {
        &self.uncovered
    }

    /// The values that are lost besides [uncovered](Self::uncovered) elements.
    #[must_use]
    pub fn lost_values(&self) -> &[LostValues] {
        &self.lost_values
    }

    /// Whether everything is saved: all subfiles are there and sound.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.set.is_whole() && self.lost_values.is_empty()
    }

    /// The bytes of the canonical values.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let variables = self.set.header().variables();
        variables.map(|variable| variable.len()).fold(0, u64::saturating_add)
    }

    /// The number of canonical variables.
    #[must_use]
    pub fn variables(&self) -> u64 {
        usize_to_u64(self.set.header().variables().len())
    }

    /// Writes the canonical file; what is lost gets the fill value of the variable. It gets its
    /// name when it is complete. `progress` gets the length of each piece.
    ///
    /// # Errors
    /// See [`Convert::run`].
    pub fn write(&self, out: &Path, progress: &(dyn Fn(u64) + Sync)) -> Result<(), Error> {
        Convert::new().output(self.output).run(&self.set, out, progress).map(drop)
    }
}
