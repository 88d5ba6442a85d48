//! A subfile: where its blobs and its variables are.

use super::error::{ErrorKind, of_hdf5};
use super::grammar::{
    Canonical, Grammar, Local, Variable, has_attributes, header_len, numbers, order_of,
};
use crate::error::ErrorKind as AnyError;
use crate::posix::PosixFile;
use std::io;
use std::num::NonZeroU32;
use striae_core::blob::layout::{maps_len, width_of_blob};
use striae_core::blob::walk::Data;
use striae_core::blob::{self, Content, Fixed, Part, Share, Walk, Width};
use striae_core::cdf::{Cursor, Layout, Type};
use striae_core::endian::ByteOrder;
use striae_core::hdf5;
use striae_core::source::Window;
use striae_core::span::Span;
use striae_core::step::{DriveError, drive_read};
use striae_core::store::usize_to_u64;
use striae_inspect::subject::read;

/// The most bytes of a header: that of the largest case of E3SM-IO has 0.2 MB.
const MOST: u64 = 1 << 26;

/// The dataset with the header, and that with the blobs.
const DATASETS: [&str; 2] = ["header_blob", "data_blob"];

/// The first bytes of an HDF5 file.
pub(crate) const HDF5_MAGIC: [u8; 8] = *b"\x89HDF\r\n\x1a\n";

/// What a set is stored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Container {
    /// CDF-5 files: variable-centric.
    Cdf,
    /// HDF5 files: process-centric.
    Hdf5,
}

impl Container {
    /// The name in output for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cdf => "cdf",
            Self::Hdf5 => "hdf5",
        }
    }
}

/// Where the requests of a decomposition are in a variable-centric subfile.
#[derive(Debug, Clone, Copy)]
struct Requests {
    /// Of all blobs; a blob has `row` of them.
    values: [Span; 2],
    types: [Type; 2],
    row: u64,
}

/// Where the values are.
#[derive(Debug)]
enum Places {
    /// For each canonical variable the offset of its values.
    Variables { begins: Box<[u64]>, recsize: u64, requests: Box<[Requests]> },
    /// For each blob its offset. The widths of the variables before each variable follow.
    Processes { starts: Box<[u64]>, order: ByteOrder, before: Before },
}

/// The bytes of the variables before each variable in a blob, and those of all variables.
#[derive(Debug)]
struct Before {
    fixed: Box<[Fixed]>,
    /// For each variable, for each decomposition.
    elements: Box<[u64]>,
    ndecompositions: usize,
}

impl Before {
    fn new(
        variables: &[Variable],
        locals: &[Local],
        numrecs: u64,
        stray: bool,
    ) -> Result<Self, ErrorKind> {
        let ndecompositions = locals.len();
        let mut memory = vec![0; ndecompositions];
        let mut width = Width::new(&mut memory);
        let (mut fixed, mut elements) = (Vec::new(), Vec::new());
        for variable in variables {
            fixed.push(width.fixed());
            elements.extend_from_slice(width.elements());
            let size = || ErrorKind::Size { name: variable.name.clone() };
            let records = if variable.is_record { numrecs } else { 1 };
            let len = variable.nc_type.size().checked_mul(records).ok_or_else(size)?;
            let is_empty = |index: usize| locals.get(index).is_some_and(|local| local.nelems == 0);
            let content = match variable.decomposition {
                Some(index) if stray && !variable.is_record && is_empty(index) => {
                    Content::Stray { len }
                }
                Some(decomposition) => Content::Elements { decomposition, len },
                None => Content::Whole { len: len.checked_mul(variable.count).ok_or_else(size)? },
            };
            width.add(content).ok_or_else(size)?;
        }
        fixed.push(width.fixed());
        elements.extend_from_slice(width.elements());
        Ok(Self { fixed: fixed.into(), elements: elements.into(), ndecompositions })
    }

    /// What comes before a variable, or after the last one.
    fn of(&self, variable: usize) -> Option<(Fixed, &[u64])> {
        let first = variable.checked_mul(self.ndecompositions)?;
        let elements = self.elements.get(first..first.checked_add(self.ndecompositions)?)?;
        Some((*self.fixed.get(variable)?, elements))
    }

