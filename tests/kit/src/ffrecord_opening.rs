//! The body of `ffrecord_open`: what is read of any bytes is what a plain reading of them finds.

use striae_core::ffrecord::{Error, Reader, Sample};
use striae_core::integrity::crc32;
use striae_core::step::DriveError;

/// The input is an ffrecord file. It is read as it is, and with the right checksum of its tables,
/// which mutations seldom find.
pub fn ffrecord_open(data: &[u8]) {
    compare(data);
    if let Some(plain) = Plain::read(data) {
        let mut sealed = data.to_vec();
        sealed[..4].copy_from_slice(&plain.computed.to_le_bytes());
        compare(&sealed);
    }
}

/// A file, read without striae: all numbers are wide enough not to overflow.
struct Plain<'a> {
    bytes: &'a [u8],
    stored: u32,
    computed: u32,
    crcs: Vec<u32>,
    offsets: Vec<i128>,
}

impl<'a> Plain<'a> {
    /// `None` if header and tables do not fit.
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let integer = |at: usize| bytes.get(at..)?.first_chunk().map(|b| i64::from_le_bytes(*b));
        let word = |at: usize| bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b));
        let n = i128::from(integer(4)?);
        let len = i128::try_from(bytes.len()).unwrap();
        if n < 0 || 12 + 12 * n > len {
            return None;
        }
        let n = usize::try_from(n).unwrap();
        let crcs = (0..n).map(|i| word(12 + 4 * i).unwrap()).collect();
        let offsets = (0..n).map(|i| integer(12 + 4 * n + 8 * i).unwrap().into());
        let offsets = offsets.chain([len]).collect();
        let computed = plain_crc(&bytes[4..12 + 12 * n]);
        Some(Self { bytes, stored: word(0)?, computed, crcs, offsets })
    }

    /// A sample's bytes and checksum; `None` if it does not lie behind the tables and in the file.
    fn sample(&self, number: usize) -> Option<(&'a [u8], u32)> {
        let (start, end) = (self.offsets[number], self.offsets[number + 1]);
        let tables = 12 + 12 * i128::try_from(self.crcs.len()).unwrap();
        let len = *self.offsets.last().unwrap();
        if start < tables || end < start || end > len {
            return None;
        }
        let (start, end) = (usize::try_from(start).unwrap(), usize::try_from(end).unwrap());
        Some((&self.bytes[start..end], self.crcs[number]))
    }

    /// Whether a writer of ffrecord could have made it.
    fn is_consistent(&self) -> bool {
        let n = self.crcs.len();
        let tables = 12 + 12 * i128::try_from(n).unwrap();
        let checked = match self.stored {
            0 => n > 0 && (0..n).all(|number| self.sample(number).is_some()),
            stored => stored == self.computed,
        };
        let first = n == 0 || self.sample(0).is_some();
        checked && first && self.offsets[0] == tables
    }
}

/// CRC-32 bit by bit, as RFC 1952 has it.
fn plain_crc(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
        }
    }
    !crc
}

fn compare(bytes: &[u8]) {
    let opened = Reader::open(bytes, &mut [0; 12]);
    let Some(plain) = Plain::read(bytes) else {
        assert!(matches!(opened, Err(DriveError::Format(_))), "{opened:?}");
        let error = opened.unwrap_err();
        assert!(!error.to_string().contains('\n'));
        return;
    };
    let reader = opened.unwrap();
    let n = plain.crcs.len();
    assert_eq!(reader.n(), u64::try_from(n).unwrap());
    compare_meta(&reader, &plain);
    for window in [20, 33, 4096] {
        let listed: Vec<_> = reader.samples(0..reader.n(), vec![0; window]).collect();
        assert_eq!(listed.len(), n);
        for (number, found) in listed.into_iter().enumerate() {
            compare_sample(&reader, &plain, number, found);
        }
    }
    for number in 0..n {
        let found = reader.sample(u64::try_from(number).unwrap(), &mut [0; 16]);
        compare_sample(&reader, &plain, number, found);
    }
    for number in [reader.n(), u64::MAX] {
        let error = reader.sample(number, &mut [0; 16]).unwrap_err();
        assert_eq!(error, DriveError::Format(Error::NoSample { number, n: reader.n() }));
        assert_eq!(reader.samples(number..u64::MAX, [0; 20]).count(), 0);
    }
    assert_eq!(reader.is_consistent(&mut [0; 48], crc32), Ok(plain.is_consistent()));
}

fn compare_meta(reader: &Reader<&[u8]>, plain: &Plain<'_>) {
    assert_eq!(reader.head().checksum_meta, plain.stored);
    for window in [1, 7, 4096] {
        let checked = reader.check_meta(&mut vec![0; window], crc32);
        let is_right = plain.stored == 0 || plain.stored == plain.computed;
        assert_eq!(checked.is_ok(), is_right, "{checked:?}");
        if let Err(error) = checked {
            let DriveError::Format(Error::Checksum { offset: 0, stored, computed, .. }) = error
            else {
                panic!("{error:?}")
            };
            assert_eq!((stored, computed), (plain.stored, plain.computed));
        }
    }
}

type Found = Result<Sample, DriveError<striae_core::store::FixedSize, Error>>;

fn compare_sample(reader: &Reader<&[u8]>, plain: &Plain<'_>, number: usize, found: Found) {
    let (expected, crc) = match (plain.sample(number), found) {
        (Some((bytes, crc)), Ok(sample)) => {
            assert_eq!(sample.number, u64::try_from(number).unwrap());
            assert_eq!(sample.crc, crc);
            assert_eq!(sample.span.offset(), u64::try_from(plain.offsets[number]).unwrap());
            assert_eq!(sample.span.len(), u64::try_from(bytes.len()).unwrap());
            let mut read = vec![0; bytes.len()];
            assert_eq!(reader.read(sample.span, &mut read), Ok(bytes.len()));
            assert_eq!(read, bytes);
            let is_right = plain_crc(bytes) == crc;
            assert_eq!(sample.check(bytes, crc32).is_ok(), is_right);
            ((sample, is_right), crc)
        }
        (None, Err(DriveError::Format(error))) => {
            assert!(matches!(error, Error::TooSmall { .. } | Error::TooLarge { .. }), "{error}");
            assert!(!error.blames_caller());
            return;
        }
        (_, found) => panic!("sample {number}: {found:?}"),
    };
    let (sample, is_right) = expected;
    for window in [1, 64] {
        match reader.check(&sample, &mut vec![0; window], crc32) {
            Ok(()) => assert!(is_right),
            Err(DriveError::Format(Error::Checksum { stored, .. })) => {
                assert!(!is_right && stored == crc);
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}
