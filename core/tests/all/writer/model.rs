//! A model of a file that is written: chunks as lists of bytes. Whatever is done, what is in the
//! file is the model at the last commit.

use super::seals::{chunks_of, seal_holds};
use super::shared::{Fault, Shared};
use proptest::prelude::*;
use striae_core::endian::ByteOrder;
use striae_core::integrity::crc32c;
use striae_core::sion::{Attributes, Error, Finished, Memory, Options, Pen, Writer};
use striae_core::step::DriveError;

/// The chunks of each task.
pub(crate) type Tasks = Vec<Vec<Vec<u8>>>;

#[derive(Debug, Clone)]
pub(crate) struct Case {
    pub(crate) attributes: Attributes,
    pub(crate) tasks: Vec<(i64, u64)>,
    pub(crate) sealed: bool,
    pub(crate) ahead: u32,
    pub(crate) window: usize,
    pub(crate) ledger: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Act {
    Write { task: usize, len: usize },
    Record { task: usize, len: usize },
    Space { task: usize, len: usize },
    Key { task: usize, key: u64, len: usize },
    Commit,
    Close,
    Reopen,
}

type Failure = DriveError<super::shared::Broken, Error>;

/// A file, what it should hold, and what it may hold instead because a commit failed.
pub(crate) struct Run {
    case: Case,
    pub(crate) store: Shared,
    live: Tasks,
    /// The last one is that of the last commit.
    allowed: Vec<Tasks>,
    /// Whether what failed is done again at once.
    tries_again: bool,
    next: u8,
    pub(crate) failures: usize,
    pub(crate) refusals: usize,
}

impl Run {
    pub(crate) fn of(case: &Case, acts: &[Act], faults: &[Fault], tries_again: bool) -> Self {
        let live = vec![vec![vec![]]; case.tasks.len()];
        let store = Shared::default();
        let mut run = Self {
            case: case.clone(),
            store,
            live,
            allowed: vec![],
            tries_again,
            next: 0,
            failures: 0,
            refusals: 0,
        };
        let rest = run.session(acts, true, faults);
        let mut rest = rest.map(<[Act]>::to_vec);
        while let Some(acts) = rest {
            rest = run.session(&acts, false, faults).map(<[Act]>::to_vec);
        }
        run
    }

