//! The bodies of `sion_verify`, `sion_recover` and `ffrecord_verify`: what is found and saved of
//! any bytes is so to those who read them.

use crate::bounded::Bounded;
use crate::converting::has_right_seal;
use crate::mapping::{check_dump, check_map};
use crate::split_set;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use striae_core::ffrecord;
use striae_core::integrity::{crc32, crc32c};
use striae_core::sion::recover::{Certainty, Doubt, Proof, Recovered, Sparse};
use striae_core::sion::{Error, Meta1, Opened, Physical, Reader};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_inspect::ffrecord as inspect_ffrecord;
use striae_inspect::finding::{Found, Severity};
use striae_inspect::sion::recover::{Recovery, copy};
use striae_inspect::sion::{Files, FindingKind, verify};
use striae_kit::everything::{Counted, Summary, TaskSummary, read_within_budget};

/// A set in memory. Whoever reads too much of a file is stopped.
struct Set<'s>(&'s [Counted<'s>]);

impl<'s> Files for Set<'s> {
    type Subject = &'s Counted<'s>;

    fn open(&self, number: u32) -> Result<Self::Subject, Infallible> {
        Ok(&self.0[usize::try_from(number).unwrap()])
    }

    fn there(&self) -> Result<BTreeSet<u32>, Infallible> {
        Ok((0..u32::try_from(self.0.len()).unwrap()).collect())
    }
}

/// Whether a finding says what findings say; returns whether it is damage.
fn is_damage(what: &impl Found) -> bool {
    let (text, facts) = (what.to_string(), what.facts());
    assert!(!text.is_empty() && !text.contains('\n') && !text.contains("a field"), "{text:?}");
    assert!(!facts.kind.is_empty() && facts.kind != "wrong", "{text}");
    what.severity() == Severity::Damage
}

/// The input is a set, as that of `sion_set`.
pub fn sion_verify(data: &[u8]) {
    let Some(files) = split_set(data) else { return };
    for file in &files {
        check_map(striae_inspect::sion::map(file));
        check_dump(file, |each| striae_inspect::sion::dump(file, each).is_ok());
    }
    let counted: Vec<_> = files.iter().map(|file| Counted::new(file)).collect();
    let (mut damage, mut notes) = (0, 0);
    let summary = verify(&Set(&counted), &mut |file, what| {
        assert!(usize::try_from(file).unwrap() < files.len() || is_missing(&what));
        *if is_damage(&what) { &mut damage } else { &mut notes } += 1;
    });
    let Ok(summary) = summary;
    assert_eq!((summary.damage, summary.notes), (damage, notes));
    assert!(summary.data.checked <= summary.data.bytes);
    if !summary.is_sound() {
        return;
    }
    let checked = usize::try_from(summary.files).unwrap();
    let open = |file| match Physical::open(file, &mut [0; Meta1::MAX_LEN]) {
        Ok(Opened::Closed(file)) => file,
        other => panic!("sound, and not readable: {other:?}"),
    };
    let physical: Vec<_> = files[..checked].iter().map(|file| open(*file)).collect();
    if checked > 1 {
        Reader::of_set(physical).unwrap();
    }
    let mut tasks = Vec::new();
    for file in &files[..checked] {
        let read = read_within_budget(file).unwrap();
        assert!(read.mapping.is_ok());
        tasks.extend(read.tasks.unwrap().into_iter().map(Result::unwrap));
    }
    let bytes: u64 = tasks.iter().map(|task| task.listed.bytes).sum();
    assert_eq!(summary.tasks, u64::try_from(tasks.len()).unwrap());
    assert_eq!(summary.data.bytes, bytes);
    assert!(
        tasks.iter().all(|task| task.records.as_ref().is_none_or(|(_, error)| error.is_none()))
    );
    if files[..checked].iter().all(|file| has_right_seal(file) == Some(true)) {
        assert_eq!(summary.data.checked, bytes);
    }
}

const fn is_missing(what: &FindingKind) -> bool {
    matches!(what, FindingKind::Missing { .. })
}

/// The tasks of a file in memory, if all can be read.
fn tasks_of(summary: Summary) -> Option<Vec<TaskSummary>> {
    summary.tasks.ok()?.into_iter().collect::<Result<_, Error>>().ok()
}

/// A file in memory that counts what is read of it.
struct Metered<'a> {
    bytes: &'a [u8],
    reads: Cell<u64>,
    moved: Cell<u64>,
}

