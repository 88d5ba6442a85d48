//! Writing SIONlib files: the writer, and the work and numbers under it.

use crate::host::{Cursor as Device, Host};
use crate::{Fail, entries};
use embedded_io::Write;
use striae_core::endian::ByteOrder;
use striae_core::integrity::{Crc32cParts, crc32c, crc32c_combine};
use striae_core::sion::FindSeal;
use striae_core::sion::book::{Ahead, Book, Enter};
use striae_core::sion::create::{Front, TaskTable, blocks, write_meta1, write_tables};
use striae_core::sion::cursor::Cursor;
use striae_core::sion::layout::Chunks;
use striae_core::sion::pen::{Pens, Since};
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::raw::SealTrailer;
use striae_core::sion::seal::checksum_of;
use striae_core::sion::tables::{
    Column, Entries, Publication, TableSums, Tables, Unchanged, Written, write,
};
use striae_core::sion::verdict::Verdict;
use striae_core::sion::visible::{Outcome, show};
use striae_core::sion::{
    Attributes, Blocks, Finished, FixedWriter, Memory, Meta1, Opened, Options, Pen, Physical,
    SealState, Shape, Varheader, VarheaderShape, Writer,
};
use striae_core::span::Span;
use striae_core::step::drive_read;
use striae_core::store::{SeekStore, usize_to_u64};

fn order(big: bool) -> ByteOrder {
    if big { ByteOrder::Big } else { ByteOrder::Little }
}

fn attributes(flags: u8, fsblksize: u32, nfiles: u32) -> Attributes {
    Attributes {
        order: order(flags & 1 == 1),
        data_order: order(flags & 2 == 2),
        fsblksize,
        nfiles,
        filenumber: u32::from(flags >> 4),
        keyval: flags & 4 == 4,
    }
}

fn options(sealed: bool, ahead: u32) -> Options<'static> {
    Options { mapping: &[(0, 0), (0, 1), (1, 0)], sealed, ahead, ..Options::default() }
}

/// Tasks by numbers that are not known when compiling.
struct Tasks {
    ntasks: u64,
    globalrank: i64,
    chunksize: u64,
}

impl TaskTable for Tasks {
    fn ntasks(&self) -> u64 {
        self.ntasks
    }

    fn globalrank(&self, local: u32) -> i64 {
        self.globalrank ^ i64::from(local)
    }

    fn chunksize(&self, _: u32) -> u64 {
        self.chunksize
    }
}

