//! Reading a file past the page cache, if possible.
#![expect(unsafe_code, reason = "who starts reads promises that their memory is left alone")]

use super::batch::Batch;
use super::handles::Handles;
use super::lane::{IDLE, Lane, failed};
use super::memory::ReadBuffer;
use super::options::OpenOptions;
use super::standing::{Rung, Standing, Step};
use super::stream::{Order, Stream};
use super::workers::Workers;
use crate::error::{Error, ErrorKind};
use crate::shown;
use rustix::io::Errno;
use std::fmt::Display;
use std::io;
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;
use std::ops::{Deref, DerefMut};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use striae_core::align::{self, Alignment, Plan, Read, Rest, Rules, Run, Split};
use striae_core::embedded_io::ReadExactError;
use striae_core::span::{Span, Stride};
use striae_core::store::{ReadAt, usize_to_u64};

/// The state of a file that all callers share.
#[derive(Debug)]
pub(super) struct Shared {
    path: PathBuf,
    pub(super) handles: Arc<Handles>,
    alignment: Alignment,
    standing: Standing,
    pub(super) options: OpenOptions,
    workers: OnceLock<Arc<Workers>>,
    /// Whether the log says already that reads are not asynchronous.
    is_blocking: AtomicBool,
}

impl Shared {
    pub(super) fn new(
        path: &Path,
        handles: Handles,
        alignment: Alignment,
        standing: Standing,
        options: OpenOptions,
    ) -> Arc<Self> {
        let (path, handles, workers) = (path.to_owned(), Arc::new(handles), OnceLock::new());
        let is_blocking = AtomicBool::new(false);
        Arc::new(Self { path, handles, alignment, standing, options, workers, is_blocking })
    }

    pub(super) fn rung(&self) -> Rung {
        self.standing.rung()
    }

    /// Steps down from a rung that refused; returns whether reading can continue.
    pub(super) fn step_down(&self, from: Rung, why: &dyn Display) -> bool {
        self.standing.step_down(&self.path, from, why)
    }

    /// Logs once that reads are executed one by one where they should be executed together.
    pub(super) fn note_blocking(&self, pace: &dyn Display) {
        if !self.is_blocking.swap(true, Ordering::Relaxed) {
            log::info!("{}: {pace}", shown::path(&self.path));
        }
    }

    pub(super) fn workers(&self) -> Arc<Workers> {
        let new = || Workers::new(Arc::clone(&self.handles), self.options.threads);
        Arc::clone(self.workers.get_or_init(|| Arc::new(new())))
    }

    /// The alignment of buffers: the device's, and at least a page, since an unaligned buffer
    /// touches one page more.
    pub(super) fn memory_align(&self) -> usize {
        usize::try_from(self.alignment.memory).unwrap_or(0).max(4096)
    }

    /// The rules for reads of the file at its present length.
    pub(super) fn rules(&self) -> Result<Rules, ErrorKind> {
        let file_len = self.handles.buffered.size()?;
        let rules = Rules::new(self.alignment, file_len).map_err(invalid)?;
        let max_io = self.options.max_io.max(rules.granule()).min(Rules::MAX_IO);
        let rules = rules.with_max_io(max_io).map_err(invalid)?;
        Ok(rules.with_max_gap(self.options.max_gap))
    }

    /// The rest of a read of which a rung has returned `got` bytes, after `idle` times without one.
    ///
    /// # Errors
    /// [`Errno::OPNOTSUPP`] if only the page cache has the rest, and must not be used.
    pub(super) fn rest(
        &self,
        (rung, idle): (Rung, u32),
        read: Read,
        got: usize,
        rules: &Rules,
    ) -> Result<Rest, Errno> {
        // Reads through the page cache may stop at any byte.
        let rules = if rung.is_direct() { *rules } else { rules.unaligned() };
        match read.rest(usize_to_u64(got), &rules) {
            // The file was shorter for a moment; or it is one of FUSE with FOPEN_DIRECT_IO, which
            // may stop within the first block, where no direct read can continue.
            Rest::Ended { offset } if rung.is_direct() && got > 0 && self.has(offset) => {
                let why = format!("a read stopped at offset {offset}, within a block");
                match idle < STOPS || self.step_down(rung, &why) {
                    true => Ok(Rest::Again { skip: 0, read }),
                    false => Err(Errno::OPNOTSUPP),
                }
            }
            rest => Ok(rest),
        }
    }

