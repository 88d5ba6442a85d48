//! Packed and merged chunks: ranks write what a serial writer writes for the same request.

use crate::world::{ranks, sweep};
use proptest::prelude::*;
use std::io::{Read, Write};
use std::num::NonZeroU32;
use std::path::Path;
use striae::sion as serial;
use striae_core::sion::{ChunkRule, Grouping, raw};
use striae_mpi::sion::Builder;
use striae_mpi::{Code, Collect, Collective, Error};

/// How the tasks of a set are given to ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deal {
    /// One each.
    One,
    /// Two each, after those of all lower ranks.
    Consecutive,
    /// Task t is of rank t modulo 3.
    Mapped,
}

#[derive(Debug, Clone)]
struct Case {
    /// For each task the size of its chunks and the length of its stream, if it has room.
    tasks: Vec<(u64, usize)>,
    rule: ChunkRule,
    deal: Deal,
    nfiles: u32,
    sealed: bool,
    collects: bool,
}

/// In memory, if there is such a folder: what is synced is not the matter here.
fn folder() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

impl Case {
    fn bytes(&self, task: usize) -> Vec<u8> {
        let (chunksize, len) = self.tasks[task];
        let len = if chunksize == 0 { 0 } else { len };
        (0..len).map(|i| (i * 7 + task * 31) as u8).collect()
    }

    fn size(&self) -> u32 {
        let ntasks = self.tasks.len() as u32;
        match self.deal {
            Deal::One => ntasks,
            Deal::Consecutive => ntasks.div_ceil(2),
            Deal::Mapped => 3,
        }
    }

    fn builder(&self, rank: usize) -> Builder {
        let builder = Builder::new().fsblksize(512).nfiles(self.nfiles).prefix(b"a".into());
        let builder = builder.sealed(self.sealed).set_identity(1).rule(self.rule).force(true);
        let builder = match self.collects {
            true => builder.collect(Collect::new().ranks_per_writer(2).buffer(300)),
            false => builder,
        };
        let sizes = || self.tasks.iter().map(|(size, _)| *size);
        match self.deal {
            Deal::One => builder.chunksize(self.tasks[rank].0),
            Deal::Consecutive => builder.chunksizes(sizes().skip(2 * rank).take(2).collect()),
            Deal::Mapped => {
                let tasks = (0..).zip(sizes()).filter(|(task, _)| task % 3 == rank as u64);
                builder.tasks(tasks.collect())
            }
        }
    }

    fn program<C: Collective>(&self, comm: C, path: &Path) -> Result<(), Error> {
        let mut file = self.builder(comm.rank() as usize).create(comm, path)?;
        let tasks: Vec<_> = file.tasks().collect();
        for task in tasks {
            file.writer(task).unwrap().write_all(&self.bytes(task as usize)).unwrap();
        }
        file.close().map(drop)
    }

    fn write(&self, path: &Path) {
        let done = ranks(self.size(), |comm| self.program(comm, path));
        assert!(done.iter().all(Result::is_ok), "{done:?}");
    }

    fn write_serially(&self, path: &Path) {
        let sizes = self.tasks.iter().map(|(size, _)| *size).collect();
        let builder = serial::Builder::new(self.tasks.len() as u64).chunksizes(sizes);
        let builder = builder.fsblksize(512).nfiles(self.nfiles).prefix(b"a".into());
        let mut set =
            builder.sealed(self.sealed).set_identity(1).rule(self.rule).create(path).unwrap();
        for task in 0..self.tasks.len() {
            set.task(task as u64).unwrap().write_all(&self.bytes(task)).unwrap();
        }
        set.close().unwrap();
    }

    fn files(&self, path: &Path) -> Vec<Vec<u8>> {
        let name = path.file_name().unwrap().to_str().unwrap();
        let names = (0..self.nfiles).map(|number| match number {
            0 => name.to_owned(),
            _ => format!("{name}.{number:06}"),
        });
        names.map(|name| std::fs::read(path.with_file_name(name)).unwrap()).collect()
    }
}

fn rule() -> impl Strategy<Value = ChunkRule> {
    let number = (1u32..6).prop_map(|n| NonZeroU32::new(n).unwrap());
    let grouping = prop_oneof![
        Just(Grouping::Automatic),
        Just(Grouping::WHOLE_FILE),
        number.clone().prop_map(Grouping::Hint),
        number.prop_map(Grouping::Fixed),
    ];
    (any::<bool>(), grouping).prop_map(|(packs, grouping)| match packs {
        true => ChunkRule::Packed(grouping),
        false => ChunkRule::Merged(grouping),
    })
}

fn case() -> impl Strategy<Value = Case> {
    let task = (prop_oneof![1 => Just(0), 9 => 1u64..1200], 0usize..1500);
    let deal = prop_oneof![Just(Deal::One), Just(Deal::Consecutive), Just(Deal::Mapped)];
    let tasks = prop::collection::vec(task, 1..12);
    (tasks, rule(), deal, 1u32..4, any::<[bool; 2]>()).prop_map(
        |(tasks, rule, deal, nfiles, [sealed, collects])| {
            let nfiles = nfiles.min(tasks.len() as u32);
            // The only file of a set has another number if ranks write it, which a seal covers.
            Case { tasks, rule, deal, nfiles, sealed: sealed && nfiles > 1, collects }
        },
    )
}

