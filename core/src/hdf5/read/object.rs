//! [`Messages`]: the messages of an object header, one at a time.

use super::list::Progress;
use super::superblock::{check, check_signature, in_file, unsupported};
use crate::hdf5::error::{Error, Feature, Result};
use crate::hdf5::lookup3::Sum;
use crate::hdf5::raw::{Continuation, Header1, Header2, Message1, Message2};
use crate::source::Source;
use crate::span::Span;
use zerocopy::little_endian::{U16, U32, U64};

/// The most continuations of an object header that wait at a time.
pub const PENDING: usize = 8;

/// The most bytes of structures that are read for one object. A file may claim any length, so that
/// its own bounds a ring of continuations too little.
pub const MOST: u64 = 1 << 26;

/// The kind of a [`Message`] that continues the header elsewhere; striae follows it.
const CONTINUATION: u16 = 16;

/// A message of an object header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Message {
    /// The kind.
    pub kind: u16,
    /// Whether `body` leads to the message in another object.
    pub is_shared: bool,
    /// The span of the message without its head.
    pub body: Span,
}

/// A place in an object header (`spec/blob.md#object-headers`). It is a value: all that a parser
/// must keep over restarts.
///
/// It checks the checksum of each chunk before it returns a message of it. Chunks have together at
/// most as many bytes as the file, and at most [`MOST`], so it ends soon even if continuations form
/// a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages {
    form: Form,
    /// The bytes of structures that may still be read.
    pub(in crate::hdf5) budget: u64,
    /// The rest of the chunk that is not summed, without the checksum.
    sum: Option<(Sum, Span)>,
    /// The rest of the chunk's messages.
    chunk: Span,
    /// The chunks that continuations led to; empty spans are free places.
    pending: [Span; PENDING],
}

/// The form of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    One,
    Two { has_order: bool },
}

impl Messages {
    /// The messages of the object whose header is at `address`.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for an unknown version; [`Error::OutOfFile`]; a miss.
    pub fn open<S: Source + ?Sized>(source: &S, address: u64) -> Result<Self> {
        let file_len = source.file_len();
        in_file(address, 6, file_len)?;
        let head = source.read::<Header2>(address)?;
        let mut messages = Self {
            form: Form::One,
            budget: file_len.min(MOST),
            sum: None,
            chunk: Span::ZERO,
            pending: [Span::ZERO; PENDING],
        };
        match (head.signature, head.version) {
            ([b'O', b'H', b'D', b'R'], 2) => messages.open_two(source, address, head.flags)?,
            ([1, ..], _) => messages.open_one(source, address)?,
            _ => return unsupported(Feature::Header, address),
        }
        Ok(messages)
    }

    fn open_one<S: Source + ?Sized>(&mut self, source: &S, address: u64) -> Result<()> {
        let head = in_file(address, 16, source.file_len())?;
        let size = source.read::<Header1>(address)?.chunk_size.get();
        self.chunk = in_file(head.end(), size.into(), source.file_len())?;
        self.spend(self.chunk)
    }

    fn open_two<S: Source + ?Sized>(&mut self, source: &S, address: u64, flags: u8) -> Result<()> {
        let times = if flags & 0x20 == 0 { 0_u64 } else { 16 };
        let phases = if flags & 0x10 == 0 { 0 } else { 4 };
        let fields = times.saturating_add(phases).saturating_add(6);
        let size_at = address.saturating_add(fields);
        if flags & 3 == 3 {
            return unsupported(Feature::Header, address);
        }
        let (width, len) = sized(source, size_at, flags)?;
        self.form = Form::Two { has_order: flags & 4 != 0 };
        let head = fields.saturating_add(width);
        let all = in_file(address, head.saturating_add(len), source.file_len())?;
        self.enter_two(source, all, head)
    }

    /// Goes to a chunk of messages whose checksum follows it; `head` bytes are before the messages.
    fn enter_two<S: Source + ?Sized>(&mut self, source: &S, all: Span, head: u64) -> Result<()> {
        in_file(all.end(), 4, source.file_len())?;
        let (offset, end, file_len) = (all.offset(), all.end(), source.file_len());
        let sum_len = u32::try_from(all.len());
        let sum_len = sum_len.map_err(|_| Error::OutOfFile { offset, end, file_len })?;
        (self.sum, self.chunk) = (Some((Sum::new(sum_len), all)), all.skip(head));
        self.spend(all)
    }

    /// Takes the bytes of a structure from the budget.
    pub(in crate::hdf5) fn spend(&mut self, span: Span) -> Result<()> {
        let rest = self.budget.checked_sub(span.len());
        self.budget = rest.ok_or(Error::Ring { offset: span.offset() })?;
        Ok(())
    }