    /// Does what is to be done up to the next `Reopen`, and returns what comes behind it.
    fn session<'a>(&mut self, acts: &'a [Act], new: bool, faults: &[Fault]) -> Option<&'a [Act]> {
        let case = self.case.clone();
        let (mut pens, mut ledger) = ([Pen::EMPTY; 8], vec![Finished::EMPTY; case.ledger]);
        let mut window = vec![0xee; case.window];
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
        let options = Options { sealed: case.sealed, ahead: case.ahead, ..Options::default() };
        let mut writer = if new {
            let tasks = case.tasks.as_slice();
            let store = self.store.clone();
            let writer = Writer::create(store, &case.attributes, b"m", tasks, memory, options);
            writer.unwrap()
        } else {
            Writer::reopen(self.store.clone(), memory, options).unwrap()
        };
        self.store.fail(faults);
        for (at, act) in acts.iter().enumerate() {
            if matches!(act, Act::Reopen) {
                let Some(now) = chunks_of(&self.store.bytes()) else { continue };
                assert!(self.allowed.contains(&now));
                self.allowed = vec![now.clone()];
                self.live = now;
                self.store.fail(&[]);
                return Some(&acts[at + 1..]);
            }
            let mut result = self.act(&mut writer, *act);
            self.check(*act);
            while self.tries_again && matches!(result, Err(DriveError::Store(_))) {
                result = self.act(&mut writer, *act);
                self.check(*act);
            }
        }
        None
    }

    fn act(&mut self, writer: &mut Writer<'_, Shared>, act: Act) -> Result<(), Failure> {
        let mut live = self.live.clone();
        let mut bytes = |len| {
            (0..len)
                .map(|_| {
                    self.next = self.next.wrapping_add(1);
                    self.next
                })
                .collect()
        };
        let size = |task: usize| usize::try_from(self.case.tasks[task].1).unwrap();
        let result = match act {
            Act::Write { task, len } => {
                let bytes: Vec<u8> = bytes(len);
                fill(&mut live[task], size(task), &bytes);
                writer.write(task as u32, &bytes)
            }
            Act::Record { task, len } => {
                let bytes: Vec<u8> = bytes(len);
                skip(&mut live[task], size(task), len);
                live[task].last_mut().unwrap().extend(&bytes);
                writer.write_record(task as u32, &bytes)
            }
            Act::Space { task, len } => {
                skip(&mut live[task], size(task), len);
                writer.ensure_free_space(task as u32, len as u64)
            }
            Act::Key { task, key, len } => {
                let value: Vec<u8> = bytes(len);
                let mut record = match self.case.attributes.order {
                    ByteOrder::Little => [key.to_le_bytes(), (len as u64).to_le_bytes()].concat(),
                    ByteOrder::Big => [key.to_be_bytes(), (len as u64).to_be_bytes()].concat(),
                };
                record.extend(&value);
                fill(&mut live[task], size(task), &record);
                writer.write_key(task as u32, key, &value)
            }
            Act::Commit | Act::Close => {
                self.allowed.push(self.live.clone());
                let result = match act {
                    Act::Commit => writer.commit(),
                    _ => writer.close(),
                };
                if result.is_ok() {
                    self.allowed = vec![self.live.clone()];
                }
                result
            }
            Act::Reopen => Ok(()),
        };
        match result {
            Ok(()) => self.live = live,
            Err(DriveError::Store(_)) => self.failures += 1,
            Err(DriveError::Format(
                Error::RecordTooLong { .. } | Error::NoRoom | Error::LedgerFull { .. },
            )) => {
                self.refusals += 1;
            }
            Err(error) => panic!("{act:?}: {error}"),
        }
        result
    }

    /// What is in the file is what it should be, at any moment.
    fn check(&self, act: Act) {
        let bytes = self.store.bytes();
        let now = chunks_of(&bytes);
        match &now {
            Some(now) => {
                assert!(self.allowed.contains(now));
                if matches!(act, Act::Commit | Act::Close) {
                    let holds = seal_holds(&bytes, |bytes| crc32c(0, bytes));
                    assert_eq!(holds, Ok(self.case.sealed));
                }
            }
            None => assert!(self.allowed.len() < 2 || self.failures > 0),
        }
    }

    /// Its file has all that was written.
    pub(crate) fn holds_all(&self) -> bool {
        chunks_of(&self.store.bytes()).is_some_and(|now| now == self.live)
    }
}

fn fill(chunks: &mut Vec<Vec<u8>>, size: usize, bytes: &[u8]) {
    for byte in bytes {
        if chunks.last().unwrap().len() >= size {
            chunks.push(vec![]);
        }
        chunks.last_mut().unwrap().push(*byte);
    }
}

fn skip(chunks: &mut Vec<Vec<u8>>, size: usize, len: usize) {
    if chunks.last().unwrap().len() + len > size {
        chunks.push(vec![]);
    }
}

pub(crate) fn case() -> impl Strategy<Value = Case> {
    let order = || prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    let size = prop_oneof![Just(0u64), Just(1), 2..20u64, 20..200u64];
    let attributes = (order(), order(), prop_oneof![Just(1), Just(16), Just(512)], 0..2u32)
        .prop_map(|(order, data_order, fsblksize, filenumber)| Attributes {
            order,
            data_order,
            fsblksize,
            filenumber,
            ..Attributes::default()
        });
    let tasks = prop::collection::vec((any::<i64>(), size), 1..6);
    let window = prop_oneof![Just(1076usize), 1077..1400usize, Just(5000)];
    (attributes, tasks, any::<bool>(), 0..4u32, window, any::<bool>()).prop_map(
        |(attributes, tasks, sealed, ahead, window, keyval)| Case {
            attributes: Attributes { keyval, ..attributes },
            tasks,
            sealed,
            ahead,
            window,
            ledger: 64,
        },
    )
}

