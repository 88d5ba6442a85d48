//! What callers get at the edges: the words of errors that few files lead to, machines that are fed
//! after their end, windows without room, layouts of numbers that no file has.

use crate::edges_gsd::held;
use embedded_io::{Error as _, ErrorKind};
use std::error::Error as _;
use striae_core::align::{self, Alignment, Rules, Run};
use striae_core::endian::{ByteOrder, I32};
use striae_core::gsd::ChunkType;
use striae_core::gsd::fixed::Fault as LogFault;
use striae_core::sion::{Meta1, VarheaderShape};
use striae_core::source::{Fault, Miss};
use striae_core::span::Span;
use striae_core::step::{DriveError, ReadMachine, ReadStep, drive_read};
use striae_core::store::{BlockStoreError, FixedSize, SeekStoreError};
use striae_core::{blob, cdf, ffrecord, gsd, hdf5, sion};
use striae_kit::{golden_sets, gsd_files};

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(golden_sets::golden_dir().join("..").join(name)).unwrap()
}

#[test]
fn an_error_of_a_request_says_what_was_asked_and_what_can_be() {
    let told = |error: align::Error| error.to_string();
    let odd = Rules::new(Alignment::of(3), 1).unwrap_err();
    assert_eq!(told(odd), "an alignment of 3 bytes, must be a power of two of at most 1073741824");
    let long = Rules::new(Alignment::NONE, u64::MAX).unwrap_err();
    let text = "a file of 18446744073709551615 bytes, can be 9223372036854775807 at most";
    assert_eq!(told(long), text);
    let rules = Rules::new(Alignment::of(512), 4096).unwrap();
    let spans = [Span::new(0, 1).unwrap(), Span::new(2048, 1).unwrap()];
    let few = align::Plan::new(&spans, rules, &mut [Run::EMPTY; 1]).unwrap_err();
    assert_eq!(told(few), "memory for 1 runs, must be for 2");
}

#[test]
fn what_stops_a_machine_says_why_and_of_which_kind_it_is() {
    type Stopped = DriveError<FixedSize, gsd::Error>;
    let no_frame = gsd::Error::NoFrame { frame: 5, frames: 2 };
    let store = FixedSize { len: 3, wanted: 9 };
    let cases: [(Stopped, &str, ErrorKind); 4] = [
        (
            DriveError::Store(store),
            "a slice of 3 bytes cannot become one of 9",
            ErrorKind::OutOfMemory,
        ),
        (DriveError::Format(no_frame), &no_frame.to_string(), ErrorKind::InvalidData),
        (
            DriveError::Ended { offset: 7 },
            "the file ended at offset 7 while it was read",
            ErrorKind::InvalidData,
        ),
        (
            DriveError::BufferTooSmall { need: 8 },
            "the buffer is too small, must be at least 8 bytes",
            ErrorKind::OutOfMemory,
        ),
    ];
    for (error, text, kind) in cases {
        assert_eq!((error.to_string().as_str(), error.kind()), (text, kind));
        assert!(error.source().is_none());
        let other = error
            .map_format(|error| ffrecord::Error::Cut { file_len: error.to_string().len() as u64 });
        match (error, other) {
            (DriveError::Format(_), DriveError::Format(ffrecord::Error::Cut { .. }))
            | (DriveError::Store(_), DriveError::Store(_))
            | (DriveError::Ended { offset: 7 }, DriveError::Ended { offset: 7 })
            | (DriveError::BufferTooSmall { .. }, DriveError::BufferTooSmall { need: 8 }) => {}
            pair => panic!("{pair:?}"),
        }
    }
}

#[test]
fn what_a_parser_lacks_is_said() {
    let cases = [
        (Miss::Read { offset: 5, need: 3, want: 3 }, "3 bytes at offset 5 are not in memory"),
        (Miss::Ended { offset: 5, len: 3 }, "3 bytes at offset 5 are not in the file"),
        (Miss::Page { len: 9 }, "a page is too small, must be at least 9 bytes"),
        (Miss::Pages, "the pages are too few"),
        (Miss::Reads, "more reads are needed than are allowed"),
    ];
    for (miss, text) in cases {
        let fault: Fault<hdf5::Error> = miss.into();
        assert_eq!((miss.to_string().as_str(), fault.to_string().as_str()), (text, text));
        assert!(fault.source().is_none());
    }
}

