//! The body of `cdf_open`: what is read of any bytes is what a plain reading of them finds.

use core::ops::ControlFlow::{Break, Continue};
use std::ops::Range;
use striae_core::cdf::{Attr, Cursor, Error, Item, Reader, Variable};
use striae_core::endian::ByteOrder;
use striae_core::source::{Fault, Miss, Restart, Source, View};
use striae_core::step::DriveError;

/// The input is a classic netCDF file.
pub fn cdf_open(data: &[u8]) {
    let plain = Plain::read(data);
    let mut lengths = vec![0; data.len() / 8 + 1];
    let opened = Reader::open(data, &mut lengths, &mut vec![0; data.len() + 32]);
    match (opened, plain) {
        (Ok(file), Some(plain)) => compare(&file, &plain, data),
        (Err(DriveError::Format(error)), None) => {
            assert!(!error.blames_caller() && !error.to_string().contains('\n'), "{error}");
        }
        (opened, plain) => panic!("{:?}, {plain:?}", opened.map(|file| *file.head())),
    }
    let sum = walk(data, &mut start());
    for page_len in [20, 64, 4096] {
        let mut memory = vec![0; page_len];
        let view = View::<1>::new(&mut memory, data.len().try_into().unwrap());
        match Restart::new(view, start(), data.len().try_into().unwrap(), walk).read_from(data) {
            Ok(found) => assert_eq!(sum, Ok(found)),
            Err(DriveError::Format(Fault::Miss(Miss::Page { len }))) => assert!(page_len < len),
            Err(DriveError::Format(fault)) => assert_eq!(sum, Err(fault)),
            Err(error) => panic!("{error:?}"),
        }
    }
}

fn start() -> (Cursor, u64) {
    (Cursor::new(ByteOrder::Big), 0)
}

/// A number that all items of a header make.
fn walk<S: Source + ?Sized>(source: &S, state: &mut (Cursor, u64)) -> Result<u64, Fault<Error>> {
    source.walk(state, |source, (cursor, sum)| {
        let (item, next) = cursor.next(source)?;
        let sum = sum.wrapping_mul(31).wrapping_add(next.offset());
        Ok(match item {
            Item::End { .. } => Break(sum),
            Item::Dim(dim) => Continue((next, sum ^ dim.length)),
            Item::Var(var) => Continue((next, sum ^ var.begin)),
            _ => Continue((next, sum)),
        })
    })
}

/// A file, read without striae: all numbers are wide enough not to overflow.
#[derive(Debug)]
struct Plain {
    header_len: usize,
    numrecs: i128,
    recsize: i128,
    dims: Vec<i128>,
    gatts: Vec<PlainAttr>,
    vars: Vec<PlainVar>,
}

#[derive(Debug)]
struct PlainAttr {
    name: Range<usize>,
    values: Range<usize>,
}

#[derive(Debug)]
struct PlainVar {
    name: Range<usize>,
    dimids: Vec<usize>,
    attrs: Vec<PlainAttr>,
    begin: i128,
    len: i128,
    is_record: bool,
}

/// A place in a header.
struct Place<'a> {
    bytes: &'a [u8],
    at: usize,
    version: u8,
}

