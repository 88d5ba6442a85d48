//! What a handle has behind its pointer.

use super::code::Code;
use super::handle::{GsdHandle, GsdHeader, GsdIndexEntry};
use super::read::Seen;
use super::write::{Settings, Writing};
use crate::boundary::set_errno;
use libc::c_uint;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use striae::gsd::{Builder, ChunkType, OpenOptions, Version};

/// How a file is opened: `enum gsd_open_flag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    ReadWrite,
    ReadOnly,
    Append,
}

impl Mode {
    pub(super) fn new(flags: c_uint) -> Result<Self, Code> {
        match flags {
            1 => Ok(Self::ReadWrite),
            2 => Ok(Self::ReadOnly),
            3 => Ok(Self::Append),
            _ => {
                let why = "flags must be GSD_OPEN_READWRITE, GSD_OPEN_READONLY or GSD_OPEN_APPEND";
                Err(Code::INVALID_ARGUMENT.because(&why))
            }
        }
    }

    pub(super) const fn number(self) -> c_uint {
        match self {
            Self::ReadWrite => 1,
            Self::ReadOnly => 2,
            Self::Append => 3,
        }
    }
}

/// What a new file says about itself, and its layout.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewFile<'a> {
    pub(super) application: &'a [u8],
    pub(super) schema: &'a [u8],
    pub(super) schema_version: u32,
    pub(super) checksums: bool,
    pub(super) align: u64,
}

/// Options of an open file that gsd does not have.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Options {
    pub(super) settings: Settings,
    /// Whether what is read is compared with checksums.
    pub(super) checked: bool,
}

/// An open file. Several threads may call all methods at once.
#[derive(Debug)]
pub(super) struct State {
    path: PathBuf,
    mode: Mode,
    /// The process whose frames a close commits: the one that has opened it, or a forked child
    /// that has ended a frame.
    process: AtomicU32,
    file: fs::File,
    seen: RwLock<Seen>,
    writing: Mutex<Writing>,
    /// The header after the last change by this handle.
    header: Mutex<[u8; 256]>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes an empty file at `path`, in place if there is one. With `exclusive`, there may be none.
pub(super) fn create(
    path: &Path,
    new: &NewFile<'_>,
    settings: Settings,
    exclusive: bool,
) -> Result<striae::gsd::FileWriter, Code> {
    let mut open = fs::OpenOptions::new();
    open.read(true).write(true).mode(0o660); // gsd's mode
    match exclusive {
        true => open.create_new(true),
        false => open.create(true).truncate(false),
    };
    drop(open.open(path)?);
    let version = Version::from_number(new.schema_version);
    let builder = Builder::new()
        .force(true)
        .in_place(true)
        .checksums(new.checksums)
        .align(new.align)
        .durability(settings.durability)
        .one_sync(settings.one_sync.unwrap_or(false))
        .lock(settings.lock)
        .application(label(new.application))
        .schema(label(new.schema), version);
    let created = builder.create(path);
    if created.is_err() && exclusive {
        // Or the next call could not make it, either. The error is that of the creation.
        let _ = fs::remove_file(path);
    }
    Ok(created?)
}

/// As much of a text as a label of a file can have. gsd may cut within a character; this does not.
fn label(text: &[u8]) -> String {
    let mut label = String::from_utf8_lossy(text.get(..64).unwrap_or(text)).into_owned();
    while label.len() > 63 {
        label.pop();
    }
    label
}

impl State {
    /// Opens the file at `path`.
    pub(super) fn open(path: &Path, mode: Mode, options: &Options) -> Result<Self, Code> {
        Self::new(path, mode, options, None)
    }

    /// Makes an empty file at `path`, and opens it.
    pub(super) fn create(
        path: &Path,
        new: &NewFile<'_>,
        mode: Mode,
        options: &Options,
        exclusive: bool,
    ) -> Result<Self, Code> {
        let writer = create(path, new, options.settings, exclusive)?;
        Self::new(path, mode, options, Some(writer))
    }

