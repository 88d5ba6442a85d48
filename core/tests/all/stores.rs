//! Devices that give little at a time, that fill up, that shrink: stores and drivers say so.

use core::cell::Cell;
use embedded_io::{ErrorKind, ErrorType, Read, ReadExactError, Seek, SeekFrom, Write};
use striae_core::sion::open::Open;
use striae_core::sion::{Error, Opened, Physical};
use striae_core::span::{Span, Stride};
use striae_core::step::{DriveError, ReadMachine, ReadStep, drive_read};
use striae_core::store::{
    FixedSize, ReadAhead, ReadAt, Section, SeekStore, SeekStoreError, WriteAt,
};
use striae_kit::everything::read_everything;
use striae_kit::far::Far;
use striae_kit::golden_sets::{golden_set, golden_sets};

/// A card: short reads and writes of 1 to 7 bytes by turns, no seek behind the end.
#[derive(Debug, Clone, Default)]
struct Card {
    bytes: Vec<u8>,
    at: usize,
    turn: usize,
    /// Bytes that there is room for.
    room: usize,
    /// Whether it says that it has taken bytes for which there is no room.
    drops: bool,
    flushes: usize,
    /// Numbers, counted from 1, of the flushes that fail.
    bad_flushes: core::ops::Range<usize>,
}

impl Card {
    fn of(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), room: usize::MAX, ..Self::default() }
    }

    fn few(&mut self) -> usize {
        self.turn = (self.turn + 3) % 7;
        self.turn + 1
    }
}

impl ErrorType for Card {
    type Error = ErrorKind;
}

impl Read for Card {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let n = self.few().min(buf.len()).min(self.bytes.len() - self.at);
        buf[..n].copy_from_slice(&self.bytes[self.at..][..n]);
        self.at += n;
        Ok(n)
    }
}

impl Write for Card {
    fn write(&mut self, buf: &[u8]) -> Result<usize, ErrorKind> {
        let few = if self.drops { usize::MAX } else { self.few() };
        let n = few.min(buf.len()).min(self.room.saturating_sub(self.at));
        let end = self.at + n;
        self.bytes.resize(self.bytes.len().max(end), 0xee); // not zero: gaps must be written
        self.bytes[self.at..end].copy_from_slice(&buf[..n]);
        self.at = end;
        Ok(if self.drops { buf.len() } else { n })
    }

    fn flush(&mut self) -> Result<(), ErrorKind> {
        self.flushes += 1;
        match self.bad_flushes.contains(&self.flushes) {
            true => Err(ErrorKind::Other),
            false => Ok(()),
        }
    }
}

impl Seek for Card {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, ErrorKind> {
        let len = u64::try_from(self.bytes.len()).unwrap();
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::End(by) => len.checked_add_signed(by),
            SeekFrom::Current(by) => u64::try_from(self.at).unwrap().checked_add_signed(by),
        };
        let position = position.filter(|&position| position <= len);
        let position = position.ok_or(ErrorKind::InvalidInput)?;
        self.at = usize::try_from(position).unwrap();
        Ok(position)
    }
}

#[test]
fn a_device_of_short_reads_gives_the_same_answers_as_a_slice() {
    for set in golden_sets() {
        for bytes in set.files.iter().filter(|bytes| bytes.len() < 12_000) {
            let store = SeekStore::new(Card::of(bytes));
            assert_eq!(read_everything(&store), read_everything(&bytes.as_slice()), "{}", set.name);
        }
    }
}

#[test]
fn a_seek_store_reads_what_there_is() {
    let store = SeekStore::new(Card::of(b"0123456789"));
    assert_eq!(store.size(), Ok(10));
    let mut buf = [0; 10];
    assert_eq!(store.read_exact_at(0, &mut buf), Ok(()));
    assert_eq!(&buf, b"0123456789");
    assert_eq!(store.read_exact_at(1, &mut buf), Err(ReadExactError::UnexpectedEof));
    assert_eq!(store.read_exact_at(10, &mut buf[..0]), Ok(()));
    assert_eq!(store.read_at(3, &mut []), Ok(0));
    for behind in [10, 11, u64::MAX] {
        assert_eq!(store.read_at(behind, &mut buf), Ok(0));
    }
    assert_eq!(store.into_inner().bytes, b"0123456789");
}

