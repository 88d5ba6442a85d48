//! GSD at the edges: attributes and names that no file can have, books of files in every state,
//! blocks at the end of the longest file, windows that are too short.

use crate::edges::fed_after_its_end;
use striae_core::gsd::book::Book;
use striae_core::gsd::create::Create;
use striae_core::gsd::error::BadName;
use striae_core::gsd::fixed::Fault;
use striae_core::gsd::layout::MAX_NAMES_LEN;
use striae_core::gsd::raw::{Commit, Header};
use striae_core::gsd::verdict::Judge;
use striae_core::gsd::{
    Attributes, Checksums, Chunk, ChunkType, Element, Error, FixedLogger, Label, Logger, NamePlace,
    NameTable, OwnLogger, Reader, Shape, Slot, State, Version, Writer,
};
use striae_core::integrity::crc32c;
use striae_core::step::DriveError;
use striae_core::store::{FixedSize, ReadAt, WriteAt};
use striae_kit::growing::Growing;
use striae_kit::gsd_files::{Entry, Made, image, signed, with, with_image};

const SUMS: &[u8] = b"striae/crc32c";
const PLAIN: Attributes<'static> = Attributes::DEFAULT;
const OLD: Version = Version { major: 1, minor: 0 };
const SLOTS: [Slot; 6] = [Slot::EMPTY; 6];

/// What a name of a file holds: frame, id, bytes.
pub(crate) type Held = (u64, u16, Vec<u8>);

pub(crate) fn held(file: &[u8]) -> Vec<Held> {
    let reader = Reader::open(file, &mut [0; 256]).unwrap();
    let chunks = reader.chunks([0; 512]).map(|chunk| {
        let chunk = chunk.unwrap();
        let mut bytes = vec![0; usize::try_from(chunk.span.len()).unwrap()];
        reader.read(chunk.span, &mut bytes).unwrap();
        (chunk.frame, chunk.id, bytes)
    });
    chunks.collect()
}

pub(crate) fn created(about: &Attributes<'_>) -> Writer<Growing, [Slot; 6]> {
    Writer::create(Growing::default(), about, SLOTS).unwrap()
}

#[test]
fn a_label_has_63_bytes_at_most_and_no_nul() {
    let longest = "x".repeat(63);
    assert_eq!(Label::new(&longest).unwrap().as_str(), Some(longest.as_str()));
    assert!(Label::new(&longest).unwrap().is_terminated());
    for text in [format!("{longest}x"), "a\0b".to_owned()] {
        assert!(Label::new(&text).is_none());
        let value = text.len() as u64;
        let refused = |field| Err(Error::OutOfRange { field, value, min: 0, max: 63 });
        let application = Attributes { application: &text, ..PLAIN };
        assert_eq!(application.least_len(), refused(Header::application));
        let schema = Attributes { schema: &text, ..PLAIN };
        assert_eq!(schema.least_len(), refused(Header::schema));
    }
}

#[test]
fn new_files_are_of_layer_1_0_or_2_1() {
    for (major, minor) in [(0, 3), (1, 1), (2, 0), (2, 2), (3, 0)] {
        let layer = Version { major, minor };
        let gsd_version = u32::from(major) << 16 | u32::from(minor);
        let refused = Error::Layer { gsd_version, kind: None };
        let about = Attributes { layer, ..PLAIN };
        assert_eq!(about.least_len(), Err(refused));
        assert_eq!(Create::new(&about, 0, crc32c).unwrap_err(), refused);
    }
    for (layer, gsd_version) in [(OLD, 0x1_0000), (Version::LAYER, 0x2_0001)] {
        let create = Create::new(&Attributes { layer, ..PLAIN }, 0, crc32c).unwrap();
        let header = create.header();
        assert_eq!(header.magic.get(), 0x65DF_65DF_65DF_65DF);
        assert_eq!(header.gsd_version.get(), gsd_version);
        assert_eq!(create.data_end(), 10_240, "as `Attributes::least_len` documents");
    }
}

