//! What the reference programs wrote.

use super::{File, golden_file, golden_names};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use striae_core::cdf::{Attr, Reader, Region, Type, Variable};

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A value as an attribute's JSON has it.
fn value(ty: Type, bytes: &[u8]) -> Value {
    match ty {
        Type::Byte => json!(bytes[0] as i8),
        Type::Char | Type::Ubyte => json!(bytes[0]),
        Type::Short => json!(i16::from_be_bytes(bytes.try_into().unwrap())),
        Type::Ushort => json!(u16::from_be_bytes(bytes.try_into().unwrap())),
        Type::Int => json!(i32::from_be_bytes(bytes.try_into().unwrap())),
        Type::Uint => json!(u32::from_be_bytes(bytes.try_into().unwrap())),
        Type::Int64 => json!(i64::from_be_bytes(bytes.try_into().unwrap())),
        Type::Uint64 => json!(u64::from_be_bytes(bytes.try_into().unwrap())),
        Type::Float => json!(f64::from(f32::from_be_bytes(bytes.try_into().unwrap()))),
        Type::Double => json!(f64::from_be_bytes(bytes.try_into().unwrap())),
    }
}

fn attr_json(file: &File<'_, '_>, attr: &Attr) -> Value {
    let mut bytes = vec![0; attr.values.len() as usize];
    assert_eq!(file.read(attr.values, &mut bytes).unwrap(), bytes.len());
    let values = match attr.nc_type {
        Type::Char => json!(std::str::from_utf8(&bytes).unwrap()),
        ty => bytes.chunks(ty.size() as usize).map(|bytes| value(ty, bytes)).collect(),
    };
    json!({
        "name": file.name(attr.name, &mut [0; 256]).unwrap().unwrap(),
        "type": attr.nc_type.name(),
        "n": attr.nelems,
        "value": values,
    })
}

fn attrs_json(file: &File<'_, '_>, of: Option<&Variable>, window: &mut [u8]) -> Value {
    let attrs: Vec<_> = file.attrs(of, &mut *window).map(Result::unwrap).collect();
    for attr in &attrs {
        let name = file.name(attr.name, &mut [0; 256]).unwrap().unwrap().to_owned();
        assert_eq!(file.attr(of, name.as_bytes(), window), Ok(Some(*attr)));
    }
    assert_eq!(file.attr(of, b"no attribute has this name", window), Ok(None));
    attrs.iter().map(|attr| attr_json(file, attr)).collect()
}

/// All values of a variable, record by record.
fn values(file: &File<'_, '_>, variable: &Variable) -> Vec<u8> {
    let records = if variable.layout.recsize.is_some() { file.head().numrecs } else { 1 };
    assert!(file.record(variable, records).is_err());
    let mut all = Vec::new();
    for number in 0..records {
        let span = file.record(variable, number).unwrap();
        let mut bytes = vec![0; span.len() as usize];
        assert_eq!(file.read(span, &mut bytes).unwrap(), bytes.len());
        all.extend(bytes);
    }
    all
}

/// All values of a variable, as one region.
fn all_values(file: &File<'_, '_>, variable: &Variable, shape: &[u64]) -> Vec<u8> {
    let start = vec![0; shape.len()];
    let region = Region { start: &start, count: shape, stride: None };
    let slab = file.slab(variable, shape, region).unwrap();
    let mut bytes = vec![0; slab.len() as usize];
    assert_eq!(file.read_slab(&slab, &mut bytes).unwrap(), bytes.len());
    bytes
}

fn variable_json(file: &File<'_, '_>, variable: &Variable, window: &mut [u8]) -> Value {
    let var = &variable.var;
    let name = file.name(var.name, &mut [0; 256]).unwrap().unwrap().to_owned();
    assert_eq!(file.variable(name.as_bytes(), window), Ok(Some(*variable)));
    let mut shape = [0; 8];
    let shape = file.shape(variable, &mut shape, window).unwrap();
    let all = values(file, variable);
    assert_eq!(all_values(file, variable, shape), all, "{name}");

    let mut dimids = vec![0; var.dimids.len() as usize];
    file.read(var.dimids, &mut dimids).unwrap();
    let wide = file.head().version.non_neg_len() as usize;
    let dimids = dimids.chunks(wide).map(|id| id[wide - 1]).collect::<Vec<_>>();
    json!({
        "name": name,
        "type": var.nc_type.name(),
        "dimids": dimids,
        "natts": var.natts,
        "atts": attrs_json(file, Some(variable), window),
        "vsize": var.vsize,
        "begin": var.begin,
        "record": variable.layout.recsize.is_some(),
        "sha256_be": sha256(&all),
    })
}

