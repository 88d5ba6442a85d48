//! Sets that are read while another process appends, or that it has left half done.

use super::blob_append::{bytes_of, halves, sets};
use super::blob_written::subfiles;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs;
use std::path::Path;
use striae::blob::recover::Recover;
use striae::blob::verify::{Finding, Summary};
use striae::blob::{OpenOptions, Pack};
use striae::finding::{Severity, Value};
use striae::striae_core::integrity::crc32c;
use striae::striae_core::span::Span;
use striae::striae_core::step::drive_read;
use striae::striae_core::store::ReadAt;
use striae_inspect::blob::subfile::Head;
use striae_inspect::blob::verify::{Options, verify};
use striae_inspect::finding::Found;
use striae_inspect::subject::{Files, Subject};
use tempfile::TempDir;

fn numrecs(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[4..12].try_into().unwrap())
}

/// What a writer of records makes of a subfile, step by step.
struct Steps {
    /// From the old subfile to the one that counts the new records.
    count: Vec<Vec<u8>>,
    /// From there to the new subfile.
    settle: Vec<Vec<u8>>,
}

fn steps(old: &[u8], new: &[u8]) -> Steps {
    let head = Head::read(&old).unwrap();
    let found = drive_read(&mut head.find_seal(crc32c), old, &mut [0; 512]).unwrap();
    let next = found.next(numrecs(old));
    let facts = head.facts(numrecs(old), crc32c).unwrap();
    let places = facts.shape.places(head.gap(), true).unwrap();
    let mut bytes = old.to_vec();
    let mut put = |span: Span, all: &mut Vec<Vec<u8>>| {
        bytes.resize(bytes.len().max(span.end() as usize), 0);
        let span = span.offset() as usize..span.end() as usize;
        bytes[span.clone()].copy_from_slice(&new[span]);
        all.push(bytes.clone());
    };
    let copy = |place: usize, put: &mut dyn FnMut(Span, &mut Vec<Vec<u8>>), all: &mut _| {
        let place = places[place];
        put(place.tie, all);
        put(Span::new(place.table.offset(), place.table.len() / 2).unwrap(), all);
        put(place.table, all);
        put(place.head, all);
    };
    let (mut count, mut settle) = (vec![old.to_vec()], Vec::new());
    put(Span::between(head.gap().end(), new.len() as u64).unwrap(), &mut count);
    copy(next, &mut put, &mut count);
    put(Span::new(4, 8).unwrap(), &mut count);
    copy(1 - next, &mut put, &mut settle);
    assert!(settle.last().unwrap() == new);
    Steps { count, settle }
}

/// The steps of all subfiles, the last subfile first.
fn all_steps(old: &[Vec<u8>], new: &[Vec<u8>]) -> Vec<Vec<Vec<u8>>> {
    let steps: Vec<_> = old.iter().zip(new).map(|(old, new)| steps(old, new)).collect();
    let (mut now, mut all) = (old.to_vec(), vec![old.to_vec()]);
    let numbers = (0..old.len()).rev();
    let count = numbers.flat_map(|number| steps[number].count.iter().map(move |to| (number, to)));
    let settle = (0..old.len()).flat_map(|n| steps[n].settle.iter().map(move |to| (n, to)));
    for (number, to) in count.chain(settle) {
        now[number].clone_from(to);
        all.push(now.clone());
    }
    all
}

/// A set that changes from one state to another before a read.
struct Live<'a> {
    states: &'a [Vec<Vec<u8>>],
    /// The state at a read.
    at: &'a dyn Fn(usize) -> usize,
    reads: Cell<usize>,
}

struct One<'a>(&'a Live<'a>, usize);

impl One<'_> {
    fn now(&self) -> &[u8] {
        let state = (self.0.at)(self.0.reads.get()).min(self.0.states.len() - 1);
        self.0.reads.set(self.0.reads.get() + 1);
        &self.0.states[state][self.1]
    }
}

impl ReadAt for One<'_> {
    type Error = Infallible;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Infallible> {
        Ok(self.now().read_at(offset, buf).unwrap())
    }

    fn size(&self) -> Result<u64, Infallible> {
        Ok(self.now().len() as u64)
    }
}

