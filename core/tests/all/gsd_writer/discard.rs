//! A frame that failed is given up and written again, and is there once.

use super::{Disk, Failing, Failure, OLD, chunks, failing};
use std::cell::Cell;
use std::rc::Rc;
use striae_core::gsd::{Attributes, ChunkType, Logger, Slot, Version, Writer};
use striae_core::store::ReadAt;
use striae_kit::gsd_files::{Entry, Made};

type Log = Logger<Failing, 5>;

/// Adds what a device logs as frame `number`, in chunks and pieces; names come late.
fn add(log: &mut Log, number: u8) -> Result<(), Failure> {
    for name in 0..3_u8 {
        let id = log.name(&format!("name {name} of {}", number / 2))?;
        if name == 1 {
            let mut chunk = log.begin_chunk(id, ChunkType::U16, 1)?;
            chunk.write(&[number])?;
            chunk.write(&[number; 7])?;
            chunk.finish()?;
        } else {
            log.chunk(id, ChunkType::U8, 1, &[number; 30])?;
        }
    }
    Ok(())
}

fn add_frame(log: &mut Log, number: u8) -> Result<u64, Failure> {
    add(log, number)?;
    log.end_frame()
}

/// Shapes of logs: with and without checksums, commits of one sync, alignment, in both layers;
/// their indexes and lists of names grow.
fn shapes() -> impl Iterator<Item = Attributes<'static>> {
    (0..16).map(|number| Attributes {
        checksums: number & 1 == 1,
        one_sync: number & 2 == 2,
        align: if number & 4 == 4 { 512 } else { 1 },
        layer: if number & 8 == 8 { OLD } else { Attributes::default().layer },
        index_slots: 1,
        shown_slots: 1,
        names_len: 1,
        ..Attributes::default()
    })
}

/// Logs four frames by `work`, with each operation failing once, in each way that it can: it is
/// told what may be set to fail and from which operation on. All are there once.
fn with_each_fault(work: impl Fn(&mut Log, u8, &Cell<usize>, usize) -> u64) {
    for shape in shapes() {
        let run = |kept, operations| {
            let mut has_failed = false;
            let fuel = Rc::new(Cell::new(usize::MAX));
            let store = failing(Disk::new(Vec::new()), &fuel, kept);
            let mut log = Log::create(store, &shape).unwrap();
            for number in 0..4 {
                let frame = work(&mut log, number, &fuel, operations);
                has_failed |= fuel.replace(usize::MAX) > 1 << 20;
                assert_eq!((frame, log.frames()), (number.into(), frame + 1), "{shape:?}");
            }
            (chunks(&log.into_store().disk.bytes), has_failed)
        };
        let (expected, _) = run(0, usize::MAX);
        assert_eq!(expected.len(), 12);
        for kept in 0..3 {
            let mut tried = 0;
            loop {
                let (seen, has_failed) = run(kept, tried);
                assert_eq!(seen, expected, "operation {tried}, {kept} halves kept, {shape:?}");
                if !has_failed {
                    break;
                }
                tried += 1;
            }
            assert!(tried > 3, "{tried}");
        }
    }
}

/// As the documentation of the logger says.
#[test]
fn a_frame_that_failed_anywhere_is_given_up_and_logged_once() {
    with_each_fault(|log, number, fuel, operations| {
        fuel.set(operations);
        let frames = log.frames();
        if add_frame(log, number).is_err() {
            if log.frames() > frames {
                log.commit().unwrap();
            } else {
                log.discard_frame();
                assert_eq!(add_frame(log, number).unwrap(), frames);
            }
        }
        frames
    });
}

#[test]
fn the_end_of_a_frame_that_failed_anywhere_may_be_asked_for_again() {
    with_each_fault(|log, number, fuel, operations| {
        add(log, number).unwrap();
        fuel.set(operations);
        log.end_frame().unwrap_or_else(|_| log.end_frame().unwrap())
    });
}

