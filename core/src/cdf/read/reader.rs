//! [`Reader`] reads a classic netCDF file.
//!
//! Nothing allocates. Lists stay in the store and pass through a window in the caller's memory. To
//! find many items, iterate over a list once.

use super::cursor::{Attr, Cursor, Dim, Item};
use super::open::{Extent, Head, Scan, Survey, Variable, Within, next, up_to};
use crate::cdf::error::Error;
#[twin(ReadError = AsyncError)]
use crate::cdf::error::ReadError;
use crate::cdf::kind::ListKind;
use crate::cdf::layout::{Region, Slab};
use crate::endian::ByteOrder;
use crate::source::{Source, Window};
use crate::span::{Span, Stride};
use crate::step::{DriveError, ReadMachine, ReadStep};
#[twin(drive_read, read_exact)]
use crate::step::{drive_read, read_exact};
#[twin(ReadAt)]
use crate::store::ReadAt;
use crate::store::usize_to_u64;
use core::ops::ControlFlow::{Break, Continue};
use striae_twin::twin;

/// Reads a classic netCDF file in a store.
///
/// ```
/// use striae_core::cdf::{Reader, Region};
///
/// # let file = include_bytes!("../../../doc/cdf1_onerec_short.nc");
/// let (mut lengths, mut window) = ([0; 16], [0; 512]); // of dimensions; for headers
/// let file = Reader::open(&file[..], &mut lengths, &mut window)?;
/// let r = file.variable(b"r", &mut window)?.unwrap();
///
/// let mut shape = [0; 4];
/// let shape = file.shape(&r, &mut shape, &mut window)?;
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
    /// The bytes that a window needs for names of up to 256 bytes, which netCDF allows.
    pub const WINDOW: usize = 256 + 20;

    /// The metadata that opening has read.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The lengths of the dimensions; the length of the record dimension is the number of records.
    #[must_use]
    pub const fn lengths(&self) -> &[u64] {
        self.lengths
    }

    /// The store.
    #[must_use]
    pub const fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store.
    #[must_use]
    pub fn into_store(self) -> S {
        self.store
    }

    /// The span of the values of a record: see [`Head::record`].
    ///
    /// # Errors
    /// See [`Head::record`].
    pub fn record(&self, variable: &Variable, number: u64) -> Result<Span, Error> {
        self.head.record(variable.layout, number)
    }

    /// The places of the values of a region, which must be in the file. `shape` is the result of
    /// [`shape`](Self::shape).
    ///
    /// # Errors
    /// See [`Slab::new`]; [`Error::OutOfFile`] if the file ends before the end of the region.
    pub fn slab<'a>(
        &self,
        variable: &Variable,
        shape: &'a [u64],
        region: Region<'a>,
    ) -> Result<Slab<'a>, Error> {
        self.head.slab(variable.layout, shape, region)
    }
}

#[twin(ReadAt, ReadError = AsyncError)]
impl<'m, S: ReadAt> Reader<'m, S> {
    /// Opens the file in `store`. `lengths` needs an entry for each dimension. `window` needs
    /// [`Reader::WINDOW`] bytes; a larger window makes fewer reads.
    ///
    /// # Errors
    /// [`Error`] if the file is not a classic netCDF file or is damaged; [`Error::DimsMemory`] if
    /// `lengths` is too short; the store's own error.
    pub async fn open(
        store: S,
        lengths: &'m mut [u64],
        window: &mut [u8],
    ) -> Result<Self, ReadError<S>> {
        let file_len = store.size().await.map_err(DriveError::Store)?;
        let mut survey = Survey::new(file_len, lengths);
        let take = |item, after: &Cursor, _: &Window<'_>| survey.take(item, after);
        let mut scan = Scan::new(file_len, Cursor::new(ByteOrder::Big), take);
        let head = drive_read(&mut scan, &store, window).await?;
        let head = head.ok_or(DriveError::Ended { offset: file_len })?; // never: the end breaks
        Ok(Self { store, head, lengths: survey.into_lengths() })
    }

