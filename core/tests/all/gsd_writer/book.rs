//! A Book gives places away before the bytes are there, and whoever writes them, in whatever order,
//! the file has them.

use super::{Disk, Failing, chunks, failing};
use std::cell::Cell;
use std::rc::Rc;
use striae_core::gsd::book::Book;
use striae_core::gsd::raw::{IndexEntry, Shadow};
use striae_core::gsd::{Attributes, Checksums, Chunk, ChunkType, Error, Reader, Slot, Writer};
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt};

const SLOTS: usize = 8;

/// A file with names 0 to 4, and its Book.
fn begun(about: &Attributes<'_>) -> (Disk, Book<[Slot; SLOTS]>) {
    let mut writer = Writer::create(Disk::new(Vec::new()), about, [Slot::EMPTY; SLOTS]).unwrap();
    for name in [b"a", b"b", b"c", b"d", b"e"] {
        writer.name(name).unwrap();
    }
    writer.close().unwrap();
    let mut disk = writer.into_store();
    let head = *Reader::open(&disk, &mut [0; 256]).unwrap().head();
    let mut book = Book::new(&head, [Slot::EMPTY; SLOTS], crc32c).unwrap();
    book.begin(&mut disk).unwrap();
    assert!(!book.is_ready(), "what was found is not durable yet");
    assert_eq!(book.place(0, ChunkType::U8, 1, 1), Err(Error::NotReady));
    book.make_ready(&mut disk).unwrap();
    assert!(book.is_ready());
    (disk, book)
}

/// Bytes of a chunk.
fn bytes(chunk: &Chunk) -> Vec<u8> {
    (0..chunk.span.len()).map(|at| (at as u8).wrapping_mul(7) ^ chunk.id as u8).collect()
}

/// The chunk as it is to be read.
fn read(chunk: &Chunk) -> super::Chunk {
    let name = vec![b'a' + chunk.id as u8];
    (chunk.frame, name, chunk.kind, chunk.n, chunk.m, bytes(chunk))
}

fn all_kinds() -> impl Iterator<Item = Attributes<'static>> {
    let flags = (0..16).map(|flags: u32| [1, 2, 4, 8].map(|bit| flags & bit != 0));
    flags.map(|[checksums, one_sync, is_aligned, is_small]| Attributes {
        checksums,
        one_sync,
        align: if is_aligned { 512 } else { 1 },
        index_slots: if is_small { 1 } else { 128 },
        ..Attributes::default()
    })
}

#[test]
fn a_chunk_that_no_file_can_hold_has_no_place() {
    let (disk, mut book) = begun(&Attributes::default());
    let data_end = book.data_end();
    for n in [u64::MAX / 2, u64::MAX] {
        assert_eq!(
            book.place(0, ChunkType::U8, n, 1),
            Err(Error::FileFull { data_end, len: n }),
            "offsets of GSD are less than 2^63"
        );
    }
    let place = book.place(0, ChunkType::U8, 8, 1).unwrap();
    assert_eq!(place.span.offset(), data_end, "nothing was given away");
    assert_eq!(disk.bytes.len() as u64, data_end);
}

/// Frames without chunks get empty entries in the index when a later frame has a chunk.
#[test]
fn a_frame_after_more_than_2_to_the_20_without_entries_gets_no_chunk() {
    const MOST: u64 = 1 << 20;
    let (mut disk, mut book) = begun(&Attributes::default());
    (0..MOST).for_each(|_| book.end_frame(&mut disk).unwrap());
    assert!(book.place(0, ChunkType::U8, 1, 1).is_ok());
    book.end_frame(&mut disk).unwrap();
    let refused = book.place(0, ChunkType::U8, 1, 1).unwrap_err();
    let Error::OutOfRange { field, value, min: 0, max: MOST } = refused else {
        panic!("{refused}")
    };
    assert_eq!((field, value), (IndexEntry::frame, MOST + 1));
}

