//! Verifying a SIONlib set reports all that is wrong with it, and nothing else.

mod contradicted;
mod hostile;
mod misplaced;
mod sealed;
mod sealed_data;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use striae::Verify;
use striae::sion::dump::{Line, dump};
use striae::sion::verify::{Finding, FindingKind, MAX_COMPARED_RANKS, Severity, Summary};
use striae_core::field::FieldId;
use striae_core::sion::raw::{
    BlockcountEntry, BlocksizeEntry, ChunksizeEntry, CommitFields, GlobalrankEntry, Ident,
    MappingEntry, MappingSize, Meta1,
};
use striae_core::sion::{Error, raw};
use tempfile::TempDir;

const S02: &str = "s02_three_unequal_noncontig.sion";
const M05: &str = "m05_np8_3files.sion";
const UNCLOSED: [&str; 2] = ["s19_unclosed_flushed.sion", "s21_unclosed_keyval.sion"];

fn golden_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/sion")
}

/// Every physical file, buddy sets and later files of sets among them.
fn golden_files() -> Vec<PathBuf> {
    let names = fs::read_dir(golden_dir()).unwrap().map(|entry| entry.unwrap().path());
    let is_sion = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.contains(".sion") && !name.ends_with(".txt")
    };
    let mut files: Vec<_> = names.filter(is_sion).collect();
    files.sort();
    assert!(files.len() >= 47, "golden files are missing: {}", files.len());
    files
}

fn found(path: &Path) -> (Summary, Vec<Finding>) {
    let mut findings = Vec::new();
    let summary = Verify::new().sion(path, &mut |finding| findings.push(finding)).unwrap();
    let count = |severity| findings.iter().filter(|finding| finding.severity == severity).count();
    assert_eq!(summary.damage, count(Severity::Damage) as u64);
    assert_eq!(summary.notes, count(Severity::Note) as u64);
    for finding in &findings {
        assert_eq!(finding.to_string().lines().count(), 1, "{finding}");
    }
    (summary, findings)
}

/// A golden set in a folder of its own, to be damaged.
struct Copy {
    dir: TempDir,
    name: &'static str,
}

impl Copy {
    fn of(name: &'static str) -> Self {
        let dir = TempDir::new().unwrap();
        for path in golden_files() {
            let file = path.file_name().unwrap().to_str().unwrap();
            if file.strip_prefix(name).is_some_and(|rest| !rest.contains("_BUDDY_")) {
                fs::copy(&path, dir.path().join(file)).unwrap();
            }
        }
        Self { dir, name }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(self.name)
    }

    fn file(&self, number: u32) -> PathBuf {
        match number {
            0 => self.path(),
            number => self.dir.path().join(format!("{}.{number:06}", self.name)),
        }
    }

    fn put(&self, number: u32, offset: u64, bytes: &[u8]) -> &Self {
        let file = fs::OpenOptions::new().write(true).open(self.file(number)).unwrap();
        file.write_all_at(bytes, offset).unwrap();
        self
    }

    fn cut(&self, number: u32, len: u64) -> &Self {
        let file = fs::OpenOptions::new().write(true).open(self.file(number)).unwrap();
        file.set_len(len).unwrap();
        self
    }

    fn found(&self) -> Vec<Finding> {
        found(&self.path()).1
    }

    /// All findings as text, with their severity and without the folder.
    fn lines(&self) -> Vec<String> {
        let folder = format!("{}/", self.dir.path().display());
        let line = |f: &Finding| format!("{}: {}", f.severity, f).replace(&folder, "");
        self.found().iter().map(line).collect()
    }
}

fn i32_le(value: i32) -> [u8; 4] {
    value.to_le_bytes()
}

fn i64_le(value: i64) -> [u8; 8] {
    value.to_le_bytes()
}

/// Fields that damage was found in.
fn damaged(findings: &[Finding]) -> Vec<FieldId> {
    let damage = findings.iter().filter(|finding| finding.severity == Severity::Damage);
    damage
        .map(|finding| match finding.what {
            FindingKind::Wrong(
                Error::TooSmall { field, .. }
                | Error::TooLarge { field, .. }
                | Error::Cut { field, .. }
                | Error::Differs { field, .. },
            ) => field,
            FindingKind::Wrong(Error::NotSion { .. }) => Ident::magic,
            FindingKind::Wrong(Error::FormatVersion { .. }) => Ident::fileformat_version,
            FindingKind::Wrong(Error::Sionlib2 { .. }) => Ident::version,
            FindingKind::Wrong(Error::NotClosed { .. }) => CommitFields::start_of_varheader,
            FindingKind::Misplaced { .. } => CommitFields::start_of_varheader,
            FindingKind::Overlap { .. } | FindingKind::UnusedSize { .. } => {
                BlocksizeEntry::blocksize
            }
            FindingKind::Record { .. } => raw::RecordHeader::len,
            FindingKind::Misled { .. } => MappingEntry::filenumber,
            ref what => panic!("no field: {what}"),
        })
        .collect()
}