    /// What all variables have.
    fn all(&self) -> (Fixed, &[u64]) {
        self.of(self.fixed.len().saturating_sub(1)).unwrap_or_default()
    }
}

/// Memory for values of which a subfile says how many there are.
fn memory<T: Clone + Default>(len: usize) -> Result<Box<[T]>, AnyError> {
    let mut memory = Vec::new();
    memory.try_reserve_exact(len).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    memory.resize(len, T::default());
    Ok(memory.into())
}

/// The starts of blobs, and the shares of each blob.
type Walked = (Box<[u64]>, Box<[Share]>);

/// Finds the blobs of a process-centric subfile.
fn walk(
    file: &PosixFile,
    (order, span, nblobs): (ByteOrder, Span, usize),
    before: &Before,
    locals: &[Local],
) -> Result<Walked, AnyError> {
    let nelems: Vec<_> = locals.iter().map(|local| local.nelems).collect();
    let max_nreqs: Vec<_> = locals.iter().map(|local| local.max_nreqs).collect();
    let ((fixed, elements), nelems, max_nreqs) = (before.all(), &nelems, &max_nreqs);
    let data = Data { span, order, fixed, elements, nelems, max_nreqs };
    let mut starts = memory(nblobs)?;
    let mut shares = memory(nblobs.saturating_mul(locals.len()))?;
    let mut walk = Walk::new(data, &mut starts, &mut shares).map_err(ErrorKind::Format)?;
    drive_read(&mut walk, file, &mut [0; 64]).map_err(of_blob)?;
    Ok((starts, shares))
}

/// A subfile whose header was read.
#[derive(Debug)]
pub(crate) struct Subfile {
    pub(crate) file_len: u64,
    pub(crate) numrecs: u64,
    pub(crate) nblobs: usize,
    ndecompositions: usize,
    /// For each blob, for each decomposition.
    shares: Box<[Share]>,
    places: Places,
}

/// The parts of a container.
struct Parts {
    header: Vec<u8>,
    order: ByteOrder,
    /// The blobs; `None` if the header says where the variables are.
    data: Option<Span>,
}

fn bytes_of(file: &PosixFile, span: Span) -> Result<Vec<u8>, AnyError> {
    let mut bytes = vec![0; usize::try_from(span.len()).unwrap_or(usize::MAX)];
    read(file, span.offset(), &mut bytes).map_err(of_cdf)?;
    Ok(bytes)
}

fn of_cdf(error: DriveError<io::Error, striae_core::cdf::Error>) -> AnyError {
    match error {
        DriveError::Store(error) => error.into(),
        DriveError::Ended { offset } => AnyError::Ended { offset },
        DriveError::Format(error) => ErrorKind::Cdf(error).into(),
        error => io::Error::other(error.to_string()).into(),
    }
}

impl Parts {
    fn read(file: &PosixFile, file_len: u64) -> Result<Self, AnyError> {
        let mut magic = [0; 8];
        let magic = magic.get_mut(..usize::try_from(file_len.min(8)).unwrap_or(8));
        let magic = magic.unwrap_or_default();
        read(file, 0, magic).map_err(of_cdf)?;
        if *magic == HDF5_MAGIC { Self::of_hdf5(file) } else { Self::of_cdf(file, file_len) }
    }

    fn of_cdf(file: &PosixFile, file_len: u64) -> Result<Self, AnyError> {
        let (mut header, mut cursor) = (Vec::new(), Cursor::new(ByteOrder::Big));
        loop {
            let have = usize_to_u64(header.len());
            let window = Window::new(0, &header, file_len);
            if let Some(len) = header_len(&window, &mut cursor)? {
                if len > MOST {
                    return Err(ErrorKind::Cut.into());
                }
                if let Some(more) = Span::between(have, len.min(file_len)) {
                    header.extend(bytes_of(file, more)?); // padding or values at the end
                }
                header.truncate(usize::try_from(len).unwrap_or(usize::MAX));
                return Ok(Self { header, order: ByteOrder::Big, data: None });
            }
            let end = have.max(1 << 15).saturating_mul(2).min(file_len);
            if have >= end || end > MOST {
                return Err(ErrorKind::Cut.into());
            }
            header.extend(bytes_of(file, Span::between(have, end).unwrap_or(Span::ZERO))?);
        }
    }

