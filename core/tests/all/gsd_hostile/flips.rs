//! Every single bit of header, index and names, flipped.

use super::*;
use striae_kit::hosts::stride;

/// Which part of the file a byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Magic,
    /// What commits change, but for the version of the schema.
    Blocks,
    GsdVersion,
    /// Of the header what no reader depends on.
    Text,
    /// The commit record; reserved in other files.
    Record,
    Slot(usize),
    Names,
    Elsewhere,
}

fn part(file: &Specimen, at: usize) -> Part {
    let slot = at.checked_sub(file.index.0).map(|at| at / 32).filter(|&slot| slot < file.index.1);
    let is_in_names = (file.names.0..file.names.0 + file.names.1).contains(&at);
    match (at, slot) {
        (0..8, _) => Part::Magic,
        (8..40, _) => Part::Blocks,
        (44..48, _) => Part::GsdVersion,
        (40..176, _) => Part::Text,
        (176..256, _) => Part::Record,
        (_, Some(slot)) => Part::Slot(slot),
        _ if is_in_names => Part::Names,
        _ => Part::Elsewhere,
    }
}

/// What is the same in two readings of a file in which one slot was changed.
fn assert_same_but(slot: Option<usize>, read: &Summary, whole: &Summary, case: &str) {
    assert_eq!(read.head.entries, whole.head.entries, "{case}");
    let others = |chunks: &[Result<Chunk, Error>]| -> Vec<_> {
        let others = (0..).zip(chunks).filter(|(number, _)| Some(*number) != slot);
        others.map(|(_, chunk)| *chunk).collect()
    };
    assert_eq!(others(&read.chunks), others(&whole.chunks), "{case}");
}

fn is_checksum(error: Error) -> bool {
    matches!(error, Error::Checksum { field: Commit::commit_crc, offset: 252, .. })
}

fn check(file: &Specimen, whole: &Summary, at: usize, bit: u8) {
    let flipped = file.bytes[at] ^ (1 << bit);
    let read = read_everything(&file.with(at, &[flipped]));
    let case = format!("{} byte {at} bit {bit}: {:?}", file.name, read.as_ref().err());
    match (part(file, at), read) {
        (Part::Magic, read) => assert!(matches!(read, Err(Error::NotGsd { .. })), "{case}"),
        // The record knows its header, wherever it was flipped. Without its magic there is none.
        (Part::Blocks | Part::Record, Err(error)) if file.is_committed => {
            assert!(is_checksum(error), "{case}");
        }
        (Part::Blocks | Part::Record, Ok(read)) if file.is_committed => {
            assert!((176..184).contains(&at) || read.head.state == whole.head.state, "{case}");
            assert_same_but(None, &read, whole, &case);
            assert_eq!(read.names, whole.names, "{case}");
        }
        (Part::Blocks | Part::GsdVersion, _) => {} // another file; it was read within its bounds
        (Part::Text | Part::Record | Part::Elsewhere, read) => {
            let read = read.unwrap();
            assert_same_but(None, &read, whole, &case);
            assert_eq!((read.names, read.head.frames), (whole.names.clone(), whole.head.frames));
        }
        (Part::Slot(slot), Err(error)) => {
            assert!(file.probed().contains(&slot), "{case}");
            let is_order = matches!(error, Error::Order { .. });
            assert!(names_slot(file, slot, error) || is_order, "{case}");
        }
        (Part::Slot(slot), Ok(read)) => {
            assert_same_but(Some(slot), &read, whole, &case);
            assert_eq!(read.names, whole.names, "{case}");
            let is_last = slot + 1 == file.entries;
            assert!(is_last || read.head.frames == whole.head.frames, "{case}");
        }
        (Part::Names, Err(error)) => {
            // the last byte, or the first slot has a name that is not there any more
            let last = file.names.0 + file.names.1 - 1;
            let is_last = matches!(error, Error::NotTerminated { .. }) && at == last;
            assert!(is_last || matches!(error, Error::Unnamed { .. }), "{case}");
        }
        (Part::Names, Ok(read)) => {
            assert_eq!(read.head.entries, whole.head.entries, "{case}");
            for (read, chunk) in read.chunks.iter().zip(&whole.chunks) {
                let is_same = read == chunk || matches!(read, Err(Error::Unnamed { .. }));
                assert!(is_same, "{case}");
            }
        }
    }
}

/// Whether an error tells of what the entry in a slot says.
fn names_slot(file: &Specimen, slot: usize, error: Error) -> bool {
    let slot = u64::try_from(file.slot(slot)).unwrap();
    match error {
        Error::TooSmall { offset, .. }
        | Error::TooLarge { offset, .. }
        | Error::NoType { offset, .. }
        | Error::Unnamed { offset, .. }
        | Error::ChunkCut { offset, .. }
        | Error::Extent { offset, .. } => (slot..slot + 32).contains(&offset),
        _ => false,
    }
}

#[test]
fn a_flipped_bit_touches_only_what_it_says() {
    for file in Specimen::small() {
        let whole = file.whole();
        for at in (0..file.bytes.len()).step_by(stride(5)) {
            let is_read = part(&file, at) != Part::Elsewhere;
            for bit in (0..8).filter(|&bit| is_read || at % 8 == bit) {
                check(&file, &whole, at, u8::try_from(bit).unwrap());
            }
        }
    }
}

#[test]
fn flipped_bits_of_files_of_gsd_touch_only_what_they_say() {
    for file in [
        Specimen::golden("v21_sparse_chunks", (256, 128), (4352, 1024), 17),
        Specimen::golden("v10_unsorted_ids", (256, 128), (4352, 8192), 24),
    ] {
        let whole = file.whole();
        // one bit of each byte that is used, one of every 7th elsewhere: more do so in small files
        let used = 0..256 + 32 * file.entries + 32;
        for at in (0..file.bytes.len()).step_by(stride(5)) {
            if used.contains(&at) || at % 7 == 0 {
                check(&file, &whole, at, u8::try_from(at / 7 % 8).unwrap());
            }
        }
    }
}
