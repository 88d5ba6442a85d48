//! The bodies of `sion_verify`, `sion_recover` and `ffrecord_verify`: what is found and saved of
//! any bytes is so to those who read them.

use crate::bounded::{Bounded, Full};
use crate::converting::has_right_seal;
use crate::mapping::check_maps;
use crate::split_set;
use std::collections::BTreeSet;
use std::convert::Infallible;
use striae_core::ffrecord;
use striae_core::integrity::{crc32, crc32c};
use striae_core::sion::recover::{Certainty, Doubt, Proof, Recovered};
use striae_core::sion::{Error, Meta1, Opened, Physical, Reader};
use striae_core::step::DriveError;
use striae_inspect::ffrecord as inspect_ffrecord;
use striae_inspect::finding::{Found, Severity};
use striae_inspect::sion::recover::{Recovery, Unwritten, copy};
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
    files.iter().for_each(|file| check_maps(file));
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

/// What can be recovered of a file that is taken alone.
fn examined(data: &[u8]) -> Option<Recovery> {
    let mut recovery = Recovery::of(&data, crc32c).ok()?;
    recovery.examine(0, &data).ok()?;
    let exact = recovery.tasks().all(|task| task.recovered.certainty.is_exact());
    assert_eq!(recovery.is_exact(), exact);
    Some(recovery)
}

/// The new file; `None` if it has no room.
fn written(recovery: &Recovery, data: &[u8]) -> Option<Vec<u8>> {
    let mut to = Bounded::new(data, 1 << 16);
    to.bytes.clear();
    let copy = &mut |to: &mut Bounded, span, _| copy(&data, to, span);
    match recovery.write((0, &recovery.mapping()), &data, &mut to, crc32c, copy) {
        Ok(()) => Some(to.bytes),
        Err(Unwritten::Write(DriveError::Store(Full) | DriveError::Format(_))) => None,
        Err(error) => panic!("{error:?}"),
    }
}

/// The input is a physical SIONlib file.
pub fn sion_recover(data: &[u8]) {
    let Some(recovery) = examined(data) else { return };
    let Some(new) = written(&recovery, data) else { return };
    let old = read_within_budget(data).ok().filter(|summary| summary.closed).and_then(tasks_of);
    let tasks = tasks_of(read_within_budget(&new).unwrap()).expect("what was written is readable");
    // Where META2 was changed, what else there is may prove another stream.
    let is_stream = |proof| match proof {
        Proof::Meta2 | Proof::SealedMeta2 | Proof::Sealed => true,
        _ => has_right_seal(data) == Some(true),
    };
    let said: Vec<_> = recovery.tasks().collect();
    assert_eq!(said.len(), tasks.len());
    for (number, (said, task)) in said.iter().zip(&tasks).enumerate() {
        assert_eq!(said.globalrank, task.listed.task.globalrank);
        assert_eq!(said.recovered.bytes, task.listed.bytes);
        assert_eq!(said.recovered.blockcount, task.listed.task.blockcount);
        let Certainty::Exact(proof) = said.recovered.certainty else { continue };
        match &old {
            Some(old) if is_stream(proof) => assert_eq!(task.stream, old[number].stream, "{proof}"),
            _ => {}
        }
        if matches!(proof, Proof::Records | Proof::RecordsBeforeUnfinished) {
            assert!(task.records.as_ref().is_some_and(|(_, error)| error.is_none()), "{proof}");
        }
    }
    same_places(data, &new);
    let certainty = |task: u32| said[usize::try_from(task).unwrap()].recovered.certainty;
    let each = &mut |_, what: FindingKind| match what {
        FindingKind::Record { task, .. } => assert!(!is_proof_of_records(certainty(task))),
        FindingKind::Chunk { task, .. } => assert!(!is_proof_of_chunks(certainty(task))),
        what => assert!(!is_damage(&what), "{what}"),
    };
    let Ok(_) = verify(&Set(&[Counted::new(&new)]), each);
    recover_again(&recovery, &new, &tasks);
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

const fn is_proof_of_records(certainty: Certainty) -> bool {
    matches!(certainty, Certainty::Exact(Proof::Records | Proof::RecordsBeforeUnfinished))
}

const fn is_proof_of_chunks(certainty: Certainty) -> bool {
    matches!(certainty, Certainty::Exact(Proof::Sealed | Proof::SealedChunks))
}

/// What was recovered is recovered as it is, but for streams that something else than META2 of the
/// new file gave: a doubt that no seal takes away, or one that proved what are no whole records.
fn recover_again(first: &Recovery, new: &[u8], tasks: &[TaskSummary]) {
    let again = examined(new).expect("what was written has META1");
    let mut is_same = true;
    for ((first, again), task) in first.tasks().zip(again.tasks()).zip(tasks) {
        let (first, again) = (first.recovered, again.recovered);
        let is_cut = task.records.as_ref().is_some_and(|(_, error)| error.is_some());
        let doubt = Certainty::Guess(Doubt::NotAsSealed);
        if is_cut || first.certainty == doubt || again.certainty == doubt {
            is_same = false;
            continue;
        }
        let len = |task: Recovered| (task.blockcount, task.bytes);
        assert_eq!(len(first), len(again), "{}, then {}", first.certainty, again.certainty);
        let stays_exact = again.certainty.is_exact() || !first.certainty.is_exact();
        assert!(stays_exact, "{}, then {}", first.certainty, again.certainty);
    }
    if is_same {
        assert_eq!(written(&again, new).as_deref(), Some(new));
    }
}

/// The input is an ffrecord file. It is taken as it is, and with the right checksum of its tables.
pub fn ffrecord_verify(data: &[u8]) {
    verify_ffrecord(data);
    check_maps(data);
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
    assert_eq!(summary.is_sound(), read.is_ok(), "{read:?}");
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
