//! Seals: whatever is not as it was sealed is found and named, and nothing else.

use super::*;
use std::io::Write;
use striae::sion::verify::{Ending, Sealing, State, sealed_bytes, state};
use striae::sion::{Builder, Durability, File, FileWriter, Reopen};
use striae_core::endian::ByteOrder;
use striae_core::sion::Opened;
use striae_core::sion::Physical;
use striae_core::sion::raw::SealTrailer;
use striae_core::span::Span;

pub(super) const ORDERS: [ByteOrder; 2] = [ByteOrder::Little, ByteOrder::Big];
const TRAILER: u64 = 64;

/// A set that was written here.
pub(super) struct Made {
    _dir: TempDir,
    pub(super) path: PathBuf,
}

/// `len` bytes of task `task`, none of which is 0.
pub(super) fn data(task: u64, len: usize) -> Vec<u8> {
    (0..len)
        .map(|i| u8::try_from((i * 7 + usize::try_from(task).unwrap() * 31) % 255 + 1).unwrap())
        .collect()
}

/// Three tasks with chunks of 64 bytes, of which they use 150, none and 64.
fn fill(file: &FileWriter) {
    for (task, len) in [(0, 150), (2, 64)] {
        file.task(task).unwrap().write_all(&data(task, len)).unwrap();
    }
}

pub(super) fn builder(nfiles: u32, order: ByteOrder) -> Builder {
    let builder = Builder::new(3).fsblksize(64).chunksize(64).nfiles(nfiles).order(order);
    builder.durability(Durability::None)
}

impl Made {
    pub(super) fn new(builder: Builder, fill: impl FnOnce(&mut FileWriter)) -> Self {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("a.sion");
        let mut file = builder.create(&path).unwrap();
        fill(&mut file);
        Self { _dir: dir, path }
    }

    pub(super) fn sealed(nfiles: u32, order: ByteOrder) -> Self {
        Self::new(builder(nfiles, order).sealed(true), |file| {
            fill(file);
            file.close().unwrap();
        })
    }

    pub(super) fn file(&self, number: u32) -> PathBuf {
        match number {
            0 => self.path.clone(),
            number => PathBuf::from(format!("{}.{number:06}", self.path.display())),
        }
    }

    pub(super) fn put(&self, number: u32, offset: u64, bytes: &[u8]) {
        let file = fs::OpenOptions::new().write(true).open(self.file(number)).unwrap();
        file.write_all_at(bytes, offset).unwrap();
    }

    fn len(&self) -> u64 {
        fs::metadata(&self.path).unwrap().len()
    }

    pub(super) fn found(&self) -> Vec<Finding> {
        found(&self.path).1
    }

    fn reopen(&self, sealed: bool) -> FileWriter {
        Reopen::new().durability(Durability::None).sealed(sealed).open(&self.path).unwrap()
    }

    pub(super) fn state(&self) -> (Ending, Sealing) {
        let State { ending, sealing } = state(&self.path).unwrap();
        (ending, sealing)
    }
}

/// META1, META2 with the mapping, the table of a seal, and its trailer.
pub(super) fn parts_of(path: &Path) -> [Span; 4] {
    let bytes = fs::read(path).unwrap();
    let Opened::Closed(file) = Physical::open(&bytes[..], &mut [0; 1076]).unwrap() else {
        panic!()
    };
    let (meta1, meta2) = (*file.meta1(), *file.meta2());
    let table_len = 4 * u64::from(meta1.ntasks()) * u64::from(meta2.maxchunks());
    let end = u64::try_from(bytes.len()).unwrap();
    let trailer = end - TRAILER;
    let table = trailer - table_len;
    let span = |start, end| Span::new(start, end - start).unwrap();
    let meta1 = span(0, meta1.layout().commit_fields().end());
    [meta1, span(meta2.start(), table), span(table, trailer), span(trailer, end)]
}

/// The used parts of all chunks of a set: file, task in it, chunk, bytes.
pub(super) fn used_of(path: &Path) -> Vec<(u32, u32, u64, Span)> {
    let set = File::open(path).unwrap();
    let mut used = Vec::new();
    for task in set.tasks().unwrap() {
        let task = task.unwrap();
        for (chunk, len) in set.chunk_lens(&task).unwrap().enumerate() {
            let mut chunks = task.place.chunks;
            chunks.globalskip = chunks.globalskip.or(Some(0));
            let chunk = u64::try_from(chunk).unwrap();
            let whole = chunks.chunk(chunk).unwrap();
            used.push((task.file, task.place.local, chunk, whole.part(0, len.unwrap()).unwrap()));
        }
    }
    used
}

