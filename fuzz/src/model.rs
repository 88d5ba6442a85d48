//! What a writer is told to do, and what should come of it, in memory.

use crate::held::{Stream, Tasks};
use crate::powered::Trouble;
use striae_core::endian::ByteOrder;
use striae_core::sion::{Attributes, Error};
use striae_kit::sion_file::{SionFile, SionTask};

/// How a file is made.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What its META1 says.
    pub attributes: Attributes,
    /// Global ranks and chunk sizes.
    pub tasks: Vec<(i64, u64)>,
    /// Of the first file of a set of several.
    pub mapping: Vec<(u32, u32)>,
    /// Whether it is sealed.
    pub sealed: bool,
    /// See [`striae_core::sion::Options::ahead`].
    pub ahead: u32,
    /// Bytes of the writer's window.
    pub window: usize,
    /// Entries of its ledger.
    pub ledger: usize,
    /// Whether lost sectors read as noise.
    pub noise: bool,
    /// Bytes that the disk has room for.
    pub room: u64,
}

/// Something that is written to a task, and how many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Put {
    /// See [`striae_core::sion::Writer::write`].
    Write,
    /// See [`striae_core::sion::Writer::write_some`].
    Some,
    /// See [`striae_core::sion::Writer::write_record`].
    Record,
    /// See [`striae_core::sion::Writer::ensure_free_space`].
    Space,
    /// See [`striae_core::sion::Writer::write_key`].
    Key(u64),
}

/// What happens.
#[derive(Debug, Clone, Copy)]
pub enum Act {
    /// A task writes.
    Put {
        /// The task; there may be none.
        task: u32,
        /// What.
        put: Put,
        /// Bytes.
        len: usize,
    },
    /// A commit.
    Commit,
    /// A close.
    Close,
    /// Another writer goes on.
    Reopen,
    /// Another writer begins anew in the same store.
    Create {
        /// Whether that file is sealed.
        sealed: bool,
    },
    /// The store fails, or its power goes.
    Trouble(Trouble),
}

/// Acts of one scenario, at most.
const MAX_ACTS: usize = 120;

/// Takes a scenario from the bytes of an input; missing ones are 0.
pub fn scenario(data: &[u8]) -> (Plan, Vec<Act>) {
    let mut bytes = data.iter().copied();
    let mut next = || bytes.next().unwrap_or(0);
    let [flags, shape, window, memory] = [next(), next(), next(), next()];
    let order = |bit| if flags & bit == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let (nfiles, filenumber) = [(1, 1), (1, 0), (3, 0), (3, 2)][usize::from(flags >> 5 & 3)];
    let attributes = Attributes {
        order: order(1),
        data_order: order(2),
        fsblksize: [1, 16, 512, 4096][usize::from(shape >> 2 & 3)],
        nfiles,
        filenumber,
        keyval: flags & 4 != 0,
    };
    let tasks = (0..=i64::from(shape >> 4 & 7)).map(|task| match next() {
        code @ ..=199 => (task * 3 - 7, u64::from(code)),
        code => (task * 3 - 7, u64::from(code - 199) * 64),
    });
    let tasks: Vec<_> = tasks.collect();
    let mapping = match filenumber {
        0 if nfiles > 1 => (0..u32::from(memory >> 6) * 7).map(|rank| (rank % 3, rank)).collect(),
        _ => vec![],
    };
    let plan = Plan {
        attributes,
        mapping,
        sealed: flags & 8 != 0,
        ahead: u32::from(shape & 3),
        window: 1076 + usize::from(window) * 8,
        ledger: usize::from(memory & 63),
        noise: flags & 16 != 0,
        room: 1 << (13 + (memory >> 6)),
        tasks,
    };
    let rest: Vec<u8> = bytes.collect();
    let acts = rest.chunks(3).take(MAX_ACTS).map(|act| {
        let at = |index| act.get(index).copied().unwrap_or(0);
        self::act(&plan, at(0), at(1), at(2))
    });
    let acts = acts.collect();
    (plan, acts)
}

fn act(plan: &Plan, kind: u8, x: u8, y: u8) -> Act {
    let ntasks = u32::try_from(plan.tasks.len()).unwrap();
    let keyval = plan.attributes.keyval;
    let (after, kept) = (usize::from(x & 31), [0, usize::MAX, 512, 1024][usize::from(y & 3)]);
    let put = match kind & 15 {
        10 => return Act::Commit,
        11 => return Act::Close,
        12 => return Act::Reopen,
        13 => return Act::Trouble(Trouble::Fail { after, kept }),
        14 => return Act::Trouble(Trouble::Cut { after, kept, pick: usize::from(y >> 2) }),
        15 => return Act::Create { sealed: x & 1 != 0 },
        9 => Put::Key(u64::from(y).wrapping_sub(2)),
        0..=6 | 8 if keyval => Put::Key(u64::from(y & 3)),
        4 => Put::Some,
        5 | 6 => Put::Record,
        7 => Put::Space,
        _ => Put::Write,
    };
    let task = if x == 255 { ntasks } else { u32::from(x) % ntasks };
    Act::Put { task, put, len: usize::from(y) << (kind >> 6) }
}