    fn new(
        path: &Path,
        mode: Mode,
        options: &Options,
        writer: Option<striae::gsd::FileWriter>,
    ) -> Result<Self, Code> {
        let mut open = fs::OpenOptions::new();
        let file = open.read(true).write(mode != Mode::ReadOnly).open(path)?;
        let seen = OpenOptions::new().checked(options.checked).open(path)?;
        let file_len = file.metadata()?.len();
        let state = Self {
            path: std::path::absolute(path)?, // the writer is opened later, from whatever folder
            mode,
            process: AtomicU32::new(std::process::id()),
            file,
            seen: RwLock::new(Seen::new(seen, file_len)?),
            writing: Mutex::new(Writing::new(writer, options.settings)),
            header: Mutex::new([0; 256]),
        };
        *lock(&state.header) = state.read_header()?;
        Ok(state)
    }

    fn read_header(&self) -> Result<[u8; 256], Code> {
        let mut header = [0; 256];
        self.file.read_exact_at(&mut header, 0)?;
        Ok(header)
    }

    /// The numbers of the last flush; what is found and read may be older.
    pub(super) fn seen(&self) -> RwLockReadGuard<'_, Seen> {
        self.seen.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file as it was at the last flush.
    pub(super) fn fresh(&self) -> Result<RwLockReadGuard<'_, Seen>, Code> {
        let seen = self.seen();
        if !seen.is_stale {
            return Ok(seen);
        }
        drop(seen);
        self.seen.write().unwrap_or_else(PoisonError::into_inner).refresh()?;
        Ok(self.seen())
    }