impl ReadAt for Metered<'_> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        let n = self.bytes.read_at(offset, buf).unwrap();
        self.reads.set(self.reads.get() + 1);
        self.moved.set(self.moved.get() + u64::try_from(n).unwrap());
        Ok(n)
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(u64::try_from(self.bytes.len()).unwrap())
    }
}

impl Sparse for Metered<'_> {}

/// What can be recovered of a file that is taken alone.
fn examined(data: &[u8]) -> Option<Recovery> {
    let store = Metered { bytes: data, reads: Cell::new(0), moved: Cell::new(0) };
    let recovery = Recovery::of(&store, crc32c).ok().and_then(|mut recovery| {
        recovery.examine(0, &store).ok()?;
        Some(recovery)
    });
    // A few reads for each entry; all of the file for each place where META2 may be.
    let (len, spent) = (u64::try_from(data.len()).unwrap(), (store.reads.get(), store.moved.get()));
    assert!(spent.0 <= (1 << 16) + 64 * len, "{spent:?} for {len} bytes");
    assert!(spent.1 <= (1 << 20) + 1024 * len, "{spent:?} for {len} bytes");
    let recovery = recovery?;
    let sound = recovery.tasks().all(|task| task.recovered.certainty.is_sound());
    assert_eq!(recovery.is_sound(), sound);
    Some(recovery)
}

/// The new file, which is not larger than the old one justifies.
fn written(recovery: &Recovery, data: &[u8]) -> Vec<u8> {
    let demand = recovery.demand();
    assert!(demand.is_fair(), "{demand:?}");
    assert_eq!(demand.existing, u64::try_from(data.len()).unwrap());
    let work = 16 * demand.size + (1 << 16);
    let limit = usize::try_from(demand.size).unwrap();
    let mut to = Bounded::new(&[], limit).work(work, 8 * work);
    let copy = &mut |to: &mut Bounded, span, at, _| copy(&data, to, span, at);
    let done = recovery.write((0, &recovery.mapping()), &data, &mut to, crc32c, copy);
    done.expect("what was examined can be written");
    to.bytes
}

/// The input is a physical SIONlib file.
pub fn sion_recover(data: &[u8]) {
    let Some(recovery) = examined(data) else { return };
    let new = written(&recovery, data);
    let old = read_within_budget(data).ok().filter(|summary| summary.closed).and_then(tasks_of);
    let tasks = tasks_of(read_within_budget(&new).unwrap()).expect("what was written is readable");
    // Where META2 was changed, what else there is may prove another stream.
    let is_stream = |certainty| match certainty {
        Certainty::AsFound(Proof::Meta2 | Proof::SealedMeta2) => true,
        _ => has_right_seal(data) == Some(true),
    };
    let said: Vec<_> = recovery.tasks().collect();
    assert_eq!(said.len(), tasks.len());
    let is_anew = recovery.is_placed_anew(0);
    for (number, (said, task)) in said.iter().zip(&tasks).enumerate() {
        assert_eq!(said.globalrank, task.listed.task.globalrank);
        assert_eq!(said.recovered.bytes, task.listed.bytes);
        let blockcount = if is_anew { 1 } else { said.recovered.blockcount };
        assert_eq!(blockcount, task.listed.task.blockcount);
        let certainty = said.recovered.certainty;
        match &old {
            Some(old) if certainty.is_sound() && is_stream(certainty) => {
                assert_eq!(task.stream, old[number].stream, "{certainty}");
            }
            _ => {}
        }
        assert!(task.records.as_ref().is_none_or(|(_, error)| error.is_none()), "{certainty}");
    }
    if !is_anew {
        same_places(data, &new);
    }
    let each = &mut |_, what: FindingKind| assert!(!is_damage(&what), "{what}");
    let Ok(_) = verify(&Set(&[Counted::new(&new)]), each);
    recover_again(&recovery, &new);
}