#[test]
fn a_shape_has_no_checksums_no_commits_of_one_sync_and_one_layer() {
    let refused = |field| Some(Error::OutOfRange { field, value: 1, min: 0, max: 0 });
    let sums = Attributes { checksums: true, ..PLAIN };
    assert_eq!(Shape::new(&sums, ["a"]).err(), refused(Commit::checksums));
    let once = Attributes { one_sync: true, ..PLAIN };
    assert_eq!(Shape::new(&once, ["a"]).err(), refused(Commit::one_sync));
    let layer = Error::Layer { gsd_version: OLD.number(), kind: None };
    assert_eq!(Shape::new(&Attributes { layer: OLD, ..PLAIN }, ["a"]).err(), Some(layer));
    assert_eq!(Shape::new(&PLAIN, []).unwrap().least_len(), 10_240);
}

#[test]
fn the_names_of_a_shape_are_those_of_a_list() {
    let refused = |names| Shape::<3>::new(&PLAIN, names).err();
    for names in [["a", "b", "a"], ["b", "a", "a"], ["ab", "ab", "b"]] {
        assert!(matches!(refused(names), Some(Error::Duplicate { .. })), "{names:?}");
    }
    assert_eq!(refused(["a", "", "b"]), Some(Error::BadName(BadName::Empty)));
    assert_eq!(refused(["a", "ab", "abc"]), None, "a name may begin with another one");
    assert_eq!(refused(["abc", "ab", "a"]), None);
}

#[test]
fn a_name_with_a_nul_is_told_with_its_place() {
    let text = "a name cannot have a NUL, as this one at byte 1";
    assert_eq!(BadName::Nul { at: 1 }.to_string(), text);
    let text = "a name cannot have 70 bytes in this file, must be at most 63";
    assert_eq!(BadName::Long { len: 70, max: 63 }.to_string(), text);
}

#[test]
fn a_shape_has_room_for_its_names_even_if_its_attributes_have_less() {
    let long = "x".repeat(200); // with its end in 256 bytes, as lists have units of 64
    let len = |names_len| {
        let about = Attributes { names_len, ..PLAIN };
        Shape::new(&about, [long.as_str()]).unwrap().least_len()
    };
    assert_eq!([len(64), len(192)], [len(256); 2]);
    assert!(len(1024) > len(256));
}

#[test]
fn a_value_in_the_order_of_a_file_is_little_endian() {
    assert_eq!(0x0102_u16.swap_to_file(), 0x0102_u16.to_le());
    assert_eq!((-2_i32).swap_to_file(), (-2_i32).to_le());
    assert_eq!(1.5_f32.swap_to_file().to_bits(), 1.5_f32.to_bits().to_le());
    assert_eq!(1e300_f64.swap_to_file().swap_to_file(), 1e300);
}

#[test]
fn a_name_that_another_one_shares_its_hash_with_is_not_in_the_file() {
    // of one FNV-1a of 32 bits
    let [shorter, longer]: [&[u8]; 2] = [b"liquid", b"costarring"];
    for major in [1, 2] {
        for (there, other) in [(shorter, longer), (longer, shorter)] {
            let made = Made { layer: (major, 0), ..Made::new(vec![], 0) };
            let bytes = Made { names: vec![there.to_vec()], ..made }.bytes();
            let file = Reader::open(&bytes[..], &mut [0; 256]).unwrap();
            let mut memory = [NamePlace::EMPTY; 1];
            let table = NameTable::fill(&file, &mut memory, &mut [0; 64]).unwrap();
            assert_eq!((table.len(), table.is_empty()), (1, false));
            assert_eq!(table.id(&file, other, &mut [0; 64]), Ok(None));
            assert_eq!(table.id(&file, there, &mut [0; 64]), Ok(Some(0)));
        }
    }
}

#[test]
fn a_name_that_is_longer_than_the_window_is_refused_each_time() {
    let names = vec![b"abc".to_vec(), b"a longer name".to_vec()];
    let bytes = Made { names, ..Made::new(vec![], 0) }.bytes();
    let file = Reader::open(&bytes[..], &mut [0; 256]).unwrap();
    let mut names = file.names([0; 4]);
    assert_eq!(names.next(), Ok(Some((0, &b"abc"[..]))));
    for _ in 0..3 {
        let refused = names.next().unwrap_err();
        assert!(matches!(refused, DriveError::Format(Error::Memory { have: 4, .. })));
    }
}