/// What may be done to such a file.
pub(crate) fn acts(case: &Case, most: usize) -> impl Strategy<Value = Vec<Act>> + use<> {
    let (ntasks, keyval) = (case.tasks.len(), case.attributes.keyval);
    let key = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    let len = prop_oneof![Just(0usize), 1..20usize, 20..120usize];
    let kind = (0..9u8, 0..ntasks, len, key);
    let act = kind.prop_map(move |(kind, task, len, key)| match kind {
        0 | 1 => Act::Commit,
        2 => Act::Close,
        3 => Act::Reopen,
        _ if keyval => Act::Key { task, key, len },
        4 | 5 => Act::Write { task, len },
        6 | 7 => Act::Record { task, len },
        _ => Act::Space { task, len },
    });
    prop::collection::vec(act, 1..most)
}

fn case_and_acts(most: usize) -> impl Strategy<Value = (Case, Vec<Act>)> {
    case().prop_flat_map(move |case| (Just(case.clone()), acts(&case, most)))
}

proptest! {
    #![proptest_config(crate::config(60))]

    #[test]
    fn a_file_holds_what_the_last_commit_had_at_any_moment(input in case_and_acts(40)) {
        let (case, mut acts) = input;
        acts.push(Act::Close);
        let run = Run::of(&case, &acts, &[], false);
        prop_assert!(run.holds_all());
        prop_assert_eq!(run.store.bytes(), Run::of(&case, &acts, &[], false).store.bytes());
    }

    #[test]
    fn a_file_that_is_closed_once_is_the_plain_layout(input in case_and_acts(12)) {
        let (case, mut acts) = input;
        let case = Case { ledger: 3000, ..case };
        acts.retain(|act| !matches!(act, Act::Commit | Act::Close | Act::Reopen));
        acts.push(Act::Close);
        let run = Run::of(&case, &acts, &[], false);
        let mut bytes = run.store.bytes();
        let plain = plain(&case, &run.live);
        prop_assert!(case.sealed || bytes.len() == plain.len());
        bytes.truncate(plain.len());
        prop_assert_eq!(bytes, plain);
    }
}

/// The file by the words of spec/sion.md, without a seal.
fn plain(case: &Case, tasks: &Tasks) -> Vec<u8> {
    let Attributes { order, data_order, fsblksize, nfiles, filenumber, keyval } = case.attributes;
    let big = |order: ByteOrder| u8::from(order == ByteOrder::Big);
    let n4 = |n: i32| if big(order) == 1 { n.to_be_bytes() } else { n.to_le_bytes() };
    let n8 = |n: i64| if big(order) == 1 { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut file = b"sion".to_vec();
    file.extend([big(order), big(data_order), big(data_order), big(order)]);
    let numbers =
        [1007, 6, 5, fsblksize as i32, tasks.len() as i32, nfiles as i32, filenumber as i32];
    numbers.iter().for_each(|n| file.extend(n4(*n)));
    file.extend(n8(if keyval { 51 << 32 } else { 50 << 32 }));
    file.extend(n8(0));
    file.extend(b"m");
    file.resize(52 + 1024, 0);
    case.tasks.iter().for_each(|task| file.extend(n8(task.0)));
    case.tasks.iter().for_each(|task| file.extend(n8(task.1 as i64)));
    let maxchunks = tasks.iter().map(Vec::len).max().unwrap();
    let first = (1088 + 16 * tasks.len()).next_multiple_of(fsblksize as usize);
    let skip: usize = case.tasks.iter().map(|task| task.1 as usize).sum();
    let varheader = first + maxchunks * skip;
    file.extend(n4(maxchunks as i32));
    file.extend(n8(varheader as i64));
    file.resize(varheader, 0);
    let mut start = first;
    for (chunks, (_, size)) in tasks.iter().zip(&case.tasks) {
        for (chunk, bytes) in chunks.iter().enumerate() {
            let at = start + chunk * skip;
            file[at..at + bytes.len()].copy_from_slice(bytes);
        }
        start += *size as usize;
    }
    tasks.iter().for_each(|chunks| file.extend(n8(chunks.len() as i64)));
    for chunk in 0..maxchunks {
        let used = |chunks: &Vec<Vec<u8>>| chunks.get(chunk).map_or(0, Vec::len);
        tasks.iter().for_each(|chunks| file.extend(n8(used(chunks) as i64)));
    }
    if filenumber == 1 {
        file.extend(n4(0));
    }
    file
}