/// All streams of the new file have the bytes that stand in the old one at their places.
fn same_places(data: &[u8], new: &[u8]) {
    let Ok(Opened::Closed(file)) = Physical::open(new, &mut [0; Meta1::MAX_LEN]) else {
        panic!("what was recovered is not closed")
    };
    for listed in file.tasks([0; 4096]).unwrap() {
        let mut stream = file.stream(listed.unwrap().task);
        while let Some(span) = stream.next_span(u64::MAX).unwrap() {
            let [start, end] = [span.offset(), span.end()].map(|at| usize::try_from(at).unwrap());
            assert_eq!(Some(&new[start..end]), data.get(start..end));
        }
    }
}

/// What was recovered is recovered as it is.
fn recover_again(first: &Recovery, new: &[u8]) {
    let again = examined(new).expect("what was written has META1");
    let mut is_same = true;
    for (first, again) in first.tasks().zip(again.tasks()) {
        let (first, again) = (first.recovered, again.recovered);
        let len = |task: Recovered| task.bytes;
        assert_eq!(len(first), len(again), "{}, then {}", first.certainty, again.certainty);
        let stays_sound = again.certainty.is_sound() || !first.certainty.is_sound();
        assert!(stays_sound, "{}, then {}", first.certainty, again.certainty);
        // A doubt that no seal takes away.
        is_same &= again.certainty != Certainty::Guess(Doubt::NotAsSealed);
    }
    assert!(!again.is_placed_anew(0));
    if is_same {
        assert_eq!(written(&again, new), new);
    }
}

/// The input is an ffrecord file. It is taken as it is, and with the right checksum of its tables.
pub fn ffrecord_verify(data: &[u8]) {
    verify_ffrecord(data);
    check_map(inspect_ffrecord::map(&data));
    check_dump(data, |each| inspect_ffrecord::dump(&data, each).is_ok());
    let n = data.get(4..12).map(|n| i64::from_le_bytes(n.try_into().unwrap()));
    let tables = n.and_then(|n| usize::try_from(n).ok()?.checked_mul(12)?.checked_add(12));
    if let Some(tables) = tables.and_then(|end| data.get(4..end)) {
        let mut summed = data.to_vec();
        summed[..4].copy_from_slice(&crc32(0, tables).to_le_bytes());
        verify_ffrecord(&summed);
    }
}

fn verify_ffrecord(data: &[u8]) {
    use inspect_ffrecord::FindingKind::Shared;
    let (mut damage, mut notes, mut is_shared) = (0, 0, false);
    let Ok(summary) = inspect_ffrecord::verify(&Counted::new(data), &mut |what| {
        is_shared |= matches!(what, Shared { .. });
        *if is_damage(&what) { &mut damage } else { &mut notes } += 1;
    });
    assert_eq!((summary.damage, summary.notes), (damage, notes));
    assert!(summary.data.checked <= summary.data.bytes);
    if is_shared {
        return; // all may be readable: what is damaged is the time that it takes
    }
    let read = read_samples(data);
    // Without a sample, bytes after the header belong to none.
    let is_unfinished = summary.samples == 0 && data.len() > 12;
    assert_eq!(summary.is_sound(), read.is_ok() && !is_unfinished, "{read:?}");
    if let Ok(bytes) = read {
        assert_eq!((summary.data.bytes, summary.data.checked), (bytes, bytes));
        assert_eq!(summary.checked, summary.samples);
    }
}

/// Bytes of all samples, if all of them can be read and are right.
fn read_samples(data: &[u8]) -> Result<u64, DriveError<impl std::fmt::Debug, ffrecord::Error>> {
    let reader = ffrecord::Reader::open(data, &mut [0; 16])?;
    reader.check_meta(&mut [0; 64], crc32)?;
    let mut bytes = 0;
    for sample in reader.samples(0..reader.n(), [0; 64]) {
        let sample = sample?;
        reader.check(&sample, &mut [0; 4096], crc32)?;
        bytes += sample.span.len();
    }
    Ok(bytes)
}
