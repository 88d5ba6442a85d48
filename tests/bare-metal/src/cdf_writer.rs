//! Writing classic netCDF files: the writer, and the definitions, steps and numbers under it.

use crate::host::{Host, Text};
use crate::{Answer, Fail, entries};
use core::fmt::Write;
use core::num::NonZeroU64;
use striae_core::cdf::{
    Alignment, AttrDef, Book, Definition, DimDef, Encode, Fill, Plan, Reader, Region, Slab, Slot,
    Type, Values, VarDef, Version, Writer,
};
use striae_core::endian::ByteOrder;
use striae_core::step::drive_read;
use striae_core::store::usize_to_u64;

type File<'m> = Writer<Host, [Slot; 2], &'m mut [u8]>;

fn fill(values: bool) -> Fill {
    if values { Fill::Values } else { Fill::None }
}

/// Runs `work` with a definition of two variables, whose numbers are those of the caller.
fn defined(numbers: [u64; 3], work: impl FnOnce(&Definition<'_>, Plan) -> Answer) -> Answer {
    let [length, dimid, version] = numbers;
    let nc_type = *Type::ALL.get(usize::try_from(length ^ dimid)?).ok_or(Fail)?;
    let dimids = [0, dimid];
    let sample = VarDef { name: "sample", nc_type, dimids: &dimids };
    let time = VarDef { name: "time", nc_type: Type::Int, dimids: &[0] };
    let units = [AttrDef::new("units", "s"), AttrDef::new("_FillValue", &-1_i32)];
    let definition = Definition {
        dims: &[DimDef::record("t"), DimDef { name: "x", length }],
        attrs: &[AttrDef::new("title", "gate")],
        vars: &[(sample, &[]), (time, &units)],
    };
    let version = Version::from_number(u8::try_from(version)?).ok_or(Fail)?;
    let values = NonZeroU64::new(dimid).ok_or(Fail)?;
    let alignment = Alignment { values, fixed_free: length, ..Alignment::default() };
    let plan = Plan::new(&definition, version, alignment)?;
    work(&definition, plan)
}

fn created<'m>(
    numbers: [u64; 3],
    window: &'m mut [u8],
    work: impl FnOnce(&mut File<'m>) -> Answer,
) -> Answer {
    defined(numbers, |definition, plan| {
        let (store, slots) = (Host { file: 0 }, [Slot::EMPTY; 2]);
        work(&mut Writer::create(store, definition, &plan, Fill::Values, slots, window)?)
    })
}

entries! {
    fn gate_cdf_values(bytes, nc_type: usize, from: usize, little: bool) {
        let nc_type = *Type::ALL.get(nc_type).ok_or(Fail)?;
        let order = if little { ByteOrder::Little } else { ByteOrder::Big };
        let mut to = [0; 16];
        let values = Values::new(nc_type, order, bytes);
        let len = values.write_to(from, ByteOrder::Big, &mut to);
        let stored = values.stored(ByteOrder::Big).map_or(0, <[u8]>::len);
        let text = Values::text(bytes);
        core::hint::black_box((to, text.is_empty(), values.nc_type().fill()));
        Ok(usize_to_u64(len ^ stored ^ text.len()) ^ values.nelems().ok_or(Fail)?)
    }

    fn gate_cdf_plan(_bytes, length: u64, dimid: u64, version: u64) {
        defined([length, dimid, version], |definition, plan| {
            let last = plan.places(definition).last().ok_or(Fail)?;
            let version = plan.version();
            let limits = version.max_non_neg() ^ version.max_len() ^ version.max_begin();
            core::hint::black_box((plan.version().magic(), plan.version().has(Type::Int64)));
            let places = plan.header_len() ^ plan.fixed().end() ^ plan.record_begin();
            let len = plan.file_len(length).ok_or(Fail)?;
            Ok(limits ^ places ^ len ^ plan.recsize() ^ plan.nvars() ^ last.end())
        })
    }

    fn gate_text64_cdf_define(_bytes, length: u64, dimid: u64, version: u64) {
        let dims = [DimDef { name: "x", length }, DimDef { name: "x", length: dimid }];
        let definition = Definition { dims: &dims, ..Definition::default() };
        let version = Version::from_number(u8::try_from(version)?).ok_or(Fail)?;
        match Plan::new(&definition, version, Alignment::COMPACT) {
            Ok(plan) => Ok(plan.header_len()),
            Err(error) => {
                write!(Text, "{error}")?;
                Err(Fail)
            }
        }
    }

    fn gate_cdf_encode(bytes, length: u64, dimid: u64, version: u64, at: u64, little: bool) {
        let order = if little { ByteOrder::Little } else { ByteOrder::Big };
        defined([length, dimid, version], |definition, plan| {
            let encode = Encode::new(definition, &plan, length, bytes)?.hidden();
            encode.embedded(order).at(at).run(&mut Host { file: 0 })?;
            Ok(0)
        })
    }

    fn gate_cdf_create(bytes, length: u64, dimid: u64, version: u64, values: bool) {
        defined([length, dimid, version], |definition, plan| {
            let mut header = Encode::new(definition, &plan, length, bytes)?;
            header.begin(&mut Host { file: 0 }, fill(values))?;
            Ok(0)
        })
    }

    fn gate_cdf_book(bytes, length: u64, dimid: u64, version: u64, values: bool) {
        defined([length, dimid, version], |definition, plan| {
            let (slots, host) = ([Slot::EMPTY; 2], &mut Host { file: 0 });
            let mut book = Book::create(definition, &plan, fill(values), slots)?;
            let place = book.place(length, dimid)?;
            book.written(0)?;
            book.put(host, 1, Values::from(&7_i32), bytes)?;
            let layout = book.layout(length)?;
            let region = Region { start: &[0], count: &[length], stride: None };
            let shape = [dimid];
            let slab = Slab::new(layout, &shape, region)?;
            book.put_slab(host, length, slab, Values::from(&[7_i32]), bytes)?;
            book.end_record(host, bytes)?;
            book.end_records(length)?;
            book.discard_record();
            book.commit(host, bytes)?;
            core::hint::black_box((book.fill(), book.is_streaming()));
            Ok(place.end() ^ book.records() ^ book.committed() ^ book.file_len())
        })
    }

    fn gate_cdf_reopen(bytes, values: bool) {
        let (mut lengths, host) = ([0; 16], Host { file: 0 });
        let file = Reader::open(host, &mut lengths, bytes)?;
        let mut book = Book::open(file.head(), fill(values), [Slot::EMPTY; 8])?;
        drive_read(&mut book.find_variables(file.head(), file.lengths()), &host, bytes)?;
        while let Some((varid, place)) = book.next_fill() {
            core::hint::black_box(place);
            book.set_fill(varid, [0; 8])?;
        }
        Ok(book.file_len())
    }

    fn gate_cdf_write(bytes, length: u64, dimid: u64, version: u64) {
        created([length, dimid, version], bytes, |file| {
            file.put(0, &[1_i16, 2, 3])?;
            let region = Region { start: &[0], count: &[length], stride: None };
            let shape = [dimid];
            let slab = Slab::new(file.layout(1)?, &shape, region)?;
            file.put_slab(1, slab, &7)?;
            file.discard_record();
            file.written(length)?;
            let place = file.place(length, dimid)?;
            core::hint::black_box(file.store());
            core::hint::black_box(file.store_mut());
            file.end_records(length)?;
            file.commit()?;
            file.close()?;
            Ok(place.end() ^ file.records() ^ file.committed())
        })
    }

    /// All that a logger needs after a restart: one record. Its size is reported alone.
    fn gate_cdf_log_one_record(bytes) {
        let (store, slots) = (Host { file: 0 }, [Slot::EMPTY; 2]);
        let mut log = Writer::open(store, Fill::Values, &mut [0; 4], slots, bytes)?;
        log.put(0, &7)?;
        log.put(1, &[290.5_f32, 291.0])?;
        let number = log.end_record()?;
        log.commit()?;
        core::hint::black_box(log.into_store());
        Ok(number)
    }
}
