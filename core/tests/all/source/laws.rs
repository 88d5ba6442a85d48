//! Slice and view agree, whatever the file and the memory.

use super::folder::{Error, Found, Known, NAME, folder, list};
use super::{Fault, Miss, Source, over_pages};
use striae_core::source::Window;

/// Page lengths to try.
fn page_lengths() -> impl Iterator<Item = usize> {
    (0..=64).chain([128, 256, 1024, 4096])
}

fn over<const N: usize>(file: &[u8], page_len: usize) -> Result<Found, Fault<Error>> {
    let (found, reads) =
        over_pages::<N, _, _, _>(file, page_len, 10_000, |view, known| list(view, known));
    assert!(reads <= 3 * file.len() as u64 / 4, "{reads} reads of {} bytes", file.len());
    found
}

/// What is found over `N` pages is what is found in a slice, or a miss of memory that is needed.
fn agrees<const N: usize>(file: &[u8], page_len: usize) -> Result<Found, Fault<Error>> {
    let in_memory = list(file, &mut Known::default());
    let found = over::<N>(file, page_len);
    match found {
        Err(Fault::Miss(Miss::Pages)) if N < 3 => {}
        Err(Fault::Miss(Miss::Page { len })) => assert!(page_len < len && len <= NAME),
        _ => assert_eq!(found, in_memory, "{N} pages of {page_len} bytes"),
    }
    found
}

#[test]
fn any_memory_finds_what_a_slice_has_or_says_what_it_lacks() {
    for n in [0, 1, 20] {
        let file = folder(n, 16);
        for page_len in page_lengths() {
            let found = [
                agrees::<1>(&file, page_len),
                agrees::<2>(&file, page_len),
                agrees::<3>(&file, page_len),
                agrees::<4>(&file, page_len),
            ];
            if page_len >= NAME {
                assert_eq!(found[2].unwrap().links, n);
                assert_eq!(found[3].unwrap().links, n);
            }
        }
        assert_eq!(agrees::<1>(&file, file.len()).unwrap().links, n); // a page of all
    }
}

#[test]
fn a_prefix_ends_where_a_slice_ends() {
    let file = folder(20, 16);
    for len in 0..file.len() {
        let prefix = &file[..len];
        for page_len in [1, 12, 16, 64] {
            let _ = (agrees::<2>(prefix, page_len), agrees::<3>(prefix, page_len));
        }
        if len < file.len() - 12 {
            let found = agrees::<3>(prefix, 32);
            assert!(matches!(found, Err(Fault::Miss(Miss::Ended { .. }))), "{len}: {found:?}");
        }
    }
}

#[test]
fn a_flipped_bit_makes_no_difference_between_slice_and_view() {
    let file = folder(9, 8);
    for bit in 0..8 * file.len() {
        let mut file = file.clone();
        file[bit / 8] ^= 1 << (bit % 8);
        let _ = (agrees::<2>(&file, 16), agrees::<3>(&file, 16), agrees::<4>(&file, 33));
    }
}

#[test]
fn a_window_gives_what_a_slice_gives_or_asks_for_it_where_it_is() {
    let file: Vec<u8> = (0..40).collect();
    for (start, end) in [(0, 40), (0, 0), (10, 30), (39, 40), (40, 40)] {
        let window = Window::new(start as u64, &file[start..end], 40);
        assert_eq!(window.file_len(), 40);
        for offset in 0..=41_usize {
            for need in 0..=41 {
                let in_memory = file.some(offset as u64, need, 4);
                match window.some(offset as u64, need, 4) {
                    Err(Miss::Read { offset: asked, need: least, want }) => {
                        assert!(offset < start || end < offset + need);
                        assert_eq!((asked, least, want), (offset as u64, need, 40 - asked));
                        assert!(in_memory.is_ok());
                    }
                    Ok(some) => {
                        assert!(start <= offset && offset + need <= end && need <= some.len());
                        assert!(in_memory.unwrap().starts_with(some));
                    }
                    ended => assert_eq!(ended, in_memory),
                }
            }
        }
    }
}
