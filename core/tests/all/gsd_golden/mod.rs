//! Every file that gsd wrote reads as it was written; every damaged one gives the error that it
//! should, or its sound part.
//!
//! The files are described in `tests/golden/gsd/README.md`. This test needs nothing but `core`, so
//! that it also runs on big-endian and 32-bit hosts.

mod damaged;

use serde_json::Value;
use sha2::{Digest, Sha256};
use striae_core::gsd::{Chunk, Error, Reader, State, Version};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_kit::gsd_files::{GoldenFile, golden_file, golden_files, name_bytes};

/// Windows that hold 1, 2 and 128 entries.
const WINDOWS: [usize; 3] = [32, 64, 4096];

type File<'a> = Reader<&'a [u8]>;

fn open(bytes: &[u8]) -> File<'_> {
    Reader::open(bytes, &mut [0; 256]).unwrap()
}

fn valid_files() -> impl Iterator<Item = GoldenFile> {
    golden_files().into_iter().filter(GoldenFile::is_valid)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

fn bytes_of<'a>(file: &File<'a>, span: Span) -> &'a [u8] {
    let (start, end) = (usize::try_from(span.offset()).unwrap(), usize::try_from(span.end()));
    &file.store()[start..end.unwrap()]
}

fn hex_sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file's own error, or its answer: nothing else can go wrong here.
fn said<T, E: core::fmt::Debug>(answer: Result<T, DriveError<E, Error>>) -> Result<T, Error> {
    answer.map_err(|error| match error {
        DriveError::Format(error) => error,
        other => panic!("{other:?}"),
    })
}

fn list(file: &File<'_>, window: usize) -> Vec<Result<Chunk, Error>> {
    file.chunks(vec![0; window]).map(said).collect()
}

fn names_of(file: &File<'_>, window: usize) -> Vec<Vec<u8>> {
    let (mut all, mut names) = (Vec::new(), file.names(vec![0; window]));
    while let Some((id, name)) = names.next().unwrap() {
        assert_eq!(usize::from(id), all.len());
        all.push(name.to_vec());
    }
    all
}

fn assert_is(file: &File<'_>, chunk: Chunk, expected: &Value) {
    assert_eq!(chunk.frame, number(&expected["frame"]));
    assert_eq!(chunk.kind.name(), expected["type"].as_str().unwrap());
    assert_eq!((chunk.n, u64::from(chunk.m)), (number(&expected["N"]), number(&expected["M"])));
    let bytes = bytes_of(file, chunk.span);
    assert_eq!(hex_sha256(bytes), expected["sha256"].as_str().unwrap());

    let mut read = vec![0; bytes.len() + 1];
    assert_eq!(file.read(chunk.span, &mut read).unwrap(), bytes.len());
    assert_eq!(&read[..bytes.len()], bytes);
}

#[test]
fn headers_say_what_was_given_to_gsd() {
    for golden in valid_files() {
        let (file, expected) = (open(&golden.bytes), &golden.expected);
        let (head, name) = (file.head(), &golden.name);
        let version = |version: Version| vec![version.major, version.minor];
        let numbers = |field: &str| -> Vec<u16> {
            let two = expected[field].as_array().unwrap().iter();
            two.map(|part| number(part).try_into().unwrap()).collect()
        };
        assert_eq!(version(head.header.version), numbers("gsd_version"), "{name}");
        assert_eq!(version(head.header.schema_version), numbers("schema_version"), "{name}");
        let text = |field: &str| expected[field].as_str();
        assert_eq!(head.header.application.as_str(), text("application"), "{name}");
        assert_eq!(head.header.schema.as_str(), text("schema"), "{name}");
        assert!(head.header.application.is_terminated());

        let layout = |field: &str| number(&expected["layout"][field]);
        assert_eq!(head.header.index.location, layout("index_location"), "{name}");
        assert_eq!(head.header.index.slots, layout("index_allocated"), "{name}");
        assert_eq!(head.header.names.location, layout("namelist_location"), "{name}");
        assert_eq!(head.header.names.units, layout("namelist_allocated"), "{name}");
        assert_eq!(head.entries, layout("index_used"), "{name}");
        assert_eq!(head.names_len, layout("namelist_bytes_used"), "{name}");
        assert_eq!(file.frames(), number(&expected["nframes"]), "{name}");
        assert_eq!(head.state, State::Plain, "{name}");
    }
}

#[test]
fn names_are_listed_and_found() {
    for golden in valid_files() {
        let (file, names) = (open(&golden.bytes), golden.names());
        for window in [5001, 16384] {
            assert_eq!(names_of(&file, window), names, "{}", golden.name);
        }
        for window in [1, 63, 4096] {
            let find = |name: &[u8]| file.name_id(name, &mut vec![0; window]).unwrap();
            for (id, name) in (0..).zip(&names) {
                assert_eq!(find(name), Some(id), "{}", golden.name);
                let longer = [name, b"0".as_slice()].concat();
                let longer_id = names.iter().position(|name| *name == longer);
                assert_eq!(find(&longer).map(usize::from), longer_id, "{}", golden.name);
                let shorter_id = names.iter().position(|other| other[..] == name[..name.len() - 1]);
                assert_eq!(find(&name[..name.len() - 1]).map(usize::from), shorter_id);
            }
            assert_eq!(find(b""), None);
            assert_eq!(find(b"\0"), None);
        }
    }
}