/// The checksums that were found to be wrong, by field.
fn checksums(findings: &[Finding]) -> Vec<FieldId> {
    let wrong = findings.iter().filter_map(|finding| match finding.what {
        FindingKind::Wrong(Error::Checksum { field, stored, computed, .. }) => {
            assert_ne!(stored, computed);
            Some(field)
        }
        _ => None,
    });
    wrong.collect()
}

pub(super) fn is_damaged(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.severity == Severity::Damage)
}

#[test]
fn what_was_sealed_and_not_changed_is_sound_and_not_even_unusual() {
    for order in ORDERS {
        for nfiles in 1..=3 {
            let made = Made::sealed(nfiles, order);
            assert_eq!(made.found(), [], "{order} {nfiles}");
            assert_eq!(made.state(), (Ending::Closed, Sealing::Sealed));
        }
        let keyval = Made::new(builder(2, order).keyval(true).sealed(true), |file| {
            for task in 0..3 {
                file.task(task).unwrap().write_key(7, &data(task, 100)).unwrap();
            }
            file.close().unwrap();
        });
        assert_eq!(keyval.found(), []);
        let empty = Made::new(builder(1, order).sealed(true), |file| file.close().unwrap());
        assert_eq!(empty.found(), []);
        let unsealed = Made::new(builder(1, order), |file| {
            fill(file);
            file.close().unwrap();
        });
        assert_eq!(unsealed.found(), []);
        assert_eq!(unsealed.state(), (Ending::Closed, Sealing::None));
        assert_eq!(sealed_bytes(&unsealed.path), 0);
    }
}

#[test]
fn every_flipped_bit_of_metadata_is_damage_once_it_is_sealed() {
    for order in ORDERS {
        let made = Made::sealed(1, order);
        let bytes = fs::read(&made.path).unwrap();
        let [meta1, meta2, table, trailer] = parts_of(&made.path);
        let fields = [
            SealTrailer::meta1_crc,
            SealTrailer::meta2_crc,
            SealTrailer::chunks_crc,
            SealTrailer::trailer_crc,
        ];
        for (span, field) in [meta1, meta2, table, trailer].into_iter().zip(fields) {
            for offset in span.offset()..span.end() {
                let byte = bytes[usize::try_from(offset).unwrap()];
                let is_prefix = (60..1076).contains(&offset); // 1 KiB of which all is the same
                for bit in if is_prefix { 3..4 } else { 0..8 } {
                    made.put(0, offset, &[byte ^ (1 << bit)]);
                    let findings = made.found();
                    let says = findings.iter().map(ToString::to_string).collect::<Vec<_>>();
                    let at = format!("{order} byte {offset} bit {bit}: {says:#?}");
                    assert!(is_damaged(&findings), "{at}");
                    assert!(named(&findings, field), "{at}");
                }
                made.put(0, offset, &[byte]);
            }
        }
        assert_eq!(made.found(), []);
    }
}

/// Whether damage is named by the checksum `wanted`, or more closely.
fn named(findings: &[Finding], wanted: FieldId) -> bool {
    let wrong = checksums(findings);
    if wrong.contains(&wanted) {
        // Nothing that is damaged in the seal says anything about other parts.
        let is_seal = [SealTrailer::trailer_crc, SealTrailer::chunks_crc].contains(&wanted);
        return !is_seal || findings.len() == 1;
    }
    let first = findings.iter().find(|finding| finding.severity == Severity::Damage).unwrap();
    match first.what {
        FindingKind::Wrong(Error::SealMagic { .. }) => {
            wanted == SealTrailer::trailer_crc && findings.len() == 1
        }
        FindingKind::Wrong(Error::NotAsSealed { .. }) => wanted == SealTrailer::meta1_crc,
        // A wrong META1 hides the seal, or its byte order, but is damaged by itself.
        _ => wanted == SealTrailer::meta1_crc,
    }
}

