//! Writing GSD files: the writer, the logger, and the machines and numbers under them.

use crate::host::{Cursor as Device, Host};
use crate::{Answer, Fail, entries};
use striae_core::gsd::book::Book;
use striae_core::gsd::create::Create;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{
    Attributes, ChunkType, FixedLogger, Logger, OwnLogger, Reader, Shape, Slot, Version, Writer,
};
use striae_core::integrity::crc32c;
use striae_core::step::drive_read;
use striae_core::store::{SeekStore, WriteAt};

type Host4 = Writer<Host, [Slot; 4]>;

/// Runs `work` with a writer of the file that is there.
fn opened(work: impl FnOnce(&mut Host4) -> Answer) -> Answer {
    work(&mut Writer::open(Host { file: 0 }, [Slot::EMPTY; 4])?)
}

fn kind(number: u8) -> Result<ChunkType, Fail> {
    ChunkType::from_number(number).ok_or(Fail)
}

fn attributes(align: u64, slots: u64, names_len: u64, flags: u8) -> Attributes<'static> {
    Attributes {
        application: "gate",
        schema: "gate",
        schema_version: Version { major: 1, minor: flags.into() },
        layer: if flags & 1 == 1 { Version::LAYER } else { Version { major: 1, minor: 0 } },
        align,
        checksums: flags & 2 == 2,
        one_sync: flags & 4 == 4,
        index_slots: slots,
        shown_slots: names_len,
        names_len,
    }
}

