//! Checks the files of a set against each other, the mapping, and global ranks.

use super::behind;
use super::files::PartOfSet;
use super::part::{self, Part};
use super::{Failed, FindingKind, MAX_COMPARED_RANKS, Report};
use crate::subject::Files;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use striae_core::field::FieldId;
use striae_core::sion::mapping::Mapping;
use striae_core::sion::set::{differences, identity_of, newest_apart};
use striae_core::sion::{Error, Head, Meta1, raw};
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};

/// What the seal of a file says of its set.
struct Belonging {
    file: u32,
    /// `None` without a sound seal.
    identity: Option<u32>,
    /// The number of its commit in the set; 0 if it is of none.
    set_number: u32,
}

/// The tasks of the files that could be read, by file number.
struct Tasks {
    files: BTreeMap<u32, FileTasks>,
    /// The number of files that the set should have.
    nfiles: u32,
    /// Tasks of all of them.
    ntasks: u64,
}

struct FileTasks {
    ntasks: u32,
    /// `None` if there are too many to keep.
    ranks: Option<Vec<i64>>,
}

/// Checks the first of `files`, and the set to which it belongs.
pub(super) fn check<F: Files + ?Sized>(
    files: &F,
    report: &mut Report<'_>,
) -> Result<(), Failed<F::Subject>> {
    let store = files.open(0).map_err(DriveError::Store)?;
    let Some(mut first) = part::check(&store, 0, report)? else { return Ok(()) };
    let is_numbered = !first.fixed.is_wrong(raw::Meta1::filenumber);
    let is_first = first.head.meta1.is_first_of_several() && is_numbered;
    let is_set = is_first || is_misnumbered(files, &first.head.meta1);
    let mut tasks = Tasks::new(if is_set { first.head.meta1.nfiles() } else { 1 });
    tasks.add(0, &mut first);
    if is_set {
        let own = differences(&first.head.meta1, 0, &first.head.meta1).next();
        own.into_iter().for_each(|error| report.wrong(error));
        check_siblings(files, &first, &mut tasks, report);
        report.file = 0;
    } else {
        report.summary.part_of_set = PartOfSet::of(&first.head.meta1).filter(|_| is_numbered);
        if let Some(named) = files.named() {
            check_name(named, &first.head.meta1, report);
        }
    }
    report.summary.set_commit = Some(first.set_number).filter(|number| *number > 0);
    if let Some(mapping) = first.mapping.filter(|_| is_set) {
        check_mapping_size(&first.head, &mapping, &tasks, report);
        check_mapping(&store, &first.head, &mapping, &tasks, report)?;
    }
    check_ranks(tasks, report);
    Ok(())
}

/// Whether a file is file 0 of a set by its name, as later ones are beside it, and has another
/// number.
fn is_misnumbered<F: Files + ?Sized>(files: &F, meta1: &Meta1) -> bool {
    let has_later =
        || files.there().is_ok_and(|there| there.range(1..meta1.nfiles()).next().is_some());
    meta1.nfiles() > 1
        && meta1.filenumber().is_some_and(|number| number > 0)
        && files.named() == Some(0)
        && has_later()
}

/// A later file of a set that was opened alone has its number in its name, by which readers find
/// it.
fn check_name(named: u32, meta1: &Meta1, report: &mut Report<'_>) {
    let Some(number) = meta1.filenumber().filter(|_| meta1.nfiles() > 1) else { return };
    if number != 0 && number != named {
        let field = raw::Meta1::filenumber;
        report.unusual(field, field.offset().into(), number, format_args!("{named} by its name"));
    }
}

/// Checks all files but the first.
fn check_siblings<F: Files + ?Sized>(
    files: &F,
    first: &Part,
    tasks: &mut Tasks,
    report: &mut Report<'_>,
) {
    let there = match files.there() {
        Ok(there) => there,
        Err(error) => return report.failed(DriveError::Store(error)),
    };
    let (mut next, mut belongings) = (1, vec![Belonging::of(0, first)]);
    for number in there.range(1..tasks.nfiles) {
        report_missing(next, *number, report);
        next = number.saturating_add(1);

        report.file = *number;
        let store = files.open(*number).map_err(DriveError::Store);
        match store.and_then(|store| part::check(&store, tasks.ntasks, report)) {
            Ok(Some(mut part)) => {
                compare(first, *number, &part, report);
                belongings.push(Belonging::of(*number, &part));
                tasks.add(*number, &mut part);
            }
            Ok(None) => {}
            Err(error) => report.failed(error),
        }
    }
    report_missing(next, tasks.nfiles, report);
    report_others(&belongings, report);
}

