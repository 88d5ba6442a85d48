//! [`Encode`]: a header as bytes.

use super::define::{AttrDef, Define, Size, VarDef, flawed, numbered};
use super::plan::{Begins, Plan};
#[twin(ReadError = AsyncError)]
use crate::cdf::error::ReadError;
use crate::cdf::error::{Error, Flaw};
use crate::cdf::kind::{ListKind, Version};
use crate::cdf::raw::{
    Attr1, Attr5, Dim1, Dim5, Dimid1, Dimid5, Dimids1, Dimids5, Header1, Header5, List1, List5,
    Name1, Name5, Var1, Var2, Var5,
};
use crate::cdf::values::{Fill, Values};
use crate::endian::{ByteOrder, U32, U64};
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::{copy_front, usize_to_u64};
use striae_twin::twin;
use zerocopy::IntoBytes;

/// The fewest bytes of a window.
pub const WINDOW: usize = 64;

/// Room for any structure of a header, and for padding.
const ROOM: usize = 24;

/// The header of a new file, which [`run`](Self::run) writes from its start through a window in the
/// caller's memory. Each write is as long as the window allows.
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
#[must_use]
pub struct Encode<'d, 'w, D: ?Sized> {
    definition: &'d D,
    plan: Plan,
    numrecs: u64,
    order: ByteOrder,
    /// `None` if every `begin` is 0.
    begins: Option<Begins>,
    /// Whether the first structure is zeros.
    is_hidden: bool,
    /// Where the header goes in the store.
    offset: u64,
    /// The bytes that were written before those in the window.
    written: u64,
    window: &'w mut [u8],
    /// The bytes in the window.
    len: usize,
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
        $encode.append(raw.as_bytes());
    }};
}

/// The most bytes of magic and number of records.
pub(in crate::cdf) const PREFIX: usize = size_of::<Header5>();

/// The first bytes of a file, magic and number of records, and how many they are.
pub(in crate::cdf) fn prefix(
    version: Version,
    numrecs: u64,
    order: ByteOrder,
) -> ([u8; PREFIX], usize) {
    let (magic, mut prefix) = (version.magic(), [0; PREFIX]);
    let len = match version {
        Version::Cdf1 | Version::Cdf2 => {
            let numrecs = Stored::stored(numrecs, order);
            copy_front(Header1 { magic, numrecs }.as_bytes(), &mut prefix)
        }
        Version::Cdf5 => {
            let numrecs = Stored::stored(numrecs, order);
            copy_front(Header5 { magic, numrecs }.as_bytes(), &mut prefix)
        }
    };
    (prefix, len)
}

/// An item that was there when the plan was made.
fn planned<T, E>(item: Option<T>, varid: u64) -> Result<T, DriveError<E, Error>> {
    item.ok_or(DriveError::Format(flawed(ListKind::Vars, None, varid, Flaw::Changed)))
}

impl<'d, 'w, D: Define + ?Sized> Encode<'d, 'w, D> {
    /// The header of `plan`, which was made of `definition`, with this number of records, or
    /// [`Version::streaming`]. `window` needs [`WINDOW`] bytes.
    ///
    /// # Errors
    /// [`Error::Window`] if the window is too short; [`Error::Records`] if there are too many.
    pub fn new(
        definition: &'d D,
        plan: &Plan,
        numrecs: u64,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
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
        })
    }

    /// Writes the header that is embedded in the HDF5 files of E3SM-IO instead: integers and values
    /// in `order`, every `begin` 0.
    pub fn embedded(self, order: ByteOrder) -> Self {
        Self { order, begins: None, ..self }
    }

    /// Writes zeros instead of the magic and the number of records: the file is not a netCDF file
    /// until a commit writes them.
    pub fn hidden(self) -> Self {
        Self { is_hidden: true, ..self }
    }

    /// Writes from `offset` of the store on, instead of its start.
    pub fn at(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    fn header(&mut self) {
        let (prefix, len) = prefix(self.plan.version, self.numrecs, self.order);
        let bytes = if self.is_hidden { [0; PREFIX] } else { prefix };
        self.append(bytes.get(..len).unwrap_or_default());
    }

    /// The last structure of a variable; `None` if it has changed.
    fn var(&mut self, var: &VarDef<'_>) -> Option<()> {
        let size = Size::of(self.definition, var).ok()?;
        let begin = match &mut self.begins {
            Some(begins) => begins.next(size)?.offset(),
            None => 0,
        };
        let vsize = crate::cdf::layout::padded(size.len).unwrap_or(u64::MAX);
        let nc_type = var.nc_type.number().into();
        put!(self, [Cdf1: Var1, Cdf2: Var2, Cdf5: Var5], {
            nc_type: nc_type, vsize: vsize, begin: begin
        });
        Some(())
    }

    /// Puts bytes for which there is room into the window.
    fn append(&mut self, bytes: &[u8]) {
        let len = copy_front(bytes, self.window.get_mut(self.len..).unwrap_or_default());
        self.len = self.len.saturating_add(len);
    }

    const fn left(&self) -> usize {
        self.window.len().saturating_sub(self.len)
    }

    /// The end of the bytes in the window, as an offset in the header.
    const fn end(&self) -> u64 {
        self.written.saturating_add(usize_to_u64(self.len))
    }
}

#[twin(WriteAt, ReadError = AsyncError)]
impl<D: Define + ?Sized> Encode<'_, '_, D> {
    /// Writes the header to `store`.
    ///
    /// # Errors
    /// [`Error::Define`] if the definition has changed since the [`Plan`] was made; the store's own
    /// error.
    pub async fn run<S: WriteAt>(mut self, store: &mut S) -> Result<(), ReadError<S>> {
        self.write(store).await
    }