#[test]
fn a_judge_that_is_done_stays_so_whatever_it_is_fed() {
    let mut file = created(&PLAIN);
    file.name(b"a").unwrap();
    file.commit().unwrap();
    let file = file.into_store().0;
    let head = *Reader::open(&file[..], &mut [0; 256]).unwrap().head();
    fed_after_its_end(Judge::<true>::new(&head.image, head.file_len), &file);
    fed_after_its_end(Judge::<false>::new(&head.image, head.file_len), &file);
}

#[test]
fn memory_of_a_writer_is_a_slot_and_one_more_with_checksums() {
    for (checksums, slots) in [(false, 0), (true, 0), (true, 1)] {
        let about = Attributes { checksums, ..PLAIN };
        let memory = vec![Slot::EMPTY; slots];
        let refused = Writer::create(Growing::default(), &about, memory).unwrap_err();
        let need = if checksums { 80 } else { 40 }; // a slot has 40 bytes
        let have = 40 * slots as u64;
        assert_eq!(refused, DriveError::Format(Error::Memory { need, have }));
        let memory = vec![Slot::EMPTY; 1 + usize::from(checksums)];
        let file = Writer::create(Growing::default(), &about, memory).unwrap();
        assert_eq!(file.has_checksums(), checksums);
    }
}

#[test]
fn a_writer_opens_a_file_in_a_window_of_a_header() {
    let file = created(&PLAIN).into_store();
    let open = |len: usize| {
        Writer::open_with(file.clone(), SLOTS, crc32c, &mut vec![0; len]).map(|file| file.frames())
    };
    assert_eq!(open(255), Err(DriveError::BufferTooSmall { need: 256 }));
    assert_eq!(open(256), Ok(0));
    assert_eq!(open(1000), Ok(0));
}

/// A file of a frame for each of some commits, after each of them.
fn commits(about: &Attributes<'_>) -> [Vec<u8>; 3] {
    let mut file = created(about);
    let id = file.name(b"a").unwrap();
    [0_u8, 1, 2].map(|frame| {
        file.write_chunk(id, ChunkType::U8, 1, &[frame; 8]).unwrap();
        file.end_frame().unwrap();
        file.commit().unwrap();
        file.store().0.clone()
    })
}

#[test]
fn a_book_goes_on_with_a_file_in_whatever_state_it_is() {
    let plain = Made::new(vec![Entry::empty(0, 0), Entry::empty(1, 1)], 2).bytes();
    let [_, before, whole] = commits(&PLAIN);
    let torn = [&image(&whole)[..60], &image(&before)[60..]].concat();
    let torn = with_image(&whole, &torn);
    let [_, before, ahead] = commits(&Attributes { one_sync: true, ..PLAIN });
    let ahead = with_image(&ahead, &image(&before));
    for (number, file) in [plain, whole, torn, ahead].into_iter().enumerate() {
        let head = *Reader::open(&file[..], &mut [0; 256]).unwrap().head();
        let is_expected = match head.state {
            State::Plain => number == 0,
            State::Committed(_) => number == 1,
            State::Torn(_) => number == 2,
            State::Ahead(_) => number == 3,
            State::Appended => false,
        };
        assert!(is_expected, "{number}: {:?}", head.state);
        let frames = if number == 0 { 2 } else { 3 };
        assert_eq!(head.frames, frames);
        let mut expected = held(&file);
        let mut disk = Growing(file);
        let mut book = Book::new(&head, SLOTS, crc32c).unwrap();
        book.begin(&mut disk).unwrap();
        book.make_ready(&mut disk).unwrap();
        assert_eq!(book.place(0, ChunkType::U8, 1, 0), Err(Error::NoColumns));
        let chunk = book.place(0, ChunkType::U8, 3, 1).unwrap();
        disk.write_all_at(chunk.span.offset(), b"new").unwrap();
        book.add(chunk, 0).unwrap();
        book.end_frame(&mut disk).unwrap();
        book.commit(&mut disk).unwrap();
        expected.push((frames, 0, b"new".to_vec()));
        assert_eq!(held(&disk.0), expected);
        let head = *Reader::open(&disk.0[..], &mut [0; 256]).unwrap().head();
        assert!(matches!(head.state, State::Committed(_)), "{:?}", head.state);
    }
}