#[test]
fn a_seek_store_grows_by_zeros() {
    for gap in [0, 1, 63, 64, 65, 200] {
        let mut store = SeekStore::new(Card::of(b"abc"));
        store.write_all_at(3 + gap, b"0123456789").unwrap();
        let zeros = vec![0; usize::try_from(gap).unwrap()];
        let expected = [b"abc", zeros.as_slice(), b"0123456789"].concat();
        assert_eq!(store.into_inner().bytes, expected, "gap {gap}");

        let mut store = SeekStore::new(Card::of(b"abc"));
        store.set_size(3 + gap).unwrap();
        assert_eq!(store.into_inner().bytes, [b"abc", zeros.as_slice()].concat());
    }
    let mut store = SeekStore::new(Card::of(b"abcdef"));
    store.write_all_at(2, b"XY").unwrap();
    store.write_all_at(5, b"").unwrap();
    store.sync().unwrap();
    let card = store.into_inner();
    assert_eq!((card.bytes.as_slice(), card.flushes), (b"abXYef".as_slice(), 1));
}

#[test]
fn a_seek_store_is_as_durable_as_its_device_says_each_time() {
    // One that goes on failing, and one that keeps what it could not write, and can write it later.
    for (bad_flushes, later) in [(2..usize::MAX, false), (2..4, true)] {
        let mut store = SeekStore::new(Card { bad_flushes, ..Card::of(b"abc") });
        assert_eq!(store.sync(), Ok(()));
        for _ in 2..4 {
            assert_eq!(store.sync(), Err(SeekStoreError::Device(ErrorKind::Other)));
            store.write_all_at(0, b"x").unwrap();
        }
        assert_eq!(store.sync().is_ok(), later);
        assert_eq!(store.into_inner().flushes, 4);
    }
}

/// Bytes of a chunk that is not finished make the store longer, which a device cannot undo.
#[test]
fn a_log_in_a_store_that_cannot_shrink_goes_on_after_an_unfinished_chunk() {
    use striae_core::gsd::{Attributes, ChunkType, Logger};
    for checksums in [false, true] {
        let about = Attributes { checksums, ..Attributes::default() };
        let store = SeekStore::new(Card::of(&[]));
        let mut log = Logger::<_, 8>::create(store, &about).unwrap();
        let id = log.name("a").unwrap();
        log.write(id, &[[1_u8]]).unwrap();
        log.end_frame().unwrap();
        log.begin_chunk(id, ChunkType::U8, 1).unwrap().write(&[7; 20_000]).unwrap();
        // New names, and more commits than the index has slots for, go to new places.
        let other = log.name("b").unwrap();
        for frame in 0..200_u8 {
            log.write(id, &[[frame]]).unwrap();
            log.write(other, &[[frame]]).unwrap();
            log.end_frame().unwrap();
        }
        assert_eq!(log.frames(), 201);
    }
}

#[test]
fn a_full_device_is_said_to_be_full_where_it_is() {
    let full = |offset| Err(SeekStoreError::Full { offset });
    let card = Card { room: 8, ..Card::of(b"abc") };
    assert_eq!(SeekStore::new(card.clone()).write_all_at(3, b"01234"), Ok(()));
    assert_eq!(SeekStore::new(card.clone()).write_all_at(3, b"012345"), full(8));
    assert_eq!(SeekStore::new(card.clone()).write_all_at(8, b"x"), full(8));
    assert_eq!(SeekStore::new(card.clone()).write_all_at(100, b"x"), full(8));
    assert_eq!(SeekStore::new(card.clone()).set_size(9), full(8));
    assert_eq!(SeekStore::new(card).set_size(8), Ok(()));
}

#[test]
fn a_device_that_drops_what_it_has_no_room_for_is_full() {
    let full = |offset| Err(SeekStoreError::Full { offset });
    let card = Card { room: 8, drops: true, ..Card::of(b"abc") };
    assert_eq!(SeekStore::new(card.clone()).write_all_at(3, b"01234"), Ok(()));
    assert_eq!(SeekStore::new(card.clone()).write_all_at(3, b"012345"), full(8));
    assert_eq!(SeekStore::new(card.clone()).set_size(9), full(8));
    assert_eq!(SeekStore::new(card).set_size(8), Ok(()));
}

#[test]
fn a_device_cannot_be_cut() {
    let mut store = SeekStore::new(Card::of(b"abc"));
    let error = store.set_size(2).unwrap_err();
    assert_eq!(error, SeekStoreError::CannotShrink { len: 3, wanted: 2 });
    assert_eq!(embedded_io::Error::kind(&error), ErrorKind::Unsupported);
    assert_eq!(error.to_string(), "the device cannot be cut from 3 to 2 bytes");
    assert_eq!(store.set_size(3), Ok(()));
    assert_eq!(store.into_inner().bytes, b"abc");
}

