//! What the library reads.

use super::{File, expected, fs, golden, made, sha256, valid};
use std::io;
use striae::error::ErrorKind;
use striae::ffrecord::ErrorKind::Sample;
use striae::ffrecord::{self, crc32};
use striae::{Error, Format};
use striae_core::ffrecord::Error as Wrong;

#[test]
fn every_sample_of_every_golden_file_reads_as_ffrecord_wrote_it() {
    for (name, expected) in valid() {
        let file = File::open(golden(&name)).unwrap();
        file.check_meta().unwrap();
        let expected = expected["samples"].as_array().unwrap();
        assert_eq!(file.n(), u64::try_from(expected.len()).unwrap(), "{name}");
        let listed: Vec<_> = file.samples().collect::<Result<_, _>>().unwrap();
        assert_eq!(listed.len(), expected.len(), "{name}");
        for (number, expected) in (0u64..).zip(expected) {
            let sample = file.sample(number).unwrap();
            assert_eq!(listed[usize::try_from(number).unwrap()], sample);
            assert_eq!(expected["offset"], sample.span.offset());
            assert_eq!(expected["bytes"], sample.span.len());
            assert_eq!(expected["crc32"], sample.crc);
            file.check(&sample).unwrap();
            let mut bytes = file.read_checked(number).unwrap();
            file.check_bytes(&sample, &bytes).unwrap();
            if let Some(first) = bytes.first_mut() {
                *first ^= 1;
                let error = file.check_bytes(&sample, &bytes).unwrap_err().to_string();
                assert!(error.contains(&format!("{name}: sample {number}: ")), "{error}");
                bytes[0] ^= 1;
            }
            assert_eq!(expected["sha256"], sha256(&bytes), "{name} {number}");
            assert_eq!(file.read(number).unwrap(), bytes);
            assert_eq!(crc32(0, &bytes), sample.crc);
        }
        let end = file.n();
        let error = file.read(end).unwrap_err();
        let ErrorKind::Ffrecord(ffrecord::ErrorKind::Format(wrong)) = error.kind() else {
            panic!("{error}")
        };
        assert!(matches!(wrong, Wrong::NoSample { number, .. } if *number == end));
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidInput);
        assert_eq!(file.samples_of(end..u64::MAX).count(), 0);
    }
}

#[test]
fn threads_read_one_file() {
    let file = File::open(golden("many.ffr")).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let file = &file;
            scope.spawn(move || {
                for number in (thread..file.n()).step_by(4) {
                    file.read_checked(number).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_damaged_sample_is_refused_and_the_others_are_read() {
    for (name, expected) in expected() {
        let Some(upstream) = expected["upstream"]["samples"].as_array() else { continue };
        let file = File::open(golden(&name)).unwrap();
        for (number, expected) in (0..).zip(upstream) {
            match (file.read_checked(number), expected.as_str()) {
                (Ok(bytes), Some(expected)) => assert_eq!(sha256(&bytes), expected, "{name}"),
                (Err(error), None) => {
                    let ErrorKind::Ffrecord(Sample { number: found, error: wrong }) = error.kind()
                    else {
                        panic!("{error}")
                    };
                    assert!(*found == number && !wrong.blames_caller());
                    let text = error.to_string();
                    assert!(text.contains(&format!("{name}: sample {number}: ")), "{text}");
                    assert_eq!(io::Error::from(error).kind(), io::ErrorKind::InvalidData);
                }
                (found, _) => panic!("{name} {number}: {found:?}"),
            }
        }
    }
}

#[test]
fn a_sample_that_is_larger_than_memory_is_an_error() {
    let start: u64 = 24;
    let mut bytes = [0u8, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0].to_vec();
    bytes.extend([0; 4]);
    bytes.extend(start.to_le_bytes());
    let made = made("holes.ffr", &bytes);
    // ext4 has files of 16 TiB; what the address space has, this may be lent.
    let file = fs::OpenOptions::new().write(true).open(&made.path).unwrap();
    let lens = [u64::MAX >> 1, 15 << 40, 7 << 40];
    assert!(lens.into_iter().any(|len| file.set_len(len).is_ok()));
    let file = File::open(&made.path).unwrap();
    let error = file.read(0).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::OutOfMemory)
    );
}

/// A sound file with this sample.
fn of_one_sample(sample: &[u8]) -> Vec<u8> {
    let mut rest = 1_u64.to_le_bytes().to_vec();
    rest.extend(crc32(0, sample).to_le_bytes());
    rest.extend(24_u64.to_le_bytes());
    let meta = crc32(0, &rest).to_le_bytes();
    [&meta[..], &rest, sample].concat()
}

#[test]
fn a_file_is_recognized_by_its_tables_or_by_its_name_and_no_other_is() {
    let format = |name: &str, bytes: &[u8]| {
        let made = made(name, bytes);
        Format::of_file(&made.path)
    };
    let found = |name: &str, bytes: &[u8]| format(name, bytes).ok();
    // Samples whose tables have a checksum that is most of a magic.
    for (sample, like) in [(0x0023_94ff_u32, Format::Sion), (0x0019_783c, Format::Cdf)] {
        let bytes = of_one_sample(&sample.to_le_bytes());
        assert_eq!(Format::of_bytes(&bytes), Some(like));
        for name in ["data", "data.ffr"] {
            assert_eq!(found(name, &bytes), Some(Format::Ffrecord), "{sample}");
            let mut wrong = bytes.clone();
            wrong[20] ^= 1; // the offset, so that no table says what the file is
            assert_eq!(found(name, &wrong), Some(like), "{sample}");
        }
    }
    for (name, _) in valid() {
        let bytes = fs::read(golden(&name)).unwrap();
        let by_tables = if name == "made_gap.ffr" { None } else { Some(Format::Ffrecord) };
        assert_eq!(found("data", &bytes), by_tables, "{name}");
        assert_eq!(found("data.ffr", &bytes), Some(Format::Ffrecord), "{name}");
    }
    let magic = [&b"sion"[..], &[0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65, 0xdf, 0x65]];
    assert_eq!(found("a.ffr", magic[0]), Some(Format::Sion));
    assert_eq!(found("a.ffr", magic[1]), Some(Format::Gsd));
    let zeros = vec![0; 4096];
    let count: Vec<u8> = (0u32..1024).flat_map(u32::to_le_bytes).collect();
    let ones: Vec<u8> = [1u64; 512].iter().flat_map(|n| n.to_le_bytes()).collect();
    for foreign in [&b""[..], b"hello, world!", &zeros, &count, &ones] {
        let error: Error = format("data", foreign).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoFormat { .. }), "{error}");
        assert_eq!(found("data.ffr", foreign), Some(Format::Ffrecord));
    }
}
