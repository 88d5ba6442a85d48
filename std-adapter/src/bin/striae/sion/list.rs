//! `striae info` and `striae ls`.

use crate::args::{InfoArgs, Lines, LsArgs};
use crate::failure::{Failure, FirstError, Sound, complain};
use crate::part::PartOfSet;
use crate::printable::printable;
use crate::sheet::{Cell, Column, Sheet, left, right};
use crate::text::{print, print_json_of};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::io::{self, Write};
use striae::Error;
use striae::address::{Address, Index, Part};
use striae::sion::verify::{Ending, Sealing, State, state};
use striae::sion::{File, Opened, TaskEntry};
use striae_core::sion::KeyvalMode;

/// A set, closed or not.
struct Set<'a>(Opened, &'a crate::args::Set);

impl<'a> Set<'a> {
    fn open(args: &'a crate::args::Set) -> Result<Self, Error> {
        Ok(Self(args.open_any(None)?, args))
    }

    fn closed(&self) -> Option<&File> {
        match &self.0 {
            Opened::Closed(file) => Some(file),
            Opened::Unclosed(_) => None,
        }
    }

    /// Complains if the set was never closed.
    fn soundness(&self) -> Sound {
        match &self.0 {
            Opened::Closed(_) => Sound::Yes,
            Opened::Unclosed(set) => {
                complain(&set.not_closed().to_string());
                Sound::No
            }
        }
    }

    fn summary(&self) -> Option<Summary<'_>> {
        let files = self.0.files();
        let meta1 = files.first()?.1.meta1;
        Some(Summary {
            format: "sion",
            fileformat_version: meta1.fileformat_version().number(),
            meta_order: meta1.order().to_string(),
            data_order: meta1.data_order().to_string(),
            keyval: meta1.keyval().to_string(),
            closed: self.closed().is_some(),
            fsblksize: meta1.fsblksize(),
            ntasks: self.0.ntasks(),
            files: files
                .iter()
                .map(|(path, head)| PhysicalFile {
                    path: path.to_string_lossy(),
                    ntasks: head.meta1.ntasks(),
                })
                .collect(),
            part_of_set: self.0.part_of_set().map(|part| PartOfSet::new(part, &self.1.path)),
        })
    }
}

/// The common first part of `ls --json` and `info --json`.
#[derive(Serialize)]
struct Summary<'a> {
    format: &'static str,
    fileformat_version: u8,
    meta_order: String,
    data_order: String,
    keyval: String,
    closed: bool,
    fsblksize: u32,
    ntasks: u64,
    files: Vec<PhysicalFile<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part_of_set: Option<PartOfSet>,
}

#[derive(Serialize)]
struct PhysicalFile<'a> {
    path: std::borrow::Cow<'a, str>,
    ntasks: u32,
}

#[derive(Serialize)]
struct Listing<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    tasks: Rows<'a>,
}

/// The tasks. They are read while they are printed, since there may be millions.
struct Rows<'a> {
    set: &'a Set<'a>,
    keys: bool,
    failed: &'a FirstError,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut rows = serializer.serialize_seq(None)?;
        match self.set.0.tasks() {
            Ok(tasks) => {
                for (task, entry) in (0..).zip(tasks) {
                    match entry {
                        Ok(entry) => rows.serialize_element(&Row { list: self, entry })?,
                        Err(error) => {
                            let error = self.failed.keep(error);
                            rows.serialize_element(&WrongRow { task, error })?;
                        }
                    }
                }
            }
            Err(error) => {
                self.failed.keep(error);
            }
        }
        rows.end()
    }
}

/// The row of a task that cannot be listed, with the error.
#[derive(Serialize)]
struct WrongRow {
    task: u64,
    error: String,
}

