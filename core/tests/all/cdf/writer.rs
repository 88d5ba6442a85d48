//! Files that are written: those of the reference programs again, appended ones, filled ones.

use super::encode::alignment;
use super::{File, format_error, golden_file, golden_names, open};
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Error, Fill, Plan, Reader, Region, Slab, Slot, Type,
    Values, VarDef, Variable, Version, Writer,
};
use striae_core::endian::ByteOrder;
use striae_kit::cdf_defined::Defined;
use striae_kit::growing::Growing;

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
            // bytes behind the values through; PnetCDF pads with zeros.
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
