//! Writing SIONlib files: the writer, and the machines and numbers under it.

use crate::host::{Cursor as Device, Host};
use crate::{Fail, entries};
use embedded_io::Write;
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::close::Close;
use striae_core::sion::commit::{
    Column, Commit, Entries, Outcome, Publication, Unchanged, Written,
};
use striae_core::sion::create::{Create, TaskTable, blocks};
use striae_core::sion::cursor::Cursor;
use striae_core::sion::layout::Chunks;
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{
    Attributes, Blocks, Finished, Memory, Meta1, Opened, Options, Physical, Seal, SealState, Slot,
    Varheader, Writer,
};
use striae_core::span::Span;
use striae_core::step::drive;
use striae_core::store::SeekStore;

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
    let (mut slots, mut ledger) = ([Slot::EMPTY; 4], [Finished::EMPTY; 4]);
    let memory = Memory { slots: &mut slots, ledger: &mut ledger, window };
    work(&mut Writer::reopen(Host { file: 0 }, memory, options(false, 2))?)
}

entries! {
    /// The least that a data logger needs: create, write, close. Its size is reported alone.
    fn gate_sion_write_one_file(bytes, chunksize: u64) {
        let (mut slots, mut ledger) = ([Slot::EMPTY; 1], [Finished::EMPTY; 1]);
        let mut window = [0; Meta1::MAX_LEN];
        let memory = Memory { slots: &mut slots, ledger: &mut ledger, window: &mut window };
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
        let (mut slots, mut ledger) = ([Slot::EMPTY; 4], [Finished::EMPTY; 4]);
        let (prefix, window) = window.split_at_mut_checked(8).ok_or(Fail)?;
        let memory = Memory { slots: &mut slots, ledger: &mut ledger, window };
        let attributes = attributes(flags, fsblksize, nfiles);
        let options = options(flags & 8 == 8, ahead);
        let tasks = Tasks { ntasks, globalrank: i64::from(ahead), chunksize };
        let writer =
            Writer::create(Host { file: 0 }, &attributes, prefix, &tasks, memory, options)?;
        core::hint::black_box((writer.meta1(), writer.cursor(ahead)?.place(1)?));
        Ok(u64::from(writer.into_store().file))
    }

    fn gate_sion_writer_on_seek_store(window) {
        let (mut slots, mut ledger) = ([Slot::EMPTY; 4], [Finished::EMPTY; 4]);
        let memory = Memory { slots: &mut slots, ledger: &mut ledger, window };
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
            Ok(u64::try_from(writer.write_some(local, bytes)?).unwrap_or(0))
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
            Ok(u64::try_from(n).unwrap_or(0))
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
    let new = Varheader { start, ntasks, maxchunks, mapping_len, sealed: flags & 8 == 8 };
    let old = Varheader { maxchunks: maxchunks >> 1, ..new }.behind(mapping_len);
    Ok(Publication { meta1, old, new, file_len: u64::MAX, checksum: crc32c })
}

fn outcome(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Unchanged => 0,
        Outcome::Unknown(new) | Outcome::Published(new) => new.start,
    }
}

// The machines, with any numbers.
entries! {
    fn gate_sion_create_machine(
        window, flags: u8, fsblksize: u32, ntasks: u64, globalrank: i64, chunksize: u64,
    ) {
        let meta1 = Meta1::new(&attributes(flags, fsblksize, 1), ntasks)?;
        core::hint::black_box((meta1.has_empty_mapping(), meta1.to_raw(window)?));
        let tasks = Tasks { ntasks, globalrank, chunksize };
        let before = blocks(&meta1, &tasks)?;
        let (mut create, blocks) = Create::new(&meta1, b"x", &tasks, window)?;
        drive(&mut create, &mut Host { file: 0 }, &mut [])?;
        Ok(blocks.globalskip ^ before.first)
    }

    fn gate_sion_commit_machine(
        window, flags: u8, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64,
    ) {
        let publication = publication(flags, start, ntasks, maxchunks, mapping_len)?;
        let (front, back) = window.split_at_mut_checked(window.len() >> 1).ok_or(Fail)?;
        let mut commit = Commit::new(publication, Values(mapping_len), front)?;
        let result = drive(&mut commit, &mut Host { file: 0 }, back);
        let outcome = outcome(commit.outcome());
        let mut unchanged = Commit::new(publication, Unchanged, front)?;
        core::hint::black_box(drive(&mut unchanged, &mut Host { file: 0 }, back).is_ok());
        Ok(result.map_err(|error| error.infallible::<core::fmt::Error>())?.start ^ outcome)
    }

    fn gate_sion_settle_machine(
        _bytes, flags: u8, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64,
    ) {
        let publication = publication(flags, start, ntasks, maxchunks, mapping_len)?;
        let mut settle = Commit::settle(&publication.meta1, publication.new);
        Ok(drive(&mut settle, &mut Host { file: 0 }, &mut [])?.start)
    }

    fn gate_sion_close_machine(
        window, flags: u8, start: u64, ntasks: u32, maxchunks: u32, globalskip: u64,
    ) {
        let publication = publication(flags, start, ntasks, maxchunks, globalskip)?;
        let blocks = Blocks { first: start, globalskip };
        let (front, back) = window.split_at_mut_checked(window.len() >> 1).ok_or(Fail)?;
        let mut close = Close::new(publication, &blocks, Values(globalskip), front)?;
        let result = drive(&mut close, &mut Host { file: 0 }, back);
        Ok(result?.start ^ outcome(close.outcome()))
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

    fn gate_sion_slot(_bytes) {
        Ok(core::hint::black_box(Slot::EMPTY).cursor().room())
    }

    fn gate_sion_varheader(
        _bytes, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64, sealed: bool, reach: u64,
    ) {
        let shape = Varheader { start: 0, ntasks, maxchunks, mapping_len, sealed };
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
        let end = blocks.end(reach).ok_or(Fail)?;
        Ok(sum ^ blocks.before(end) ^ new.behind(end).ok_or(Fail)?.start)
    }

    fn gate_crc32c(bytes, previous: u32) {
        Ok(crc32c(previous, bytes).into())
    }
}

// Seals.
entries! {
    fn gate_sion_seal_parse(
        bytes, start: u64, ntasks: u32, maxchunks: u32, mapping_len: u64, local: u32, chunk: u64,
    ) {
        let shape = Varheader { start, ntasks, maxchunks, mapping_len, sealed: true };
        let SealState::Sealed(seal) = Seal::parse(bytes, &shape, order(local & 1 == 1))? else {
            return Err(Fail);
        };
        let entry = seal.entry(local, chunk).ok_or(Fail)?;
        Ok(entry.offset() ^ seal.varheader().start ^ u64::from(seal.crc([1, 2, 3, 4])))
    }

    fn gate_sion_seal_check(window, local: u32, chunk: u64) {
        let Opened::Closed(file) = Physical::open(Host { file: 0 }, window)? else {
            return Err(Fail);
        };
        let mapping = file.mapping()?;
        core::hint::black_box(Varheader::of(file.head(), mapping.as_ref()));
        let SealState::Sealed(seal) = file.seal()? else { return Err(Fail) };
        seal.check_metadata(file.store(), chunk, crc32c, window)?;
        Ok(file.sealed_crc(&seal, local, chunk)?.into())
    }

    fn gate_sion_checksum_of(window, offset: u64, len: u64, previous: u32) {
        let span = Span::new(offset, len).ok_or(Fail)?;
        Ok(checksum_of(&Host { file: 0 }, span, previous, crc32c, window)?.into())
    }
}
