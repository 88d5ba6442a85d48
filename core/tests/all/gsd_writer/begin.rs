//! A device begins a log only where there is nothing, and goes on only with its own.

use super::{Disk, Failure};
use striae_core::gsd::raw::Header;
use striae_core::gsd::{Attributes, ChunkType, Error, Logger, Version};
use striae_core::step::DriveError;
use zerocopy::FromBytes;

const ABOUT: Attributes<'static> = Attributes {
    application: "probe 1.0",
    schema: "probe",
    schema_version: Version { major: 1, minor: 2 },
    layer: Version::LAYER,
    align: 1,
    checksums: false,
    one_sync: false,
    index_slots: 128,
    shown_slots: 128,
    names_len: 1024,
};

/// Bytes that a new log of these reaches: header, shadows, names, index.
const REACH: usize = 1024 + 1024 + 256 * 32;

type Log = Logger<Disk, 4>;

fn log_of(about: &Attributes<'_>) -> Vec<u8> {
    let mut log = Log::create(Disk::new(Vec::new()), about).unwrap();
    let id = log.name("t").unwrap();
    log.chunk(id, ChunkType::U8, 1, b"first").unwrap();
    log.end_frame().unwrap();
    log.into_store().bytes
}

/// That `image` is refused, and left as it is.
fn refused(image: &[u8], about: &Attributes<'_>) -> Error {
    let mut disk = Disk::new(image.to_vec());
    let error = Logger::<_, 4>::open_or_create(Borrowed(&mut disk), about).map(drop).unwrap_err();
    assert!(disk.bytes == image, "{error}");
    match error {
        DriveError::Format(error) => error,
        error => panic!("{error}"),
    }
}

/// A disk that can be looked at when the logger is gone.
struct Borrowed<'a>(&'a mut Disk);

impl striae_core::store::ReadAt for Borrowed<'_> {
    type Error = striae_core::store::FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, Self::Error> {
        self.0.size()
    }
}

impl striae_core::store::WriteAt for Borrowed<'_> {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> Result<(), Self::Error> {
        self.0.set_size(len)
    }

    fn sync(&mut self) -> Result<(), Self::Error> {
        self.0.sync()
    }
}

#[test]
fn what_nobody_knows_is_left_alone() {
    let card = vec![0; 1 << 16];
    let with = |at: usize, bytes: &[u8]| {
        let mut card = card.clone();
        card[at..at + bytes.len()].copy_from_slice(bytes);
        card
    };
    let gsd = log_of(&ABOUT);
    let mut wrong_bit = gsd.clone();
    wrong_bit[3] ^= 1;
    let mut without_magic = gsd.clone();
    without_magic[..8].fill(0xFF);
    let mut zeroed_magic = gsd;
    zeroed_magic[..8].fill(0);
    let unknown: [(&str, u64, Vec<u8>); 9] = [
        ("a partition table and no boot code", 446, with(446, &[0x80, 1, 1, 0, 0x0C])),
        ("the signature of a boot sector", 510, with(510, &[0x55, 0xAA])),
        ("a FAT file system", 0, with(0, &[0xEB, 0x58, 0x90])),
        ("a file system whose first block is at 1024", 1080, with(1080, &[0x53, 0xEF])),
        ("the last byte that a log reaches", 10239, with(REACH - 1, &[1])),
        ("zeros and ones in a sector", 700, with(700, &[0xFF; 9])),
        ("a log with a wrong bit in its magic", 3, wrong_bit),
        ("a log with ones for its magic", 9, without_magic),
        ("a log with zeros for its magic", 9, zeroed_magic),
    ];
    for (what, offset, image) in unknown {
        match refused(&image, &ABOUT) {
            Error::NotBlank { offset: found, value } => {
                assert_eq!((found, image[found as usize]), (offset, value), "{what}");
            }
            error => panic!("{what}: {error}"),
        }
    }
}

#[test]
fn a_card_is_blank_far_after_the_bytes_that_a_log_reaches() {
    for fill in [0x00, 0xFF] {
        for at in [REACH, 1 << 14, (1 << 16) - 1] {
            let mut card = vec![fill; 1 << 16];
            card[at] = 0x65;
            let expected = Error::NotBlank { offset: at as u64, value: 0x65 };
            assert_eq!(refused(&card, &ABOUT), expected);
        }
        let mut log = Log::open_or_create(Disk::new(vec![fill; 1 << 16]), &ABOUT).unwrap();
        log.name("t").unwrap();
    }
    assert_eq!(Log::open_or_create(Disk::new(vec![0; 7]), &ABOUT).unwrap().frames(), 0);
}

