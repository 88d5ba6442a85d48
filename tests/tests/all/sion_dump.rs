//! A dump shows every metadata field of a SIONlib file once, where it stands.

use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use striae::error::{Error, ErrorKind};
use striae::sion::ErrorKind::Format;
use striae::sion::dump::{Line, dump};
use striae::sion::{Builder, Durability};
use striae_core::endian::ByteOrder;
use striae_core::field::FieldId;
use striae_core::integrity::crc32c;
use striae_core::sion::raw::{CommitFields, Meta1};
use striae_core::sion::{self as core_sion, Physical};
use tempfile::TempDir;

const S02: &str = "s02_three_unequal_noncontig.sion";

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/sion").join(name)
}

fn golden_files() -> Vec<PathBuf> {
    let names = fs::read_dir(golden("")).unwrap().map(|entry| entry.unwrap().path());
    let is_sion = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.contains(".sion") && !name.ends_with(".txt")
    };
    let files: Vec<_> = names.filter(is_sion).collect();
    assert!(files.len() >= 47, "golden files are missing: {}", files.len());
    files
}

fn lines(path: &Path) -> (Vec<Line>, Result<(), Error>) {
    let mut lines = Vec::new();
    let result = dump(path, &mut |line| {
        lines.push(line);
        Ok(())
    });
    (lines, result)
}

/// A file with these bytes.
fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("a.sion");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

/// `offset name value`, and `= name value` for what is derived.
fn short(line: &Line) -> String {
    match line {
        Line::Field { name, offset, value, .. } => format!("{offset} {name} {value}"),
        Line::Derived { name, value } => format!("= {name} {value}"),
    }
}

/// The fields that are not in a stream, as (offset, length).
fn places(lines: &[Line]) -> Vec<(u64, u64)> {
    let place = |line: &Line| match line {
        Line::Field { offset, len, position: None, .. } => Some((*offset, *len)),
        _ => None,
    };
    lines.iter().filter_map(place).collect()
}

fn core_error(result: Result<(), Error>) -> core_sion::Error {
    match result.unwrap_err().kind() {
        ErrorKind::Sion(Format(error)) => *error,
        kind => panic!("{kind}"),
    }
}

