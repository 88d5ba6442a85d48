//! Data of sealed files: a changed byte is found, and its chunk named.

use super::sealed::{Made, ORDERS, builder, data, parts_of, used_of};
use super::*;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use striae::Verify;
use striae::sion::verify::{Sealing, sealed_bytes};
use striae::sion::{Builder, Durability};
use striae_core::endian::ByteOrder;
use striae_core::sion::raw::ChunkCrcEntry;

#[test]
fn every_changed_byte_of_data_is_named_with_its_chunk() {
    for (nfiles, order) in [(1, ORDERS[0]), (1, ORDERS[1]), (3, ORDERS[0])] {
        let made = Made::sealed(nfiles, order);
        let used = used_of(&made.path);
        assert_eq!(used.iter().map(|(.., span)| span.len()).sum::<u64>(), 214);
        for (file, task, chunk, span) in used {
            for offset in span.offset()..span.end() {
                let byte = fs::read(made.file(file)).unwrap()[usize::try_from(offset).unwrap()];
                made.put(file, offset, &[byte ^ (1 << (offset % 8))]);
                let findings = made.found();
                let [finding] = &findings[..] else { panic!("{offset}: {findings:?}") };
                let FindingKind::Chunk { task: at, chunk: index, used, stored, computed } =
                    finding.what
                else {
                    panic!("{finding}");
                };
                assert_eq!((at, index, used), (task, chunk, span));
                assert_ne!(stored, computed);
                assert_eq!(*finding.file, *made.file(file));
                assert_eq!(finding.severity, Severity::Damage);
                made.put(file, offset, &[byte]);
            }
            // What is not used is nobody's.
            if span.len() < 64 {
                made.put(file, span.end(), b"?");
            }
        }
        assert_eq!(made.found(), []);
    }
}

#[test]
fn long_chunks_with_holes_are_checked_by_many_threads_and_all_bytes_are_counted() {
    const MIB: usize = 1 << 20;
    let made = Made::new(Builder::new(5).chunksize(3 << 20).sealed(true), |file| {
        for task in 0..5 {
            let mut stream = file.task(task).unwrap();
            stream.write_all(&data(task, 100_000)).unwrap();
            stream.write_all(&vec![0; 2 * MIB]).unwrap();
            stream.write_all(&data(task, 2 * MIB + 17)).unwrap();
        }
        file.close().unwrap();
    });
    let bytes = fs::read(&made.path).unwrap();
    fs::remove_file(&made.path).unwrap();
    let sparse = fs::File::create_new(&made.path).unwrap();
    for (index, block) in bytes.chunks(4096).enumerate().filter(|(_, b)| b.iter().any(|b| *b != 0))
    {
        sparse.write_all_at(block, (index * 4096) as u64).unwrap();
    }
    sparse.set_len(bytes.len() as u64).unwrap();

    let done = AtomicU64::new(0);
    let count = |bytes| {
        done.fetch_add(bytes, Ordering::Relaxed);
    };
    let summary = Verify::new()
        .progress(&count)
        .sion(&made.path, &mut |finding| panic!("{finding}"))
        .unwrap();
    assert!(summary.is_sound());
    let total = 5 * (100_000 + 4 * MIB + 17) as u64;
    assert_eq!((done.into_inner(), sealed_bytes(&made.path)), (total, total));

    // In a hole of each task's first chunk, and in the last byte of its second.
    let used = used_of(&made.path);
    for (_, _, chunk, span) in &used {
        let at = if *chunk == 0 { span.offset() + 200_000 } else { span.end() - 1 };
        made.put(0, at, b"\xff");
    }
    let wrong: Vec<_> = made.found().iter().map(|finding| finding.facts()).collect();
    let chunks = [0, 1].into_iter();
    let expected: Vec<_> = chunks.flat_map(|chunk| (0..5).map(move |task| (task, chunk))).collect();
    let found: Vec<_> = wrong.iter().map(|f| (f.task.unwrap(), f.chunk.unwrap())).collect();
    assert_eq!(found, expected); // in the order of the table, whichever thread was first
}

#[test]
fn many_tasks_in_windows_and_rows_are_all_checked() {
    for (ntasks, writes) in [(20_000u64, 1), (7, 5000)] {
        let made = Made::new(
            Builder::new(ntasks)
                .fsblksize(1)
                .chunksize(3)
                .sealed(true)
                .durability(Durability::None),
            |file| {
                for task in (0..ntasks).step_by(3) {
                    let mut stream = file.task(task).unwrap();
                    stream.write_all(&data(task, 3 * writes)).unwrap();
                }
                file.close().unwrap();
            },
        );
        assert_eq!(made.found(), []);
        let used = used_of(&made.path);
        let used: Vec<_> = used.iter().filter(|used| !used.3.is_empty()).step_by(997).collect();
        for (.., span) in &used {
            made.put(0, span.offset(), b"\0");
        }
        let mut expected: Vec<_> = used.iter().map(|used| (used.2, used.1)).collect();
        let mut found: Vec<_> = made
            .found()
            .iter()
            .map(|finding| (finding.facts().chunk.unwrap(), finding.facts().task.unwrap()))
            .collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}

/// What looks like a seal at the end of a file says by its numbers that it is from elsewhere.
#[test]
fn a_copy_of_a_sealed_file_behind_another_is_no_seal() {
    let inner = fs::read(&Made::sealed(1, ByteOrder::Little).path).unwrap();
    let made = Made::new(builder(1, ByteOrder::Little), |file| file.close().unwrap());
    let mut file = fs::OpenOptions::new().append(true).open(&made.path).unwrap();
    file.write_all(&inner).unwrap();
    assert_eq!(made.state().1, Sealing::None);
    let findings = made.found();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert!(matches!(finding.what, FindingKind::Trailing { .. }), "{finding}");
}

#[test]
fn a_finding_says_what_it_is_in_values_too() {
    let made = Made::sealed(1, ByteOrder::Little);
    let (_, _, _, first) = used_of(&made.path)[0];
    let [.., table, trailer] = parts_of(&made.path);
    made.put(0, first.offset(), b"\0");
    let findings = made.found();
    let facts = findings[0].facts();
    assert_eq!(facts.kind, "chunk_checksum");
    assert_eq!(facts.field.as_deref(), Some("seal.crc"));
    assert_eq!((facts.task, facts.chunk), (Some(0), Some(0)));
    assert_eq!((facts.offset, facts.len), (Some(first.offset()), Some(64)));
    let crc =
        fs::read(&made.path).unwrap()[usize::try_from(table.offset()).unwrap()..][..4].to_vec();
    assert_eq!(facts.stored, Some(u32::from_le_bytes(crc.try_into().unwrap())));
    assert_ne!(facts.stored, facts.computed);
    let text = findings[0].to_string();
    assert!(text.contains("seal.crc of chunk 0 of task 0 is 0x"), "{text}");
    assert!(text.contains(&format!("the 64 bytes at offset {} that", first.offset())), "{text}");
    assert_eq!(ChunkCrcEntry::TABLE.len, 4);

    // Of a checksum, any byte may be 0 already.
    let last = fs::read(&made.path).unwrap()[usize::try_from(trailer.offset()).unwrap() + 47];
    made.put(0, trailer.offset() + 47, &[!last]);
    let facts = made.found()[0].facts();
    assert_eq!((facts.kind, facts.field.as_deref()), ("checksum", Some("seal.trailer_crc")));
    assert_eq!(facts.offset, Some(trailer.offset() + 44));
}
