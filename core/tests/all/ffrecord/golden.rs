//! What ffrecord wrote, and what it says of it.

use super::{File, format_error, golden_file, open};
use serde_json::Value;
use sha2::{Digest, Sha256};
use striae_core::ffrecord::raw::{Checksum, Header, Offset};
use striae_core::ffrecord::{Error, Sample};
use striae_core::integrity::crc32;
use striae_kit::ffrecord_opening::ffrecord_open;

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn expected() -> Vec<(String, Value)> {
    let text = String::from_utf8(golden_file("expected.json")).unwrap();
    let Value::Object(files) = serde_json::from_str(&text).unwrap() else { panic!("no object") };
    files.into_iter().collect()
}

/// Those of which it is known what is in them.
fn valid() -> Vec<(String, Value)> {
    expected().into_iter().filter(|(_, file)| file["samples"].is_array()).collect()
}

fn bytes_of(file: &File<'_>, sample: &Sample) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(sample.span.len()).unwrap()];
    assert_eq!(file.read(sample.span, &mut bytes).unwrap(), bytes.len());
    bytes
}

#[test]
fn every_golden_file_is_the_one_that_was_made() {
    assert_eq!(expected().len(), 19);
    assert_eq!(valid().len(), 8);
    for (name, file) in expected() {
        let bytes = golden_file(&name);
        assert_eq!(file["size"].as_u64().unwrap(), u64::try_from(bytes.len()).unwrap(), "{name}");
        assert_eq!(file["sha256"], sha256(&bytes), "{name}");
    }
}

#[test]
fn every_sample_is_where_ffrecord_put_it_and_has_its_bytes() {
    for (name, expected) in valid() {
        let bytes = golden_file(&name);
        let file = open(&bytes).unwrap();
        assert_eq!(expected["n"].as_u64(), Some(file.n()), "{name}");
        assert_eq!(expected["checksum_meta"], file.head().checksum_meta, "{name}");
        file.check_meta(&mut [0; 100], crc32).unwrap();
        let samples = expected["samples"].as_array().unwrap();
        for (number, expected) in (0..).zip(samples) {
            let sample = file.sample(number, &mut [0; 16]).unwrap();
            assert_eq!(expected["offset"], sample.span.offset(), "{name} {number}");
            assert_eq!(expected["bytes"], sample.span.len(), "{name} {number}");
            assert_eq!(expected["crc32"], sample.crc, "{name} {number}");
            let bytes = bytes_of(&file, &sample);
            assert_eq!(expected["sha256"], sha256(&bytes), "{name} {number}");
            sample.check(&bytes, crc32).unwrap();
        }
        let n = u64::try_from(samples.len()).unwrap();
        assert!(matches!(file.sample(n, &mut [0; 16]).map_err(format_error),
            Err(Error::NoSample { number, n: found }) if number == n && found == n));
    }
}

#[test]
fn what_ffrecord_reads_of_a_damaged_file_is_read_and_what_it_refuses_is_refused() {
    let damaged: Vec<_> =
        expected().into_iter().filter(|(name, _)| name.starts_with("bad_")).collect();
    assert_eq!(damaged.len(), 11);
    for (name, expected) in damaged {
        let bytes = golden_file(&name);
        let upstream = &expected["upstream"];
        let Some(samples) = upstream["samples"].as_array() else {
            let refused = open(&bytes)
                .and_then(|file| file.check_meta(&mut [0; 100], crc32).map_err(format_error));
            assert!(refused.is_err(), "{name}");
            continue;
        };
        let file = open(&bytes).unwrap();
        file.check_meta(&mut [0; 100], crc32).unwrap(); // as ffrecord does when it opens one
        for (number, expected) in (0..).zip(samples) {
            let sample = file.sample(number, &mut [0; 16]).map_err(format_error);
            let found = sample.and_then(|sample| {
                let bytes = bytes_of(&file, &sample);
                sample.check(&bytes, crc32).map(|()| sha256(&bytes))
            });
            match expected.as_str() {
                Some(sha256) => assert_eq!(found.unwrap(), sha256, "{name} {number}"),
                None => assert!(found.is_err(), "{name} {number}"),
            }
        }
    }
}