#[test]
fn fields_that_move_the_seal_are_named() {
    for order in ORDERS {
        let made = Made::sealed(1, order);
        let i32_of = |n: i32| match order {
            ByteOrder::Little => n.to_le_bytes(),
            ByteOrder::Big => n.to_be_bytes(),
        };
        let i64_of = |n: i64| match order {
            ByteOrder::Little => n.to_le_bytes(),
            ByteOrder::Big => n.to_be_bytes(),
        };
        let expect = |field, value: i64, sealed: i64, offset| {
            let what = FindingKind::Wrong(Error::NotAsSealed { field, offset, value, sealed });
            let findings = made.found();
            assert!(findings.iter().any(|finding| finding.what == what), "{findings:#?}");
            assert_eq!(made.state().1, Sealing::Damaged);
        };
        for value in [1, 2, 4] {
            made.put(0, 1124, &i32_of(value));
            expect(CommitFields::maxchunks, value.into(), 3, 1124);
        }
        made.put(0, 1124, &i32_of(3));
        let damage = |field, value: i64, sealed: i64, offset| {
            let what = FindingKind::Wrong(Error::NotAsSealed { field, offset, value, sealed });
            let findings = made.found(); // META2 is not found
            assert_eq!(findings.last().unwrap().what, what, "{findings:#?}");
        };
        for value in [2, 4] {
            made.put(0, 24, &i32_of(value));
            damage(Meta1::ntasks, value.into(), 3, 24);
        }
        made.put(0, 24, &i32_of(3));
        for value in [0, 1, 1 << 60, -1] {
            made.put(0, 1128, &i64_of(value));
            damage(CommitFields::start_of_varheader, value, 1728, 1128);
        }
        made.put(0, 1128, &i64_of(1728));
        made.put(0, 1124, &i32_of(i32::MAX));
        damage(CommitFields::maxchunks, i32::MAX.into(), 3, 1124);
        made.put(0, 1124, &i32_of(3));
        made.put(0, 1128, &i64_of(0));
        made.put(0, 60, b"?"); // it is another META1 altogether
        assert_eq!(made.found().last().unwrap().severity, Severity::Note);
    }
}

/// One that is shorter by a row, and in the same place.
#[test]
fn another_meta2_in_the_place_of_the_sealed_one_makes_the_seal_stale() {
    let made = Made::sealed(1, ByteOrder::Little);
    made.put(0, 1124, &i32_le(2));
    made.put(0, 1728, &i64_le(2));
    // A close puts one of two rows at 1536, and a commit at the start of a sector.
    assert_eq!(damaged(&made.found()), [CommitFields::start_of_varheader]);
    assert_eq!(made.state().1, Sealing::Stale);
}

/// META2 moved to 1408, where it fits, so that the table of the seal is over task 0's chunk 2.
#[test]
fn bytes_of_data_that_are_also_bytes_of_the_seal_are_damage() {
    let made = Made::sealed(1, ByteOrder::Little);
    let bytes = fs::read(&made.path).unwrap();
    made.put(0, 1408, &bytes[1728..1828]);
    made.put(0, 1128, &i64_le(1408));
    made.put(0, 1544, &trailer_of([1, 3, 3], [1408, 1508], ByteOrder::Little));
    let tables = Span::new(1408, 200).unwrap();
    let used = Span::new(1536, 22).unwrap();
    let (offset, task, chunk) = (1408 + 24 + 48, 0, 2);
    let overlap = FindingKind::Overlap { offset, task, chunk, used, tables };
    let findings = made.found();
    assert!(findings.iter().any(|finding| finding.what == overlap), "{findings:#?}");
}

#[test]
fn every_flipped_bit_of_a_sealed_mapping_and_of_later_files_is_damage() {
    let made = Made::sealed(3, ByteOrder::Little);
    for number in 0..3 {
        let bytes = fs::read(made.file(number)).unwrap();
        let [meta1, meta2, table, trailer] = parts_of(&made.file(number));
        let fixed = Span::new(0, 60).unwrap();
        let tables = Span::new(1076, meta1.end() - 1076).unwrap();
        for span in [fixed, tables, meta2, table, trailer] {
            for offset in span.offset()..span.end() {
                let byte = bytes[usize::try_from(offset).unwrap()];
                for bit in [0, 3, 7] {
                    made.put(number, offset, &[byte ^ (1 << bit)]);
                    let findings = made.found();
                    assert!(is_damaged(&findings), "{number} {offset} {bit}: {findings:#?}");
                }
                made.put(number, offset, &[byte]);
            }
        }
    }
    assert_eq!(made.found(), []);
}