    pub(super) fn writing(&self) -> MutexGuard<'_, Writing> {
        lock(&self.writing)
    }

    fn check_writable(&self) -> Result<(), Code> {
        match self.mode {
            Mode::ReadOnly => {
                let why = format!("{}: was opened to read", self.path.display());
                Err(Code::FILE_MUST_BE_WRITABLE.because(&why))
            }
            Mode::ReadWrite | Mode::Append => Ok(()),
        }
    }

    /// Fills the public fields of the handle of the caller.
    pub(super) fn show(&self, handle: &mut GsdHandle) {
        let seen = self.seen();
        let (frames, file_len) = (seen.frames, seen.file_len);
        drop(seen);
        let writing = self.writing();
        handle.fd = self.file.as_raw_fd();
        handle.header = GsdHeader::from_bytes(&lock(&self.header));
        handle.open_flags = self.mode.number();
        handle.file_frame = frames;
        handle.file_size = i64::try_from(file_len).unwrap_or(i64::MAX);
        handle.buffer_frame = writing.frames().unwrap_or(frames);
        handle.pending_index_entries = writing.pending;
        handle.maximum_write_buffer_size = writing.buffer;
    }

    /// Adds a chunk to the open frame.
    pub(super) fn write_chunk(
        &self,
        name: &[u8],
        kind: ChunkType,
        m: u32,
        bytes: &[u8],
    ) -> Result<u64, Code> {
        self.check_writable()?;
        let mut writing = self.current()?;
        writing.write_chunk(&self.path, name, kind, m, bytes)?;
        Ok(writing.pending)
    }

    /// The writing side. If another program has committed since this handle flushed, and this
    /// handle has written nothing since, it goes on after what the other has written.
    fn current(&self) -> Result<MutexGuard<'_, Writing>, Code> {
        let writing = self.latest()?;
        if !writing.is_open() {
            self.check_named()?;
        }
        Ok(writing)
    }

    /// The writing side, without a writer if another program has committed since.
    fn latest(&self) -> Result<MutexGuard<'_, Writing>, Code> {
        let mut writing = self.writing();
        if writing.is_open() && writing.is_idle() && self.read_header()? != *lock(&self.header) {
            writing.forget();
        }
        Ok(writing)
    }

    /// Refuses to write if the path leads to another file by now.
    fn check_named(&self) -> Result<(), Code> {
        let identity = |file: fs::Metadata| (file.dev(), file.ino());
        let named = fs::metadata(&self.path).map(identity);
        if named.is_ok_and(|named| self.file.metadata().map(identity).is_ok_and(|own| own == named))
        {
            return Ok(());
        }
        let path = self.path.display();
        let why = format!("{path}: was moved or replaced since it was opened");
        set_errno(libc::ESTALE);
        Err(Code::IO.because(&why))
    }

    /// Ends the frame. A forked child that does this takes the handle over from its parent.
    pub(super) fn end_frame(&self) -> Result<(), Code> {
        self.check_writable()?;
        let mut writing = self.current()?;
        let is_full = writing.end_frame(&self.path)?;
        self.process.store(std::process::id(), Ordering::Relaxed);
        match is_full {
            true => self.commit(&mut writing),
            false => Ok(()),
        }
    }

    /// Whether frames have ended since the last flush.
    pub(super) fn has_ended_frames(&self) -> bool {
        self.writing().has_ended_frames()
    }

    pub(super) fn flush(&self) -> Result<(), Code> {
        self.check_writable()?;
        let mut writing = self.latest()?;
        if !writing.is_open() {
            return Ok(self.file.sync_data()?); // the found state may not be durable
        }
        self.commit(&mut writing)
    }

    fn commit(&self, writing: &mut Writing) -> Result<(), Code> {
        writing.flush()?;
        self.changed(writing)
    }

    /// Lets readers see what the writer has committed.
    fn changed(&self, writing: &Writing) -> Result<(), Code> {
        let mut seen = self.seen.write().unwrap_or_else(PoisonError::into_inner);
        let frames = writing.frames().unwrap_or(seen.frames);
        seen.flushed(frames, self.file.metadata()?.len());
        *lock(&self.header) = self.read_header()?;
        Ok(())
    }

    pub(super) fn truncate(&self) -> Result<(), Code> {
        self.check_writable()?;
        let mut writing = self.current()?;
        writing.truncate(&self.path)?;
        self.changed(&writing)
    }

    pub(super) fn upgrade(&self) -> Result<(), Code> {
        let why = match self.mode {
            Mode::ReadOnly => "was opened to read",
            Mode::ReadWrite | Mode::Append if !self.writing().is_idle() => "has unflushed chunks",
            Mode::ReadWrite | Mode::Append => {
                let mut writing = self.current()?;
                writing.upgrade(&self.path)?;
                return self.changed(&writing);
            }
        };
        let why = format!("{}: cannot be upgraded: it {why}", self.path.display());
        Err(Code::INVALID_ARGUMENT.because(&why))
    }

    /// Commits for the last time. After an error it may be called again. A forked child that has
    /// ended no frame leaves the file to its parent.
    pub(super) fn close(&self) -> Result<(), Code> {
        if self.process.load(Ordering::Relaxed) != std::process::id() {
            self.writing().leave();
            return Ok(());
        }
        let mut writing = self.latest()?;
        writing.close()
    }

    /// Whether there is a writer, which has the file.
    pub(super) fn is_written(&self) -> bool {
        self.writing().is_open()
    }

    /// Reads all bytes of a chunk; `bytes` has as many as its entry says.
    pub(super) fn read_chunk(&self, entry: &GsdIndexEntry, bytes: &mut [u8]) -> Result<(), Code> {
        let (seen, len) = (self.fresh()?, Seen::len(entry).unwrap_or(u64::MAX));
        if len <= seen.file_len {
            return seen.read(entry, bytes);
        }
        let path = self.path.display();
        let why = format!("{path}: a chunk of {len} bytes is longer than the file");
        Err(Code::FILE_CORRUPT.because(&why))
    }
}