#[test]
fn an_error_says_which_field_where_what_stands_there_and_what_would_be_right() {
    let sample = |name: &str, number: u64| {
        let bytes = golden_file(name);
        let file = open(&bytes).unwrap();
        let sample = file.sample(number, &mut [0; 16]).map_err(format_error);
        sample.and_then(|sample| sample.check(&bytes_of(&file, &sample), crc32)).unwrap_err()
    };
    // Three samples of 8 bytes: the tables end at 48, the file at 72.
    let start = |number: u64| 12 + 3 * 4 + 8 * number;
    let (field, min, max) = (Offset::offset, 48, 72);
    assert_eq!(
        sample("bad_offset_negative.ffr", 0),
        Error::TooSmall { field, offset: start(1), value: -8, min }
    );
    assert_eq!(
        sample("bad_offset_negative.ffr", 1),
        Error::TooSmall { field, offset: start(1), value: -8, min }
    );
    assert_eq!(
        sample("bad_offset_in_tables.ffr", 0),
        Error::TooSmall { field, offset: start(0), value: 40, min }
    );
    assert_eq!(
        sample("bad_offset_behind_end.ffr", 0),
        Error::TooLarge { field, offset: start(1), value: 1000, max }
    );
    assert_eq!(
        sample("bad_offsets_decrease.ffr", 1),
        Error::TooSmall { field, offset: start(2), value: 64, min: 68 }
    );
    let field = Checksum::checksum;
    assert!(matches!(sample("bad_sample_byte.ffr", 2),
        Error::Checksum { field: found, offset: 20, .. } if found == field));

    let opened = |name: &str| open(&golden_file(name)).map(drop).unwrap_err();
    let (field, offset) = (Header::n, 4);
    let value = -1;
    assert_eq!(opened("bad_n_negative.ffr"), Error::TooSmall { field, offset, value, min: 0 });
    let (value, max) = (1 << 40, (72 - 12) / 12);
    assert_eq!(opened("bad_n_too_large.ffr"), Error::TooLarge { field, offset, value, max });
    assert_eq!(opened("bad_cut_in_header.ffr"), Error::Cut { file_len: 11 });
    let (value, max) = (3, (40 - 12) / 12);
    assert_eq!(opened("bad_cut_in_tables.ffr"), Error::TooLarge { field, offset, value, max });
    assert_eq!(
        opened("bad_n_negative.ffr").to_string(),
        "header.n at offset 4 is -1, must be at least 0"
    );
}

#[test]
fn what_a_writer_of_ffrecord_made_is_recognized_and_a_gap_or_damage_in_the_tables_is_not() {
    for (name, expected) in expected() {
        let bytes = golden_file(&name);
        let is_made = match name.as_str() {
            // Cut, or changed, behind tables that are right.
            "bad_cut_in_last.ffr" | "bad_sample_byte.ffr" => true,
            // Made by hand, with the right checksum of tables that begin as they should.
            "bad_offset_negative.ffr" | "bad_offset_behind_end.ffr" => false,
            "bad_offsets_decrease.ffr" => true,
            "made_gap.ffr" => false,
            _ => expected["samples"].is_array(),
        };
        let found = open(&bytes).is_ok_and(|file| file.is_consistent(&mut [0; 48], crc32).unwrap());
        assert_eq!(found, is_made, "{name}");
    }
}

#[test]
fn every_golden_file_reads_as_a_plain_reading_of_its_bytes() {
    for (name, _) in expected() {
        let bytes = golden_file(&name);
        ffrecord_open(bytes.get(..8192).unwrap_or(&bytes));
    }
}
