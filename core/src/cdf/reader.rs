//! A classic netCDF file, for people who just want to read.
//!
//! Nothing allocates. Lists stay in the store and pass through a window of the caller's; whoever
//! looks for many things goes through a list once.

use super::ReadError;
use super::cursor::{Attr, Cursor, Dim, Item};
use super::error::Error;
use super::kind::Version;
use super::layout::{Region, Slab};
use super::open::{Extent, Head, Scan, Survey, Variable, next};
use super::raw::{Dimid1, Dimid5};
use crate::endian::ByteOrder;
use crate::source::{Source, Window};
use crate::span::Span;
use crate::step::{DriveError, ReadStep, drive_read, read_exact};
use crate::store::{ReadAt, usize_to_u64};
use core::ops::ControlFlow::{Break, Continue};
use zerocopy::FromBytes;

/// A classic netCDF file in a store.
///
/// ```
/// use striae_core::cdf::{Reader, Region};
///
/// # let file = include_bytes!("../../../tests/golden/cdf/cdf1_onerec_short.nc");
/// let (mut lengths, mut window) = ([0; 16], [0; 512]); // of dimensions; for headers
/// let file = Reader::open(&file[..], &mut lengths, &mut window)?;
/// let r = file.variable(b"r", &mut window)?.unwrap();
///
/// let mut shape = [0; 4];
/// let shape = file.shape(&r.var, &mut shape, &mut window)?;
/// assert_eq!(shape, [4, 3]); // 4 records of 3 values
///
/// let region = Region { start: &[2, 0], count: &[2, 2], stride: None };
/// let mut values = [0; 8];
/// file.read_slab(&file.slab(&r, shape, region)?, &mut values)?;
/// assert_eq!(values, [0, 6, 0, 7, 0, 9, 0, 10]); // big-endian
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Reader<'m, S> {
    store: S,
    head: Head,
    lengths: &'m [u64],
}

impl<S> Reader<'_, S> {
    /// Bytes that a window needs for names up to 256 bytes, which is what netCDF allows.
    pub const WINDOW: usize = 256 + 20;

    /// What opening learned.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Lengths of the dimensions; that of the record dimension is the number of records.
    #[must_use]
    pub const fn lengths(&self) -> &[u64] {
        self.lengths
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// The store, given back.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// The values of a record, which must lie in the file; of a variable without records, all
    /// values.
    ///
    /// # Errors
    /// [`Error::OutOfShape`] if there is no such record, [`Error::OutOfFile`].
    pub fn record(&self, variable: &Variable, number: u64) -> Result<Span, Error> {
        let layout = variable.layout;
        let length = if layout.recsize.is_some() { self.head.numrecs } else { 1 };
        if length <= number {
            return Err(Error::OutOfShape { dim: 0, last: number, length });
        }
        let span = layout.recsize.map_or(Some(layout.first), |_| layout.record(number));
        let span = span.ok_or(Error::Size { begin: layout.first.offset() })?;
        self.check_end(span.offset(), span.end())?;
        Ok(span)
    }

    /// The values of a region, which must lie in the file. `shape` is [`shape`](Self::shape)'s.
    ///
    /// # Errors
    /// As [`Slab::new`]; [`Error::OutOfFile`].
    pub fn slab<'a>(
        &self,
        variable: &Variable,
        shape: &'a [u64],
        region: Region<'a>,
    ) -> Result<Slab<'a>, Error> {
        let slab = Slab::new(variable.layout, shape, region)?;
        if !slab.is_empty() {
            self.check_end(variable.layout.first.offset(), slab.end())?;
        }
        Ok(slab)
    }

    fn check_end(&self, offset: u64, end: u64) -> Result<(), Error> {
        let file_len = self.head.file_len;
        if end <= file_len { Ok(()) } else { Err(Error::OutOfFile { offset, end, file_len }) }
    }
}

impl<'m, S: ReadAt> Reader<'m, S> {
    /// Opens the file in `store`. `lengths` needs room for each dimension; `window` needs
    /// [`Reader::WINDOW`] bytes, and a larger one makes fewer reads.
    ///
    /// # Errors
    /// [`Error`] if it is no classic netCDF file, or a damaged one; the store's own.
    pub fn open(store: S, lengths: &'m mut [u64], window: &mut [u8]) -> Result<Self, ReadError<S>> {
        let file_len = store.size().map_err(DriveError::Store)?;
        let mut survey = Survey::new(file_len, lengths);
        let start = Cursor::new(ByteOrder::Big);
        let take = |item, after: &Cursor, _: &Window<'_>| survey.take(item, after);
        let head = drive_read(&mut Scan::new(file_len, start, take), &store, window)?;
        let head = head.ok_or(DriveError::Ended { offset: file_len })?; // never: the end breaks
        Ok(Self { store, head, lengths: survey.into_lengths() })
    }

