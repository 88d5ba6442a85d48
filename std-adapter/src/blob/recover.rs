//! Saves what is left of a damaged set: the canonical file, and a list of what was lost.
//!
//! ```
//! use striae::blob::recover::Recover;
//!
//! # let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/blob_h1.nc");
//! # let folder = tempfile::tempdir()?;
//! # let (damaged, whole) = (folder.path().join("blob_h1.nc"), folder.path().join("whole.nc"));
//! # std::fs::copy(format!("{golden}.0000"), folder.path().join("blob_h1.nc.0000"))?;
//! let recovery = Recover::new().examine(&damaged)?; // blob_h1.nc.0001 is missing
//! assert_eq!(recovery.set().missing().collect::<Vec<_>>(), [1]);
//! assert!(recovery.uncovered().iter().any(|one| one.elements > 0));
//! recovery.write(&whole, &|_| {})?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod doubts;

use super::convert::Convert;
use super::grammar::Variable;
use super::set::{Lost, OpenOptions, Set};
use super::subfile::Subfile;
use super::verify::{Finding, FindingKind, SetFinding, Severity};
use crate::cdf;
use crate::error::Error;
use crate::verb::{Options, Output, Plain, Verify};
use doubts::Doubts;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use striae_core::blob::find::{Place, Run};
use striae_core::blob::map::Request;
use striae_core::store::usize_to_u64;
use striae_inspect::blob::Flaw;
use striae_inspect::certainty::{Tally, Word};
use striae_inspect::finding::Found as _;

/// How to recover a set. Its subfiles are only read.
pub type Recover = Options<Plain<Recovery>>;

/// Elements of a decomposition that no subfile has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Uncovered {
    /// The decomposition, from 1.
    pub id: usize,
    /// The number of these elements.
    pub elements: u64,
    /// How many elements the maps name beyond those of the array: twice, or outside of it. Which of
    /// several values of an element is right is not known, the first rank's is taken.
    pub surplus: u64,
    /// Whether it is certain that nobody wrote them: all maps of the decomposition are there and
    /// sound, and those of a sealed set are tied to it by their seals. Damage of values does not
    /// matter. If not, they are lost or were never written; the maps that say this are lost, too.
    pub is_hole: bool,
    /// The elements, in order.
    pub ranges: Box<[Request]>,
}

/// Values of a variable that are lost, although the place of each is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostValues {
    /// The name of the variable.
    pub name: Box<str>,
    /// The records; `None` for a variable without records.
    pub records: Option<Range<u64>>,
    /// The number of the values in all these records.
    pub values: u64,
    /// The values in the flattened array of each of these records, in order.
    pub ranges: Box<[Request]>,
}

/// What can be recovered from a set.
#[derive(Debug)]
pub struct Recovery {
    set: Set,
    output: Output,
    uncovered: Vec<Uncovered>,
    lost_values: Vec<LostValues>,
    doubts: Doubts,
    damage: Vec<Finding>,
    tally: Tally,
}

