//! Seals: a stream is exact only if the checksums of its chunks say so.

use super::{Stream, recover};
use striae_core::endian::{ByteOrder, I32, I64, U32};
use striae_core::integrity::crc32c;
use striae_core::sion::raw::{SealTrailer, SealTrailerV2};
use striae_core::sion::recover::{Certainty, Doubt, Proof, Remains};
use striae_core::sion::verdict::{FoundTrailer, Verdict};
use striae_core::sion::{Error, FindSeal, Head, Meta1, Opened, Physical};
use striae_core::span::Span;
use striae_core::step::drive_read;
use striae_kit::golden_sets::golden_set;
use zerocopy::{FromZeros, IntoBytes};

/// A file that was closed with a seal.
struct Sealed {
    bytes: Vec<u8>,
    /// Where META2 is, and its end.
    meta2: std::ops::Range<usize>,
    /// The checksums of chunks.
    table: std::ops::Range<usize>,
    /// Tasks, and the places of their chunks with data.
    chunks: Vec<(usize, std::ops::Range<usize>)>,
    whole: Vec<Stream>,
}

/// A file of SIONlib's, with a seal behind it.
fn sealed(name: &str) -> Sealed {
    let mut bytes = golden_set(name).files.swap_remove(0);
    let meta1 = Meta1::parse(&bytes, bytes.len() as u64).unwrap();
    let (order, ntasks) = (meta1.order(), meta1.ntasks() as usize);
    let meta1_end = meta1.layout().meta1_end() as usize;
    let fields = meta1.layout().commit_fields().offset() as usize;
    let maxchunks = I32::from(<[u8; 4]>::try_from(&bytes[fields..fields + 4]).unwrap()).get(order);
    let i64_at = |bytes: &[u8], at: usize| {
        I64::from(<[u8; 8]>::try_from(&bytes[at..at + 8]).unwrap()).get(order) as usize
    };
    let start = i64_at(&bytes, fields + 4);
    let sizes = meta1.layout().chunksizes().offset() as usize;
    let skips: Vec<_> = (0..ntasks).map(|task| i64_at(&bytes, sizes + 8 * task)).collect();

    let (start_of_seal, whole) = (bytes.len(), recover(&bytes).unwrap());
    let (mut chunks, mut table) = (Vec::new(), Vec::new());
    let mut at = meta1.layout().first_chunk() as usize;
    for chunk in 0..maxchunks as usize {
        for (task, skip) in skips.iter().enumerate() {
            let len = whole[task].lens.get(chunk).copied().unwrap_or(0) as usize;
            let data = at..at + len;
            table.extend(U32::new(crc32c(0, &bytes[data.clone()]), order).as_bytes());
            chunks.extend(Some((task, data)).filter(|_| len > 0));
            at += skip;
        }
    }
    let i32_of = |n: usize| I32::new(n as i32, order);
    let mut trailer = SealTrailer::new_zeroed();
    trailer.seal_version = I32::new(SealTrailer::VERSION, order);
    trailer.ntasks = i32_of(ntasks);
    trailer.maxchunks = I32::new(maxchunks, order);
    trailer.meta1_crc = U32::new(crc32c(0, &bytes[..meta1_end]), order);
    trailer.start_of_varheader = I64::new(start as i64, order);
    trailer.start_of_seal = I64::new(start_of_seal as i64, order);
    trailer.meta2_crc = U32::new(crc32c(0, &bytes[start..]), order);
    trailer.chunks_crc = U32::new(crc32c(0, &table), order);
    trailer.trailer_crc = U32::new(crc32c(0, &trailer.as_bytes()[..44]), order);
    trailer.magic = SealTrailer::MAGIC;
    bytes.extend(&table);
    bytes.extend(trailer.as_bytes());
    let table = start_of_seal..start_of_seal + table.len();
    Sealed { bytes, meta2: start..start_of_seal, table, chunks, whole }
}

fn files() -> impl Iterator<Item = Sealed> {
    ["s02_three_unequal_noncontig", "c01_be_of_s02", "s17_keyval_straddle"].into_iter().map(sealed)
}

fn is_sealed(file: &[u8]) -> bool {
    Remains::read(&file, crc32c, &mut [0; 2048]).unwrap().is_sealed()
}

#[test]
fn a_stream_is_exact_if_its_chunks_are_as_sealed() {
    for file in files() {
        assert!(is_sealed(&file.bytes));
        for (found, whole) in recover(&file.bytes).unwrap().iter().zip(&file.whole) {
            assert_eq!(found.recovered.certainty, Certainty::Exact);
            assert_eq!((&found.bytes, &found.lens), (&whole.bytes, &whole.lens));
        }
    }
}