impl Place<'_> {
    fn number(&mut self, len: usize) -> Option<i128> {
        let bytes = self.bytes.get(self.at..)?.get(..len)?;
        self.at += len;
        Some(bytes.iter().fold(0, |number, &byte| number << 8 | i128::from(byte)))
    }

    fn non_neg(&mut self) -> Option<i128> {
        self.number(if self.version == 5 { 8 } else { 4 })
    }

    /// So many bytes, then their padding.
    fn padded(&mut self, len: i128) -> Option<Range<usize>> {
        let len = usize::try_from(len).ok().filter(|&len| len <= self.bytes.len())?;
        let range = self.at..self.at + len;
        self.at += len.next_multiple_of(4);
        self.bytes.get(range.clone()).map(|_| range)
    }

    fn name(&mut self) -> Option<Range<usize>> {
        let len = self.non_neg()?;
        let name = self.padded(len)?;
        std::str::from_utf8(&self.bytes[name.clone()]).ok().map(|_| name)
    }

    fn list<T>(&mut self, tag: i128, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let (found, nelems) = (self.number(4)?, self.non_neg()?);
        if found != tag && (found, nelems) != (0, 0) {
            return None;
        }
        let mut items = Vec::new();
        for _ in 0..nelems {
            items.push(item(self)?);
        }
        Some(items)
    }

    fn nc_type_size(&mut self) -> Option<i128> {
        let nc_type = usize::try_from(self.number(4)?).ok()?;
        let count = if self.version == 5 { 12 } else { 7 };
        let sizes = [0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8];
        sizes[..count].get(nc_type).copied().filter(|&size| size != 0)
    }

    fn attrs(&mut self) -> Option<Vec<PlainAttr>> {
        self.list(12, |place| {
            let name = place.name()?;
            let size = place.nc_type_size()?;
            let nelems = place.non_neg()?;
            let values = place.padded(nelems.checked_mul(size)?)?;
            Some(PlainAttr { name, values })
        })
    }

    fn var(&mut self, dims: &[i128]) -> Option<PlainVar> {
        let name = self.name()?;
        let mut dimids = Vec::new();
        for _ in 0..self.non_neg()? {
            dimids.push(usize::try_from(self.non_neg()?).ok().filter(|&id| id < dims.len())?);
        }
        let attrs = self.attrs()?;
        let mut len = self.nc_type_size()?;
        self.non_neg()?; // vsize
        let begin = self.number(if self.version == 1 { 4 } else { 8 })?;
        let is_record = dimids.first().is_some_and(|&id| dims[id] == 0);
        for &id in dimids.iter().skip(usize::from(is_record)) {
            // the record dimension is the first or none
            len = len.saturating_mul(Some(dims[id]).filter(|&length| length != 0)?);
        }
        let fits = begin.saturating_add(len) <= i128::from(u64::MAX);
        fits.then_some(PlainVar { name, dimids, attrs, begin, len, is_record })
    }
}

impl Plain {
    fn read(bytes: &[u8]) -> Option<Self> {
        let [b'C', b'D', b'F', version @ (1 | 2 | 5)] = *bytes.first_chunk()? else { return None };
        let mut place = Place { bytes, at: 4, version };
        let mut numrecs = place.non_neg()?;
        let dims = place.list(10, |place| {
            place.name()?;
            place.non_neg()
        })?;
        if dims.iter().filter(|&&length| length == 0).count() > 1 {
            return None;
        }
        let gatts = place.attrs()?;
        let vars = place.list(11, |place| place.var(&dims))?;
        let header_len = place.at;

        let mut end = i128::try_from(header_len).unwrap();
        let is_record = [false, true];
        for var in is_record.iter().flat_map(|is| vars.iter().filter(|var| var.is_record == *is)) {
            if var.begin < end {
                return None;
            }
            end = var.begin + var.len;
        }
        let records: Vec<_> = vars.iter().filter(|var| var.is_record).collect();
        let padded = |len: i128| (len + 3) / 4 * 4;
        let recsize = match records[..] {
            [only] => only.len,
            _ => records.iter().map(|var| padded(var.len)).sum(),
        };
        let all: i128 = records.iter().map(|var| padded(var.len)).sum();
        if all > i128::from(u64::MAX) {
            return None;
        }
        if numrecs == if version == 5 { i128::from(u64::MAX) } else { 0xffff_ffff } {
            // A record is there if the values of all its variables are, without the last padding.
            let len = i128::try_from(bytes.len()).unwrap();
            let first_end = records.iter().map(|var| var.begin + var.len).max().unwrap_or(len + 1);
            numrecs = if first_end <= len { (len - first_end) / recsize + 1 } else { 0 };
        }
        Some(Self { header_len, numrecs, recsize, dims, gatts, vars })
    }
}