/// The row of a task.
struct Row<'a> {
    list: &'a Rows<'a>,
    entry: TaskEntry,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (entry, file) = (self.entry, self.list.set.closed());
        let mut row = serializer.serialize_map(None)?;
        row.serialize_entry("task", &entry.task)?;
        row.serialize_entry("address", &Address::task(entry.task).to_string())?;
        row.serialize_entry("globalrank", &entry.place.globalrank)?;
        row.serialize_entry("file", &entry.file)?;
        row.serialize_entry("local", &entry.place.local)?;
        row.serialize_entry("chunksize", &entry.place.chunks.chunksize)?;
        // Lengths are unknown in a set that was never closed.
        let error = RefCell::new(None);
        row.serialize_entry("chunks", &file.map(|file| Lens { file, entry, error: &error }))?;
        row.serialize_entry("bytes", &file.map(|_| entry.bytes))?;
        if let Some(file) = file.filter(|_| self.list.keys) {
            row.serialize_entry("keys", &Keys { file, entry, error: &error })?;
        }
        if let Some(error) = error.into_inner() {
            row.serialize_entry("error", &self.list.failed.keep(error))?;
        }
        row.end()
    }
}

/// The chunk lengths of a task. An error ends the list and is stored in `error`.
struct Lens<'a> {
    file: &'a File,
    entry: TaskEntry,
    error: &'a RefCell<Option<Error>>,
}

impl Serialize for Lens<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let lens = self.file.chunk_lens(&self.entry).map_err(|error| keep::<()>(self.error, error));
        let lens = lens.into_iter().flatten();
        serializer.collect_seq(lens.map_while(|len| match len {
            Ok(len) => Some(len),
            Err(error) => keep(self.error, error),
        }))
    }
}

/// The key-value records of a task. An error ends the list and is stored in `error`.
struct Keys<'a> {
    file: &'a File,
    entry: TaskEntry,
    error: &'a RefCell<Option<Error>>,
}

#[derive(Serialize)]
struct Key {
    key: u64,
    address: String,
    bytes: u64,
}

impl Serialize for Keys<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_seq(None)?;
        let listed = each_key(self.file, &self.entry, |key| keys.serialize_element(&key));
        match listed {
            Ok(written) => written?,
            Err(error) => drop(keep::<()>(self.error, error)),
        }
        keys.end()
    }
}

fn keep<T>(place: &RefCell<Option<Error>>, error: Error) -> Option<T> {
    place.borrow_mut().get_or_insert(error);
    None
}

/// Calls `each` for each key-value record of a task until `each` fails.
fn each_key<E>(
    file: &File,
    entry: &TaskEntry,
    mut each: impl FnMut(Key) -> Result<(), E>,
) -> Result<Result<(), E>, Error> {
    if file.keyval() != KeyvalMode::Inline {
        return Ok(Ok(()));
    }
    for record in file.stream_of(entry)?.records()? {
        let record = record.map_err(|error| error.of_task(entry.task))?;
        let address = Address::Task(Index::FromStart(entry.task), Part::Key(record.key));
        let address = address.to_string();
        let written = each(Key { key: record.key, address, bytes: record.len });
        if written.is_err() {
            return Ok(written);
        }
    }
    Ok(Ok(()))
}

pub(super) fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    let set = Set::open(&args.file)?;
    let failed = FirstError::default();
    if args.json {
        if let Some(summary) = set.summary() {
            let tasks = Rows { set: &set, keys: args.keys, failed: &failed };
            print_json_of(&set.1.path, &Listing { summary, tasks })?;
        }
    } else {
        set.1.complain_of_part(set.0.part_of_set());
        print(|out| match args.addresses {
            true => ls_addresses(out, &set, args.keys, &failed),
            false => ls_text(out, &set, args, &failed),
        })?;
    }
    failed.into_failure()?;
    Ok(set.soundness())
}

