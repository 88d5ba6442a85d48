//! A Book gives places away before the bytes are there, and whoever writes them, in whatever order, the
//! file has them.

use super::{Disk, chunks};
use striae_core::gsd::book::Book;
use striae_core::gsd::{Attributes, Chunk, ChunkType, Error, Reader, Slot, Writer};
use striae_core::integrity::crc32c;
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
    book.begin().run(&mut disk).unwrap();
    assert!(!book.is_ready(), "what was found is not durable yet");
    assert_eq!(book.place(0, ChunkType::U8, 1, 1), Err(Error::NotReady));
    book.make_ready().run(&mut disk).unwrap();
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
fn chunks_of_which_the_places_are_given_away_are_read_in_whatever_order_they_are_written() {
    for about in all_kinds() {
        let (mut disk, mut book) = begun(&about);
        let mut expected = Vec::new();
        for frame in 0..20_u64 {
            let ids = [4, 0, 3, 1];
            let mut placed = ids.map(|id| {
                if !book.is_ready() {
                    book.make_ready().run(&mut disk).unwrap();
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
            book.end_frame().run(&mut disk).unwrap();
            expected.extend(placed);
            if frame % 3 == 2 {
                book.commit().run(&mut disk).unwrap();
            }
        }
        book.commit().run(&mut disk).unwrap();
        assert!(book.is_committed());
        expected.sort_by_key(|chunk: &Chunk| (chunk.frame, chunk.id));
        let expected: Vec<_> = expected.iter().map(read).collect();
        assert_eq!(chunks(&disk.bytes), expected, "{about:?}");
    }
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
            book.end_frame().run(&mut disk).unwrap();
            book.commit().run(&mut disk).unwrap();
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
        let far = striae_core::span::Span::new(file_len, 1).unwrap();
        let far = Chunk { span: far, n: 1, id: 2, ..chunk };
        assert!(matches!(book.add(far, 0), Err(Error::Outside { .. })));
        book.end_frame().run(&mut disk).unwrap();
        assert!(matches!(book.add(chunk, 0), Err(Error::Outside { .. })), "of the frame before");

        let first = book.place(0, ChunkType::U8, 10, 1).unwrap();
        book.discard_frame();
        let again = book.place(0, ChunkType::U8, 10, 1).unwrap();
        assert_eq!(first, again, "what was given up takes no room");
    }
}
