//! Any operations on several tasks, compared with what they should have done.

use super::{assert_sound, payload, sion, streams};
use proptest::prelude::*;
use std::io::Write;
use std::path::Path;
use striae::sion::{Builder, Durability, FileWriter, Reopen, TaskWriter};
use striae_core::endian::ByteOrder;
use striae_core::sion::Error as SionError;

const TASKS: usize = 4;

#[derive(Debug, Clone)]
enum Op {
    Write {
        task: usize,
        len: usize,
    },
    Record {
        task: usize,
        len: usize,
    },
    Space {
        task: usize,
        len: u64,
    },
    Flush {
        task: usize,
    },
    /// The task's writer is dropped; the next operation gets a new one.
    Drop {
        task: usize,
    },
    Commit,
    Close,
    /// The set is dropped without a close.
    Abandon,
}

#[derive(Debug, Clone)]
struct Shape {
    chunksizes: Vec<u64>,
    fsblksize: u32,
    nfiles: u32,
    sealed: bool,
    buffer: usize,
    order: ByteOrder,
    durability: Durability,
}

fn op() -> impl Strategy<Value = Op> {
    let task = 0..TASKS;
    prop_oneof![
        6 => (task.clone(), 0..700usize).prop_map(|(task, len)| Op::Write { task, len }),
        6 => (task.clone(), 0..300usize).prop_map(|(task, len)| Op::Record { task, len }),
        1 => (task.clone(), 0..300u64).prop_map(|(task, len)| Op::Space { task, len }),
        1 => task.clone().prop_map(|task| Op::Flush { task }),
        2 => task.prop_map(|task| Op::Drop { task }),
        4 => Just(Op::Commit),
        1 => Just(Op::Close),
        1 => Just(Op::Abandon),
    ]
}

fn shape() -> impl Strategy<Value = Shape> {
    let sizes = prop::collection::vec(prop_oneof![1 => Just(0), 4 => 1..400u64], TASKS);
    let buffer = prop_oneof![Just(0), Just(1), Just(64), 1..500usize, Just(1 << 16)];
    let order = prop_oneof![Just(ByteOrder::Little), Just(ByteOrder::Big)];
    let durability = prop_oneof![
        6 => Just(Durability::None),
        1 => Just(Durability::OnCommit),
        1 => Just(Durability::EveryRecord)
    ];
    (sizes, prop_oneof![Just(1), Just(64)], 1..4u32, any::<bool>(), buffer, order, durability)
        .prop_map(|(chunksizes, fsblksize, nfiles, sealed, buffer, order, durability)| Shape {
            chunksizes,
            fsblksize,
            nfiles,
            sealed,
            buffer,
            order,
            durability,
        })
}

/// The set, and what its streams should be.
struct Pair<'a> {
    path: &'a Path,
    shape: &'a Shape,
    /// `None` while it is dropped, since a set has one writer.
    file: Option<FileWriter>,
    writers: Vec<Option<TaskWriter>>,
    accepted: Vec<Vec<u8>>,
    committed: Option<Vec<Vec<u8>>>,
}

impl<'a> Pair<'a> {
    fn new(path: &'a Path, shape: &'a Shape) -> Self {
        let builder = Builder::new(TASKS as u64).chunksizes(shape.chunksizes.clone());
        let builder = builder.fsblksize(shape.fsblksize).nfiles(shape.nfiles).sealed(shape.sealed);
        let builder = builder.buffer(shape.buffer).order(shape.order).durability(shape.durability);
        let accepted = vec![Vec::new(); TASKS];
        let committed = (shape.durability == Durability::EveryRecord).then(|| accepted.clone());
        let file = Some(builder.force(true).create(path).unwrap());
        let writers = (0..TASKS).map(|_| None).collect();
        Self { path, shape, file, writers, accepted, committed }
    }

    fn writer(&mut self, task: usize) -> &mut TaskWriter {
        let file = self.file.as_ref().unwrap();
        self.writers[task].get_or_insert_with(|| file.task(task as u64).unwrap())
    }

    fn file(&mut self) -> &mut FileWriter {
        self.file.as_mut().unwrap()
    }

    fn apply(&mut self, op: &Op, seed: u64) {
        match *op {
            Op::Write { task, len } => {
                let bytes = payload(seed, len);
                match self.writer(task).write_all(&bytes) {
                    Ok(()) => self.accept(task, &bytes),
                    Err(_) => assert_eq!(self.shape.chunksizes[task], 0),
                }
            }
            Op::Record { task, len } => {
                let bytes = payload(seed, len);
                let before = self.writer(task).location();
                match self.writer(task).write_record(&bytes) {
                    Ok(()) => self.accept(task, &bytes),
                    Err(error) => {
                        let chunksize = match sion(&error) {
                            SionError::RecordTooLong { chunksize, .. } => chunksize,
                            SionError::NoRoom => 0,
                            error => panic!("{error}"),
                        };
                        assert!(chunksize < len as u64);
                        assert_eq!(self.writer(task).location(), before);
                    }
                }
            }
            Op::Space { task, len } => {
                let fits = self.writer(task).ensure_free_space(len).is_ok();
                assert!(!fits || self.writer(task).room() >= len);
            }
            Op::Flush { task } => self.writer(task).flush().unwrap(),
            Op::Drop { task } => self.writers[task] = None,
            Op::Commit => {
                self.file().commit().unwrap();
                self.committed = Some(self.accepted.clone());
                self.compare();
            }
            Op::Close => {
                self.file().close().unwrap();
                self.committed = Some(self.accepted.clone());
                self.compare();
                assert_sound(self.path, self.shape.sealed);
                self.reopen();
            }
            Op::Abandon => self.reopen(),
        }
    }

    fn accept(&mut self, task: usize, bytes: &[u8]) {
        self.accepted[task].extend(bytes);
        if self.shape.durability == Durability::EveryRecord {
            self.committed = Some(self.accepted.clone());
            self.compare();
        }
    }

    fn compare(&self) {
        assert!(Some(streams(self.path)) == self.committed);
    }

    fn reopen(&mut self) {
        self.writers.fill_with(|| None);
        self.file = None;
        match self.committed.clone() {
            Some(committed) => {
                let reopen = Reopen::new().buffer(self.shape.buffer);
                let reopen = reopen.durability(self.shape.durability);
                self.file = Some(reopen.open(self.path).unwrap());
                self.accepted = committed;
                self.compare();
            }
            None => *self = Self::new(self.path, self.shape),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None, ..ProptestConfig::with_cases(200)
    })]
    #[test]
    fn any_operations_do_to_a_set_what_they_do_to_a_list_of_bytes(
        shape in shape(),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sion");
        let mut pair = Pair::new(&path, &shape);
        for (seed, op) in ops.iter().enumerate() {
            pair.apply(op, seed as u64);
        }
        pair.apply(&Op::Close, 0);
    }
}
