//! [`Header`]: a header in memory, with lookups by name.

use crate::subject::{Failed, part_of, read};
use alloc::vec::Vec;
use core::fmt;
use core::ops::ControlFlow::{Break, Continue};
use core::ops::Range;
use striae_core::cdf::raw::Header1;
use striae_core::cdf::{
    Attr, Cursor, Dim, Error, Head, Item, ListKind, Measured, Survey, Var, Version,
};
use striae_core::endian::ByteOrder;
use striae_core::source::{Fault, Miss, Window};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, usize_to_u64};
use zerocopy::FromZeros;

/// The most bytes of a header.
const MOST: u64 = 1 << 30;

/// The memory of a longer header is cut to its length. It takes time, as some allocators then get
/// memory for the next header from the system.
const SPARE: usize = 1 << 20;

/// Bytes of a header for whose variables there is memory before they are read: what comes before
/// them may be long, and their number is only a claim.
const USUAL: usize = 1 << 20;

/// The fewest bytes of a variable in a header, and those of a short attribute.
const LEAST_VAR: usize = 28;
const SHORT_ATTR: usize = 32;

/// Bytes of the first read, and of the first two.
const FIRST: u64 = 1 << 16;
const SECOND: u64 = 3 << 16;

/// A header in memory: its dimensions, attributes with values, and variables with shapes and
/// places.
///
/// Its bytes are kept, and the places of the items in them; so the memory is a small multiple of
/// the header's length. Headers of more than 1 GiB are refused.
#[derive(Clone)]
pub struct Header {
    pub(super) bytes: Vec<u8>,
    pub(super) order: ByteOrder,
    pub(super) head: Head,
    pub(super) dims: Vec<Dim>,
    pub(super) lengths: Vec<u64>,
    /// The attributes of the file, then those of the variables.
    pub(super) attrs: Vec<Attr>,
    pub(super) variables: Vec<Known>,
    /// The dimids of all variables, and the lengths of these dimensions.
    pub(super) dimids: Vec<u64>,
    pub(super) shapes: Vec<u64>,
}

/// A variable, and the parts of the lists that belong to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub(super) var: Var,
    /// The span of its values, or of the values of the first record.
    pub(super) first: Span,
    pub(super) is_record: bool,
    pub(super) dims: Range<usize>,
    pub(super) attrs: Range<usize>,
    /// The end of its last field in the header.
    pub(super) end: u64,
}

/// The bytes of a header, as many as were needed.
pub(super) struct Held<'s, S: ?Sized> {
    store: &'s S,
    file_len: u64,
    bytes: Vec<u8>,
}

impl<'s, S: ReadAt + ?Sized> Held<'s, S> {
    /// Starts without bytes.
    pub(super) fn new(store: &'s S) -> Result<Self, Failed<S, Error>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        Ok(Self { store, file_len, bytes: Vec::new() })
    }

    /// The bytes at the start of the file.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The item at the cursor, which moves after it. After an [`Error`] it must not be used.
    #[inline(always)] // most items are small, and would be copied as the largest one
    pub(super) fn next(&mut self, cursor: &mut Cursor) -> Result<Item, Failed<S, Error>> {
        loop {
            match cursor.advance(&Window::new(0, &self.bytes, self.file_len)) {
                Ok(item) => break Ok(item),
                Err(fault) => self.mend(fault, cursor.offset())?,
            }
        }
    }

    /// Reads what the cursor needs at `at`.
    #[cold]
    fn mend(&mut self, fault: Fault<Error>, at: u64) -> Result<(), Failed<S, Error>> {
        match fault {
            Fault::Format(error) => Err(DriveError::Format(error)),
            Fault::Miss(Miss::Read { offset, need, .. }) => {
                self.grow(offset.saturating_add(usize_to_u64(need)))
            }
            Fault::Miss(_) => Err(DriveError::Ended { offset: at }), // never: a window has no pages
        }
    }