/// Reports the files whose seals have another identity than that of the set, and those of an older
/// commit of the set.
fn report_others(belongings: &[Belonging], report: &mut Report<'_>) {
    let Some(usual) = identity_of(belongings.iter().map(|file| file.identity)) else { return };
    for Belonging { file, identity, .. } in belongings {
        if let Some(identity) = identity.filter(|&identity| identity != usual) {
            report.file = *file;
            report.add(FindingKind::OtherSet { identity, usual });
        }
    }
    // The numbers of another set say nothing.
    let own = belongings.iter().filter(|file| file.identity == Some(usual));
    let Some(usual) = newest_apart(own.clone().map(|file| file.set_number)) else { return };
    for Belonging { file, set_number: number, .. } in own {
        if (1..usual).contains(number) {
            report.file = *file;
            report.add(FindingKind::Apart { number: *number, usual });
        }
    }
}

/// Reports that the files from `first` to before `end` are missing, if there are any.
fn report_missing(first: u32, end: u32, report: &mut Report<'_>) {
    if first < end {
        report.file = first;
        report.add(FindingKind::Missing { first, last: end.saturating_sub(1) });
    }
}

/// Reports why `part` cannot be file `number` of the set, and other differences from the first
/// file.
fn compare(first: &Part, number: u32, part: &Part, report: &mut Report<'_>) {
    if first.fixed.errors.is_empty() && part.fixed.errors.is_empty() {
        for error in differences(&first.head.meta1, number, &part.head.meta1) {
            report.wrong(error);
        }
        let [usual, value] = [first, part].map(|part| part.head.meta1.fsblksize());
        if value != usual {
            let field = raw::Meta1::fsblksize;
            let usual = format_args!("{usual} as in the first file");
            report.unusual(field, field.offset().into(), value, usual);
        }
    }
    let orders = |part: &Part| {
        let (meta, data) = (part.head.meta1.order(), part.head.meta1.data_order());
        format!("{meta}-endian with {data}-endian data")
    };
    let prefix = |part: &Part| {
        let prefix =
            String::from_utf8_lossy(part.head.meta1.prefix(&part.fixed.bytes)).into_owned();
        format!("{prefix:?}")
    };
    let field = part.head.meta1.prefix_field();
    for (field, [usual, value]) in [
        (raw::Ident::endianness, [orders(first), orders(part)]),
        (field, [prefix(first), prefix(part)]),
    ] {
        if value != usual {
            let usual = format_args!("{usual} as in the first file");
            report.unusual(field, field.offset().into(), value, usual);
        }
    }
}

/// Checks that the mapping has no more entries than there are tasks, and one for each task with a
/// global rank. Tasks that only collected the data of a buddy set have a negative global rank and
/// no entry. SIONlib's programs crash if the mapping is empty.
fn check_mapping_size(head: &Head, mapping: &Mapping, tasks: &Tasks, report: &mut Report<'_>) {
    let field = raw::MappingSize::mapping_size;
    let offset = head.meta2.map_or(0, |meta2| meta2.end());
    if mapping.is_empty() {
        return report.wrong(Error::TooSmall { field, offset, value: 0, min: 1 });
    }
    if !tasks.is_complete() {
        return;
    }
    let [value, max] = [mapping.len(), tasks.ntasks].map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    if value > max {
        report.wrong(Error::TooLarge { field, offset, value, max });
    }
    if let Some(ranked) = tasks.ranked().filter(|&ranked| mapping.len() < ranked) {
        let usual = format_args!("{ranked}, the tasks with a global rank");
        report.unusual(field, offset, value, usual);
    }
}