#[test]
fn checksums_are_rows_that_end_with_the_own_one_or_none() {
    let (mut disk, mut book) = begun(&Attributes { checksums: true, ..Attributes::default() });
    let data = book.place(0, ChunkType::U8, 8, 1).unwrap();
    disk.write_all_at(data.span.offset(), &bytes(&data)).unwrap();
    book.add(data, crc32c(0, &bytes(&data))).unwrap();
    book.end_frame(&mut disk).unwrap();
    book.commit(&mut disk).unwrap();
    let file = Reader::open(&disk, &mut [0; 256]).unwrap();
    let own = file.chunks([0; 512]).map(Result::unwrap).find(|chunk| chunk.id != data.id).unwrap();
    let rows = &disk.bytes[own.span.offset() as usize..][..own.span.len() as usize];
    let none = |id| Some(Error::NoChecksums { frame: 0, id });
    let parse = |chunk, bytes| Checksums::parse(chunk, bytes, crc32c).err();
    for wrong in [&rows[..0], &rows[..4], &rows[..rows.len() - 1]] {
        assert_eq!(parse(own, wrong), none(own.id), "{} bytes", wrong.len());
    }
    assert_eq!(parse(Chunk { m: 1, ..own }, rows), none(own.id));
    assert_eq!(parse(Chunk { kind: ChunkType::I32, ..own }, rows), none(own.id));
    let sums = Checksums::parse(own, rows, crc32c).unwrap();
    let crc = crc32c(0, &bytes(&data));
    assert_eq!(sums.check(&data, crc, crc32c), Ok(()));
    assert_eq!(sums.check(&Chunk { id: 3, ..data }, crc, crc32c).err(), none(3));
}

#[test]
fn chunks_of_which_the_places_are_given_away_are_read_in_whatever_order_they_are_written() {
    for about in all_kinds() {
        let (mut disk, mut book) = begun(&about);
        let mut expected = Vec::new();
        for frame in 0..20_u64 {
            let ids = [4, 0, 3, 1];
            let mut placed = ids.map(|id| {
                if !book.is_ready() {
                    book.make_ready(&mut disk).unwrap();
                }
                book.place(id, ChunkType::U16, 3 + frame, 2).unwrap()
            });
            let mut spans = placed.map(|chunk| chunk.span);
            spans.sort_by_key(|span| span.offset());
            assert!(spans.windows(2).all(|two| two[0].end() <= two[1].offset()));
            placed.rotate_left(frame as usize % 4);
            for chunk in placed {
                let all = bytes(&chunk);
                for row in (0..chunk.n).rev() {
                    let span = chunk.rows(row..row + 1).unwrap();
                    let start = (span.offset() - chunk.span.offset()) as usize;
                    disk.write_all_at(span.offset(), &all[start..][..span.len() as usize]).unwrap();
                }
                book.add(chunk, crc32c(0, &all)).unwrap();
                assert!(matches!(book.add(chunk, 0), Err(Error::Duplicate { .. })));
            }
            book.end_frame(&mut disk).unwrap();
            expected.extend(placed);
            if frame % 3 == 2 {
                book.commit(&mut disk).unwrap();
            }
        }
        book.commit(&mut disk).unwrap();
        assert!(book.is_committed());
        expected.sort_by_key(|chunk: &Chunk| (chunk.frame, chunk.id));
        let expected: Vec<_> = expected.iter().map(read).collect();
        assert_eq!(chunks(&disk.bytes), expected, "{about:?}");
    }
}