    /// Whether the file has a byte at `offset`.
    fn has(&self, offset: u64) -> bool {
        self.handles.buffered.size().is_ok_and(|size| offset < size)
    }

    pub(super) fn error(&self, kind: impl Into<ErrorKind>) -> Error {
        Error::new(&self.path, kind)
    }
}

/// How often a read that stops within its first block, before the end of the file, is repeated.
const STOPS: u32 = 2;

/// Turns an error of the alignment arithmetic into an error of a file.
pub(super) fn invalid(error: align::Error) -> ErrorKind {
    match error {
        align::Error::BehindEnd { file_len, .. } => ErrorKind::Ended { offset: file_len },
        error => io::Error::new(io::ErrorKind::InvalidInput, error).into(),
    }
}

/// A file that is read past the page cache if possible, by many threads at once.
///
/// Each call and each stream has a ring of its own, which the next call uses again.
#[derive(Debug)]
pub struct DirectFile {
    shared: Arc<Shared>,
    /// Unused lanes, the last used one at the end.
    lanes: Mutex<Vec<Lane>>,
}

/// The most unused lanes that are kept, with their memory.
const KEPT: usize = 16;

/// A lane in use by one caller. It is returned when it is dropped.
#[derive(Debug)]
pub(super) struct LaneGuard<'f> {
    file: &'f DirectFile,
    lane: ManuallyDrop<Lane>,
}

