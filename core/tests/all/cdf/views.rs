//! A header is the same items, over whatever it is read.

use super::{golden_file, golden_names};
use core::ops::ControlFlow::{Break, Continue};
use striae_core::cdf::{Cursor, Error, Item};
use striae_core::endian::ByteOrder;
use striae_core::source::{Fault, Miss, Restart, Source, View};
use striae_core::step::DriveError;
use striae_kit::hosts::stride;

/// A number that all items of a header so far make.
type Sum = u64;

fn add(sum: Sum, item: Item) -> Sum {
    format!("{item:?}")
        .bytes()
        .fold(sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

/// Goes on through a header to its end.
fn walk<S: Source + ?Sized>(source: &S, state: &mut (Cursor, Sum)) -> Result<Sum, Fault<Error>> {
    source.walk(state, |source, (cursor, sum)| {
        let (item, next) = cursor.next(source)?;
        Ok(match item {
            Item::End { .. } => Break(add(sum, item)),
            _ => Continue((next, add(sum, item))),
        })
    })
}

fn start() -> (Cursor, Sum) {
    (Cursor::new(ByteOrder::Big), 0)
}

/// What a view of `N` pages finds is what a slice has, unless a page is too short for an item.
fn agrees<const N: usize>(file: &[u8], page_len: usize) {
    let mut memory = vec![0xee; N * page_len];
    let view = View::<N>::new(&mut memory, file.len() as u64);
    let found = Restart::new(view, start(), file.len() as u64, walk).read_from(file);
    match found.map_err(|error| match error {
        DriveError::Format(fault) => fault,
        error => panic!("{error:?}"),
    }) {
        Err(Fault::Miss(Miss::Page { len })) => assert!(page_len < len && len <= file.len()),
        found => assert_eq!(found, walk(file, &mut start()), "{N} pages of {page_len} bytes"),
    }
}

fn all_agree(file: &[u8], page_lens: impl IntoIterator<Item = usize>) {
    for page_len in page_lens {
        agrees::<1>(file, page_len);
        agrees::<2>(file, page_len);
        agrees::<3>(file, page_len);
        agrees::<4>(file, page_len);
    }
}

#[test]
fn a_view_of_any_pages_has_the_items_of_a_slice() {
    for name in golden_names() {
        let file = golden_file(&format!("{name}.nc"));
        all_agree(&file, (0..=64).step_by(stride(3)).chain([128, 256, 1024]));
    }
}

#[test]
fn a_view_of_a_prefix_ends_as_a_slice_does() {
    let file = golden_file("cdf1_onerec_short.nc");
    for len in 0..file.len() {
        all_agree(&file[..len], [12, 16, 20, 24, 32, 64]);
    }
}

#[test]
fn a_view_of_a_file_with_a_flipped_bit_errs_as_a_slice_does() {
    for name in ["cdf1_onerec_short.nc", "cdf5_onerec_short.nc"] {
        let file = golden_file(name);
        for bit in (0..8 * file.len().min(200)).step_by(stride(7)) {
            let mut file = file.clone();
            file[bit / 8] ^= 1 << (bit % 8);
            all_agree(&file, [24, 64]);
        }
    }
}

/// Each item is at one place: a page is read at most once, and one page does.
#[test]
fn a_header_is_read_in_one_direction() {
    let file = golden_file("cdf5_alltypes.nc");
    let mut cursor = start().0;
    loop {
        let (item, next) = cursor.next(&file[..]).unwrap();
        if let Item::End { header_len } = item {
            assert_eq!(next.offset(), header_len);
            break;
        }
        assert!(cursor.offset() <= next.offset());
        cursor = next;
    }
}