    fn of_hdf5(file: &PosixFile) -> Result<Self, AnyError> {
        let mut memory = [0; hdf5::Reader::<()>::MEMORY];
        let reader = hdf5::Reader::open(file, &mut memory).map_err(of_hdf5)?;
        let mut find = |name: &'static str| {
            let array = reader.dataset(name.as_bytes(), &mut memory).map_err(of_hdf5)?;
            Ok::<_, AnyError>(array.ok_or(ErrorKind::NoDataset { name })?.values)
        };
        let [header, data] = DATASETS;
        let (header, data) = (find(header)?, find(data)?);
        if header.len() > MOST {
            return Err(ErrorKind::Cut.into());
        }
        let header = bytes_of(file, header)?;
        let order = order_of(&header);
        Ok(Self { header, order, data: Some(data) })
    }
}

/// The header of a subfile, and its container.
pub(crate) fn grammar(
    file: &PosixFile,
) -> Result<(Grammar, Container, ByteOrder, Option<Span>), AnyError> {
    let file_len = file.honest_size()?;
    let Parts { header, order, data } = Parts::read(file, file_len)?;
    let grammar = Grammar::parse(&header, order, data.is_none())?;
    let container = if data.is_some() { Container::Hdf5 } else { Container::Cdf };
    if data.is_some() && !grammar.is_in_order {
        return Err(ErrorKind::Order.into());
    }
    Ok((grammar, container, order, data))
}

impl Subfile {
    /// Reads the header and the places of the blobs. The subfile must have what `set` has.
    pub(crate) fn open(
        file: &PosixFile,
        set: &Canonical,
        container: Container,
    ) -> Result<Self, AnyError> {
        let (grammar, found, order, data) = grammar(file)?;
        let differs = |what| Err(ErrorKind::OtherSet { what }.into());
        let Canonical { dims, variables, decompositions, .. } = &grammar.canonical;
        match set {
            _ if found != container => return differs("containers"),
            set if set.dims != *dims => return differs("dimensions"),
            set if set.variables != *variables => return differs("variables"),
            set if set.decompositions != *decompositions => return differs("decompositions"),
            set if set.nsubfiles != grammar.canonical.nsubfiles => {
                return differs("numbers of subfiles");
            }
            _ => {}
        }
        match data {
            None => Self::of_variables(file, grammar),
            Some(data) => Self::of_processes(file, grammar, order, data),
        }
    }

    fn of_variables(file: &PosixFile, grammar: Grammar) -> Result<Self, AnyError> {
        let file_len = file.honest_size()?;
        let Grammar { canonical, numrecs, recsize, nblobs, locals, places, .. } = grammar;
        let records = canonical.variables.iter().zip(&places).filter(|(var, _)| var.is_record);
        let first = records.map(|(_, place)| place.values.offset()).min().unwrap_or(u64::MAX);
        let whole = || file_len.saturating_sub(first).checked_div(recsize).unwrap_or(0);
        let numrecs = numrecs.unwrap_or_else(whole);
        let nblobs = blobs_in(file_len, nblobs, 4)?;
        let ndecompositions = locals.len();
        let mut shares = memory(nblobs.saturating_mul(ndecompositions))?;
        for (id, local) in (1..).zip(&locals) {
            let id = NonZeroU32::new(id).unwrap_or(NonZeroU32::MIN);
            read_shares(file, file_len, (id, local), ndecompositions, &mut shares)?;
        }
        let requests = locals.iter().map(|local| {
            let [.., offsets, lengths] = local.variables;
            let values = [offsets.values, lengths.values];
            let types = [offsets.nc_type, lengths.nc_type];
            Requests { values, types, row: local.max_nreqs }
        });
        let begins = places.iter().map(|place| place.values.offset()).collect();
        let places = Places::Variables { begins, recsize, requests: requests.collect() };
        Ok(Self { file_len, numrecs, nblobs, ndecompositions, shares, places })
    }

