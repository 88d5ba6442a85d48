//! Files that are written: those of the reference programs again, appended ones, filled ones.

use super::encode::alignment;
use super::made::Made;
use super::{File, format_error, golden_file, golden_names, open};
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Error, Fill, Plan, Region, Slab, Slot, Type, Values,
    VarDef, Variable, Version, Writer,
};
use striae_core::endian::ByteOrder;
use striae_kit::cdf_defined::Defined;
use striae_kit::growing::Growing;
use striae_kit::hosts::stride;

type Written = Writer<Growing, Vec<Slot>, Vec<u8>>;

fn create(defined: &Defined, plan: &Plan, fill: Fill) -> Written {
    let slots = vec![Slot::EMPTY; defined.vars.len()];
    Writer::create(Growing::default(), defined, plan, fill, slots, vec![0; 100]).unwrap()
}

fn reopen(bytes: &[u8], fill: Fill) -> Result<Written, Error> {
    let (store, slots) = (Growing(bytes.to_vec()), vec![Slot::EMPTY; 64]);
    Writer::open(store, fill, &mut [0; 64], slots, vec![0; 4096]).map_err(format_error)
}

fn values(file: &File<'_, '_>, variable: &Variable, record: u64) -> Vec<u8> {
    let span = file.record(variable, record).unwrap();
    let mut bytes = vec![0; span.len() as usize];
    assert_eq!(file.read(span, &mut bytes).unwrap(), bytes.len());
    bytes
}

/// Puts the values of a file, from a record on, as they are or in the other byte order.
fn put_all(writer: &mut Written, file: &File<'_, '_>, from: u64, swap: bool) {
    let variables: Vec<_> = file.variables(vec![0; 4096]).map(Result::unwrap).collect();
    let put = |writer: &mut Written, variable: &Variable, record| {
        let (nc_type, mut bytes) = (variable.var.nc_type, values(file, variable, record));
        let mut order = ByteOrder::Big;
        if swap {
            bytes.chunks_mut(nc_type.size() as usize).for_each(<[u8]>::reverse);
            order = ByteOrder::Little;
        }
        writer.put(variable.var.varid, Values::new(nc_type, order, &bytes)).unwrap();
    };
    for variable in variables.iter().filter(|v| v.layout.recsize.is_none() && from == 0) {
        put(writer, variable, 0);
    }
    for record in from..file.head().numrecs {
        for variable in variables.iter().filter(|v| v.layout.recsize.is_some()) {
            put(writer, variable, record);
        }
        assert_eq!(writer.end_record().unwrap(), record);
    }
}

/// The padding after the last record of a stream is missing. No value of it is.
#[test]
fn the_last_record_of_a_stream_is_counted_without_its_padding() {
    let mut made = Made::new(Version::Cdf1, ByteOrder::Big, Version::Cdf1.streaming());
    made.dims(&[0, 3]);
    made.vars(&[(&[0, 1], 1, 4, 200), (&[0, 1], 1, 4, 204)]);
    let mut bytes = made.bytes;
    bytes.resize(200, 0);
    bytes.extend([1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9, 0, 10, 11, 12]);
    for fill in [Fill::None, Fill::Values] {
        let mut writer = reopen(&bytes, fill).unwrap();
        assert_eq!((writer.records(), writer.committed()), (2, 2));
        writer.close().unwrap();
        let closed = writer.into_store().0;
        assert_eq!(closed[4..8], [0, 0, 0, 2]);
        assert_eq!(closed[200..], [&bytes[200..], &[0]].concat());
    }
}

/// The bytes that are no header and no value: nothing says what they are.
fn without_padding(bytes: &[u8]) -> Vec<u8> {
    let mut lengths = [0; 64];
    let file = open(bytes, &mut lengths).unwrap();
    let mut kept = vec![0; bytes.len()];
    let mut keep = |from: u64, to: u64| {
        let range = from as usize..to as usize;
        kept[range.clone()].copy_from_slice(&bytes[range]);
    };
    keep(0, file.head().header_len);
    for variable in file.variables(vec![0; 4096]).map(Result::unwrap) {
        let records = if variable.layout.recsize.is_some() { file.head().numrecs } else { 1 };
        for record in 0..records {
            let span = file.record(&variable, record).unwrap();
            keep(span.offset(), span.end());
        }
    }
    kept
}

