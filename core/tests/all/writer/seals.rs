//! Seals: of what is in the file and of nothing else; they see every bit that changes.

use super::model::Tasks;
use super::{Growing, with_memory, written};
use striae_core::endian::{ByteOrder, I32, I64};
use striae_core::integrity::crc32c;
use striae_core::sion::book::{Ahead, Book};
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::raw::{CommitFields, SealTrailer};
use striae_core::sion::set::identity_of;
use striae_core::sion::tables::{self, Entries, Publication, Tables, Written};
use striae_core::sion::visible;
use striae_core::sion::{
    Attributes, Blocks, Error, Opened, Options, Physical, SealState, Varheader, Writer,
};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;
use zerocopy::{FromBytes, IntoBytes};

/// CRC-32C, bit by bit.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
        })
    })
}

/// What does not hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    Metadata(Error),
    Chunk { local: u32, chunk: u64 },
}

fn closed(file: &[u8]) -> Option<Physical<&[u8]>> {
    match Physical::open(file, &mut [0; 2048]) {
        Ok(Opened::Closed(file)) => Some(file),
        _ => None,
    }
}

/// The chunks of all tasks, or `None` if the file was never committed.
pub(crate) fn chunks_of(bytes: &[u8]) -> Option<Tasks> {
    let file = closed(bytes)?;
    let mut tasks = vec![];
    for task in file.tasks([0; 4096]).unwrap() {
        let task = task.unwrap().task;
        let chunk = |chunk| {
            let len = file.chunk_len(&task, chunk).unwrap() as usize;
            let at = if len == 0 { 0 } else { task.chunks.chunk(chunk).unwrap().offset() as usize };
            bytes[at..at + len].to_vec()
        };
        tasks.push((0..task.blockcount).map(chunk).collect());
    }
    Some(tasks)
}

/// Whether there is a seal, and all that it says is right.
pub(crate) fn seal_holds(bytes: &[u8], crc: impl Fn(&[u8]) -> u32) -> Result<bool, Broken> {
    let format = |error| match error {
        DriveError::Format(error) => Broken::Metadata(error),
        error => panic!("{error}"),
    };
    let file = closed(bytes).unwrap();
    let SealState::Sealed(seal) = file.seal().map_err(format)? else { return Ok(false) };
    seal.check_metadata(file.store(), crc32c, &mut [0; 100]).map_err(format)?;
    let all = chunks_of(bytes).unwrap();
    for (local, chunks) in (0..).zip(&all) {
        for chunk in 0..u64::from(file.meta2().maxchunks()) {
            let expected = chunks.get(chunk as usize).map_or(0, |bytes| crc(bytes));
            if file.sealed_crc(&seal, local, chunk).unwrap() != expected {
                return Err(Broken::Chunk { local, chunk });
            }
        }
    }
    Ok(true)
}

const TASKS: [(i64, u64); 3] = [(5, 40), (6, 0), (7, 24)];

fn sealed(order: ByteOrder, work: impl FnOnce(&mut Writer<'_, &mut Growing>)) -> Vec<u8> {
    let attributes = Attributes { order, fsblksize: 16, ..Attributes::default() };
    written(&attributes, &TASKS, Options { sealed: true, ..Options::default() }, work)
}

fn small(order: ByteOrder) -> Vec<u8> {
    sealed(order, |writer| {
        writer.write(0, &[1; 90]).unwrap();
        writer.write_record(2, &[2; 20]).unwrap();
        writer.write_record(2, &[3; 5]).unwrap();
        writer.close().unwrap();
    })
}

#[test]
fn a_seal_holds_in_both_orders() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        assert_eq!(seal_holds(&small(order), crc), Ok(true));
    }
}

/// The field that must notice a flip at `at`, `None` if nobody needs to.
fn expected(at: u64, varheader: &Varheader, meta1_len: u64) -> Option<&'static str> {
    let inside = |from: u64, to: u64| (from..to).contains(&at);
    let (crcs, trailer) = (varheader.crcs(), varheader.trailer());
    if inside(0, meta1_len) {
        Some("meta1_crc")
    } else if inside(varheader.start(), crcs.offset()) {
        Some("meta2_crc")
    } else if inside(crcs.offset(), crcs.end()) {
        Some("chunks_crc")
    } else if inside(trailer.offset(), trailer.end()) {
        Some("trailer_crc")
    } else {
        None
    }
}