/// What a frame took that was given up is free again: for frames that are shorter, and for as many
/// as if it had never been tried.
#[test]
fn a_frame_that_found_no_room_costs_none() {
    for shape in shapes() {
        let log = |disk| Writer::create(disk, &shape, vec![Slot::EMPTY; 8]).unwrap();
        let run = |disk: Disk, tries: usize| {
            let mut writer = log(disk);
            let ids = [b"a", b"b", b"c"].map(|name| writer.name(name).unwrap());
            let mut frames = 0;
            loop {
                for _ in 0..tries {
                    for id in ids {
                        let len = if id == 2 { 1 << 20 } else { 200 };
                        let done = writer.write_chunk(id, ChunkType::U8, 1, &vec![9; len]);
                        assert!(done.is_err() || id < 2);
                    }
                    writer.discard_frame();
                }
                let mut add = || {
                    writer.write_chunk(ids[0], ChunkType::U8, 1, &[1; 300])?;
                    writer.end_frame()?;
                    writer.commit()
                };
                if add().is_err() {
                    return (frames, chunks(&writer.store().bytes));
                }
                frames += 1;
            }
        };
        let disk = || Disk { limit: 40_000, ..Disk::new(Vec::new()) };
        let (frames, expected) = run(disk(), 0);
        assert_eq!(run(disk(), 2), (frames, expected), "{shape:?}");
        assert!(frames > 5, "{frames}");
    }
}

/// As a store does that has written none of the bytes yet.
#[test]
fn a_store_may_be_shorter_when_a_frame_is_given_up() {
    for shape in shapes() {
        let mut writer =
            Writer::create(Disk::new(Vec::new()), &shape, vec![Slot::EMPTY; 8]).unwrap();
        let id = writer.name(b"a").unwrap();
        for frame in 0..9 {
            writer.write_chunk(id, ChunkType::U8, 1, &[9; 10_000]).unwrap();
            writer.discard_frame_with(|disk, end| disk.bytes.truncate(end as usize));
            writer.write_chunk(id, ChunkType::U8, 1, &[1; 10]).unwrap();
            writer.end_frame().unwrap();
            writer.commit().unwrap();
            assert!(writer.store().size().unwrap() >= writer.data_end(), "{frame}, {shape:?}");
            assert_eq!(chunks(&writer.store().bytes).len(), frame + 1, "{shape:?}");
        }
    }
}

/// What a commit has made part of the file stays part of it.
#[test]
fn a_frame_that_is_given_up_after_a_commit_leaves_a_file_that_can_be_closed() {
    for shape in shapes() {
        let mut writer =
            Writer::create(Disk::new(Vec::new()), &shape, vec![Slot::EMPTY; 8]).unwrap();
        let id = writer.name(b"a").unwrap();
        for turn in 0..3 {
            writer.write_chunk(id, ChunkType::U8, 1, &[1; 10]).unwrap();
            writer.end_frame().unwrap();
            writer.write_chunk(id, ChunkType::U8, 1, &[2; 1000]).unwrap();
            if turn < 2 {
                writer.commit().unwrap();
            }
            writer.discard_frame();
            assert_eq!(writer.frames(), turn + 1);
        }
        writer.close().unwrap();
        let there = chunks(&writer.store().bytes);
        assert_eq!(there.len(), 3, "{shape:?}");
        assert!(there.iter().all(|chunk| chunk.5 == [1; 10]));
        assert_eq!(writer.store().size(), Ok(writer.data_end()));
    }
}

/// The header of a file of layer 2.0 may show slots that the upgrade needs, so that it takes two
/// commits. Whichever of their operations fails, the call can be repeated.
#[test]
fn an_upgrade_that_failed_is_repeated() {
    let entries: Vec<_> =
        (0..200).map(|number| Entry::empty(number / 2, number as u16 % 2)).collect();
    let bytes = Made { layer: (2, 0), slots: 256, ..Made::new(entries, 2) }.bytes();
    let mut failed = 0;
    for kept in 0..=2 {
        for after in 0.. {
            let fuel = Rc::new(Cell::new(usize::MAX));
            let store = failing(Disk::new(bytes.clone()), &fuel, kept);
            let mut file = Writer::open(store, [Slot::EMPTY; 6]).unwrap();
            fuel.set(after);
            if file.upgrade().is_ok() {
                break;
            }
            failed += 1;
            fuel.set(usize::MAX);
            file.upgrade().unwrap();
            assert_eq!(file.version(), Version::LAYER);
            file.write_chunk(1, ChunkType::Character, 1, b"x").unwrap();
            file.end_frame().unwrap();
            file.close().unwrap();
            let written = chunks(&file.into_store().disk.bytes);
            assert_eq!((written.len(), written[200].5.as_slice()), (201, &b"x"[..]), "{after}");
        }
    }
    assert!(failed > 30, "{failed}");
}
