//! Ranks that write the rows of GSD chunks: the file is that of one writer, and whatever happens to
//! one of them, all others get the same error, and the file is that of a commit.

use crate::frames::Frame;
use crate::world::{Sweep, ranks};
use std::path::Path;
use striae::Verify;
use striae::gsd::{ChunkType, Durability, File, OpenOptions, Version};
use striae_mpi::gsd::{Builder, FileWriter, Reopen, Rows};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective, Error};

/// The options of a parallel writer and of the serial one.
#[derive(Debug, Clone, Copy)]
struct Options {
    layer: Version,
    align: u64,
    checksums: bool,
    names_len: u64,
}

const LAYER_1: Version = Version { major: 1, minor: 0 };
const SCHEMA: Version = Version { major: 3, minor: 4 };

impl Options {
    fn all() -> impl Iterator<Item = Self> {
        let all =
            [(Version::LAYER, 1, 64), (Version::LAYER, 512, 1024), (Version::LAYER, 64, 4096)];
        let both = [false, true].into_iter();
        both.flat_map(move |checksums| {
            all.map(|(layer, align, names_len)| Self { layer, align, checksums, names_len })
        })
    }

    fn parallel(self) -> Builder {
        let builder = Builder::new().application("test").schema("none", SCHEMA).layer(self.layer);
        let builder = builder.align(self.align).checksums(self.checksums).force(true);
        builder.names_len(self.names_len).durability(Durability::None)
    }

    fn serial(self) -> striae::gsd::Builder {
        let builder = striae::gsd::Builder::new().application("test").schema("none", SCHEMA);
        let builder = builder.layer(self.layer).align(self.align).checksums(self.checksums);
        builder.names_len(self.names_len).force(true).durability(Durability::None)
    }
}

#[test]
fn the_file_is_that_of_the_serial_writer_for_any_number_of_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours.gsd"), folder.path().join("theirs.gsd"));
    for options in Options::all() {
        let mut serial = options.serial().create(&theirs).unwrap();
        for number in 0..20 {
            Frame::new(number).write(&mut serial);
            if number % 3 == 1 {
                serial.commit().unwrap();
            }
        }
        serial.close().unwrap();
        let theirs = std::fs::read(&theirs).unwrap();
        for size in [1, 2, 3, 5, 8] {
            ranks(size, |comm| {
                let mut file = options.parallel().create(comm, &ours).unwrap();
                for number in 0..20 {
                    Frame::new(number).share(&mut file).unwrap();
                    if number % 3 == 1 {
                        file.commit().unwrap();
                    }
                }
                file.close().unwrap();
            });
            assert!(std::fs::read(&ours).unwrap() == theirs, "{options:?}, {size} ranks");
        }
        check(&ours, [20, 20], options.checksums);
    }
}

#[test]
fn a_file_that_is_reopened_goes_on_as_that_of_the_serial_writer() {
    let folder = tempfile::tempdir().unwrap();
    let (ours, theirs) = (folder.path().join("ours.gsd"), folder.path().join("theirs.gsd"));
    for options in Options::all() {
        options.serial().create(&theirs).unwrap().close().unwrap();
        ranks(3, |comm| options.parallel().create(comm, &ours).unwrap().close().map(drop).unwrap());
        for start in [0, 4, 8] {
            let mut serial = striae::gsd::FileWriter::reopen(&theirs).unwrap();
            (start..start + 4).for_each(|number| Frame::new(number).write(&mut serial));
            serial.close().unwrap();
            ranks(3, |comm| {
                let mut file = Reopen::new().open(comm, &ours).unwrap();
                assert_eq!(file.frames(), start);
                for number in start..start + 4 {
                    Frame::new(number).share(&mut file).unwrap();
                }
                file.close().unwrap();
            });
            assert!(
                std::fs::read(&ours).unwrap() == std::fs::read(&theirs).unwrap(),
                "{options:?}"
            );
        }
        check(&ours, [12, 12], options.checksums);
    }
}