/// All that is wrong is told, and data are checked although a table is damaged.
#[test]
fn a_damaged_table_or_trailer_does_not_hide_damaged_data() {
    let made = Made::sealed(1, ByteOrder::Little);
    let [.., trailer] = parts_of(&made.path);
    let (_, _, _, first) = used_of(&made.path)[0];
    made.put(0, first.offset(), b"\0");
    made.put(0, 60, b"?"); // the prefix
    let kinds = |findings: &[Finding]| findings.iter().map(|f| f.facts().kind).collect::<Vec<_>>();
    assert_eq!(checksums(&made.found()), [SealTrailer::meta1_crc]);
    assert!(kinds(&made.found()).contains(&"chunk_checksum"), "{:?}", made.found());

    let made = Made::sealed(1, ByteOrder::Little);
    made.put(0, first.offset(), b"\0");
    made.put(0, trailer.offset() + 48, b"S");
    assert_eq!(kinds(&made.found()), ["seal_magic", "chunk_checksum"]);
    assert_eq!(made.state(), (Ending::Closed, Sealing::Damaged));
    made.put(0, trailer.offset() + 36, b"?"); // now nobody knows whether the table is right
    made.put(0, trailer.offset() + 48, b"s");
    assert_eq!(kinds(&made.found()), ["checksum"]);
}

#[test]
fn a_committed_file_is_checked_as_a_closed_one_is_and_has_notes() {
    for order in ORDERS {
        let made = Made::new(builder(1, order).sealed(true), |file| {
            fill(file);
            file.commit().unwrap();
            file.task(1).unwrap().write_all(&data(1, 10)).unwrap();
            file.commit().unwrap();
            file.task(2).unwrap().write_all(&data(1, 300)).unwrap(); // lost
        });
        assert_eq!(made.state(), (Ending::Committed, Sealing::Sealed));
        let findings = made.found();
        assert!(!is_damaged(&findings), "{findings:#?}");
        let field = CommitFields::start_of_varheader;
        let is_place =
            |f: &Finding| matches!(f.what, FindingKind::Unusual { field: at, .. } if at == field);
        assert!(is_place(&findings[0]), "{findings:#?}");
        assert!(findings.len() <= 2, "{findings:#?}");
        for (_, task, chunk, span) in used_of(&made.path).into_iter().filter(|u| !u.3.is_empty()) {
            let byte = fs::read(&made.path).unwrap()[usize::try_from(span.offset()).unwrap()];
            made.put(0, span.offset(), &[byte ^ 16]);
            let findings = made.found();
            let last = findings.last().unwrap();
            let is_it = matches!(last.what, FindingKind::Chunk { task: t, chunk: c, .. }
                if (t, c) == (task, chunk));
            assert!(is_it, "{findings:#?}");
            made.put(0, span.offset(), &[byte]);
        }
    }
}

#[test]
fn a_file_that_was_changed_later_and_not_sealed_has_a_stale_seal_until_it_is_closed() {
    for order in ORDERS {
        let made = Made::sealed(1, order);
        let seal = made.len() - TRAILER;
        let file = made.reopen(false);
        file.task(0).unwrap().write_all(&data(5, 1)).unwrap();
        drop(file); // nothing was committed
        assert_eq!(made.state(), (Ending::Closed, Sealing::Sealed));
        assert_eq!(checksums(&made.found()), []);

        let file = made.reopen(false);
        file.task(0).unwrap().write_all(&data(5, 1)).unwrap();
        file.commit().unwrap();
        drop(file);
        let findings = made.found();
        assert!(!is_damaged(&findings), "{findings:#?}");
        let is_behind = made.len() > seal + TRAILER; // then it is only bytes that nobody reads
        let stale = FindingKind::StaleSeal { offset: seal };
        let is_stale = findings.iter().any(|finding| finding.what == stale);
        assert_ne!(is_behind, is_stale, "{findings:#?}");

        made.reopen(false).close().unwrap();
        assert_eq!(made.state(), (Ending::Closed, Sealing::None));
        assert_eq!(made.found(), []);
        made.reopen(true).close().unwrap();
        assert_eq!(made.state(), (Ending::Closed, Sealing::Sealed));
        assert_eq!(made.found(), []);
    }
}

