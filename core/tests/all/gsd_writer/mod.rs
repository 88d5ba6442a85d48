//! What core's GSD writer refuses, and that nothing comes of it; and that whatever is written is
//! read.

mod begin;
mod book;
mod discard;
mod old_shadows;
mod one_sync;
mod programs;
mod room;
mod torn_create;

use std::borrow::{Borrow, BorrowMut};
use std::cell::Cell;
use std::rc::Rc;
use striae_core::gsd::error::BadName;
use striae_core::gsd::{Attributes, ChunkType, Error, Reader, Slot, Version, Writer};
use striae_core::step::DriveError;
use striae_core::store::{FixedSize, ReadAt, WriteAt};
use striae_kit::gsd_files::golden_files;

const OLD: Version = Version { major: 1, minor: 0 };
const CHECKSUMS: &[u8] = b"striae/crc32c";

/// Memory that grows up to a limit, as a file does.
#[derive(Debug, Clone)]
struct Disk {
    bytes: Vec<u8>,
    limit: usize,
    /// The most bytes that were read at once.
    longest: Cell<usize>,
}

impl Disk {
    fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, limit: usize::MAX, longest: Cell::new(0) }
    }

    fn full(&self, wanted: usize) -> Result<(), FixedSize> {
        let (len, is_full) = (self.limit, wanted > self.limit);
        if is_full { Err(FixedSize { len, wanted: wanted as u64 }) } else { Ok(()) }
    }
}

impl ReadAt for Disk {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.longest.update(|longest| longest.max(buf.len()));
        self.bytes.as_slice().read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.bytes.as_slice().size()
    }
}

impl WriteAt for Disk {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        let end = offset as usize + bytes.len();
        self.full(end)?;
        if !bytes.is_empty() {
            self.bytes.resize(self.bytes.len().max(end), 0);
            self.bytes[offset as usize..end].copy_from_slice(bytes);
        }
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), FixedSize> {
        self.full(len as usize)?;
        self.bytes.resize(len as usize, 0);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        Ok(())
    }
}

/// A change of a disk, before it is made.
#[derive(Debug, Clone, Copy)]
enum Change<'b> {
    Write(u64, &'b [u8]),
    SetSize(u64),
    Order,
    Sync,
}

impl Change<'_> {
    fn make(self, disk: &mut Disk) -> Result<(), FixedSize> {
        match self {
            Self::Write(offset, bytes) => disk.write_all_at(offset, bytes),
            Self::SetSize(len) => disk.set_size(len),
            Self::Order | Self::Sync => Ok(()),
        }
    }
}

/// A disk whose changes a hook makes, or does not make.
struct Hooked<D, H> {
    disk: D,
    hook: H,
}

impl<D: Borrow<Disk>, H> ReadAt for Hooked<D, H> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.disk.borrow().read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.disk.borrow().size()
    }
}

impl<D, H> WriteAt for Hooked<D, H>
where
    D: BorrowMut<Disk>,
    H: FnMut(&mut Disk, Change<'_>) -> Result<(), FixedSize>,
{
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        (self.hook)(self.disk.borrow_mut(), Change::Write(offset, bytes))
    }

    fn set_size(&mut self, len: u64) -> Result<(), FixedSize> {
        (self.hook)(self.disk.borrow_mut(), Change::SetSize(len))
    }

    fn order(&mut self) -> Result<(), FixedSize> {
        (self.hook)(self.disk.borrow_mut(), Change::Order)
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        (self.hook)(self.disk.borrow_mut(), Change::Sync)
    }
}

/// A disk of which one change fails.
type Failing = Hooked<Disk, Box<dyn FnMut(&mut Disk, Change<'_>) -> Result<(), FixedSize>>>;

/// A disk that fails once, after so many changes. Of a write that fails, `kept` halves are written.
fn failing(disk: Disk, fuel: &Rc<Cell<usize>>, kept: usize) -> Failing {
    let fuel = Rc::clone(fuel);
    let hook = move |disk: &mut Disk, change: Change<'_>| {
        if matches!(change, Change::Order) {
            return Ok(()); // no operation of the disk
        }
        if fuel.replace(fuel.get().wrapping_sub(1)) > 0 {
            return change.make(disk);
        }
        if let Change::Write(offset, bytes) = change {
            disk.write_all_at(offset, &bytes[..bytes.len() * kept / 2])?;
        }
        Err(FixedSize { len: 0, wanted: 0 })
    };
    Hooked { disk, hook: Box::new(hook) }
}

type FileWriter = Writer<Disk, Vec<Slot>>;
type Failure = DriveError<FixedSize, Error>;

/// A chunk: frame, name, type, rows, columns, bytes.
type Chunk = (u64, Vec<u8>, ChunkType, u64, u32, Vec<u8>);

