//! Sets that core's writer makes in memory, whole and damaged: what is verified, recovered and
//! dumped of them.

use std::collections::BTreeSet;
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::meta1::Attributes;
use striae_core::sion::{
    Error, Finished, Head, Memory, Meta1, Opened, Options, Pen, Physical, Reader, Writer,
};
use striae_core::span::Span;
use striae_inspect::dump::Line;
use striae_inspect::finding::{Found as _, Severity};
use striae_inspect::sion::recover::{Recovery, copy};
use striae_inspect::sion::{FindingKind, Sealing, Summary, dump, state, verify};
use striae_kit::growing::Growing;
use striae_kit::hosts::stride;

/// How a set is written.
#[derive(Debug, Clone, Copy)]
struct Plan {
    order: ByteOrder,
    sealed: bool,
    keyval: bool,
}

/// Global rank and chunk size of each task, file by file.
const TASKS: [&[(i64, u64)]; 2] = [&[(0, 40), (3, 70)], &[(2, 33), (1, 120), (4, 10)]];

/// Where each global rank is.
const MAPPING: [(u32, u32); 5] = [(0, 0), (1, 1), (1, 0), (0, 1), (1, 2)];

fn plans() -> impl Iterator<Item = Plan> {
    (0..8).map(|bits| Plan {
        order: if bits & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big },
        sealed: bits & 2 == 0,
        keyval: bits & 4 == 0,
    })
}

/// What a task writes, in pieces that fit a chunk with a record's header; none of them is 0.
fn pieces(globalrank: i64, chunksize: u64) -> Vec<Vec<u8>> {
    let len = usize::try_from(chunksize.saturating_sub(16)).unwrap();
    let byte = |number| u8::try_from(1 + (number * 7 + usize::try_from(globalrank).unwrap()) % 255);
    (0..usize::try_from(globalrank).unwrap() % 4)
        .map(|piece| (0..len - piece.min(len)).map(|n| byte(n + piece).unwrap()).collect())
        .collect()
}

/// The physical files, as a writer closes them.
fn set(plan: Plan) -> Vec<Vec<u8>> {
    (0..).zip(TASKS).map(|(number, tasks)| file(plan, number, tasks)).collect()
}

fn file(plan: Plan, filenumber: u32, tasks: &[(i64, u64)]) -> Vec<u8> {
    let Plan { order, sealed, keyval } = plan;
    let attributes =
        Attributes { order, keyval, nfiles: 2, filenumber, fsblksize: 16, ..Attributes::default() };
    let (mut pens, mut ledger) = (vec![Pen::EMPTY; tasks.len()], [Finished::EMPTY; 16]);
    let mut window = [0; Meta1::MAX_LEN];
    let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
    let mapping: &[_] = if filenumber == 0 { &MAPPING } else { &[] };
    let options = Options { sealed, mapping, ..Options::default() };
    let store = Growing::default();
    let mut file = Writer::create(store, &attributes, b"set", tasks, memory, options).unwrap();
    for (local, (globalrank, chunksize)) in (0..).zip(tasks) {
        for piece in pieces(*globalrank, *chunksize) {
            match keyval {
                true => file.write_key(local, 7, &piece).unwrap(),
                false => file.write(local, &piece).unwrap(),
            };
        }
    }
    file.close().unwrap();
    file.into_store().0
}

fn found<F: AsRef<[u8]>>(files: &[F]) -> (Summary, Vec<(u32, FindingKind)>) {
    let files: Vec<_> = files.iter().map(AsRef::as_ref).collect();
    let mut found = Vec::new();
    let summary = verify(&files[..], &mut |file, what| found.push((file, what))).unwrap();
    let count = |severity| found.iter().filter(|(_, what)| what.severity() == severity).count();
    let counts = [summary.damage, summary.notes].map(|count| usize::try_from(count).unwrap());
    assert_eq!(counts, [count(Severity::Damage), count(Severity::Note)]);
    assert!(summary.data.checked <= summary.data.bytes);
    let names: BTreeSet<_> =
        FindingKind::KINDS.iter().copied().flatten().map(|it| it.name).collect();
    for (_, what) in &found {
        assert!(names.contains(what.facts().kind), "{what:?}");
        assert!(!what.to_string().contains('\n'));
    }
    (summary, found)
}

fn is_sound<F: AsRef<[u8]>>(files: &[F]) -> bool {
    found(files).0.is_sound()
}

fn head(file: &[u8]) -> Head {
    *Physical::open(file, &mut [0; Meta1::MAX_LEN]).unwrap().head()
}

