//! SIONlib files.

use crate::host::{Cursor, Host};
use crate::{Fail, entries};
use core::num::NonZeroU32;
use embedded_io::{Read, Seek, SeekFrom};
use striae_core::endian::ByteOrder;
use striae_core::sion::filename::Sibling;
use striae_core::sion::layout::{Chunks, Layout};
use striae_core::sion::locate::{ChunkSum, Locate, check_blockcount, check_blocksize};
use striae_core::sion::mapping::Mapping;
use striae_core::sion::meta2::entry;
use striae_core::sion::open::Open;
use striae_core::sion::position::{Ends, Lengths};
use striae_core::sion::raw::Ident;
use striae_core::sion::set::{differences, identity_of, newest_apart};
use striae_core::sion::{
    FormatVersion, Head, Meta1, Meta2, Opened, Physical, Reader, Records, Stream, Unclosed,
    check_set,
};
use striae_core::span::Span;
use striae_core::step::drive_read;
use striae_core::store::{ReadAt, SeekStore, usize_to_u64};

fn closed(file: u32, window: &mut [u8]) -> Result<Physical<Host>, Fail> {
    match Physical::open(Host { file }, window)? {
        Opened::Closed(file) => Ok(file),
        Opened::Unclosed(_) => Err(Fail),
    }
}

fn unclosed(window: &mut [u8]) -> Result<Unclosed<Host>, Fail> {
    match Physical::open(Host { file: 0 }, window)? {
        Opened::Closed(_) => Err(Fail),
        Opened::Unclosed(file) => Ok(file),
    }
}

fn set_of_two(window: &mut [u8]) -> Result<Reader<[Physical<Host>; 2], Host>, Fail> {
    Ok(Reader::of_set([closed(0, window)?, closed(1, window)?])?)
}

entries! {
    /// The least that a reader needs: open, find a task, read its bytes. Its size is reported
    /// alone.
    fn gate_sion_read_one_task(buf, local: u32) {
        let mut window = [0; Meta1::MAX_LEN];
        let file = closed(0, &mut window)?;
        let task = file.task(local, &mut window)?;
        Ok(usize_to_u64(file.stream(task).read(buf)?))
    }
}

// Opening, and what META1 and META2 say.
entries! {
    fn gate_sion_open(window) {
        Ok(Physical::open(Host { file: 0 }, window)?.head().file_len)
    }

    fn gate_sion_opened_with_a_known_head(window, local: u32) {
        let head = *closed(0, window)?.head();
        match Opened::new(Host { file: 1 }, head) {
            Opened::Closed(file) => Ok(file.task(local, window)?.blockcount),
            Opened::Unclosed(_) => Err(Fail),
        }
    }

    fn gate_sion_open_in_memory(bytes) {
        let mut window = [0; Meta1::MAX_LEN];
        Ok(Physical::open(&*bytes, &mut window)?.head().file_len)
    }

    fn gate_sion_open_on_seek_store(window) {
        Ok(Physical::open(SeekStore::new(Cursor::default()), window)?.head().file_len)
    }

    fn gate_sion_opened(window) {
        let opened = Physical::open(Host { file: 0 }, window)?;
        let mut sum = opened.store().size()? ^ usize_to_u64(opened.prefix()?.len());
        for listed in opened.tasks(window)? {
            sum ^= listed?.bytes;
        }
        Ok(sum)
    }

    fn gate_sion_open_machine(window, file_len: u64) {
        Ok(drive_read(&mut Open::new(file_len), &Host { file: 0 }, window)?.file_len)
    }

    fn gate_sion_meta1_parse(bytes, file_len: u64) {
        let meta1 = Meta1::parse(bytes, file_len)?;
        core::hint::black_box((meta1.order(), meta1.data_order(), meta1.library_version()));
        core::hint::black_box((meta1.fileformat_version().number(), meta1.fsblksize()));
        core::hint::black_box((meta1.ntasks(), meta1.nfiles(), meta1.filenumber(), meta1.flags()));
        core::hint::black_box((meta1.is_first_of_several(), meta1.files_in_set(), meta1.keyval()));
        let endianness = bytes.first_chunk().copied().unwrap_or_default();
        core::hint::black_box((meta1.prefix_field(), Ident::orders(endianness)));
        Ok(usize_to_u64(meta1.prefix(bytes).len()))
    }

    fn gate_sion_meta1_judge(bytes, file_len: u64) {
        let mut wrong = 0;
        let meta1 = Meta1::judge(bytes, file_len, |error| {
            wrong ^= u64::from(error.blames_caller()).wrapping_add(1);
            Ok(())
        });
        Ok(u64::from(meta1?.nfiles()) ^ wrong)
    }

    fn gate_sion_meta2_parse(bytes, file_len: u64, skip: usize, chunk: u64, local: u32) {
        let meta1 = Meta1::parse(bytes, file_len)?;
        let commit_fields = bytes.get(skip..).ok_or(Fail)?;
        let meta2 = Meta2::parse(commit_fields, &meta1, file_len)?.ok_or(Fail)?;
        let row = meta2.blocksizes(chunk).ok_or(Fail)?;
        let place = entry(row, local).ok_or(Fail)?;
        Ok(meta2.start() ^ meta2.end() ^ u64::from(meta2.maxchunks()) ^ place.offset())
    }

    fn gate_sion_prefix(window) {
        let prefix = closed(0, window)?.prefix()?;
        Ok(prefix.iter().fold(0, |sum, &byte| sum ^ u64::from(byte)))
    }

    fn gate_sion_accessors(window) {
        let file = closed(0, window)?;
        let meta2 = file.meta2();
        core::hint::black_box((file.head(), file.meta1(), meta2, meta2.blockcounts()));
        Ok(file.store().size()?)
    }

    fn gate_sion_sibling_of_name(bytes) {
        Ok(Sibling::of_name(core::str::from_utf8(bytes)?).0.into())
    }
}