/// No golden set has even a note. What might be taken for one:
/// - p01 has -1 for unused chunks, all others 0: both are written by SIONlib.
/// - Files of a set that is opened by a later file, and single files, have filenumber 0 or 1.
/// - m15 lost bytes when it was closed: its tables are consistent, nothing shows it.
/// - m11's buddy set has negative ranks and a mapping of half of its tasks: so it must be.
/// - s01 has 4 bytes behind META2, m01 none: `mapping_size` of serial writers only.
/// - s06, d01 have fsblksize 1, m07 packed chunks: the layout is the same.
/// - c05, in version 3, has a chunk size that is not rounded: its reader rounds it.
#[test]
fn what_sionlib_wrote_and_closed_is_sound_and_not_even_unusual() {
    for path in golden_files() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (summary, findings) = found(&path);
        if UNCLOSED.contains(&name) {
            continue;
        }
        assert_eq!(findings, [], "{name}");
        assert!(summary.is_sound() && summary.files >= 1 && summary.tasks >= 1, "{name}");
    }
    let set = |name: &str| {
        let Summary { files, tasks, data, part_of_set, damage, notes, .. } =
            found(&golden_dir().join(name)).0;
        assert_eq!((damage, notes, data.checked), (0, 0, 0), "{name}");
        (files, tasks, part_of_set.map(|part| (part.file, part.files)))
    };
    assert_eq!(set(M05), (3, 8, None));
    assert_eq!(set("m05_np8_3files.sion.000002"), (1, 4, Some((2, 3))));
    assert_eq!(set("m11_np4_buddy.sion_BUDDY_00"), (2, 8, None));
    assert_eq!(set("s13_100_tasks_meta1_3blocks.sion"), (1, 100, None));
}

#[test]
fn a_file_that_was_never_closed_has_that_one_finding() {
    for name in UNCLOSED {
        let (summary, findings) = found(&golden_dir().join(name));
        let [finding] = &findings[..] else { panic!("{name}: {findings:?}") };
        let offset = 1080 + 16 * summary.tasks; // start_of_varheader, behind maxchunks
        assert_eq!(finding.what, FindingKind::Wrong(Error::NotClosed { offset }), "{name}");
        assert_eq!(finding.severity, Severity::Damage, "{name}");
    }
    let copy = Copy::of(S02);
    copy.cut(0, 1124); // as it is when no task has written yet: no commit fields at all
    assert_eq!(copy.found().len(), 1);
    assert!(matches!(copy.found()[0].what, FindingKind::Wrong(Error::NotClosed { offset: 1128 })));
}

/// The damaged headers that SIONlib's tools fail on: `spec/errata.md#damaged-files`.
#[test]
fn each_damaged_field_is_named() {
    let cases: [(u64, &[u8], FieldId); 15] = [
        (0, b"SION", Ident::magic),
        (8, &i32_le(2000), Ident::version),
        (16, &i32_le(6), Ident::fileformat_version),
        (20, &i32_le(0), Meta1::fsblksize),
        (24, &i32_le(-1), Meta1::ntasks),
        (24, &i32_le(i32::MAX), GlobalrankEntry::globalrank), // the table is cut
        (28, &i32_le(0), Meta1::nfiles),
        (32, &i32_le(-1), Meta1::filenumber),
        (1108, &i64_le(-512), ChunksizeEntry::chunksize),
        (1124, &i32_le(i32::MAX), BlocksizeEntry::blocksize), // the table is cut
        (1124, &i32_le(0), CommitFields::maxchunks),
        (1128, &i64_le(1 << 60), CommitFields::start_of_varheader),
        (7680, &i64_le(1_000_000), BlockcountEntry::blockcount),
        (7704, &i64_le(-9), BlocksizeEntry::blocksize),
        (7704, &i64_le(1 << 50), BlocksizeEntry::blocksize),
    ];
    for (offset, bytes, field) in cases {
        let copy = Copy::of(S02);
        let fields = damaged(&copy.put(0, offset, bytes).found());
        assert_eq!(fields.first(), Some(&field), "{offset}: {:?}", copy.lines());
    }
}