    /// Reads up to at least `end`, which is in the file.
    fn grow(&mut self, end: u64) -> Result<(), Failed<S, Error>> {
        let have = usize_to_u64(self.bytes.len());
        let want = match have {
            0 => FIRST,
            have => have.saturating_mul(2).clamp(SECOND, MOST),
        };
        let want = want.max(end).min(self.file_len);
        let len = usize::try_from(want).unwrap_or(usize::MAX);
        let bytes = if want <= MOST { u8::new_vec_zeroed(len).ok() } else { None };
        let mut bytes = bytes.ok_or(DriveError::BufferTooSmall { need: len })?;
        if let Some((front, rest)) = bytes.split_at_mut_checked(self.bytes.len()) {
            front.copy_from_slice(&self.bytes);
            read(self.store, have, rest)?;
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Header {
    /// Reads the header of the file in `store`.
    ///
    /// # Errors
    /// [`Error`] if it is no classic netCDF file or is damaged; [`DriveError::BufferTooSmall`] if
    /// the header is longer than 1 GiB or than the memory; an error of the store.
    pub fn read<S: ReadAt + ?Sized>(store: &S) -> Result<Self, Failed<S, Error>> {
        match Self::examine(store, &mut Err)? {
            (header, None) => Ok(header),
            (_, Some(error)) => Err(DriveError::Format(error)),
        }
    }

    /// Reads the header of the file in `store` and passes errors to `judge`, up to the first one
    /// for which `judge` returns an error. Returns what was read, and the error that stopped it.
    pub(super) fn examine<S: ReadAt + ?Sized>(
        store: &S,
        judge: &mut dyn FnMut(Error) -> Result<(), Error>,
    ) -> Result<(Self, Option<Error>), Failed<S, Error>> {
        Self::of(&mut Held::new(store)?, ByteOrder::Big, true, judge)
    }

    /// Reads a header as [`parse`](Self::parse) does, and passes errors to `judge` as
    /// [`examine`](Self::examine) does.
    pub(crate) fn grammar<S: ReadAt + ?Sized>(
        store: &S,
        order: ByteOrder,
        judge: &mut dyn FnMut(Error) -> Result<(), Error>,
    ) -> Result<(Self, Option<Error>), Failed<S, Error>> {
        Self::of(&mut Held::new(store)?, order, false, judge)
    }

    /// Parses a header without values: nothing is checked that concerns their places. `order` is
    /// the byte order of all integers, and of the values of attributes. The header in the HDF5
    /// files of E3SM-IO is one.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not a header.
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Result<Self, Error> {
        let file_len = usize_to_u64(bytes.len());
        Self::of_bytes(Held { store: bytes, file_len, bytes: bytes.to_vec() }, order, false)
    }

    /// The header in the first bytes of a file of `file_len` bytes.
    pub(super) fn of_file_start(bytes: Vec<u8>, file_len: u64) -> Result<Self, Error> {
        Self::of_bytes(Held { store: &[][..], file_len, bytes }, ByteOrder::Big, true)
    }

    /// A header of which all bytes are held.
    fn of_bytes(
        mut held: Held<'_, [u8]>,
        order: ByteOrder,
        has_values: bool,
    ) -> Result<Self, Error> {
        let (offset, file_len) = (usize_to_u64(held.bytes.len()), held.file_len);
        match Self::of(&mut held, order, has_values, &mut Err) {
            Ok((header, None)) => Ok(header),
            Ok((_, Some(error))) | Err(DriveError::Format(error)) => Err(error),
            Err(_) => Err(Error::Cut { field: Header1::magic, offset, file_len }), // never
        }
    }

    fn of<S: ReadAt + ?Sized>(
        held: &mut Held<'_, S>,
        order: ByteOrder,
        has_values: bool,
        judge: &mut dyn FnMut(Error) -> Result<(), Error>,
    ) -> Result<(Self, Option<Error>), Failed<S, Error>> {
        let need = ndims(held, order)?;
        let lengths = u64::new_vec_zeroed(need);
        let mut lengths = lengths.map_err(|_| DriveError::BufferTooSmall { need })?;
        let mut survey = match has_values {
            true => Survey::new(held.file_len, &mut lengths),
            false => Survey::of_header(held.file_len, &mut lengths),
        };
        let (mut lists, mut stopped) = (Lists::default(), None);
        let (mut cursor, mut at) = (Cursor::new(order), 0);
        let head = loop {
            let item = match held.next(&mut cursor) {
                // Most items: they say nothing about places.
                Ok(Item::Name(_)) => {
                    at = cursor.offset();
                    continue;
                }
                Ok(Item::Attr(attr)) => {
                    at = cursor.offset();
                    lists.attrs.push(attr);
                    continue;
                }
                Ok(item) => {
                    at = cursor.offset();
                    item
                }
                Err(DriveError::Format(error)) => {
                    let _ = judge(error); // it can be no item in any case
                    stopped = Some(error);
                    Item::End { header_len: at }
                }
                Err(error) => return Err(error),
            };
            match survey.judge(item, &cursor, judge) {
                Ok(Break(head)) => break head,
                Ok(Continue(())) => lists.take(item, &survey, (at, held.bytes.len())),
                Err(error) => {
                    stopped = stopped.or(Some(error));
                    let end = Item::End { header_len: at };
                    match survey.judge(end, &cursor, &mut |_| Ok(())) {
                        Ok(Break(head)) => break head,
                        _ => break None, // never: the end breaks
                    }
                }
            }
        };
        let head = head.ok_or(DriveError::Ended { offset: at })?; // it has one
        let mut bytes = core::mem::take(&mut held.bytes);
        bytes.truncate(usize::try_from(head.header_len).unwrap_or(usize::MAX));
        if bytes.len() > SPARE {
            bytes.shrink_to_fit();
        }
        let length = |&dimid: &u64| {
            let length = usize::try_from(dimid).ok().and_then(|dimid| lengths.get(dimid));
            length.copied().unwrap_or(0) // the cursor saw that the dimension exists
        };
        let shapes = lists.dimids.iter().map(length).collect();
        let Lists { dims, attrs, variables, dimids, .. } = lists;
        let header = Self { bytes, order, head, dims, lengths, attrs, variables, dimids, shapes };
        Ok((header, stopped))
    }

    /// Version, number of records, record size, lengths.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The version of the format.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.head.version
    }

    /// The number of records.
    #[must_use]
    pub const fn numrecs(&self) -> u64 {
        self.head.numrecs
    }

    /// The bytes of the header.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The byte order of the header.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        self.order
    }

    /// The offset of the length of the dimension with this name.
    #[must_use]
    pub fn offset_of_length(&self, name: &str) -> Option<u64> {
        let dim = self.dims.iter().find(|dim| self.text(dim.name) == name)?;
        dim.name.end().checked_next_multiple_of(4) // names are padded to it
    }

    /// The dimensions in the header.
    pub(crate) fn raw_dims(&self) -> &[Dim] {
        &self.dims
    }

    /// The bytes in a span of the header.
    pub(super) fn part(&self, span: Span) -> &[u8] {
        part_of(&self.bytes, span).unwrap_or_default()
    }

    /// A name, which the cursor found to be UTF-8.
    pub(crate) fn text(&self, name: Span) -> &str {
        core::str::from_utf8(self.part(name)).unwrap_or_default()
    }
}

/// The number of dimensions, which the second item of a header gives.
fn ndims<S>(held: &mut Held<'_, S>, order: ByteOrder) -> Result<usize, Failed<S, Error>>
where
    S: ReadAt + ?Sized,
{
    let mut cursor = Cursor::new(order);
    held.next(&mut cursor)?;
    match held.next(&mut cursor)? {
        Item::List { nelems, .. } if nelems > MOST >> 3 => {
            Err(DriveError::BufferTooSmall { need: usize::MAX })
        }
        Item::List { nelems, .. } => Ok(usize::try_from(nelems).unwrap_or(usize::MAX)),
        _ => Ok(0), // never: a list follows the start
    }
}

/// The items of a header by kind.
#[derive(Default)]
struct Lists {
    dims: Vec<Dim>,
    attrs: Vec<Attr>,
    variables: Vec<Known>,
    dimids: Vec<u64>,
    /// The starts of the dimids and of the attributes of the current variable.
    starts: (usize, usize),
}

impl Lists {
    /// Takes an item that the survey has taken, and that ends at `end`; `bytes` of the header are
    /// in memory.
    fn take(&mut self, item: Item, survey: &Survey<'_>, (end, bytes): (u64, usize)) {
        match item {
            Item::Dim(dim) => self.dims.push(dim),
            // So lists are not copied again and again while they grow.
            Item::List { list: ListKind::Vars, nelems } => {
                let nvars = usize::try_from(nelems).unwrap_or(usize::MAX);
                let bytes = bytes.min(USUAL);
                self.variables.reserve(nvars.min(bytes / LEAST_VAR));
                self.dimids.reserve(nvars.saturating_mul(2).min(bytes / LEAST_VAR));
                self.attrs.reserve(nvars.saturating_mul(8).min(bytes / SHORT_ATTR));
            }
            Item::Dimids { .. } => self.starts.0 = self.dimids.len(),
            Item::Dimid { dimid, .. } => self.dimids.push(dimid),
            Item::List { list: ListKind::Vatts, .. } => self.starts.1 = self.attrs.len(),
            Item::Var(_) => {
                let Some(Measured { var, first, is_record, .. }) = survey.measured() else {
                    return;
                };
                let dims = self.starts.0..self.dimids.len();
                let attrs = self.starts.1..self.attrs.len();
                self.variables.push(Known { var, first, is_record, dims, attrs, end });
            }
            _ => {}
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { order, head, .. } = self;
        f.debug_struct("Header").field("order", order).field("head", head).finish_non_exhaustive()
    }
}
