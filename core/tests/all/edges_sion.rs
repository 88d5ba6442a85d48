//! What callers of SION's functions get at the edges: errors of tables that do not fit, windows and
//! buffers without room, pointers at the end of a stream, numbers that a value was made of.

use core::cell::Cell;
use embedded_io::{ErrorKind, Read};
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::book::{Ahead, Book};
use striae_core::sion::create::{Front, write_meta1};
use striae_core::sion::filegroups::BuddyTask;
use striae_core::sion::fixed::Fault;
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::recover::{Remains, SetCommit, WINDOW};
use striae_core::sion::tables::{Tables, Unchanged};
use striae_core::sion::{
    Attributes, Blocks, Error, FixedWriter, Meta1, Opened, Physical, Reader, Records, Request,
    Shape, VarheaderShape, create, raw,
};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_kit::everything::Counted;
use striae_kit::golden_sets::{as_v2, golden_set};
use striae_kit::growing::Growing;
use striae_kit::sion_file::{SionFile, SionTask};

fn closed(bytes: &[u8]) -> Physical<&[u8]> {
    match Physical::open(bytes, &mut [0; Meta1::MAX_LEN]).unwrap() {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("the file is closed"),
    }
}

fn attributes() -> Attributes {
    Attributes { fsblksize: 512, ..Attributes::default() }
}

#[test]
fn a_keeper_has_a_negative_globalrank_and_asks_for_nothing() {
    // sion_generic_buddy.c:159: -(g + 1)
    for (task, globalrank) in [
        (BuddyTask::Keeper(0), -1),
        (BuddyTask::Keeper(6), -7),
        (BuddyTask::Keeper(u32::MAX), -(1_i64 << 32)),
        (BuddyTask::Copy(0), 0),
        (BuddyTask::Copy(u32::MAX), (1_i64 << 32) - 1),
    ] {
        assert_eq!(task.globalrank(), globalrank, "{task:?}");
    }
    let asked = |rank: u32| Request::from(u64::from(rank) * 10);
    assert_eq!(BuddyTask::Keeper(3).request(asked), Request::from(0));
    assert_eq!(BuddyTask::Copy(3).request(asked), Request::from(30));
}

#[test]
fn a_new_book_knows_what_it_was_made_of_and_has_settled_nothing() {
    let meta1 = Meta1::new(&attributes(), 3).unwrap();
    let blocks = Blocks { first: 4096, globalskip: 4096 };
    let book = Book::create(&meta1, &blocks, 0, true).unwrap();
    assert_eq!((book.set_identity(), book.settled()), (0, 0));
    assert_eq!(book.with_set_identity(7).set_identity(), 7);
    let shape = VarheaderShape::new(meta1.layout(), 1, 44, false).unwrap();
    assert_eq!((shape.maxchunks(), shape.mapping_len(), shape.is_sealed()), (1, 44, false));
}

