//! Runs all checks of a blob set, and reports everything that it finds.
//!
//! Opening a set stops at the first error of a subfile. Verifying goes on, and compares the
//! subfiles with each other:
//!
//! | module | what it checks |
//! |---|---|
//! | `requests` | the elements of blobs: in the array, in order, each in one blob |
//! | `copies` | variables that are not decomposed: the same values in each subfile |
//! | `seals` | headers, tables and values against the seals of subfiles |
//! | `of_map` | the elements against a decomposition map |
//!
//! The memory is that of the headers and tables of all subfiles, of the requests of one
//! decomposition, 32 bytes each, and of 1 MiB. With a map, all requests are kept, 16 bytes each.
//! The lengths of the files bound the time. Values of decomposed variables are
//! read only if the subfile is sealed.

mod copies;
mod of_map;
mod requests;
mod seals;

use super::definition::Definition;
use super::finding::{FindingKind, SetFinding};
use super::grammar::{Attribute, Canonical, Grammar};
use super::map::{Lists, Map, Origin};
use super::subfile::{Container, Head, Subfile, container};
use super::verdict::{Jury, Verdict, steady};
use super::{Flaw, cdf};
use crate::finding::{Coverage, Found, Severity};
use crate::report::{Ending as _, summary};
use crate::subject::{Failed, Files};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::convert::Infallible;
use striae_core::blob::map::Rule;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};

/// What to check.
///
/// A later version may add fields: end a literal with `..Default::default()`.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<'a> {
    /// The number of the only subfile to check; `None` for the whole set.
    pub only: Option<u32>,
    /// The map of the set, read by each rule.
    pub map: Option<[(Rule, &'a Map); 2]>,
    /// Whether only damage is looked for: copies of variables, whose differences are notes, are not
    /// compared.
    pub only_damage: bool,
}

summary! {
    SetFinding;
    /// The size of the verified set, and the number of findings.
    pub struct Summary {
        /// What the set is stored in; `None` if no subfile has a header.
        pub container: Option<Container>,
        /// Number of subfiles whose headers could be read.
        pub subfiles: u64,
        /// Number of subfiles of the set, as its header says.
        pub nsubfiles: u64,
        /// Number of these subfiles that have a seal.
        pub sealed: u64,
        /// Number of blobs in these subfiles.
        pub blobs: u64,
        /// Number of decompositions.
        pub decompositions: u64,
        /// Number of requests of all blobs.
        pub requests: u64,
        /// Number of canonical variables.
        pub variables: u64,
        /// Number of records.
        pub numrecs: u64,
        /// How the set was written, if there is a map.
        pub origin: Option<Origin>,
        /// The bytes of values.
        pub data: Coverage,
    }
}

/// The error of a check of a subfile.
type Failure<F> = Failed<<F as Files>::Subject, Flaw>;

/// Checks a set and passes each finding to the callback, with the number of the subfile.
///
/// # Errors
/// An error of the store if no subfile could be read. Any problem in the contents of the files is a
/// finding.
pub fn verify<F: Files + ?Sized>(
    files: &F,
    options: Options<'_>,
    each: &mut dyn FnMut(u32, SetFinding),
) -> Result<Summary, <F::Subject as ReadAt>::Error> {
    let mut report = Report::new(each);
    report.file = options.only.unwrap_or(0);
    let mut check = Check { files, options, set: None, members: Vec::new() };
    check.set(&mut report)?;
    if let Some(set) = check.set.take() {
        check.against_each_other(&set, &mut report);
        let lists = check.each_request(&set, &mut report);
        if !options.only_damage {
            check.each_copy(&set, &mut report);
        }
        if let Some(map) = options.map {
            check.against_map(&set, map, &lists, &mut report);
        }
    }
    Ok(report.summary)
}

/// What all subfiles must have.
struct Known {
    verdict: Verdict,
    /// The attributes of the canonical file, then those of each variable.
    attributes: Vec<Vec<Attribute>>,
}

impl Known {
    fn new(verdict: Verdict) -> Self {
        let attributes = attributes_of(&verdict.head.definition());
        Self { verdict, attributes }
    }

    const fn canonical(&self) -> &Canonical {
        &self.verdict.head.grammar.canonical
    }
}

/// A subfile whose tables were read.
struct Member {
    number: u32,
    subfile: Subfile,
    /// `Dk.max_nreqs` of each decomposition.
    max_nreqs: Vec<u64>,
    /// Whether the netCDF file is damaged: its number of records may be any number.
    is_damaged: bool,
}

struct Check<'a, F: ?Sized> {
    files: &'a F,
    options: Options<'a>,
    set: Option<Known>,
    members: Vec<Member>,
}