#[test]
fn a_writer_whose_bytes_others_write_makes_the_same_file() {
    for about in all_kinds().filter(|about| !about.one_sync) {
        let files = [false, true].map(|gives_away| {
            let disk = Disk::new(Vec::new());
            let mut writer = Writer::create(disk, &about, [Slot::EMPTY; SLOTS]).unwrap();
            let mut others = Vec::new();
            for frame in 0..9_u8 {
                for name in [b"a", b"b", b"c"] {
                    let (id, kind) = (writer.name(name).unwrap(), ChunkType::F32);
                    let bytes = vec![name[0] ^ frame; 12 * usize::from(frame)];
                    if gives_away {
                        let placed = writer.place_chunk(id, kind, frame.into(), 3).unwrap();
                        writer.add_placed(placed, crc32c(0, &bytes)).unwrap();
                        others.push((placed.span.offset(), bytes));
                    } else {
                        writer.write_chunk(id, kind, 3, &bytes).unwrap();
                    }
                }
                writer.end_frame().unwrap();
                if frame % 4 == 3 {
                    writer.commit().unwrap();
                }
            }
            writer.close().unwrap();
            let mut disk = writer.into_store();
            for (offset, bytes) in others {
                disk.write_all_at(offset, &bytes).unwrap();
            }
            disk.bytes
        });
        assert!(files[0] == files[1], "{about:?}");
        assert_eq!(chunks(&files[1]).len(), 27, "{about:?}");
    }
}

/// Also if the chunks after it are of the kind that needs few checks.
#[test]
fn a_place_has_its_memory_whatever_is_written_before_its_bytes() {
    let about = Attributes::default();
    let mut writer = Writer::create(Disk::new(Vec::new()), &about, [Slot::EMPTY; 3]).unwrap();
    let ids = [b"a", b"b", b"c", b"d"].map(|name| writer.name(name).unwrap());
    writer.commit().unwrap();
    let placed = writer.place_chunk(ids[0], ChunkType::U8, 5, 1).unwrap();
    writer.write_chunk(ids[1], ChunkType::U8, 1, b"one").unwrap();
    writer.write_chunk(ids[2], ChunkType::U8, 1, b"two").unwrap();
    let full = DriveError::Format(Error::FrameFull { frame: 0, chunks: 2 });
    assert_eq!(writer.write_chunk(ids[3], ChunkType::U8, 1, b"three"), Err(full));
    writer.add_placed(placed, 0).unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let mut disk = writer.into_store();
    disk.write_all_at(placed.span.offset(), b"bytes").unwrap();
    let found: Vec<_> = chunks(&disk.bytes).into_iter().map(|chunk| chunk.5).collect();
    assert_eq!(found, [&b"bytes"[..], b"one", b"two"]);
}

#[test]
fn a_place_that_nobody_uses_costs_no_other_chunk() {
    for about in all_kinds() {
        for used in 0..8_u32 {
            let (mut disk, mut book) = begun(&about);
            let placed = [0, 1, 2].map(|id| book.place(id, ChunkType::U8, 700, 1).unwrap());
            let is_used = |chunk: &&Chunk| used & 1 << chunk.id != 0;
            for chunk in placed.iter().filter(is_used) {
                disk.write_all_at(chunk.span.offset(), &bytes(chunk)).unwrap();
                book.add(*chunk, crc32c(0, &bytes(chunk))).unwrap();
            }
            book.end_frame(&mut disk).unwrap();
            book.commit(&mut disk).unwrap();
            if used > 0 {
                assert!(disk.size().unwrap() >= book.data_end(), "a record speaks of all of it");
            }
            let expected: Vec<_> = placed.iter().filter(is_used).map(read).collect();
            assert_eq!(chunks(&disk.bytes), expected, "{about:?}");
        }
    }
}

#[test]
fn a_chunk_is_added_once_and_to_the_frame_that_it_was_placed_in() {
    for about in all_kinds() {
        let (mut disk, mut book) = begun(&about);
        let chunk = book.place(0, ChunkType::U8, 10, 1).unwrap();
        let elsewhere = Chunk { span: chunk.rows(1..10).unwrap(), n: 9, ..chunk };
        assert_eq!(book.add(elsewhere, 0), Ok(()), "fewer rows are in the place, too");
        assert!(matches!(book.add(chunk, 0), Err(Error::Duplicate { .. })));
        let second = Chunk { id: 1, ..chunk };
        assert!(matches!(book.add(second, 0), Err(Error::Outside { .. })), "one place, one chunk");
        let file_len = book.data_end();
        let far = Span::new(file_len, 1).unwrap();
        let far = Chunk { span: far, n: 1, id: 2, ..chunk };
        assert!(matches!(book.add(far, 0), Err(Error::Outside { .. })));
        book.end_frame(&mut disk).unwrap();
        assert!(matches!(book.add(chunk, 0), Err(Error::Outside { .. })), "of the frame before");

        let first = book.place(0, ChunkType::U8, 10, 1).unwrap();
        book.discard_frame();
        let again = book.place(0, ChunkType::U8, 10, 1).unwrap();
        assert_eq!(first, again, "what was given up takes no room");
    }
}

