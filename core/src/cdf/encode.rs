//! The machine that writes a header, and the header as bytes.

use super::ListKind;
use super::define::{Define, Size, flawed, numbered};
use super::error::{Error, Flaw};
use super::kind::Version;
use super::plan::{Begins, Plan};
use super::raw::{
    Attr1, Attr5, Dim1, Dim5, Dimid1, Dimid5, Dimids1, Dimids5, Header1, Header5, List1, List5,
    Name1, Name5, Var1, Var2, Var5,
};
use super::values::Values;
use crate::endian::{ByteOrder, U32, U64};
use crate::step::{DriveError, Machine, Step, drive};
use crate::store::{WriteAt, copy_front, usize_to_u64};
use core::convert::Infallible;
use zerocopy::IntoBytes;

/// The fewest bytes of a window.
pub const WINDOW: usize = 64;

/// Room for any structure of a header, and for padding.
const ROOM: usize = 24;

/// Writes the header of a new file from its start, through a window in the caller's memory. Each
/// write is as long as the window allows.
///
/// The output is an error if the definition has changed since the [`Plan`] was made.
///
/// ```
/// use striae_core::cdf::{Alignment, Definition, DimDef, Encode, Plan, Type, VarDef, Version};
///
/// let counts = VarDef { name: "counts", nc_type: Type::Short, dimids: &[0] };
/// let dims = [DimDef { name: "x", length: 3 }];
/// let definition = Definition { dims: &dims, attrs: &[], vars: &[(counts, &[])] };
/// let plan = Plan::new(&definition, Version::Cdf1, Alignment::COMPACT)?;
/// let (mut file, mut window) = (vec![0; plan.header_len() as usize], [0; 512]);
/// Encode::new(&definition, &plan, 0, &mut window)?.run(&mut &mut file[..])?;
/// assert_eq!(file[..8], *b"CDF\x01\0\0\0\0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Encode<'d, 'w, D: ?Sized> {
    definition: &'d D,
    plan: Plan,
    numrecs: u64,
    order: ByteOrder,
    /// `None` if every `begin` is 0.
    begins: Option<Begins>,
    /// Whether the first structure is zeros.
    is_hidden: bool,
    /// Where the window goes in the store.
    offset: u64,
    /// The bytes that were written before the window.
    written: u64,
    window: &'w mut [u8],
    len: usize,
    /// Whether the driver has the bytes of the window.
    is_out: bool,
    next: Next,
    /// A name or values that are not all in the window, and how many of their bytes are.
    text: Option<(Values<'d>, usize)>,
}

/// The next structure of a header.
#[derive(Debug, Clone, Copy)]
enum Next {
    Header,
    Dims,
    Dim(u64),
    DimLength(u64),
    Attrs(Option<u64>),
    Attr(Option<u64>, u64),
    AttrValues(Option<u64>, u64),
    Vars,
    Var(u64),
    Dimids(u64),
    Dimid(u64, usize),
    VarEnd(u64),
    End,
}

/// An integer of a structure. A value that does not fit is stored as the largest one, which is how
/// a vsize beyond 2^32 - 4 is stored; all others fit, as the [`Plan`] has checked.
trait Stored {
    fn stored(value: u64, order: ByteOrder) -> Self;
}

impl Stored for U32 {
    fn stored(value: u64, order: ByteOrder) -> Self {
        Self::new(u32::try_from(value).unwrap_or(u32::MAX), order)
    }
}

impl Stored for U64 {
    fn stored(value: u64, order: ByteOrder) -> Self {
        Self::new(value, order)
    }
}

/// Puts a structure, which has a type for each version, into the window.
macro_rules! put {
    ($encode:ident, [$($Version:ident: $Raw:ident),+], $fields:tt) => {
        match $encode.plan.version {
            $( Version::$Version => put!(one $encode, $Raw, $fields), )+
        }
    };
    (one $encode:ident, $Raw:ident, { $($field:ident: $value:expr),+ }) => {{
        let raw = $Raw { $( $field: Stored::stored($value, $encode.order) ),+ };
        $encode.put(raw.as_bytes());
    }};
}

type Result<T> = core::result::Result<T, Error>;

impl<'d, 'w, D: Define + ?Sized> Encode<'d, 'w, D> {
    /// Makes a machine that writes the header of `plan`, which was made of `definition`, with this
    /// number of records, or [`Version::streaming`]. `window` needs [`WINDOW`] bytes.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too short; [`Error::Records`] if there are too many.
    pub fn new(definition: &'d D, plan: &Plan, numrecs: u64, window: &'w mut [u8]) -> Result<Self> {
        if window.len() < WINDOW {
            return Err(Error::window(window.len(), WINDOW));
        }
        let (version, max) = (plan.version, plan.version.max_non_neg());
        if numrecs > max && numrecs != version.streaming() {
            return Err(Error::Records { numrecs, max });
        }
        Ok(Self {
            definition,
            plan: *plan,
            numrecs,
            order: ByteOrder::Big,
            begins: Some(plan.begins()),
            is_hidden: false,
            offset: 0,
            written: 0,
            window,
            len: 0,
            is_out: false,
            next: Next::Header,
            text: None,
        })
    }

