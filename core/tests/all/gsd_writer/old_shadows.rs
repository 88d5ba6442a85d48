//! Files of earlier versions have their shadows at 256 and 512, and the first one is in the sector
//! of the header. They keep these places, and are continued after all that they survived before.

use super::Disk;
use striae_core::gsd::fixed::Fault;
use striae_core::gsd::raw::{Image, Shadow};
use striae_core::gsd::{Attributes, FixedLogger, Logger, OwnLogger, Reader, Shape};
use striae_core::step::DriveError;
use striae_kit::gsd_files::{image, with_image};
use zerocopy::IntoBytes;

/// Five frames; see its README.
const FILE: &[u8] = include_bytes!("../../../../tests/golden/gsd_log/shadows_at_256.gsd");

const ABOUT: Attributes<'static> = Attributes {
    application: "probe 1.0",
    schema: "probe",
    align: 512,
    index_slots: 256,
    shown_slots: 16,
    names_len: 64,
    ..Attributes::DEFAULT
};

static FIXED: Shape<'static, 2> = match Shape::new(&ABOUT, ["temperature", "acceleration"]) {
    Ok(shape) => shape,
    Err(_) => panic!(),
};

static OWN: Shape<'static, 0> = match Shape::new(&ABOUT, []) {
    Ok(shape) => shape,
    Err(_) => panic!(),
};

/// Opens a file, adds `more` frames with a commit of each, and returns the file and how many frames
/// it had.
type Continue = fn(Vec<u8>, u8) -> (Vec<u8>, u64);

/// Continues a file with the logger that an expression opens.
macro_rules! go_on {
    ($open:expr) => {
        |bytes, more| {
            let mut log = $open(Disk::new(bytes)).unwrap();
            let before = log.frames();
            for _ in 0..more {
                let frame = log.frames() as f32;
                log.write(0, &[[frame + 20.0]]).unwrap();
                log.write(1, &[[0.5, frame, 9.75]]).unwrap();
                log.end_frame().unwrap();
            }
            (log.into_store().bytes, before)
        }
    };
}

const LOGGERS: [(&str, Continue); 3] = [
    ("Logger", go_on!(|disk| Logger::<_, 4>::open_or_create(disk, &ABOUT))),
    ("OwnLogger", go_on!(|disk| OwnLogger::<_, 2>::open_or_create(disk, &OWN))),
    ("FixedLogger", go_on!(|disk| FixedLogger::open_or_create(disk, &FIXED))),
];

/// The two shadows at 256.
fn shadows(bytes: &[u8]) -> [Shadow; 2] {
    [256, 512].map(|at| *Shadow::parse(&bytes[at..at + 256]).unwrap())
}

fn assert_frames(bytes: &[u8], count: u64, what: &str) {
    let mut window = [0; 512];
    let reader = Reader::open(bytes, &mut window).unwrap();
    assert_eq!(reader.frames(), count, "{what}");
    for frame in 0..count {
        let values: [Vec<f32>; 2] = ["temperature", "acceleration"].map(|name| {
            let id = reader.name_id(name.as_bytes(), &mut window).unwrap().unwrap();
            let chunk = reader.find(frame, id, &mut window).unwrap().unwrap();
            let mut bytes = vec![0; chunk.span.len() as usize];
            assert_eq!(reader.read(chunk.span, &mut bytes).unwrap(), bytes.len());
            let values = bytes.chunks_exact(4).map(|value| value.try_into().unwrap());
            values.map(f32::from_le_bytes).collect()
        });
        let wanted = [vec![frame as f32 + 20.0], vec![0.5, frame as f32, 9.75]];
        assert_eq!(values, wanted, "{what}: frame {frame}");
    }
}

#[test]
fn a_file_with_shadows_at_256_keeps_them_when_it_goes_on() {
    for (name, go_on) in LOGGERS {
        for more in 0..4 {
            let (bytes, before) = go_on(FILE.to_vec(), more);
            assert_eq!(before, 5, "{name}");
            assert_frames(&bytes, 5 + u64::from(more), name);
            let last = 5 + u32::from(more);
            let of = |shadow: &Shadow| shadow.new.commit.sequence.get();
            let numbers = shadows(&bytes).map(|shadow| of(&shadow));
            assert_eq!(numbers, [last - last % 2, last - 1 + last % 2], "{name}");
            assert!(bytes[768..1024].iter().all(|&byte| byte == 0), "{name}");
        }
    }
}