/// `spec/gsd.md`, *Blank stores*: the first MiB, blocks at powers of two, and the last 2 MiB.
#[test]
fn a_card_is_blank_if_the_places_of_signatures_are() {
    const MIB: usize = 1 << 20;
    let mut card = vec![0; 16 * MIB];
    let mut is_seen = |at: usize| {
        card[at] = 0x65;
        let mut disk = Disk::new(card.clone());
        let begun = Logger::<_, 4>::open_or_create(Borrowed(&mut disk), &ABOUT).map(drop);
        card[at] = 0;
        match begun {
            Ok(()) => false,
            Err(DriveError::Format(Error::NotBlank { offset, value: 0x65 })) => {
                assert_eq!(offset, at as u64);
                true
            }
            Err(error) => panic!("{error}"),
        }
    };
    for power in [MIB, 2 * MIB, 4 * MIB, 8 * MIB] {
        let found = [power - 1, power, power + 511, power + 512].map(&mut is_seen);
        assert_eq!(found, [power == MIB, true, true, false], "{power}");
    }
    let found = [3 * MIB, 14 * MIB - 1, 14 * MIB, 15 * MIB, 16 * MIB - 1].map(&mut is_seen);
    assert_eq!(found, [false, false, true, true, true]);
}

/// A creation clears the names and the slots that the header shows first, the last ones.
#[test]
fn a_card_is_blank_where_a_creation_was_cut_in_the_middle_of_a_sector() {
    let half_cleared = |sector: usize| {
        let mut card = vec![0xFF; 1 << 16];
        card[sector..sector + 200].fill(0);
        card
    };
    for sector in [1024, 1536, REACH - 128 * 32, REACH - 512] {
        let log = Log::open_or_create(Disk::new(half_cleared(sector)), &ABOUT).unwrap();
        assert_eq!(log.frames(), 0, "{sector}");
    }
    // The magic is cleared first. The next byte of this header is not zero.
    let about = Attributes { index_slots: 1, ..ABOUT };
    let magic = |cleared: usize| [vec![0; cleared], vec![0xFF; (1 << 16) - cleared]].concat();
    for cleared in 1..=8 {
        Log::open_or_create(Disk::new(magic(cleared)), &about).unwrap();
    }
    assert_eq!(refused(&magic(9), &about), Error::NotBlank { offset: 9, value: 0xFF });
    for sector in [2048, REACH - 128 * 32 - 512, REACH] {
        let expected = Error::NotBlank { offset: sector as u64 + 200, value: 0xFF };
        assert_eq!(refused(&half_cleared(sector), &ABOUT), expected);
    }
}

#[test]
fn a_card_is_blank_where_a_creation_was_cut_in_a_shadow() {
    let made = Log::create(Disk::new(Vec::new()), &ABOUT).unwrap().into_store().bytes;
    for end in [513, 520, 600, 768] {
        let mut card = vec![0xFF; 1 << 16];
        card[512..end].copy_from_slice(&made[512..end]);
        assert_eq!(Log::open_or_create(Disk::new(card), &ABOUT).unwrap().frames(), 0, "{end}");
    }
}

/// `spec/gsd.md`, *A new file*: an index has 256 slots, and the header shows the last 128.
#[test]
fn the_blocks_of_a_new_file_are_at_multiples_of_its_alignment() {
    for (align, index, data) in [
        (1, 2048, 10_240),
        (512, 2048, 10_240),
        (1024, 2048, 10_240),
        (2048, 2048, 10_240),
        (4096, 4096, 12_288),
        (1 << 14, 1 << 14, 1 << 15),
    ] {
        let about = Attributes { align, ..ABOUT };
        assert_eq!(about.least_len(), Ok(data), "{align}");
        let made = Log::create(Disk::new(Vec::new()), &about).unwrap().into_store().bytes;
        let header = Header::read_from_bytes(&made[..256]).unwrap();
        assert_eq!(header.namelist_location.get(), 1024, "{align}");
        let shown = (header.index_location.get(), header.index_allocated_entries.get());
        assert_eq!(shown, (index + 128 * 32, 128), "{align}");
    }
}

/// Also over an older file, whose shadows would be forgotten first.
#[test]
fn a_card_that_is_too_small_is_refused_before_the_first_byte() {
    let old = log_of(&ABOUT);
    let many = Attributes { index_slots: 1 << 12, ..ABOUT };
    for image in [vec![0xFF; 1 << 13], vec![0x65; 1 << 13], old.clone(), old[..5000].to_vec()] {
        let mut disk = Disk { limit: image.len(), ..Disk::new(image.clone()) };
        let full = Logger::<_, 4>::create(Borrowed(&mut disk), &many).map(drop).unwrap_err();
        assert!(matches!(full, DriveError::Store(_)));
        assert!(disk.bytes == image);
    }
    let mut disk = Disk { limit: 5000, ..Disk::new(vec![0xFF; 5000]) };
    let full = Logger::<_, 4>::open_or_create(Borrowed(&mut disk), &ABOUT).map(drop).unwrap_err();
    assert!(matches!(full, DriveError::Store(_)));
    assert!(disk.bytes == [0xFF; 5000]);
}