/// Checks that each entry names an existing task with the entry's global rank, if any task has it.
fn check_mapping<S: ReadAt>(
    store: &S,
    head: &Head,
    mapping: &Mapping,
    tasks: &Tasks,
    report: &mut Report<'_>,
) -> Result<(), Failed<S>> {
    let mut ranks = None;
    behind::each_entry(store, mapping, head.meta1.order(), |entry, offset, [file, lrank]| {
        match tasks.find((file, lrank), offset) {
            Err(error) => report.wrong(error),
            Ok(Some((filenumber, lrank, globalrank))) if u64::try_from(globalrank) != Ok(entry) => {
                let ranks = ranks.get_or_insert_with(|| tasks.sorted_ranks());
                let rank = i64::try_from(entry).unwrap_or(i64::MAX);
                report.add(match ranks.binary_search(&rank) {
                    Ok(_) => FindingKind::Misled { offset, entry, filenumber, lrank, globalrank },
                    Err(_) => {
                        FindingKind::Unranked { offset, entry, filenumber, lrank, globalrank }
                    }
                });
            }
            Ok(_) => {}
        }
    })
}

/// Checks that global ranks are unique, except from serial writers, which may store any number.
fn check_ranks(tasks: Tasks, report: &mut Report<'_>) {
    let (ntasks, limit) = (tasks.ntasks, MAX_COMPARED_RANKS);
    let mut all = Vec::new();
    for file in tasks.files.into_values() {
        match file.ranks {
            Some(mut ranks) => all.append(&mut ranks),
            None => return report.add(FindingKind::TooManyTasks { ntasks, limit }),
        }
    }
    all.sort_unstable();
    for same in all.chunk_by(|a, b| a == b) {
        if let [globalrank, _, ..] = same {
            let tasks = usize_to_u64(same.len());
            report.add(FindingKind::Repeated { globalrank: *globalrank, tasks });
        }
    }
}

impl Belonging {
    const fn of(file: u32, part: &Part) -> Self {
        Self { file, identity: part.identity, set_number: part.set_number }
    }
}

impl Tasks {
    const fn new(nfiles: u32) -> Self {
        Self { files: BTreeMap::new(), nfiles, ntasks: 0 }
    }

    fn add(&mut self, number: u32, part: &mut Part) {
        let ntasks = part.head.meta1.ntasks();
        self.ntasks = self.ntasks.saturating_add(ntasks.into());
        self.files.insert(number, FileTasks { ntasks, ranks: part.ranks.take() });
    }

    /// Whether the tasks of all files are known.
    fn is_complete(&self) -> bool {
        u32::try_from(self.files.len()) == Ok(self.nfiles)
    }

    /// Number of tasks with a global rank that is not negative, if all are known.
    fn ranked(&self) -> Option<u64> {
        let mut ranked = 0usize;
        for file in self.files.values() {
            let ranks = file.ranks.as_ref()?;
            ranked = ranked.saturating_add(ranks.iter().filter(|rank| **rank >= 0).count());
        }
        u64::try_from(ranked).ok()
    }

    /// The known global ranks, sorted.
    fn sorted_ranks(&self) -> Vec<i64> {
        let known = self.files.values().filter_map(|file| file.ranks.as_ref());
        let mut ranks: Vec<_> = known.flatten().copied().collect();
        ranks.sort_unstable();
        ranks
    }

    /// The task that the mapping's entry at `offset` names, and its global rank; `None` if the task
    /// is unknown because its file is damaged.
    fn find(&self, entry: (i32, i32), offset: u64) -> Result<Option<(u32, u32, i64)>, Error> {
        let (filenumber, lrank) = (raw::MappingEntry::filenumber, raw::MappingEntry::lrank);
        let number = below(entry.0, self.nfiles, filenumber, offset)?;
        let offset = offset.saturating_add(lrank.offset().into());
        let ntasks = self.files.get(&number).map(|file| file.ntasks);
        let local = below(entry.1, ntasks.unwrap_or(u32::MAX), lrank, offset)?;

        let ranks = self.files.get(&number).and_then(|file| file.ranks.as_ref());
        let rank = ranks.and_then(|ranks| ranks.get(usize::try_from(local).ok()?));
        Ok(rank.map(|rank| (number, local, *rank)))
    }
}

/// `value`, if it is at least 0 and below `end`.
fn below(value: i32, end: u32, field: FieldId, offset: u64) -> Result<u32, Error> {
    let found = i64::from(value);
    match u32::try_from(value) {
        Ok(value) if value < end => Ok(value),
        Ok(_) => {
            let max = i64::from(end).saturating_sub(1);
            Err(Error::TooLarge { field, offset, value: found, max })
        }
        Err(_) => Err(Error::TooSmall { field, offset, value: found, min: 0 }),
    }
}