/// All streams of a set, which must be readable.
fn streams(files: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let open = |file| match Physical::open(file, &mut [0; Meta1::MAX_LEN]).unwrap() {
        Opened::Closed(file) => file,
        Opened::Unclosed(_) => panic!("not closed"),
    };
    let files: Vec<_> = files.iter().map(|file| open(file.as_slice())).collect();
    let reader = Reader::of_set(files).unwrap();
    let mut all = Vec::new();
    for file in reader.files() {
        for listed in file.tasks([0; 64]).unwrap() {
            let listed = listed.unwrap();
            let mut bytes = vec![0; usize::try_from(listed.bytes).unwrap()];
            file.stream(listed.task).read_all(&mut bytes).unwrap();
            all.push(bytes);
        }
    }
    all
}

#[test]
fn what_a_writer_closed_is_sound_and_all_of_its_bytes_are_counted() {
    for plan in plans() {
        let files = set(plan);
        let (summary, findings) = found(&files);
        assert_eq!(findings, [], "{plan:?}");
        let streams = streams(&files);
        assert_eq!((summary.files, summary.tasks), (2, u64::try_from(streams.len()).unwrap()));
        let bytes = u64::try_from(streams.concat().len()).unwrap();
        assert!(bytes > 0);
        let checked = if plan.sealed { bytes } else { 0 };
        assert_eq!((summary.data.bytes, summary.data.checked), (bytes, checked), "{plan:?}");
        for file in &files {
            let sealing = if plan.sealed { Sealing::Sealed } else { Sealing::None };
            assert_eq!(state(&file.as_slice()).unwrap().sealing, sealing);
        }
    }
}

#[test]
fn a_later_file_is_checked_alone_and_says_so() {
    for plan in plans() {
        let (summary, findings) = found(&set(plan)[1..]);
        assert_eq!(findings, []);
        let part = summary.part_of_set.unwrap();
        assert_eq!((part.file, part.files, summary.files), (1, 2, 1));
    }
}

/// What a seal covers: all of META1, the used bytes of chunks, and from META2 to the end.
fn covered(file: &[u8]) -> Vec<Span> {
    let head = head(file);
    let Ok(Opened::Closed(physical)) = Physical::open(file, &mut [0; Meta1::MAX_LEN]) else {
        panic!("not closed")
    };
    let start = head.meta2.unwrap().start();
    let mut spans = vec![
        Span::new(0, head.meta1.layout().meta1_end()).unwrap(),
        Span::between(start, head.file_len).unwrap(),
    ];
    for listed in physical.tasks([0; 64]).unwrap() {
        let mut stream = physical.stream(listed.unwrap().task);
        while let Some(span) = stream.next_span(u64::MAX).unwrap() {
            spans.push(span);
        }
    }
    spans
}

#[test]
fn every_flipped_bit_of_what_a_seal_covers_is_damage() {
    for plan in plans().filter(|plan| plan.sealed) {
        let files = set(plan);
        for number in 0..files.len() {
            let mut files = files.clone();
            for span in covered(&files[number]) {
                let [start, end] =
                    [span.offset(), span.end()].map(|at| usize::try_from(at).unwrap());
                for at in (start..end).step_by(stride(7)) {
                    files[number][at] ^= 1 << (at % 8);
                    assert!(!is_sound(&files), "{plan:?}: byte {at} of file {number}");
                    files[number][at] ^= 1 << (at % 8);
                }
            }
        }
    }
}

#[test]
fn no_changed_bit_makes_an_unsealed_set_sound_that_cannot_be_read() {
    for plan in plans().filter(|plan| !plan.sealed) {
        let mut files = set(plan);
        for number in 0..files.len() {
            for at in (0..files[number].len()).step_by(stride(7)) {
                for bit in [1, 1 << 7, 1 << (at % 8)] {
                    files[number][at] ^= bit;
                    let (summary, _) = found(&files);
                    if summary.is_sound() && summary.part_of_set.is_none() && summary.files == 2 {
                        let bytes = u64::try_from(streams(&files).concat().len()).unwrap();
                        assert_eq!(summary.data.bytes, bytes, "{plan:?}: byte {at}");
                    }
                    files[number][at] ^= bit;
                }
            }
        }
    }
}

#[test]
fn no_prefix_that_cuts_the_tables_is_sound() {
    for plan in plans() {
        let files = set(plan);
        for number in 0..files.len() {
            let end = usize::try_from(head(&files[number]).meta2.unwrap().end()).unwrap();
            for len in 0..end {
                let mut files = files.clone();
                files[number].truncate(len);
                assert!(!is_sound(&files), "{plan:?}: {len} bytes of file {number}");
            }
        }
    }
}