    /// The variable of this name. `window` needs the same length as for [`open`](Self::open).
    ///
    /// # Errors
    /// The store's own error; [`Error`] if the file has changed.
    pub async fn variable(
        &self,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<Variable>, ReadError<S>> {
        self.store.will_read(&[self.head.rest(self.head.vars)]).await;
        drive_read(&mut find_variable(&self.head, self.lengths, name), &self.store, window).await
    }

    /// The attribute of this name, of a variable or of the file. `window` needs the same length as
    /// for [`open`](Self::open).
    ///
    /// # Errors
    /// The store's own error; [`Error`] if the file has changed.
    pub async fn attr(
        &self,
        of: Option<&Variable>,
        name: &[u8],
        window: &mut [u8],
    ) -> Result<Option<Attr>, ReadError<S>> {
        self.store
            .will_read(&[self.head.rest(of.map_or(self.head.gatts, |variable| variable.items))])
            .await;
        drive_read(&mut find_attr(&self.head, of, name), &self.store, window).await
    }

    /// Writes the lengths of a variable's dimensions to the start of `shape` and returns them.
    /// `window` needs 12 bytes.
    ///
    /// # Errors
    /// [`Error::Rank`] if `shape` is too short; the store's own error; [`Error`] if the file has
    /// changed.
    pub async fn shape<'s>(
        &self,
        variable: &Variable,
        shape: &'s mut [u64],
        window: &mut [u8],
    ) -> Result<&'s [u64], ReadError<S>> {
        let (ndims, given) = (variable.var.ndims, usize_to_u64(shape.len()));
        let places = usize::try_from(ndims).ok().and_then(|ndims| shape.get_mut(..ndims));
        let places = places.ok_or(Error::Rank { ndims, given })?;
        self.store.will_read(&[self.head.rest(variable.items)]).await;
        let mut find = find_shape(&self.head, self.lengths, variable, places);
        drive_read(&mut find, &self.store, window).await?;
        drop(find);
        Ok(places)
    }

    /// Reads the first bytes of `span`, as many as fit into `buf`, and returns how many.
    ///
    /// # Errors
    /// The store's own error; [`DriveError::Ended`] if the store has become shorter.
    pub async fn read(&self, span: Span, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        let bytes = span.front_of(buf);
        read_exact(&self.store, span.offset(), bytes).await?;
        Ok(bytes.len())
    }

    /// Reads a name into the start of `buf`; `None` if `buf` is too short.
    ///
    /// # Errors
    /// The store's own error; [`Error`] if the file has changed.
    pub async fn name<'b>(
        &self,
        name: Span,
        buf: &'b mut [u8],
    ) -> Result<Option<&'b str>, ReadError<S>> {
        let bytes = name.front_of(buf);
        if usize_to_u64(bytes.len()) < name.len() {
            return Ok(None);
        }
        read_exact(&self.store, name.offset(), bytes).await?;
        let text = core::str::from_utf8(bytes);
        Ok(Some(text.map_err(|_| Error::NotUtf8 { offset: name.offset() })?))
    }

    /// Reads the first values of a region, as many as fit into `buf`, and returns the number of
    /// bytes.
    ///
    /// # Errors
    /// See [`read`](Self::read).
    pub async fn read_slab(&self, slab: &Slab<'_>, buf: &mut [u8]) -> Result<usize, ReadError<S>> {
        let mut len = 0_usize;
        for run in slab.runs() {
            let room = buf.get_mut(len..).unwrap_or_default();
            if room.is_empty() {
                break;
            }
            len = len.saturating_add(self.read(run, room).await?);
        }
        Ok(len)
    }
}

impl<S: ReadAt> Reader<'_, S> {
    /// The dimensions. `window` needs the same length as for [`open`](Self::open).
    pub fn dims<W: AsMut<[u8]>>(
        &self,
        window: W,
    ) -> impl Iterator<Item = Result<Dim, ReadError<S>>> {
        self.items(self.head.dims, window).pick(|item| match item {
            Item::Dim(dim) => Some(dim),
            _ => None,
        })
    }

    /// The attributes of a variable, or of the file if it is `None`. `window` needs the same length
    /// as for [`open`](Self::open).
    pub fn attrs<W: AsMut<[u8]>>(
        &self,
        of: Option<&Variable>,
        window: W,
    ) -> impl Iterator<Item = Result<Attr, ReadError<S>>> {
        let first = of.map_or(self.head.gatts, |variable| variable.items);
        self.items(first, window).pick(|item| match item {
            Item::Attr(attr) => Some(attr),
            _ => None,
        })
    }

    /// The variables. `window` needs the same length as for [`open`](Self::open).
    pub fn variables<W: AsMut<[u8]>>(
        &self,
        window: W,
    ) -> impl Iterator<Item = Result<Variable, ReadError<S>>> {
        let mut extent = Extent::new(self.head.vars);
        let mut items = self.items(self.head.vars, window);
        core::iter::from_fn(move || {
            loop {
                let taken = items.next()?.and_then(|item| {
                    let dims = (self.lengths, self.head.record_dim);
                    Ok(extent.take(item, &items.cursor, dims, &mut Err)?)
                });
                match taken.transpose() {
                    Some(Ok(measured)) => return Some(Ok(measured.variable(self.head.recsize))),
                    Some(Err(error)) => return Some(Err(error)),
                    None => {}
                }
            }
        })
    }

    fn items<W: AsMut<[u8]>>(&self, cursor: Cursor, window: W) -> Items<'_, S, W> {
        Items {
            store: &self.store,
            head: &self.head,
            cursor,
            rest: self.head.rest(cursor),
            is_done: false,
            window,
            have: Span::ZERO,
        }
    }
}

/// Whether a name that the cursor has just read is `wanted`.
pub(in crate::cdf) fn is_name(name: Span, window: &Window<'_>, wanted: &[u8]) -> bool {
    name.len() == usize_to_u64(wanted.len())
        && window.some(name.offset(), wanted.len(), name.len()) == Ok(wanted)
}