impl DirectFile {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        let first = Lane::new(Arc::clone(&shared)); // what the kernel refuses is known from now on
        Self { shared, lanes: Mutex::new(vec![first]) }
    }

    /// Opens the file at `path` with the options of [`OpenOptions::new`].
    ///
    /// # Errors
    /// As [`OpenOptions::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Error> {
        OpenOptions::new().open(path)
    }

    /// The rung of the file: how it is read now.
    #[must_use]
    pub fn rung(&self) -> Rung {
        self.shared.rung()
    }

    /// The rungs that were left, with the reasons.
    #[must_use]
    pub fn steps(&self) -> Vec<Step> {
        self.shared.standing.steps()
    }

    /// The alignment that the device needs for direct reading; [`Alignment::NONE`] if direct
    /// reading is not possible.
    #[must_use]
    pub fn alignment(&self) -> Alignment {
        self.shared.alignment
    }

    pub(super) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    #[cfg(test)]
    pub(super) fn lanes(&self) -> usize {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    pub(super) fn take(&self) -> LaneGuard<'_> {
        let lane = self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let lane = lane.unwrap_or_else(|| Lane::new(Arc::clone(&self.shared)));
        LaneGuard { file: self, lane: ManuallyDrop::new(lane) }
    }

    /// Reads spans, which may have any order and may overlap. All of them are in memory at once.
    ///
    /// # Errors
    /// - [`ErrorKind::Ended`] if a span is not in the file.
    /// - [`ErrorKind::Io`] for an error of the operating system; with
    ///   [`io::ErrorKind::OutOfMemory`] if there is not enough memory.
    pub fn read_spans(&self, spans: &[Span]) -> Result<Batch, Error> {
        self.read_batch(spans).map_err(|kind| self.shared.error(kind))
    }

    fn read_batch(&self, spans: &[Span]) -> Result<Batch, ErrorKind> {
        let rules = self.shared.rules()?;
        let mut runs = vec![Run::EMPTY; spans.len()];
        let plan = Plan::new(spans, rules, &mut runs).map_err(invalid)?;
        let mut lane = self.take();
        let memory = lane.memory(plan.room())?;
        let reads = memory.targets(&plan);
        // SAFETY: the targets are parts of the memory, and the places of a plan are disjoint.
        let flight = unsafe { lane.start(memory, rules, reads) };
        let memory = lane.wait_for(flight)?;
        let place = |&span: &Span| {
            let place = usize::try_from(plan.place(span).unwrap_or(0)).unwrap_or(usize::MAX);
            (place, usize::try_from(span.len()).unwrap_or(usize::MAX))
        };
        Ok(Batch::new(memory, spans.iter().map(place).collect(), Arc::clone(&lane.pool)))
    }

    /// Reads spans one after another in bounded memory, several reads ahead.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] for an error of the operating system.
    pub fn stream<I>(&self, spans: I, order: Order) -> Result<Stream<'_, I::IntoIter>, Error>
    where
        I: IntoIterator<Item = Span>,
    {
        Stream::new(self, spans.into_iter(), order).map_err(|kind| self.shared.error(kind))
    }

    /// Reads all of `buf` from `offset` on.
    ///
    /// From [`OpenOptions::threshold`] bytes on, several reads run at once, and data whose places
    /// in `buf` are aligned are read to those places; the rest is copied. Below it, the calling
    /// thread makes one read: to `buf` if the whole request is aligned, and else to other memory,
    /// from which all of it is copied.
    ///
    /// # Errors
    /// [`ErrorKind::Ended`] if the file has fewer bytes; [`ErrorKind::Io`] for an error of the
    /// operating system.
    pub fn read_into(&self, offset: u64, buf: &mut [u8]) -> Result<(), Error> {
        self.fill(offset, buf).map_err(|kind| self.shared.error(kind))
    }

    fn fill(&self, offset: u64, buf: &mut [u8]) -> Result<(), ErrorKind> {
        let rules = self.shared.rules()?;
        let len = usize_to_u64(buf.len());
        let ended = || ErrorKind::Ended { offset: rules.file_len() };
        let request = Span::new(offset, len).filter(|span| span.fits(rules.file_len()));
        let request = request.ok_or_else(ended)?;
        let address = usize_to_u64(buf.as_ptr().addr());
        let split = Split::new(request, address, &rules).map_err(invalid)?;
        let is_whole = split.head.is_none() && split.tail.is_none();
        match split.body {
            Some(_) if len >= self.shared.options.threshold => {
                self.fill_at_once(&split, request, &rules, buf)
            }
            Some(_) if is_whole => self.fill_by_one(request, &rules, buf),
            None if len >= self.shared.options.threshold => self.fill_by_stream(request, buf),
            _ => self.fill_by_copy(request, &rules, buf),
        }
    }

    /// Reads a span that is aligned in the file and in memory, in the calling thread.
    fn fill_by_one(&self, span: Span, rules: &Rules, buf: &mut [u8]) -> Result<(), ErrorKind> {
        let (mut piece, mut idle) = (buf, 0_u32);
        let mut read = Read { number: 0, span, valid: valid(span, rules), place: 0 };
        loop {
            let done = self.read_some(read.span.offset(), piece);
            let rest = match done {
                Ok((rung, got)) => self.shared.rest((rung, idle), read, got, rules),
                Err(Errno::AGAIN) => Ok(Rest::Again { skip: 0, read }),
                Err(errno) => Err(errno),
            };
            match rest.map_err(|errno| failed(read, errno))? {
                Rest::Done => return Ok(()),
                Rest::Ended { offset } => return Err(ErrorKind::Ended { offset }),
                Rest::Again { skip, read: again } => {
                    idle = if skip == 0 { idle.saturating_add(1) } else { 0 };
                    if idle > IDLE {
                        return Err(failed(read, Errno::AGAIN));
                    }
                    piece = piece.get_mut(usize::try_from(skip).unwrap_or(0)..).unwrap_or_default();
                    read = again;
                }
            }
        }
    }

    /// Makes one read in the calling thread; returns the rung that it was made on and the bytes
    /// read.
    fn read_some(&self, offset: u64, piece: &mut [u8]) -> Result<(Rung, usize), Errno> {
        loop {
            let rung = self.shared.rung();
            match self.shared.handles.read(rung.how(None), offset, piece) {
                Err(errno) if Standing::is_refusal(errno) => {
                    let why = format!("reading at offset {offset}: {errno}");
                    if !self.shared.step_down(rung, &why) {
                        return Err(errno);
                    }
                }
                done => return Ok((rung, done?)),
            }
        }
    }

    /// Reads the span, widened to whole blocks, into memory of the pool, and copies it.
    fn fill_by_copy(&self, span: Span, rules: &Rules, buf: &mut [u8]) -> Result<(), ErrorKind> {
        let start = rules.down(span.offset());
        let wide = Span::between(start, rules.up(span.end())).unwrap_or(span);
        let mut lane = self.take();
        let mut memory = lane.memory(wide.len())?;
        let len = usize::try_from(wide.len()).unwrap_or(usize::MAX);
        let bytes = memory.bytes_mut().get_mut(..len).unwrap_or_default();
        let done = self.fill_by_one(wide, rules, bytes);
        let skip = Span::between(start, span.offset()).map_or(0, Span::len);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let wanted = bytes.get(skip..).and_then(|bytes| bytes.get(..buf.len()));
        if let (Ok(()), Some(wanted)) = (&done, wanted) {
            buf.copy_from_slice(wanted);
        }
        lane.pool.give_back(memory);
        done
    }

    /// Reads a long span that has no part with equal alignment in memory and in the file.
    fn fill_by_stream(&self, span: Span, buf: &mut [u8]) -> Result<(), ErrorKind> {
        let mut stream = Stream::new(self, std::iter::once(span), Order::Completed)?;
        while let Some(piece) = stream.piece_or_error()? {
            let at = usize::try_from(piece.at).unwrap_or(usize::MAX);
            let to = buf.get_mut(at..).and_then(|buf| buf.get_mut(..piece.bytes.len()));
            to.unwrap_or_default().copy_from_slice(piece.bytes);
        }
        Ok(())
    }

    /// Reads spans, several at once, and copies them one after another.
    fn fill_spans(&self, spans: &[Stride], mut buf: &mut [u8]) -> Result<(), ErrorKind> {
        let spans = spans.iter().flat_map(|stride| stride.spans());
        let mut stream = Stream::new(self, spans, Order::Asked)?;
        while let Some(piece) = stream.piece_or_error()? {
            let split = buf.split_at_mut_checked(piece.bytes.len());
            let (front, rest) = split.unwrap_or_default();
            front.copy_from_slice(piece.bytes.get(..front.len()).unwrap_or_default());
            buf = rest;
        }
        Ok(())
    }

    /// Reads the body directly to its place in `buf`, with several reads at once, and copies head
    /// and tail.
    fn fill_at_once(
        &self,
        split: &Split,
        request: Span,
        rules: &Rules,
        buf: &mut [u8],
    ) -> Result<(), ErrorKind> {
        let ends = [split.head, split.tail];
        let room = rules.granule().saturating_mul(2);
        let mut lane = self.take();
        let memory = lane.memory(room.saturating_mul(2))?;
        let whole = ReadBuffer::of(buf);
        let mut reads = Vec::new();
        let mut add = |span: Span, place: u64, target: Option<ReadBuffer>| {
            let (valid, number) = (valid(span, rules), usize_to_u64(reads.len()));
            reads.extend(target.map(|target| (Read { number, span, valid, place }, target)));
        };
        for (bounce, place) in ends.iter().zip([0, room]) {
            if let Some(bounce) = bounce {
                let len = usize::try_from(bounce.read.len()).unwrap_or(usize::MAX);
                let at = usize::try_from(place).unwrap_or(usize::MAX);
                add(bounce.read, place, memory.target(at, len));
            }
        }
        let body = split.body.unwrap_or(Span::ZERO);
        let max_io = NonZeroU64::new(rules.max_io()).unwrap_or(NonZeroU64::MIN);
        for part in body.pieces(max_io) {
            let at = part.offset().saturating_sub(request.offset());
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let len = usize::try_from(part.len()).unwrap_or(usize::MAX);
            add(part, 0, whole.part(at, len));
        }
        // SAFETY: the targets are parts of the memory and of `buf`, and head, body and tail are
        // disjoint; `buf` is borrowed until the end of this function, which is not reached while a
        // read is under way.
        let flight = unsafe { lane.start(memory, *rules, reads) };
        let done = lane.wait_for(flight);
        if lane.memory_of(flight).is_some() {
            // Not reached: a lost read could write to `buf` when its memory has another owner.
            std::process::abort();
        }
        let memory = done?;
        for (bounce, place) in ends.iter().zip([0, room]) {
            let Some(bounce) = bounce else { continue };
            let from = usize::try_from(place.saturating_add(bounce.skip)).unwrap_or(usize::MAX);
            let len = usize::try_from(bounce.len).unwrap_or(usize::MAX);
            // SAFETY: all reads are done.
            let bytes = unsafe { memory.bytes(from, len) }.unwrap_or_default();
            let at = usize::try_from(bounce.at).unwrap_or(usize::MAX);
            let to = buf.get_mut(at..).and_then(|buf| buf.get_mut(..len)).unwrap_or_default();
            to.copy_from_slice(bytes);
        }
        lane.pool.give_back(memory);
        Ok(())
    }
}