/// Runs `work` with a writer that reopens file 0, and memory of its own.
fn reopened(
    window: &mut [u8],
    work: impl FnOnce(&mut Writer<'_, Host>) -> crate::Answer,
) -> crate::Answer {
    let (mut pens, mut ledger) = ([Pen::EMPTY; 4], [Finished::EMPTY; 4]);
    let memory = Memory { pens: &mut pens, ledger: &mut ledger, window };
    work(&mut Writer::reopen(Host { file: 0 }, memory, options(false, 2))?)
}

entries! {
    /// The least that a data logger needs: create, write, close. Its size is reported alone.
    fn gate_sion_write_one_file(bytes, chunksize: u64) {
        let (mut pens, mut ledger) = ([Pen::EMPTY; 1], [Finished::EMPTY; 1]);
        let mut window = [0; Meta1::MAX_LEN];
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
        let tasks = [(0, chunksize)];
        let (attributes, host) = (Attributes::default(), Host { file: 0 });
        let options = Options::default();
        let mut writer = Writer::create(host, &attributes, b"log", &tasks[..], memory, options)?;
        writer.write(0, bytes)?;
        writer.close()?;
        Ok(0)
    }

    fn gate_sion_writer_create(
        window, flags: u8, fsblksize: u32, nfiles: u32, ntasks: u64, chunksize: u64, ahead: u32,
    ) {
        let (mut pens, mut ledger) = ([Pen::EMPTY; 4], [Finished::EMPTY; 4]);
        let (prefix, window) = window.split_at_mut_checked(8).ok_or(Fail)?;
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window };
        let attributes = attributes(flags, fsblksize, nfiles);
        let options = options(flags & 8 == 8, ahead);
        let tasks = Tasks { ntasks, globalrank: i64::from(ahead), chunksize };
        let writer =
            Writer::create(Host { file: 0 }, &attributes, prefix, &tasks, memory, options)?;
        core::hint::black_box((writer.meta1(), writer.cursor(ahead)?.place(1)?));
        Ok(u64::from(writer.into_store().file))
    }

    fn gate_sion_fixed_writer(
        bytes, flags: u8, fsblksize: u32, chunksize: u64, local: u32, ahead: u32,
    ) {
        let tasks = [(i64::from(local), chunksize), (1, 512)];
        let shape = Shape::new(&attributes(flags, fsblksize, 1), bytes, tasks)?.with_ahead(ahead);
        let mut writer = FixedWriter::create(Host { file: 0 }, &shape)?;
        writer.write(local, bytes)?;
        writer.commit()?;
        core::hint::black_box((writer.meta1(), writer.cursor(local)?.place(1)?, writer.store()));
        writer.close()?;
        Ok(u64::from(writer.into_store().file))
    }

    fn gate_sion_fixed_writer_goes_on(bytes, flags: u8, fsblksize: u32, chunksize: u64) {
        let tasks = [(0, chunksize), (1, 512)];
        let shape = Shape::new(&attributes(flags, fsblksize, 1), bytes, tasks)?;
        let mut writer = FixedWriter::open_or_create(Host { file: 0 }, &shape)?;
        writer.write(1, bytes)?;
        writer.commit()?;
        Ok(u64::from(writer.into_store().file))
    }

    fn gate_sion_writer_on_seek_store(window) {
        let (mut pens, mut ledger) = ([Pen::EMPTY; 4], [Finished::EMPTY; 4]);
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window };
        let store = SeekStore::new(Device::default());
        let mut writer = Writer::reopen(store, memory, Options::default())?;
        writer.write(0, b"more")?;
        writer.close()?;
        Ok(0)
    }

    fn gate_sion_writer_write(window, local: u32, len: u64) {
        let (bytes, window) = window.split_at_mut_checked(64).ok_or(Fail)?;
        reopened(window, |writer| {
            writer.write(local, bytes)?;
            writer.write_record(local, bytes)?;
            writer.ensure_free_space(local, len)?;
            Ok(usize_to_u64(writer.write_some(local, bytes)?))
        })
    }

    fn gate_sion_writer_write_key(window, local: u32, key: u64) {
        let (bytes, window) = window.split_at_mut_checked(64).ok_or(Fail)?;
        reopened(window, |writer| {
            writer.write_key(local, key, bytes)?;
            Ok(0)
        })
    }

    fn gate_sion_writer_task(window, local: u32) {
        let (bytes, window) = window.split_at_mut_checked(64).ok_or(Fail)?;
        reopened(window, |writer| {
            let mut task = writer.task(local)?;
            let n = task.write(bytes)?;
            task.flush()?;
            Ok(usize_to_u64(n))
        })
    }

    fn gate_sion_writer_commit(window) {
        reopened(window, |writer| {
            writer.commit()?;
            writer.close()?;
            Ok(0)
        })
    }
}

/// What is written between two commits.
struct Values(u64);

impl Written for Values {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        let range = entries.range();
        match entries.column() {
            Column::Mapping => entries.set_address(range.start, 1, 2),
            Column::Blocksizes { chunk } | Column::Crcs { chunk } => entries.set(chunk, self.0),
            Column::Blockcounts => entries.set(range.end, self.0),
        }
    }
}

fn publication(
    flags: u8,
    start: u64,
    ntasks: u32,
    maxchunks: u32,
    mapping_len: u64,
) -> Result<Publication, Fail> {
    let meta1 = Meta1::new(&attributes(flags, 512, 2), ntasks.into())?;
    let shape = VarheaderShape::new(meta1.layout(), maxchunks, mapping_len, flags & 8 == 8);
    let shape = shape.ok_or(Fail)?;
    let new = shape.at(start).ok_or(Fail)?;
    let old = shape.with_maxchunks(maxchunks >> 1).and_then(|old| old.behind(mapping_len));
    let meta1_crc = ntasks;
    Ok(Publication { meta1, meta1_crc, old, new, file_len: u64::MAX, checksum: crc32c })
}