#[test]
fn every_bit_that_flips_is_noticed_by_its_field() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let good = small(order);
        let file = closed(&good).unwrap();
        let SealState::Sealed(seal) = file.seal().unwrap() else { panic!("it is sealed") };
        let meta1_len = file.meta1().layout().commit_fields().end();
        let (mut chunk, mut other) = (0, 0);
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            let at = (bit / 8) as u64;
            let name = expected(at, seal.varheader(), meta1_len);
            if closed(&bad).is_none() {
                assert_eq!(name, Some("meta1_crc"), "byte {at}");
                continue;
            }
            match (seal_holds(&bad, crc), name) {
                // What META1 says decides where a seal is looked for, and in which order.
                (Err(Broken::Metadata(_)), Some("meta1_crc")) => {}
                // If it leads to another META2 that can be read, a later writer may have made that.
                (Ok(false), Some("meta1_crc")) => assert!(at >= meta1_len - 8, "byte {at}"),
                (
                    Err(Broken::Metadata(Error::SealMagic { offset, magic })),
                    Some("trailer_crc"),
                ) => {
                    assert_eq!(offset, seal.varheader().trailer().end() - 16, "byte {at}");
                    assert_eq!(magic[..], bad[offset as usize..][..16], "byte {at}");
                }
                (Err(Broken::Metadata(Error::Checksum { field, .. })), Some(name)) => {
                    let found = field.find(striae_core::sion::raw::TABLES).unwrap().1.name;
                    assert_eq!(found, name, "byte {at}");
                }
                (Err(Broken::Chunk { .. }), None) => chunk += 1,
                (Ok(true), None) => other += 1, // a byte that is not in use
                (found, name) => panic!("byte {at}: {found:?}, not {name:?}"),
            }
        }
        assert_eq!(chunk, 8 * (90 + 20 + 5), "every bit of the tasks' data is sealed");
        let unused = good.len() as u64 - meta1_len - 115 - seal.varheader().span().len();
        assert_eq!(other, 8 * unused);
    }
}

#[test]
fn a_cut_file_is_not_sealed() {
    let good = small(ByteOrder::HOST);
    for len in 0..good.len() {
        if closed(&good[..len]).is_some() {
            assert_eq!(closed(&good[..len]).unwrap().seal(), Ok(SealState::None), "{len}");
        }
    }
}

/// Bytes that tasks used of the last chunk, as a writer without seals says.
struct Rows(u64);

impl Written for Rows {
    fn lay_over(&self, entries: &mut Entries<'_>) {
        entries.set(0, self.0);
    }
}

/// Commits as a writer that knows no seal does, in place: SIONlib does not cut the file.
fn commit_without_seal(file: &mut Growing, start: u64, maxchunks: u32, value: u64) {
    commit_by(true, file, start, maxchunks, value);
}

/// Commits, and `shows` it or does not; returns the place.
fn commit_by(shows: bool, file: &mut Growing, start: u64, maxchunks: u32, value: u64) -> Varheader {
    let closed = closed(&file.0).unwrap();
    let meta1 = *closed.meta1();
    let old = Varheader::of(closed.head(), None);
    let new = old.unwrap().shape().with_maxchunks(maxchunks).and_then(|new| new.at(start)).unwrap();
    let file_len = 0; // so that it does not look for an old seal either
    let (meta1_crc, checksum) = (0, crc32c);
    let publication = Publication { meta1, meta1_crc, old, new, file_len, checksum };
    let rows = &Rows(value);
    let mut tables = Tables::all(rows);
    tables::write(&publication, &mut tables, file, &mut [0; 256]).unwrap();
    file.sync().unwrap();
    if shows {
        visible::show(&meta1, &new, file).unwrap();
    }
    new
}