#[test]
fn a_slice_neither_grows_nor_shrinks() {
    let mut bytes = *b"abcdef";
    let slice: &mut [u8] = &mut bytes;
    let wrong = |wanted| Err(FixedSize { len: 6, wanted });
    assert_eq!(slice.write_all_at(4, b"XY"), Ok(()));
    assert_eq!(slice.write_all_at(5, b"XY"), wrong(7));
    assert_eq!(slice.write_all_at(u64::MAX, b"XY"), wrong(u64::MAX));
    assert_eq!(slice.write_all_at(6, b""), Ok(()));
    assert_eq!(slice.write_all_at(7, b""), wrong(7));
    assert_eq!(
        (slice.set_size(6), slice.set_size(5), slice.set_size(7)),
        (Ok(()), wrong(5), wrong(7))
    );
    assert_eq!(&bytes, b"abcdXY");
}

// ---- drivers ----

/// Reads seven bytes from offset 2 on.
#[derive(Debug, Default)]
struct Scribe {
    read: Vec<u8>,
}

impl ReadMachine for Scribe {
    type Output = Vec<u8>;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Vec<u8>> {
        if self.read.len() == 7 {
            return ReadStep::Done(self.read.clone());
        }
        let have = u64::try_from(self.read.len()).unwrap();
        ReadStep::Read { offset: 2 + have, need: 1, want: 7 - have }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        assert!(!bytes.is_empty() && self.read.len() + bytes.len() <= 7);
        self.read.extend_from_slice(bytes);
        Ok(())
    }
}

#[test]
fn a_machine_is_driven_with_any_buffer_that_it_needs() {
    for buf in [1, 2, 7, 8, 100] {
        let mut store = SeekStore::new(Card::of(b""));
        store.write_all_at(2, b"written").unwrap();
        store.sync().unwrap();
        let read = drive_read(&mut Scribe::default(), &store, &mut vec![0; buf]);
        assert_eq!(read.unwrap(), b"written");
        let card = store.into_inner();
        assert_eq!((card.bytes.as_slice(), card.flushes), (b"\0\0written".as_slice(), 1));
    }
    let too_small = drive_read(&mut Scribe::default(), &SeekStore::new(Card::of(b"")), &mut []);
    assert_eq!(too_small, Err(DriveError::BufferTooSmall { need: 1 }));
    let cut = drive_read(&mut Scribe::default(), &b"\0\0writ"[..], &mut [0; 2]);
    assert_eq!(cut, Err(DriveError::Ended { offset: 6 }));
}

#[test]
fn a_full_device_says_where_it_took_no_byte() {
    let mut store = SeekStore::new(Card { room: 5, ..Card::of(b"") });
    let error = store.write_all_at(2, b"written").unwrap_err();
    assert_eq!(error, SeekStoreError::Full { offset: 5 });
    let error = DriveError::<_, Error>::Store(error);
    assert_eq!(error.to_string(), "the device took no byte at offset 5");
    assert_eq!(embedded_io::Error::kind(&error), ErrorKind::WriteZero);
}

#[test]
fn opening_says_how_large_a_window_it_needs() {
    let bytes = golden_set("s01_one_task").files.swap_remove(0);
    for window in [0, 1, 1075] {
        let error = Physical::open(bytes.as_slice(), &mut vec![0; window]).unwrap_err();
        assert_eq!(error, DriveError::BufferTooSmall { need: 1076 });
    }
    let Opened::Closed(file) = Physical::open(bytes.as_slice(), &mut [0; 1076]).unwrap() else {
        panic!("not closed");
    };
    let need = |need| Some(DriveError::BufferTooSmall { need });
    assert_eq!(file.task(0, &mut [0; 7]).err(), need(8));
    assert_eq!(file.tasks([0; 39]).err(), need(40));
    let task = file.task(0, &mut [0; 8]).unwrap();
    assert_eq!(file.chunk_lens(task, [0; 7]).next().unwrap().err(), need(8));
    assert_eq!(file.chunk_lens(task, [0; 7]).count(), 1);
}

/// A file that says a length and is cut behind its back.
struct Shrinking<'a> {
    bytes: &'a [u8],
    says: u64,
    /// Reads until it is cut, and to what length.
    cut: (Cell<u32>, usize),
}

impl ReadAt for Shrinking<'_> {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        let (fuse, len) = &self.cut;
        if fuse.get() == 0 {
            return self.bytes[..*len].read_at(offset, buf);
        }
        fuse.set(fuse.get() - 1);
        self.bytes.read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        Ok(self.says)
    }
}