#[test]
fn a_table_of_other_tasks_than_meta1_says_is_refused() {
    let meta1 = Meta1::new(&attributes(), 3).unwrap();
    let few: &[(i64, u64)] = &[(0, 1), (1, 1)];
    let field = raw::Meta1::ntasks;
    let refused = Error::OutOfRange { field, value: 2, min: 3, max: 3 };
    assert_eq!(create::blocks(&meta1, few), Err(refused));
    let field = raw::ChunksizeEntry::chunksize;
    // A chunksize that no I64 holds is stored as the largest one, which has no place.
    let many: &[(i64, u64)] = &[(0, 1), (1, 1), (2, u64::MAX)];
    match create::blocks(&meta1, many) {
        Err(Error::OutOfRange { field: wrong, min: 0, .. }) => assert_eq!(wrong, field),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_search_for_a_global_rank_needs_room_for_one() {
    let set = golden_set("s02_three_unequal_noncontig");
    let reader = Reader::alone(closed(&set.files[0]));
    let ranks: Vec<_> =
        set.tasks().iter().map(|task| task["globalrank"].as_i64().unwrap()).collect();
    let small = reader.search_globalrank(ranks[0], 0, &mut [0; 7]);
    assert_eq!(small, Err(DriveError::BufferTooSmall { need: 8 }));
    for (task, &rank) in (0..).zip(&ranks) {
        assert_eq!(reader.search_globalrank(rank, task, &mut [0; 8]), Ok(Some(task)));
        assert_eq!(reader.search_globalrank(rank, task + 1, &mut [0; 8]), Ok(None));
    }
}

#[test]
fn the_end_of_a_stream_is_in_its_last_chunk_with_a_byte() {
    let chunks = vec![vec![1; 10], vec![2; 4]];
    let tasks = vec![
        SionTask { globalrank: 0, chunksize: 10, chunks },
        SionTask { globalrank: 1, chunksize: 10, chunks: vec![Vec::new()] },
    ];
    let bytes = SionFile { tasks, ..SionFile::default() }.bytes();
    let file = closed(&bytes);
    let mut stream = file.stream(file.task(0, &mut [0; 64]).unwrap());
    for (position, location) in [(0, (0, 0)), (9, (0, 9)), (10, (1, 0)), (13, (1, 3)), (14, (1, 4))]
    {
        stream.seek_to(position);
        assert_eq!(stream.location(), Ok(Some(location)));
    }
    let mut none = file.stream(file.task(1, &mut [0; 64]).unwrap());
    assert_eq!(none.location(), Ok(None));
}

#[test]
fn a_read_of_no_bytes_takes_nothing_of_a_value() {
    let made = SionFile::default();
    let stream = [made.record_header(7, 3), vec![1, 2, 3]].concat();
    let tasks = vec![SionTask::filled(0, 100, &stream)];
    let bytes = SionFile { flag1: 51 << 32, tasks, ..made }.bytes();
    let file = closed(&bytes);
    let mut stream = file.stream(file.task(0, &mut [0; 64]).unwrap());
    let mut value = Records::new(&mut stream, ByteOrder::Little).unwrap().value(7);
    let mut buf = [0; 8];
    assert_eq!(value.read(&mut []), Ok(0));
    assert_eq!(Read::read(&mut value, &mut buf), Ok(3));
    assert_eq!(buf, [1, 2, 3, 0, 0, 0, 0, 0]);
    assert_eq!((value.read(&mut []), value.read(&mut buf)), (Ok(0), Ok(0)));
}

#[test]
fn a_fixed_writer_shows_its_file_and_says_why_a_task_takes_nothing() {
    let shape = Shape::new(&attributes(), b"log", [(0, 100), (1, 0)]).unwrap();
    let mut writer = FixedWriter::create(Growing::default(), &shape).unwrap();
    assert_eq!((writer.meta1().ntasks(), writer.meta1().fsblksize()), (2, 512));
    assert_eq!(writer.cursor(2), Err(Fault::NoTask));
    assert_eq!(writer.write(1, &[1]), Err(DriveError::Format(Fault::NoChunks)));
    writer.write(0, &[9; 30]).unwrap();
    writer.close().unwrap();
    let len = writer.store().size().unwrap();
    let bytes = writer.into_store().0;
    assert_eq!(u64::try_from(bytes.len()), Ok(len));
    let file = closed(&bytes);
    let mut read = [0; 30];
    file.stream(file.task(0, &mut [0; 64]).unwrap()).read_all(&mut read).unwrap();
    assert_eq!(read, [9; 30]);
}

#[test]
fn a_file_without_a_seal_is_of_no_set_commit() {
    let window = &mut vec![0; 4096];
    let set = golden_set("s02_three_unequal_noncontig");
    let mut file = set.files[0].clone();
    let remains = Remains::read(&file.as_slice(), crc32c, window).unwrap();
    assert_eq!((remains.set_commit(), remains.set_identity()), (SetCommit::Own, None));
    assert_eq!(remains.last_set_number(&file.as_slice(), window), Ok(0));
    let short = remains.last_set_number(&file.as_slice(), &mut [0; 7]);
    assert_eq!(short, Err(DriveError::BufferTooSmall { need: WINDOW }));
    assert!(remains.at_set_commit(&file.as_slice(), 1, window).unwrap().is_none());

    // never closed: the commit fields are 0 and nothing follows the blocks
    let meta1 = Meta1::parse(&file, file.len() as u64).unwrap();
    let fields = meta1.layout().commit_fields();
    let at = fields.offset() as usize;
    let start = i64::from_le_bytes(file[at + 4..at + 12].try_into().unwrap());
    file[at..at + 12].fill(0);
    file.truncate(start as usize);
    let remains = Remains::read(&file.as_slice(), crc32c, window).unwrap();
    assert_eq!(remains.set_commit(), SetCommit::Unknown);
    assert_eq!(remains.last_set_number(&file.as_slice(), window), Ok(0));
}

/// A file in which commit 5 of its set is shown, and commit 6 is not.
fn two_set_commits(order: ByteOrder) -> Vec<u8> {
    let meta1 = Meta1::new(&Attributes { order, ..attributes() }, 1).unwrap();
    let (front, tasks) = (Front::new(&meta1, b"set").unwrap(), &[(0, 512)][..]);
    let (mut store, window) = (Growing::default(), &mut vec![0; 4096]);
    let crc = write_meta1(&front, &tasks, Some(crc32c), &mut store, window).unwrap();
    let blocks = create::blocks(&meta1, tasks).unwrap();
    let book = Book::create(&meta1, &blocks, 0, true).unwrap();
    let book = &mut book.with_meta1_crc(crc).with_set_identity(9);
    for (number, is_shown) in [(5, true), (6, false)] {
        let terms = Terms { set_number: number, ..Terms::default() };
        let new = book.prepared(1, false, Ahead::NONE).unwrap().with_set_number(number).unwrap();
        let mut desk = Desk::new(book, &mut store, terms, window).unwrap();
        desk.prepare(&new, &mut Tables::all(Unchanged)).unwrap();
        if is_shown {
            desk.show(&new).unwrap();
        }
    }
    store.0
}

#[test]
fn a_set_commit_is_in_the_file_before_it_is_shown_and_can_be_gone_to() {
    let (file, window) = (&*two_set_commits(attributes().order), &mut vec![0; 4096]);
    let remains = Remains::read(&file, crc32c, window).unwrap();
    assert_eq!(remains.set_commit(), SetCommit::Number(5));
    assert_eq!(remains.set_identity(), Some(9));
    assert_eq!(remains.last_set_number(&file, window), Ok(6));
    for number in [5, 6] {
        let there = remains.at_set_commit(&file, number, window).unwrap().unwrap();
        assert_eq!(there.set_commit(), SetCommit::Number(number));
    }
    for number in [4, 7] {
        assert!(remains.at_set_commit(&file, number, window).unwrap().is_none());
    }
}

/// Places that look like sealed META2, and lie in each other, take no more than a few readings of
/// the file.
#[test]
fn set_commits_that_lie_in_each_other_do_not_multiply_the_work() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let (mut file, window) = (two_set_commits(order), &mut vec![0; 4096]);
        let remains = Remains::read(&file.as_slice(), crc32c, window).unwrap();
        let trailer = file[file.len() - size_of::<raw::SealTrailerV2>()..].to_vec();
        let from = (4_usize << 20).next_multiple_of(512);
        let rows = u32::try_from(from / 512).unwrap() / 2;
        let shape = remains.varheader().unwrap().shape().with_maxchunks(rows).unwrap();
        file.resize(2 * from, 0);
        let put = |bytes: &mut [u8], at: usize, len: usize, value: u64| {
            let (little, big) = (value.to_le_bytes(), value.to_be_bytes());
            let value = if order == ByteOrder::Little { &little[..len] } else { &big[8 - len..] };
            bytes[at..at + len].copy_from_slice(value);
        };
        for start in (from..file.len() - 16 * rows as usize).step_by(512) {
            put(&mut file, start, 8, rows.into());
            let mut trailer = trailer.clone();
            put(&mut trailer, 8, 4, rows.into());
            put(&mut trailer, 16, 8, start as u64);
            let crc = crc32c(0, &trailer[..44]);
            put(&mut trailer, 44, 4, crc.into());
            let at = shape.at(start as u64).unwrap().trailer().offset() as usize;
            file[at..at + trailer.len()].copy_from_slice(&trailer);
        }
        let counted = Counted::new(&file);
        let remains = Remains::read(&counted, crc32c, window).unwrap();
        let before = counted.spent().1;
        assert_eq!(remains.last_set_number(&counted, window), Ok(6));
        let moved = counted.spent().1 - before;
        assert!(moved > 2 << 20, "{order:?}: {moved}: the places are not looked at");
        assert!(moved < 4 * file.len() as u64, "{order:?}: {moved}");
    }
}