#[test]
fn a_chunk_is_within_what_the_current_frame_was_given() {
    for about in all_kinds() {
        let (mut disk, mut book) = begun(&about);
        book.place(0, ChunkType::U8, 10, 1).unwrap();
        book.end_frame(&mut disk).unwrap(); // nobody used it
        let from = book.data_end();
        let chunk = book.place(1, ChunkType::U8, 10, 1).unwrap();
        book.place(2, ChunkType::U8, 10, 1).unwrap();
        let end = book.data_end();
        for (offset, len) in
            [(from - 1, 10), (from - 10, 10), (end - 9, 10), (end, 1), (end + 1, 0)]
        {
            let elsewhere = Chunk { span: Span::new(offset, len).unwrap(), n: len, ..chunk };
            let error = book.add(elsewhere, 0);
            let Err(Error::Outside { start, len: said, file_len, .. }) = error else {
                panic!("{offset}, {len}: {error:?}");
            };
            assert_eq!((start, said, file_len), (offset, len, end));
        }
        for frame in [chunk.frame - 1, chunk.frame + 1] {
            let other = Chunk { frame, ..chunk };
            assert!(matches!(book.add(other, 0), Err(Error::Outside { .. })), "frame {frame}");
        }
        assert_eq!(book.add(chunk, 0), Ok(()), "nothing was used up");
    }
}

/// Of a memory that no frame can fill, 64 KiB are for copies.
#[test]
fn a_long_index_is_moved_in_long_pieces() {
    let (frames, moved) = (5000, 4000 * 32);
    let least = (1 << 16) + (64_usize << 10).div_ceil(size_of::<Slot>());
    for (slots, piece) in [(least, 64 << 10), (least - 1, moved)] {
        let about = Attributes { index_slots: 4096, ..Attributes::DEFAULT };
        let mut writer =
            Writer::create(Disk::new(Vec::new()), &about, vec![Slot::EMPTY; slots]).unwrap();
        let id = writer.name(b"a").unwrap();
        for frame in 0..frames {
            writer.write_chunk(id, ChunkType::U8, 1, &[]).unwrap();
            writer.end_frame().unwrap();
            if frame % 2000 == 1999 {
                writer.commit().unwrap();
            }
        }
        writer.commit().unwrap();
        assert_eq!(chunks(&writer.store().bytes).len(), frames);
        assert_eq!(writer.store().longest.get(), piece, "{slots}");
    }
}

/// Of less memory, all is for chunks: "a slot for each chunk, and one more with checksums."
#[test]
fn a_frame_has_as_many_chunks_as_there_are_slots() {
    for (slots, checksums) in [(2, false), (2, true), (2049, true), (4095, false), (4095, true)] {
        let (about, own) =
            (Attributes { checksums, ..Attributes::DEFAULT }, usize::from(checksums));
        let memory = vec![Slot::EMPTY; slots + own];
        let mut writer = Writer::create(Disk::new(Vec::new()), &about, memory).unwrap();
        for number in 0..slots {
            let id = writer.name(format!("{number}").as_bytes()).unwrap();
            writer.write_chunk(id, ChunkType::U8, 1, &[7]).unwrap();
        }
        writer.end_frame().unwrap();
        writer.commit().unwrap();
        let file = Reader::open(&writer.store().bytes[..], &mut [0; 256]).unwrap();
        assert_eq!(file.head().frames, 1);
        assert_eq!(file.chunks([0; 4096]).filter(Result::is_ok).count(), slots + own);
    }
}