    /// Writes the header that is embedded in the HDF5 files of E3SM-IO instead: integers and values
    /// in `order`, every `begin` 0.
    #[must_use]
    pub fn embedded(self, order: ByteOrder) -> Self {
        Self { order, begins: None, ..self }
    }

    /// Writes zeros instead of the magic and the number of records: the file is not a netCDF file
    /// until a commit writes them.
    #[must_use]
    pub fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    /// Writes from `offset` of the store on, instead of its start.
    #[must_use]
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Runs the machine on `store`.
    ///
    /// # Errors
    /// [`Error::Define`] if the definition has changed; the store's own error.
    pub fn run<S: WriteAt>(
        mut self,
        store: &mut S,
    ) -> core::result::Result<(), super::ReadError<S>> {
        let done = drive(&mut self, store, &mut []).map_err(DriveError::infallible)?;
        done.map_err(DriveError::Format)
    }

    fn put(&mut self, bytes: &[u8]) {
        let len = copy_front(bytes, self.window.get_mut(self.len..).unwrap_or_default());
        self.len = self.len.saturating_add(len);
    }

    /// Fills the window; false if the header ends in it.
    fn fill(&mut self) -> Result<bool> {
        while self.text()? {
            if matches!(self.next, Next::End) {
                return Ok(false);
            }
            if self.window.len().saturating_sub(self.len) < ROOM {
                return Ok(true);
            }
            self.structure()?;
        }
        Ok(true)
    }

    /// Puts as much of the text as fits; whether all of it was put.
    fn text(&mut self) -> Result<bool> {
        let Some((values, put)) = &mut self.text else { return Ok(true) };
        let room = self.window.get_mut(self.len..).unwrap_or_default();
        let len = values.write_to(*put, self.order, room);
        *put = put.saturating_add(len);
        let (all, put) = (values.len(), *put);
        self.len = self.len.saturating_add(len);
        let pad = all.wrapping_neg() & 3;
        if put < all || self.window.len().saturating_sub(self.len) < pad {
            return Ok(false);
        }
        self.put([0; 3].get(..pad).unwrap_or_default());
        self.text = None;
        Ok(true)
    }

    fn name(&mut self, name: &'d str) {
        let nelems = usize_to_u64(name.len());
        put!(self, [Cdf1: Name1, Cdf2: Name1, Cdf5: Name5], { nelems: nelems });
        self.text = Some((name.into(), 0));
    }

    fn list(&mut self, list: ListKind, nelems: u64) {
        let tag = if nelems == 0 { 0 } else { list.tag() };
        put!(self, [Cdf1: List1, Cdf2: List1, Cdf5: List5], { tag: tag.into(), nelems: nelems });
    }

    /// The error of an item that was there when the plan was made.
    fn changed<T>(item: Option<T>, varid: u64) -> Result<T> {
        item.ok_or(flawed(ListKind::Vars, None, varid, Flaw::Changed))
    }

    /// Puts the next structure.
    fn structure(&mut self) -> Result<()> {
        let definition = self.definition;
        self.next = match self.next {
            Next::Header => self.header(),
            Next::Dims => {
                self.list(ListKind::Dims, self.plan.ndims);
                Next::Dim(0)
            }
            Next::Dim(dimid) => match definition.dim(dimid) {
                Some(dim) => {
                    self.name(dim.name);
                    Next::DimLength(dimid)
                }
                None => Next::Attrs(None),
            },
            Next::DimLength(dimid) => {
                let length = Self::changed(definition.dim(dimid), 0)?.length;
                put!(self, [Cdf1: Dim1, Cdf2: Dim1, Cdf5: Dim5], { length: length });
                Next::Dim(dimid.saturating_add(1))
            }
            Next::Vars => {
                self.list(ListKind::Vars, self.plan.nvars);
                Next::Var(0)
            }
            Next::Var(varid) => match definition.var(varid) {
                Some(var) => {
                    self.name(var.name);
                    Next::Dimids(varid)
                }
                None => Next::End,
            },
            Next::Dimids(varid) => {
                let var = Self::changed(definition.var(varid), varid)?;
                let ndims = usize_to_u64(var.dimids.len());
                put!(self, [Cdf1: Dimids1, Cdf2: Dimids1, Cdf5: Dimids5], { ndims: ndims });
                Next::Dimid(varid, 0)
            }
            Next::Dimid(varid, place) => {
                let var = Self::changed(definition.var(varid), varid)?;
                match var.dimids.get(place) {
                    Some(&dimid) => {
                        put!(self, [Cdf1: Dimid1, Cdf2: Dimid1, Cdf5: Dimid5], { dimid: dimid });
                        Next::Dimid(varid, place.saturating_add(1))
                    }
                    None => Next::Attrs(Some(varid)),
                }
            }
            Next::VarEnd(varid) => self.var_end(varid)?,
            next @ (Next::Attrs(_) | Next::Attr(..) | Next::AttrValues(..)) => self.attrs(next)?,
            Next::End => Next::End,
        };
        Ok(())
    }