#[test]
fn altered_data_make_a_guess_as_long_as_meta2_says() {
    let mut altered = 0;
    for file in files() {
        for (task, data) in &file.chunks {
            for at in [data.start, data.end - 1] {
                let mut bytes = file.bytes.clone();
                bytes[at] ^= 2;
                for (other, found) in recover(&bytes).unwrap().iter().enumerate() {
                    let certainty = match other == *task {
                        true => Certainty::Guess(Doubt::NotAsSealed),
                        false => Certainty::Exact,
                    };
                    assert_eq!(found.recovered.certainty, certainty, "{at}");
                    assert_eq!(found.lens, file.whole[other].lens);
                    assert_eq!(found.bytes == file.whole[other].bytes, other != *task);
                }
                altered += 1;
            }
        }
    }
    println!("altered: {altered}");
    assert!(altered > 20, "{altered}");
}

#[test]
fn a_chunk_that_lost_all_bytes_is_still_told_of() {
    for file in files() {
        for (task, data) in &file.chunks {
            let mut bytes = file.bytes.clone();
            bytes[file.meta2.clone()].fill(0);
            bytes[data.clone()].fill(0);
            let streams = recover(&bytes).unwrap();
            // Zeros that are zeros still are as they were sealed.
            let was_zeros = bytes[data.clone()] == file.bytes[data.clone()];
            assert_eq!(streams[*task].is_sound(), was_zeros);
            assert_eq!(streams[*task].lens.len(), file.whole[*task].lens.len());
        }
    }
}

#[test]
fn without_sound_checksums_only_meta2_is_proven() {
    for file in files() {
        let mut bytes = file.bytes.clone();
        bytes[file.table.start] ^= 1;
        assert!(!is_sealed(&bytes));
        for (found, whole) in recover(&bytes).unwrap().iter().zip(&file.whole) {
            assert_eq!(found.recovered.certainty, Certainty::AsFound(Proof::SealedMeta2));
            assert_eq!(found.bytes, whole.bytes);
        }
    }
}

#[test]
fn checksums_are_in_the_order_of_the_file() {
    let orders = files().map(|file| Meta1::parse(&file.bytes, u64::MAX).unwrap().order());
    let orders: Vec<_> = orders.collect();
    assert!([ByteOrder::Little, ByteOrder::Big].iter().all(|order| orders.contains(order)));
}

#[test]
fn an_altered_meta1_proves_nothing_of_a_sealed_file() {
    for file in files() {
        let mut bytes = file.bytes.clone();
        bytes[60] ^= 2; // a letter of the prefix: streams are where they were, but who knows
        let streams = recover(&bytes).unwrap();
        for (found, whole) in streams.iter().zip(&file.whole) {
            let has_room = whole.recovered.certainty != Certainty::AsFound(Proof::NoRoom);
            let is_by_records = matches!(
                found.recovered.certainty,
                Certainty::AsFound(Proof::Records | Proof::RecordsBeforeUnfinished)
            );
            assert!(!has_room || is_by_records || !found.is_sound(), "{:?}", found.recovered);
            assert_eq!(found.bytes, whole.bytes);
        }
    }
}

/// What a search for the seal finds if META2 is not where the commit fields say.
fn search(bytes: &[u8]) -> FoundTrailer {
    let file_len = bytes.len() as u64;
    let head = Head { file_len, meta1: Meta1::parse(bytes, file_len).unwrap(), meta2: None };
    let mut find = FindSeal::new(&head, file_len, crc32c);
    drive_read(&mut find, bytes, &mut [0; 64]).unwrap().unwrap()
}

/// If a commit field is all that has changed since, the seal contradicts it: of META1
/// and META2, what that field leads to must be as sealed.
#[test]
fn a_seal_contradicts_a_commit_field_only_with_the_tables_that_do_not_depend_on_it() {
    for file in files() {
        let meta1 = Meta1::parse(&file.bytes, u64::MAX).unwrap();
        let (fields, letter) = (meta1.layout().commit_fields().offset() as usize, 60);
        // the low bytes of maxchunks and start_of_varheader
        let low = |len: usize| if meta1.order() == ByteOrder::Little { 0 } else { len - 1 };
        let (maxchunks, start) = (fields + low(4), fields + 4 + low(8));
        let verdict = |damaged: &[usize]| {
            let mut bytes = file.bytes.clone();
            damaged.iter().for_each(|&at| bytes[at] ^= 2);
            let found = search(&bytes);
            assert_eq!(found.end().is_some(), matches!(found.verdict(), Verdict::Current(_)));
            *found.verdict()
        };
        let contradicts = |damaged: &[usize]| matches!(verdict(damaged), Verdict::Contradicted(_));
        assert!(matches!(verdict(&[]), Verdict::Current(_)));
        assert_eq!(search(&file.bytes).end(), Some(file.bytes.len() as u64));
        for field in [maxchunks, start] {
            assert!(contradicts(&[field]));
            assert!(!contradicts(&[field, file.meta2.start]));
        }
        assert!(contradicts(&[maxchunks, letter]), "the place of META2 is as sealed");
        assert!(!contradicts(&[start, letter]));
    }
}