/// Whether an item comes before a dimension or an attribute in the same list, or before a
/// variable's attributes.
const fn is_between(item: Item) -> bool {
    matches!(item, Item::Name(_) | Item::Dimid { .. } | Item::List { list: ListKind::Vatts, .. })
}

/// The machine that finds the variable with this name.
fn find_variable<'a>(
    head: &'a Head,
    lengths: &'a [u64],
    name: &'a [u8],
) -> impl ReadMachine<Output = Option<Variable>, Error = Error> + 'a {
    let (mut extent, mut is_it) = (Extent::new(head.vars), false);
    let machine =
        Scan::new(head.file_len, head.vars, move |item, after: &Cursor, window: &Window<'_>| {
            if let Item::Dimids { name: found, .. } = item {
                is_it = is_name(found, window, name);
            }
            let taken = extent.take(item, after, (lengths, head.record_dim), &mut Err)?;
            Ok(match taken.filter(|_| is_it) {
                Some(measured) => Break(Some(measured.variable(head.recsize))),
                None => Continue(()),
            })
        });
    Within { machine, end: head.header_len }
}

/// The machine that finds the attribute with this name.
fn find_attr<'a>(
    head: &Head,
    of: Option<&Variable>,
    name: &'a [u8],
) -> impl ReadMachine<Output = Option<Attr>, Error = Error> + 'a {
    let first = of.map_or(head.gatts, |variable| variable.items);
    let machine = Scan::new(head.file_len, first, move |item, _: &Cursor, window: &Window<'_>| {
        Ok(match item {
            Item::Attr(attr) if is_name(attr.name, window, name) => Break(Some(attr)),
            Item::Attr(_) => Continue(()),
            item if is_between(item) => Continue(()),
            _ => Break(None),
        })
    });
    Within { machine, end: head.header_len }
}

/// The machine that fills `places` with the lengths of a variable's dimensions. Its output has no
/// meaning.
fn find_shape<'a>(
    head: &'a Head,
    lengths: &'a [u64],
    variable: &Variable,
    places: &'a mut [u64],
) -> impl ReadMachine<Output = Option<()>, Error = Error> + 'a {
    let mut places = places.iter_mut();
    let machine =
        Scan::new(head.file_len, variable.items, move |item, _: &Cursor, _: &Window<'_>| {
            let Item::Dimid { dimid, .. } = item else { return Ok(Break(None)) };
            let length = usize::try_from(dimid).ok().and_then(|dimid| lengths.get(dimid));
            if let (Some(place), Some(length)) = (places.next(), length) {
                *place = *length;
            }
            Ok(Continue(()))
        });
    Within { machine, end: head.header_len }
}

/// An iterator over a header's items from a cursor on.
#[derive(Debug)]
struct Items<'s, S, W> {
    store: &'s S,
    head: &'s Head,
    /// The place after the last item.
    cursor: Cursor,
    /// Whether the last item was the end or an error.
    is_done: bool,
    window: W,
    /// The span of the bytes in the window.
    have: Span,
    /// The rest of the header, until it is read.
    rest: Stride,
}

impl<S: ReadAt, W: AsMut<[u8]>> Items<'_, S, W> {
    /// The items that `pick` accepts, up to the first one that it does not.
    fn pick<T>(
        self,
        pick: impl Fn(Item) -> Option<T>,
    ) -> impl Iterator<Item = Result<T, ReadError<S>>> {
        let picked = self.map_while(move |item| match item {
            Ok(item) if is_between(item) => Some(None),
            Ok(item) => pick(item).map(|picked| Some(Ok(picked))),
            Err(error) => Some(Some(Err(error))),
        });
        picked.flatten()
    }

    fn advance(&mut self) -> Result<Item, ReadError<S>> {
        loop {
            let bytes = self.have.front_of(self.window.as_mut());
            let window = Window::new(self.have.offset(), bytes, self.head.file_len);
            let step = next(&mut self.cursor, &window)?;
            let (offset, need, want) = match step {
                ReadStep::Read { offset, need, want } => (offset, need, want),
                ReadStep::Done(item) => return Ok(item),
            };
            let want = up_to(self.head.header_len, offset, need, want);
            self.have = Span::new(offset, want).unwrap_or(Span::ZERO); // it ends with the file
            let bytes = self.have.front_of(self.window.as_mut());
            if bytes.len() < need {
                return Err(DriveError::BufferTooSmall { need });
            }
            if !self.rest.is_empty() {
                self.store.will_read(&[core::mem::replace(&mut self.rest, Stride::NONE)]);
            }
            read_exact(self.store, self.have.offset(), bytes)?;
        }
    }
}

impl<S: ReadAt, W: AsMut<[u8]>> Iterator for Items<'_, S, W> {
    type Item = Result<Item, ReadError<S>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done {
            return None;
        }
        let next = self.advance();
        self.is_done = matches!(next, Err(_) | Ok(Item::End { .. }));
        Some(next)
    }
}