#[test]
fn a_commit_may_be_durable_before_it_is_visible() {
    let good = small(ByteOrder::HOST);
    let (meta1, old) = {
        let file = closed(&good).unwrap();
        (*file.meta1(), *file.meta2())
    };
    let (start, mut file) = (old.start() + 1024, Growing(good.clone()));
    let hidden = commit_by(false, &mut file, start, old.maxchunks(), 3);
    assert_eq!(*closed(&file.0).unwrap().meta2(), old);
    assert_eq!(file.0[..good.len()], good[..]);
    visible::show(&meta1, &hidden, &mut file).unwrap();
    let mut visible = Growing(good);
    commit_by(true, &mut visible, start, old.maxchunks(), 3);
    assert!(file.0 == visible.0);
    assert_eq!(closed(&file.0).unwrap().meta2().start(), start);
    let first = usize::try_from(start).unwrap();
    let blockcounts = I64::read_from_bytes(&file.0[first..first + 8]).unwrap();
    assert_eq!(blockcounts.get(ByteOrder::HOST), 3);
}

#[test]
fn a_book_knows_of_a_commit_when_it_is_visible_and_not_before() {
    let mut file = Growing(small(ByteOrder::HOST));
    let (meta1, old) = {
        let file = closed(&file.0).unwrap();
        (*file.meta1(), Varheader::of(file.head(), None).unwrap())
    };
    let blocks = Blocks { first: meta1.layout().first_chunk(), globalskip: 4096 };
    let (mut book, mut window) = (Book::reopen(&meta1, &blocks, old, true), [0; 256]);
    let new = book.commit(1, Ahead::NONE).unwrap();
    let (terms, tables) = (Terms::default(), &mut Tables::all(Rows(3)));
    let mut desk = Desk::new(&mut book, &mut file, terms, &mut window).unwrap();
    desk.prepare(&new, tables).unwrap();
    assert_eq!((book.published(), book.unsettled()), (Some(&old), None));
    let mut desk = Desk::new(&mut book, &mut file, terms, &mut window).unwrap();
    desk.show(&new).unwrap();
    assert_eq!((book.published(), book.unsettled(), book.settled()), (Some(&new), None, 0));
    assert_eq!(closed(&file.0).unwrap().meta2().start(), new.start());
}

#[test]
fn a_seal_does_not_hold_after_a_writer_that_does_not_know_of_it() {
    let good = small(ByteOrder::HOST);
    let (start, maxchunks) = {
        let file = closed(&good).unwrap();
        (file.meta2().start(), file.meta2().maxchunks())
    };
    for more in 0..5 {
        for forward in [0, 8, 64, 128, 1000] {
            let mut file = Growing(good.clone());
            commit_without_seal(&mut file, start + forward, maxchunks + more, 3);
            let found = seal_holds(&file.0, crc);
            assert_ne!(found, Ok(true), "{more} {forward}");
            let state = closed(&file.0).unwrap().seal();
            if (more, forward) != (0, 0) {
                assert!(!matches!(state, Ok(SealState::Sealed(_))), "{more} {forward} {state:?}");
            }
        }
    }
}

#[test]
fn the_seal_of_another_file_in_the_same_store_does_not_hold() {
    let old = small(ByteOrder::HOST);
    for (size, len) in [(40, 90), (1, 9), (7, 63), (40, 40), (64, 70), (24, 120)] {
        for ntasks in 1..5 {
            let tasks: Vec<_> = (0..ntasks).map(|rank| (rank, size)).collect();
            let attributes = Attributes { fsblksize: 16, ..Attributes::default() };
            let new = written(&attributes, &tasks, Options::default(), |writer| {
                writer.write(0, &vec![9; len]).unwrap();
                writer.close().unwrap();
            });
            let mut both = new.clone(); // whoever wrote it did not cut the store
            both.extend(old.get(new.len()..).unwrap_or_default());
            assert_ne!(seal_holds(&both, crc), Ok(true), "{size} {len} {ntasks}");
        }
    }
}