    fn of_processes(
        file: &PosixFile,
        grammar: Grammar,
        order: ByteOrder,
        data: Span,
    ) -> Result<Self, AnyError> {
        let file_len = file.honest_size()?;
        let Grammar { canonical, numrecs, nblobs, locals, .. } = grammar;
        let numrecs = numrecs.ok_or(ErrorKind::Cut)?; // nothing says how many there are
        let ndecompositions = locals.len();
        let least = usize_to_u64(ndecompositions).saturating_mul(Share::HEAD_LEN).max(1);
        let nblobs = blobs_in(data.len().max(1), nblobs, least)?;

        // E3SM-IO gives a value to each blob for a fixed variable whose decomposition is empty in
        // the subfile: it takes the dimension of length 0 for the record dimension.
        let may_stray = locals.iter().any(|local| local.nelems == 0);
        let strays = [false, true].into_iter().take(if may_stray { 2 } else { 1 });
        let mut result = Err(ErrorKind::Cut.into());
        for stray in strays {
            let before = Before::new(&canonical.variables, &locals, numrecs, stray)?;
            result = walk(file, (order, data, nblobs), &before, &locals).map(|(starts, shares)| {
                let places = Places::Processes { starts, order, before };
                Self { file_len, numrecs, nblobs, ndecompositions, shares, places }
            });
            match &result {
                Err(AnyError::Blob(ErrorKind::Format(_))) => {}
                _ => break,
            }
        }
        result
    }

    /// The byte order of values.
    pub(crate) const fn order(&self) -> ByteOrder {
        match self.places {
            Places::Variables { .. } => ByteOrder::Big,
            Places::Processes { order, .. } => order,
        }
    }

    /// Whether the elements of all blobs of a variable follow each other.
    pub(crate) const fn is_joined(&self) -> bool {
        matches!(self.places, Places::Variables { .. })
    }

    /// The shares of a blob.
    pub(crate) fn shares(&self, blob: usize) -> &[Share] {
        let first = blob.saturating_mul(self.ndecompositions);
        self.shares.get(first..first.saturating_add(self.ndecompositions)).unwrap_or_default()
    }

    /// The share of a blob of a decomposition.
    pub(crate) fn share(&self, blob: u32, decomposition: usize) -> Share {
        let blob = usize::try_from(blob).unwrap_or(usize::MAX);
        self.shares(blob).get(decomposition).copied().unwrap_or_default()
    }

    /// The spans of the offsets and of the lengths of a blob's requests, with their types.
    pub(crate) fn requests(&self, blob: usize, decomposition: usize) -> Option<[(Span, Type); 2]> {
        let shares = self.shares(blob);
        let share = shares.get(decomposition)?;
        match &self.places {
            Places::Variables { requests, .. } => {
                let Requests { values, types, row } = requests.get(decomposition)?;
                let skip = usize_to_u64(blob).checked_mul(*row)?;
                let part = |values: Span, nc_type: Type| {
                    let (size, nreqs) = (nc_type.size(), share.nreqs);
                    let span = values.part(skip.checked_mul(size)?, nreqs.checked_mul(size)?)?;
                    Some((span, nc_type))
                };
                let ([offsets, lengths], [first, second]) = (*values, *types);
                Some([part(offsets, first)?, part(lengths, second)?])
            }
            Places::Processes { starts, .. } => {
                let before = maps_len(shares.get(..decomposition)?)?;
                let [offsets, lengths] = share.requests(starts.get(blob)?.checked_add(before)?)?;
                Some([(offsets, Type::Int), (lengths, Type::Int)])
            }
        }
    }

    /// The offset of the elements of a variable in a record, of a blob or, if they are
    /// [joined](Self::is_joined), of all blobs. `width` is the bytes of an element.
    pub(crate) fn elements(
        &self,
        variable: usize,
        decomposition: usize,
        (record, blob, width): (u64, u32, u64),
    ) -> Option<u64> {
        match &self.places {
            Places::Variables { begins, recsize, .. } => {
                begins.get(variable)?.checked_add(record.checked_mul(*recsize)?)
            }
            Places::Processes { .. } => {
                let skip = self.share(blob, decomposition).count.checked_mul(width)?;
                self.in_blob(variable, blob)?.checked_add(record.checked_mul(skip)?)
            }
        }
    }