proptest! {
    #![proptest_config(crate::config(25))]

    #[test]
    fn sets_of_any_rule_are_those_of_the_serial_writer_byte_for_byte(case in case()) {
        let folder = folder();
        let (ours, serial) = (folder.path().join("ours"), folder.path().join("serial"));
        case.write(&ours);
        case.write_serially(&serial);
        let mut serial = case.files(&serial);
        if case.nfiles == 1 {
            // As SIONlib has it: 0 and no mapping if ranks write it, else 1 and an empty one.
            let at = usize::from(raw::Meta1::filenumber.offset());
            serial[0][at..at + 4].fill(0);
            let end = serial[0].len() - size_of::<raw::MappingSize>();
            serial[0].truncate(end);
        }
        prop_assert!(case.files(&ours) == serial);
        let set = serial::File::open(&ours).unwrap();
        for task in 0..case.tasks.len() {
            let mut stream = Vec::new();
            set.stream(task as u64).unwrap().read_to_end(&mut stream).unwrap();
            prop_assert_eq!(stream, case.bytes(task));
        }
    }
}

fn small(rule: ChunkRule, deal: Deal, nfiles: u32) -> Case {
    let tasks = (0..6).map(|task| (100 + task, 30 * task as usize)).collect();
    Case { tasks, rule, deal, nfiles, sealed: true, collects: false }
}

const PACKED: ChunkRule = ChunkRule::Packed(Grouping::Automatic);

#[test]
fn whatever_happens_to_a_rank_of_packed_chunks_the_others_get_one_error() {
    let folder = folder();
    let path = folder.path().join("a");
    for (deal, nfiles) in [(Deal::One, 1), (Deal::Mapped, 2)] {
        let case = small(PACKED, deal, nfiles);
        sweep(case.size(), |comm| case.program(comm, &path), |_| {});
    }
}

#[test]
fn a_rule_takes_two_calls_more_for_a_window_of_tasks() {
    let folder = folder();
    let path = folder.path().join("a");
    let calls = |rule, nfiles| {
        let case = small(rule, Deal::One, nfiles);
        let calls = ranks(case.size(), |comm| {
            let file = case.builder(comm.rank() as usize).create(comm, &path).unwrap();
            file.comm().calls() + file.whole().map_or(0, Collective::calls)
        });
        assert!(calls.iter().all(|count| *count == calls[0]), "{calls:?}");
        calls[0]
    };
    for rule in [PACKED, ChunkRule::Merged(Grouping::WHOLE_FILE)] {
        assert_eq!((calls(rule, 1), calls(rule, 2)), (5, 7));
    }
    assert_eq!((calls(ChunkRule::Aligned, 1), calls(ChunkRule::Aligned, 2)), (3, 5));
}

#[test]
fn a_table_longer_than_a_window_has_the_sizes_of_the_rule() {
    const TASKS: u64 = (1 << 16) + 100; // a window has 64 Ki entries
    let asked = |task: u64| 1 + task % 700;
    let rule = ChunkRule::Packed(Grouping::Hint(NonZeroU32::new(7).unwrap()));
    let folder = folder();
    let path = folder.path().join("a");
    let done = ranks(2, |comm| {
        let mine = (0..TASKS).filter(|task| task % 2 == u64::from(comm.rank()));
        let builder = Builder::new().fsblksize(512).rule(rule).sealed(true);
        let file = builder.tasks(mine.map(|task| (task, asked(task))).collect());
        file.create(comm, &path)?.close().map(drop)
    });
    assert!(done.iter().all(Result::is_ok), "{done:?}");
    let unit = NonZeroU32::new(512).unwrap();
    let requests: Vec<u64> = (0..TASKS).map(asked).collect();
    let expected: Vec<u64> = rule.stored(unit, requests.into_iter()).unwrap().collect();
    let set = serial::File::open(&path).unwrap();
    let sizes = set.tasks().unwrap().map(|task| task.unwrap().place.chunks.chunksize);
    assert!(sizes.eq(expected));
}

#[test]
fn a_sum_that_no_file_can_hold_is_refused_at_all_ranks() {
    let folder = folder();
    let path = folder.path().join("a");
    let done = ranks(3, |comm| {
        let builder = Builder::new().fsblksize(512).rule(PACKED).chunksize(1 << 62);
        builder.create(comm, &path).map(drop).unwrap_err()
    });
    assert!(done.iter().all(|error| error.code() == Code::Refused), "{done:?}");
}

#[test]
fn ranks_with_other_rules_are_an_error() {
    let folder = folder();
    let path = folder.path().join("a");
    let done = ranks(3, |comm| {
        let rule = if comm.rank() == 1 { PACKED } else { ChunkRule::Aligned };
        Builder::new().rule(rule).create(comm, &path).map(drop).unwrap_err()
    });
    assert!(done.iter().all(|error| error.code() == Code::Differ), "{done:?}");
}
