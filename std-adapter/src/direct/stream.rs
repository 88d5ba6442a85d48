//! Reading spans one after another in bounded memory.
#![expect(unsafe_code, reason = "who starts reads promises that their memory is left alone")]

use super::file::{DirectFile, LaneGuard, invalid};
use super::lane::Event;
use super::memory::Pool;
use crate::error::{Error, ErrorKind};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use striae_core::align::{Plan, Rules, Run};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// The order in which a stream returns pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// The order of the request.
    #[default]
    Asked,
    /// The order in which the reads finish.
    Completed,
}

/// A piece of a span: the whole span, unless the blocks of the device that it touches are together
/// longer than a read may be.
///
/// A read has at most [`OpenOptions::max_io`](super::OpenOptions::max_io) bytes, and at most a
/// quarter of [`OpenOptions::memory`](super::OpenOptions::memory) or 64 KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'s> {
    /// Number of the span, from 0.
    pub request: u64,
    /// Bytes of the span before the piece.
    pub at: u64,
    /// The place of the piece in the file.
    pub span: Span,
    /// The bytes of the piece.
    pub bytes: &'s [u8],
}

/// Spans that are read one after another, several reads ahead; see [`DirectFile::stream`].
///
/// Reads that are under way when the stream is dropped finish later, into memory that has no other
/// user.
#[derive(Debug)]
pub struct Stream<'f, I> {
    lane: LaneGuard<'f>,
    rules: Rules,
    /// The most bytes of a window with several parts.
    most: u64,
    order: Order,
    /// The spans to read; `None` after an error.
    spans: Option<I>,
    /// Number of the next span.
    request: u64,
    /// The rest of a span that was cut.
    rest: Option<Part>,
    windows: VecDeque<Window>,
    /// An error in a span, which is returned after all pieces of the earlier spans.
    late: Option<ErrorKind>,
}

/// Spans that were planned together.
#[derive(Debug)]
struct Window {
    flight: usize,
    parts: Vec<Part>,
    /// Pairs of a read's number and a part that it fills, sorted by the read's number.
    users: Vec<(u64, usize)>,
    /// Finished parts in the order of completion. For [`Order::Asked`], only their number counts.
    ready: VecDeque<usize>,
    /// Number of parts that were returned.
    given: usize,
}

/// A piece that is read or will be read.
#[derive(Debug, Clone, Copy)]
struct Part {
    span: Span,
    request: u64,
    at: u64,
    place: usize,
    /// Number of its reads that are not done.
    left: u64,
}

/// Number of windows at once: while the caller uses one, the others are read.
const WINDOWS: usize = 4;

/// The most parts of a window.
const PARTS: usize = 1024;

impl<'f, I: Iterator<Item = Span>> Stream<'f, I> {
    pub(super) fn new(file: &'f DirectFile, spans: I, order: Order) -> Result<Self, ErrorKind> {
        let rules = file.shared().rules()?;
        let memory = file.shared().options.memory;
        let most = memory.checked_div(usize_to_u64(WINDOWS)).unwrap_or(0);
        let longest = most.max(usize_to_u64(Pool::SHORTEST)); // a window has so much anyway
        let max_io = rules.max_io().min(longest).max(rules.granule());
        let rules = rules.with_max_io(max_io).map_err(invalid)?;
        let (lane, windows) = (file.take(), VecDeque::new());
        Ok(Self {
            lane,
            rules,
            most,
            order,
            spans: Some(spans),
            request: 0,
            rest: None,
            windows,
            late: None,
        })
    }

