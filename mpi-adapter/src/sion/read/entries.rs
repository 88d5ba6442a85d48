//! What rank 0 tells all ranks about a set: its files, and the entries of its tasks, in windows.
//!
//! A window starts with a byte that says whether another one follows. Records follow, each with a
//! byte for its kind. All integers are little-endian.

use super::OlderFile;
use crate::error::{Code, Failure};
use embedded_io::ReadExactError;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use striae::sion::{File, Older, TaskEntry, Tasks};
use striae_core::sion::{Chunks, Head, Meta1, Meta2, Task};
use striae_core::store::{ReadAt, usize_to_u64};

/// Length in bytes of a window, at most; that of a record may be added.
pub(super) const WINDOW: usize = 1 << 19;

/// The largest message: a window, and a record with the longest path.
pub(super) const LIMIT: usize = 1 << 20;

/// A record of a window.
#[derive(Debug)]
pub(super) enum Entry {
    /// The set.
    Set { ntasks: u64 },
    /// A file of an older commit than another one.
    Older(OlderFile),
    /// A physical file; its tasks follow.
    File { number: u32, path: PathBuf, head: Box<Head>, globalskip: u64 },
    /// The next task.
    Task(Place),
}

/// A task without what its file has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    local: u32,
    pub(super) globalrank: i64,
    start: u64,
    chunksize: u64,
    blockcount: u64,
}

impl Place {
    /// The task, in a file with this globalskip.
    pub(super) const fn task(&self, globalskip: u64) -> Task {
        let Self { local, globalrank, start, chunksize, blockcount } = *self;
        let chunks = Chunks { start, chunksize, globalskip: Some(globalskip) };
        Task { local, globalrank, chunks, blockcount }
    }
}

const SET: u8 = 0;
const FILE: u8 = 1;
const TASK: u8 = 2;
const OLDER: u8 = 3;

/// Reads the tables of a set in one pass, and makes the windows.
pub(super) struct Windows<'a> {
    set: &'a File,
    tasks: Tasks<'a>,
    /// The files of an older commit, before all others.
    older: std::vec::IntoIter<Older<'a>>,
    /// The number of the current file.
    file: Option<u32>,
    /// A record that did not fit.
    left: Vec<u8>,
}

impl<'a> Windows<'a> {
    pub(super) fn new(set: &'a File) -> Result<Self, Failure> {
        let mut left = vec![SET];
        put(&mut left, set.ntasks());
        let older = set.older()?.into_iter();
        Ok(Self { set, tasks: set.tasks()?, older, file: None, left })
    }

    /// The next window.
    pub(super) fn next(&mut self) -> Result<Vec<u8>, Failure> {
        let mut window = vec![1];
        loop {
            window.append(&mut self.left);
            if window.len() >= WINDOW {
                return Ok(window);
            }
            if let Some(older) = self.older.next() {
                self.put_older(older);
                continue;
            }
            let Some(task) = self.tasks.next() else { break };
            let TaskEntry { file, place, .. } = task?;
            if self.file != Some(file) {
                self.file = Some(file);
                self.put_file(file, place.chunks.globalskip.unwrap_or(0))?;
            }
            self.left.push(TASK);
            put(&mut self.left, place.local.into());
            put(&mut self.left, place.globalrank.cast_unsigned());
            put(&mut self.left, place.chunks.start);
            put(&mut self.left, place.chunks.chunksize);
            put(&mut self.left, place.blockcount);
        }
        window.iter_mut().take(1).for_each(|more| *more = 0);
        Ok(window)
    }

    fn put_older(&mut self, older: Older<'_>) {
        self.left.push(OLDER);
        put(&mut self.left, older.number.into());
        put(&mut self.left, older.newest.into());
        for path in [older.path, older.newer] {
            let path = path.as_os_str().as_bytes();
            put(&mut self.left, usize_to_u64(path.len()));
            self.left.extend_from_slice(path);
        }
    }