impl Recover {
    /// Finds what can be recovered from the set with this name, or of which `path` is a subfile:
    /// [verifies](crate::Verify::blob) it, which reads all values of sealed subfiles. Values that
    /// are not as sealed are lost; if the seal itself is damaged, they are kept, and the subfile is
    /// among the [damaged](Recovery::damaged) ones.
    ///
    /// # Errors
    /// [`NoSubfile`](super::ErrorKind::NoSubfile) if no subfile can be read; an error of the
    /// operating system.
    pub fn examine(&self, path: impl AsRef<Path>) -> Result<Recovery, Error> {
        let set = OpenOptions::new().mend(true).checked(true).open(path)?;
        let (mut damage, mut wrong, mut damaged) = (Vec::new(), Wrong::new(), BTreeSet::new());
        let summary = Verify::new().found(set.path(), &mut |number, finding| {
            if finding.severity() == Severity::Note {
                return;
            }
            match &finding {
                SetFinding::Set(FindingKind::Wrong(flaw @ Flaw::NotAsSealed { .. })) => {
                    wrong.entry(number).or_default().push(flaw.clone());
                }
                SetFinding::Cdf(_) => {
                    damaged.insert(number);
                }
                _ => {}
            }
            damage.push(Finding::new(&Arc::from(set.subfile_path(number)), finding));
        })?;
        let covered = set.decompositions()?;
        let subfiles = subfiles(&set, wrong)?;
        let is_whole = set.is_whole();
        let mut uncovered = Vec::new();
        for (index, known) in covered.iter().enumerate() {
            let ranges = complement(&set, index, known.nelems)?;
            let elements = known.nelems.saturating_sub(known.covered);
            let surplus = named(&subfiles, index).saturating_sub(known.covered);
            let is_hole = set.elements(index)?.is_sure && surplus == 0;
            let id = index.saturating_add(1);
            uncovered.push(Uncovered { id, elements, surplus, is_hole, ranges });
        }
        let lost_values = lost_values(&set, &subfiles)?;
        let doubts = Doubts::find(&set, &subfiles, &damaged)?;
        let mut tally = Tally::default();
        tally.is_contradicted = !damage.is_empty() || !is_whole;
        let bytes = subfiles.iter().map(|one| stored(&set, &one.subfile));
        tally.coverage.add(bytes.fold(0, u64::saturating_add));
        tally.coverage.add_checked(summary.data.checked.min(tally.coverage.bytes));
        let mut recovery =
            Recovery { set, output: self.output, uncovered, lost_values, doubts, damage, tally };
        recovery.words().for_each(|(_, word)| tally.add(word, 1));
        recovery.tally = tally;
        Ok(recovery)
    }
}

/// The blobs of each subfile that are not as sealed.
type Wrong = BTreeMap<u32, Vec<Flaw>>;