#[test]
fn the_name_of_checksums_is_not_for_others_if_it_is_found_late() {
    let mut file = created(&Attributes { checksums: true, ..PLAIN });
    let id = file.name(b"a").unwrap();
    file.write_chunk(id, ChunkType::U8, 1, b"x").unwrap();
    file.end_frame().unwrap();
    file.close().unwrap();
    let sums = file.find_name(SUMS).unwrap().unwrap();
    let mut disk = file.into_store();
    let head = *Reader::open(&disk, &mut [0; 256]).unwrap().head();
    let mut book = Book::new(&head, SLOTS, crc32c).unwrap();
    book.begin(&mut disk).unwrap();
    book.make_ready(&mut disk).unwrap();
    let chunk = book.place(sums, ChunkType::U8, 3, 1).unwrap();
    disk.write_all_at(chunk.span.offset(), b"new").unwrap();
    book.add(chunk, crc32c(0, b"new")).unwrap();
    assert_eq!(book.found_name(SUMS, Some(sums)), Some(sums));
    assert_eq!(book.found_name(b"b", Some(sums + 1)), None, "the file has two names");
    let refused = DriveError::Format(Error::Duplicate { id: sums, frame: 1 });
    assert_eq!(book.end_frame(&mut disk), Err(refused));
    assert_eq!(book.frames(), 1, "the frame has not ended");
}

#[test]
fn an_upgrade_of_layer_2_0_keeps_all_and_allows_text() {
    let entries = vec![Entry::empty(0, 0), Entry::empty(0, 1), Entry::empty(1, 1)];
    let bytes = Made { layer: (2, 0), ..Made::new(entries, 2) }.bytes();
    let mut file = Writer::open(Growing(bytes.clone()), SLOTS).unwrap();
    let layer = Error::Layer { gsd_version: 0x2_0000, kind: Some(ChunkType::Character) };
    let refused = file.write_chunk(0, ChunkType::Character, 1, b"text").unwrap_err();
    assert_eq!(refused, DriveError::Format(layer));
    file.upgrade().unwrap();
    assert_eq!(file.version(), Version::LAYER);
    assert_eq!(held(&file.store().0), held(&bytes));
    file.write_chunk(0, ChunkType::Character, 1, b"text").unwrap();
    file.end_frame().unwrap();
    file.close().unwrap();
    let file = file.into_store().0;
    let header = Reader::open(&file[..], &mut [0; 256]).unwrap().head().header;
    assert_eq!(header.version, Version::LAYER);
    let expected = [held(&bytes), vec![(2, 0, b"text".to_vec())]].concat();
    assert_eq!(held(&file), expected);
}

/// The chunks of the only frame, which has checksums: all are right.
fn sealed(file: &[u8]) -> Vec<Held> {
    let reader = Reader::open(file, &mut [0; 256]).unwrap();
    let own = reader.name_id(SUMS, &mut [0; 64]).unwrap().unwrap();
    let all: Vec<Chunk> = reader.chunks([0; 512]).map(Result::unwrap).collect();
    let (own, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|chunk| chunk.id == own);
    let bytes = |chunk: &Chunk| {
        let mut bytes = vec![0; usize::try_from(chunk.span.len()).unwrap()];
        reader.read(chunk.span, &mut bytes).unwrap();
        bytes
    };
    let rows = bytes(&own[0]);
    assert_eq!((own.len(), rows.len()), (1, 8 * (others.len() + 1)), "no other rows");
    let sums = Checksums::parse(own[0], &rows, crc32c).unwrap();
    for chunk in &others {
        assert_eq!(sums.check(chunk, crc32c(0, &bytes(chunk)), crc32c), Ok(()));
    }
    others.iter().map(|chunk| (chunk.frame, chunk.id, bytes(chunk))).collect()
}

