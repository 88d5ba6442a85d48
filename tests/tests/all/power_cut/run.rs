//! Writing a path to a store, and what the file must hold at each moment.

use super::check::check;
use super::hand::{Hand, Mode};
use super::path::{Act, Path, Session, Shape};
use striae_core::endian::ByteOrder;
use striae_core::sion::writer::WriteError;
use striae_core::sion::{Finished, Memory, Options, Pen};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_kit::power::{Again, MAX_LEN, PowerStore, Promises};

/// A task's chunks as they should be.
pub(crate) type Chunks = Vec<Vec<u8>>;

/// What a file can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// No SIONlib file.
    Nothing,
    /// Created, never committed.
    Unclosed,
    /// Committed, with these tasks.
    Committed(Vec<Chunks>),
}

/// A path that is being written.
#[derive(Debug)]
pub(crate) struct Run<'p> {
    pub(crate) shape: &'p Shape,
    pub(crate) store: PowerStore,
    pub(crate) promises: Promises<State>,
    pub(crate) mode: Mode,
    pub(crate) again: Again,
    /// Entries of the log when the first act failed.
    pub(crate) failed_at: Option<usize>,
    /// What is written, committed or not.
    tasks: Vec<Chunks>,
    next: u8,
}

pub(crate) type Failure = WriteError<PowerStore>;

impl<'p> Run<'p> {
    /// Nothing was written yet to `store`, which holds a file in this state.
    pub(crate) fn new(shape: &'p Shape, store: PowerStore, state: State, first: u8) -> Self {
        let promises = Promises::new(state);
        let (mode, again) = (Mode::Blocking, Again::Never);
        let (failed_at, tasks, next) = (None, Vec::new(), first);
        Self { shape, store, promises, mode, again, failed_at, tasks, next }
    }

    /// The run if the program is killed after `ops` operations.
    pub(crate) fn killed_after(&self, ops: usize, first: u8) -> Self {
        let (store, promises) = (self.store.killed_after(ops), self.promises.killed_after(ops));
        Self { promises, ..Self::new(self.shape, store, State::Nothing, first) }
    }

    /// Writes all of a path.
    pub(crate) fn of(path: &'p Path) -> Self {
        let mut run = Self::new(&path.shape, PowerStore::default(), State::Nothing, 1);
        for session in path.sessions {
            run.session(*session).unwrap();
        }
        run
    }

    /// Does a session.
    pub(crate) fn session(&mut self, session: Session) -> Result<(), Failure> {
        let (mut pens, mut ledger) = (vec![Pen::EMPTY; 5], [Finished::EMPTY; 64]);
        let mut window = vec![0; self.shape.window];
        let memory = Memory { pens: &mut pens, ledger: &mut ledger, window: &mut window };
        let (mut writer, acts) = match session {
            Session::Create(acts) => (self.create(memory)?, acts),
            Session::Reopen(acts) => (self.reopen(memory)?, acts),
        };
        for act in acts {
            let Err(error) = self.act(&mut writer, *act) else { continue };
            if self.again == Again::Never || !matches!(error, DriveError::Store(_)) {
                return Err(error);
            }
            self.failed_at.get_or_insert(self.store.ops());
            self.store.limit(MAX_LEN);
            if self.again == Again::AtOnce && matches!(act, Act::Commit | Act::Close) {
                self.act(&mut writer, *act)?;
            }
        }
        Ok(())
    }

    fn options(&self) -> Options<'p> {
        let Shape { mapping, sealed, ahead, .. } = self.shape;
        Options { mapping, sealed: *sealed, ahead: *ahead, ..Options::default() }
    }

    pub(crate) fn create<'m>(&mut self, memory: Memory<'m>) -> Result<Hand<'m>, Failure>
    where
        'p: 'm,
    {
        // The old file goes before the new one comes.
        self.promises.begin(&self.store, State::Nothing);
        self.promises.begin(&self.store, State::Unclosed);
        self.tasks = vec![vec![vec![]]; self.shape.tasks.len()];
        let writer = self.mode.create(self.shape, &self.store, memory, self.options())?;
        self.promises.end(&self.store);
        Ok(writer)
    }

    pub(crate) fn reopen<'m>(&mut self, memory: Memory<'m>) -> Result<Hand<'m>, Failure>
    where
        'p: 'm,
    {
        // A commit that failed may be there or not.
        let (ops, live) = (self.store.ops(), self.store.live().to_vec());
        if let Ok(State::Committed(tasks)) =
            check(self.shape, &live, self.promises.allowed(ops, ops))
        {
            self.tasks = tasks.clone();
        }
        self.mode.reopen(self.shape, &self.store, memory, self.options())
    }

    pub(crate) fn act(&mut self, writer: &mut Hand<'_>, act: Act) -> Result<(), Failure> {
        match act {
            Act::Write(task, percent) => self.write(writer, task, percent, false)?,
            Act::Record(task, percent) => self.write(writer, task, percent, true)?,
            Act::Commit | Act::Close => {
                self.promises.begin(&self.store, State::Committed(self.tasks.clone()));
                if matches!(act, Act::Commit) {
                    writer.commit()?
                } else {
                    writer.close()?
                }
                self.promises.end(&self.store);
                if matches!(act, Act::Close) {
                    self.promises.closed(self.store.size().unwrap());
                }
            }
        }
        Ok(())
    }

    /// Writes so many percent of a chunk to a task, or to the only one that there is.
    fn write(
        &mut self,
        writer: &mut Hand<'_>,
        task: u32,
        percent: usize,
        is_record: bool,
    ) -> Result<(), Failure> {
        let task = task % u32::try_from(self.tasks.len()).unwrap();
        let index = usize::try_from(task).unwrap();
        let chunksize = usize::try_from(self.shape.tasks[index].1).unwrap();
        let bytes: Vec<u8> = (0..chunksize * percent / 100).map(|_| self.next_byte()).collect();
        let before = *writer.cursor(task);
        let (result, is_record, bytes) = if self.shape.attributes.keyval {
            let key = u64::MAX - u64::from(self.next);
            let header = [key, u64::try_from(bytes.len()).unwrap()];
            let is_big = writer.meta1().order() == ByteOrder::Big;
            let header = header.map(|n| if is_big { n.to_be_bytes() } else { n.to_le_bytes() });
            let result = writer.write_key(task, key, &bytes);
            (result, false, [header.as_flattened(), &bytes].concat())
        } else if is_record {
            (writer.write_record(task, &bytes), true, bytes)
        } else {
            (writer.write(task, &bytes), false, bytes)
        };
        if result.is_err() {
            assert_eq!(*writer.cursor(task), before, "nothing of it is in the stream");
            return result;
        }
        let chunks = &mut self.tasks[index];
        if is_record && chunks[chunks.len() - 1].len() + bytes.len() > chunksize {
            chunks.push(Vec::new());
        }
        append(chunks, chunksize, &bytes);
        result
    }

    /// Bytes that are not zero, and not the same in the next round.
    fn next_byte(&mut self) -> u8 {
        self.next = self.next % 251 + 1;
        self.next
    }
}

/// Appends to the stream that lies in `chunks`, filling each.
fn append(chunks: &mut Chunks, chunksize: usize, bytes: &[u8]) {
    for &byte in bytes {
        if chunks[chunks.len() - 1].len() == chunksize {
            chunks.push(Vec::new());
        }
        let last = chunks.len() - 1;
        chunks[last].push(byte);
    }
}