#[test]
fn a_file_of_layer_1_has_chunks_of_many_ranks_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    ranks(3, |comm| {
        let rank = comm.rank();
        let mut file = Builder::new().layer(LAYER_1).create(comm, &path).unwrap();
        file.write(&[Rows::new().chunk("a", &[rank; 4], 2)]).unwrap();
        file.end_frame();
        file.close().unwrap();
    });
    let file = File::open(&path).unwrap();
    assert_eq!(file.header().version, LAYER_1);
    let values: Vec<u32> = file.read(&file.chunk(0, "a").unwrap()).unwrap();
    assert_eq!(values, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
}

#[test]
fn a_frame_takes_as_many_calls_for_any_number_of_chunks_up_to_twelve() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    for (checksums, frame) in [(false, 4), (true, 5)] {
        ranks(4, |comm| {
            let builder = Builder::new().checksums(checksums).force(true);
            let mut file = builder.create(comm, &path).unwrap();
            let mut calls = 0;
            let mut took = |file: &FileWriter<Rank>, expected: u64| {
                assert_eq!(file.comm().calls() - calls, expected);
                calls = file.comm().calls();
            };
            took(&file, 3);
            let names: Vec<String> = (0..30).map(|number| format!("chunk {number}")).collect();
            for chunks in [0, 1, 2, 12] {
                let rows = names[..chunks].iter();
                let rows = rows.fold(Rows::new(), |rows, name| rows.chunk(name, &[1.5_f32; 6], 3));
                file.write(std::slice::from_ref(&rows)).unwrap();
                file.end_frame();
                took(&file, frame);
            }
            // More of both: five numbers of rows in a scan, twelve checksums in a fold.
            let rows: Vec<_> =
                names.iter().map(|name| Rows::new().chunk(name, &[1_u8], 1)).collect();
            file.write(&rows[..5]).unwrap();
            took(&file, frame);
            file.write(&rows[5..]).unwrap();
            took(&file, frame + 2 * 4 + if checksums { 2 } else { 0 });
            file.end_frame();
            file.commit().unwrap();
            took(&file, 2);
            file.close().unwrap();
        });
        let file = OpenOptions::new().checked(true).open(&path).unwrap();
        let chunk = file.chunk(4, "chunk 29").unwrap();
        assert_eq!(file.read::<u8>(&chunk).unwrap(), [1; 4]);
    }
}

/// Three frames, each with its commit. `committed` is how many are in the file.
fn program<C: Collective>(
    comm: C,
    path: &Path,
    builder: &Builder,
    committed: &mut u64,
) -> Result<(), Error> {
    let mut file = builder.create(comm, path)?;
    for number in 0..3 {
        Frame::new(number).share(&mut file)?;
        if number < 2 {
            file.commit()?;
            *committed = number + 1;
        }
    }
    file.close()?;
    *committed = 3;
    Ok(())
}

/// Checks that the file is whole and has one of the numbers of frames.
fn check(path: &Path, allowed: [u64; 2], checksums: bool) {
    let file = OpenOptions::new().checked(checksums).open(path).unwrap();
    assert!(allowed.contains(&file.frames()), "{} frames, not {allowed:?}", file.frames());
    for number in 0..file.frames() {
        assert_eq!(Frame::read(&file, number), Frame::new(number));
    }
    let mut findings = Vec::new();
    let verified = Verify::new().gsd(path, &mut |finding| findings.push(finding.to_string()));
    let summary = verified.unwrap();
    assert!(summary.is_sound(), "{findings:?}");
}

#[test]
fn whatever_happens_to_a_rank_the_others_get_one_error_and_the_file_is_that_of_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    for checksums in [false, true] {
        let builder = Builder::new().checksums(checksums).force(true);
        let builder = builder.durability(Durability::None);
        let sweep = Sweep { ranks: vec![0, 2, 3], whole: 3, ..Sweep::new(4) };
        sweep.run(
            || {},
            |comm, committed| program(comm, &path, &builder, committed),
            |_, frames| {
                if frames > 0 {
                    check(&path, [frames, frames + 1], checksums);
                }
            },
        );
    }
}

/// The error of all ranks if rank 1 of three passes something else.
fn differing(work: impl Fn(&mut FileWriter<Rank>, bool) -> Result<(), Error> + Sync) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let errors = ranks(3, |comm| {
        let differs = comm.rank() == 1;
        let mut file = Builder::new().create(comm, &path).unwrap();
        let error = work(&mut file, differs).unwrap_err();
        assert_eq!(file.commit().unwrap_err(), error);
        error
    });
    assert!(errors.iter().all(|error| *error == errors[0]));
    assert_eq!(File::open(&path).unwrap().frames(), 0);
    errors[0].clone()
}