// What they do, with any numbers.
entries! {
    fn gate_sion_create(
        window, flags: u8, fsblksize: u32, ntasks: u64, globalrank: i64, chunksize: u64,
    ) {
        let meta1 = Meta1::new(&attributes(flags, fsblksize, 1), ntasks)?;
        core::hint::black_box((meta1.has_empty_mapping(), meta1.to_raw(window)?));
        let tasks = Tasks { ntasks, globalrank, chunksize };
        let (front, blocks) = (Front::new(&meta1, b"x")?, blocks(&meta1, &tasks)?);
        let crc = write_meta1(&front, &tasks, Some(crc32c), &mut Host { file: 0 }, window)?;
        Ok(blocks.globalskip ^ u64::from(crc))
    }

    fn gate_sion_create_in_parts(
        window, flags: u8, fsblksize: u32, ntasks: u64, first: u32, last: u32,
    ) {
        let meta1 = Meta1::new(&attributes(flags, fsblksize, 1), ntasks)?;
        let tasks = Tasks { ntasks, globalrank: 1, chunksize: 2 };
        let mut host = Host { file: 0 };
        let sums = write_tables(&meta1, first..last, &tasks, Some(crc32c), &mut host, window)?;
        let front = Front::new(&meta1, b"x")?;
        let crc = front.meta1_crc(sums, Some(crc32c));
        front.write(&mut host)?;
        Ok(crc.into())
    }

    fn gate_sion_tables(
        window, flags: u8, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64, last: u32,
    ) {
        let publication = publication(flags, start, ntasks, maxchunks, mapping_len)?;
        let mut host = Host { file: 0 };
        let mut tables = Tables::all(Values(mapping_len));
        write(&publication, &mut tables, &mut host, window)?;
        let mut part = Tables::part(ntasks..last, Values(mapping_len));
        write(&publication, &mut part, &mut host, window)?;
        let sums = tables.sums().join(*part.sums());
        core::hint::black_box(sums);
        show(&publication.meta1, &publication.new, &mut host)?;
        Ok(TableSums::NONE.meta2.word().into())
    }

    fn gate_sion_desk(
        window, flags: u8, start: u64, ntasks: u32, maxchunks: u32, globalskip: u64, block: u32,
    ) {
        let Publication { meta1, new, .. } =
            publication(flags, start, ntasks, maxchunks, globalskip)?;
        let blocks = Blocks { first: start, globalskip };
        let mut book = Book::reopen(&meta1, &blocks, new, flags & 8 == 8);
        let terms = Terms { ahead: Ahead::Double, ..Terms::default() };
        let (mut host, mut tables) = (Host { file: 0 }, Tables::all(Values(globalskip)));
        let mut desk = Desk::new(&mut book, &mut host, terms, window)?;
        desk.settle()?;
        desk.enter(block, &mut Tables::all(Unchanged))?;
        desk.commit(maxchunks, &mut tables)?;
        desk.prepare(&new, &mut tables)?;
        let mut sums = TableSums::NONE;
        desk.prepare(&new, &mut sums)?;
        desk.show(&new)?;
        desk.cut(&new)?;
        desk.close(maxchunks, &mut tables)?;
        let place = book.prepared(maxchunks, flags & 1 == 1, Ahead::NONE)?;
        let is_commit = blocks.is_commit(maxchunks, place.span(), flags & 2 == 2);
        Ok(u64::from(book.is_closed() ^ is_commit) ^ place.start())
    }
}

/// One task.
struct One(Pen, Finished);

impl Pens for One {
    fn pens(&self, _: core::ops::Range<u32>) -> impl Iterator<Item = &Pen> {
        core::iter::once(&self.0)
    }

    fn finished(&self, _: u32, _: core::ops::Range<u32>) -> impl Iterator<Item = &Finished> {
        core::iter::once(&self.1)
    }