#[test]
fn a_stale_seal_is_said_to_be_one() {
    let good = small(ByteOrder::HOST);
    let file = closed(&good).unwrap();
    let varheader = Varheader::of(file.head(), None).unwrap();
    // one task fewer moves what is behind by a row: its trailer is put where it is looked for
    let trailer = &good[good.len() - 64..];
    let rows = varheader.maxchunks() + 1;
    let shape = varheader.shape().with_seal(true).with_maxchunks(rows).unwrap();
    let mut changed = Growing(good.clone());
    commit_without_seal(&mut changed, varheader.start(), rows, 3);
    let offset = shape.at(varheader.start()).unwrap().trailer().offset();
    changed.0.resize(offset as usize, 0);
    changed.0.extend(trailer);
    assert_eq!(closed(&changed.0).unwrap().seal(), Ok(SealState::Stale { offset }));
}

#[test]
fn a_number_that_the_seal_proves_to_be_another_is_damage() {
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let good = small(order);
        let sealed = i64::from(closed(&good).unwrap().meta2().maxchunks());
        let offset = closed(&good).unwrap().meta1().layout().commit_fields().offset();
        let mut more = 0;
        for value in (1..sealed + 20).filter(|&value| value != sealed) {
            let mut bad = good.clone();
            let raw = I32::new(value as i32, order);
            bad[offset as usize..][..4].copy_from_slice(raw.as_bytes());
            if closed(&bad).is_none() {
                continue; // the file ends before META2 does
            }
            more += i64::from(value > sealed);
            let field = CommitFields::maxchunks;
            let error = Error::NotAsSealed { field, offset, value, sealed };
            assert_eq!(closed(&bad).unwrap().seal(), Err(DriveError::Format(error)));
            // Nor is it written on: the next META2 would have no seal, and nobody was told.
            let mut store = Growing(bad.clone());
            let found = with_memory(1076, |memory| {
                Writer::reopen(&mut store, memory, Options::default()).map(|_| ()).unwrap_err()
            });
            assert!(matches!(found, DriveError::Format(found) if found == error), "{found:?}");
            assert_eq!(store.0, bad);
        }
        assert!(more > 0, "what stands behind META2 can be taken for rows of it");
    }
}

#[test]
fn a_reopened_file_goes_on_with_its_seal_and_says_if_it_is_damaged() {
    for ahead in [0, 2] {
        let mut store = Growing(small(ByteOrder::Big));
        for round in 0..4 {
            with_memory(1076, |memory| {
                let options = Options { ahead, ..Options::default() };
                let mut writer = Writer::reopen(&mut store, memory, options).unwrap();
                writer.write(0, &[round; 13]).unwrap(); // a chunk that is half full
                writer.commit().unwrap();
                writer.write(2, &[round; 50]).unwrap(); // META2 must move
                writer.write(0, &[round; 60]).unwrap();
                match round {
                    0 | 2 => writer.commit().unwrap(),
                    _ => writer.close().unwrap(),
                }
            });
            assert_eq!(seal_holds(&store.0, crc), Ok(true), "{round}");
        }
    }
    let good = small(ByteOrder::HOST);
    let start = closed(&good).unwrap().meta2().start() as usize;
    for (at, field) in [
        (start + 8 * 3 + 8, SealTrailer::meta2_crc),
        (1076, SealTrailer::meta1_crc),
        (good.len() - 64 - 4, SealTrailer::chunks_crc),
        (good.len() - 64, SealTrailer::trailer_crc),
        (good.len() - 1, SealTrailer::magic),
    ] {
        let mut bad = good.clone();
        bad[at] ^= 1;
        let before = bad.clone();
        let mut store = Growing(bad);
        let error = with_memory(1076, |memory| {
            Writer::reopen(&mut store, memory, Options::default()).map(|_| ()).unwrap_err()
        });
        let found = match error {
            DriveError::Format(Error::Checksum { field, .. }) => field,
            DriveError::Format(Error::SealMagic { .. }) => SealTrailer::magic,
            error => panic!("{error:?} at {at}"),
        };
        assert_eq!((found, store.0), (field, before));
    }
}

