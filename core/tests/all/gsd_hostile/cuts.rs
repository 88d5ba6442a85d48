//! Every prefix of a file.

use super::*;

/// Why the first `len` bytes of a file cannot be opened; `None` if they can.
fn cut_at(file: &Specimen, whole: &Summary, len: u64) -> Option<Error> {
    if len < 256 {
        return Some(Error::Cut { file_len: len });
    }
    if file.is_committed && len < file.u64_at(176 + 24) {
        let (field, value) = (Commit::data_end, file.u64_at(176 + 24));
        return Some(Error::TooLarge { field, offset: 176 + 24, value, max: len });
    }
    let block = |field, (start, block_len): (usize, usize)| {
        let (start, block_len) = (u64::try_from(start).unwrap(), u64::try_from(block_len).unwrap());
        let outside = Error::Outside { field, start, len: block_len, file_len: len };
        (start + block_len > len).then_some(outside)
    };
    let index = (file.index.0, 32 * file.index.1);
    block(Header::namelist_location, file.names)
        .or_else(|| block(Header::index_location, index))
        .or_else(|| {
            let probed = file.probed().into_iter().filter(|&slot| slot < file.entries);
            probed
                .map(|slot| (slot, whole.chunks[slot].unwrap()))
                .find_map(|at| outside(file, at, len))
        })
}

/// What is wrong with the chunk of a slot in a file of `file_len` bytes.
fn outside(file: &Specimen, (slot, chunk): (usize, Chunk), file_len: u64) -> Option<Error> {
    let (offset, end) = (u64::try_from(file.slot(slot) + 16).unwrap(), chunk.span.end());
    (end > file_len).then_some(Error::ChunkCut { offset, end, file_len })
}

fn check_prefixes(file: &Specimen) {
    let whole = file.whole();
    for len in 0..=file.len() {
        let prefix = &file.bytes[..usize::try_from(len).unwrap()];
        let case = format!("{} cut at {len}", file.name);
        match (read_everything(prefix), cut_at(file, &whole, len)) {
            (Err(error), expected) => assert_eq!(Some(error), expected, "{case}"),
            (Ok(_), Some(expected)) => panic!("{case}: no error, expected {expected}"),
            (Ok(read), None) => {
                assert_eq!(read.names, whole.names, "{case}");
                assert_eq!(read.head.frames, whole.head.frames, "{case}");
                let chunks = whole.chunks.iter().flatten().copied().enumerate();
                let expected: Vec<_> =
                    chunks.map(|at| outside(file, at, len).map_or(Ok(at.1), Err)).collect();
                assert_eq!(read.chunks, expected, "{case}");
            }
        }
    }
}

#[test]
fn every_prefix_of_a_file_of_gsd_says_what_is_cut() {
    for file in [
        Specimen::golden("v21_sparse_chunks", (256, 128), (4352, 1024), 17),
        Specimen::golden("v21_zero_size", (256, 128), (4352, 1024), 9),
        Specimen::golden("v21_names_70", (256, 128), (5516, 2048), 80),
        Specimen::golden("v21_index_129", (5892, 256), (4352, 1024), 129),
        Specimen::golden("v10_unsorted_ids", (256, 128), (4352, 8192), 24),
    ] {
        check_prefixes(&file);
    }
}

#[test]
fn every_prefix_of_a_small_file_says_what_is_cut() {
    for file in Specimen::small() {
        check_prefixes(&file);
    }
}

#[test]
fn a_prefix_of_the_magic_is_a_cut_header_and_other_bytes_are_no_gsd() {
    let magic = [0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65];
    for len in 0..=8 {
        let file_len = u64::try_from(len).unwrap();
        assert_eq!(open_error(&magic[..len]), Some(Error::Cut { file_len }));
        let mut other = magic[..len].to_vec();
        let Some(last) = other.last_mut() else { continue };
        *last ^= 1;
        let mut magic = [0; 8];
        magic[..len].copy_from_slice(&other);
        assert_eq!(open_error(&other), Some(Error::NotGsd { magic }));
    }
}