    /// Begins a new file: writes the header [hidden](Self::hidden), at the start of the store. The
    /// old content of the store is lost; from the first step on it is no netCDF file. With
    /// [`Fill::None`] the store is cut first, so that nothing old is left in the file.
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub async fn begin<S: WriteAt>(
        &mut self,
        store: &mut S,
        fill: Fill,
    ) -> Result<(), ReadError<S>> {
        self.is_hidden = true;
        if store.size().await.map_err(DriveError::Store)? > 0 {
            store.write_all_at(0, &[0; 12]).await.map_err(DriveError::Store)?;
            store.sync().await.map_err(DriveError::Store)?;
        }
        if fill == Fill::None {
            store.set_size(self.plan.header_len).await.map_err(DriveError::Store)?;
        }
        self.write(store).await
    }

    async fn write<S: WriteAt>(&mut self, store: &mut S) -> Result<(), ReadError<S>> {
        let definition = self.definition;
        self.header();
        self.list(store, ListKind::Dims, self.plan.ndims).await?;
        for (_, dim) in numbered(|dimid| definition.dim(dimid)) {
            self.name(store, dim.name).await?;
            self.room(store).await?;
            put!(self, [Cdf1: Dim1, Cdf2: Dim1, Cdf5: Dim5], { length: dim.length });
        }
        self.attrs(store, None).await?;
        self.list(store, ListKind::Vars, self.plan.nvars).await?;
        for (varid, var) in numbered(|varid| definition.var(varid)) {
            self.name(store, var.name).await?;
            self.room(store).await?;
            let ndims = usize_to_u64(var.dimids.len());
            put!(self, [Cdf1: Dimids1, Cdf2: Dimids1, Cdf5: Dimids5], { ndims: ndims });
            for &dimid in var.dimids {
                self.room(store).await?;
                put!(self, [Cdf1: Dimid1, Cdf2: Dimid1, Cdf5: Dimid5], { dimid: dimid });
            }
            self.attrs(store, Some(varid)).await?;
            self.room(store).await?;
            planned(self.var(&var), varid)?;
        }
        planned((self.end() == self.plan.header_len).then_some(()), self.plan.nvars)?;
        self.flush(store).await
    }

    async fn attrs<S: WriteAt>(
        &mut self,
        store: &mut S,
        of: Option<u64>,
    ) -> Result<(), ReadError<S>> {
        let definition = self.definition;
        let count = numbered(|number| definition.attr(of, number)).count();
        let list = if of.is_some() { ListKind::Vatts } else { ListKind::Gatts };
        self.list(store, list, usize_to_u64(count)).await?;
        for (_, AttrDef { name, values }) in numbered(|number| definition.attr(of, number)) {
            self.name(store, name).await?;
            self.room(store).await?;
            let nc_type = values.nc_type().number().into();
            let nelems = planned(values.nelems(), of.unwrap_or(0))?;
            put!(self, [Cdf1: Attr1, Cdf2: Attr1, Cdf5: Attr5], {
                nc_type: nc_type, nelems: nelems
            });
            self.text(store, &values).await?;
        }
        Ok(())
    }

    async fn list<S: WriteAt>(
        &mut self,
        store: &mut S,
        list: ListKind,
        nelems: u64,
    ) -> Result<(), ReadError<S>> {
        self.room(store).await?;
        let tag = if nelems == 0 { 0 } else { list.tag() };
        put!(self, [Cdf1: List1, Cdf2: List1, Cdf5: List5], { tag: tag.into(), nelems: nelems });
        Ok(())
    }

    async fn name<S: WriteAt>(&mut self, store: &mut S, name: &str) -> Result<(), ReadError<S>> {
        self.room(store).await?;
        let nelems = usize_to_u64(name.len());
        put!(self, [Cdf1: Name1, Cdf2: Name1, Cdf5: Name5], { nelems: nelems });
        self.text(store, &name.into()).await
    }

    /// Puts whole values, with padding.
    async fn text<S: WriteAt>(
        &mut self,
        store: &mut S,
        values: &Values<'_>,
    ) -> Result<(), ReadError<S>> {
        let (mut put, pad) = (0_usize, values.len().wrapping_neg() & 3);
        loop {
            let room = self.window.get_mut(self.len..).unwrap_or_default();
            let len = values.write_to(put, self.order, room);
            (put, self.len) = (put.saturating_add(len), self.len.saturating_add(len));
            if put >= values.len() && self.left() >= pad {
                break;
            }
            self.flush(store).await?;
        }
        self.append([0; 3].get(..pad).unwrap_or_default());
        Ok(())
    }

    /// Makes room for a structure.
    async fn room<S: WriteAt>(&mut self, store: &mut S) -> Result<(), ReadError<S>> {
        if self.left() < ROOM { self.flush(store).await } else { Ok(()) }
    }

    /// Writes the bytes in the window.
    async fn flush<S: WriteAt>(&mut self, store: &mut S) -> Result<(), ReadError<S>> {
        planned((self.end() <= self.plan.header_len).then_some(()), self.plan.nvars)?;
        let bytes = self.window.get(..self.len).unwrap_or_default();
        let offset = self.offset.saturating_add(self.written);
        store.write_all_at(offset, bytes).await.map_err(DriveError::Store)?;
        (self.written, self.len) = (self.end(), 0);
        Ok(())
    }
}