#[test]
fn all_findings_are_reported_and_not_only_the_first() {
    let copy = Copy::of(S02);
    copy.put(0, 20, &i32_le(0)).put(0, 28, &i32_le(-7)).put(0, 44, &i64_le(5));
    copy.put(0, 1100, &i64_le(-1)).put(0, 1116, &i64_le(-2)).put(0, 7680, &i64_le(0));
    assert_eq!(
        copy.lines(),
        [
            "damage: s02_three_unequal_noncontig.sion: META1.fsblksize at offset 20 is 0, must be \
             at least 1",
            "damage: s02_three_unequal_noncontig.sion: META1.nfiles at offset 28 is -7, must be at \
             least 1",
            "note: s02_three_unequal_noncontig.sion: META1.flag2 at offset 44 is 5, usually 0",
            "damage: s02_three_unequal_noncontig.sion: META1.chunksize at offset 1100 is -1, must \
             be at least 0",
            "damage: s02_three_unequal_noncontig.sion: META1.chunksize at offset 1116 is -2, must \
             be at least 0",
            "damage: s02_three_unequal_noncontig.sion: META2.blockcount at offset 7680 is 0, must \
             be at least 1",
        ]
    );
}

#[test]
fn unusual_values_that_no_reader_minds_are_notes() {
    let copy = Copy::of(S02);
    copy.put(0, 4, &[0, 0, 1, 0]).put(0, 8, &i32_le(999)).put(0, 32, &i32_le(2));
    copy.put(0, 36, &i64_le((52 << 32) | 7)).put(0, 200, b"x").put(0, 1076, &i64_le(42));
    copy.put(0, 7776, &i32_le(-1)).put(0, 7780, b"tail");
    let name = "note: s02_three_unequal_noncontig.sion: ";
    let lines: Vec<_> =
        copy.lines().iter().map(|line| line.strip_prefix(name).unwrap().to_owned()).collect();
    assert_eq!(
        lines,
        [
            "META1.endianness at offset 4 is [00, 00, 01, 00], usually [00, 00, 00, 00]",
            "META1.version at offset 8 is 999, usually 1000 to 1999",
            "META1.filenumber at offset 32 is 2, usually 0 or 1 in the only file of a set",
            "META1.flag1 at offset 36 is 223338299399, usually a multiple of 2^32",
            "META1.flag1 at offset 36 is 52 times 2^32, a mode that was never implemented, usually \
             50 or 51 times 2^32",
            "META1.filenameprefix at offset 200 is 0x78 behind its NUL, usually 0",
            "mapping.mapping_size at offset 7776 is -1, usually 0 in a file that was written \
             serially",
            "4 bytes at offset 7780 are after all that is read, usually 0",
            "META1.globalrank of 2 tasks is 42, usually that of one",
        ]
    );
    let copy = Copy::of(S02);
    copy.put(0, 52, &[b'n'; 1024]);
    assert!(copy.lines()[0].contains("is 1024 bytes without a NUL"), "{:?}", copy.lines());
}

#[test]
fn bytes_of_data_that_are_also_bytes_of_the_tables_are_damage() {
    // META2 moved to 7300: inside block 2, over bytes 700 to 740 of the 1024 of task 2's chunk.
    let copy = Copy::of(S02);
    let meta2 = fs::read(copy.path()).unwrap()[7680..].to_vec();
    copy.put(0, 7300, &meta2).put(0, 1128, &i64_le(7300)).cut(0, 7400);
    let damage = damaged(&copy.found());
    assert_eq!(damage, [CommitFields::start_of_varheader, BlocksizeEntry::blocksize]);
    let used = FindingKind::Overlap {
        offset: 7300 + 24 + 8 * 8,
        task: 2,
        chunk: 2,
        used: striae_core::span::Span::new(6656, 700).unwrap(),
        tables: striae_core::span::Span::new(7300, 100).unwrap(),
    };
    assert!(copy.found().iter().any(|finding| finding.what == used), "{:?}", copy.lines());
}

#[test]
fn a_missing_file_of_a_set_is_a_finding_and_the_rest_is_checked() {
    let copy = Copy::of(M05);
    fs::remove_file(copy.file(1)).unwrap();
    copy.put(2, 1076 + 64 + 4, &i64_le(0));
    let lines = copy.lines();
    assert_eq!(lines[0], "damage: m05_np8_3files.sion.000001: file 1 of the set is missing");
    let second = "damage: m05_np8_3files.sion.000002: META1.start_of_varheader at offset 1144";
    assert!(lines[1].starts_with(second), "{lines:?}");
    assert_eq!(lines.len(), 2, "{lines:?}");

    // The number of files may be a claim: nobody looks for each of them.
    let copy = Copy::of(M05);
    for number in 0..3 {
        copy.put(number, 28, &i32_le(i32::MAX));
    }
    let expected =
        "damage: m05_np8_3files.sion.000003: files 3 to 2147483646 of the set are missing";
    assert_eq!(copy.lines(), [expected]);
}