impl Subject for One<'_> {}

impl<'a> Files for &'a Live<'a> {
    type Subject = One<'a>;

    fn open(&self, number: u32) -> Result<One<'a>, Infallible> {
        Ok(One(self, number as usize))
    }

    fn there(&self) -> Result<BTreeSet<u32>, Infallible> {
        Ok((0..).zip(&self.states[0]).map(|(number, _)| number).collect())
    }
}

/// The kinds of damage that are found in a set that changes, and the number of reads.
fn damage(states: &[Vec<Vec<u8>>], at: &dyn Fn(usize) -> usize) -> (BTreeSet<&'static str>, usize) {
    let live = Live { states, at, reads: Cell::new(0) };
    let mut kinds = BTreeSet::new();
    let each = &mut |_, what: striae_inspect::blob::SetFinding| {
        if what.severity() == Severity::Damage {
            kinds.insert(what.facts().kind);
        }
    };
    let Ok(_) = verify(&&live, Options::default(), each);
    (kinds, live.reads.get())
}

#[test]
fn a_set_to_which_another_process_appends_is_not_damaged() {
    let folder = TempDir::new().unwrap();
    let set = sets().into_iter().find(|set| set.nsubfiles > 1).unwrap();
    let (grown, whole, _) = halves(&set, true, folder.path());
    let states = all_steps(&bytes_of(&set, &grown), &bytes_of(&set, &whole));
    let last = states.len() - 1;
    let (none, reads) = damage(&states, &|_| 0);
    assert!(none.is_empty() && reads > 20 && last > 10, "{none:?}, {reads}, {last}");
    let is_even =
        |state: &Vec<Vec<u8>>| state.iter().all(|bytes| numrecs(bytes) == numrecs(&state[0]));
    for n in 0..reads {
        // All at once.
        let (found, _) = damage(&states, &|read| if read < n { 0 } else { last });
        assert!(found.is_empty(), "all at read {n}: {found:?}");
    }
    for n in (0..reads).step_by(3) {
        // A step at each second read. Subfiles may be read between their turns.
        let (found, _) = damage(&states, &|read| read.saturating_sub(n) / 2);
        assert!(found.iter().all(|kind| *kind == "records"), "step by step: {n}: {found:?}");
    }
    for (from, state) in states.iter().enumerate().step_by(2) {
        for n in (0..reads).step_by(11) {
            let (found, _) = damage(&states, &|read| if read < n { from } else { last });
            let is_right = |kind: &&str| *kind == "records" && !is_even(state);
            assert!(found.iter().all(is_right), "from {from} at {n}: {found:?}");
        }
    }
}

fn verified(path: &Path) -> (Summary, Vec<Finding>) {
    let mut findings = Vec::new();
    let summary = striae::Verify::new().blob(path, &mut |finding| findings.push(finding));
    (summary.unwrap(), findings)
}