    /// The next message, or `None` after the last one. Empty messages are left out, and
    /// continuations are followed.
    ///
    /// The messages are the state that must outlive restarts.
    ///
    /// # Errors
    /// [`Error::Checksum`]; [`Error::Value`] for a message that does not fit; a miss.
    pub fn next<S: Source + ?Sized>(&mut self, source: &S) -> Result<Option<Message>> {
        super::list::next(source, self, Self::advance)
    }

    /// A small part of [`next`](Self::next): sums some bytes, or takes one message. After an error
    /// the messages must not be used.
    ///
    /// # Errors
    /// See [`Messages::next`].
    pub fn advance<S: Source + ?Sized>(&mut self, source: &S) -> Result<Progress<Message>> {
        if let Some((sum, rest)) = self.sum {
            self.sum = add(source, sum, rest)?;
            return Ok(Progress::Working);
        }
        let head = match self.form {
            Form::One => 8,
            Form::Two { has_order: false } => 4,
            Form::Two { has_order: true } => 6,
        };
        if self.chunk.len() < head {
            return self.next_chunk(source); // the rest is a gap
        }
        let at = self.chunk.offset();
        let (kind, size, flags, size_field) = match self.form {
            Form::One => {
                let message = source.read::<Message1>(at)?;
                (message.kind.get(), message.size.get(), message.flags, Message1::size)
            }
            Form::Two { .. } => {
                let message = source.read::<Message2>(at)?;
                (message.kind.into(), message.size.get(), message.flags, Message2::size)
            }
        };
        let size = u64::from(size);
        let body = self.chunk.part(head, size);
        let offset = at.saturating_add(size_field.offset().into());
        let body = body.ok_or(Error::Value { field: size_field, offset, value: size })?;
        self.chunk = self.chunk.skip(head.saturating_add(size));
        match kind {
            0 => {}
            CONTINUATION => self.wait(source, body)?,
            _ => return Ok(Progress::Found(Message { kind, is_shared: flags & 2 != 0, body })),
        }
        Ok(Progress::Working)
    }

    /// Notes where the header continues.
    fn wait<S: Source + ?Sized>(&mut self, source: &S, body: Span) -> Result<()> {
        let next = source.read::<Continuation>(body.offset())?;
        let span = in_file(next.address.get(), next.length.get(), source.file_len())?;
        self.spend(span)?;
        let offset = body.offset();
        if span.is_empty() {
            let field = Continuation::length;
            return Err(Error::Value { field, offset: offset.saturating_add(8), value: 0 }.into());
        }
        match self.pending.iter_mut().find(|pending| pending.is_empty()) {
            Some(place) => *place = span,
            None => return unsupported(Feature::Continuations, offset),
        }
        Ok(())
    }

    fn next_chunk<S: Source + ?Sized>(&mut self, source: &S) -> Result<Progress<Message>> {
        let Some(place) = self.pending.iter_mut().find(|pending| !pending.is_empty()) else {
            return Ok(Progress::End);
        };
        let span = core::mem::replace(place, Span::ZERO);
        match self.form {
            Form::One => self.chunk = span,
            Form::Two { .. } => {
                check_signature(span.offset(), *source.read(span.offset())?, b"OCHK")?;
                let all = span.len().checked_sub(4).and_then(|len| span.part(0, len));
                let offset = span.offset();
                let field = Continuation::length;
                let all = all.ok_or(Error::Value { field, offset, value: span.len() })?;
                self.budget = self.budget.saturating_add(all.len()); // `wait` has taken it
                self.enter_two(source, all, 4)?;
            }
        }
        Ok(Progress::Working)
    }
}

/// The bytes of the length at an offset, which the low bits of `flags` say, and the length.
pub(super) fn sized<S: Source + ?Sized>(source: &S, at: u64, flags: u8) -> Result<(u64, u64)> {
    Ok(match flags & 3 {
        0 => (1, u64::from(*source.read::<u8>(at)?)),
        1 => (2, source.read::<U16>(at)?.get().into()),
        2 => (4, source.read::<U32>(at)?.get().into()),
        _ => (8, source.read::<U64>(at)?.get()),
    })
}

/// Adds to a checksum the next bytes; in the end, compares it with the one that follows.
fn add<S: Source + ?Sized>(source: &S, mut sum: Sum, rest: Span) -> Result<Option<(Sum, Span)>> {
    if Sum::BLOCK < rest.len() {
        sum.block(source.read(rest.offset())?);
        return Ok(Some((sum, rest.skip(Sum::BLOCK))));
    }
    let last = source.some(rest.offset(), usize::try_from(rest.len()).unwrap_or(0), rest.len())?;
    let computed = sum.finish(last);
    check(rest.end(), source.read::<U32>(rest.end())?.get(), computed)?;
    Ok(None)
}
