//! Any bytes: an error, or a reading that ends.

use super::made::Made;
use super::{File, golden_file, golden_names, open};
use striae_core::cdf::{Cursor, Error, Item, Region, Version};
use striae_core::endian::ByteOrder;
use striae_kit::cdf_opening::cdf_open;
use striae_kit::hosts::stride;

/// Reads some of everything. Memory is bounded, and so is time: by the length of the file.
fn read_some(file: &File<'_, '_>) {
    let mut window = vec![0; 1024];
    let len = file.head().file_len;
    assert!(file.dims(&mut window[..]).take(100_000).count() as u64 <= len);
    for attr in file.attrs(None, vec![0; 1024]).flatten() {
        let _ = file.read(attr.values, &mut window).unwrap();
    }
    for variable in file.variables(vec![0; 1024]).flatten() {
        for attr in file.attrs(Some(&variable), &mut window[..]).flatten() {
            assert!(attr.values.fits(len));
        }
        let numrecs = file.head().numrecs;
        for number in [0, 1, numrecs.wrapping_sub(1), numrecs, u64::MAX] {
            if let Ok(span) = file.record(&variable, number) {
                let _ = file.read(span, &mut window).unwrap();
            }
        }
        let mut shape = [0; 64];
        let Ok(shape) = file.shape(&variable, &mut shape, &mut window) else { continue };
        let start = vec![0; shape.len()];
        let count: Vec<_> = shape.iter().map(|&length| length.div_ceil(2)).collect();
        let region = Region { start: &start, count: &count, stride: Some(&vec![2; shape.len()]) };
        if let Ok(slab) = file.slab(&variable, shape, region) {
            assert_eq!(file.read_slab(&slab, &mut window).unwrap() as u64, slab.len().min(1024));
        }
    }
}

/// Steps to the end of a header or an error: at most one a byte.
fn steps(file: &[u8]) -> Result<u64, String> {
    let (mut cursor, mut steps) = (Cursor::new(ByteOrder::Big), 0);
    loop {
        let (item, next) = cursor.next(file).map_err(|fault| fault.to_string())?;
        if let Item::End { header_len } = item {
            assert!(header_len <= file.len() as u64);
            return Ok(steps);
        }
        (cursor, steps) = (next, steps + 1);
        assert!(steps <= file.len() as u64);
    }
}

#[test]
fn every_prefix_of_a_header_is_refused_and_every_prefix_of_data_is_known_to_be_one() {
    for name in golden_names() {
        let file = golden_file(&format!("{name}.nc"));
        let mut lengths = [0; 64];
        let head = *open(&file, &mut lengths).unwrap().head();
        for len in (0..file.len().min(5000)).step_by(stride(17)) {
            cdf_open(&file[..len]);
            let opened = open(&file[..len], &mut lengths);
            if (len as u64) < head.header_len {
                let error = opened.unwrap_err();
                assert!(!error.blames_caller(), "{error}");
                assert!(matches!(error, Error::Cut { .. } | Error::TooLarge { .. }), "{error}");
            } else {
                let opened = opened.unwrap();
                assert_eq!(opened.head().header_len, head.header_len);
                read_some(&opened);
            }
        }
    }
}

#[test]
fn every_flip_of_a_bit_of_a_header_is_an_error_or_a_reading() {
    for name in golden_names() {
        let file = golden_file(&format!("{name}.nc"));
        let header_len = open(&file, &mut [0; 64]).unwrap().head().header_len;
        let mut refused = 0;
        let step = if header_len < 500 { 1 } else { 7 }; // of long ones some, in all bytes' places
        for bit in (0..8 * header_len as usize).step_by(step * stride(5)) {
            let mut file = file.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            let _ = steps(&file);
            cdf_open(&file);
            match open(&file, &mut [0; 64]) {
                Ok(opened) => read_some(&opened),
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
        assert!(refused > 100 / stride(5), "{name}: {refused}");
    }
}

#[test]
fn every_byte_at_its_extremes_is_an_error_or_a_reading() {
    for name in ["cdf1_onerec_short.nc", "cdf2_pn_redef.nc", "cdf5_pn_default.nc"] {
        let file = golden_file(name);
        for at in (0..file.len() - 8).step_by(stride(5)) {
            for bytes in
                [&[0xff; 1][..], &[0; 4], &[0xff; 4], &[0xff; 8], &[0x7f, 0xff, 0xff, 0xff]]
            {
                let mut file = file.clone();
                file[at..at + bytes.len()].copy_from_slice(bytes);
                cdf_open(&file);
                if let Ok(opened) = open(&file, &mut [0; 64]) {
                    read_some(&opened);
                }
            }
        }
    }
}

/// However many items there are, and however many a list claims.
#[test]
fn a_header_takes_a_few_steps_for_each_item() {
    const MANY: u64 = 100_000;
    let mut made = Made::new(Version::Cdf5, ByteOrder::Big, 0);
    made.dims(&vec![2; MANY as usize]);
    made.list(0, 0);
    let mut claims = made.bytes.clone();
    made.list(0, 0);
    assert!((MANY..3 * MANY).contains(&steps(&made.bytes).unwrap()));
    claims.extend(11_u32.to_be_bytes());
    claims.extend((1_u64 << 40).to_be_bytes()); // variables, of which there is not one
    assert!(steps(&claims).unwrap_err().contains("nelems"));
}