#[test]
fn ranks_that_pass_different_chunks_get_one_error() {
    let chunk = |name, values: &'static [u8], m| Rows::new().chunk(name, values, m);
    let write = |a: Rows<'static>, b: Rows<'static>| {
        differing(|file, differs| file.write(&[if differs { b.clone() } else { a.clone() }])).code()
    };
    assert_eq!(write(chunk("a", &[1; 6], 1), chunk("b", &[1; 6], 1)), Code::Differ);
    assert_eq!(write(chunk("a", &[1; 6], 1), chunk("a", &[1; 6], 2)), Code::Differ);
    let text = Rows::new().bytes("a", ChunkType::I8, 1, &[1; 6]);
    assert_eq!(write(chunk("a", &[1; 6], 1), text), Code::Differ);
    assert_eq!(write(chunk("a", &[1; 6], 1), Rows::new()), Code::Differ);
    // As many of them as another number of scans takes.
    let rows: Vec<_> = ["a", "b", "c", "d", "e", "f"].map(|name| chunk(name, &[1], 1)).into();
    let error = differing(|file, differs| file.write(&rows[usize::from(differs)..]));
    assert_eq!(error.code(), Code::Differ);
}

#[test]
fn a_chunk_that_no_file_can_have_is_the_error_of_a_rank_at_all_ranks() {
    let rows = |values: &'static [u8], m| Rows::new().chunk("a", values, m);
    let at_1 = |a: Rows<'static>, b: Rows<'static>| {
        let error =
            differing(|file, differs| file.write(&[if differs { b.clone() } else { a.clone() }]));
        (error.code(), error.rank(), error.text().to_owned())
    };
    let (code, rank, text) = at_1(rows(&[0; 6], 3), rows(&[0; 5], 3));
    assert_eq!((code, rank), (Code::Refused, Some(1)));
    assert!(text.starts_with("chunk a: "), "{text}");
    let both = |len: usize| rows(&[0; 4], 1).chunk("b", &[0_u16; 4][..len], 1);
    assert_eq!(at_1(both(4), both(3)).0, Code::Refused);
    // What all pass is the error of the lowest rank.
    let of_all = |rows: [Rows<'static>; 2]| {
        let error = differing(|file, _| {
            file.write(&rows[..1])?;
            file.write(&rows[1..])
        });
        (error.code(), error.rank())
    };
    assert_eq!(of_all([rows(&[1], 1), rows(&[1], 1)]), (Code::Refused, Some(0)));
    let error = differing(|file, _| file.write(&[rows(&[1], 1), rows(&[1], 1)]));
    assert_eq!((error.code(), error.rank()), (Code::Refused, Some(0)));
    let unnamed = Rows::new().chunk("", &[1_u8], 1);
    assert_eq!(of_all([rows(&[1], 1), unnamed]), (Code::Refused, Some(0)));
}

#[test]
fn a_frame_that_was_not_ended_is_refused_at_the_close_and_not_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    ranks(3, |comm| {
        let mut file = Builder::new().create(comm, &path).unwrap();
        Frame::new(0).share(&mut file).unwrap();
        file.write(&[Rows::new().chunk("a", &[1_u8], 1)]).unwrap();
        file.commit().unwrap();
        let error = file.close().unwrap_err();
        assert_eq!((error.code(), error.rank()), (Code::Refused, Some(0)));
    });
    check(&path, [1, 1], false);
}

#[test]
fn a_file_that_has_a_writer_or_exists_is_refused_at_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    ranks(3, |comm| {
        let other = comm.split(Ok(0)).unwrap();
        let third = comm.split(Ok(0)).unwrap();
        let file = Builder::new().create(comm, &path).unwrap();
        let error = Reopen::new().open(other, &path).unwrap_err();
        assert_eq!((error.code(), error.rank()), (Code::Refused, Some(0)));
        assert!(error.text().contains("another program"), "{error}");
        let error = Builder::new().create(third, &path).unwrap_err();
        assert_eq!((error.code(), error.rank()), (Code::Refused, Some(0)));
        file.close().unwrap();
    });
}