#[test]
fn a_file_of_a_reference_program_is_written_again() {
    for name in golden_names().iter().filter(|name| !name.ends_with("empty")) {
        let bytes = golden_file(&format!("{name}.nc"));
        let mut lengths = [0; 64];
        let file = open(&bytes, &mut lengths).unwrap();
        let defined = Defined::of(&file);
        let plan = Plan::new(&defined, file.head().version, alignment(name)).unwrap();
        for (fill, swap) in [(Fill::Values, false), (Fill::None, false), (Fill::Values, true)] {
            let mut writer = create(&defined, &plan, fill);
            put_all(&mut writer, &file, 0, swap);
            assert_eq!(writer.committed(), 0);
            assert!(open(&writer.store().0, &mut [0; 64]).is_err(), "{name} is not committed");
            writer.close().unwrap();
            let made = writer.into_store().0;
            // netCDF-C pads with fill values, as striae, but for records of bytes, where it lets
            // bytes after the values through; PnetCDF pads with zeros.
            match name.contains("_pn_") || name.contains("alltypes") {
                false => assert!(made == bytes, "{name}"),
                true => assert!(without_padding(&made) == without_padding(&bytes), "{name}"),
            }
        }
    }
}

#[test]
fn a_file_of_a_reference_program_is_continued_from_any_record() {
    for name in golden_names() {
        let bytes = golden_file(&format!("{name}.nc"));
        let mut lengths = [0; 64];
        let file = open(&bytes, &mut lengths).unwrap();
        let (head, defined) = (*file.head(), Defined::of(&file));
        for count in 0..=head.numrecs {
            let plan = Plan::new(&defined, head.version, alignment(&name)).unwrap();
            let len = plan.file_len(count).unwrap() as usize;
            let mut cut = bytes.clone();
            let wide = head.version.non_neg_len() as usize;
            cut[4..4 + wide].copy_from_slice(&count.to_be_bytes()[8 - wide..]);
            // with the rest of a record, or without
            for rest in [0, (bytes.len() - len).min(7), bytes.len() - len] {
                let mut writer = reopen(&cut[..len + rest], Fill::Values).unwrap();
                assert_eq!((writer.records(), writer.committed()), (count, count));
                put_all(&mut writer, &file, count, false);
                writer.close().unwrap();
                let made = writer.into_store().0;
                // netCDF-C makes 4096 bytes of a file without anything
                let is_empty = defined == Defined::default();
                let expected = if is_empty { head.header_len as usize } else { bytes.len() };
                assert!(without_padding(&made) == without_padding(&bytes[..expected]), "{name}");
            }
        }
    }
}

/// Files of definitions that nobody has chosen, written in ways that nobody has chosen.
#[test]
fn any_definition_and_any_calls_make_what_the_model_says() {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed >> 32) as u8
    };
    for len in (0..3000).step_by(stride(5)) {
        let data: Vec<_> = (0..20 + len % 180).map(|_| next()).collect();
        striae_kit::cdf_writing::cdf_write(&data);
    }
}

