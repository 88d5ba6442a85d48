//! `striae::gsd::File`.

use super::*;
use striae::error::ErrorKind;
use striae::gsd::ErrorKind::{Format, NotOfType};
use striae::gsd::{Element, File, Name};
use striae_core::gsd::{Chunk, ChunkType, Error};

#[test]
fn golden_files_read_as_gsd_wrote_them() {
    for golden in valid_files() {
        let file = File::open(&golden.path).unwrap();
        assert_eq!(file.frames(), golden.expected["nframes"].as_u64().unwrap(), "{}", golden.name);
        let names: Vec<_> = file.names().unwrap().iter().map(|name| name.0.to_vec()).collect();
        assert_eq!(names, golden.names(), "{}", golden.name);
        let mut listed = file.chunks().map(Result::unwrap).count();
        for wanted in golden.chunks() {
            let frame = wanted["frame"].as_u64().unwrap();
            let name = name_of(&wanted["name"]);
            let chunk = file.chunk(frame, &name).unwrap();
            assert_eq!(file.name(&chunk).unwrap(), Name(&name));
            assert_eq!(chunk.kind.name(), wanted["type"]);
            assert_eq!(chunk.n, wanted["N"]);
            assert_eq!(chunk.m, wanted["M"]);
            let bytes = file.read_bytes(&chunk).unwrap();
            assert_eq!(hex_sha256(&bytes), wanted["sha256"], "{} {wanted}", golden.name);
            let of_frame: Vec<_> = file.chunks_of(frame).unwrap().map(Result::unwrap).collect();
            assert!(of_frame.contains(&chunk));
            listed -= 1;
        }
        assert_eq!(listed, 0, "{}", golden.name);
    }
}

#[test]
fn chunks_that_are_read_together_are_those_that_are_read_one_by_one() {
    for golden in valid_files() {
        let file = File::open(&golden.path).unwrap();
        let chunks: Vec<_> = file.chunks().map(Result::unwrap).collect();
        for some in chunks.chunks(7).chain(chunks.chunks(1)).chain([&chunks[..], &[]]) {
            let mut bytes: Vec<_> = some.iter().map(|chunk| vec![9; len(chunk)]).collect();
            let parts =
                some.iter().rev().copied().zip(bytes.iter_mut().rev().map(Vec::as_mut_slice));
            file.read_chunks(&mut parts.collect::<Vec<_>>()).unwrap();
            for (chunk, bytes) in some.iter().zip(&bytes) {
                assert!(file.read_bytes(chunk).unwrap() == *bytes, "{} {chunk:?}", golden.name);
            }
        }
        let Some(chunk) = chunks.first() else { continue };
        let refused = file.read_chunks(&mut [(*chunk, &mut vec![0; len(chunk) + 1])]).unwrap_err();
        let ErrorKind::Gsd(striae::gsd::ErrorKind::Chunk { frame, error, .. }) = refused.kind()
        else {
            panic!("{refused}")
        };
        assert!(*frame == chunk.frame && matches!(error, Error::Rows { .. }), "{refused}");
    }
}

fn len(chunk: &Chunk) -> usize {
    usize::try_from(chunk.span.len()).unwrap()
}

#[test]
fn chunks_that_are_read_together_are_compared_with_their_checksums() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut writer = striae::gsd::Builder::new().checksums(true).create(&path).unwrap();
    for name in ["a", "b", "c"] {
        writer.write(name, &[7_u8; 100], 1).unwrap();
    }
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let at = File::open(&path).unwrap().chunk(0, "b").unwrap().span.offset();
    let mut bytes = fs::read(&path).unwrap();
    bytes[usize::try_from(at).unwrap() + 50] ^= 1;
    fs::write(&path, bytes).unwrap();
    for (checked, names, is_good) in
        [(true, "ac", true), (true, "abc", false), (false, "abc", true), (true, "b", false)]
    {
        let file = striae::gsd::OpenOptions::new().checked(checked).open(&path).unwrap();
        let chunks = names.chars().map(|name| file.chunk(0, name.to_string()).unwrap());
        let mut bytes = vec![vec![0; 100]; names.len()];
        let mut parts: Vec<_> = chunks.zip(bytes.iter_mut().map(Vec::as_mut_slice)).collect();
        assert_eq!(file.read_chunks(&mut parts).is_ok(), is_good, "{names} {checked}");
    }
}

