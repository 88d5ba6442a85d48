//! `striae info` and `striae ls`.

use crate::args::{InfoArgs, LsArgs};
use crate::failure::{Failure, Sound, complain};
use crate::text::{print_json, stdout};
use serde::ser::{Error as _, SerializeSeq};
use serde::{Serialize, Serializer};
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use striae::Error;
use striae::sion::{File, OpenOptions, Opened, TaskEntry};
use striae_core::sion::{KeyvalMode, Record};

/// A set, closed or not.
struct Set(Opened);

impl Set {
    fn open(path: &Path) -> Result<Self, Error> {
        OpenOptions::new().open(path).map(Self)
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
        let ntasks = files.iter().map(|(_, head)| u64::from(head.meta1.ntasks()));
        Some(Summary {
            format: "sion",
            fileformat_version: meta1.fileformat_version().number(),
            meta_order: meta1.order().to_string(),
            data_order: meta1.data_order().to_string(),
            keyval: meta1.keyval().to_string(),
            closed: self.closed().is_some(),
            fsblksize: meta1.fsblksize(),
            ntasks: ntasks.fold(0, u64::saturating_add),
            files: files
                .iter()
                .map(|(path, head)| PhysicalFile {
                    path: path.to_string_lossy(),
                    ntasks: head.meta1.ntasks(),
                })
                .collect(),
        })
    }
}

/// What `ls --json` and `info --json` start with.
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

/// The tasks, read while they are printed: there may be millions.
struct Rows<'a> {
    set: &'a Set,
    keys: bool,
    /// The error that ended the list, which JSON has no place for.
    failed: RefCell<Option<Error>>,
}

#[derive(Serialize)]
struct Row {
    task: u64,
    globalrank: i64,
    file: u32,
    local: u32,
    chunksize: u64,
    /// Unknown in a set that was never closed.
    chunks: Option<Vec<u64>>,
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keys: Option<Vec<Key>>,
}

#[derive(Serialize)]
struct Key {
    key: u64,
    bytes: u64,
}

impl Row {
    fn new(set: &Set, entry: &TaskEntry, keys: bool) -> Result<Self, Error> {
        let mut row = Self {
            task: entry.task,
            globalrank: entry.place.globalrank,
            file: entry.file,
            local: entry.place.local,
            chunksize: entry.place.chunks.chunksize,
            chunks: None,
            bytes: None,
            keys: None,
        };
        if let Some(file) = set.closed() {
            row.chunks = Some(file.chunk_lens(entry)?);
            row.bytes = Some(entry.bytes);
            if keys {
                let records = match file.keyval() {
                    KeyvalMode::Inline => file.stream_of(entry)?.records()?,
                    _ => Vec::new(),
                };
                let key = |record: &Record| Key { key: record.key, bytes: record.len };
                row.keys = Some(records.iter().map(key).collect());
            }
        }
        Ok(row)
    }
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let failed = |error| {
            *self.failed.borrow_mut() = Some(error);
            S::Error::custom("the list ends here")
        };
        let mut rows = serializer.serialize_seq(None)?;
        for entry in self.set.0.tasks().map_err(failed)? {
            let row = entry.and_then(|entry| Row::new(self.set, &entry, self.keys));
            rows.serialize_element(&row.map_err(failed)?)?;
        }
        rows.end()
    }
}

pub(crate) fn ls(args: &LsArgs) -> Result<Sound, Failure> {
    let set = Set::open(&args.file)?;
    if args.json {
        ls_json(&set, args.keys)?;
    } else {
        ls_text(&set, args.keys)?;
    }
    Ok(set.soundness())
}

fn ls_json(set: &Set, keys: bool) -> Result<(), Failure> {
    let Some(summary) = set.summary() else { return Ok(()) };
    let tasks = Rows { set, keys, failed: RefCell::new(None) };
    let listing = Listing { summary, tasks };
    let printed = print_json(&listing);
    match listing.tasks.failed.into_inner() {
        Some(error) => Err(Failure::File(error)),
        None => printed.map(drop),
    }
}

fn ls_text(set: &Set, keys: bool) -> Result<(), Failure> {
    let mut out = stdout();
    let heading = format_args!(
        "{:>8} {:>12} {:>6} {:>8} {:>14} {:>8} {:>16}",
        "task", "globalrank", "file", "local", "chunksize", "chunks", "bytes"
    )
    .to_string();
    writeln!(out, "{heading}{}", if keys { "  keys" } else { "" }).map_err(Failure::stdout)?;
    for entry in set.0.tasks()? {
        let row = match entry.and_then(|entry| Ok((entry, Row::new(set, &entry, keys)?))) {
            Ok(row) => row,
            Err(error) => {
                out.flush().map_err(Failure::stdout)?;
                return Err(Failure::File(error));
            }
        };
        write_row(&mut out, &row.0, &row.1).map_err(Failure::stdout)?;
    }
    out.flush().map_err(Failure::stdout)
}

fn write_row(out: &mut impl Write, entry: &TaskEntry, row: &Row) -> io::Result<()> {
    let known = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |n| n.to_string());
    write!(
        out,
        "{:>8} {:>12} {:>6} {:>8} {:>14} {:>8} {:>16}",
        row.task,
        row.globalrank,
        row.file,
        row.local,
        row.chunksize,
        known(row.bytes.map(|_| entry.place.blockcount)),
        known(row.bytes),
    )?;
    for (index, Key { key, bytes }) in row.keys.iter().flatten().enumerate() {
        write!(out, "{}{key}:{bytes}", if index == 0 { "  " } else { " " })?;
    }
    writeln!(out)
}

pub(crate) fn info(args: &InfoArgs) -> Result<Sound, Failure> {
    let set = Set::open(&args.file)?;
    let Some(summary) = set.summary() else { return Ok(Sound::Yes) };
    if args.json {
        print_json(&summary)?;
    } else {
        info_text(&set, &summary)?;
    }
    Ok(set.soundness())
}

fn info_text(set: &Set, summary: &Summary<'_>) -> Result<(), Failure> {
    let files = set.0.files();
    let Some((_, head)) = files.first() else { return Ok(()) };
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
    let lines = [
        ("format", format!("SIONlib, fileformat_version {}", summary.fileformat_version)),
        ("written by", format!("SIONlib {main}.{sub}p{patch}")),
        ("created as", String::from_utf8_lossy(&set.0.prefix()?).into_owned()),
        ("closed", if summary.closed { "yes" } else { "no" }.to_owned()),
        ("physical files", format!("{} of {}", number(files.len()), head.meta1.nfiles())),
        ("tasks", summary.ntasks.to_string()),
        ("bytes in streams", bytes),
        ("most chunks a task", blocks.max().map_or_else(|| "unknown".into(), |n| n.to_string())),
        ("key-value records", summary.keyval.clone()),
        ("fsblksize", summary.fsblksize.to_string()),
        ("order of metadata", summary.meta_order.clone()),
        ("order of data", summary.data_order.clone()),
    ];
    let mut out = stdout();
    for (name, value) in lines {
        writeln!(out, "{name:<20}{value}").map_err(Failure::stdout)?;
    }
    out.flush().map_err(Failure::stdout)
}