    fn header(&mut self) -> Next {
        let (magic, numrecs, order) = match self.is_hidden {
            true => ([0; 4], 0, self.order),
            false => (self.plan.version.magic(), self.numrecs, self.order),
        };
        match self.plan.version {
            Version::Cdf1 | Version::Cdf2 => {
                let raw = Header1 { magic, numrecs: Stored::stored(numrecs, order) };
                self.put(raw.as_bytes());
            }
            Version::Cdf5 => {
                let raw = Header5 { magic, numrecs: Stored::stored(numrecs, order) };
                self.put(raw.as_bytes());
            }
        }
        Next::Dims
    }

    /// Puts the next structure of a list of attributes.
    fn attrs(&mut self, next: Next) -> Result<Next> {
        let definition = self.definition;
        Ok(match next {
            Next::Attrs(of) => {
                let count = numbered(|number| definition.attr(of, number)).count();
                let list = if of.is_some() { ListKind::Vatts } else { ListKind::Gatts };
                self.list(list, usize_to_u64(count));
                Next::Attr(of, 0)
            }
            Next::Attr(of, number) => match (definition.attr(of, number), of) {
                (Some(attr), _) => {
                    self.name(attr.name);
                    Next::AttrValues(of, number)
                }
                (None, Some(varid)) => Next::VarEnd(varid),
                (None, None) => Next::Vars,
            },
            Next::AttrValues(of, number) => {
                let attr = Self::changed(definition.attr(of, number), of.unwrap_or(0))?;
                let nc_type = attr.values.nc_type().number().into();
                let nelems = Self::changed(attr.values.nelems(), of.unwrap_or(0))?;
                put!(self, [Cdf1: Attr1, Cdf2: Attr1, Cdf5: Attr5], {
                    nc_type: nc_type, nelems: nelems
                });
                self.text = Some((attr.values, 0));
                Next::Attr(of, number.saturating_add(1))
            }
            next => next,
        })
    }

    fn var_end(&mut self, varid: u64) -> Result<Next> {
        let var = Self::changed(self.definition.var(varid), varid)?;
        let size = Self::changed(Size::of(self.definition, &var).ok(), varid)?;
        let begin = match &mut self.begins {
            Some(begins) => begins.next(size).map(|place| place.offset()),
            None => Some(0),
        };
        let begin = Self::changed(begin, varid)?;
        let vsize = super::layout::padded(size.len).unwrap_or(u64::MAX);
        let nc_type = var.nc_type.number().into();
        put!(self, [Cdf1: Var1, Cdf2: Var2, Cdf5: Var5], {
            nc_type: nc_type, vsize: vsize, begin: begin
        });
        Ok(Next::Var(varid.saturating_add(1)))
    }

    /// Fills the window if it was written. Whether there is something in it.
    fn advance(&mut self) -> Result<bool> {
        if self.is_out {
            self.written = self.written.saturating_add(usize_to_u64(self.len));
            (self.len, self.is_out) = (0, false);
        }
        if self.len == 0 {
            self.fill()?;
        }
        let end = self.written.saturating_add(usize_to_u64(self.len));
        let is_end = matches!(self.next, Next::End) && self.text.is_none();
        let is_right = match is_end {
            true => end == self.plan.header_len,
            false => end <= self.plan.header_len,
        };
        Self::changed(is_right.then_some(()), self.plan.nvars)?;
        Ok(self.len > 0)
    }
}

impl<D: Define + ?Sized> Machine for Encode<'_, '_, D> {
    type Output = Result<()>;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Result<()>> {
        match self.advance() {
            Ok(true) => {
                self.is_out = true;
                let offset = self.offset.saturating_add(self.written);
                Step::Write { offset, bytes: self.window.get(..self.len).unwrap_or_default() }
            }
            Ok(false) => Step::Done(Ok(())),
            Err(error) => Step::Done(Err(error)),
        }
    }

    fn feed(&mut self, _: &[u8]) -> core::result::Result<(), Infallible> {
        Ok(())
    }
}
