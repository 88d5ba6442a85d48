//! How many frames fit, and on which medium the first one does.

use crate::edges_gsd::{Long, created};
use striae_core::gsd::book::Book;
use striae_core::gsd::layout::MAX_NAMES_LEN;
use striae_core::gsd::{Attributes, ChunkType, Logger, Reader, Slot};
use striae_core::integrity::crc32c;
use striae_core::step::DriveError;
use striae_core::store::FixedSize;
use striae_kit::gsd_files::{signed, with};

const ROOM: Attributes<'static> =
    Attributes { align: 512, index_slots: 320, shown_slots: 16, ..Attributes::DEFAULT };

type Failed = DriveError<FixedSize, striae_core::gsd::Error>;

fn log_frame(log: &mut Logger<&mut [u8], 6>, ids: &[u16], len: usize) -> Result<(), Failed> {
    for &id in ids {
        log.chunk(id, ChunkType::U8, 1, &vec![7; len])?;
    }
    log.end_frame().map(drop)
}

/// Logs frames until one does not fit or the index must grow; returns whether it grew.
fn fill(about: &Attributes<'_>, card: &mut [u8], chunks: u16, len: usize) -> bool {
    let mut log = Logger::<_, 6>::open_or_create(card, about).unwrap();
    let ids: Vec<u16> = (0..chunks).map(|id| log.name(&format!("{id}")).unwrap()).collect();
    log.writer().commit().unwrap();
    let bytes = u64::try_from(len).unwrap();
    let mut count = log.frames_left(chunks, bytes).unwrap();
    assert!(count > 3, "{count} {about:?}");
    let index = |log: &mut Logger<&mut [u8], 6>| log.writer().store()[8..16].to_vec();
    let mut first = Vec::new();
    let mut frame = 0;
    while frame < count {
        assert_eq!(log.frames_left(chunks, bytes).unwrap(), count - frame, "{about:?}");
        log_frame(&mut log, &ids, len).unwrap();
        frame += 1;
        if frame == 1 {
            first = index(&mut log); // before it, the header shows the last slots
            // The name of the checksums may have taken less than a sector more.
            let more = frame + log.frames_left(chunks, bytes).unwrap() - count;
            assert!(more == 0 || about.checksums && more <= 1 + 512 / (9 * bytes), "{more}");
            count += more;
        }
        assert_eq!(index(&mut log), first, "frame {frame} of {count}, {about:?}");
    }
    assert_eq!(log.frames_left(chunks, bytes).unwrap(), 0);
    match log_frame(&mut log, &ids, len) {
        Ok(()) => {
            assert_ne!(index(&mut log), first, "{about:?}");
            true
        }
        Err(DriveError::Store(_)) => false,
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn as_many_frames_fit_as_the_log_says() {
    let mut grown = [0, 0];
    for checksums in [false, true] {
        for about in [
            ROOM,
            Attributes { align: 1, ..ROOM },
            Attributes { align: 8, shown_slots: 128, index_slots: 200, ..ROOM },
            Attributes { align: 1, shown_slots: 1, index_slots: 30, ..ROOM },
        ] {
            for (chunks, len, size) in [
                (1, 1, 40_000),
                (3, 4, 60_000),
                (2, 700, 40_000),
                (5, 100, 30_000),
                (1, 1, 1 << 17),
            ] {
                let about = Attributes { checksums, ..about };
                grown[usize::from(fill(&about, &mut vec![0xFF; size], chunks, len))] += 1;
            }
        }
    }
    assert!(grown[0] > 5 && grown[1] > 5, "{grown:?}");
}

/// Frames without chunks take no bytes, and have no checksums.
#[test]
fn frames_without_chunks_fit_where_no_chunk_does() {
    let about = Attributes { checksums: true, ..ROOM };
    let mut card = vec![0xFF; usize::try_from(about.least_len().unwrap()).unwrap()];
    let mut log = Logger::<_, 6>::open_or_create(card.as_mut_slice(), &about).unwrap();
    assert_eq!(log.frames_left(1, 1).unwrap(), 0);
    let count = log.frames_left(0, 0).unwrap();
    assert!(count > 3, "{count}");
    for _ in 0..count {
        log_frame(&mut log, &[], 0).unwrap();
    }
}

/// How many frames fit after a list of `names_len` bytes in `units` of 64, in a file of `file_len`
/// bytes. The header shows the list, so that the name of the checksums makes another.
fn left_after_names(names_len: u64, units: u64, file_len: u64) -> u64 {
    let about = Attributes { checksums: true, ..ROOM };
    let file = created(&about).into_store().0;
    let location = 1_u64 << 14;
    let file = with(&file, 24, &[location.to_le_bytes(), units.to_le_bytes()].concat());
    let file = with(&file, 200, &(location + 64 * units).to_le_bytes());
    let file = with(&file, 228, &u32::try_from(names_len).unwrap().to_le_bytes());
    let file = signed(with(&file, 232, &1_u32.to_le_bytes()));
    let head = *Reader::open(&Long(file, file_len), &mut [0; 256]).unwrap().head();
    Book::new(&head, [Slot::EMPTY; 6], crc32c).unwrap().frames_left(1, 4, file_len)
}

#[test]
fn as_many_frames_fit_after_2_gib_of_names_as_a_log_says() {
    let most = MAX_NAMES_LEN / 64;
    // 14 bytes of the name of the checksums fit exactly; and a list doubles to no more than fits.
    for (names_len, units) in [(MAX_NAMES_LEN - 14, most), ((1 << 30) + 64, (1 << 24) + 1)] {
        let end = (1_u64 << 14) + (64 * units).next_multiple_of(512) + MAX_NAMES_LEN;
        let first = end.next_multiple_of(512) + 512;
        for left in 0..3 {
            let file_len = first + left * 1024 - 512 + 16;
            assert_eq!(left_after_names(names_len, units, file_len), left);
            assert_eq!(left_after_names(names_len, units, file_len - 1), left.saturating_sub(1));
        }
    }
}

/// The bytes of the smallest card on which a name and a chunk of four bytes can be logged.
fn smallest(about: &Attributes<'_>) -> usize {
    let first = usize::try_from(about.least_len().unwrap()).unwrap();
    let fits = |len: &usize| {
        let mut card = vec![0xFF; *len];
        let log = Logger::<_, 6>::open_or_create(card.as_mut_slice(), about);
        let Ok(mut log) = log else { return false };
        log.name("t").is_ok_and(|id| log_frame(&mut log, &[id], 4).is_ok())
    };
    assert!(!fits(&(first - 512)));
    (first..1 << 16).step_by(512).find(fits).unwrap()
}

/// `core/README.md` says these numbers.
#[test]
fn the_smallest_medium_is_as_documented() {
    let small =
        Attributes { index_slots: 16, shown_slots: 1, names_len: 64, ..Attributes::DEFAULT };
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let said = text.split("The smallest medium for a `Logger` has ").nth(1).unwrap();
    let mut numbers = said
        .split_whitespace()
        .filter(|word| word.starts_with(|first: char| first.is_ascii_digit()));
    for about in [Attributes::DEFAULT, small] {
        let number = numbers.next().unwrap().replace(',', "");
        assert_eq!(number, smallest(&about).to_string());
    }
}
