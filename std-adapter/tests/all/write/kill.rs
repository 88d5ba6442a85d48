//! A process that is killed at any moment while its threads write and commit.
//!
//! The child says how far each task surely is: bytes whose write had returned before a commit was
//! called that then succeeded.

use super::buddies::copies;
use super::{
    Random, argument, assert_sound, byte, child, is_unclosed, payload, payload_from, streams,
};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use striae::Verify;
use striae::finding::Severity;
use striae::sion::{Builder, Durability, File, FileWriter, Reopen, TaskWriter, buddy_path};
use striae_kit::adapter::killed::{Moment, Said, kill, tell};

const TASKS: u64 = 8;
const KILLS: u64 = 200;
/// Bytes that each task writes if nobody kills it.
const LEN: usize = 30_000;

/// How a set is written.
#[derive(Debug, Clone, Copy)]
struct Variant {
    nfiles: u32,
    sealed: bool,
    chunksize: u64,
    buffer: usize,
    durability: Durability,
    buddies: u32,
}

const fn variant(nfiles: u32, sealed: bool, chunksize: u64, buffer: usize) -> Variant {
    Variant { nfiles, sealed, chunksize, buffer, durability: Durability::None, buddies: 0 }
}

const VARIANTS: [Variant; 10] = [
    variant(1, false, 256, 0), // many chunks: META2 moves again and again
    variant(1, true, 512, 1000),
    variant(3, false, 1000, 100),
    variant(3, true, 256, 1 << 16),
    variant(1, true, 1 << 20, 3000), // all in one chunk
    Variant { durability: Durability::OnCommit, ..variant(1, true, 1000, 500) },
    Variant { durability: Durability::OnCommit, ..variant(3, false, 4000, 1 << 16) },
    Variant { durability: Durability::EveryRecord, ..variant(3, true, 700, 5000) },
    Variant { buddies: 2, ..variant(3, true, 500, 300) },
    Variant { buddies: 1, durability: Durability::EveryRecord, ..variant(3, false, 700, 500) },
];

impl Variant {
    fn builder(&self) -> Builder {
        let builder = Builder::new(TASKS).nfiles(self.nfiles).sealed(self.sealed).fsblksize(64);
        let builder = builder.chunksize(self.chunksize).buffer(self.buffer).buddies(self.buddies);
        builder.durability(self.durability).force(true)
    }
}

/// What the child does, and what is there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// It makes a set.
    Create,
    /// It makes a set over a longer one.
    Overwrite,
    /// It goes on with a closed one.
    Reopen,
}

/// Bytes of each task of a set that is gone on with.
const BEGUN: usize = 3000;
/// Bytes of its chunks.
const CHUNKSIZE: u64 = 320;

#[test]
#[ignore = "the process that the other test kills"]
fn process() {
    let Some(argument) = argument() else { return };
    let mut words = argument.splitn(3, ' ');
    let seed: u64 = words.next().unwrap().parse().unwrap();
    let begun: usize = words.next().unwrap().parse().unwrap();
    let path = words.next().unwrap();
    let mut variant = VARIANTS[seed as usize % VARIANTS.len()];
    if begun > 0 {
        variant.chunksize = CHUNKSIZE;
    }
    tell('s', &[]);
    let reopen = Reopen::new().buffer(variant.buffer).durability(variant.durability);
    let file = if begun > 0 { reopen.open(path) } else { variant.builder().create(path) };
    let mut file = file.unwrap();
    tell('c', &[]);
    let accepted = [(); TASKS as usize].map(|()| AtomicU64::new(begun as u64));
    std::thread::scope(|scope| {
        for task in 0..TASKS {
            let (writer, file, accepted) = (file.task(task).unwrap(), &file, &accepted);
            let random = Random(seed * 1000 + task);
            scope.spawn(move || write_all(variant, file, writer, random, accepted));
        }
    });
    tell('x', &[]);
    file.close().unwrap();
    tell('z', &[LEN as u64; TASKS as usize]);
}