    fn address(&self, globalrank: u32) -> Option<(u32, u32)> {
        Some((globalrank, 1))
    }
}

// What a writer knows.
entries! {
    fn gate_sion_book(
        _bytes, flags: u8, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64, block: u32,
    ) {
        let Publication { meta1, new, .. } =
            publication(flags, start, ntasks, maxchunks, mapping_len)?;
        let blocks = Blocks { first: start, globalskip: mapping_len };
        let book = Book::create(&meta1, &blocks, mapping_len, flags & 8 == 8)?;
        let mut book = book.with_set_identity(flags.into());
        core::hint::black_box(book.set_identity());
        book.conclude(Outcome::Unknown(new));
        let enter = match book.enter(block, Ahead::Blocks(ntasks))? {
            Enter::GoOn => 0,
            Enter::Settle(at) | Enter::Move(at) => at.start(),
        };
        book.conclude(Outcome::Published(new));
        let (commit, close) = (book.commit(block, Ahead::NONE)?, book.close(block)?);
        let book = book.with_meta1_crc(block);
        let publication = book.publication(commit, start, crc32c);
        let aside = close.aside.map_or(0, |aside| aside.start());
        let places = commit.start() ^ close.last.start() ^ aside ^ u64::from(publication.meta1_crc);
        let at = [book.published(), book.unsettled()].into_iter().flatten().count();
        core::hint::black_box((book.meta1(), book.blocks(), at, book.is_sealed()));
        Ok(enter ^ places ^ book.reach() ^ book.entered() ^ book.settled())
    }

    fn gate_sion_pen(
        bytes, start: u64, chunksize: u64, chunk: u64, len: u64, local: u32, crc: u32,
    ) {
        let chunks = Chunks { start, chunksize, globalskip: Some(chunksize) };
        let mut pen = Pen::resume(local, Cursor::resume(chunks, chunk, len)?, Some(crc));
        let mark = Pen::new(pen.local(), chunks, false);
        let mut left = Finished::EMPTY;
        let crc = pen.crc_after(bytes, crc32c);
        pen.accepted(len);
        pen.flushed(crc);
        pen.wrote(len, pen.crc());
        pen.leave(|done| {
            left = done;
            Ok(())
        })?;
        pen.renew();
        let told = left.is_told_by(&mark);
        pen.committed(&mark);
        pen.take_back(&mark);
        let sum = u64::from(pen.chunk()) ^ pen.cursor().room() ^ u64::from(told);
        Ok(sum ^ u64::from(pen.is_committed()))
    }

    fn gate_sion_since(
        window, flags: u8, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64,
    ) {
        let publication = publication(flags, start, ntasks, maxchunks, mapping_len)?;
        let since = Since(One(Pen::EMPTY, Finished::EMPTY));
        let mut tables = Tables::all(since);
        write(&publication, &mut tables, &mut Host { file: 0 }, window)?;
        Ok(tables.sums().chunks.word().into())
    }
}