#[test]
fn a_shape_is_of_one_file_without_keys() {
    let two = Attributes { nfiles: 2, ..attributes() };
    let field = raw::Meta1::nfiles;
    let refused = Error::OutOfRange { field, value: 2, min: 1, max: 1 };
    assert_eq!(Shape::new(&two, b"log", [(0, 1)]).unwrap_err(), refused);
    let keys = Attributes { keyval: true, ..attributes() };
    let (field, plain) = (raw::Meta1::flag1, 50 << 32);
    let refused = Error::OutOfRange { field, value: 51 << 32, min: plain, max: plain };
    assert_eq!(Shape::new(&keys, b"log", [(0, 1)]).unwrap_err(), refused);
}

#[test]
fn a_file_of_version_2_gets_number_0_when_it_is_stored_as_version_5() {
    let file = as_v2(&golden_set("s01_one_task").files[0], 1);
    let meta1 = Meta1::parse(&file, file.len() as u64).unwrap();
    assert_eq!(meta1.filenumber(), None);
    assert_eq!(meta1.to_raw(b"one").unwrap().filenumber.get(ByteOrder::Little), 0);
}

/// A store that fails once, at the read after so many.
struct FailsOnce<'b>(&'b [u8], Cell<usize>);

impl ReadAt for FailsOnce<'_> {
    type Error = ErrorKind;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, ErrorKind> {
        let left = self.1.get();
        self.1.set(left.wrapping_sub(1));
        if left == 0 { Err(ErrorKind::Other) } else { Ok(self.0.read_at(offset, buf).unwrap()) }
    }

    fn size(&self) -> Result<u64, ErrorKind> {
        Ok(self.0.size().unwrap())
    }
}