/// Number of a read's bytes that are in the file.
fn valid(span: Span, rules: &Rules) -> u64 {
    let end = span.end().min(rules.file_len());
    Span::between(span.offset(), end).map_or(0, Span::len)
}

impl ReadAt for DirectFile {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.size()?.saturating_sub(offset);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        let buf = buf.get_mut(..len).unwrap_or_default();
        match self.fill(offset, buf) {
            Ok(()) => Ok(len),
            // The file has become shorter. The next call sees where it ends.
            Err(ErrorKind::Ended { .. }) => self.shared.handles.buffered.read_at(offset, buf),
            Err(ErrorKind::Io(error)) => Err(error),
            Err(error) => Err(io::Error::other(self.shared.error(error))),
        }
    }

    fn read_spans_at(
        &self,
        spans: &[Stride],
        buf: &mut [u8],
    ) -> Result<(), ReadExactError<io::Error>> {
        self.fill_spans(spans, buf).map_err(|kind| match kind {
            ErrorKind::Ended { .. } => ReadExactError::UnexpectedEof,
            ErrorKind::Io(error) => ReadExactError::Other(error),
            error => ReadExactError::Other(io::Error::other(self.shared.error(error))),
        })
    }

    fn size(&self) -> io::Result<u64> {
        self.shared.handles.buffered.size()
    }
}

impl Deref for LaneGuard<'_> {
    type Target = Lane;

    fn deref(&self) -> &Lane {
        &self.lane
    }
}

impl DerefMut for LaneGuard<'_> {
    fn deref_mut(&mut self) -> &mut Lane {
        &mut self.lane
    }
}

impl Drop for LaneGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: `ManuallyDrop::take`: "ensure that this ManuallyDrop is not used again": nothing
        // can use it after `drop`.
        let lane = unsafe { ManuallyDrop::take(&mut self.lane) };
        if std::thread::panicking() {
            // Reads into memory of the caller may be under way, such as `buf` of `fill_at_once`: if
            // a logger panics during a step down, nobody has waited for them. Dropping the lane
            // waits for its reads.
            return drop(lane);
        }
        let mut lanes = self.file.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let too_many = if lanes.len() < KEPT {
            lanes.push(lane);
            None
        } else {
            Some(lane)
        };
        drop(lanes); // a lane that is dropped waits for its reads
        drop(too_many);
    }
}