// Numbers.
entries! {
    fn gate_sion_cursor(
        _bytes, start: u64, chunksize: u64, globalskip: u64, chunk: u64, used: u64, len: u64,
    ) {
        let chunks = Chunks { start, chunksize, globalskip: Some(globalskip) };
        let mut cursor = Cursor::resume(chunks, chunk, used)?;
        cursor.advance(len);
        let fits = Cursor::new(chunks).fits(len)?;
        let next = cursor.next_chunk()?;
        let rewound = cursor.rewound(len);
        let sum = u64::from(next.chunk()) ^ rewound.used() ^ cursor.room() ^ cursor.chunksize();
        Ok(cursor.place(len)?.end() ^ sum ^ u64::from(fits))
    }

    fn gate_sion_varheader(
        _bytes, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64, sealed: bool, reach: u64,
    ) {
        let meta1 = Meta1::new(&attributes(0, 512, 2), ntasks.into())?;
        let shape = VarheaderShape::new(meta1.layout(), maxchunks, mapping_len, sealed);
        let shape = shape.ok_or(Fail)?;
        let blocks = Blocks { first: start, globalskip: mapping_len };
        let old = shape.at(start).ok_or(Fail)?;
        if !shape.has_places(&blocks) {
            return Err(Fail);
        }
        let new = shape.aside(&blocks, reach, Some(&old)).ok_or(Fail)?;
        let spans = [
            new.span(), new.blockcounts(), new.blocksizes(), new.mapping(), new.crcs(),
            new.trailer(),
        ];
        let sum = spans.iter().fold(0, |sum, span| sum ^ span.end());
        let unsealed = shape.with_seal(false).at(start).and_then(|unsealed| unsealed.sealed());
        let is_same = unsealed == Some(old) && new.is_sealed() == new.shape().is_sealed();
        let rows = new.shape().maxchunks() ^ new.maxchunks() ^ u32::from(is_same);
        let chunk = reach ^ new.shape().mapping_len() ^ u64::from(rows);
        let entries = [new.blocksize(ntasks, chunk), new.crc(ntasks, chunk)];
        let entries = entries.into_iter().flatten().fold(0, |sum, span| sum ^ span.end());
        let end = blocks.end(reach).ok_or(Fail)?;
        let number = new.with_set_number(maxchunks).map_or(0, |new| new.set_number());
        let sum = sum ^ u64::from(number ^ new.with_set_identity(ntasks).set_identity());
        Ok(sum ^ blocks.before(end) ^ shape.behind(end).ok_or(Fail)?.start() ^ entries)
    }

    fn gate_crc32c(bytes, previous: u32) {
        Ok(crc32c(previous, bytes).into())
    }

    fn gate_crc32c_combine(_bytes, a: u32, b: u32, len: u64, after: u64) {
        let mut parts = Crc32cParts::from_word(a);
        parts.add(b, len, after);
        let crc = parts.join(Crc32cParts::NONE).crc(len);
        Ok(u64::from(crc32c_combine(a, b, len)) ^ u64::from(crc ^ parts.word()))
    }
}

// Seals.
entries! {
    fn gate_sion_seal_check(window, local: u32, chunk: u64) {
        let Opened::Closed(file) = Physical::open(Host { file: 0 }, window)? else {
            return Err(Fail);
        };
        let mapping = file.mapping()?;
        core::hint::black_box(Varheader::of(file.head(), mapping.as_ref()));
        let SealState::Sealed(seal) = file.seal()? else { return Err(Fail) };
        seal.check_metadata(file.store(), crc32c, window)?;
        seal.check(file.store(), crc32c, window)?.all()?;
        Ok(file.sealed_crc(&seal, local, chunk)?.into())
    }

    fn gate_sion_seal_find(window, end: u64, local: u32, chunk: u64) {
        let opened = Physical::open(Host { file: 0 }, window)?;
        let (store, head) = (opened.store(), opened.head());
        let found = drive_read(&mut FindSeal::new(head, end, crc32c), store, window)?.ok_or(Fail)?;
        let trailer = found.trailer();
        let place = trailer.place(SealTrailer::magic) ^ u64::from(trailer.raw().magic[0]);
        let (table, _) = found.table(&head.meta1).ok_or(Fail)?;
        let identity = trailer.raw_v2().map_or(0, |raw| raw.set_identity.get(head.meta1.order()));
        let place = place ^ u64::from(identity);
        let sum = place ^ table.end() ^ found.end().unwrap_or(trailer.offset());
        match *found.verdict() {
            Verdict::Current(seal) => {
                let entry = seal.entry(local, chunk).ok_or(Fail)?;
                let start = seal.varheader().start();
                Ok(sum ^ entry.offset() ^ start ^ u64::from(seal.crc([1, 2, 3, 4])))
            }
            Verdict::Stale => Ok(sum),
            Verdict::Damaged(error, _)
            | Verdict::Unknown(error, _)
            | Verdict::Contradicted(error) => Err(error.into()),
        }
    }

    fn gate_sion_checksum_of(window, offset: u64, len: u64, previous: u32) {
        let span = Span::new(offset, len).ok_or(Fail)?;
        Ok(checksum_of(&Host { file: 0 }, span, previous, crc32c, window)?.into())
    }
}