const SAMPLE: VarDef<'_> = VarDef { name: "sample", nc_type: Type::Short, dimids: &[0, 1] };
const LABEL: VarDef<'_> = VarDef { name: "label", nc_type: Type::Char, dimids: &[1] };
const DIMS: [DimDef<'_>; 2] = [DimDef::record("t"), DimDef { name: "x", length: 3 }];

/// A file of a fixed and a record variable.
fn sampled(version: Version, fill: Fill) -> Written {
    let vars = [(SAMPLE, &[AttrDef::new("_FillValue", &[-9_i16])][..]), (LABEL, &[])];
    let definition = Definition { dims: &DIMS, attrs: &[], vars: &vars };
    let plan = Plan::new(&definition, version, Alignment::COMPACT).unwrap();
    let (slots, window) = (vec![Slot::EMPTY; 2], vec![0; 64]);
    Writer::create(Growing::default(), &definition, &plan, fill, slots, window).unwrap()
}

fn refused<T: std::fmt::Debug, S: std::fmt::Debug>(
    result: Result<T, striae_core::step::DriveError<S, Error>>,
) -> Error {
    format_error(result.unwrap_err())
}

#[test]
fn what_is_wrong_is_refused_by_its_name() {
    let mut file = sampled(Version::Cdf1, Fill::Values);
    assert_eq!(refused(file.put(2, "a")), Error::NoVar { varid: 2, nvars: 2 });
    let wrong = Error::Type { varid: 0, nc_type: Type::Short, given: Type::Int };
    assert_eq!(refused(file.put(0, &[1, 2, 3])), wrong);
    assert_eq!(refused(file.put(1, "ab")), Error::Count { varid: 1, len: 3, given: 2 });
    let region = |start| Region { start, count: &[1, 1], stride: None };
    let layout = file.layout(0).unwrap();
    let next = Slab::new(layout, &[2, 3], region(&[1, 0])).unwrap();
    let later = Error::OutOfShape { dim: 0, last: 1, length: 1 };
    assert_eq!(refused(file.put_slab(0, next, &7_i16)), later);
    let other = Slab::new(layout, &[1, 4], region(&[0, 3])).unwrap();
    assert_eq!(refused(file.put_slab(0, other, &7_i16)), Error::Shape { varid: 0 });
    let whole = Slab::new(layout, &[1, 3], region(&[0, 2])).unwrap();
    assert_eq!(refused(file.put_slab(1, whole, &7_i16)), Error::Shape { varid: 1 });
    let many = Error::Records { numrecs: 1 << 31, max: (1 << 31) - 1 };
    assert_eq!(file.end_records(1 << 31), Err(many));
    assert_eq!(
        file.end_records(u64::MAX),
        Err(Error::Records { numrecs: u64::MAX, max: (1 << 31) - 1 })
    );
    assert_eq!(
        file.place(0, 1 << 31),
        Err(Error::Records { numrecs: (1 << 31) + 1, max: (1 << 31) - 1 })
    );
    assert_eq!(file.end_records((1 << 31) - 1), Ok(()));
    assert_eq!(refused(file.end_record()), many);

    let slots = vec![Slot::EMPTY; 1];
    let bytes = golden_file("cdf1_onerec_short.nc");
    let few = Writer::open(Growing(bytes), Fill::Values, &mut [0; 8], slots, vec![0; 512]);
    assert_eq!(refused(few), Error::VarsMemory { nvars: 2, room: 1 });
}

#[test]
fn what_is_not_put_is_filled_also_around_what_is() {
    let mut file = sampled(Version::Cdf2, Fill::Values);
    let layout = file.layout(0).unwrap();
    let region = Region { start: &[0, 1], count: &[1, 1], stride: None };
    file.put_slab(0, Slab::new(layout, &[1, 3], region).unwrap(), &7_i16).unwrap();
    assert_eq!(file.end_record().unwrap(), 0);
    assert_eq!(file.end_record().unwrap(), 1);
    file.close().unwrap();
    let bytes = file.into_store().0;
    let mut lengths = [0; 64];
    let opened = open(&bytes, &mut lengths).unwrap();
    let all: Vec<_> = opened.variables(vec![0; 512]).map(Result::unwrap).collect();
    assert_eq!(values(&opened, &all[0], 0), [0xff, 0xf7, 0, 7, 0xff, 0xf7]);
    assert_eq!(values(&opened, &all[0], 1), [0xff, 0xf7, 0xff, 0xf7, 0xff, 0xf7]);
    assert_eq!(values(&opened, &all[1], 0), [0; 3]);

    // the one who continues the file knows its fill value
    let mut file = reopen(&bytes, Fill::Values).unwrap();
    file.end_record().unwrap();
    file.close().unwrap();
    let bytes = file.into_store().0;
    let opened = open(&bytes, &mut lengths).unwrap();
    assert_eq!(values(&opened, &all[0], 2), [0xff, 0xf7, 0xff, 0xf7, 0xff, 0xf7]);
}

/// It is in the header before anything is appended.
#[test]
fn a_streamed_file_that_is_opened_gets_its_number_of_records() {
    let mut file = sampled(Version::Cdf2, Fill::Values);
    (0..2).for_each(|record| assert_eq!(file.end_record().unwrap(), record));
    file.close().unwrap();
    let bytes = file.into_store().0;
    let mut streamed = bytes.clone();
    streamed[4..8].fill(0xff);
    let file = reopen(&streamed, Fill::Values).unwrap();
    assert_eq!((file.records(), file.committed()), (2, 2));
    assert!(file.store().0 == bytes);
}

/// Whoever writes values on its own is told the places.
#[test]
fn values_at_their_places_are_those_of_the_records() {
    use striae_core::store::WriteAt;
    let mut file = sampled(Version::Cdf5, Fill::None);
    file.put(1, "abc").unwrap();
    for record in [2, 0, 1] {
        let place = file.place(0, record).unwrap();
        file.store_mut().write_all_at(place.offset(), &[record as u8 + 1; 6]).unwrap();
    }
    file.end_records(3).unwrap();
    file.close().unwrap();
    let bytes = file.into_store().0;
    let mut lengths = [0; 64];
    let opened = open(&bytes, &mut lengths).unwrap();
    let all: Vec<_> = opened.variables(vec![0; 512]).map(Result::unwrap).collect();
    for record in 0..3 {
        assert_eq!(values(&opened, &all[0], record), [record as u8 + 1; 6]);
    }
    assert_eq!(opened.head().numrecs, 3);
}

/// Records of 3 bytes follow each other without a gap (`spec/cdf.md#records`): padding would be
/// written over the next one, which may be there already.
#[test]
fn records_of_the_only_record_variable_have_no_padding() {
    use striae_core::store::WriteAt;
    let label = VarDef { name: "label", nc_type: Type::Char, dimids: &[0, 1] };
    let definition = Definition { dims: &DIMS, attrs: &[], vars: &[(label, &[])] };
    let plan = Plan::new(&definition, Version::Cdf1, Alignment::COMPACT).unwrap();
    let (slots, window) = (vec![Slot::EMPTY; 1], vec![0; 64]);
    let store = Growing::default();
    let mut file = Writer::create(store, &definition, &plan, Fill::Values, slots, window).unwrap();
    let write = |file: &mut Written, early: &[u8], late: &str| {
        let place = file.place(0, file.records() + 1).unwrap();
        file.store_mut().write_all_at(place.offset(), early).unwrap();
        file.put(0, late).unwrap();
        file.end_record().unwrap();
        file.end_records(1).unwrap();
        file.close().unwrap();
    };
    write(&mut file, b"def", "abc");
    let bytes = file.into_store().0;
    assert!(bytes.ends_with(b"abcdef"), "{bytes:?}");
    let mut file = reopen(&bytes, Fill::Values).unwrap();
    write(&mut file, b"jkl", "ghi");
    assert!(file.into_store().0.ends_with(b"abcdefghijkl"));
}

#[test]
fn a_record_that_is_discarded_leaves_nothing() {
    let mut file = sampled(Version::Cdf2, Fill::Values);
    file.put(0, &[1_i16, 2, 3]).unwrap();
    file.discard_record();
    file.end_record().unwrap();
    file.commit().unwrap();
    file.put(0, &[1_i16, 2, 3]).unwrap(); // never ended
    file.close().unwrap();
    let bytes = file.into_store().0;
    let mut lengths = [0; 64];
    let opened = open(&bytes, &mut lengths).unwrap();
    let sample = opened.variables(vec![0; 512]).next().unwrap().unwrap();
    assert_eq!(opened.head().numrecs, 1);
    assert_eq!(values(&opened, &sample, 0), [0xff, 0xf7, 0xff, 0xf7, 0xff, 0xf7]);
    assert_eq!(bytes.len() as u64, opened.record(&sample, 0).unwrap().end());
}

#[cfg(feature = "async")]
#[test]
fn a_store_that_is_waited_for_gets_the_same_bytes() {
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use striae_core::store::Ready;

    let vars = [(SAMPLE, &[][..]), (LABEL, &[])];
    let definition = Definition { dims: &DIMS, attrs: &[], vars: &vars };
    let plan = Plan::new(&definition, Version::Cdf2, Alignment::COMPACT).unwrap();
    let slots = || vec![Slot::EMPTY; 2];
    let region = Region { start: &[0, 1], count: &[1, 2], stride: None };

    let waited = async {
        let (store, window) = (Ready(Growing::default()), vec![0; 64]);
        let fill = Fill::Values;
        let mut file =
            Writer::create_async(store, &definition, &plan, fill, slots(), window).await.unwrap();
        file.put_async(1, "abc").await.unwrap();
        let slab = Slab::new(file.layout(0).unwrap(), &[1, 3], region).unwrap();
        file.put_slab_async(0, slab, &[5_i16, 6]).await.unwrap();
        file.end_record_async().await.unwrap();
        file.commit_async().await.unwrap();
        let (store, window) = (file.into_store(), vec![0; 512]);
        let mut file = Writer::open_async(store, fill, &mut [0; 2], slots(), window).await.unwrap();
        file.put_async(0, &[1_i16, 2, 3]).await.unwrap();
        assert_eq!(file.end_record_async().await.unwrap(), 1);
        file.close_async().await.unwrap();
        file.into_store().0.0
    };
    let Poll::Ready(waited) = pin!(waited).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it waits")
    };

    let (store, window) = (Growing::default(), vec![0; 64]);
    let mut file =
        Writer::create(store, &definition, &plan, Fill::Values, slots(), window).unwrap();
    file.put(1, "abc").unwrap();
    let slab = Slab::new(file.layout(0).unwrap(), &[1, 3], region).unwrap();
    file.put_slab(0, slab, &[5_i16, 6]).unwrap();
    file.end_record().unwrap();
    file.put(0, &[1_i16, 2, 3]).unwrap();
    file.end_record().unwrap();
    file.close().unwrap();
    assert_eq!(file.into_store().0, waited);
}