/// All chunks of a file but those of checksums, each of which is also found by its name.
fn chunks(bytes: &[u8]) -> Vec<Chunk> {
    let mut window = [0; 4096];
    let file = Reader::open(bytes, &mut window).unwrap();
    let mut names = Vec::new();
    let mut listed = file.names(vec![0; 1 << 17]);
    while let Some((id, name)) = listed.next().unwrap() {
        assert_eq!(usize::from(id), names.len());
        names.push(name.to_vec());
    }
    let mut all = Vec::new();
    for chunk in file.chunks([0; 4096]) {
        let chunk = chunk.unwrap();
        assert_eq!(file.find(chunk.frame, chunk.id, &mut window).unwrap(), Some(chunk));
        let name = names[usize::from(chunk.id)].clone();
        let value = &bytes[chunk.span.offset() as usize..chunk.span.end() as usize];
        if name != CHECKSUMS {
            all.push((chunk.frame, name, chunk.kind, chunk.n, chunk.m, value.to_vec()));
        }
    }
    all
}

/// The entries that a header shows: frame, id, location.
fn shown(bytes: &[u8]) -> Vec<(u64, u16, u64)> {
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (at, count) = (number(8) as usize, number(16) as usize);
    let slots = bytes[at..at + 32 * count].chunks_exact(32);
    let id = |slot: &[u8]| u16::from_le_bytes([slot[28], slot[29]]);
    let of = |slot: &[u8], at: usize| u64::from_le_bytes(slot[at..at + 8].try_into().unwrap());
    slots.map(|slot| (of(slot, 0), id(slot), of(slot, 16))).collect()
}

fn create(attributes: &Attributes<'_>, slots: usize) -> FileWriter {
    Writer::create(Disk::new(Vec::new()), attributes, vec![Slot::EMPTY; slots]).unwrap()
}

fn reopen(writer: FileWriter, slots: usize) -> FileWriter {
    Writer::open(writer.into_store(), vec![Slot::EMPTY; slots]).unwrap()
}

fn old() -> Attributes<'static> {
    Attributes { layer: OLD, ..Attributes::default() }
}

fn sealed() -> Attributes<'static> {
    Attributes { checksums: true, ..Attributes::default() }
}

/// Does what is refused in the middle of a frame: the error is `want`, no byte of the file changes,
/// and the frame is as if it had not been tried.
fn refused(
    attributes: &Attributes<'_>,
    want: Error,
    act: impl Fn(&mut FileWriter) -> Result<(), Failure>,
) {
    let mut writer = create(attributes, 4);
    let id = writer.name(b"known").unwrap();
    writer.write_chunk(id, ChunkType::U8, 1, b"first").unwrap();
    writer.end_frame().unwrap();
    writer.commit().unwrap();
    writer.write_chunk(id, ChunkType::U16, 1, b"2nd!").unwrap();
    let (before, names) = (writer.store().bytes.clone(), writer.names());
    match act(&mut writer) {
        Err(DriveError::Format(error)) => assert_eq!(error, want),
        other => panic!("{other:?}, expected {want:?}"),
    }
    assert!(writer.store().bytes == before, "{want:?} has changed the file");
    assert_eq!((writer.names(), writer.frames()), (names, 1));
    let more = writer.name(b"more").unwrap();
    writer.write_chunk(more, ChunkType::U8, 1, b"3").unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let (known, more) = (b"known".to_vec(), b"more".to_vec());
    let expected = [
        (0, known.clone(), ChunkType::U8, 5, 1, b"first".to_vec()),
        (1, known, ChunkType::U16, 2, 1, b"2nd!".to_vec()),
        (1, more, ChunkType::U8, 1, 1, b"3".to_vec()),
    ];
    assert_eq!(chunks(&writer.store().bytes), expected);
}

#[test]
fn a_name_has_one_chunk_a_frame() {
    let want = Error::Duplicate { id: 0, frame: 1 };
    for attributes in [Attributes::default(), old(), sealed()] {
        refused(&attributes, want, |w| w.write_chunk(0, ChunkType::U8, 1, b"x").map(drop));
        refused(&attributes, want, |w| w.begin_chunk(0, ChunkType::U8, 1).map(drop));
    }
}

#[test]
fn a_name_has_bytes_and_no_nul() {
    for attributes in [Attributes::default(), old()] {
        refused(&attributes, Error::BadName(BadName::Empty), |w| w.name(b"").map(drop));
        let nul = Error::BadName(BadName::Nul { at: 1 });
        refused(&attributes, nul, |w| w.name(b"a\0b").map(drop));
        refused(&attributes, nul, |w| w.add_name(b"a\0").map(drop));
    }
}