impl Plan {
    /// The header of a key-value record.
    #[must_use]
    pub fn record_header(&self, key: u64, len: u64) -> Vec<u8> {
        self.file(&Vec::new()).record_header(key, len)
    }

    /// The file as a writer makes it that shares no code with striae's.
    #[must_use]
    pub fn file(&self, tasks: &Tasks) -> SionFile {
        let Attributes { order, fsblksize, nfiles, filenumber, keyval, .. } = self.attributes;
        let signed = |n: u32| i32::try_from(n).unwrap();
        let address = |at: &(u32, u32)| (signed(at.0), signed(at.1));
        let has_mapping = nfiles > 1 && filenumber == 0 || nfiles == 1 && filenumber == 1;
        let tasks =
            self.tasks.iter().zip(tasks).map(|(&(globalrank, chunksize), stream)| SionTask {
                globalrank,
                chunksize,
                chunks: stream.chunks().map(<[u8]>::to_vec).collect(),
            });
        SionFile {
            big_endian: order == ByteOrder::Big,
            fsblksize,
            nfiles: signed(nfiles),
            filenumber: signed(filenumber),
            flag1: if keyval { 51 << 32 } else { 50 << 32 },
            prefix: PREFIX.to_vec(),
            tasks: tasks.collect(),
            mapping: has_mapping.then(|| self.mapping.iter().map(address).collect()),
            ..SionFile::default()
        }
    }
}

/// The name in META1.
pub const PREFIX: &[u8] = b"written.sion";

/// What was written, and how much of the writer's ledger that took.
#[derive(Debug, Clone)]
pub struct Written {
    /// What each task wrote.
    pub tasks: Tasks,
    /// Entries of the ledger that are in use.
    pub finished: usize,
    /// Whether the file is sealed.
    pub sealed: bool,
}

impl Written {
    /// Tasks that wrote nothing.
    #[must_use]
    pub fn nothing(plan: &Plan, sealed: bool) -> Self {
        let stream = Stream { bytes: Vec::new(), lens: vec![0] };
        let tasks = vec![stream; plan.tasks.len()];
        Self { tasks, finished: 0, sealed }
    }

    /// What comes of `put`: how many bytes are written.
    ///
    /// # Errors
    /// The writer's, if it has to refuse.
    pub fn put(&mut self, plan: &Plan, task: u32, put: Put, bytes: &[u8]) -> Result<usize, Error> {
        match put {
            Put::Key(_) if !plan.attributes.keyval => return Err(Error::NoKeyval),
            Put::Key(_) => {}
            _ if plan.attributes.keyval => return Err(Error::OnlyKeyval),
            _ => {}
        }
        let ntasks = u64::try_from(plan.tasks.len()).unwrap();
        let no_task = Error::NoTask { task: task.into(), ntasks };
        let index = usize::try_from(task).unwrap();
        let &(_, size) = plan.tasks.get(index).ok_or(no_task)?;
        let mut task = Task { plan, size, index, written: self };
        let len = u64::try_from(bytes.len()).unwrap();
        match put {
            Put::Write => task.fill(bytes),
            Put::Some => task.some(bytes),
            Put::Record | Put::Space => {
                if size == 0 && len > 0 {
                    return Err(Error::NoRoom);
                }
                if len > size {
                    return Err(Error::RecordTooLong { len, chunksize: size });
                }
                if len > task.room() {
                    task.leave()?;
                }
                if put == Put::Space { Ok(0) } else { task.some(bytes) }
            }
            Put::Key(key) => {
                task.fill(&plan.record_header(key, len))?;
                task.fill(bytes)
            }
        }
    }
}

struct Task<'a> {
    plan: &'a Plan,
    size: u64,
    index: usize,
    written: &'a mut Written,
}

impl Task<'_> {
    fn stream(&mut self) -> &mut Stream {
        &mut self.written.tasks[self.index]
    }

    fn room(&mut self) -> u64 {
        self.size - u64::try_from(*self.stream().lens.last().unwrap()).unwrap()
    }

    fn leave(&mut self) -> Result<(), Error> {
        if self.size == 0 {
            return Err(Error::NoRoom);
        }
        if self.written.sealed || self.room() > 0 {
            if self.written.finished == self.plan.ledger {
                let capacity = u64::try_from(self.plan.ledger).unwrap();
                return Err(Error::LedgerFull { capacity });
            }
            self.written.finished += 1;
        }
        self.stream().lens.push(0);
        Ok(())
    }

    fn some(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        if self.room() == 0 && !bytes.is_empty() {
            self.leave()?;
        }
        let len = usize::try_from(self.room()).unwrap().min(bytes.len());
        self.stream().bytes.extend_from_slice(&bytes[..len]);
        *self.stream().lens.last_mut().unwrap() += len;
        Ok(len)
    }

    fn fill(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let len = self.some(rest)?;
            rest = &rest[len..];
        }
        Ok(bytes.len())
    }
}