#[test]
fn an_error_of_a_device_is_told_as_its_own() {
    let device = FixedSize { len: 3, wanted: 9 };
    let block = BlockStoreError::Device(device);
    let seek = SeekStoreError::Device(device);
    assert_eq!((block.to_string(), seek.to_string()), (device.to_string(), device.to_string()));
    assert_eq!((block.kind(), seek.kind()), (ErrorKind::OutOfMemory, ErrorKind::OutOfMemory));
    assert!(block.source().is_none() && seek.source().is_none());

    type Block = BlockStoreError<FixedSize>;
    type Seek = SeekStoreError<FixedSize>;
    let (busy, is_used) = (Block::Busy, Seek::Busy);
    assert_eq!((busy.kind(), is_used.kind()), (ErrorKind::Other, ErrorKind::Other));
    assert_eq!(busy.to_string(), "the store is in use");
    assert_eq!(is_used.to_string(), "the device is in use");
    let no_cache = Block::NoCache;
    assert_eq!(no_cache.to_string(), "the cache has no block, must have at least one");
    assert_eq!(no_cache.kind(), ErrorKind::InvalidInput);
    assert!(busy.source().is_none() && is_used.source().is_none());
}

/// Drives a machine to its end, and feeds it once more.
pub(super) fn fed_after_its_end<M>(mut machine: M, file: &[u8])
where
    M: ReadMachine<Output: Copy + PartialEq + std::fmt::Debug, Error: std::fmt::Debug>,
{
    let done = drive_read(&mut machine, file, &mut vec![0; 1 << 16]).unwrap();
    machine.feed(&[0xff; 64]).unwrap();
    assert_eq!(machine.poll(), ReadStep::Done(done));
}

#[test]
fn a_machine_that_is_done_stays_so_whatever_it_is_fed() {
    let file = golden("sion/s01_one_task.sion");
    fed_after_its_end(sion::open::Open::new(file.len() as u64), &file);

    let file = gsd_files::golden_file("v21_sparse_chunks");
    let reader = gsd::Reader::open(&file[..], &mut [0; 512]).unwrap();
    for (frame, id) in [(0, 0), (1, 0), (99, 0)] {
        fed_after_its_end(gsd::find::Find::new(reader.head(), frame, id, 4), &file);
    }
}

#[test]
fn layouts_have_no_place_for_what_no_file_holds() {
    let attributes = sion::Attributes { fsblksize: 512, ..sion::Attributes::default() };
    let meta1 = Meta1::new(&attributes, 1000).unwrap();
    let layout = meta1.layout();
    let last = i64::MAX as u64;
    assert_eq!(layout.blocksizes(u64::MAX - 8, 1), None);
    assert_eq!(layout.stored_chunksize(u64::MAX), Some(u64::MAX));
    let shape = VarheaderShape::new(layout, 1, 0, true).unwrap();
    assert!(shape.behind(u64::MAX).is_none() && shape.behind(last - 512).is_none());
    assert!(VarheaderShape::new(layout, 1, u64::MAX, true).unwrap().at(1 << 20).is_none());
    let varheader = shape.behind(1 << 20).unwrap();
    assert_eq!(varheader.with_set_number(1 << 31), None);
    assert_eq!(varheader.with_set_number(7).map(|it| it.set_number()), Some(7));

    let share = |nreqs| blob::Share { nreqs, start: 0, count: 0 };
    assert_eq!(share(u64::MAX).map_len(), None);
    assert_eq!(share(2).map_len(), Some(20 + 2 * 8));
    assert_eq!(share(2).parts(u64::MAX - 3), None);
    let parts = share(2).parts(100).unwrap();
    assert_eq!(
        parts.map(|it| (it.offset(), it.len())),
        [(100, 4), (104, 8), (112, 8), (120, 8), (128, 8)]
    );
    assert_eq!(share(u64::MAX >> 3).requests(1 << 62), None);
    assert_eq!(share(1 << 60).requests(u64::MAX - (1 << 62) - 20), None);
}

#[test]
fn a_window_without_room_for_an_entry_is_refused_and_ends_the_list() {
    let file = gsd_files::golden_file("v21_sparse_chunks");
    let reader = gsd::Reader::open(&file[..], &mut [0; 512]).unwrap();
    let refused = reader.chunks([0; 31]).next().unwrap().unwrap_err();
    assert_eq!(refused, DriveError::BufferTooSmall { need: 32 });

    let dir = golden_sets::golden_dir().join("../ffrecord");
    let mut count = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let Ok(reader) = ffrecord::Reader::open(&bytes[..], &mut [0; 12]) else { continue };
        if reader.head().layout.n() == 0 {
            continue;
        }
        if reader.sample(0, &mut [0; 16]).is_ok() {
            fed_after_its_end(ffrecord::find::Find::new(reader.head(), 0).unwrap(), &bytes);
        }
        let mut samples = reader.samples(0..1, [0; 8]);
        assert_eq!(samples.number(), 0);
        let need = ffrecord::Samples::<&[u8], [u8; 8]>::WINDOW;
        assert_eq!(samples.next().unwrap(), Err(DriveError::BufferTooSmall { need }));
        assert!(samples.next().is_none(), "a list that failed has ended");
        assert_eq!((reader.store().len(), reader.into_store().len()), (bytes.len(), bytes.len()));
        count += 1;
    }
    assert!(count > 2, "{count}");
}