/// Does all work of some frames, each again that failed; then an upgrade or a truncation.
fn program(about: &Attributes<'_>, mut store: Failing, truncates: bool) -> Disk {
    macro_rules! until_done {
        ($book:ident.$call:ident($($arg:expr),*), $store:ident) => {
            match $book.$call($($arg,)* &mut $store) {
                Ok(done) => done,
                Err(_) => $book.$call($($arg,)* &mut $store).unwrap(),
            }
        };
    }
    let head = *Reader::open(&store.disk, &mut [0; 256]).unwrap().head();
    let mut book = Book::new(&head, [Slot::EMPTY; SLOTS], crc32c).unwrap();
    until_done!(book.begin(), store);
    for frame in 0..9_u8 {
        until_done!(book.add_name(&[b'f', frame + 1]), store);
        until_done!(book.make_ready(), store);
        let chunk = book.place(frame.into(), ChunkType::U8, 40, 1).unwrap();
        store.disk.write_all_at(chunk.span.offset(), &bytes(&chunk)).unwrap();
        book.add(chunk, crc32c(0, &bytes(&chunk))).unwrap();
        until_done!(book.end_frame(), store);
        if frame % 2 == 0 {
            until_done!(book.commit(), store);
        }
    }
    until_done!(book.commit(), store);
    match truncates {
        true => until_done!(book.truncate(), store),
        false => until_done!(book.upgrade(), store),
    }
    assert_eq!(about.layer == super::OLD && truncates, book.version() == super::OLD);
    store.disk
}

#[test]
fn work_that_failed_anywhere_is_all_done_when_it_is_run_again() {
    for (old, one_sync) in [(false, false), (false, true), (true, false)] {
        for truncates in [false, true] {
            let layer = if old { super::OLD } else { Attributes::default().layer };
            let about = Attributes { layer, one_sync, index_slots: 1, ..Attributes::default() };
            let disk = || {
                let disk = Disk::new(Vec::new());
                Writer::create(disk, &about, [Slot::EMPTY; SLOTS]).unwrap().into_store()
            };
            let run = |fuel: &Rc<Cell<_>>, kept| {
                chunks(&program(&about, failing(disk(), fuel, kept), truncates).bytes)
            };
            let fuel = Rc::new(Cell::new(usize::MAX));
            let expected = run(&fuel, 0);
            let whole = usize::MAX - fuel.get();
            assert_eq!(expected.is_empty(), truncates);
            for (fuel, kept) in (0..whole).flat_map(|fuel| [0, 1, 2].map(|kept| (fuel, kept))) {
                let found = run(&Rc::new(Cell::new(fuel)), kept);
                assert!(found == expected, "{about:?}, operation {fuel}, {kept} halves");
            }
        }
    }
}

/// Its bytes may have come after a sync that covered their place.
#[test]
fn a_commit_takes_one_sync_only_if_the_book_has_seen_all_bytes() {
    let about = Attributes { one_sync: true, ..Attributes::default() };
    let (mut disk, mut book) = begun(&about);
    let proves = |disk: &Disk| {
        let shadows = [512, 768].map(|at| Shadow::parse(&disk.bytes[at..at + 256]).unwrap());
        let last = shadows.into_iter().max_by_key(|shadow| shadow.new.commit.sequence.get());
        last.unwrap().added_crc.get() != 0
    };
    for frame in 0..4 {
        let chunk = book.place(0, ChunkType::U8, 600, 1).unwrap();
        if frame % 2 == 1 {
            book.commit(&mut disk).unwrap(); // of the frame before
        }
        disk.write_all_at(chunk.span.offset(), &bytes(&chunk)).unwrap();
        book.add(chunk, 0).unwrap();
        book.end_frame(&mut disk).unwrap();
        if frame % 2 == 1 {
            book.commit(&mut disk).unwrap();
            assert!(!proves(&disk), "frame {frame}: nobody summed up these bytes");
        }
    }
}
