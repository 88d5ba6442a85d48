//! What the library writes.

use super::{File, fs, golden, made, names_in, samples_of, valid};
use proptest::collection::vec;
use proptest::prelude::*;
use striae::copy::Copier;
use striae::error::ErrorKind;
use striae::ffrecord::ErrorKind::Format;
use striae::ffrecord::{Builder, Durability, Writer, Written};
use striae::posix::PosixFile;
use striae_core::ffrecord::{Error as Wrong, Layout};
use striae_core::span::Span;

fn written(builder: Builder, samples: &[Vec<u8>]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.ffr");
    let mut writer = builder.create(&path).unwrap();
    for (number, sample) in (0..).zip(samples) {
        assert_eq!(writer.write(sample).unwrap(), number);
    }
    assert!(!path.exists());
    let bytes = samples.iter().map(|sample| u64::try_from(sample.len()).unwrap()).sum();
    let Written { samples: n, bytes: found, .. } = writer.finish().unwrap();
    assert_eq!((n, found), (u64::try_from(samples.len()).unwrap(), bytes));
    assert_eq!(names_in(dir.path()), ["a.ffr"]);
    fs::read(&path).unwrap()
}

fn known(samples: &[Vec<u8>]) -> Builder {
    Builder::new().samples(u64::try_from(samples.len()).unwrap())
}

#[test]
fn the_bytes_are_those_that_ffrecord_writes() {
    for (name, _) in valid() {
        if ["made_gap.ffr", "no_checksum.ffr"].contains(&&*name) {
            continue; // ffrecord did not write these
        }
        let (samples, expected) = (samples_of(&name), fs::read(golden(&name)).unwrap());
        assert!(written(known(&samples), &samples) == expected, "{name}");
        assert!(written(Builder::new(), &samples) == expected, "{name}");
    }
}

#[test]
fn samples_larger_than_the_buffer_and_many_small_ones_keep_their_order() {
    let sizes = [3usize << 20, 5, 0, (1 << 20) - 3, 8, 1 << 20, (1 << 20) + 1];
    let mut samples: Vec<Vec<u8>> = (0u8..).zip(sizes).map(|(i, len)| vec![i; len]).collect();
    samples.extend((0..9000u32).map(|i| i.to_le_bytes().to_vec()));
    let bytes = written(known(&samples), &samples);
    assert!(bytes == written(Builder::new(), &samples));
    let made = made("a.ffr", &bytes);
    let file = File::open(&made.path).unwrap();
    file.check_meta().unwrap();
    for (number, sample) in (0..).zip(&samples) {
        assert!(file.read_checked(number).unwrap() == *sample, "{number}");
    }
}

#[test]
fn spans_of_other_files_become_samples_and_holes_stay_holes() {
    let from = made("from", b"0123456789");
    let source = PosixFile::open(&from.path).unwrap();
    source_of_holes(&from);
    let path = from.dir.path().join("a.ffr");
    for builder in [Builder::new().force(true), Builder::new().force(true).samples(4)] {
        let mut writer = builder.create(&path).unwrap();
        let mut copier = Copier::new();
        let mut copy = |writer: &mut Writer, offset, len| {
            let span = Span::new(offset, len).unwrap();
            writer.copy_from(&mut copier, (&from.path, &source), span, &|_| {}).unwrap()
        };
        assert_eq!(copy(&mut writer, 2, 5), 0);
        assert_eq!(writer.write(b"between").unwrap(), 1);
        assert_eq!(copy(&mut writer, 0, 0), 2);
        assert_eq!(copy(&mut writer, 8, 100_000), 3); // its end is a hole
        writer.finish().unwrap();
        let file = File::open(&path).unwrap();
        let read = |number| file.read_checked(number).unwrap();
        assert_eq!((read(0), read(1), read(2)), (b"23456".into(), b"between".into(), vec![]));
        let (last, mut expected) = (read(3), b"89".to_vec());
        expected.resize(100_000, 0);
        assert!(last == expected);
    }
}

fn source_of_holes(from: &super::Made) {
    fs::OpenOptions::new().write(true).open(&from.path).unwrap().set_len(200_000).unwrap();
}