#[test]
fn a_stored_integer_is_shown_as_its_bytes_and_a_party_by_its_name() {
    let stored = I32::new(-2, ByteOrder::Big);
    assert_eq!(format!("{stored:?}"), "I32([ff, ff, ff, fe])");
    let rows = gsd::Error::ROWS.iter().chain(cdf::Error::ROWS);
    for row in rows {
        let padded = format!("{:>9}", row.party);
        assert!(["file", "caller", "capacity"].contains(&padded.trim()), "{padded}");
        assert_eq!(padded.len(), 9);
    }
}

#[test]
fn a_value_has_words_for_each_of_its_cases() {
    use sion::KeyvalMode;
    let modes = [KeyvalMode::None, KeyvalMode::Inline].into_iter();
    let modes = modes.chain([52, 53, 54].map(KeyvalMode::Other)).map(|mode| mode.to_string());
    assert!(modes.eq(["none", "inline", "meta", "hash", "unknown (54)"]));
    use gsd::Basis;
    let bases = [
        (Basis::Plain, "no commit record"),
        (Basis::Appended, "appended to by gsd"),
        (Basis::Committed(3), "commit 3"),
        (Basis::Torn(3), "commit 3, cut off while it was published"),
        (Basis::Ahead(3), "commit 3, ahead of the header"),
        (Basis::Damaged, "commit record damaged"),
    ];
    for (basis, text) in bases {
        assert_eq!(basis.to_string(), text);
    }
    let values = cdf::Values::text(b"");
    assert!(values.is_empty() && !cdf::Values::text(b"x").is_empty());
}

#[test]
fn a_reader_gives_back_the_store_that_it_was_given() {
    let file = gsd_files::golden_file("v21_sparse_chunks");
    let reader = gsd::Reader::open(&file[..], &mut [0; 512]).unwrap();
    assert_eq!(reader.into_store(), &file[..]);

    let file = golden("hdf5/superblock0.h5");
    let mut memory = vec![0; 1 << 16];
    let reader = hdf5::Reader::open(&file[..], &mut memory).unwrap();
    assert_eq!(*reader.store(), &file[..]);
}

#[test]
fn a_task_that_a_file_does_not_have_is_not_looked_for() {
    let file = golden("sion/s01_one_task.sion");
    let head = drive_read(&mut sion::open::Open::new(file.len() as u64), &file[..], &mut [0; 4096]);
    let none = sion::locate::Locate::new(&head.unwrap(), 1).unwrap_err();
    assert_eq!(none, sion::Error::NoTask { task: 1, ntasks: 1 });
}

#[test]
fn a_chunk_or_a_name_that_a_log_cannot_have_is_refused_and_costs_nothing() {
    let refused = |fault| Err(DriveError::Format(fault));
    let mut card = vec![0xFF; 1 << 15];
    let shape = gsd::Shape::new(&gsd::Attributes::DEFAULT, ["a", "b"]).unwrap();
    let mut log = gsd::FixedLogger::open_or_create(card.as_mut_slice(), &shape).unwrap();
    log.chunk(0, ChunkType::U8, 1, b"first").unwrap();
    assert_eq!(log.chunk(0, ChunkType::U8, 1, b"again"), refused(LogFault::Duplicate));
    log.chunk(1, ChunkType::U8, 1, b"other").unwrap();
    assert_eq!(log.end_frame(), Ok(0));
    log.chunk(0, ChunkType::U8, 1, b"next").unwrap();
    assert_eq!(log.end_frame(), Ok(1));
    let [first, other, next] = [&b"first"[..], b"other", b"next"].map(<[u8]>::to_vec);
    assert_eq!(held(&card), [(0, 0, first), (0, 1, other), (1, 0, next)]);

    card.fill(0xFF);
    let shape = gsd::Shape::new(&gsd::Attributes::DEFAULT, []).unwrap();
    let mut log = gsd::OwnLogger::<_, 2>::open_or_create(card.as_mut_slice(), &shape).unwrap();
    for name in ["", "\0", "a\0b"] {
        assert_eq!(log.name(name), Err(DriveError::Format(LogFault::BadName)), "{name:?}");
    }
    assert_eq!((log.names(), log.name("a"), log.names()), (0, Ok(0), 1));
}
