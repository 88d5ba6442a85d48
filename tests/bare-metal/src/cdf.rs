//! Reading classic netCDF files.

use crate::host::{Host, Text};
use crate::{Fail, entries};
use core::fmt::Write;
use core::ops::ControlFlow::{Break, Continue};
use striae_core::cdf::define::{check_name, is_plain_name};
use striae_core::cdf::layout::{LargeVars, RecordSize, Sections, padded, whole_records};
use striae_core::cdf::{
    Cursor, Error, Item, Layout, ListKind, Reader, Region, Scan, Slab, Survey, Variable, Version,
};
use striae_core::endian::ByteOrder;
use striae_core::field::FieldId;
use striae_core::source::{Fault, Restart, Source, View, Window};
use striae_core::span::Span;
use striae_core::step::{ReadMachine, ReadStep, drive_read};
use striae_core::store::{ReadAt, usize_to_u64};

type Walked = Result<u64, Fault<Error>>;
type File<'m> = Reader<'m, Host>;

fn opened<'m>(lengths: &'m mut [u64; 16], window: &mut [u8]) -> Result<File<'m>, Fail> {
    Ok(Reader::open(Host { file: 0 }, lengths, window)?)
}

fn sum_of(variable: &Variable) -> u64 {
    variable.var.varid ^ variable.layout.first.end() ^ variable.items.offset()
}

/// The sum of what stands where an item ends.
fn walk<S: Source + ?Sized>(source: &S, state: &mut (Cursor, u64)) -> Walked {
    source.walk(state, |source, (cursor, sum)| {
        let (item, next) = cursor.next(source)?;
        Ok(match item {
            Item::End { header_len } => Break(sum ^ header_len),
            _ => Continue((next, sum ^ next.offset())),
        })
    })
}

/// Small numbers from lent bytes.
fn numbers(bytes: &[u8]) -> [u64; 4] {
    let mut numbers = [0; 4];
    for (number, byte) in numbers.iter_mut().zip(bytes) {
        *number = u64::from(*byte);
    }
    numbers
}