#[test]
fn a_store_that_shrinks_while_it_is_read_has_ended() {
    let bytes = golden_set("s02_three_unequal_noncontig").files.swap_remove(0);
    let shrinking = |reads, len| Shrinking {
        bytes: &bytes,
        says: u64::try_from(bytes.len()).unwrap(),
        cut: (Cell::new(reads), len),
    };
    let ended = |offset| Some(DriveError::Ended { offset });
    let open = |store| Physical::open(store, &mut [0; 1076]);
    assert_eq!(open(shrinking(0, 1075)).err(), ended(0));
    assert_eq!(open(shrinking(1, 1076)).err(), ended(1124));
    let file = |reads: u32, len| match open(shrinking(reads + 2, len)).unwrap() {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("not closed"),
    };
    assert_eq!(file(0, 1076).task(0, &mut [0; 8]).err(), ended(1076));
    assert_eq!(file(1, 7680).task(0, &mut [0; 8]).err(), ended(7680));
    assert_eq!(file(0, 1076).tasks([0; 40]).err(), ended(1100));
    assert_eq!(file(1, 1076).tasks([0; 40]).unwrap().next().unwrap().err(), ended(1076));
    // an error of the store ends the list
    assert_eq!(file(1, 1076).tasks([0; 40]).unwrap().count(), 1);

    let shrunk = file(5, 1600); // the task and its first chunk's length can still be read
    let mut stream = shrunk.stream(shrunk.task(0, &mut [0; 64]).unwrap());
    let mut buf = [0; 64];
    assert_eq!(stream.read(&mut buf), Ok(64));
    stream.seek_to(64);
    assert_eq!(stream.read(&mut buf).err(), ended(1600));
    assert_eq!(stream.position(), 64);
}

#[test]
fn an_open_machine_takes_bytes_from_anyone() {
    let bytes = golden_set("s01_one_task").files.swap_remove(0);
    let mut open = Open::new(u64::try_from(bytes.len()).unwrap());
    let head = loop {
        match ReadMachine::poll(&mut open) {
            ReadStep::Read { offset, need, want } => {
                assert!(u64::try_from(need).unwrap() <= want);
                let at = usize::try_from(offset).unwrap();
                ReadMachine::feed(&mut open, &bytes[at..at + need]).unwrap();
            }
            ReadStep::Done(head) => break head,
        }
    };
    assert_eq!(head.meta1.ntasks(), 1);
    assert_eq!(ReadMachine::poll(&mut open), ReadStep::Done(head));
}

/// Each read of a section is that of a file which has only its bytes.
#[test]
fn a_section_is_a_store_of_the_bytes_of_its_span() {
    let bytes: Vec<u8> = (0..100).collect();
    let whole = bytes.as_slice();
    let spans = [(0, 100), (0, 0), (10, 30), (90, 30), (100, 5), (200, 5), (u64::MAX - 9, 9)];
    for (offset, len) in spans {
        let section = Section::new(whole, Span::new(offset, len).unwrap());
        let own = &whole[offset.min(100) as usize..(offset + len).min(100) as usize];
        assert_eq!(section.size(), own.size(), "{offset}");
        for at in (0..110).chain([u64::MAX - 3, u64::MAX]) {
            let (mut read, mut expected) = ([0; 7], [0; 7]);
            assert_eq!(section.read_at(at, &mut read), own.read_at(at, &mut expected));
            assert_eq!(read, expected, "{offset}, {at}");
            assert_eq!(section.reread_at(at, &mut read), own.read_at(at, &mut expected));
            let stride = Stride::new(Span::new(at.min(500), 2).unwrap(), 5, 3).unwrap();
            let spans = [[Stride::one(Span::new(0, 1).unwrap()), stride, Stride::NONE]; 7].concat();
            let (mut read, mut expected) = ([0; 49], [0; 49]);
            let done = section.read_spans_at(&spans, &mut read);
            assert_eq!(done, own.read_spans_at(&spans, &mut expected), "{offset}, {at}");
            assert!(done.is_err() || read == expected, "{offset}, {at}");
        }
    }
}

#[test]
fn a_store_below_a_section_is_told_and_asked_once() {
    let bytes: Vec<u8> = (0..4096_u32).map(|n| n as u8).collect();
    let (far, mut memory) = (Far::new(&bytes), [0; 4096]);
    let spans = [3000, 0, 1500].map(|at| Stride::one(Span::new(at, 20).unwrap()));
    let section = Span::new(50, 4000).unwrap();
    let mut read = [0; 60];

    let below = Section::new(ReadAhead::new(&far, &mut memory), section);
    below.will_read(&spans);
    let told = far.asked().0;
    assert_eq!(told, 2, "one for the length");
    below.read_spans_at(&spans, &mut read).unwrap();
    assert_eq!(far.asked().0, told);
    assert_eq!([read[0], read[20], read[59]], [3050, 50, 1569].map(|n| n as u8));

    Section::new(&far, section).read_spans_at(&spans, &mut read).unwrap();
    assert_eq!(far.asked().0, told + 1);
}