fn write_all(
    variant: Variant,
    file: &FileWriter,
    mut writer: TaskWriter,
    mut random: Random,
    accepted: &[AtomicU64],
) {
    let own = writer.task() as usize;
    let all = |accepted: &[AtomicU64]| -> Vec<u64> {
        accepted.iter().map(|bytes| bytes.load(Ordering::SeqCst)).collect()
    };
    let each = variant.durability == Durability::EveryRecord;
    let mut at = accepted[own].load(Ordering::SeqCst) as usize;
    while at < LEN {
        let len = (1 + random.index(if each { 4000 } else { 1200 })).min(LEN - at);
        let bytes = payload_from(own as u64, at, len);
        if len as u64 <= variant.chunksize && random.below(2) == 0 {
            writer.write_record(&bytes).unwrap();
        } else {
            writer.write_all(&bytes).unwrap();
        }
        at += len;
        accepted[own].store(at as u64, Ordering::SeqCst);
        if each {
            tell('@', &all(accepted));
        } else if random.below(12) == 0 {
            let counts = all(accepted);
            file.commit().unwrap();
            tell('@', &counts);
        }
    }
}

/// What was found after the kills.
#[derive(Debug, Default)]
struct Figures {
    kills: u64,
    not_killed: u64,
    /// Of children that made a set, or overwrote, or went on with one.
    starts: [u64; 3],
    commits: u64,
    bytes_checked: usize,
    bytes_behind_reports: usize,
    old: u64,
    not_created: u64,
    unclosed: u64,
    committed: u64,
    closed: u64,
    between: u64,
}

#[test]
fn what_was_committed_is_there_after_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let olds = Olds::new(folder.path());
    let mut figures = Figures::default();
    let mut seed = 0;
    while figures.kills < KILLS {
        assert!(seed < 2 * KILLS, "most children end before they are killed: {figures:?}");
        round(seed, folder.path(), &olds, &mut figures);
        seed += 1;
    }
    println!("{figures:#?}");
    assert!(figures.commits > KILLS && figures.committed > KILLS / 2, "{figures:?}");
    assert!(figures.old > 0 && figures.unclosed > 0, "{figures:?}");
}

/// Sets that are there before.
struct Olds {
    /// With other bytes, and longer.
    longer: [PathBuf; 2],
    /// With the first [`BEGUN`] bytes, unsealed and sealed.
    begun: [[PathBuf; 2]; 2],
}

impl Olds {
    fn new(folder: &Path) -> Self {
        let set = |name: &str, nfiles, sealed, payload: &dyn Fn(u64) -> Vec<u8>| {
            let path = folder.join(format!("{name}{nfiles}{sealed}"));
            let builder = Builder::new(TASKS).nfiles(nfiles).fsblksize(64).chunksize(CHUNKSIZE);
            let builder = builder.sealed(sealed).durability(Durability::None);
            let mut file = builder.create(&path).unwrap();
            for task in 0..TASKS {
                file.task(task).unwrap().write_all(&payload(task)).unwrap();
            }
            file.close().unwrap();
            path
        };
        let longer = |nfiles| set("old", nfiles, true, &|task| payload(100 + task, 90_000));
        let begun = |nfiles, sealed| set("begun", nfiles, sealed, &|task| payload(task, BEGUN));
        Self {
            longer: [1, 3].map(longer),
            begun: [1, 3].map(|nfiles| [false, true].map(|sealed| begun(nfiles, sealed))),
        }
    }

    fn of(&self, start: Start, variant: Variant) -> Option<&Path> {
        let files = usize::from(variant.nfiles == 3);
        match start {
            Start::Create => None,
            Start::Overwrite => Some(&self.longer[files]),
            Start::Reopen => Some(&self.begun[files][usize::from(variant.sealed)]),
        }
    }
}

fn copy_set(from: &Path, to: &Path) {
    for number in ["", ".000001", ".000002"] {
        let name = |path: &Path| PathBuf::from(format!("{}{number}", path.display()));
        if name(from).exists() {
            std::fs::copy(name(from), name(to)).unwrap();
        }
    }
}

fn round(seed: u64, folder: &Path, olds: &Olds, figures: &mut Figures) {
    let path = folder.join(format!("{seed}.sion"));
    let variant = VARIANTS[seed as usize % VARIANTS.len()];
    let mut random = Random(seed);
    let start = match random.below(8) {
        0 | 1 => Start::Overwrite,
        2 | 3 => Start::Reopen,
        _ => Start::Create,
    };
    figures.starts[start as usize] += 1;
    if let Some(old) = olds.of(start, variant) {
        copy_set(old, &path);
    }
    let begun = if start == Start::Reopen { BEGUN } else { 0 };
    let argument = format!("{seed} {begun} {}", path.display());
    let (message, count, micros) = match random.below(10) {
        0 | 1 => ('s', 1, 1500),
        2 => ('c', 1, 1000),
        3 | 4 => ('x', 1, 800),
        _ => ('@', 1 + random.below(20), 3000),
    };
    let process = child("write::kill::process", &argument);
    let (moment, mut said) = (Moment { message, count, micros }, Said::default());
    if start == Start::Reopen {
        said.counts = vec![BEGUN as u64; TASKS as usize];
    }
    match kill(process, &moment, &mut random, &mut said) {
        true => figures.kills += 1,
        false => figures.not_killed += 1,
    }
    figures.commits += said.commits;
    check(&path, variant, &said, start, figures);
    for number in ["", ".000001", ".000002"] {
        for set in ["", "_BUDDY_00", "_BUDDY_01"] {
            let _ = std::fs::remove_file(format!("{}{set}{number}", path.display()));
        }
    }
}