entries! {
    fn gate_cdf_kinds(_bytes, number: u8, nc_type: u32) {
        let version = Version::from_number(number).ok_or(Fail)?;
        let ty = version.nc_type(nc_type).ok_or(Fail)?;
        write!(Text, "{ty} {}", ty.name())?;
        let lens = version.non_neg_len() ^ version.offset_len() ^ version.streaming();
        let tags = ListKind::Dims.tag() ^ ListKind::Vars.tag();
        Ok(lens ^ ty.size() ^ u64::from(tags ^ ty.number() ^ u32::from(version.number())))
    }

    fn gate_cdf_large(bytes, number: u8, len: u64) {
        let version = Version::from_number(number).ok_or(Fail)?;
        let mut large = LargeVars::new(version);
        large.add(0, len, false).or(Err(Fail))?;
        let is_allowed = |name: &str| check_name(name).is_ok();
        let is_name = is_plain_name(bytes) || core::str::from_utf8(bytes).is_ok_and(is_allowed);
        let last = large.not_last(is_name).unwrap_or(1);
        Ok(last ^ version.stored_vsize(len))
    }

    fn gate_cdf_cursor_slice(bytes, big: bool) {
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        let mut cursor = Cursor::new(order);
        cursor.advance(&*bytes)?;
        Ok(walk(&*bytes, &mut (cursor, 0))?)
    }

    fn gate_cdf_cursor_view(bytes, reads: u64) {
        let store = Host { file: 0 };
        let view = View::<1>::new(bytes, store.size()?);
        let state = (Cursor::new(ByteOrder::Big), 0);
        Ok(Restart::new(view, state, reads, walk).read_from(&store)?)
    }

    fn gate_cdf_scan(bytes, file_len: u64) {
        let mut lengths = [0; 16];
        let mut survey = Survey::new(file_len, &mut lengths);
        let (start, mut sum) = (Cursor::new(ByteOrder::Big), 0);
        let mut scan = Scan::new(file_len, start, |item, after: &Cursor, _: &Window<'_>| {
            let taken = survey.take(item, after)?;
            sum ^= survey.measured().map_or(0, |measured| sum_of(&measured.variable(file_len)));
            Ok(taken)
        });
        let _ = core::hint::black_box(scan.poll());
        scan.feed(bytes)?;
        let head = drive_read(&mut scan, &Host { file: 0 }, bytes)?.ok_or(Fail)?;
        let ReadStep::Done(_) = scan.poll() else { return Err(Fail) };
        Ok(survey.into_lengths().iter().fold(head.header_len ^ sum, |sum, length| sum ^ length))
    }

    fn gate_cdf_judge(bytes, len: u64) {
        let mut lengths = [0; 16];
        let mut survey = Survey::of_header(len, &mut lengths);
        let (start, mut errors) = (Cursor::new(ByteOrder::Little), 0);
        let mut scan = Scan::new(len, start, |item, after: &Cursor, _: &Window<'_>| {
            survey.judge(item, after, &mut |_| {
                errors += 1;
                Ok(())
            })
        });
        let head = drive_read(&mut scan, &Host { file: 0 }, bytes)?.ok_or(Fail)?;
        let variable = survey.measured().ok_or(Fail)?.variable(head.recsize);
        let record = head.record(variable.layout, len)?;
        let region = Region { start: &[], count: &[], stride: None };
        Ok(record.end() ^ head.slab(variable.layout, &[], region)?.len() ^ errors)
    }

    fn gate_cdf_lists(bytes) {
        let mut lengths = [0; 16];
        let file = opened(&mut lengths, bytes)?;
        let mut sum = file.lengths().iter().fold(0, |sum, length| sum ^ length);
        for dim in file.dims(&mut *bytes) {
            sum ^= dim?.length;
        }
        for variable in file.variables(&mut *bytes) {
            sum ^= sum_of(&variable?);
        }
        for attr in file.attrs(None, bytes) {
            sum ^= attr?.values.end();
        }
        core::hint::black_box(file.into_store());
        Ok(sum)
    }

    fn gate_cdf_read(bytes, at: usize, number: u64) {
        let (window, rest) = bytes.split_at_mut_checked(at).ok_or(Fail)?;
        let mut lengths = [0; 16];
        let file = opened(&mut lengths, window)?;
        let variable = file.variable(rest, window)?.ok_or(Fail)?;
        let attr = file.attr(Some(&variable), rest, window)?.ok_or(Fail)?;
        let name = file.name(attr.name, rest)?.ok_or(Fail)?;
        let sum = usize_to_u64(name.len()) ^ file.head().recsize ^ file.store().size()?;
        let n = file.read(file.record(&variable, number)?, rest)?;
        Ok(sum ^ usize_to_u64(n))
    }

    fn gate_cdf_region(bytes, at: usize) {
        let (window, rest) = bytes.split_at_mut_checked(at).ok_or(Fail)?;
        let mut lengths = [0; 16];
        let file = opened(&mut lengths, window)?;
        let variable = file.variable(rest, window)?.ok_or(Fail)?;
        let mut shape = [0; 4];
        let shape = file.shape(&variable, &mut shape, window)?;
        let at = |at: usize| numbers(rest.get(at..).unwrap_or_default());
        let [start, count, stride] = [0, 4, 8].map(at);
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        let slab = file.slab(&variable, shape, region)?;
        Ok(usize_to_u64(file.read_slab(&slab, rest)?))
    }

    fn gate_cdf_slab(bytes, begin: u64, len: u64, recsize: u64, value_len: u64, number: u64) {
        let [shape, start, count, stride] =
            [0, 4, 8, 12].map(|at| numbers(bytes.get(at..).unwrap_or_default()));
        let first = Span::new(begin, len).ok_or(Fail)?;
        let layout = Layout { first, recsize: Some(recsize).filter(|&n| n != 0), value_len };
        let region = Region { start: &start, count: &count, stride: Some(&stride) };
        let slab = Slab::new(layout, &shape, region)?;
        let sum = slab.run(number).ok_or(Fail)?.end() ^ slab.len() ^ slab.count() ^ slab.end();
        let sum = slab.runs().fold(sum, |sum, run| sum ^ run.end());
        let size = RecordSize::default().with(len).ok_or(Fail)?.get();
        let record = layout.record(number).ok_or(Fail)?;
        Ok(sum ^ size ^ record.end() ^ padded(len).ok_or(Fail)? ^ u64::from(slab.is_empty()))
    }

    fn gate_cdf_sections(_bytes, begin: u64, len: u64, recsize: u64, header_len: u64, at: u64) {
        let (first, mut sections) = (Span::new(begin, len).ok_or(Fail)?, Sections::default());
        sections.add(first, at, false)?;
        sections.add(first.skip(recsize), at, true)?;
        sections.finish(header_len).into_iter().collect::<Result<(), _>>()?;
        let first = sections.first_record().ok_or(Fail)?;
        Ok(whole_records(first, recsize, at))
    }

    fn gate_text64_cdf_error(_bytes, table: u8, at: u16, offset: u64, value: u64, tag: u32) {
        let field = FieldId::new(table, at);
        for error in [
            Error::NotCdf { magic: tag.to_be_bytes() },
            Error::Cut { field, offset, file_len: value },
            Error::Tag { offset, tag, expected: 0 },
            Error::NoType { offset, nc_type: tag },
            Error::NoDim { offset, dimid: value, ndims: 0 },
            Error::NotUtf8 { offset },
            Error::TooSmall { field, offset, value, min: 0 },
            Error::TooLarge { field, offset, value, max: 0 },
            Error::TwoRecordDims { first: offset, second: value },
            Error::RecordDimNotFirst { varid: value },
            Error::Size { begin: offset },
            Error::OutOfFile { offset, end: value, file_len: 0 },
            Error::DimsMemory { ndims: value, room: 0 },
            Error::Rank { ndims: value, given: 0 },
            Error::OutOfShape { dim: offset, last: value, length: 0 },
            Error::ZeroStride { dim: value },
        ] {
            core::hint::black_box(error.blames_caller());
            write!(Text, "{error}")?;
        }
        Ok(0)
    }
}
