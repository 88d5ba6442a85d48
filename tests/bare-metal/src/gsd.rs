//! Reading GSD files.

use crate::host::{Cursor, Host, Text};
use crate::{Answer, Fail, entries};
use core::fmt::{Display, Write};
use striae_core::field::FieldId;
use striae_core::gsd::check_entry::{EntryCheck, Finding};
use striae_core::gsd::chunk::{Key, Limits};
use striae_core::gsd::find::{Find, LowerBound};
use striae_core::gsd::layout::{IndexBlock, NameBlock, chunk_len, grown, padded, row_len};
use striae_core::gsd::names::{Counter, FindName, check_name};
use striae_core::gsd::open::Open;
use striae_core::gsd::raw::header_offset;
use striae_core::gsd::raw::{self, IndexEntry, Shadow};
use striae_core::gsd::shadow::Added;
use striae_core::gsd::verdict::Judge;
use striae_core::gsd::{
    Checksums, Chunk, ChunkType, Error, Header, Label, NamePlace, NameTable, Reader, Version,
};
use striae_core::integrity::{crc32c, wrong_bit};
use striae_core::span::Span;
use striae_core::step::{DriveError, ReadMachine, drive_read};
use striae_core::store::{SeekStore, usize_to_u64};
use zerocopy::FromBytes;

fn opened(window: &mut [u8]) -> Result<Reader<Host>, Fail> {
    Ok(Reader::open(Host { file: 0 }, window)?)
}

fn sum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, &byte| sum ^ u64::from(byte))
}

fn sum_of(chunk: &Chunk) -> u64 {
    chunk.frame ^ chunk.n ^ u64::from(chunk.m) ^ chunk.span.end() ^ u64::from(chunk.id)
}

fn kind(number: u8) -> Result<ChunkType, Fail> {
    ChunkType::from_number(number).ok_or(Fail)
}

entries! {
    /// The least that a reader needs: open, find a chunk, read some of its rows. Its size is
    /// reported alone.
    fn gate_gsd_read_one_chunk(bytes, frame: u64, start: u64, end: u64) {
        let mut window = [0; 512];
        let file = opened(&mut window)?;
        let id = file.name_id(b"position", &mut window)?.ok_or(Fail)?;
        let chunk = file.find(frame, id, &mut window)?.ok_or(Fail)?;
        Ok(usize_to_u64(file.read(chunk.rows(start..end)?, bytes)?))
    }
}

// Opening, and what the header says.
entries! {
    fn gate_gsd_open(window) {
        let mut file = opened(window)?;
        let is_new = file.refresh(window)?;
        let head = file.head();
        core::hint::black_box((file.store(), head.state.record(), head.limits(), head.index()));
        file.check_frame(head.entries)?;
        let frames = file.frames();
        core::hint::black_box(file.into_store());
        Ok(frames ^ u64::from(is_new))
    }

    fn gate_gsd_open_in_memory(bytes) {
        Ok(Reader::open(&*bytes, &mut [0; 512])?.frames())
    }

    fn gate_gsd_open_on_seek_store(window) {
        Ok(Reader::open(SeekStore::new(Cursor::default()), window)?.frames())
    }

    fn gate_gsd_open_machine(window, file_len: u64) {
        Ok(drive_read(&mut Open::new(file_len), &Host { file: 0 }, window)?.frames)
    }

    fn gate_gsd_header_parse(bytes, file_len: u64) {
        let header = Header::parse(bytes, file_len)?;
        let Version { major, minor } = header.schema_version;
        core::hint::black_box(header.ident_crc(crc32c));
        core::hint::black_box((header.version.is_readable(), header.version.is_sorted()));
        let texts = sum(header.application.as_bytes()) ^ u64::from(header.schema.is_terminated());
        let text = header.schema.as_str().ok_or(Fail)?;
        Ok(texts ^ sum(text.as_bytes()) ^ u64::from(major ^ minor))
    }

    fn gate_gsd_label(bytes) {
        let label = Label::new(core::str::from_utf8(bytes)?).ok_or(Fail)?;
        Ok(usize_to_u64(label.as_bytes().len()))
    }

    fn gate_gsd_version(_bytes, number: u32) {
        Ok(Version::from_number(number).number().into())
    }

    fn gate_gsd_record(bytes, file_len: u64, slots: u64) {
        let header = raw::Header::ref_from_bytes(bytes).map_err(|_| Fail)?;
        let image = header.image();
        core::hint::black_box((image.has_record(), image.commit_crc(crc32c), image.name_block()));
        core::hint::black_box(image.is_moved());
        let record = image.record(file_len)?.ok_or(Fail)?;
        let shown = IndexBlock { slots, ..image.index() };
        Ok(record.index(shown).ok_or(Fail)?.location)
    }

    fn gate_gsd_judge(bytes, file_len: u64) {
        let image = raw::Header::ref_from_bytes(bytes).map_err(|_| Fail)?.image();
        let mut judge = Judge::<false>::new(&image, file_len);
        let mut deep = Judge::<true>::new(&image, file_len);
        let window = &mut [0; Judge::<true>::WINDOW];
        drive_read(&mut judge, &Host { file: 0 }, window).map_err(|_| Fail)?;
        drive_read(&mut deep, &Host { file: 0 }, window).map_err(|_| Fail)?;
        core::hint::black_box((judge.basis(), judge.damage(), judge.has_lost_magic()));
        core::hint::black_box((deep.basis(), deep.damage(), deep.has_lost_magic(), deep.torn()));
        core::hint::black_box((deep.image(), deep.restored(), judge.image()));
        Ok(deep.record().ok_or(Fail)?.entries)
    }

    fn gate_wrong_bit(bytes, stored: u64) {
        let (at, bit) = wrong_bit(bytes, u32::try_from(stored).unwrap_or(0), crc32c).ok_or(Fail)?;
        Ok(usize_to_u64(at) ^ u64::from(bit))
    }

    fn gate_gsd_shadow(bytes) {
        let shadow = Shadow::parse(bytes).ok_or(Fail)?;
        let made = Shadow::of(&shadow.old, &shadow.new, Added::crc(1, 2, crc32c), crc32c);
        core::hint::black_box(made.settle(&shadow.old));
        core::hint::black_box((made.added_to(&shadow.old), Shadow::offset_of(512, 1)));
        core::hint::black_box(Added::between(&shadow.old, &shadow.new));
        Ok(made.crc.get().into())
    }
}