    /// Adds a file: its path, and the bytes of its metadata that do not grow with its tasks.
    fn put_file(&mut self, number: u32, globalskip: u64) -> Result<(), Failure> {
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(file) = self.set.reader().files().get(index) else { return Ok(()) };
        let (store, head) = (file.store(), file.head());
        let read = |offset, buf: &mut [u8]| {
            store.read_exact_at(offset, buf).map_err(|error| match error {
                ReadExactError::Other(error) => striae::Error::new(store.path(), error).into(),
                ReadExactError::UnexpectedEof => changed(),
            })
        };
        let len = usize::try_from(head.file_len).unwrap_or(usize::MAX).min(Meta1::MAX_LEN);
        let mut meta1 = vec![0; len];
        read(0, &mut meta1)?;
        let fields = head.meta1.layout().commit_fields();
        let mut meta2 = vec![0; usize::try_from(fields.len()).unwrap_or(0)];
        read(fields.offset(), &mut meta2)?;
        let path = store.path().as_os_str().as_bytes();
        self.left.push(FILE);
        put(&mut self.left, number.into());
        put(&mut self.left, globalskip);
        put(&mut self.left, head.file_len);
        for bytes in [path, &meta1, &meta2] {
            put(&mut self.left, usize_to_u64(bytes.len()));
            self.left.extend_from_slice(bytes);
        }
        // A writer may have committed since the set was opened.
        match parse_head(&meta1, &meta2, head.file_len)? == *head {
            true => Ok(()),
            false => Err(changed()),
        }
    }
}

fn changed() -> Failure {
    Failure::new(Code::Damaged, "the set changed while it was opened")
}

fn put(to: &mut Vec<u8>, number: u64) {
    to.extend_from_slice(&number.to_le_bytes());
}

fn parse_head(meta1: &[u8], meta2: &[u8], file_len: u64) -> Result<Head, Failure> {
    let damaged = |error| Failure::new(Code::Damaged, error);
    let meta1 = Meta1::parse(meta1, file_len).map_err(damaged)?;
    let meta2 = Meta2::parse(meta2, &meta1, file_len).map_err(damaged)?;
    Ok(Head { file_len, meta1, meta2 })
}

/// The records of a window, and whether another window follows.
pub(super) fn entries(window: &[u8]) -> (bool, impl Iterator<Item = Result<Entry, Failure>>) {
    let (more, records) = window.split_first().unwrap_or((&0, &[]));
    let mut records = Records(records);
    (*more == 1, std::iter::from_fn(move || records.next()))
}

/// The records that are left of a window.
struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    fn next(&mut self) -> Option<Result<Entry, Failure>> {
        let (kind, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(match *kind {
            SET => Ok(Entry::Set { ntasks: self.number() }),
            FILE => self.file(),
            OLDER => Ok(Entry::Older(OlderFile {
                number: u32::try_from(self.number()).unwrap_or(u32::MAX),
                newest: u32::try_from(self.number()).unwrap_or(u32::MAX),
                path: self.path(),
                newer: self.path(),
            })),
            _ => Ok(Entry::Task(Place {
                local: u32::try_from(self.number()).unwrap_or(u32::MAX),
                globalrank: self.number().cast_signed(),
                start: self.number(),
                chunksize: self.number(),
                blockcount: self.number(),
            })),
        })
    }

    fn file(&mut self) -> Result<Entry, Failure> {
        let number = u32::try_from(self.number()).unwrap_or(u32::MAX);
        let (globalskip, file_len) = (self.number(), self.number());
        let path = self.path();
        let head = parse_head(self.bytes(), self.bytes(), file_len)?;
        Ok(Entry::File { number, path, head: Box::new(head), globalskip })
    }

    fn path(&mut self) -> PathBuf {
        Path::new(OsStr::from_bytes(self.bytes())).to_owned()
    }

    fn number(&mut self) -> u64 {
        let (number, rest) = self.0.split_first_chunk().unwrap_or((&[0; 8], &[]));
        self.0 = rest;
        u64::from_le_bytes(*number)
    }

    fn bytes(&mut self) -> &'a [u8] {
        let len = usize::try_from(self.number()).unwrap_or(usize::MAX);
        let (bytes, rest) = self.0.split_at_checked(len).unwrap_or((&[], &[]));
        self.0 = rest;
        bytes
    }
}