type File<'m, 'a> = Reader<'m, &'a [u8]>;

fn compare(file: &File<'_, '_>, plain: &Plain, data: &[u8]) {
    let head = file.head();
    let numbers = [head.header_len, head.numrecs, head.recsize].map(i128::from);
    assert_eq!(numbers, [plain.header_len.try_into().unwrap(), plain.numrecs, plain.recsize]);
    let length = |&length: &i128| if length == 0 { plain.numrecs } else { length };
    let lengths: Vec<_> = plain.dims.iter().map(length).collect();
    assert!(file.lengths().iter().map(|&length| i128::from(length)).eq(lengths));
    let window = || vec![0; data.len() + 32];
    assert!(file.dims(window()).map(|dim| i128::from(dim.unwrap().length)).eq(plain.dims.clone()));
    compare_attrs(file, None, &plain.gatts, data);
    let variables: Vec<_> = file.variables(window()).map(Result::unwrap).collect();
    assert_eq!(variables.len(), plain.vars.len());
    for (variable, plain_var) in variables.iter().zip(&plain.vars) {
        compare_variable(file, variable, plain_var, data);
    }
    for plain_var in plain.vars.iter().take(8) {
        let name = &data[plain_var.name.clone()];
        let first = plain.vars.iter().position(|var| &data[var.name.clone()] == name).unwrap();
        assert_eq!(file.variable(name, &mut window()), Ok(Some(variables[first])));
    }
}

fn compare_attrs(file: &File<'_, '_>, of: Option<&Variable>, plain: &[PlainAttr], data: &[u8]) {
    let same = |attr: Attr, plain: &PlainAttr| {
        let values = &data[plain.values.clone()];
        let mut read = vec![0; values.len()];
        assert_eq!(file.read(attr.values, &mut read), Ok(values.len()));
        assert_eq!(attr.values.offset(), u64::try_from(plain.values.start).unwrap());
        assert_eq!(attr.nelems * attr.nc_type.size(), attr.values.len());
        assert_eq!(read, values);
        let mut name = vec![0; plain.name.len()];
        let name = file.name(attr.name, &mut name).unwrap().unwrap();
        assert_eq!(name.as_bytes(), &data[plain.name.clone()]);
    };
    let attrs: Vec<_> = file.attrs(of, vec![0; data.len() + 32]).map(Result::unwrap).collect();
    assert_eq!(attrs.len(), plain.len());
    attrs.iter().zip(plain).for_each(|(attr, plain)| same(*attr, plain));
}

fn compare_variable(file: &File<'_, '_>, variable: &Variable, plain: &PlainVar, data: &[u8]) {
    compare_attrs(file, Some(variable), &plain.attrs, data);
    let mut shape = vec![0; plain.dimids.len()];
    let shape = file.shape(variable, &mut shape, &mut [0; 12]).unwrap();
    assert!(shape.iter().eq(plain.dimids.iter().map(|&id| &file.lengths()[id])));
    let numrecs = file.head().numrecs;
    for number in [0, 1, 2, numrecs.wrapping_sub(1), numrecs, u64::MAX] {
        let records = if plain.is_record { numrecs } else { 1 };
        let offset = i128::from(number).saturating_mul(i128::from(file.head().recsize));
        let offset = offset.saturating_add(plain.begin);
        let end = offset.saturating_add(plain.len);
        let is_there = number < records && end <= i128::try_from(data.len()).unwrap();
        match file.record(variable, number) {
            Ok(span) => {
                assert!(is_there);
                assert_eq!([span.offset(), span.end()].map(i128::from), [offset, end]);
            }
            Err(error) => assert!(!is_there, "{error}"),
        }
    }
}