#[test]
fn a_chunk_that_is_discarded_takes_its_checksum_along() {
    let chunks: [(&[u8], &[u8]); 4] = [(b"a", b"1"), (b"b", b"22"), (b"c", b"333"), (b"d", b"4")];
    for gone in 0..4 {
        let mut file = created(&Attributes { checksums: true, ..PLAIN });
        for (name, bytes) in chunks {
            let id = file.name(name).unwrap();
            file.write_chunk(id, ChunkType::U8, 1, bytes).unwrap();
        }
        assert!(file.discard_chunk(gone) && !file.discard_chunk(gone));
        file.end_frame().unwrap();
        file.close().unwrap();
        let expected = (0..4).filter(|&id| id != gone);
        let expected = expected.map(|id| (0, id, chunks[usize::from(id)].1.to_vec()));
        assert_eq!(sealed(&file.into_store().0), expected.collect::<Vec<_>>());
    }
}

#[test]
fn bytes_that_a_caller_puts_into_a_chunk_are_in_it() {
    for checksums in [false, true] {
        let mut file = created(&Attributes { checksums, ..PLAIN });
        let id = file.name(b"a").unwrap();
        let mut chunk = file.begin_chunk(id, ChunkType::U16, 1).unwrap();
        assert!(chunk.is_empty());
        for part in [b"abc", b"def"] {
            let put = |store: &mut Growing, offset, crc: Option<u32>| {
                assert_eq!(crc.is_some(), checksums);
                store.write_all_at(offset, part)?;
                Ok(crc.map_or(7, |crc| crc32c(crc, part)))
            };
            chunk.put(3, put).unwrap();
        }
        chunk.write(b"gh").unwrap();
        assert_eq!((chunk.len(), chunk.is_empty()), (8, false));
        assert_eq!(chunk.finish().unwrap().n, 4);
        file.end_frame().unwrap();
        file.close().unwrap();
        let file = file.into_store().0;
        let found = if checksums { sealed(&file) } else { held(&file) };
        assert_eq!(found, [(0, id, b"abcdefgh".to_vec())]);
    }
}

/// A store as long as it says, with zeros after its first bytes; what is written there is lost.
#[derive(Debug)]
pub(crate) struct Long(pub(crate) Vec<u8>, pub(crate) u64);

impl ReadAt for Long {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        let left = usize::try_from(self.1.saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = buf.len().min(left);
        buf[..len].fill(0);
        self.0.as_slice().read_at(offset, &mut buf[..len])?;
        Ok(len)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        Ok(self.1)
    }
}

impl WriteAt for Long {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        let end = offset.checked_add(bytes.len() as u64).unwrap();
        assert!(end <= i64::MAX.unsigned_abs(), "no file is longer");
        if end <= self.0.len() as u64 {
            self.0.as_mut_slice().write_all_at(offset, bytes)?;
        }
        self.1 = self.1.max(end);
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), FixedSize> {
        self.1 = len;
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        Ok(())
    }
}

/// A file with the name 0 whose commit record says that it ends there.
fn ends_at(data_end: u64) -> Writer<Long, [Slot; 6]> {
    let mut file = created(&PLAIN);
    file.name(b"a").unwrap();
    file.close().unwrap();
    let file = signed(with(&file.into_store().0, 200, &data_end.to_le_bytes()));
    Writer::open(Long(file, data_end), SLOTS).unwrap()
}

#[test]
fn no_file_is_longer_than_an_offset_of_gsd_can_say() {
    let last = i64::MAX.unsigned_abs();
    let data_end = last - 10;
    let mut file = ends_at(data_end);
    let full = |len| DriveError::Format(Error::FileFull { data_end, len });
    let mut chunk = file.begin_chunk(0, ChunkType::U8, 1).unwrap();
    assert_eq!(chunk.write(&[0; 11]), Err(full(11)));
    assert_eq!(chunk.put(u64::MAX, |_, _, _| panic!("there is no place")), Err(full(u64::MAX)));
    chunk.write(&[0; 10]).unwrap();
    assert_eq!(chunk.write(&[0]), Err(full(1)));
    assert_eq!(chunk.finish().unwrap().span.end(), last);
    for data_end in [last - 10, last, last + 1, u64::MAX] {
        let refused = ends_at(data_end).truncate().unwrap_err();
        match refused {
            DriveError::Format(Error::FileFull { data_end: at, .. }) => assert_eq!(at, data_end),
            other => panic!("{data_end}: {other}"),
        }
    }
}