/// The trailer as one of version 2, of a file with this number of entries of the mapping.
fn second(file: &Sealed, order: ByteOrder, mapping_size: i32) -> Vec<u8> {
    let (mut bytes, trailer) = (file.bytes.clone(), file.table.end);
    bytes[trailer..trailer + 4].copy_from_slice(I32::new(2, order).as_bytes());
    bytes[trailer + 24..trailer + 28].copy_from_slice(I32::new(mapping_size, order).as_bytes());
    bytes[trailer + 28..trailer + 32].fill(7); // the identity
    let crc = U32::new(crc32c(0, &bytes[trailer..trailer + 44]), order);
    bytes[trailer + 44..trailer + 48].copy_from_slice(crc.as_bytes());
    bytes
}

/// A writer that went on would put the next seal where no reader looks.
#[test]
fn a_seal_of_another_mapping_contradicts_a_file_that_is_as_sealed_but_for_it() {
    let mut sizes = Vec::new();
    for file in files() {
        let Opened::Closed(whole) = Physical::open(&file.bytes[..], &mut [0; 1076]).unwrap() else {
            panic!("the file is closed");
        };
        let (meta1, meta2) = (*whole.meta1(), *whole.meta2());
        let (file_len, trailer) = (file.bytes.len() as u64, file.table.end as u64);
        // Of a file of META2 and a mapping that end there.
        let verdict = |bytes: &[u8], end: u64| {
            let head = Head { file_len, meta1, meta2: Some(meta2) };
            let mut find = FindSeal::new(&head, end, crc32c);
            *drive_read(&mut find, bytes, &mut [0; 64]).unwrap().unwrap().verdict()
        };
        let end = file.meta2.end as u64;
        let size = if end == meta2.end() { -1 } else { 0 };
        sizes.push(size);
        let first = (file.bytes.clone(), SealTrailer::start_of_seal, end as i64);
        let second = second(&file, meta1.order(), size);
        let second = (second, SealTrailerV2::mapping_size, i64::from(size));
        for (bytes, field, value) in [first, second] {
            assert!(matches!(verdict(&bytes, end), Verdict::Current(_)));
            let one_entry = meta2.end() + 12;
            let min = if value == end as i64 { one_entry as i64 } else { 1 };
            let offset = trailer + u64::from(field.offset());
            let error = Error::TooSmall { field, offset, value, min };
            assert_eq!(verdict(&bytes, one_entry), Verdict::Contradicted(error));
            if size == 0 {
                let max = if value == end as i64 { meta2.end() as i64 } else { -1 };
                let error = Error::TooLarge { field, offset, value, max };
                assert_eq!(verdict(&bytes, meta2.end()), Verdict::Contradicted(error));
            }
            for damaged in [60, file.meta2.start] {
                let mut bytes = bytes.clone();
                bytes[damaged] ^= 2;
                assert!(matches!(verdict(&bytes, one_entry), Verdict::Current(_)), "{damaged}");
            }
        }
    }
    println!("{sizes:?}");
    assert!(sizes.contains(&0));
}

#[test]
fn the_table_of_a_damaged_trailer_is_where_meta2_ends() {
    for file in files() {
        let Opened::Closed(whole) = Physical::open(&file.bytes[..], &mut [0; 1076]).unwrap() else {
            panic!("the file is closed");
        };
        let (file_len, end) = (file.bytes.len() as u64, file.meta2.end as u64);
        let head = Head { file_len, meta1: *whole.meta1(), meta2: Some(*whole.meta2()) };
        let span = Span::new(end, file.table.len() as u64).unwrap();
        for at in file.bytes.len() - 64..file.bytes.len() {
            let mut bytes = file.bytes.clone();
            bytes[at] ^= 0x40;
            let mut find = FindSeal::new(&head, end, crc32c);
            let found = drive_read(&mut find, &bytes[..], &mut [0; 64]).unwrap().unwrap();
            let magic = file_len - 16; // before it, the checksum
            match found.verdict() {
                Verdict::Damaged(Error::SealMagic { offset, .. }, _) if at as u64 >= magic => {
                    assert_eq!(*offset, magic);
                }
                Verdict::Damaged(Error::Checksum { offset, .. }, _) if magic > at as u64 => {
                    assert_eq!(*offset, magic - 4);
                }
                other => panic!("{at}: {other:?}"),
            }
            assert_eq!(found.end(), Some(file_len), "{at}");
            let ntasks = head.meta1.layout().ntasks;
            assert_eq!(found.table(&head.meta1), Some((span, ntasks)), "{at}");
        }
    }
}