    /// The dimensions. `window` as for [`open`](Self::open).
    pub fn dims<W: AsMut<[u8]>>(
        &self,
        window: W,
    ) -> impl Iterator<Item = Result<Dim, ReadError<S>>> {
        self.items(self.head.dims, window).pick(|item| match item {
            Item::Dim(dim) => Some(dim),
            _ => None,
        })
    }

    /// The attributes of a variable, or of the file if it is `None`. `window` as for
    /// [`open`](Self::open).
    pub fn attrs<W: AsMut<[u8]>>(
        &self,
        of: Option<&Variable>,
        window: W,
    ) -> impl Iterator<Item = Result<Attr, ReadError<S>>> {
        let first = of.map_or(self.head.gatts, |variable| variable.attrs);
        self.items(first, window).pick(|item| match item {
            Item::Attr(attr) => Some(attr),
            _ => None,
        })
    }

    /// The variables. `window` as for [`open`](Self::open).
    pub fn variables<W: AsMut<[u8]>>(
        &self,
        window: W,
    ) -> impl Iterator<Item = Result<Variable, ReadError<S>>> {
        let mut extent = Extent::new(self.head.vars);
        self.items(self.head.vars, window).filter_map(move |item| {
            let taken = item.and_then(|(item, after)| {
                let taken = extent.take(item, &after, self.lengths, self.head.record_dim);
                taken.map_err(DriveError::Format)
            });
            let variable = taken.map(|taken| Some(extent.variable(taken?, self.head.recsize)));
            variable.transpose()
        })
    }

    fn items<W: AsMut<[u8]>>(&self, cursor: Cursor, window: W) -> Items<'_, S, W> {
        let file_len = self.head.file_len;
        Items { store: &self.store, file_len, cursor: Some(cursor), window, have: Span::ZERO }
    }

    /// The variable of this name. `window` as for [`open`](Self::open).
    ///
    /// # Errors
    /// The store's own; [`Error`] if the file has changed.
    pub fn variable(
        &self,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<Variable>, ReadError<S>> {
        let (mut extent, mut is_it) = (Extent::new(self.head.vars), false);
        let take = |item, after: &Cursor, window: &Window<'_>| {
            if let Item::Dimids { name: found, .. } = item {
                is_it = is_name(found, window, name);
            }
            let taken = extent.take(item, after, self.lengths, self.head.record_dim)?;
            Ok(match taken.filter(|_| is_it) {
                Some(taken) => Break(Some(extent.variable(taken, self.head.recsize))),
                None => Continue(()),
            })
        };
        drive_read(&mut Scan::new(self.head.file_len, self.head.vars, take), &self.store, window)
    }

    /// The attribute of this name, of a variable or of the file. `window` as for
    /// [`open`](Self::open).
    ///
    /// # Errors
    /// The store's own; [`Error`] if the file has changed.
    pub fn attr(
        &self,
        of: Option<&Variable>,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<Attr>, ReadError<S>> {
        let first = of.map_or(self.head.gatts, |variable| variable.attrs);
        let take = |item, _: &Cursor, window: &Window<'_>| {
            Ok(match item {
                Item::Attr(attr) if is_name(attr.name, window, name) => Break(Some(attr)),
                Item::Attr(_) | Item::Name(_) => Continue(()),
                _ => Break(None),
            })
        };
        drive_read(&mut Scan::new(self.head.file_len, first, take), &self.store, window)
    }

    /// The lengths of the dimensions of a variable, at the front of `shape`. Any `window` will do
    /// that has 8 bytes.
    ///
    /// # Errors
    /// [`Error::Rank`] if `shape` has no room; the store's own.
    pub fn shape<'s>(
        &self,
        var: &super::Var,
        shape: &'s mut [u64],
        window: &mut [u8],
    ) -> Result<&'s [u64], ReadError<S>> {
        let (ndims, given) = (var.ndims, usize_to_u64(shape.len()));
        let places = usize::try_from(ndims).ok().and_then(|ndims| shape.get_mut(..ndims));
        let places = places.ok_or(DriveError::Format(Error::Rank { ndims, given }))?;
        let len = self.head.version.non_neg_len();
        for (number, place) in (0..).zip(&mut *places) {
            let at = var.dimids.entry(number, len).unwrap_or(Span::ZERO); // the table has so many
            let bytes = at.front_of(window);
            read_exact(&self.store, at.offset(), bytes)?;
            let dimid = match self.head.version {
                Version::Cdf1 | Version::Cdf2 => Dimid1::read_from_bytes(bytes)
                    .map(|raw| raw.dimid.get(ByteOrder::Big).into())
                    .ok(),
                Version::Cdf5 => {
                    Dimid5::read_from_bytes(bytes).map(|raw| raw.dimid.get(ByteOrder::Big)).ok()
                }
            };
            let dimid = dimid.ok_or(DriveError::BufferTooSmall { need: 8 })?;
            let length = usize::try_from(dimid).ok().and_then(|dimid| self.lengths.get(dimid));
            let no_dim = Error::NoDim { offset: at.offset(), dimid, ndims: self.head.ndims };
            *place = *length.ok_or(DriveError::Format(no_dim))?;
        }
        Ok(places)
    }

    /// A name, at the front of `buf`; `None` if `buf` has no room for it.
    ///
    /// # Errors
    /// The store's own; [`Error`] if the file has changed.
    pub fn name<'b>(&self, name: Span, buf: &'b mut [u8]) -> Result<Option<&'b str>, ReadError<S>> {
        let bytes = name.front_of(buf);
        if usize_to_u64(bytes.len()) < name.len() {
            return Ok(None);
        }
        read_exact(&self.store, name.offset(), bytes)?;
        let text = core::str::from_utf8(bytes);
        let error = Error::NotUtf8 { offset: name.offset() };
        Ok(Some(text.map_err(|_| DriveError::Format(error))?))
    }

    /// Reads the bytes at the front of `span`, as many as `buf` has room for, and says how many.
    ///
    /// # Errors
    /// The store's own; [`DriveError::Ended`] if the store has become shorter.
    pub fn read(&self, span: Span, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        let bytes = span.front_of(buf);
        read_exact(&self.store, span.offset(), bytes)?;
        Ok(bytes.len())
    }

    /// Reads the values of a region, as many as `buf` has room for, and says how many bytes.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_slab(&self, slab: &Slab<'_>, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        let mut len = 0_usize;
        for run in slab.runs() {
            let room = buf.get_mut(len..).unwrap_or_default();
            if room.is_empty() {
                break;
            }
            len = len.saturating_add(self.read(run, room)?);
        }
        Ok(len)
    }
}