#[test]
fn names_by_prefix_are_those_that_start_with_it() {
    for golden in valid_files() {
        let (file, names) = (open(&golden.bytes), golden.names());
        for prefix in ["", "n", "name_01", "log/", "log/quantity_03", "particles/", "x", "é"] {
            let has_prefix = |name: &&Vec<u8>| name.starts_with(prefix.as_bytes());
            let expected: Vec<_> = names.iter().filter(has_prefix).cloned().collect();
            let (mut found, mut list) = (Vec::new(), file.names([0; 5001]));
            while let Some((id, name)) = list.next_with_prefix(prefix.as_bytes()).unwrap() {
                assert_eq!(names[usize::from(id)], name, "{}", golden.name);
                found.push(name.to_vec());
            }
            assert_eq!(found, expected, "{} {prefix}", golden.name);
        }
    }
}

#[test]
fn every_chunk_is_listed_once() {
    for golden in valid_files() {
        let (file, names) = (open(&golden.bytes), golden.names());
        let chunks: Vec<_> = list(&file, 4096).into_iter().map(Result::unwrap).collect();
        assert!(chunks.is_sorted_by_key(|chunk| chunk.frame), "{}", golden.name);
        let mut by_name = chunks.clone();
        by_name.sort_by_key(|chunk| (chunk.frame, &names[usize::from(chunk.id)]));
        assert_eq!(by_name.len(), golden.chunks().len(), "{}", golden.name);
        for (chunk, expected) in by_name.iter().zip(golden.chunks()) {
            assert_eq!(names[usize::from(chunk.id)], name_bytes(&expected["name"]));
            assert_is(&file, *chunk, expected);
        }
        for window in [32, 33, 64, 1000, 1 << 16] {
            let same: Vec<_> = list(&file, window).into_iter().map(Result::unwrap).collect();
            assert_eq!(same, chunks, "{} window {window}", golden.name);
        }
    }
}

#[test]
fn every_chunk_is_found_and_no_other() {
    for golden in valid_files() {
        let (file, names) = (open(&golden.bytes), golden.names());
        for window in WINDOWS {
            let mut expected = golden.chunks().iter();
            let mut left = expected.len();
            for frame in 0..file.frames() {
                for (id, name) in (0..).zip(&names) {
                    let found = file.find(frame, id, &mut vec![0; window]).unwrap();
                    let wanted = golden.chunks().iter().find(|chunk| {
                        number(&chunk["frame"]) == frame && name_bytes(&chunk["name"]) == *name
                    });
                    assert_eq!(found.is_some(), wanted.is_some(), "{} {frame} {id}", golden.name);
                    if let (Some(found), Some(wanted)) = (found, wanted) {
                        assert_eq!(found.id, id);
                        assert_is(&file, found, wanted);
                        (left, _) = (left - 1, expected.next());
                    }
                }
            }
            assert_eq!(left, 0, "{}", golden.name);
            for frame in [file.frames(), file.frames() + 1, u64::MAX] {
                assert_eq!(file.find(frame, 0, &mut vec![0; window]).unwrap(), None);
                assert!(file.check_frame(frame).is_err());
            }
            assert_eq!(file.find(0, u16::MAX, &mut vec![0; window]).unwrap(), None);
        }
    }
}

#[test]
fn chunks_of_some_frames_are_those_of_the_list() {
    for golden in valid_files() {
        let file = open(&golden.bytes);
        let all: Vec<_> = list(&file, 4096).into_iter().map(Result::unwrap).collect();
        let frames = file.frames();
        let ranges = [0..frames, 0..1, 1..2, 3..3, 2..7, frames / 2..frames, frames..u64::MAX];
        for range in ranges {
            for window in WINDOWS {
                let part = file.chunks_of(range.clone(), vec![0; window]).unwrap();
                let part: Vec<_> = part.map(Result::unwrap).collect();
                let is_in = |chunk: &&Chunk| range.contains(&chunk.frame);
                let expected: Vec<_> = all.iter().filter(is_in).copied().collect();
                assert_eq!(part, expected, "{} {range:?}", golden.name);
            }
        }
    }
}

#[test]
fn rows_are_parts_of_the_whole_chunk() {
    for golden in valid_files() {
        let file = open(&golden.bytes);
        for chunk in list(&file, 4096).into_iter().map(Result::unwrap) {
            let (whole, n) = (bytes_of(&file, chunk.span), chunk.n);
            let row = u64::from(chunk.m) * chunk.kind.size().get();
            assert_eq!(chunk.row_len(), row);
            for (start, end) in [(0, n), (0, n.min(1)), (n / 2, n), (n / 3, n / 2), (n, n)] {
                let at = |row_number: u64| usize::try_from(row * row_number).unwrap();
                let part = bytes_of(&file, chunk.rows(start..end).unwrap());
                assert_eq!(part, &whole[at(start)..at(end)], "{}", golden.name);
            }
            for (start, end) in [(0, n + 1), (n, n + 1), (1, 0), (0, u64::MAX), (u64::MAX, n)] {
                assert_eq!(chunk.rows(start..end), Err(Error::NoRows { start, end, n }));
            }
        }
    }
}

#[test]
fn a_name_longer_than_the_window_is_refused_with_the_memory_that_would_do() {
    let bytes = golden_file("v21_long_names");
    let file = open(&bytes);
    let mut window = 1;
    loop {
        let mut names = file.names(vec![0; window]);
        let error = loop {
            match said(names.next()) {
                Ok(Some(_)) => {}
                Ok(None) => return assert!((5001..=10002).contains(&window)),
                Err(error) => break error,
            }
        };
        let Error::Memory { need, have } = error else { panic!("{error}") };
        assert_eq!(have, u64::try_from(window).unwrap());
        assert!(need > have);
        window = usize::try_from(need).unwrap();
    }
}