    /// The places of a variable that is not decomposed and has `count` values in a record.
    pub(crate) fn whole(
        &self,
        variable: usize,
        count: u64,
        (is_record, value_len): (bool, u64),
    ) -> Option<Layout> {
        let len = count.checked_mul(value_len)?;
        let (begin, recsize) = match &self.places {
            Places::Variables { begins, recsize, .. } => (*begins.get(variable)?, *recsize),
            Places::Processes { .. } => (self.in_blob(variable, 0)?, len),
        };
        let recsize = is_record.then_some(recsize);
        Some(Layout { first: Span::new(begin, len)?, recsize, value_len })
    }

    /// Where a variable begins in a process-centric blob.
    fn in_blob(&self, variable: usize, blob: u32) -> Option<u64> {
        let Places::Processes { starts, before, .. } = &self.places else { return None };
        let number = usize::try_from(blob).ok()?;
        let shares = self.shares(number);
        let (fixed, elements) = before.of(variable)?;
        let skip = maps_len(shares)?.checked_add(width_of_blob(fixed, elements, blob, shares)?)?;
        starts.get(number)?.checked_add(skip)
    }
}

fn of_blob(error: DriveError<io::Error, blob::Error>) -> AnyError {
    match error {
        DriveError::Store(error) => error.into(),
        DriveError::Ended { offset } => AnyError::Ended { offset },
        DriveError::Format(error) => ErrorKind::Format(error).into(),
        error => io::Error::other(error.to_string()).into(),
    }
}

/// The number of blobs, which have at least `least` bytes each in `len` bytes.
fn blobs_in(len: u64, nblobs: u64, least: u64) -> Result<usize, ErrorKind> {
    let most = len.checked_div(least).unwrap_or(0).min(u32::MAX.into());
    let fits = usize::try_from(nblobs).ok().filter(|_| nblobs <= most);
    fits.ok_or(ErrorKind::Size { name: "nblobs".into() })
}

/// Reads the shares of a decomposition in a variable-centric subfile.
fn read_shares(
    file: &PosixFile,
    file_len: u64,
    (id, local): (NonZeroU32, &Local),
    ndecompositions: usize,
    shares: &mut [Share],
) -> Result<(), AnyError> {
    let index = usize::try_from(id.get()).unwrap_or(0).saturating_sub(1);
    let [nreqs, start, count, ..] = local.variables;
    for (part, placed) in
        [Part::Nreqs, Part::BlobStart, Part::BlobCount].into_iter().zip([nreqs, start, count])
    {
        let span = placed.values;
        if !span.fits(file_len) {
            let (offset, end) = (span.offset(), span.end());
            let error = striae_core::cdf::Error::OutOfFile { offset, end, file_len };
            return Err(ErrorKind::Cdf(error).into());
        }
        let bytes = bytes_of(file, span)?;
        let places = shares.iter_mut().skip(index).step_by(ndecompositions);
        let values = numbers(&bytes, placed.nc_type, ByteOrder::Big);
        for (blob, (share, value)) in (0..).zip(places.zip(values)) {
            let negative = |value| blob::Error::Negative { id, part, blob, value };
            let value = value.map_err(|value| ErrorKind::Format(negative(value)))?;
            let (place, max) = match part {
                Part::Nreqs => (&mut share.nreqs, local.max_nreqs),
                Part::BlobStart => (&mut share.start, local.nelems),
                _ => (&mut share.count, local.nelems.saturating_sub(share.start)),
            };
            if value > max {
                let error = blob::Error::TooLarge { id, part, blob, value, max };
                return Err(ErrorKind::Format(error).into());
            }
            *place = value;
        }
    }
    Ok(())
}

/// Whether a file has the header of a subfile.
pub(crate) fn is_blob(file: &PosixFile) -> bool {
    let parts = file.honest_size().map_err(AnyError::from).and_then(|len| Parts::read(file, len));
    parts.is_ok_and(|parts| has_attributes(&parts.header, parts.order))
}