fn layout(version: u8, fsblksize: u32, ntasks: u32) -> Result<Layout, Fail> {
    let version = match version {
        2 => FormatVersion::V2,
        3 => FormatVersion::V3,
        4 => FormatVersion::V4,
        _ => FormatVersion::V5,
    };
    let fsblksize = NonZeroU32::new(fsblksize).ok_or(Fail)?;
    let ntasks = NonZeroU32::new(ntasks).ok_or(Fail)?;
    Ok(Layout { version, fsblksize, ntasks })
}

// Pure mathematics.
entries! {
    fn gate_sion_layout_meta1(_bytes, version: u8, fsblksize: u32, ntasks: u32) {
        let layout = layout(version, fsblksize, ntasks)?;
        let (fixed, fields) = (layout.fixed(), layout.commit_fields());
        let ends = [fixed, layout.globalranks(), layout.chunksizes(), fields];
        let sum = ends.iter().fold(0, |sum, span| sum ^ span.end());
        Ok(sum ^ layout.meta1_end() ^ layout.first_chunk() ^ layout.table_len())
    }

    fn gate_sion_layout_chunksize(_bytes, version: u8, fsblksize: u32, ntasks: u32, size: u64) {
        layout(version, fsblksize, ntasks)?.stored_chunksize(size).ok_or(Fail)
    }

    fn gate_sion_layout_meta2(
        _bytes, version: u8, fsblksize: u32, ntasks: u32, start: u64, maxchunks: u32,
    ) {
        let layout = layout(version, fsblksize, ntasks)?;
        let counts = layout.blockcounts(start).ok_or(Fail)?;
        Ok(counts.end() ^ layout.blocksizes(start, maxchunks).ok_or(Fail)?.end())
    }

    fn gate_sion_layout_chunk(
        _bytes, start: u64, chunksize: u64, globalskip: u64, has_skip: bool, chunk: u64,
    ) {
        let globalskip = has_skip.then_some(globalskip);
        let span = Chunks { start, chunksize, globalskip }.chunk(chunk).ok_or(Fail)?;
        Ok(span.end())
    }

    fn gate_sion_chunk_sum(_bytes, version: u8, fsblksize: u32, ntasks: u32, a: i64, b: i64) {
        let mut sum = ChunkSum::new(layout(version, fsblksize, ntasks)?);
        let (a, b) = (sum.add(a)?, sum.add(b)?);
        let blocks = sum.blocks();
        let is_close = blocks.is_close(ntasks, blocks.globalskip);
        Ok(a ^ b ^ sum.sum() ^ u64::from(is_close))
    }

    fn gate_sion_check_blockcount(_bytes, value: i64, offset: u64, maxchunks: u32) {
        Ok(check_blockcount(value, offset, maxchunks)?)
    }

    fn gate_sion_check_blocksize(
        _bytes, value: i64, offset: u64, start: u64, len: u64, file_len: u64,
    ) {
        Ok(check_blocksize(value, offset, Span::new(start, len), file_len)?)
    }
}