#[test]
fn a_log_in_the_callers_memory_is_the_same_or_none() {
    let mut place = None;
    let log = Log::open_or_create_in(&mut place, Disk::new(Vec::new()), &ABOUT).unwrap();
    let id = log.name("t").unwrap();
    log.chunk(id, ChunkType::U8, 1, b"first").unwrap();
    log.end_frame().unwrap();
    let bytes = place.take().unwrap().into_store().bytes;
    assert_eq!(bytes, log_of(&ABOUT));

    place = Some(Log::open(Disk::new(bytes)).unwrap()); // a refused store replaces it, too
    let other = Attributes { application: "other", ..ABOUT };
    let error = Log::open_or_create_in(&mut place, Disk::new(log_of(&other)), &ABOUT);
    let field = Header::application;
    assert!(matches!(error, Err(DriveError::Format(Error::Another { field: it })) if it == field));
    assert!(place.is_none());
}

#[test]
fn a_log_of_another_program_or_schema_is_not_gone_on_with() {
    let own = Log::open_or_create(Disk::new(log_of(&ABOUT)), &ABOUT).unwrap();
    assert_eq!(own.frames(), 1);
    let version = |major, minor| Attributes { schema_version: Version { major, minor }, ..ABOUT };
    for (other, field) in [
        (Attributes { application: "probe 1.1", ..ABOUT }, Header::application),
        (Attributes { application: "", ..ABOUT }, Header::application),
        (Attributes { schema: "probes", ..ABOUT }, Header::schema),
        (version(2, 2), Header::schema_version),
        (version(1, 3), Header::schema_version),
    ] {
        assert_eq!(refused(&log_of(&other), &ABOUT), Error::Another { field });
    }
    // What else they say is for a new file.
    let other = Attributes { align: 512, checksums: true, index_slots: 1, ..ABOUT };
    assert_eq!(Log::open_or_create(Disk::new(log_of(&other)), &ABOUT).unwrap().frames(), 1);
}

/// The shadows are in another sector: the later one has what the header had.
#[test]
fn an_erased_header_is_brought_back_as_it_was() {
    let about = Attributes { align: 512, ..ABOUT };
    let mut log = Log::create(Disk::new(Vec::new()), &about).unwrap();
    let id = log.name("t").unwrap();
    for frame in 0..6 {
        log.chunk(id, ChunkType::U8, 1, &[frame; 9]).unwrap();
        log.end_frame().unwrap();
        let whole = log.writer().store().bytes.clone();
        for fill in [0x00, 0xFF] {
            for kept in [0, 1, 8, 40, 100, 200, 251] {
                let mut image = whole.clone();
                image[kept..512].fill(fill);
                let disk = Log::open_or_create(Disk::new(image), &about).unwrap().into_store();
                let entries = super::shown(&disk.bytes).len();
                assert_eq!(entries, 128 + 16 * usize::from(frame), "frame {frame}, {kept} bytes");
                assert!(disk.bytes[..256] == whole[..256], "frame {frame}, {kept} bytes");
            }
        }
    }
}

/// A device whose blocks are larger than a sector erases the shadows with the header.
#[test]
fn header_and_shadows_are_in_two_sectors_of_512_bytes_and_in_one_of_4096() {
    for align in [512, 4096] {
        let about = Attributes { align, ..ABOUT };
        let mut log = Log::create(Disk::new(Vec::new()), &about).unwrap();
        let id = log.name("t").unwrap();
        for frame in 0..3 {
            log.chunk(id, ChunkType::U8, 1, &[frame; 9]).unwrap();
            log.end_frame().unwrap();
        }
        let whole = log.into_store().bytes;
        let is_shadow = |at: &usize| whole[*at..].starts_with(b"striaeSH");
        assert_eq!((0..whole.len()).filter(is_shadow).collect::<Vec<_>>(), [512, 768]);
        let erased = |range: core::ops::Range<usize>| {
            let mut image = whole.clone();
            image[range].fill(0xFF);
            image
        };
        for sector in [0..512, 512..1024] {
            let log = Log::open_or_create(Disk::new(erased(sector)), &about).unwrap();
            assert_eq!(log.frames(), 3, "align {align}");
        }
        assert!(matches!(refused(&erased(0..4096), &about), Error::NotBlank { .. }));
    }
}

#[test]
fn a_commit_of_one_sync_is_not_taken_back_by_bringing_back_a_header() {
    let about = Attributes { one_sync: true, ..ABOUT };
    let mut log = Log::create(Disk::new(Vec::new()), &about).unwrap();
    let id = log.name("t").unwrap();
    for frame in 0..4 {
        log.chunk(id, ChunkType::U8, 1, &[frame; 9]).unwrap();
        log.end_frame().unwrap();
        let mut image = log.writer().store().bytes.clone();
        image[..512].fill(0xFF);
        assert!(matches!(refused(&image, &about), Error::NotBlank { offset: 512..1024, .. }));
    }
}

#[test]
fn only_create_writes_over_what_is_there() {
    let mut card = vec![0x65; 1 << 16];
    card[..1000].fill(0);
    refused(&card, &ABOUT);
    let done: Result<Log, Failure> = Logger::create(Disk::new(card), &ABOUT);
    assert_eq!(done.unwrap().frames(), 0);
}