/// A sealed file that is number `filenumber` of `nfiles`, of a set with this identity.
fn of_set(order: ByteOrder, (nfiles, filenumber): (u32, u32), set_identity: u32) -> Vec<u8> {
    let attributes = Attributes { order, fsblksize: 64, nfiles, filenumber, ..Attributes::DEFAULT };
    let mapping = &[(0, 0), (0, 1), (1, 0)][..];
    let options = Options { sealed: true, mapping, set_identity, ..Options::default() };
    written(&attributes, &[(0, 100), (1, 50)], options, |writer| {
        writer.write(0, &[1; 230]).unwrap();
        writer.commit().unwrap();
        writer.write(1, &[2; 20]).unwrap();
        writer.close().unwrap();
    })
}

fn identity(bytes: &[u8]) -> Option<u32> {
    match closed(bytes)?.seal() {
        Ok(SealState::Sealed(seal)) => Some(seal.varheader().set_identity()),
        _ => None,
    }
}

#[test]
fn a_seal_names_the_set_at_the_price_of_no_byte_and_is_of_its_place() {
    let mut cases = 0;
    for order in [ByteOrder::Little, ByteOrder::Big] {
        // With a mapping, with nothing, with its size, with nothing.
        for place in [(2, 0), (2, 1), (1, 1), (1, 0)] {
            let (good, plain) = (of_set(order, place, 0xA1B2_C3D4), of_set(order, place, 0));
            assert_eq!((identity(&good), identity(&plain)), (Some(0xA1B2_C3D4), Some(0)));
            assert_eq!(seal_holds(&good, crc), Ok(true));
            let trailer = good.len() - 64;
            assert_eq!((good.len(), &good[..trailer]), (plain.len(), &plain[..trailer]));
            let version =
                |bytes: &[u8]| I32::read_from_bytes(&bytes[trailer..][..4]).unwrap().get(order);
            assert_eq!((version(&good), version(&plain)), (2, 1));
            for at in trailer..good.len() {
                for bit in 0..8 {
                    let mut bytes = good.clone();
                    bytes[at] ^= 1 << bit;
                    assert_ne!(seal_holds(&bytes, crc), Ok(true), "byte {at}");
                }
            }
            for len in [4, 8, 16, 64] {
                let mut bytes = good[..trailer].to_vec();
                bytes.extend(vec![0; len]);
                bytes.extend(&good[trailer..]);
                assert_eq!(identity(&bytes), None, "{len} bytes further on");
            }
            // Who goes on is of the same set, whatever the options say.
            let (mut file, options) = (Growing(good), Options::default());
            with_memory(1500, |memory| {
                let mut writer = Writer::reopen(&mut file, memory, options).unwrap();
                writer.write(1, &[3; 90]).unwrap();
                writer.commit().unwrap();
            });
            assert_eq!(identity(&file.0), Some(0xA1B2_C3D4));
            cases += 1;
        }
    }
    assert_eq!(cases, 8);
}

#[test]
fn the_identity_of_a_set_is_that_of_most_sealed_files_or_of_the_first() {
    let of = |files: &[Option<u32>]| identity_of(files.iter().copied());
    let mut cases = 0;
    // All sets of up to 5 files, each without a seal, without an identity, or with one of three.
    for count in 0..=5u32 {
        for mut number in 0..5u32.pow(count) {
            let files: Vec<_> = (0..count)
                .map(|_| {
                    [None, Some(0), Some(1), Some(2), Some(u32::MAX)][{
                        let digit = number % 5;
                        number /= 5;
                        digit as usize
                    }]
                })
                .collect();
            let sealed: Vec<_> = files.iter().flatten().copied().collect();
            let votes = |of: u32| sealed.iter().filter(|&&it| it == of).count();
            let most = sealed.iter().copied().find(|&it| 2 * votes(it) > sealed.len());
            assert_eq!(of(&files), most.or(sealed.first().copied()), "{files:?}");
            cases += 1;
        }
    }
    assert_eq!(cases, 1 + 5 + 25 + 125 + 625 + 3125);
}