#[test]
fn a_name_of_layer_1_has_63_bytes_at_most() {
    let long = Error::BadName(BadName::Long { len: 64, max: 63 });
    refused(&old(), long, |w| w.name(&[b'x'; 64]).map(drop));
    let mut writer = create(&old(), 4);
    assert_eq!(writer.name(&[b'x'; 63]).unwrap(), 0);
    let mut writer = create(&Attributes::default(), 4);
    assert_eq!(writer.name(&[b'x'; 5000]).unwrap(), 0);
}

#[test]
fn a_chunk_has_a_name_columns_and_whole_rows() {
    let attributes = Attributes::default();
    let none = Error::NoName { id: 1, names: 1 };
    refused(&attributes, none, |w| w.write_chunk(1, ChunkType::U8, 1, b"x").map(drop));
    refused(&attributes, Error::NoColumns, |w| w.write_chunk(0, ChunkType::U8, 0, b"").map(drop));
    let rows = Error::Rows { len: 5, want: 12 };
    refused(&attributes, rows, |w| w.write_chunk(0, ChunkType::F32, 3, b"12345").map(drop));
}

#[test]
fn text_is_for_layer_2_1() {
    let want = Error::Layer { gsd_version: OLD.number(), kind: Some(ChunkType::Character) };
    refused(&old(), want, |w| w.write_chunk(0, ChunkType::Character, 1, b"x").map(drop));
    let mut writer = create(&old(), 4);
    let [first, next] = [b"a", b"b"].map(|name| writer.name(name).unwrap());
    writer.write_chunk(first, ChunkType::U8, 1, b"x").unwrap(); // of a type that it has
    let refused = writer.write_chunk(next, ChunkType::Character, 1, b"x").unwrap_err();
    assert_eq!(refused, DriveError::Format(want));
}

#[test]
fn a_streamed_chunk_of_partial_rows_is_none() {
    let mut writer = create(&Attributes::default(), 4);
    let id = writer.name(b"a").unwrap();
    let mut chunk = writer.begin_chunk(id, ChunkType::U32, 1).unwrap();
    chunk.write(b"12345").unwrap();
    let want = Error::Rows { len: 5, want: 4 };
    assert_eq!(chunk.finish().unwrap_err(), DriveError::Format(want));
    let mut chunk = writer.begin_chunk(id, ChunkType::U32, 1).unwrap();
    chunk.write(b"123").unwrap();
    chunk.write(b"4").unwrap();
    chunk.finish().unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let expected = [(0, b"a".to_vec(), ChunkType::U32, 1, 1, b"1234".to_vec())];
    assert_eq!(chunks(&writer.store().bytes), expected);
}