// Pure mathematics.
entries! {
    fn gate_gsd_index_block(_bytes, location: u64, slots: u64, slot: u64) {
        let block = IndexBlock { location, slots };
        let last = block.last(slot).ok_or(Fail)?;
        Ok(block.span().ok_or(Fail)?.end() ^ block.offset_of(slot) ^ last.location)
    }

    fn gate_gsd_name_block(_bytes, location: u64, units: u64) {
        Ok(NameBlock { location, units }.span().ok_or(Fail)?.end())
    }

    fn gate_gsd_chunk_len(_bytes, n: u64, m: u32, number: u8) {
        let kind = kind(number)?;
        core::hint::black_box((kind.name(), kind.size(), kind.number()));
        Ok(chunk_len(n, m, kind).ok_or(Fail)? ^ row_len(m, kind))
    }

    fn gate_gsd_grown(_bytes, reserved: u64, slots: u64, frames: u64) {
        Ok(grown(reserved, slots).ok_or(Fail)? ^ padded(slots, frames, reserved))
    }

    fn gate_gsd_chunk(
        bytes, location: u64, slot: u64, file_len: u64, names: u32, start: u64, end: u64,
    ) {
        let entry = IndexEntry::ref_from_bytes(bytes).map_err(|_| Fail)?;
        let index = IndexBlock { location, slots: slot };
        let chunk = Chunk::parse(entry, index, slot, Limits { file_len, names })?.ok_or(Fail)?;
        let key = entry.key();
        core::hint::black_box((entry.is_used(), chunk.to_raw()));
        Ok(chunk.rows(start..end)?.end() ^ chunk.row_len() ^ key.frame ^ u64::from(key.id))
    }
}

// Names.
entries! {
    fn gate_gsd_names(window) {
        let file = opened(window)?;
        let (mut names, mut all) = (file.names(window), 0);
        while let Some((id, name)) = names.next()? {
            all ^= u64::from(id) ^ sum(name);
        }
        Ok(all ^ file.head().name_list().end())
    }

    fn gate_gsd_names_with_prefix(window, len: usize) {
        let (prefix, window) = window.split_at_mut_checked(len).ok_or(Fail)?;
        let file = opened(window)?;
        let (mut names, mut all) = (file.names(window), 0);
        while let Some((id, name)) = names.next_with_prefix(prefix)? {
            all ^= u64::from(id) ^ sum(name);
        }
        Ok(all)
    }

    fn gate_gsd_name_id(window, len: usize) {
        let (name, window) = window.split_at_mut_checked(len).ok_or(Fail)?;
        Ok(opened(window)?.name_id(name, window)?.ok_or(Fail)?.into())
    }

    fn gate_gsd_find_name_machine(window, len: usize, offset: u64, list_len: u64, number: u32) {
        let (name, window) = window.split_at_mut_checked(len).ok_or(Fail)?;
        let list = Span::new(offset, list_len).ok_or(Fail)?;
        let mut find = FindName::new(name, list, Version::from_number(number));
        Ok(drive_read(&mut find, &Host { file: 0 }, window)?.ok_or(Fail)?.into())
    }

    fn gate_gsd_name_counter(bytes, number: u32) {
        let mut counter = Counter::new(Version::from_number(number));
        counter.feed(bytes);
        let is_done = u64::from(counter.is_done());
        Ok(counter.read() ^ counter.used() ^ u64::from(counter.names()) ^ is_done)
    }

    fn gate_gsd_check_name(bytes, number: u32) {
        Ok(check_name(bytes, Version::from_number(number)).map(|()| 0)?)
    }

    fn gate_gsd_name_table(window, len: usize, places: usize) {
        let (name, window) = window.split_at_mut_checked(len).ok_or(Fail)?;
        let file = opened(window)?;
        let mut memory = [NamePlace::EMPTY; 64];
        let memory = memory.get_mut(..places).ok_or(Fail)?;
        let table = NameTable::fill(&file, memory, window)?;
        core::hint::black_box((table.len(), table.is_empty()));
        Ok(table.id(&file, name, window)?.ok_or(Fail)?.into())
    }
}