/// Whether a name that was just looked at is this one.
fn is_name(name: Span, window: &Window<'_>, wanted: &[u8]) -> bool {
    name.len() == usize_to_u64(wanted.len())
        && window.some(name.offset(), wanted.len(), name.len()) == Ok(wanted)
}

/// A header's items from a cursor on, each with the cursor behind it.
#[derive(Debug)]
struct Items<'s, S, W> {
    store: &'s S,
    file_len: u64,
    /// `None` at the end and after an error.
    cursor: Option<Cursor>,
    window: W,
    /// What is in the window.
    have: Span,
}

impl<S: ReadAt, W: AsMut<[u8]>> Items<'_, S, W> {
    /// What `pick` takes, up to an item that it does not; names come before what has them.
    fn pick<T>(
        self,
        pick: impl Fn(Item) -> Option<T>,
    ) -> impl Iterator<Item = Result<T, ReadError<S>>> {
        let picked = self.map_while(move |item| match item {
            Ok((Item::Name(_), _)) => Some(None),
            Ok((item, _)) => pick(item).map(|picked| Some(Ok(picked))),
            Err(error) => Some(Some(Err(error))),
        });
        picked.flatten()
    }

    fn advance(&mut self, cursor: Cursor) -> Result<(Item, Cursor), ReadError<S>> {
        loop {
            let bytes = self.have.front_of(self.window.as_mut());
            let window = Window::new(self.have.offset(), bytes, self.file_len);
            let (offset, need, want) = match next(&cursor, &window).map_err(DriveError::Format)? {
                ReadStep::Read { offset, need, want } => (offset, need, want),
                ReadStep::Done(next) => return Ok(next),
            };
            self.have = Span::new(offset, want).unwrap_or(Span::ZERO); // it ends with the file
            let bytes = self.have.front_of(self.window.as_mut());
            if bytes.len() < need {
                return Err(DriveError::BufferTooSmall { need });
            }
            read_exact(self.store, self.have.offset(), bytes)?;
        }
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Items<'_, S, W> {
    type Item = Result<(Item, Cursor), ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        let cursor = self.cursor.take()?;
        let next = self.advance(cursor);
        if let Ok((item, cursor)) = next {
            self.cursor = Some(cursor).filter(|_| !matches!(item, Item::End { .. }));
        }
        Some(next)
    }
}