#[test]
fn a_torn_header_with_shadows_at_256_is_completed() {
    for (name, go_on) in LOGGERS {
        for last in [5, 6] {
            let (bytes, _) = go_on(FILE.to_vec(), last - 5);
            let Shadow { old, new, .. } = shadows(&bytes)[usize::from(last % 2)];
            for cut in 1..size_of::<Image>() {
                let mixed = [&new.as_bytes()[..cut], &old.as_bytes()[cut..]].concat();
                let (bytes, before) = go_on(with_image(&bytes, &mixed), 1);
                let whole = u64::from(last);
                let is_old = mixed == old.as_bytes();
                assert_eq!(before, whole - u64::from(is_old), "{name}, {cut} bytes");
                assert_frames(&bytes, before + 1, name);
            }
        }
    }
}

/// Only the second shadow is left: it has the last commit with an odd number.
#[test]
fn an_erased_header_with_shadows_at_256_is_brought_back() {
    for (name, go_on) in LOGGERS {
        for more in 0..4 {
            for fill in [0x00, 0xFF] {
                let (mut bytes, _) = go_on(FILE.to_vec(), more);
                bytes[..512].fill(fill);
                let (bytes, before) = go_on(bytes, 1);
                let last = 5 + u64::from(more);
                assert_eq!(before, last - u64::from(more % 2), "{name}");
                assert_frames(&bytes, before + 1, name);
            }
        }
    }
}

/// What a version that had shadows at 256 left of a new file's second shadow is not believed.
#[test]
fn a_shadow_at_768_says_nothing_of_a_file_with_shadows_at_256() {
    for (name, go_on) in LOGGERS {
        let mut later = shadows(FILE)[1];
        later.new.commit.sequence = 7.into();
        later.new.commit.shadow = 512.into();
        let shadow = Shadow::of(&later.old, &later.new, 0, striae_core::integrity::crc32c);
        let mut bytes = FILE.to_vec();
        bytes[768..1024].copy_from_slice(shadow.as_bytes());
        bytes[..512].fill(0xFF);
        assert_eq!(go_on(bytes, 0).1, 5, "{name}");
    }
}

/// "Otherwise: damaged, refused": it is no front of a header that is the new one of a shadow, with
/// the rest of the old one, and no byte is erased.
#[test]
fn a_log_whose_header_is_neither_torn_nor_erased_is_refused_and_left_as_it_is() {
    let right = image(FILE);
    let is_mixed = |wrong: &[u8]| {
        shadows(FILE).iter().any(|Shadow { old, new, .. }| {
            (0..=120).any(|cut| [&new.as_bytes()[..cut], &old.as_bytes()[cut..]].concat() == wrong)
        })
    };
    let mut refused = 0;
    for at in (0..32).chain(48..120) {
        let mut wrong = right.clone();
        wrong[at] ^= 0x12;
        if [0x00, 0xFF].contains(&wrong[at]) || is_mixed(&wrong) {
            continue;
        }
        let damaged = with_image(FILE, &wrong);
        let mut disk = Disk::new(damaged.clone());
        let own = OwnLogger::<_, 2>::open_or_create(&mut disk, &OWN).err();
        assert_eq!(own, Some(DriveError::Format(Fault::Damaged)), "byte {at}");
        let fixed = FixedLogger::open_or_create(&mut disk, &FIXED).err();
        assert_eq!(fixed, Some(DriveError::Format(Fault::Damaged)), "byte {at}");
        assert!(Logger::<_, 4>::open_or_create(&mut disk, &ABOUT).is_err(), "byte {at}");
        assert!(disk.bytes == damaged, "byte {at}");
        refused += 1;
    }
    assert!(refused > 90, "{refused}");
}