fn check(path: &Path, variant: Variant, said: &Said, start: Start, figures: &mut Figures) {
    let Ok(file) = File::open(path) else {
        assert!(said.counts.is_empty(), "{}: {said:?}", path.display());
        assert!(FileWriter::reopen(path).is_err());
        let unclosed = is_unclosed(path);
        assert!(unclosed || !said.created, "{}: {said:?}", path.display());
        figures.unclosed += u64::from(unclosed);
        figures.not_created += u64::from(!unclosed);
        return;
    };
    drop(file);
    let mut found = streams(path);
    if start == Start::Overwrite && !said.created && found[0].first() == Some(&byte(100, 0)) {
        let is_old = |(bytes, task): (&Vec<u8>, u64)| *bytes == payload(100 + task, 90_000);
        assert!(found.iter().zip(0..).all(is_old), "{}: partly old", path.display());
        figures.old += 1;
        return;
    }
    let (mut sum, mut reported) = (0, 0);
    for ((task, bytes), least) in found.iter().enumerate().zip(said.counts.iter().chain(&[0; 8])) {
        assert!(bytes.len() as u64 >= *least, "{}: task {task} of {said:?}", path.display());
        assert!(*bytes == payload(task as u64, bytes.len()), "{}: task {task}", path.display());
        (sum, reported) = (sum + bytes.len(), reported + *least as usize);
    }
    if is_between_commits(path) {
        assert!(variant.sealed && variant.nfiles > 1, "{}", path.display());
        figures.between += 1;
        FileWriter::reopen(path).unwrap().close().unwrap(); // ends the commit first
        let before = std::mem::replace(&mut found, streams(path));
        for ((task, bytes), before) in found.iter().enumerate().zip(before) {
            assert!(bytes.starts_with(&before), "{}: task {task}", path.display());
            assert!(*bytes == payload(task as u64, bytes.len()), "{}: task {task}", path.display());
        }
    }
    figures.bytes_checked += sum;
    figures.bytes_behind_reports += sum - reported;
    figures.closed += u64::from(said.closed);
    figures.committed += u64::from(!said.closed);
    assert_sound(path, variant.sealed);
    go_on(path, variant, &found);
}

/// Whether the process was killed while the files of a sealed set showed a commit, one after the
/// other (`spec/sion.md#set-commits`): some show it, and some the one before.
fn is_between_commits(path: &Path) -> bool {
    let mut kinds = Vec::new();
    let verified = Verify::new().sion(path, &mut |finding| {
        if finding.severity == Severity::Damage {
            kinds.push(finding.facts().kind);
        }
    });
    verified.unwrap();
    !kinds.is_empty() && kinds.iter().all(|kind| *kind == "set_commit")
}

/// Another process would write on.
fn go_on(path: &Path, variant: Variant, found: &[Vec<u8>]) {
    let has_buddies = variant.buddies > 0 && buddy_path(path, 0).exists();
    let mut file = FileWriter::reopen(path).unwrap();
    if has_buddies {
        assert!(copies(path, 0) == *found, "{}", path.display());
    }
    for (task, bytes) in (0..).zip(found) {
        let mut writer = file.task(task).unwrap();
        writer.write_all(&payload_from(task, bytes.len(), 1500)).unwrap();
    }
    file.close().unwrap();
    for ((task, bytes), old) in streams(path).iter().enumerate().zip(found) {
        assert!(*bytes == payload(task as u64, old.len() + 1500), "{}: {task}", path.display());
    }
    assert_sound(path, variant.sealed);
    if has_buddies {
        assert!(copies(path, 0) == streams(path), "{}", path.display());
        assert_sound(&buddy_path(path, 0), variant.sealed);
    }
}