entries! {
    /// All that a data logger needs: go on or begin, one name, one chunk, one frame. Its size is
    /// reported alone.
    fn gate_gsd_log_one_frame(bytes) {
        let about = Attributes { application: "log", schema: "log", ..Attributes::default() };
        let mut log = Logger::<_, 4>::open_or_create(Host { file: 0 }, &about)?;
        let id = log.name("t")?;
        log.chunk(id, ChunkType::F32, 1, bytes)?;
        Ok(log.end_frame()?)
    }

    fn gate_gsd_log_in_place(bytes) {
        let mut place = None;
        let about = Attributes { application: "log", schema: "log", ..Attributes::default() };
        let log = Logger::<_, 4>::open_or_create_in(&mut place, Host { file: 0 }, &about)?;
        let id = log.name("t")?;
        log.chunk(id, ChunkType::F32, 1, bytes)?;
        Ok(log.end_frame()?)
    }

    fn gate_gsd_logger(bytes, align: u64, slots: u64, names: u64, flags: u8, number: u8, m: u32) {
        let about = attributes(align, slots, names, flags);
        let mut log = Logger::<_, 4>::create(Host { file: 0 }, &about)?;
        let name = core::str::from_utf8(bytes)?;
        let id = log.name(name)?;
        let mut chunk = log.begin_chunk(id, kind(number)?, m)?;
        chunk.write(bytes)?;
        chunk.put(1, |store, offset, crc| {
            store.write_all_at(offset, &[0])?;
            Ok(crc.unwrap_or(0))
        })?;
        core::hint::black_box((chunk.len(), chunk.is_empty()));
        chunk.finish()?;
        log.end_frame()?;
        log.commit()?;
        core::hint::black_box((log.frames_left(1, align)?, about.least_len()?));
        log.writer().close()?;
        let frames = log.frames();
        core::hint::black_box(log.into_store());
        Ok(frames)
    }

    fn gate_gsd_fixed_logger(
        bytes, number: u8, id: u16, m: u32, value: i64, align: u64, slots: u64,
    ) {
        let about = attributes(align, slots, 1, number);
        let shape = Shape::new(&about, ["a", core::str::from_utf8(bytes)?])?;
        core::hint::black_box((shape.names(), shape.least_len()));
        let mut log = FixedLogger::open_or_create(Host { file: 0 }, &shape)?;
        log.chunk(id, kind(number)?, m, bytes)?;
        log.write(id, &[[value, -1], [0, value]])?;
        log.write(0, &[[f64::from(m)]])?;
        core::hint::black_box((log.frames_left(id), log.store()));
        log.discard_frame();
        log.end_frame()?;
        let frames = log.frames();
        core::hint::black_box(log.into_store());
        Ok(frames)
    }

    fn gate_gsd_own_logger(bytes, number: u8, id: u16, m: u32, align: u64, slots: u64) {
        let shape = Shape::new(&attributes(align, slots, 1, number), [])?;
        let mut log = OwnLogger::<_, 4>::open_or_create(Host { file: 0 }, &shape)?;
        let name = log.name(core::str::from_utf8(bytes)?)?;
        log.chunk(id, kind(number)?, m, bytes)?;
        log.write(name, &[[f64::from(m)]])?;
        core::hint::black_box((log.frames_left(id), log.store(), log.names()));
        log.discard_frame();
        log.end_frame()?;
        let frames = log.frames();
        core::hint::black_box(log.into_store());
        Ok(frames)
    }

    fn gate_gsd_log_numbers(_bytes, value: i64, count: u16) {
        let mut log = Logger::<_, 4>::open(Host { file: 0 })?;
        log.write(count, &[[value, -1], [0, value]])?;
        log.write(0, &[[f64::from(count)]])?;
        Ok(log.end_frame()?)
    }

    fn gate_gsd_logger_on_seek_store(bytes) {
        let mut log = Logger::<_, 4>::open(SeekStore::new(Device::default()))?;
        let id = log.name("t")?;
        log.chunk(id, ChunkType::U8, 1, bytes)?;
        Ok(log.end_frame()?)
    }

    fn gate_gsd_writer_create(window, align: u64, slots: u64, names_len: u64, flags: u8) {
        let about = attributes(align, slots, names_len, flags);
        let mut writer =
            Writer::create_with(Host { file: 0 }, &about, [Slot::EMPTY; 4], crc32c)?;
        core::hint::black_box((writer.version(), writer.names(), writer.data_end()));
        core::hint::black_box(writer.is_committed());
        core::hint::black_box(writer.find_name(window)?);
        Ok(writer.add_name(window)?.into())
    }

    fn gate_gsd_writer_open_with(window) {
        let writer = Writer::open_with(Host { file: 0 }, [Slot::EMPTY; 1], crc32c, window)?;
        core::hint::black_box(writer.store());
        Ok(writer.frames())
    }

    fn gate_gsd_writer_write(bytes, name_len: usize, number: u8, m: u32) {
        opened(|writer| {
            let (name, bytes) = bytes.split_at_checked(name_len).ok_or(Fail)?;
            let id = writer.name(name)?;
            writer.write_chunk(id, kind(number)?, m, bytes)?;
            writer.end_frame()?;
            writer.commit()?;
            Ok(writer.frames())
        })
    }

    fn gate_gsd_writer_place(_bytes, id: u16, n: u64, m: u32, number: u8, crc: u32) {
        opened(|writer| {
            let chunk = writer.place_chunk(id, kind(number)?, n, m)?;
            writer.add_placed(chunk, crc)?;
            core::hint::black_box(writer.has_checksums());
            Ok(writer.frames())
        })
    }

    fn gate_gsd_book(window, id: u16, n: u64, m: u32, number: u8, crc: u32, store_len: u64) {
        let (mut store, kind) = (Host { file: 0 }, kind(number)?);
        let head = *Reader::open(Host { file: 0 }, window)?.head();
        let mut book = Book::new(&head, [Slot::EMPTY; 4], crc32c)?;
        book.begin(&mut store)?;
        let found = drive_read(&mut book.find_name(b"t"), &store, window)?;
        if book.found_name(b"t", found).is_none() {
            book.add_name(b"t", &mut store)?;
        }
        if !book.is_ready() {
            book.make_ready(&mut store)?;
        }
        let chunk = book.place(id, kind, n, m)?;
        book.add(chunk, crc)?;
        core::hint::black_box(book.discard_chunk(id));
        book.end_frame(&mut store)?;
        book.discard_frame();
        book.set_one_sync(true);
        book.set_names_in_place(false);
        core::hint::black_box((book.names(), book.version(), book.is_frame_empty()));
        core::hint::black_box((book.is_committed(), book.has_checksums(), book.data_end()));
        book.commit(&mut store)?;
        book.cut(store_len, &mut store)?;
        Ok(book.frames())
    }

    fn gate_gsd_book_anew(window) {
        let head = *Reader::open(Host { file: 0 }, window)?.head();
        let mut book = Book::new(&head, [Slot::EMPTY; 4], crc32c)?;
        book.upgrade(&mut Host { file: 0 })?;
        book.truncate(&mut Host { file: 0 })?;
        Ok(0)
    }

    fn gate_gsd_writer_discard(bytes, m: u32) {
        let mut log = Logger::<_, 4>::open(Host { file: 0 })?;
        log.chunk(0, ChunkType::U8, m, bytes)?;
        log.discard_frame();
        log.writer().discard_frame();
        core::hint::black_box(log.writer().discard_chunk(1));
        let mut end = 0;
        log.writer().discard_frame_with(|_, offset| end = offset);
        Ok(end)
    }

    fn gate_gsd_writer_close(_bytes) {
        opened(|writer| {
            writer.set_one_sync(true);
            writer.set_names_in_place(false);
            writer.close().map(|()| 0).map_err(Fail::from)
        })
    }

    fn gate_gsd_writer_upgrade(_bytes) {
        opened(|writer| writer.upgrade().map(|()| 0).map_err(Fail::from))
    }

    fn gate_gsd_writer_truncate(_bytes) {
        opened(|writer| writer.truncate().map(|()| 0).map_err(Fail::from))
    }

    fn gate_gsd_create(_bytes, store_len: u64, align: u64, slots: u64, names_len: u64, flags: u8) {
        let about = attributes(align, slots, names_len, flags);
        let create = Create::new(&about, store_len, crc32c)?;
        core::hint::black_box(create.header());
        create.run(&mut Host { file: 0 })?;
        Ok(create.data_end())
    }

    fn gate_gsd_entry(bytes, crc: u32) {
        let entry = zerocopy::FromBytes::read_from_bytes(bytes).map_err(|_| Fail)?;
        let entry: IndexEntry = entry;
        Ok(entry.sealed_crc(crc, crc32c).into())
    }
}