#[test]
fn values_are_those_of_the_bytes_whatever_the_type() {
    fn check<T: Element + PartialEq + std::fmt::Debug>(
        file: &File,
        chunk: &Chunk,
        of: fn(&[u8]) -> T,
    ) -> bool {
        let bytes = file.read_bytes(chunk).unwrap();
        let values: Vec<T> = bytes.chunks_exact(size_of::<T>()).map(of).collect();
        if chunk.kind != T::KIND {
            let refused = file.read::<T>(chunk).unwrap_err();
            let ErrorKind::Gsd(NotOfType { asked, .. }) = refused.kind() else {
                panic!("{refused}")
            };
            assert_eq!(*asked, T::KIND);
            return false;
        }
        assert_eq!(file.read::<T>(chunk).unwrap(), values);
        let columns = usize::try_from(chunk.m).unwrap();
        for start in 0..chunk.n {
            for end in start..=chunk.n {
                let [from, to] = [start, end].map(|row| usize::try_from(row).unwrap() * columns);
                assert_eq!(file.read_rows::<T>(chunk, start..end).unwrap(), values[from..to]);
            }
        }
        let mut into = values.clone();
        into.reverse();
        file.read_into(chunk, &mut into).unwrap();
        assert_eq!(into, values);
        true
    }
    let file = File::open(golden("v10_all_types").path).unwrap();
    let mut seen = 0;
    for chunk in file.chunks().map(Result::unwrap) {
        let of = [
            check::<u8>(&file, &chunk, |b| b[0]),
            check::<u16>(&file, &chunk, |b| u16::from_le_bytes(b.try_into().unwrap())),
            check::<u32>(&file, &chunk, |b| u32::from_le_bytes(b.try_into().unwrap())),
            check::<u64>(&file, &chunk, |b| u64::from_le_bytes(b.try_into().unwrap())),
            check::<i8>(&file, &chunk, |b| i8::from_le_bytes(b.try_into().unwrap())),
            check::<i16>(&file, &chunk, |b| i16::from_le_bytes(b.try_into().unwrap())),
            check::<i32>(&file, &chunk, |b| i32::from_le_bytes(b.try_into().unwrap())),
            check::<i64>(&file, &chunk, |b| i64::from_le_bytes(b.try_into().unwrap())),
            check::<f32>(&file, &chunk, |b| f32::from_le_bytes(b.try_into().unwrap())),
            check::<f64>(&file, &chunk, |b| f64::from_le_bytes(b.try_into().unwrap())),
        ];
        assert_eq!(of.into_iter().filter(|is| *is).count(), 1);
        seen |= 1 << chunk.kind.number();
    }
    assert_eq!(seen, 0b111_1111_1110);
}

#[test]
fn text_is_read_without_the_nuls_at_its_end() {
    let file = File::open(golden("v21_character_utf8").path).unwrap();
    for frame in 0..file.frames() {
        let [plain, ended] = ["str", "str0"].map(|name| file.chunk(frame, name).unwrap());
        let text = file.read_text(&plain).unwrap();
        assert_eq!(file.read_bytes(&plain).unwrap(), text.as_bytes());
        assert_eq!(file.read_text(&ended).unwrap(), text);
        assert_eq!(file.read_bytes(&ended).unwrap(), [text.as_bytes(), &[0]].concat());
        let refused = file.read::<u8>(&plain).unwrap_err().to_string();
        assert!(refused.contains("is of type character, not uint8"), "{refused}");
    }
}

#[test]
fn what_is_not_there_is_told_by_its_name() {
    let golden = golden("v21_sparse_chunks");
    let file = File::open(&golden.path).unwrap();
    let frames = file.frames();
    let refused = file.chunk(frames, golden.names()[0].as_slice()).unwrap_err();
    let none = Error::NoFrame { frame: frames, frames };
    assert!(matches!(refused.kind(), ErrorKind::Gsd(Format(error)) if *error == none), "{refused}");
    assert!(file.find(frames, golden.names()[0].as_slice()).unwrap().is_none());
    let refused = file.chunk(0, "nobody/wrote/this").unwrap_err().to_string();
    assert!(refused.ends_with("frame 0 has no chunk nobody/wrote/this"), "{refused}");

    let first = file.chunks().next().unwrap().unwrap();
    let refused = file.read_rows::<u8>(&Chunk { kind: ChunkType::U8, ..first }, 0..first.n + 1);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains(&format!("there are no rows 0..{}", first.n + 1)), "{refused}");
}

#[test]
fn names_are_found_by_their_start() {
    let golden = golden("v20_hoomd14");
    let file = File::open(&golden.path).unwrap();
    for prefix in ["", "log/", "particles/", "particles/position", "x"] {
        let found = file.names_with_prefix(prefix).unwrap();
        let found: Vec<_> = found.map(|(id, name)| (usize::from(id), name.0.to_vec())).collect();
        let names = golden.names().into_iter().enumerate();
        let wanted: Vec<_> =
            names.filter(|(_, name)| name.starts_with(prefix.as_bytes())).collect();
        assert_eq!(found, wanted);
    }
}

#[test]
fn a_name_prints_as_text_and_its_other_bytes_as_numbers() {
    assert_eq!(Name("größe".as_bytes()).to_string(), "größe");
    assert_eq!(Name(b"gr\xc3").to_string(), "gr\\xc3");
    assert_eq!(Name(b"a\xff\xfeb").to_string(), "a\\xff\\xfeb");
}

#[test]
fn chunks_are_found_in_any_order_by_many_threads_in_several_files() {
    let names = ["v21_realloc_500_flush", "v21_sparse_chunks", "v10_unsorted_ids", "v20_hoomd14"];
    let files = names.map(|name| File::open(golden(name).path).unwrap());
    let listed: Vec<Vec<Chunk>> =
        files.iter().map(|file| file.chunks().map(Result::unwrap).collect()).collect();
    let look = |file: usize, place: usize| {
        let chunk = listed[file][place % listed[file].len()];
        let found = files[file].find_id(chunk.frame, chunk.id).unwrap();
        assert_eq!(found, Some(chunk));
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            scope.spawn(move || {
                for place in 0..600 {
                    look(0, place); // forwards
                    look(thread, 600 - place); // backwards, between others
                    look(place % 4, place * 7919 + thread); // anywhere
                }
            });
        }
    });
}