impl<F: Files + ?Sized> Check<'_, F> {
    /// Reads all subfiles.
    fn set(&mut self, report: &mut Report<'_>) -> Result<(), <F::Subject as ReadAt>::Error> {
        let there = match self.options.only {
            Some(number) => vec![number],
            None => self.files.there()?.into_iter().collect(),
        };
        self.set = self.judge(&there).map(Known::new);
        if let Some(set) = &self.set {
            let canonical = set.canonical();
            report.summary.container = Some(set.verdict.head.container());
            report.summary.nsubfiles = canonical.nsubfiles;
            report.summary.decompositions = usize_to_u64(canonical.decompositions.len());
            report.summary.variables = usize_to_u64(canonical.variables.len());
        }
        let mut failed = None;
        for &number in &there {
            report.file = number;
            if let Err(error) = self.subfile(number, report) {
                let is_unread = matches!(error, DriveError::Store(_));
                failed = failed.or(is_unread.then_some(number));
                report.failed(error);
            }
        }
        match (&self.set, failed) {
            // The error, once more.
            (None, Some(number)) => self.files.open(number).map(drop)?,
            (Some(set), _) if self.options.only.is_none() => missing(set, &there, report),
            _ => {}
        }
        Ok(())
    }

    /// Judges whose header counts. What cannot be read is reported later.
    fn judge(&self, there: &[u32]) -> Option<Verdict> {
        let hear = |jury: &mut Jury| -> Result<(), Infallible> {
            for &number in there {
                if let Ok(store) = self.files.open(number) {
                    let _unread = jury.hear(number, &store);
                }
            }
            Ok(())
        };
        let Ok(verdict) = Jury::settled(hear);
        verdict
    }

    /// Reads a subfile, and compares it with what all subfiles have.
    fn subfile(&mut self, number: u32, report: &mut Report<'_>) -> Result<(), Failure<F>> {
        let store = self.files.open(number).map_err(DriveError::Store)?;
        let before = report.summary.damage;
        if container(&store)? == Container::Cdf {
            Self::as_netcdf(&store, report)?;
        }
        let is_damaged = report.summary.damage > before;
        let head = match Head::read(&store) {
            // It was reported.
            Err(DriveError::Format(Flaw::Cdf(_))) if is_damaged => {
                return Ok(());
            }
            head => head?,
        };
        if head.data.is_some() {
            let at = head.header_end.saturating_sub(head.header.head().file_len);
            let mut found = |what| report.add(SetFinding::Cdf(what));
            cdf::verify_header(&head.header, at, &mut found);
        }
        let definition = head.definition();
        if let Err(error) = definition.plan() {
            let name = definition.name_of(&error).into();
            report.add(FindingKind::NotCanonical { name, error }.into());
        }
        let Some(set) = &self.set else { return Ok(()) }; // never: it has a header
        let nsubfiles = set.canonical().nsubfiles;
        if u64::from(number) >= nsubfiles {
            report.add(FindingKind::Extra { number, nsubfiles }.into());
            return Ok(());
        }
        if let Some(flaw) = set.verdict.flaw(number) {
            return Err(DriveError::Format(flaw.clone()));
        }
        let belongs = head.must_belong(set.canonical(), set.verdict.head.container());
        belongs.map_err(DriveError::Format)?;
        compare(set, (&head.grammar, &definition), report);
        let max_nreqs = head.grammar.locals.iter().map(|local| local.max_nreqs).collect();
        let subfile = Subfile::examine(&store, &head, &mut |flaw| {
            match flaw {
                Flaw::Cdf(_) => {} // reported as of any netCDF file
                flaw => report.wrong(flaw),
            }
            Ok(())
        })?;
        let sum = &mut report.summary;
        sum.subfiles = sum.subfiles.saturating_add(1);
        sum.blobs = sum.blobs.saturating_add(usize_to_u64(subfile.nblobs));
        if set.verdict.unsealed.contains(&number) {
            report.add(SetFinding::wrong(Flaw::NoSeal));
        }
        if subfile.is_stray() {
            report.add(FindingKind::Stray {}.into());
        }
        let lost = usize_to_u64(subfile.nblobs.saturating_sub(subfile.found));
        if lost > 0 {
            let first = usize_to_u64(subfile.found);
            report.add(FindingKind::LostBlobs { first, count: lost }.into());
        }
        let checked = Self::seal(&store, (&head, &subfile), set, report);
        self.members.push(Member { number, subfile, max_nreqs, is_damaged });
        checked
    }

    /// Checks a subfile as any netCDF file.
    fn as_netcdf(store: &F::Subject, report: &mut Report<'_>) -> Result<(), Failure<F>> {
        let is_sound = |found: &Vec<cdf::FindingKind>| {
            found.iter().all(|what| what.severity() == Severity::Note)
        };
        let found = steady(is_sound, || {
            let mut found = Vec::new();
            cdf::verify(store, &mut |what| found.push(what)).map(|_| found)
        });
        for what in found.map_err(DriveError::Store)? {
            report.add(SetFinding::Cdf(what));
        }
        Ok(())
    }

    /// Compares the numbers of records and of blobs.
    fn against_each_other(&self, set: &Known, report: &mut Report<'_>) {
        let numrecs = self.numbers_of_records();
        let first = numrecs.first().copied().unwrap_or(0);
        report.summary.numrecs = first;
        for (Member { number, subfile, .. }, value) in self.members.iter().zip(numrecs) {
            let variables = set.canonical().variables.iter();
            let claimed = variables.fold(0_u64, |sum, variable| {
                sum.saturating_add(bytes_of(variable, subfile)) // of any number of records
            });
            report.summary.data.add(claimed.min(subfile.file_len));
            if value != first {
                report.file = *number;
                let expected = first;
                let is_cut = value > first && set.verdict.tied.contains(number);
                report.add(match is_cut {
                    true => FindingKind::Uncounted { value, expected }.into(),
                    false => FindingKind::Records { value, expected }.into(),
                });
            }
        }
        let canonical = set.canonical();
        let (value, expected) = (report.summary.blobs, canonical.nprocs);
        let is_whole = usize_to_u64(self.members.len()) == canonical.nsubfiles;
        if is_whole && value != expected {
            report.file = set.verdict.number;
            report.add(FindingKind::Nblobs { value, expected }.into());
        }
    }

    /// The number of records of each subfile. If they differ, another process may be appending:
    /// they are read again.
    fn numbers_of_records(&self) -> Vec<u64> {
        let known: Vec<_> = self.members.iter().map(|member| member.subfile.numrecs).collect();
        let is_one = |all: &Vec<u64>| all.iter().all(|numrecs| Some(numrecs) == all.first());
        if is_one(&known) {
            return known;
        }
        let again = || -> Result<Vec<u64>, Infallible> {
            let of = |member: &Member| {
                let head = Head::read(&self.files.open(member.number).ok()?).ok()?;
                head.grammar.numrecs
            };
            let all = self.members.iter().map(|one| of(one).unwrap_or(one.subfile.numrecs));
            Ok(all.collect())
        };
        let Ok(numrecs) = steady(is_one, again);
        numrecs
    }

    /// Opens a subfile that was read before.
    fn open(&self, member: &Member) -> Result<F::Subject, Failure<F>> {
        self.files.open(member.number).map_err(DriveError::Store)
    }
}