/// The end of a value is told by 0 bytes, which an error must not become.
#[test]
fn a_read_of_a_value_that_failed_may_be_tried_again() {
    let made = SionFile::default();
    let record = |key, value: &[u8]| {
        [made.record_header(key, value.len().try_into().unwrap()), value.to_vec()].concat()
    };
    let records = [record(7, b"abc"), record(1, b"other"), record(7, b"defgh")].concat();
    let tasks = vec![SionTask::filled(0, 100, &records)];
    let bytes = SionFile { flag1: 51 << 32, tasks, ..made.clone() }.bytes();
    let mut tries = 0;
    loop {
        let store = FailsOnce(&bytes, Cell::new(usize::MAX));
        let Opened::Closed(file) = Physical::open(&store, &mut [0; Meta1::MAX_LEN]).unwrap() else {
            panic!("the file is closed")
        };
        let mut stream = file.stream(file.task(0, &mut [0; 64]).unwrap());
        let mut value = Records::new(&mut stream, ByteOrder::Little).unwrap().value(7);
        store.1.set(tries);
        let (mut found, mut errors) = (Vec::<u8>::new(), 0);
        loop {
            let mut part = [0; 2];
            match value.read(&mut part) {
                Ok(0) => break,
                Ok(len) => found.extend(&part[..len]),
                Err(error) => {
                    assert!(matches!(error, DriveError::Store(ErrorKind::Other)), "{error}");
                    errors += 1;
                }
            }
        }
        assert_eq!(found, b"abcdefgh", "read {tries} failed");
        if errors == 0 {
            break;
        }
        tries += 1;
    }
    assert!(tries > 5, "{tries}");
}