    /// Returns the next piece, or `None` after the last one.
    ///
    /// # Errors
    /// - [`ErrorKind::Ended`] if a span is not in the file: the pieces of all earlier spans come
    ///   first; or not any more, if the file has become shorter.
    /// - [`ErrorKind::Io`] for an error of the operating system.
    ///
    /// There are no pieces after an error.
    pub fn next_piece(&mut self) -> Result<Option<Piece<'_>>, Error> {
        let file = Arc::clone(self.lane.file());
        self.piece_or_error().map_err(|kind| file.error(kind))
    }

    /// The next piece, or an error without the path of the file.
    pub(super) fn piece_or_error(&mut self) -> Result<Option<Piece<'_>>, ErrorKind> {
        let Some((window, part)) = self.find_piece()? else { return Ok(None) };
        self.piece(window, part).map(Some).ok_or_else(lost)
    }

    fn piece(&self, window: usize, part: usize) -> Option<Piece<'_>> {
        let window = self.windows.get(window)?;
        let part = window.parts.get(part)?;
        let len = usize::try_from(part.span.len()).ok()?;
        let memory = self.lane.memory_of(window.flight)?;
        // SAFETY: all reads of the part are done, and no other read writes to its bytes, since
        // reads are disjoint.
        let bytes = unsafe { memory.bytes(part.place, len) }?;
        Some(Piece { request: part.request, at: part.at, span: part.span, bytes })
    }

    fn find_piece(&mut self) -> Result<Option<(usize, usize)>, ErrorKind> {
        loop {
            self.put_away();
            let found = self.fill().and_then(|()| self.take_ready());
            match found {
                Ok(Some(found)) => return Ok(Some(found)),
                Ok(None) if self.windows.is_empty() => {
                    return self.late.take().map_or(Ok(None), Err);
                }
                Ok(None) => {}
                Err(error) => {
                    self.end();
                    return Err(error);
                }
            }
            match self.lane.reap() {
                Some(event) => self.note(event),
                None => {
                    self.end();
                    return Err(lost()); // never: windows have reads under way
                }
            }
        }
    }

    /// Starts windows while there are spans and memory.
    fn fill(&mut self) -> Result<(), ErrorKind> {
        while self.windows.len() < WINDOWS {
            let parts = self.next_parts();
            if parts.is_empty() {
                return Ok(());
            }
            self.start(parts)?;
        }
        Ok(())
    }

    /// The spans of the next window, cut to the length of reads.
    fn next_parts(&mut self) -> Vec<Part> {
        let (mut parts, mut room) = (Vec::new(), 0_u64);
        while parts.len() < PARTS
            && let Some(part) = self.rest.take().or_else(|| self.next_span())
        {
            let (span, rules) = (part.span, &self.rules);
            if !span.is_empty() && !span.fits(rules.file_len()) {
                self.late = Some(ErrorKind::Ended { offset: rules.file_len() });
                self.spans = None;
                break;
            }
            let start = rules.down(span.offset());
            // Exact: the whole span is in the file, or it is empty.
            let end = span.end().min(start.saturating_add(rules.max_io()));
            // A gap to the next span may be read, too.
            let need = rules.up(end).saturating_sub(start).saturating_add(rules.max_gap());
            if !parts.is_empty() && room.saturating_add(need) > self.most {
                self.rest = Some(part);
                break;
            }
            room = room.saturating_add(need);
            let Some(first) = Span::between(span.offset(), end) else { break };
            parts.push(Part { span: first, ..part });
            let left = span.rest(first.len()).filter(|left| !left.is_empty());
            let at = part.at.saturating_add(first.len()); // exact: it is a place of the span
            self.rest = left.map(|span| Part { span, at, ..part });
        }
        parts
    }

    fn next_span(&mut self) -> Option<Part> {
        let span = self.spans.as_mut()?.next()?;
        let request = self.request;
        self.request = request.saturating_add(1);
        Some(Part { span, request, at: 0, place: 0, left: 0 })
    }

    fn start(&mut self, mut parts: Vec<Part>) -> Result<(), ErrorKind> {
        let spans: Vec<Span> = parts.iter().map(|part| part.span).collect();
        let mut runs = vec![Run::EMPTY; spans.len()];
        let plan = Plan::new(&spans, self.rules, &mut runs).map_err(invalid)?;
        let memory = self.lane.memory(plan.room())?;
        let (mut users, mut ready) = (Vec::new(), VecDeque::new());
        for (number, part) in parts.iter_mut().enumerate() {
            part.place = usize::try_from(plan.place(part.span).unwrap_or(0)).unwrap_or(usize::MAX);
            for read in plan.parts(part.span).into_iter().flatten() {
                users.push((read.read, number));
                part.left = part.left.saturating_add(1);
            }
            if part.left == 0 {
                ready.push_back(number);
            }
        }
        users.sort_unstable();
        let reads = memory.targets(&plan);
        // SAFETY: the targets are parts of the memory, and the places of a plan are disjoint.
        let flight = unsafe { self.lane.start(memory, self.rules, reads) };
        self.windows.push_back(Window { flight, parts, users, ready, given: 0 });
        Ok(())
    }

    /// Takes a finished piece that was not returned yet.
    fn take_ready(&mut self) -> Result<Option<(usize, usize)>, ErrorKind> {
        for (at, window) in self.windows.iter_mut().enumerate() {
            if let Some(error) = self.lane.take_error(window.flight) {
                return Err(error);
            }
            let next = match self.order {
                Order::Asked => {
                    let next = window.parts.get(window.given);
                    next.filter(|part| part.left == 0).map(|_| window.given)
                }
                Order::Completed => window.ready.pop_front(),
            };
            if let Some(part) = next {
                window.given = window.given.saturating_add(1);
                return Ok(Some((at, part)));
            }
            if self.order == Order::Asked {
                return Ok(None); // those behind it have to wait
            }
        }
        Ok(None)
    }

    /// Notes a finished read, which may finish parts.
    fn note(&mut self, event: Event) {
        let window = self.windows.iter_mut().find(|window| window.flight == event.flight);
        let Some(window) = window else { return };
        let first = window.users.partition_point(|&(read, _)| read < event.read);
        let users = window.users.get(first..).unwrap_or_default();
        for &(_, number) in users.iter().take_while(|&&(read, _)| read == event.read) {
            if let Some(part) = window.parts.get_mut(number) {
                part.left = part.left.saturating_sub(1);
                if part.left == 0 {
                    window.ready.push_back(number);
                }
            }
        }
    }

    /// Gives back the memory of windows whose parts were all returned: the caller no longer uses
    /// the last piece.
    fn put_away(&mut self) {
        let lane = &mut self.lane;
        self.windows.retain(|window| {
            let is_used = window.given < window.parts.len();
            if !is_used {
                lane.leave(window.flight);
            }
            is_used
        });
    }
}

/// The error for a lost piece, which never occurs: an end without an error would look like the end
/// of the spans.
fn lost() -> ErrorKind {
    io::Error::other("a piece that was read is not there").into()
}

impl<I> Stream<'_, I> {
    /// Ends the stream: nothing more is read.
    fn end(&mut self) {
        for window in self.windows.drain(..) {
            self.lane.leave(window.flight);
        }
        (self.rest, self.spans, self.late) = (None, None, None);
    }
}

impl<I> Drop for Stream<'_, I> {
    fn drop(&mut self) {
        self.end();
    }
}