#[test]
fn a_sample_that_failed_is_no_part_of_the_file_and_the_writer_goes_on() {
    let from = made("from", &[7; 100_000]);
    let holes = made("holes", b"");
    fs::OpenOptions::new().write(true).open(&holes.path).unwrap().set_len(50_000).unwrap();
    let source = PosixFile::open(&from.path).unwrap();
    let empty = PosixFile::open(&holes.path).unwrap();
    for builder in [Builder::new(), Builder::new().samples(3)] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.ffr");
        let (mut writer, mut copier) = (builder.create(&path).unwrap(), Copier::new());
        writer.write(b"before").unwrap();
        let too_much = Span::new(0, 200_000).unwrap();
        let error =
            writer.copy_from(&mut copier, (&from.path, &source), too_much, &|_| {}).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Ended { .. }) && error.path() == from.path);
        assert_eq!(writer.n(), 1);
        // Where bytes of the failed one stand, these have a hole.
        let zeros = Span::new(0, 50_000).unwrap();
        writer.copy_from(&mut copier, (&holes.path, &empty), zeros, &|_| {}).unwrap();
        writer.write(b"behind").unwrap();
        writer.finish().unwrap();
        let file = File::open(&path).unwrap();
        file.check_meta().unwrap();
        let read: Vec<_> = (0..file.n()).map(|number| file.read_checked(number).unwrap()).collect();
        assert!(read == [b"before".to_vec(), vec![0; 50_000], b"behind".to_vec()]);
        assert_eq!(file.head().file_len, 12 + 12 * 3 + 6 + 50_000 + 6);
    }
}

#[test]
fn a_file_has_its_name_only_when_it_is_whole() {
    let old = made("a.ffr", b"old");
    let refused = Builder::new().create(&old.path).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Exists));
    for builder in [Builder::new(), Builder::new().samples(2)] {
        let mut writer = builder.force(true).create(&old.path).unwrap();
        writer.write(b"first").unwrap();
        drop(writer);
        assert_eq!(fs::read(&old.path).unwrap(), b"old");
        assert_eq!(names_in(old.dir.path()), ["a.ffr"]);
    }
    let mut writer = Builder::new().force(true).samples(1).create(&old.path).unwrap();
    writer.write(b"first").unwrap();
    assert_eq!(fs::read(&old.path).unwrap(), b"old");
    writer.finish().unwrap();
    assert_eq!(File::open(&old.path).unwrap().read_checked(0).unwrap(), b"first");
}

#[test]
fn more_or_fewer_samples_than_were_announced_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.ffr");
    let mut writer = Builder::new().samples(2).create(&path).unwrap();
    writer.write(b"1").unwrap();
    writer.write(b"2").unwrap();
    let error = writer.write(b"3").unwrap_err();
    assert!(matches!(
        error.kind(),
        ErrorKind::Ffrecord(Format(Wrong::TooManySamples { n: 3, max: 2 }))
    ));
    writer.finish().unwrap(); // what was refused is not in it
    assert_eq!(File::open(&path).unwrap().n(), 2);

    let other = dir.path().join("b.ffr");
    let writer = Builder::new().samples(2).create(&other).unwrap();
    let error = writer.finish().unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Ffrecord(Format(Wrong::TooFewSamples { n: 0, want: 2 }))),
        "{error}"
    );
    let error = Builder::new().samples(u64::MAX).create(&other).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Ffrecord(Format(Wrong::TooManySamples { .. }))));
    assert_eq!(names_in(dir.path()), ["a.ffr"]);
}

#[test]
fn a_sample_without_a_place_before_the_largest_offset_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.ffr");
    let mut writer = Builder::new().samples(Layout::MAX_SAMPLES).create(&path).unwrap();
    let error = writer.write(&[1; 16]).unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Ffrecord(Format(Wrong::FileFull { len: 16, .. }))),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, cases: 64, ..ProptestConfig::default()
    })]

    #[test]
    fn any_samples_come_back_and_both_ways_to_write_them_are_one(
        samples in vec(vec(any::<u8>(), 0..300), 0..60)
    ) {
        let bytes = written(known(&samples).durability(Durability::None), &samples);
        prop_assert_eq!(&bytes, &written(Builder::new().durability(Durability::None), &samples));
        let made = made("a.ffr", &bytes);
        let file = File::open(&made.path).unwrap();
        file.check_meta().unwrap();
        let read: Vec<_> = (0..file.n()).map(|number| file.read_checked(number).unwrap()).collect();
        prop_assert_eq!(read, samples);
    }
}