/// The bytes of the values of a variable in a subfile.
fn bytes_of(variable: &super::grammar::Variable, subfile: &Subfile) -> u64 {
    let records = if variable.is_record { subfile.numrecs } else { 1 };
    let values = match variable.decomposition {
        None => variable.count,
        Some(index) => (0..subfile.found)
            .filter_map(|blob| subfile.shares(blob).get(index))
            .fold(0_u64, |sum, share| sum.saturating_add(share.count)),
    };
    values.saturating_mul(records).saturating_mul(variable.nc_type.size())
}

/// Reports the subfiles that are missing.
fn missing(set: &Known, there: &[u32], report: &mut Report<'_>) {
    let end = u32::try_from(set.canonical().nsubfiles).unwrap_or(u32::MAX);
    let mut next = 0;
    for &number in there.iter().filter(|number| **number < end).chain([&end]) {
        if next < number {
            report.file = next;
            let last = number.saturating_sub(1);
            report.add(FindingKind::Missing { first: next, last }.into());
        }
        next = number.saturating_add(1);
    }
}

/// Compares what may differ in subfiles of a set.
fn compare(set: &Known, (own, definition): (&Grammar, &Definition<'_>), report: &mut Report<'_>) {
    let (value, expected) = (own.canonical.nprocs, set.canonical().nprocs);
    if value != expected {
        report.add(FindingKind::Nprocs { value, expected }.into());
    }
    let names = set.canonical().variables.iter().map(|variable| &*variable.name);
    let names = [""].into_iter().chain(names);
    for (name, (known, own)) in names.zip(set.attributes.iter().zip(attributes_of(definition))) {
        compare_attributes(name, known, &own, report);
    }
}

/// The attributes of the canonical file, then those of each variable.
fn attributes_of(definition: &Definition<'_>) -> Vec<Vec<Attribute>> {
    let lists = definition.lists().map(|list| list.iter().copied().map(Attribute::from));
    lists.map(Iterator::collect).collect()
}

fn compare_attributes<'a>(
    of: &str,
    known: &'a [Attribute],
    own: &'a [Attribute],
    report: &mut Report<'_>,
) {
    if known == own {
        return;
    }
    let mut differs = |attribute: &Attribute| {
        let name: Box<str> = format!("{of}:{}", attribute.name).into();
        report.add(FindingKind::Attribute { name }.into());
    };
    let pair = |one: &'a Attribute| (&*one.name, one);
    let by_name = [known, own].map(|all| all.iter().map(pair).collect::<BTreeMap<_, _>>());
    let [known_names, own_names] = by_name;
    known.iter().filter(|one| own_names.get(&*one.name) != Some(one)).for_each(&mut differs);
    own.iter().filter(|one| !known_names.contains_key(&*one.name)).for_each(differs);
}

/// The requests of a blob of a subfile.
type BlobList = (u32, u32, Lists);

/// The requests of each blob of each member, for a comparison with a map.
type BlobLists = Vec<BlobList>;