// Tasks.
entries! {
    fn gate_sion_task(window, local: u32) {
        let task = closed(0, window)?.task(local, window)?;
        Ok(task.chunks.start)
    }

    fn gate_sion_locate_machine(window, file_len: u64, local: u32) {
        let host = Host { file: 0 };
        let head: Head = drive_read(&mut Open::new(file_len), &host, window)?;
        Ok(drive_read(&mut Locate::new(&head, local)?, &host, window)?.blockcount)
    }

    fn gate_sion_tasks(window) {
        let file = closed(0, window)?;
        let mut sum = 0;
        for listed in file.tasks(window)? {
            let listed = listed?;
            sum ^= listed.bytes ^ listed.task.globalrank.unsigned_abs();
        }
        Ok(sum)
    }

    fn gate_sion_chunk_len(window, local: u32, chunk: u64) {
        let file = closed(0, window)?;
        let task = file.task(local, window)?;
        Ok(file.chunk_len(&task, chunk)?)
    }

    fn gate_sion_chunk_lens(window, local: u32) {
        let file = closed(0, window)?;
        let task = file.task(local, window)?;
        let mut sum = 0;
        for len in file.chunk_lens(task, window) {
            sum ^= len?;
        }
        Ok(sum)
    }

    fn gate_sion_unclosed_task(window, local: u32) {
        let file = unclosed(window)?;
        let task = file.task(local, window)?;
        Ok(task.chunks.chunk(1).ok_or(Fail)?.offset() ^ file.store().size()?)
    }

    fn gate_sion_unclosed_tasks(window) {
        let file = unclosed(window)?;
        let mut sum = file.prefix()?.iter().fold(0, |sum, &byte| sum ^ u64::from(byte));
        for listed in file.tasks(window)? {
            sum ^= listed?.task.chunks.start;
        }
        Ok(sum)
    }
}

fn seek_from(whence: u8, by: i64) -> SeekFrom {
    match whence {
        0 => SeekFrom::Start(by.unsigned_abs()),
        1 => SeekFrom::Current(by),
        _ => SeekFrom::End(by),
    }
}

// Streams: with chunk lengths read one by one, and with chunk lengths in memory.
entries! {
    fn gate_sion_stream_read(window, local: u32, whence: u8, by: i64) {
        let file = closed(0, window)?;
        let mut stream = file.stream(file.task(local, window)?);
        stream.seek(seek_from(whence, by))?;
        Ok(usize_to_u64(stream.read(window)?) ^ stream.position())
    }

    fn gate_sion_stream_read_all(window, local: u32, position: u64) {
        let file = closed(0, window)?;
        let mut stream = file.stream(file.task(local, window)?);
        stream.seek_to(position);
        stream.read_all(window)?;
        Ok(stream.total()?)
    }

    fn gate_sion_stream_location(window, local: u32, position: u64) {
        let file = closed(0, window)?;
        let mut stream = file.stream(file.task(local, window)?);
        stream.seek_to(position);
        let (chunk, offset) = stream.location()?.ok_or(Fail)?;
        Ok(chunk ^ offset)
    }

    fn gate_sion_stream_position_of(window, local: u32, chunk: u64, offset: u64) {
        let file = closed(0, window)?;
        let mut stream = file.stream(file.task(local, window)?);
        let stretch = stream.chunk(chunk)?;
        let inside = stretch.contains(offset) && offset < stretch.end();
        Ok(stream.position_of(chunk, offset)? ^ u64::from(inside))
    }

    fn gate_sion_stream_next_span(window, local: u32, len: u64) {
        let file = closed(0, window)?;
        let mut stream = file.stream(file.task(local, window)?);
        let mut sum = 0;
        while let Some(span) = stream.next_span(len)? {
            sum ^= span.end();
        }
        Ok(sum)
    }

    fn gate_sion_stream_spans(window, local: u32, position: u64, len: u64) {
        let file = closed(0, window)?;
        let task = file.task(local, window)?;
        let mut sum = file.walk(task).count();
        for span in file.stream(task).spans(position, len) {
            sum ^= span?.end();
        }
        Ok(sum)
    }

    fn gate_sion_walk(window, local: u32, position: u64, chunk: u64) {
        let file = closed(0, window)?;
        let mut walk = file.walk(file.task(local, window)?);
        let at = walk.stretch_at(position)?.ok_or(Fail)?;
        let stretch = walk.stretch(chunk)?.ok_or(Fail)?;
        Ok(at.begin ^ stretch.len ^ walk.total()?)
    }

    fn gate_sion_stream_of_ends(
        window, local: u32, end0: u64, end1: u64, whence: u8, by: i64, chunk: u64,
    ) {
        let file = closed(0, window)?;
        let ends = Ends::new([end0, end1]).ok_or(Fail)?;
        let chunks = file.task(local, window)?.chunks;
        let mut stream = Stream::new(file.store(), chunks, ends.borrowed());
        stream.seek(seek_from(whence, by))?;
        let n = usize_to_u64(stream.read(window)?);
        core::hint::black_box(stream.location()?);
        Ok(n ^ stream.position_of(chunk, by.unsigned_abs())?)
    }
}