#[test]
fn a_cut_file_of_a_set_is_named() {
    let copy = Copy::of(M05);
    copy.cut(1, 3600); // 32 bytes of META2 are left of 48
    let (summary, findings) = found(&copy.path());
    assert_eq!((summary.files, summary.tasks), (3, 8));
    assert_eq!(damaged(&findings), [BlocksizeEntry::blocksize]);
    assert_eq!(*findings[0].file, *copy.file(1));
}

#[test]
fn swapped_files_of_a_set_are_found_out() {
    let copy = Copy::of(M05);
    let aside = copy.dir.path().join("aside");
    fs::rename(copy.file(1), &aside).unwrap();
    fs::rename(copy.file(2), copy.file(1)).unwrap();
    fs::rename(&aside, copy.file(2)).unwrap();
    let findings = copy.found();
    let fields = damaged(&findings);
    assert_eq!(fields.iter().filter(|field| **field == Meta1::filenumber).count(), 2);
    // The mapping leads ranks 2 and 3 to tasks of ranks 4 and 5, and 4 to 7 astray.
    assert!(fields.contains(&MappingEntry::filenumber), "{:?}", copy.lines());

    let later = found(&copy.file(1)).1;
    let [alone] = &later[..] else { panic!("{later:?}") };
    assert!(
        alone.to_string().ends_with("META1.filenumber at offset 32 is 2, usually 1 by its name")
    );
}

#[test]
fn files_of_a_set_that_do_not_agree_are_damaged_or_unusual() {
    let copy = Copy::of(M05);
    copy.put(1, 28, &i32_le(4)).put(2, 36, &i64_le(51 << 32));
    let fields = damaged(&copy.found());
    let of_records = raw::RecordHeader::len; // what the streams do not have
    let own: Vec<_> = fields.into_iter().filter(|field| *field != of_records).collect();
    assert_eq!(own, [Meta1::nfiles, Meta1::flag1]);

    let copy = Copy::of(M05);
    copy.put(1, 52, b"other").put(1, 4, &[0, 1, 1, 0]);
    let name = "note: m05_np8_3files.sion.000001: META1.";
    let prefix =
        "filenameprefix at offset 52 is \"otherp8_3files.sion\", usually \"m05_np8_3files.sion\"";
    assert_eq!(
        copy.lines(),
        [
            format!(
                "{name}endianness at offset 4 is little-endian with big-endian data, usually \
                 little-endian with little-endian data as in the first file"
            ),
            format!("{name}{prefix} as in the first file"),
        ]
    );
}

#[test]
fn a_damaged_first_file_does_not_cast_doubt_on_the_others() {
    let copy = Copy::of(M05);
    assert_eq!(damaged(&copy.put(0, 20, &i32_le(0)).found()), [Meta1::fsblksize]);
    assert_eq!(found(&copy.path()).0.files, 3);
    let copy = Copy::of(M05);
    assert_eq!(damaged(&copy.put(0, 0, b"x").found()), [Ident::magic]);
    let copy = Copy::of(M05);
    assert_eq!(damaged(&copy.put(2, 20, &i32_le(-1)).found()), [Meta1::fsblksize]);
    assert_eq!(copy.found().len(), 1, "{:?}", copy.lines());
}

/// Version 2 of s02, as `spec/sion.md#meta1-of-fileformat_version-2` says to make it.
#[test]
fn a_file_of_version_2_is_sound_too() {
    let copy = Copy::of(S02);
    let mut bytes = fs::read(copy.path()).unwrap();
    bytes.drain(32..52);
    bytes.splice(1116..1116, [0; 20]);
    copy.put(0, 0, &bytes).put(0, 16, &i32_le(2));
    assert_eq!(copy.lines(), [""; 0]);
    let mut names = Vec::new();
    let collect = &mut |line| {
        if let Line::Field { name, offset, .. } = line {
            names.push(format!("{offset} {name}"));
        }
        Ok(())
    };
    dump(&copy.path(), collect).unwrap();
    assert_eq!(names[8..10], ["32 META1.filenameprefix", "1056 META1.globalrank[0]"]);
    assert_eq!(names.len(), 20 - 3 + 12 + 1);
}