/// A seal with META2 elsewhere, as a writer leaves it that publishes META2 in front of it.
#[test]
fn a_seal_at_the_end_of_a_file_with_another_meta2_is_a_note() {
    let made = Made::sealed(1, ByteOrder::Little);
    let [_, meta2, ..] = parts_of(&made.path);
    let bytes = fs::read(&made.path).unwrap();
    let old = &bytes[usize::try_from(meta2.offset()).unwrap()..];
    let (start, len) = (meta2.offset(), old.len());
    // Both move behind, and the seal keeps its numbers: those of where it is now.
    made.put(0, 2048, &old[..usize::try_from(meta2.len()).unwrap()]);
    made.put(0, 1128, &i64_le(2048));
    let findings = made.found();
    assert!(!is_damaged(&findings), "{findings:#?}");
    assert_eq!(made.state(), (Ending::Committed, Sealing::None)); // it is not at the end any more

    let made = Made::sealed(1, ByteOrder::Little);
    let to = start - 64 * 3; // over block 2, which is used
    made.put(0, to, &old[..usize::try_from(meta2.len()).unwrap()]);
    made.put(0, 1128, &i64_le(i64::try_from(to).unwrap()));
    assert_eq!(made.state(), (Ending::Misplaced, Sealing::Stale));
    let stale = FindingKind::StaleSeal { offset: start + u64::try_from(len).unwrap() - TRAILER };
    let findings = made.found();
    assert!(findings.iter().any(|finding| finding.what == stale), "{findings:#?}");
    // Task 0's chunk 2 is overlapped.
    assert_eq!(damaged(&findings), [CommitFields::start_of_varheader, BlocksizeEntry::blocksize],);
}

#[test]
fn commits_of_every_kind_in_any_order_are_never_damage() {
    for order in ORDERS {
        for kinds in 0..(1 << 6) {
            let made = Made::sealed(1, order);
            let mut is_sealed = true;
            for step in 0..6u64 {
                is_sealed = (kinds >> step) & 1 == 1;
                let file = made.reopen(is_sealed);
                let len = usize::try_from(step % 3).unwrap() * 20;
                file.task(step % 2).unwrap().write_all(&data(step, len)).unwrap();
                file.commit().unwrap();
                drop(file);
                let findings = made.found();
                let says = findings.iter().map(ToString::to_string).collect::<Vec<_>>();
                assert!(!is_damaged(&findings), "{kinds:b} step {step}: {says:#?}");
                assert_eq!(made.state().1 == Sealing::Sealed, is_sealed, "{kinds:b} step {step}");
            }
            made.reopen(is_sealed).close().unwrap();
            assert_eq!(made.found(), [], "{kinds:b}");
        }
    }
}

/// A trailer of these numbers whose own checksum is right.
fn trailer_of(numbers: [i32; 3], places: [i64; 2], order: ByteOrder) -> Vec<u8> {
    let i32_of = |n: i32| if order == ByteOrder::Big { n.to_be_bytes() } else { n.to_le_bytes() };
    let i64_of = |n: i64| if order == ByteOrder::Big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut bytes = Vec::new();
    for number in numbers {
        bytes.extend(i32_of(number));
    }
    bytes.extend([0; 4]);
    for place in places {
        bytes.extend(i64_of(place));
    }
    bytes.extend([0; 12]);
    let crc = striae_core::integrity::crc32c(0, &bytes);
    bytes.extend(i32_of(crc.cast_signed()));
    bytes.extend(SealTrailer::MAGIC);
    assert_eq!(bytes.len(), 64);
    bytes
}

#[test]
fn what_a_seal_claims_costs_nothing_and_panics_nowhere() {
    for order in ORDERS {
        let made = Made::sealed(1, order);
        let [_, meta2, table, trailer] = parts_of(&made.path);
        let start = i64::try_from(meta2.offset()).unwrap();
        let seal = i64::try_from(table.offset()).unwrap();
        let some = [i32::MIN, -1, 0, 1, 3, 4, 1 << 30, i32::MAX];
        let places = [i64::MIN, -1, 0, 1, start, seal, i64::MAX];
        let places = places.iter().flat_map(|&place| [[start, place], [place, seal]]);
        for [place, own] in places {
            let pairs = some.iter().flat_map(|n| some.map(|maxchunks| [*n, maxchunks]));
            for numbers in pairs.flat_map(|[n, chunks]| [[1, n, chunks], [2, n, chunks]]) {
                made.put(0, trailer.offset(), &trailer_of(numbers, [place, own], order));
                let _findings = made.found();
                let _state = made.state();
                let _refused_or_not = dump(&made.path, &mut |_| Ok(()));
            }
        }
        made.put(0, trailer.offset(), &trailer_of([3, 3, 3], [start, seal], order));
        let findings = made.found();
        let [finding] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!(finding.severity, Severity::Note); // of a version of another day
        assert_eq!(made.state().1, Sealing::Unknown);
        let field = SealTrailer::seal_version;
        assert!(matches!(finding.what, FindingKind::Unusual { field: f, .. } if f == field));
    }
}