// Key-value records.
entries! {
    fn gate_sion_records(window, local: u32, big: bool) {
        let file = closed(0, window)?;
        let mut stream = file.stream(file.task(local, window)?);
        let order = if big { ByteOrder::Big } else { ByteOrder::Little };
        core::hint::black_box(Records::behind(&mut stream, order, u64::from(local))?.next());
        let mut records = Records::new(&mut stream, order)?;
        let mut sum = 0;
        while let Some(record) = records.next() {
            let record = record?;
            records.stream().seek_to(record.position);
            sum ^= record.key ^ usize_to_u64(records.stream().read(window)?);
        }
        Ok(sum)
    }

    fn gate_sion_value(window, local: u32, key: u64) {
        let file = closed(0, window)?;
        let mut stream = file.stream(file.task(local, window)?);
        let mut value = Records::new(&mut stream, file.meta1().order())?.value(key);
        Ok(usize_to_u64(Read::read(&mut value, window)?))
    }
}

// Sets of files and the mapping.
entries! {
    fn gate_sion_mapping(window, globalrank: u64) {
        let file = closed(0, window)?;
        let mapping = file.mapping()?.ok_or(Fail)?;
        let place = mapping.entry(globalrank).ok_or(Fail)?;
        let (number, local) = mapping.address(window).ok_or(Fail)?;
        let sum = place.offset() ^ mapping.end() ^ mapping.len() ^ u64::from(mapping.is_empty());
        Ok(sum ^ u64::from(number ^ local))
    }

    fn gate_sion_mapping_parse(window, at: u64) {
        let file = closed(0, window)?;
        let place = Mapping::place(file.head()).ok_or(Fail)?;
        Ok(Mapping::parse(window, at, file.head())?.len() ^ place)
    }

    fn gate_sion_set_task(window, task: u64) {
        let set = set_of_two(window)?;
        let (file, found) = set.task(task, window)?;
        core::hint::black_box(set.keyval());
        Ok(u64::from(file.meta1().nfiles()) ^ found.blockcount)
    }

    fn gate_sion_set_address(window, task: u64) {
        let set = set_of_two(window)?;
        let (_, number, local) = set.address(task)?;
        Ok(u64::from(number ^ local) ^ set.ntasks())
    }

    fn gate_sion_set_find_globalrank(window, globalrank: i64) {
        set_of_two(window)?.find_globalrank(globalrank, window)?.ok_or(Fail)
    }

    fn gate_sion_set_search_globalrank(window, globalrank: i64, from: u64) {
        set_of_two(window)?.search_globalrank(globalrank, from, window)?.ok_or(Fail)
    }

    fn gate_sion_set_mapped(window, globalrank: i64) {
        set_of_two(window)?.mapped(globalrank)?.ok_or(Fail)
    }

    fn gate_sion_of_parts(window, task: u64) {
        let parts = Reader::of_parts([closed(0, window)?, closed(1, window)?]);
        Ok(parts.task(task, window)?.1.blockcount)
    }

    fn gate_sion_check_set(window) {
        let set = set_of_two(window)?;
        check_set(set.files().iter().map(Physical::head))?;
        Ok(0)
    }

    fn gate_sion_newest_apart(_window, a: u32, b: u32) {
        Ok(newest_apart([a, b].into_iter()).unwrap_or(0).into())
    }

    fn gate_sion_identity_of(_window, a: u32, b: u32) {
        let files = [Some(a), None, Some(b), Some(a)];
        Ok(identity_of(files.into_iter()).unwrap_or(0).into())
    }

    fn gate_sion_differences(window, number: u32) {
        let (first, file) = (closed(0, window)?, closed(1, window)?);
        Ok(usize_to_u64(differences(first.meta1(), number, file.meta1()).count()))
    }

    fn gate_sion_alone(window, globalrank: i64) {
        let alone = Reader::alone(closed(0, window)?);
        alone.find_globalrank(globalrank, window)?.ok_or(Fail)
    }

    fn gate_sion_error_kind(window) {
        let Err(error) = Physical::open(Host { file: 0 }, window) else { return Err(Fail) };
        core::hint::black_box(embedded_io::Error::kind(&error));
        Ok(0)
    }
}