/// In m05, `mapping_size` is at 3632 and entry g at 3636 + 8 g.
#[test]
fn a_mapping_entry_that_leads_elsewhere_is_damage() {
    let entry = |g: u64| 3636 + 8 * g;
    let copy = Copy::of(M05);
    copy.put(0, entry(2), &i32_le(0)).put(0, entry(3), &i32_le(3));
    copy.put(0, entry(4) + 4, &i32_le(4)).put(0, entry(5), &i32_le(-1));
    let lines = copy.lines();
    assert_eq!(
        lines,
        [
            "mapping.filenumber at offset 3652 is 0 and lrank is 0: that task has globalrank 0, \
             not 2",
            "mapping.filenumber at offset 3660 is 3, must be at most 2",
            "mapping.lrank at offset 3672 is 4, must be at most 3",
            "mapping.filenumber at offset 3676 is -1, must be at least 0",
        ]
        .map(|line| format!("damage: m05_np8_3files.sion: {line}"))
    );
    let sizes: [(i32, Severity); 3] =
        [(-1, Severity::Damage), (9, Severity::Damage), (7, Severity::Note)];
    for (size, severity) in sizes {
        let copy = Copy::of(M05);
        let findings = copy.put(0, 3632, &i32_le(size)).found();
        let worst = findings.iter().map(|finding| finding.severity).max();
        assert_eq!(worst, Some(severity), "{size}: {:?}", copy.lines());
    }
    // A mapping of more entries than tasks, all of which are in the file; no task has rank 8.
    let copy = Copy::of(M05);
    copy.put(0, 3632, &i32_le(9)).put(0, entry(8), &[0; 8]);
    assert_eq!(damaged(&copy.found()), [MappingSize::mapping_size]);
}

/// The mapping that a mapped writer stores into a single file is one; anything else there is not.
#[test]
fn a_single_file_may_have_a_mapping_that_nobody_reads() {
    let m02 = "m02_np2.sion"; // 4672 bytes, nothing behind META2
    let entries = |entries: [i32; 5]| entries.map(i32::to_le_bytes).concat();
    let copy = Copy::of(m02);
    copy.put(0, 4672, &entries([2, 0, 0, 0, 1]));
    assert_eq!(copy.lines(), [""; 0]);
    for other in [[2, 0, 0, 0, 2], [2, 1, 0, 0, 1], [1, 0, 0, 0, 1], [0, 0, 0, 0, 0]] {
        let copy = Copy::of(m02);
        copy.put(0, 4672, &entries(other));
        let findings = copy.found();
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].what, FindingKind::Trailing { offset: 4672, len: 20 });
    }
}

#[test]
fn a_stream_that_is_not_whole_records_is_damage() {
    // s16: task 0 starts at 1536 with records (1, 10), (2, 20), (1, 5).
    let copy = Copy::of("s16_keyval_simple.sion");
    copy.put(0, 1536 + 26 + 8, &i64_le(1 << 40));
    let findings = copy.found();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!(finding.severity, Severity::Damage);
    let FindingKind::Record { offset, task, error } = finding.what else { panic!("{finding}") };
    assert_eq!((offset, task), (1562, 0));
    assert!(matches!(error, Error::RecordCut { position: 26, .. }), "{error}");

    // One byte less of the last chunk of each task cuts its last record.
    let copy = Copy::of("s17_keyval_straddle.sion");
    let bytes = fs::read(copy.path()).unwrap();
    let size = |at: u64| {
        let at = usize::try_from(at).unwrap();
        i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
    };
    for task in 0..2u64 {
        let copy = Copy::of("s17_keyval_straddle.sion");
        let last = u64::try_from(size(8704 + 8 * task)).unwrap() - 1;
        let at = 8704 + 16 + 16 * last + 8 * task;
        copy.put(0, at, &i64_le(size(at) - 1));
        assert_eq!(damaged(&copy.found()), [raw::RecordHeader::len], "{:?}", copy.lines());
    }
}

#[test]
fn only_the_named_file_may_fail_to_open() {
    let dir = TempDir::new().unwrap();
    assert!(Verify::new().sion(dir.path().join("none.sion"), &mut |_| panic!()).is_err());
    assert!(Verify::new().sion(dir.path(), &mut |_| panic!()).is_err());
    let copy = Copy::of(M05);
    fs::remove_file(copy.file(2)).unwrap();
    fs::create_dir(copy.file(2)).unwrap();
    let findings = copy.found();
    let [finding] = &findings[..] else { panic!("{findings:?}") };
    assert!(matches!(finding.what, FindingKind::Unreadable { .. }), "{finding}");
    assert_eq!(*finding.file, *copy.file(2));
}