#[test]
fn files_that_are_missing_swapped_or_of_another_set_are_damage() {
    for plan in plans() {
        let files = set(plan);
        let (_, alone) = found(&files[..1]);
        let missing = (1, FindingKind::Missing { first: 1, last: 1 });
        assert!(alone.contains(&missing), "{alone:?}");
        let first_twice = [&files[0], &files[0]];
        let differs =
            |what: &FindingKind| matches!(what, FindingKind::Wrong(Error::Differs { .. }));
        assert!(found(&first_twice).1.iter().any(|(file, what)| *file == 1 && differs(what)));
        let other = set(Plan { keyval: !plan.keyval, ..plan });
        assert!(found(&[&files[0], &other[1]]).1.iter().any(|(_, what)| differs(what)));
    }
}

fn recovered(files: &[Vec<u8>]) -> (Recovery, Vec<Vec<u8>>) {
    let mut recovery = Recovery::of(&files[0].as_slice(), crc32c).unwrap();
    for file in &files[1..] {
        recovery.add(&file.as_slice(), crc32c).unwrap();
    }
    recovery.check_set().unwrap();
    for (number, file) in files.iter().enumerate() {
        recovery.examine(number, &file.as_slice()).unwrap();
    }
    let mapping = recovery.mapping();
    let write = |(number, from): (usize, &Vec<u8>)| {
        let (from, mut to) = (from.as_slice(), Growing::default());
        let copy = &mut |to: &mut Growing, span, at, _| copy(&from, to, span, at);
        recovery.write((number, &mapping), &from, &mut to, crc32c, copy).unwrap();
        to.0
    };
    let new = files.iter().enumerate().map(write).collect();
    (recovery, new)
}

#[test]
fn a_closed_set_is_recovered_as_it_is() {
    for plan in plans() {
        let files = set(plan);
        let (recovery, new) = recovered(&files);
        assert!(recovery.is_sound());
        assert_eq!(streams(&new), streams(&files), "{plan:?}");
        assert_eq!(found(&new).1, [], "{plan:?}");
    }
}

#[test]
fn records_of_a_set_that_was_never_closed_are_recovered_and_sound() {
    for plan in plans().filter(|plan| plan.keyval) {
        let files = set(plan);
        let unclosed: Vec<_> = files
            .iter()
            .map(|file| {
                let head = head(file);
                let fields = usize::try_from(head.meta1.layout().commit_fields().offset()).unwrap();
                let mut file =
                    file[..usize::try_from(head.meta2.unwrap().start()).unwrap()].to_vec();
                file[fields..fields + 12].fill(0);
                file
            })
            .collect();
        assert!(!is_sound(&unclosed));
        let (recovery, new) = recovered(&unclosed);
        assert_eq!(streams(&new), streams(&files), "{plan:?}");
        assert_eq!(recovery.bytes(), u64::try_from(streams(&files).concat().len()).unwrap());
        assert_eq!(found(&new).1, []);
        let (again, newer) = recovered(&new);
        assert!(again.is_sound());
        assert_eq!(newer, new);
    }
}

/// Zeros where a record began are an empty record of key 0, which only a seal could show.
#[test]
fn records_that_became_zeros_are_recovered_once_and_stay() {
    for plan in plans().filter(|plan| plan.keyval) {
        let mut files = set(plan);
        let Opened::Closed(file) =
            Physical::open(files[0].as_slice(), &mut [0; Meta1::MAX_LEN]).unwrap()
        else {
            panic!("not closed")
        };
        let task = file.tasks([0; 64]).unwrap().nth(1).unwrap().unwrap().task;
        let start = usize::try_from(task.chunks.start).unwrap();
        assert!(files[0][start..start + 16].iter().any(|byte| *byte != 0));
        files[0][start..start + 16].fill(0);
        let (recovery, new) = recovered(&files);
        assert!(!recovery.is_sound());
        let (again, newer) = recovered(&new);
        assert_eq!((again.bytes(), newer), (recovery.bytes(), new), "{plan:?}");
    }
}

#[test]
fn a_dump_shows_each_byte_of_metadata_once_as_it_stands_there() {
    for plan in plans() {
        for file in set(plan) {
            let mut shown = vec![0; file.len()];
            dump(&file.as_slice(), &mut |line| {
                if let Line::Field { offset, len, bytes, position: None, .. } = line {
                    let (at, len) =
                        (usize::try_from(offset).unwrap(), usize::try_from(len).unwrap());
                    assert_eq!(file[at..at + len][..bytes.len()], bytes);
                    assert!(file[at + bytes.len()..at + len].iter().all(|byte| *byte == 0));
                    shown[at..at + len].iter_mut().for_each(|shown| *shown += 1);
                }
                Ok(())
            })
            .unwrap();
            let head = head(&file);
            let meta1 = usize::try_from(head.meta1.layout().meta1_end()).unwrap();
            let meta2 = usize::try_from(head.meta2.unwrap().start()).unwrap();
            assert!(shown[..meta1].iter().chain(&shown[meta2..]).all(|shown| *shown == 1));
            assert!(shown[meta1..meta2].iter().all(|shown| *shown == 0));
        }
    }
}