fn file_json(bytes: &[u8], window: &mut [u8]) -> Value {
    let mut lengths = [0; 16];
    let file = Reader::open(bytes, &mut lengths, window).unwrap();
    let head = file.head();
    let dims: Vec<_> = file.dims(&mut *window).map(Result::unwrap).collect();
    let dims = dims.iter().map(|dim| {
        let name = file.name(dim.name, &mut [0; 256]).unwrap().unwrap().to_owned();
        assert_eq!(head.record_dim == Some(dim.dimid), dim.length == 0);
        json!({ "name": name, "len": dim.length, "unlimited": dim.length == 0 })
    });
    let dims: Vec<_> = dims.collect();
    let variables: Vec<_> = file.variables(&mut *window).map(Result::unwrap).collect();
    let counts = [dims.len(), file.attrs(None, &mut *window).count(), variables.len()];
    assert_eq!(counts, [head.ndims, head.ngatts, head.nvars].map(|count| count as usize));
    assert_eq!(file.variable(b"no variable has this name", window), Ok(None));
    let gatts = attrs_json(&file, None, window);
    let vars: Vec<_> = variables.iter().map(|var| variable_json(&file, var, window)).collect();
    json!({
        "version": head.version.number(),
        "numrecs": head.numrecs,
        "header_len": head.header_len,
        "recsize": head.recsize,
        "dims": dims,
        "gatts": gatts,
        "vars": vars,
        "bytes": bytes.len(),
        "sha256": sha256(bytes),
    })
}

#[test]
fn every_file_reads_as_it_was_written_through_any_window() {
    for name in golden_names() {
        let bytes = golden_file(&format!("{name}.nc"));
        let expected: Value =
            serde_json::from_slice(&golden_file(&format!("{name}.nc.json"))).unwrap();
        for window in [64, 100, 512, 1 << 16] {
            assert_eq!(file_json(&bytes, &mut vec![0; window]), expected, "{name}");
        }
    }
}

#[cfg(feature = "async")]
#[test]
fn a_store_that_is_waited_for_gives_what_another_gives() {
    use core::pin::pin;
    use core::task::{Context, Poll, Waker};
    use striae_core::store::Ready;

    let bytes = golden_file("cdf2_alltypes.nc");
    let (mut lengths, mut other) = ([0; 16], [0; 16]);
    let waited = async {
        let mut window = [0; 512];
        let file = Reader::open_async(Ready(&bytes[..]), &mut lengths, &mut window).await.unwrap();
        let rec = file.variable_async(b"rec_i2", &mut window).await.unwrap().unwrap();
        let attr = file.attr_async(None, b"i2", &mut window).await.unwrap().unwrap();
        let (mut shape, mut values) = ([0; 4], [0; 64]);
        let shape = file.shape_async(&rec, &mut shape, &mut window).await.unwrap();
        let region = Region { start: &[0, 1], count: &[3, 2], stride: None };
        let slab = file.slab(&rec, shape, region).unwrap();
        let len = file.read_slab_async(&slab, &mut values).await.unwrap();
        let more = file.read_async(attr.values, &mut values[len..]).await.unwrap();
        (*file.head(), rec, attr, shape.to_vec(), values[..len + more].to_vec())
    };
    let Poll::Ready(waited) = pin!(waited).poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("it waits")
    };

    let mut window = [0; 512];
    let file = Reader::open(&bytes[..], &mut other, &mut window).unwrap();
    let rec = file.variable(b"rec_i2", &mut window).unwrap().unwrap();
    let attr = file.attr(None, b"i2", &mut window).unwrap().unwrap();
    let (mut shape, mut values) = ([0; 4], [0; 64]);
    let shape = file.shape(&rec, &mut shape, &mut window).unwrap();
    let region = Region { start: &[0, 1], count: &[3, 2], stride: None };
    let len = file.read_slab(&file.slab(&rec, shape, region).unwrap(), &mut values).unwrap();
    let more = file.read(attr.values, &mut values[len..]).unwrap();
    assert_eq!((len, more), (12, 6));
    let read = (*file.head(), rec, attr, shape.to_vec(), values[..len + more].to_vec());
    assert_eq!(waited, read);
}