#[test]
fn a_frame_without_chunks_has_no_checksums_when_entries_wait() {
    let mut writer = create(&sealed(), 4);
    let ids = [b"a", b"b"].map(|name| writer.name(name).unwrap());
    for _ in 0..3 {
        for id in ids {
            writer.write_chunk(id, ChunkType::U8, 1, &[1]).unwrap();
        }
        writer.end_frame().unwrap(); // of three entries: more than half of what there is memory for
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    let file = Reader::open(&writer.store().bytes[..], &mut [0; 256]).unwrap();
    let frames: Vec<_> = file.chunks([0; 4096]).map(|chunk| chunk.unwrap().frame).collect();
    assert_eq!(frames, [0, 0, 0, 2, 2, 2, 4, 4, 4]);
}

#[test]
fn a_frame_has_as_many_chunks_as_there_is_memory_for() {
    for (attributes, most) in [(Attributes::default(), 5), (sealed(), 3)] {
        let mut writer = create(&attributes, 4); // 160 bytes: 32 an entry, 8 a row of checksums
        let ids: Vec<_> =
            (0..9).map(|n| writer.name(format!("n{n}").as_bytes()).unwrap()).collect();
        for frame in 0..3 {
            for &id in &ids[..most] {
                writer.write_chunk(id, ChunkType::U8, 1, &[1]).unwrap();
            }
            let full = Error::FrameFull { frame, chunks: most as u64 };
            let refused = writer.write_chunk(ids[most], ChunkType::U8, 1, &[1]).unwrap_err();
            assert_eq!(refused, DriveError::Format(full));
            writer.end_frame().unwrap();
        }
        writer.close().unwrap();
        assert_eq!(chunks(&writer.store().bytes).len(), 3 * most);
    }
}

/// The writer makes such a chunk for each frame.
#[test]
fn the_name_of_checksums_is_not_for_others() {
    let mut writer = create(&sealed(), 6);
    for turn in 0..3 {
        let a = writer.name(b"a").unwrap();
        writer.write_chunk(a, ChunkType::U8, 1, b"x").unwrap();
        let id = if turn == 0 { writer.name(CHECKSUMS).unwrap() } else { 1 };
        let refused = writer.write_chunk(id, ChunkType::U32, 2, &[0; 8]).unwrap_err();
        assert_eq!(refused, DriveError::Format(Error::Duplicate { id, frame: turn }));
        assert_eq!(writer.end_frame().unwrap(), turn);
        writer.commit().unwrap();
        writer = reopen(writer, 6);
    }
}

#[test]
fn a_file_has_65535_names() {
    let mut bytes = Vec::new();
    for attributes in [Attributes::default(), old()] {
        let mut writer = create(&attributes, 4);
        for number in 0..65535 {
            let name = format!("{number:x}");
            assert_eq!(u32::from(writer.add_name(name.as_bytes()).unwrap()), number);
        }
        assert_eq!(writer.add_name(b"one more").unwrap_err(), DriveError::Format(Error::NamesFull));
        writer.write_chunk(65534, ChunkType::U8, 1, b"x").unwrap();
        writer.end_frame().unwrap();
        writer.close().unwrap();
        let mut writer = reopen(writer, 4);
        assert_eq!(writer.names(), 65535);
        assert_eq!(writer.name(b"one more").unwrap_err(), DriveError::Format(Error::NamesFull));
        assert_eq!(writer.name(b"fffe").unwrap(), 65534);
        bytes = writer.into_store().bytes;
        let expected = [(0, b"fffe".to_vec(), ChunkType::U8, 1, 1, b"x".to_vec())];
        assert_eq!(chunks(&bytes), expected);
    }
    assert!(bytes.len() > 65535 * 64);
}

/// The name of checksums is one of them, and no other takes its place.
#[test]
fn a_file_with_checksums_has_room_for_their_name() {
    let mut writer = create(&Attributes { checksums: true, ..Attributes::default() }, 4);
    for number in 0..65534 {
        writer.add_name(format!("{number:x}").as_bytes()).unwrap();
    }
    assert_eq!(writer.name(b"one more").unwrap_err(), DriveError::Format(Error::NamesFull));
    writer.write_chunk(65533, ChunkType::U8, 1, b"x").unwrap();
    writer.end_frame().unwrap();
    assert_eq!(writer.names(), 65535);
    writer.close().unwrap();
    assert_eq!(reopen(writer, 4).names(), 65535);
}

#[test]
fn what_there_is_no_room_for_can_be_written_later() {
    for room in (0..9000).step_by(7) {
        let mut writer = create(&Attributes { index_slots: 1, ..Attributes::default() }, 6);
        writer.name(b"a").unwrap();
        writer.write_chunk(0, ChunkType::U8, 1, b"first").unwrap();
        writer.end_frame().unwrap();
        writer.commit().unwrap();
        let first = (0, b"a".to_vec(), ChunkType::U8, 5, 1, b"first".to_vec());
        let mut disk = writer.into_store();
        disk.limit = disk.bytes.len() + room;
        let mut writer = Writer::open(disk, vec![Slot::EMPTY; 6]).unwrap();
        let tried = append(&mut writer);
        let mut disk = writer.into_store();
        let there = chunks(&disk.bytes);
        assert_eq!(there[0], first);
        assert_eq!(there.len(), if tried.is_ok() { 2 } else { 1 });
        disk.limit = usize::MAX;
        let mut writer = Writer::open(disk, vec![Slot::EMPTY; 6]).unwrap();
        append(&mut writer).unwrap();
        let there = chunks(&writer.store().bytes);
        assert_eq!(there.len(), if tried.is_ok() { 3 } else { 2 });
        assert_eq!(there[0], first);
    }
}

/// A frame of a chunk with a long name, committed.
fn append(writer: &mut FileWriter) -> Result<(), Failure> {
    let id = writer.name(&[b'z'; 2000])?;
    writer.write_chunk(id, ChunkType::U64, 1, &[7; 4000])?;
    writer.end_frame()?;
    writer.commit()
}

#[test]
fn every_file_of_gsd_keeps_what_it_had() {
    for file in golden_files().iter().filter(|file| file.is_valid()) {
        let name = &file.name;
        let before = chunks(&file.bytes);
        assert_eq!(before.len(), file.chunks().len(), "{name}");
        let frames = file.expected["nframes"].as_u64().unwrap();
        let mut disk = Disk::new(file.bytes.clone());
        for turn in 0..3 {
            let mut writer = Writer::open(disk, vec![Slot::EMPTY; 6]).unwrap();
            assert_eq!(writer.frames(), frames + turn, "{name}");
            let id = if writer.names() < 65535 { writer.name(b"ours").unwrap() } else { 0 };
            writer.write_chunk(id, ChunkType::U8, 1, &[1, 2]).unwrap();
            writer.end_frame().unwrap();
            writer.close().unwrap();
            disk = writer.into_store();
            let now = chunks(&disk.bytes);
            assert_eq!(now[..before.len()], before, "{name}");
            assert_eq!(now.len(), before.len() + turn as usize + 1, "{name}");
            assert_eq!(now[now.len() - 1].0, frames + turn, "{name}");
        }
    }
}