/// Prints the addresses of all tasks, and of their keys if `keys` is set.
fn ls_addresses(
    out: &mut impl Write,
    set: &Set<'_>,
    keys: bool,
    failed: &FirstError,
) -> io::Result<()> {
    let tasks = set.0.tasks().map_err(|error| failed.keep(error));
    for entry in tasks.into_iter().flatten() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                failed.keep(error);
                continue;
            }
        };
        writeln!(out, "{}", Address::task(entry.task))?;
        let Some(file) = set.closed().filter(|_| keys) else { continue };
        let mut seen = BTreeSet::new();
        let written = each_key(file, &entry, |Key { key, address, .. }| match seen.insert(key) {
            true => writeln!(out, "{address}"),
            false => Ok(()),
        });
        match written {
            Ok(written) => written?,
            Err(error) => drop(failed.keep(error)),
        }
    }
    Ok(())
}

const COLUMNS: &[Column] = &[
    right("task", 8),
    right("globalrank", 12),
    right("file", 6),
    right("local", 8),
    right("chunksize", 14),
    right("chunks", 8),
    right("bytes", 16),
    left("keys", 0),
];

fn ls_text(
    out: &mut impl Write,
    set: &Set<'_>,
    args: &LsArgs,
    failed: &FirstError,
) -> io::Result<()> {
    let keys = args.keys;
    let columns = if keys { Some(COLUMNS) } else { COLUMNS.split_last().map(|(_, most)| most) };
    let mut sheet = Sheet::new(columns.unwrap_or_default(), args.form(), out)?;
    let tasks = match set.0.tasks() {
        Ok(tasks) => tasks,
        Err(error) => {
            failed.keep(error);
            return Ok(());
        }
    };
    // Lengths are unknown in a set that was never closed.
    let known = |number: u64| set.closed().map_or(Cell::Unknown, |_| Cell::Number(number));
    for (task, entry) in (0u64..).zip(tasks) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                sheet.row(&[Cell::Number(task), Cell::Wrong(&failed.keep(error))])?;
                continue;
            }
        };
        let (place, chunks) = (entry.place, entry.place.chunks);
        let row = [
            Cell::Number(task),
            Cell::Signed(place.globalrank),
            Cell::Number(entry.file.into()),
            Cell::Number(place.local.into()),
            Cell::Number(chunks.chunksize),
            known(place.blockcount),
            known(entry.bytes),
        ];
        sheet.row_and(&row, |out| match set.closed().filter(|_| keys) {
            Some(file) => write_keys(out, file, &entry, failed),
            None => Ok(()),
        })?;
    }
    Ok(())
}

/// Prints the keys of a task, each with the bytes of its value.
fn write_keys(
    out: &mut impl Write,
    file: &File,
    entry: &TaskEntry,
    failed: &FirstError,
) -> io::Result<()> {
    let write = |Key { key, bytes, .. }: Key| write!(out, "  {key}:{bytes}");
    match each_key(file, entry, write) {
        Ok(written) => written,
        Err(error) => write!(out, "  {}", printable(&failed.keep(error))),
    }
}

pub(super) fn info(args: &InfoArgs) -> Result<Sound, Failure> {
    let set = Set::open(&args.file)?;
    let Some(summary) = set.summary() else { return Ok(Sound::Yes) };
    let files = set.0.files();
    let states = files.iter().map(|(path, _)| state(path)).collect::<Result<Vec<_>, _>>()?;
    let info = Info::new(summary, &states);
    args.print(&info, || {
        set.1.complain_of_part(set.0.part_of_set());
        lines(&set, &info.summary, &states)
    })?;
    Ok(set.soundness())
}

/// The output of `info --json`.
#[derive(Serialize)]
struct Info<'a> {
    #[serde(flatten)]
    summary: Summary<'a>,
    /// The state of the set: that of its worst file.
    ending: &'static str,
    seal: &'static str,
    /// The state of each file, in the order of the files.
    endings: Vec<&'static str>,
    seals: Vec<&'static str>,
}

impl<'a> Info<'a> {
    fn new(summary: Summary<'a>, states: &[State]) -> Self {
        let endings = states.iter().map(|state| state.ending);
        let seals = states.iter().map(|state| state.sealing);
        Self {
            summary,
            ending: endings.clone().min().map_or(Ending::Unclosed.name(), Ending::name),
            seal: seals.clone().min().map_or(Sealing::None.name(), Sealing::name),
            endings: endings.map(Ending::name).collect(),
            seals: seals.map(Sealing::name).collect(),
        }
    }
}