// Chunks.
entries! {
    fn gate_gsd_find(window, frame: u64, id: u16) {
        Ok(sum_of(&opened(window)?.find(frame, id, window)?.ok_or(Fail)?))
    }

    fn gate_gsd_find_machines(window, frame: u64, id: u16, entries: u64) {
        let file = opened(window)?;
        let key = Key { frame, id };
        let mut search = LowerBound::new(file.head(), key, entries).knowing(frame, key);
        let place = drive_read(&mut search, file.store(), window)?;
        let find = Find::new(file.head(), frame, id, entries);
        let mut find = find.near(entries).first_window(frame).knowing(entries, key).ordered();
        let chunk = drive_read(&mut find, file.store(), window)?;
        Ok(sum_of(&chunk.ok_or(Fail)?) ^ place)
    }

    fn gate_gsd_find_fed_anything(bytes, frame: u64, id: u16, entries: u64) {
        let head = *Reader::open(&*bytes, &mut [0; 512])?.head();
        let mut find = Find::new(&head, frame, id, entries);
        let _ = core::hint::black_box(find.poll());
        find.feed(bytes)?;
        let _ = core::hint::black_box(find.poll());
        let mut open = Open::new(entries);
        let _ = core::hint::black_box(open.poll());
        open.feed(bytes)?;
        let _ = core::hint::black_box(open.poll());
        Ok(0)
    }

    fn gate_gsd_chunks(window) {
        let file = opened(window)?;
        let (mut chunks, mut all) = (file.chunks(window), 0);
        while let Some(chunk) = chunks.next() {
            all ^= sum_of(&chunk?) ^ chunks.slot();
        }
        Ok(all)
    }

    fn gate_gsd_chunks_of(window, start: u64, end: u64) {
        let file = opened(window)?;
        let mut all = 0;
        for chunk in file.chunks_of(start..end, window)?.ordered() {
            all ^= sum_of(&chunk?);
        }
        Ok(all)
    }

    fn gate_gsd_read(bytes, offset: u64, len: u64) {
        let file = opened(&mut [0; 512])?;
        Ok(usize_to_u64(file.read(Span::new(offset, len).ok_or(Fail)?, bytes)?))
    }

    fn gate_gsd_checksums(bytes, frame: u64, id: u16, crc: u32) {
        let mut window = [0; 512];
        let chunk = opened(&mut window)?.find(frame, id, &mut window)?.ok_or(Fail)?;
        let sums = Checksums::parse(chunk, bytes, crc32c)?;
        sums.check(&chunk, crc, crc32c)?;
        Ok(sums.ids().fold(0, |sum, id| sum ^ u64::from(id)))
    }

    fn gate_gsd_header_offset(_bytes, table: u8, offset: u16) {
        Ok(header_offset(FieldId::new(table, offset)).unwrap_or(0))
    }

    fn gate_gsd_error_kind(window) {
        let Err(error) = Reader::open(Host { file: 0 }, window) else { return Err(Fail) };
        core::hint::black_box(embedded_io::Error::kind(&error));
        Ok(0)
    }
}

/// Hands `each` what is wrong with the entry in `bytes`.
fn findings(bytes: &mut [u8], offset: u64, mut each: impl FnMut(Finding) -> Answer) -> Answer {
    let mut window = [0; 512];
    let head = *opened(&mut window)?.head();
    let two = <[IndexEntry]>::ref_from_bytes(bytes).map_err(|_| Fail)?;
    let [before, entry] = two else { return Err(Fail) };
    let mut answer = Ok(0);
    EntryCheck::new(&head).findings(Some(before), entry, offset, |finding| {
        if answer.is_ok() {
            answer = each(finding);
        }
    });
    answer
}

entries! {
    fn gate_gsd_findings(bytes, offset: u64) {
        findings(bytes, offset, |finding| {
            core::hint::black_box((finding.field(), finding.entry_offset()));
            Ok(finding.offset() & 0xff)
        })
    }
}

fn show(text: impl Display) -> Answer {
    write!(Text, "{text}")?;
    Ok(0)
}

// Texts; see text.rs.
entries! {
    fn gate_text_gsd_version(_bytes, number: u32) { show(Version::from_number(number)) }
    fn gate_text_gsd_kind(_bytes, number: u8) { show(kind(number)?) }

    fn gate_text64_gsd_error(window) {
        match Reader::open(Host { file: 0 }, window) {
            Ok(_) => Ok(0),
            Err(DriveError::Format(error)) if error.blames_caller() => Ok(1),
            Err(error) => show(error),
        }
    }

    fn gate_text64_gsd_no_rows(bytes, start: u64, end: u64, n: u64) {
        core::hint::black_box(bytes);
        show(Error::NoRows { start, end, n })
    }

    fn gate_text64_gsd_findings(bytes, offset: u64) { findings(bytes, offset, show) }
}