/// A writer was cut after a copy of the seal had the new records, and before they counted. Then
/// another program appended its own records: the values are not as that copy says, and nobody has
/// said that they are.
#[test]
fn records_of_another_program_after_a_cut_are_not_said_to_be_wrong() {
    let folder = TempDir::new().unwrap();
    let sets: Vec<_> = sets().into_iter().filter(|set| set.nsubfiles == 1).collect();
    assert!(!sets.is_empty());
    for set in sets {
        let (grown, whole, rest) = halves(&set, true, folder.path());
        let path = &subfiles(&grown, 1)[0];
        let (old, new) = (&bytes_of(&set, &grown)[0], &bytes_of(&set, &whole)[0]);
        let states = steps(old, new).count;
        let (cut, counted) = (&states[states.len() - 2], &states[states.len() - 1]);
        let (before, after) = (numrecs(old), numrecs(new));
        let unsealed = |findings: &[Finding]| -> Vec<_> {
            let notes = findings.iter().filter(|one| one.facts().kind == "unsealed");
            notes.map(|one| one.facts().value.unwrap()).collect()
        };

        // Nothing happened after the cut, or after the records were counted.
        for (bytes, records) in [(cut, before), (counted, after)] {
            fs::write(path, bytes).unwrap();
            let (summary, findings) = verified(&grown);
            assert_eq!((summary.damage, summary.numrecs), (0, records), "{findings:?}");
            assert_eq!(unsealed(&findings), []);
            assert_eq!(summary.data.verdict(0), "sound");
        }

        // The other program's values differ in each byte.
        let mut other = counted.clone();
        other[old.len()..].iter_mut().for_each(|byte| *byte ^= 0x10);
        let recsize = (new.len() - old.len()) / (after - before) as usize;
        let mut longer = other.clone();
        longer.resize(other.len() + recsize, 7);
        longer[4..12].copy_from_slice(&(after + 1).to_be_bytes());
        for bytes in [&other, &longer] {
            fs::write(path, bytes).unwrap();
            let (summary, findings) = verified(&grown);
            assert_eq!(summary.damage, 0, "{findings:?}");
            assert_eq!(unsealed(&findings), [Value::from(before)]);
            assert_eq!(summary.data.verdict(0), "structure sound, data checked in part");
            let read = OpenOptions::new().checked(true).open(&grown).unwrap();
            for variable in read.header().variables() {
                let start = vec![0; variable.shape().len()];
                let region = striae::cdf::whole(variable, &start);
                read.read_pieces(variable, region, None, &mut |_| true).unwrap();
            }
            assert!(read.is_whole(), "{:?}", read.lost());
            let recovery = Recover::new().examine(&grown).unwrap();
            assert!(recovery.damaged().is_empty(), "{:?}", recovery.damaged());
            // Nor are they after the next append.
            Pack::append(&rest, &grown, &|_| ()).unwrap();
            let (summary, findings) = verified(&grown);
            assert!(summary.numrecs > numrecs(bytes) && summary.damage == 0, "{findings:?}");
            assert_eq!(unsealed(&findings), [Value::from(before)]);
            // A wrong value in a record that both copies have is one.
            let mut wrong = bytes.clone();
            wrong[old.len() - 1] ^= 1;
            fs::write(path, &wrong).unwrap();
            let (_, findings) = verified(&grown);
            let kinds = findings.iter().filter(|one| one.severity == Severity::Damage);
            let kinds: Vec<_> = kinds.map(|one| one.facts().kind).collect();
            assert_eq!(kinds, ["blob_checksum"]);
        }
    }
}

/// The subfiles of a set that was left half counted: what some have is saved, and what the first
/// one does not count is listed.
#[test]
fn recover_lists_the_records_that_not_all_subfiles_count() {
    let folder = TempDir::new().unwrap();
    for set in sets().into_iter().filter(|set| set.nsubfiles > 1) {
        let (grown, whole, _) = halves(&set, true, folder.path());
        let paths = subfiles(&grown, set.nsubfiles);
        let (old, new) = (bytes_of(&set, &grown), bytes_of(&set, &whole));
        let last = paths.len() - 1;
        fs::write(&paths[last], steps(&old[last], &new[last]).count.last().unwrap()).unwrap();
        let (summary, findings) = verified(&grown);
        assert!(summary.is_sound(), "{findings:?}");
        let uncounted: Vec<_> =
            findings.iter().filter(|one| one.facts().kind == "uncounted").collect();
        assert_eq!((uncounted.len(), summary.numrecs), (1, 1), "{findings:?}");
        assert_eq!(*uncounted[0].file, *paths[last]);

        let recovery = Recover::new().examine(&grown).unwrap();
        let (before, after) = (numrecs(&old[0]), numrecs(&new[0]));
        assert_eq!(recovery.set().header().numrecs(), after);
        assert!(!recovery.is_complete() && recovery.damaged().is_empty());
        // All that is lost is of the records that are not counted, and of other subfiles.
        let canonical = recovery.set().header();
        assert!(!recovery.lost_values().is_empty());
        for lost in recovery.lost_values() {
            assert_eq!(lost.records, Some(before..after), "{}", lost.name);
            let variable = canonical.variable(&lost.name).unwrap();
            assert!(variable.is_record());
        }
    }
}