/// Whether the set is closed, in words.
fn words_of_ending(states: &[State]) -> &'static str {
    match states.iter().map(|state| state.ending).min() {
        Some(Ending::Closed) => "yes",
        Some(Ending::Committed) => "no, but committed: all until the last commit is there",
        Some(Ending::Misplaced) => "not known: META2 is where neither a close nor a commit puts it",
        Some(Ending::Unclosed) | None => "no",
    }
}

/// Whether the set is sealed, in words.
fn words_of_seal(states: &[State]) -> String {
    let all = states.len();
    let count = |sealing| states.iter().filter(|state| state.sealing == sealing).count();
    let (sealed, stale) = (count(Sealing::Sealed), count(Sealing::Stale));
    let unknown = count(Sealing::Unknown);
    let some = |count: usize| match all {
        1 => String::new(),
        _ => format!(" in {count} of {all} files"),
    };
    match count(Sealing::Damaged) {
        1.. => format!("damaged{}", some(count(Sealing::Damaged))),
        0 if unknown > 0 => format!("of an unknown version{}: not checked", some(unknown)),
        0 if stale > 0 => format!("stale{}: changed later, not sealed again", some(stale)),
        0 if sealed == all => "yes: verify checks it".to_owned(),
        0 if sealed > 0 => format!("only{}", some(sealed)),
        0 => "no".to_owned(),
    }
}

/// Properties that only files of striae have, in words. Not every file of striae has one.
fn marks_of_striae(states: &[State]) -> Option<String> {
    let has = |mark: fn(&State) -> bool| states.iter().any(mark);
    let seal = has(|state| state.sealing != Sealing::None);
    let commit = has(|state| state.ending == Ending::Committed);
    let marks = [(seal, "a seal"), (commit, "META2 not where a close puts it, as by a commit")];
    let marks: Vec<_> = marks.iter().filter(|(has, _)| *has).map(|(_, mark)| *mark).collect();
    (!marks.is_empty()).then(|| marks.join("; "))
}

fn lines(set: &Set<'_>, summary: &Summary<'_>, states: &[State]) -> Result<Lines, Failure> {
    let files = set.0.files();
    let Some((_, head)) = files.first() else { return Ok(Lines::new()) };
    let (library, patch) = head.meta1.library_version();
    let main = library.checked_div(1000).unwrap_or_default();
    let sub = library.checked_rem(1000).unwrap_or_default();
    let bytes = match set.closed() {
        Some(_) => {
            let sum =
                set.0.tasks()?.try_fold(0u64, |sum, task| Ok(sum.saturating_add(task?.bytes)));
            sum.map_err(Failure::File)?.to_string()
        }
        None => "unknown".to_owned(),
    };
    let blocks = files.iter().filter_map(|(_, head)| head.meta2).map(|meta2| meta2.maxchunks());
    let number = |n: usize| n.to_string();
    let mut lines = vec![
        ("format", format!("SIONlib, fileformat_version {}", summary.fileformat_version)),
        ("version fields", format!("SIONlib {main}.{sub} patch {patch}")),
        ("created as", printable(&String::from_utf8_lossy(&set.0.prefix()?))),
        ("closed", words_of_ending(states).to_owned()),
        ("sealed", words_of_seal(states)),
        ("physical files", format!("{} of {}", number(files.len()), head.meta1.nfiles())),
        ("tasks", summary.ntasks.to_string()),
        ("bytes in streams", bytes),
        ("most chunks a task", blocks.max().map_or_else(|| "unknown".into(), |n| n.to_string())),
        ("key-value records", summary.keyval.clone()),
        ("fsblksize", summary.fsblksize.to_string()),
        ("order of metadata", summary.meta_order.clone()),
        ("order of data", summary.data_order.clone()),
    ];
    if let Some(marks) = marks_of_striae(states) {
        lines.insert(2, ("marks of striae", marks));
    }
    Ok(lines)
}