/// The bytes of values that a subfile has, in the records of the set.
fn stored(set: &Set, subfile: &Subfile) -> u64 {
    let numrecs = set.header().numrecs().min(subfile.numrecs);
    let len = |known: &Variable| {
        let records = if known.is_record { numrecs } else { 1 };
        let shares = (0..subfile.found).map(|blob| subfile.shares(blob));
        let count = match known.decomposition {
            None => known.count,
            Some(index) => shares
                .filter_map(|shares| shares.get(index))
                .fold(0_u64, |sum, share| sum.saturating_add(share.count)),
        };
        count.saturating_mul(records).saturating_mul(known.nc_type.size())
    };
    set.canonical.variables.iter().map(len).fold(0, u64::saturating_add)
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

/// A subfile that was opened: its number, and the blobs of variables that are not as sealed.
struct Opened {
    number: u32,
    subfile: Arc<Subfile>,
    wrong: BTreeSet<(usize, u32)>,
}

/// All subfiles that can be read, with the blobs that are not as sealed.
fn subfiles(set: &Set, mut flaws: Wrong) -> Result<Vec<Opened>, Error> {
    let variables = set.canonical.variables.iter();
    let names: HashMap<_, _> =
        variables.enumerate().map(|(index, known)| (&*known.name, index)).collect();
    let mut all = Vec::new();
    for (_, number) in set.numbers() {
        let Some((subfile, _)) = set.subfile(number)? else { continue };
        let mut wrong = BTreeSet::new();
        for flaw in flaws.remove(&number).unwrap_or_default() {
            if let Flaw::NotAsSealed { name, blob, .. } = &flaw {
                wrong.extend(names.get(&**name).map(|&variable| (variable, *blob)));
            }
            set.lose(number, flaw.into(), Some(0))?;
        }
        all.push(Opened { number, subfile, wrong });
    }
    Ok(all)
}

/// How many elements of a decomposition all blobs say that they have.
fn named(subfiles: &[Opened], decomposition: usize) -> u64 {
    let blobs = subfiles.iter().flat_map(|opened| {
        let shares = (0..opened.subfile.found).map(|blob| opened.subfile.shares(blob));
        shares.filter_map(|shares| shares.get(decomposition))
    });
    blobs.fold(0, |sum, share| sum.saturating_add(share.count))
}

/// The values of all variables whose places are known and are not in the files, or are not as
/// sealed.
fn lost_values(set: &Set, subfiles: &[Opened]) -> Result<Vec<LostValues>, Error> {
    let mut all: Vec<LostValues> = Vec::new();
    for variable in set.header().variables() {
        let Some((index, known)) = set.decomposed(variable) else { continue };
        let lost = |record| -> Result<Vec<Request>, Error> {
            Ok(match known.decomposition {
                None => {
                    let whole = (index, known.count, known.is_record, known.nc_type.size());
                    let left = subfiles.iter().map(|opened| left_of_whole(opened, whole, record));
                    let mut ranges = Vec::new();
                    add(&mut ranges, left.max().unwrap_or(0), known.count);
                    ranges
                }
                Some(decomposition) => {
                    let runs = &set.elements(decomposition)?.runs;
                    lost_runs(subfiles, runs.as_slice(), (index, decomposition, known), record)
                }
            })
        };
        let numrecs = if known.is_record { set.header().numrecs() } else { 1 };
        each_lost(numrecs, &lost, &mut |records, ranges| {
            let one = ranges.iter().fold(0_u64, |sum, one| sum.saturating_add(one.len));
            let values = one.saturating_mul(records.end.saturating_sub(records.start));
            let records = known.is_record.then_some(records);
            let (name, ranges) = (known.name.clone(), ranges.into());
            all.push(LostValues { name, records, values, ranges });
        })?;
    }
    Ok(all)
}

/// Passes the records that have lost the same values, and these, to `each`. What is lost of a
/// record must be lost of all later ones, too: the values of a record come after those of the one
/// before, and files are cut at the end. So `lost` is called a few times for each change, and not
/// for each record.
fn each_lost<E>(
    numrecs: u64,
    lost: &dyn Fn(u64) -> Result<Vec<Request>, E>,
    each: &mut dyn FnMut(Range<u64>, Vec<Request>),
) -> Result<(), E> {
    let Some(last) = numrecs.checked_sub(1) else { return Ok(()) };
    let (mut first, of_last) = (0, lost(last)?);
    while first < numrecs {
        let here = lost(first)?;
        let (mut end, mut differs) = match here == of_last {
            true => (numrecs, numrecs),
            false => (first.saturating_add(1), last),
        };
        while end < differs {
            let middle = end.midpoint(differs);
            if lost(middle)? == here {
                end = middle.saturating_add(1);
            } else {
                differs = middle;
            }
        }
        if !here.is_empty() {
            each(first..end, here);
        }
        first = end;
    }
    Ok(())
}

/// The elements of a variable in a record that are not in the files, or are not as sealed.
fn lost_runs(
    subfiles: &[Opened],
    runs: &[Run],
    (index, decomposition, known): (usize, usize, &Variable),
    record: u64,
) -> Vec<Request> {
    let (mut ranges, width) = (Vec::new(), known.nc_type.size());
    for run in runs {
        let Place { subfile, blob, position } = run.place;
        let at = subfiles.binary_search_by_key(&subfile, |opened| opened.number);
        let Some(opened) = at.ok().and_then(|at| subfiles.get(at)) else { continue };
        let is_after = known.is_record && record >= opened.subfile.numrecs;
        let left = match is_after || opened.wrong.contains(&(index, blob)) {
            true => 0,
            false => {
                let place = (blob, position, run.len);
                left_of(&opened.subfile, (index, decomposition, width), record, place)
            }
        };
        add(&mut ranges, run.offset.saturating_add(left), run.end());
    }
    ranges
}

/// How many of the first elements of a run are in the subfile.
fn left_of(
    subfile: &Subfile,
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
    Opened { subfile, wrong, .. }: &Opened,
    (variable, count, is_record, width): (usize, u64, bool, u64),
    record: u64,
) -> u64 {
    if is_record && record >= subfile.numrecs || wrong.contains(&(variable, 0)) {
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

    /// The damage that [verifying](crate::Verify::blob) the set finds.
    #[must_use]
    pub fn damage(&self) -> &[Finding] {
        &self.damage
    }

    /// What is saved, in variables, and how many bytes of values were compared with seals.
    #[must_use]
    pub const fn tally(&self) -> Tally {
        self.tally
    }

    /// Whether everything is saved and nothing contradicts it: all subfiles are there, verifying
    /// finds no damage, and no element is named twice.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.tally.is_sound()
    }

    /// The canonical variables, with the word for each.
    pub fn words(&self) -> impl Iterator<Item = (cdf::Variable<'_>, Word)> {
        let coverage = self.tally.coverage;
        let is_checked = coverage.checked == coverage.bytes;
        let variables = self.set.header().variables();
        variables.map(move |variable| (variable, self.word(variable, is_checked)))
    }

    /// The word for a variable.
    fn word(&self, variable: cdf::Variable<'_>, is_checked: bool) -> Word {
        let id = self.set.decomposition(variable);
        let own = || self.uncovered.iter().filter(move |one| Some(one.id) == id);
        let is_lost = self.lost_values.iter().any(|one| *one.name == *variable.name());
        if is_lost || own().any(|one| one.elements > 0 && !one.is_hole) {
            return Word::Lost;
        }
        let is_doubtful = self.doubts.has(variable.name(), id);
        match (is_doubtful || own().any(|one| one.surplus > 0), is_checked) {
            (true, _) => Word::Guess,
            (false, true) => Word::Exact,
            (false, false) => Word::AsFound,
        }
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

#[cfg(test)]
mod tests {
    #![allow(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::unwrap_used,
        reason = "a test: a panic fails it"
    )]

    use super::each_lost;
    use std::cell::Cell;
    use std::convert::Infallible;
    use striae_core::blob::map::Request;

    /// The rows, and how many records were looked at.
    fn rows(numrecs: u64, changes: &[u64]) -> (Vec<(u64, u64, u64)>, u64) {
        let (mut rows, calls) = (Vec::new(), Cell::new(0));
        let lost = |record| -> Result<_, Infallible> {
            assert!(record < numrecs);
            calls.set(calls.get() + 1);
            let changed = changes.iter().filter(|&&change| change <= record);
            Ok(changed.zip(0..).map(|(_, offset)| Request { offset, len: 1 }).collect())
        };
        let each = &mut |records: std::ops::Range<u64>, ranges: Vec<Request>| {
            rows.push((records.start, records.end, ranges.len() as u64));
        };
        each_lost(numrecs, &lost, each).unwrap();
        (rows, calls.get())
    }

    #[test]
    fn lost_values_are_found_without_looking_at_each_record() {
        assert_eq!(rows(0, &[]), (vec![], 0));
        assert_eq!(rows(u64::MAX, &[]), (vec![], 2));
        assert_eq!(rows(u64::MAX, &[0]), (vec![(0, u64::MAX, 1)], 2));
        let (found, calls) = rows(1 << 40, &[5, 6, 1 << 33, (1 << 40) - 1]);
        let last = (1 << 40) - 1;
        assert_eq!(found, [(5, 6, 1), (6, 1 << 33, 2), (1 << 33, last, 3), (last, last + 1, 4)]);
        assert!(calls < 4 * 64, "{calls}");
    }

    /// The rows are those of looking at each record.
    #[test]
    fn each_change_of_a_few_records_is_found() {
        for numrecs in 0..7 {
            for (first, second) in (0..8).flat_map(|first| (0..8).map(move |two| (first, two))) {
                let count = |record| u64::from(first <= record) + u64::from(second <= record);
                let mut expected: Vec<(u64, u64, u64)> = Vec::new();
                for record in (0..numrecs).filter(|&record| count(record) > 0) {
                    match expected.last_mut().filter(|row| row.2 == count(record)) {
                        Some(row) => row.1 = record + 1,
                        None => expected.push((record, record + 1, count(record))),
                    }
                }
                assert_eq!(rows(numrecs, &[first, second]).0, expected, "{numrecs}");
            }
        }
    }
}