#[test]
fn a_list_of_names_has_at_most_2_gib() {
    let file = created(&PLAIN).into_store().0;
    let (location, most) = (1_u64 << 14, (1_u64 << 31) - 64);
    assert_eq!(most, MAX_NAMES_LEN);
    let (names_len, data_end) = (most - 10, location + most);
    let file = with(&file, 24, &[location.to_le_bytes(), (most / 64).to_le_bytes()].concat());
    let file = with(&file, 200, &data_end.to_le_bytes());
    let file = with(&file, 228, &u32::try_from(names_len).unwrap().to_le_bytes());
    let file = signed(with(&file, 232, &1_u32.to_le_bytes()));
    let mut file = Writer::open(Long(file, data_end), SLOTS).unwrap();
    let full = Error::FileFull { data_end, len: most + 1 };
    assert_eq!(file.add_name(&[b'x'; 10]), Err(DriveError::Format(full)));
    assert_eq!(file.names(), 1);
}

#[test]
fn an_own_log_has_65535_names() {
    let about = Attributes { names_len: 1 << 17, ..PLAIN };
    let shape = Shape::new(&about, []).unwrap();
    let mut card = vec![0xFF; 1 << 18];
    let log = OwnLogger::<_, 2>::open_or_create(card.as_mut_slice(), &shape).unwrap();
    assert_eq!((log.names(), log.store().len()), (0, 1 << 18));
    drop(log);
    let lens = [131_070_u32.to_le_bytes(), 65_535_u32.to_le_bytes()].concat();
    let mut card = signed(with(&card, 228, &lens));
    let mut log = OwnLogger::<_, 2>::open_or_create(card.as_mut_slice(), &shape).unwrap();
    assert_eq!(log.names(), 65_535);
    assert_eq!(log.name("one more"), Err(DriveError::Format(Fault::Full)));
    assert_eq!(log.names(), 65_535);
}

#[test]
fn a_file_of_another_program_is_no_log_of_ones_own() {
    let about = Attributes { application: "made", schema: "none", ..PLAIN };
    let mut bytes = Made::new(vec![], 1).bytes();
    bytes.resize(1 << 14, 0);
    let mut card = bytes.clone();
    let shape = Shape::new(&about, ["n0"]).unwrap();
    let refused = FixedLogger::open_or_create(card.as_mut_slice(), &shape).unwrap_err();
    assert_eq!(refused, DriveError::Format(Fault::Another));
    let shape = Shape::new(&about, []).unwrap();
    let refused = OwnLogger::<_, 2>::open_or_create(card.as_mut_slice(), &shape).unwrap_err();
    assert_eq!(refused, DriveError::Format(Fault::Another));
    assert!(card == bytes, "it is unchanged");
    card.fill(0xFF);
    let shape = Shape::new(&about, ["n0"]).unwrap();
    let log = FixedLogger::open_or_create(card.as_mut_slice(), &shape).unwrap();
    assert_eq!((log.frames(), log.store().len()), (0, 1 << 14));
}

#[test]
fn as_many_frames_fit_as_a_log_says_whose_names_are_not_committed() {
    let about = Attributes { checksums: true, index_slots: 400, ..PLAIN };
    let mut card = vec![0xFF; 23000];
    let mut log = Logger::<_, 4>::open_or_create(card.as_mut_slice(), &about).unwrap();
    let id = log.name("a").unwrap();
    let frames = log.frames_left(1, 4).unwrap();
    assert!(frames > 20, "{frames}");
    for frame in 0..frames {
        log.chunk(id, ChunkType::U8, 1, b"four").unwrap();
        assert_eq!(log.end_frame().unwrap(), frame);
    }
    // The name of the checksums may have taken less than a sector more; a frame takes 20 bytes.
    let more = log.frames_left(1, 4).unwrap();
    assert!(more <= 512 / 20, "{more}");
}