/// The worked example of `spec/sion.md#worked-example`, with the tables of META2.
#[test]
fn the_worked_example_is_dumped_as_the_specification_has_it() {
    let (lines, result) = lines(&golden(S02));
    result.unwrap();
    let expected = "\
        0 META1.magic sion
        4 META1.endianness little-endian, user data little-endian
        8 META1.version 1007
        12 META1.patchlevel 6
        16 META1.fileformat_version 5
        20 META1.fsblksize 512
        24 META1.ntasks 3
        28 META1.nfiles 1
        32 META1.filenumber 1
        36 META1.flag1 214748364800
        44 META1.flag2 0
        52 META1.filenameprefix s02_three_unequal_noncontig.sion
        1076 META1.globalrank[0] 10
        1084 META1.globalrank[1] 7
        1092 META1.globalrank[2] 42
        1100 META1.chunksize[0] 512
        1108 META1.chunksize[1] 512
        1116 META1.chunksize[2] 1024
        1124 META1.maxchunks 3
        1128 META1.start_of_varheader 7680
        = first 1536
        = globalskip 2048
        7680 META2.blockcount[0] 1
        7688 META2.blockcount[1] 1
        7696 META2.blockcount[2] 3
        7704 META2.blocksize[0][0] 350
        7712 META2.blocksize[0][1] 0
        7720 META2.blocksize[0][2] 1024
        7728 META2.blocksize[1][0] 0
        7736 META2.blocksize[1][1] 0
        7744 META2.blocksize[1][2] 700
        7752 META2.blocksize[2][0] 0
        7760 META2.blocksize[2][1] 0
        7768 META2.blocksize[2][2] 700
        7776 mapping.mapping_size 0";
    let expected: Vec<_> = expected.lines().map(str::trim_start).collect();
    assert_eq!(lines.iter().map(short).collect::<Vec<_>>(), expected);

    let bytes = |name: &str| match lines.iter().find(|line| short(line).contains(name)) {
        Some(Line::Field { bytes, .. }) => bytes.clone(),
        line => panic!("{line:?}"),
    };
    assert_eq!(bytes("META1.fsblksize"), [0, 2, 0, 0]);
    assert_eq!(bytes("META1.flag1"), [0, 0, 0, 0, 0x32, 0, 0, 0]);
    assert_eq!(bytes("META2.blocksize[0][0]"), [0x5e, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bytes("META1.filenameprefix"), S02.as_bytes());
}

#[test]
fn both_byte_orders_are_dumped_alike() {
    let values = |name| lines(&golden(name)).0.iter().map(short).collect::<Vec<_>>();
    let (little, big) = (values(S02), values("c01_be_of_s02.sion"));
    let differ: Vec<_> = little.iter().zip(&big).filter(|(a, b)| a != b).collect();
    assert_eq!(little.len(), big.len());
    let endianness = "4 META1.endianness big-endian, user data big-endian".to_owned();
    assert_eq!(differ, [(&little[1], &endianness)]);
}

#[test]
fn each_byte_of_meta1_and_meta2_and_mapping_is_in_one_line() {
    for path in golden_files() {
        let bytes = fs::read(&path).unwrap();
        let opened = Physical::open(&bytes[..], &mut [0; 1076]).unwrap();
        let head = opened.head();
        let meta1 = 0..head.meta1.layout().commit_fields().end().min(head.file_len);
        // No golden file has anything behind what is read.
        let meta2 = head.meta2.map_or(0..0, |meta2| meta2.start()..head.file_len);

        let (lines, _) = lines(&path);
        let mut next = meta1.start;
        for (offset, len) in places(&lines) {
            if next == meta1.end {
                next = meta2.start;
            }
            assert_eq!(offset, next, "{}", path.display());
            next = offset + len;
        }
        let end = if head.meta2.is_some() { meta2.end } else { meta1.end };
        assert_eq!(next, end, "{}", path.display());
        for line in &lines {
            let Line::Field { offset, len, bytes: shown, position: None, .. } = line else {
                continue;
            };
            let place = usize::try_from(*offset).unwrap()..usize::try_from(offset + len).unwrap();
            let (head, rest) = bytes[place].split_at(shown.len());
            assert_eq!(head, shown, "{}", short(line));
            assert!(rest.iter().all(|byte| *byte == 0), "{}", short(line));
        }
    }
}

/// A sealed file: two tasks, of which the first uses two chunks of 64 bytes.
fn sealed(dir: &TempDir) -> PathBuf {
    let path = dir.path().join("sealed.sion");
    let builder = Builder::new(2).fsblksize(64).chunksize(64).order(ByteOrder::Big);
    let builder = builder.durability(Durability::None);
    let mut file = builder.sealed(true).create(&path).unwrap();
    file.task(0).unwrap().write_all(&[7; 100]).unwrap();
    file.close().unwrap();
    path
}

#[test]
fn a_seal_is_dumped_as_the_specification_has_it() {
    let dir = TempDir::new().unwrap();
    let path = sealed(&dir);
    let (lines, result) = lines(&path);
    result.unwrap();
    let bytes = fs::read(&path).unwrap();
    let crc = |range| format!("{:#010x}", crc32c(0, &bytes[range]));
    let [meta1, meta2] = [crc(0..1120), crc(1408..1460)];
    let [first, second] = [crc(1152..1216), crc(1280..1316)];
    let [chunks, trailer] = [crc(1460..1476), crc(1476..1520)];
    let expected = format!(
        "1456 mapping.mapping_size 0
        1460 seal.crc[0][0] {first}
        1464 seal.crc[0][1] 0x00000000
        1468 seal.crc[1][0] {second}
        1472 seal.crc[1][1] 0x00000000
        1476 seal.seal_version 1
        1480 seal.ntasks 2
        1484 seal.maxchunks 2
        1488 seal.meta1_crc {meta1}
        1492 seal.start_of_varheader 1408
        1500 seal.start_of_seal 1460
        1508 seal.meta2_crc {meta2}
        1512 seal.chunks_crc {chunks}
        1516 seal.set_number 0
        1520 seal.trailer_crc {trailer}
        1524 seal.magic striae SION seal"
    );
    let expected: Vec<_> = expected.lines().map(str::trim_start).collect();
    let found: Vec<_> = lines.iter().map(short).collect();
    assert_eq!(found[found.len() - expected.len()..], expected);
    assert_eq!(bytes.len(), 1540);
}

#[test]
fn a_seal_of_an_older_state_is_dumped_by_its_own_numbers() {
    let dir = TempDir::new().unwrap();
    let path = sealed(&dir);
    let mut bytes = fs::read(&path).unwrap();
    let meta2 = bytes[1408..1460].to_vec();
    bytes[1112..1120].copy_from_slice(&1320i64.to_be_bytes()); // META2 is in front of it now
    bytes[1320..1372].copy_from_slice(&meta2);
    fs::write(&path, bytes).unwrap();
    let (lines, result) = lines(&path);
    result.unwrap();
    let found: Vec<_> = lines.iter().map(short).collect();
    assert!(found[found.len() - 17].starts_with("1460 seal.crc[0][0] 0x"), "{found:#?}");
    assert!(found.contains(&"1492 seal.start_of_varheader 1408".to_owned()));
    let last = &found[found.len() - 2..];
    let trailing = "= trailing 168 bytes at offset 1372";
    assert_eq!(last, ["= stale the seal is that of an older state of the file", trailing]);
}

#[test]
fn only_damaged_and_unclosed_files_end_in_an_error() {
    for path in golden_files() {
        let (lines, result) = lines(&path);
        let is_unclosed = path.to_str().unwrap().contains("unclosed");
        assert_eq!(result.is_err(), is_unclosed, "{}", path.display());
        if is_unclosed {
            assert!(matches!(core_error(result), core_sion::Error::NotClosed { .. }));
            let first =
                lines.iter().any(|line| matches!(line, Line::Derived { name: "first", .. }));
            assert!(first, "{}", path.display());
        }
    }
}

#[test]
fn headers_of_records_are_shown_where_they_stand() {
    for name in ["s16_keyval_simple", "s17_keyval_straddle", "c03_be_of_s17_keyval"] {
        let json = fs::read(golden(&format!("{name}.json"))).unwrap();
        let json: Value = serde_json::from_slice(&json).unwrap();
        let bytes = fs::read(golden(&format!("{name}.sion"))).unwrap();
        let (lines, result) = lines(&golden(&format!("{name}.sion")));
        result.unwrap();
        let mut expected = Vec::new();
        for (task, entry) in json["tasks"].as_array().unwrap().iter().enumerate() {
            let mut position = 0;
            for (index, record) in entry["keyval"].as_array().unwrap().iter().enumerate() {
                let (key, len) =
                    (record["key"].as_u64().unwrap(), record["length"].as_u64().unwrap());
                expected.push((format!("record.key[{task}][{index}]"), key, position));
                expected.push((format!("record.len[{task}][{index}]"), len, position + 8));
                position += 16 + len;
            }
        }
        let mut found = Vec::new();
        for line in &lines {
            let Line::Field { name, offset, value, position: Some(at), bytes: shown, .. } = line
            else {
                continue;
            };
            assert_eq!(bytes[usize::try_from(*offset).unwrap()], shown[0], "{name}");
            found.push((name.clone(), value.parse().unwrap(), *at));
        }
        assert_eq!(found, expected, "{name}");
    }
    let fields: Vec<_> = lines(&golden("s16_keyval_simple.sion")).0.iter().map(short).collect();
    assert!(fields.contains(&"1536 record.key[0][0] 1".to_owned()), "{fields:?}");
    assert!(fields.contains(&"1570 record.len[0][1] 20".to_owned()), "{fields:?}");
}

#[test]
fn a_prefix_of_a_file_shows_the_fields_that_are_wholly_there_and_then_an_error() {
    let whole = fs::read(golden(S02)).unwrap();
    let (all, _) = lines(&golden(S02));
    let (_dir, path) = file_of(&whole);
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    for len in (0..u64::try_from(whole.len()).unwrap()).rev() {
        file.set_len(len).unwrap();
        let (lines, result) = lines(&path);
        let whole = places(&all).into_iter().filter(|(at, size)| at + size <= len);
        assert_eq!(places(&lines), whole.collect::<Vec<_>>(), "cut to {len}");
        match len {
            0..1124 => assert!(matches!(core_error(result), core_sion::Error::Cut { .. }), "{len}"),
            1124..1136 => {
                let error = core_sion::Error::NotClosed { offset: 1128 };
                assert_eq!(core_error(result), error, "{len}");
            }
            1136..7680 => {
                let error = core_error(result);
                let field = CommitFields::start_of_varheader;
                let is_it =
                    matches!(error, core_sion::Error::TooLarge { field: f, .. } if f == field);
                assert!(is_it, "{len}: {error}");
            }
            7680..7776 => assert!(matches!(core_error(result), core_sion::Error::Cut { .. })),
            _ => result.unwrap(), // mapping_size of a single file, which nobody reads
        }
    }
}

#[test]
fn fixed_fields_are_shown_whatever_they_say() {
    let cases: [(usize, [u8; 4], FieldId, usize); 4] = [
        (20, [0; 4], Meta1::fsblksize, 33), // all, but nothing can be derived
        (24, [255; 4], Meta1::ntasks, 12),
        (28, [0; 4], Meta1::nfiles, 35),
        (32, [254, 255, 255, 255], Meta1::filenumber, 35),
    ];
    for (offset, value, field, count) in cases {
        let mut bytes = fs::read(golden(S02)).unwrap();
        bytes[offset..offset + 4].copy_from_slice(&value);
        let (_dir, path) = file_of(&bytes);
        let (lines, result) = lines(&path);
        let error = core_error(result);
        let is_it = matches!(error, core_sion::Error::TooSmall { field: f, .. } if f == field);
        assert!(is_it, "{error}");
        assert_eq!(lines.len(), count, "{error}");
        assert!(lines.iter().any(|line| short(line).starts_with("44 META1.flag2")), "{error}");
    }
}

#[test]
fn a_dump_ends_when_its_taker_fails() {
    let mut count = 0;
    let result = dump(&golden(S02), &mut |_| {
        count += 1;
        if count < 3 { Ok(()) } else { Err(std::io::ErrorKind::BrokenPipe.into()) }
    });
    assert_eq!(count, 3);
    assert!(matches!(result.unwrap_err().kind(), ErrorKind::Io(_)));
}
