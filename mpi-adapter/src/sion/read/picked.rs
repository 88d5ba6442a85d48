//! What a rank keeps of the entries of a set.

use super::Wanted;
use super::entries::{Entry, Place};
use super::source::{MAX_KEPT, OfFile, OlderFile, Source, TaskEntry};
use super::streams::Streams;
use crate::error::{Code, Failure};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::Path;
use striae_core::sion::Task;
use striae_core::store::ReadAt;

/// What a rank has kept of the entries of a set.
pub(super) struct Picked<'a> {
    wanted: &'a Wanted,
    /// This rank and the number of ranks.
    rank: (u32, u32),
    /// The numbers of the tasks, if they are dealt or chosen by number, in order.
    numbers: Vec<u64>,
    dealt: Range<u64>,
    /// The global ranks that are chosen, and whether they were seen.
    globalranks: BTreeMap<i64, bool>,
    ntasks: u64,
    older: Vec<OlderFile>,
    /// The first file.
    first: Option<OfFile>,
    /// The number of the next task.
    next: u64,
    /// The current file and its globalskip, and whether it is in `files`.
    file: Option<(OfFile, u64)>,
    is_known: bool,
    files: Vec<OfFile>,
    tasks: Vec<(u64, usize, Task)>,
}

impl<'a> Picked<'a> {
    pub(super) fn new(wanted: &'a Wanted, rank: u32, size: u32) -> Self {
        let (mut numbers, mut globalranks) = (Vec::new(), BTreeMap::new());
        match wanted {
            Wanted::Dealt => {}
            Wanted::Tasks(tasks) => numbers.clone_from(tasks),
            Wanted::Globalranks(ranks) => globalranks.extend(ranks.iter().map(|r| (*r, false))),
        }
        numbers.sort_unstable();
        numbers.dedup();
        Self {
            wanted,
            rank: (rank, size),
            numbers,
            dealt: 0..0,
            globalranks,
            ntasks: 0,
            older: Vec::new(),
            first: None,
            next: 0,
            file: None,
            is_known: false,
            files: Vec::new(),
            tasks: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, entry: Entry) -> Result<(), Failure> {
        match entry {
            Entry::Set { ntasks } => {
                self.ntasks = ntasks;
                self.dealt = crate::even_part(ntasks, self.rank.0, self.rank.1);
                let wrong = self.numbers.last().filter(|task| **task >= ntasks);
                wrong.map_or(Ok(()), |task| {
                    let text = format_args!("there is no task {task}, the set has {ntasks} tasks");
                    Err(Failure::new(Code::Refused, text))
                })
            }
            Entry::Older(older) => {
                self.older.push(older);
                Ok(())
            }
            Entry::File { number, path, head, globalskip } => {
                let file = OfFile { number, path, head: *head };
                self.first.get_or_insert_with(|| file.clone());
                (self.file, self.is_known) = (Some((file, globalskip)), false);
                Ok(())
            }
            Entry::Task(place) => self.take_task(place),
        }
    }

    fn take_task(&mut self, place: Place) -> Result<(), Failure> {
        let task = self.next;
        self.next = task.saturating_add(1);
        let is_mine = match self.wanted {
            Wanted::Dealt => self.dealt.contains(&task),
            Wanted::Tasks(_) => self.numbers.binary_search(&task).is_ok(),
            Wanted::Globalranks(_) => match self.globalranks.get_mut(&place.globalrank) {
                None => false,
                Some(seen) if *seen => {
                    let rank = place.globalrank;
                    let text = format_args!("several tasks have the global rank {rank}");
                    return Err(Failure::new(Code::Refused, text));
                }
                Some(seen) => {
                    *seen = true;
                    true
                }
            },
        };
        let Some((of, globalskip)) = self.file.as_ref().filter(|_| is_mine) else {
            return Ok(());
        };
        if !std::mem::replace(&mut self.is_known, true) {
            self.files.push(of.clone());
        }
        let file = self.files.len().saturating_sub(1);
        self.tasks.push((task, file, place.task(*globalskip)));
        Ok(())
    }

    /// Opens the files of the tasks of this rank, and reads the lengths of the chunks.
    pub(super) fn open<F>(
        self,
        open: impl Fn(&Path) -> io::Result<F>,
    ) -> Result<Streams<F>, Failure>
    where
        for<'f> &'f F: ReadAt<Error = io::Error>,
    {
        if let Some((rank, _)) = self.globalranks.iter().find(|(_, seen)| !**seen) {
            let text = format_args!("no task has the global rank {rank}");
            return Err(Failure::new(Code::Refused, text));
        }
        let counts = self.tasks.iter().map(|(_, _, place)| place.blockcount);
        let count = counts.fold(0, u64::saturating_add);
        if count > MAX_KEPT {
            let text = format_args!(
                "the tasks of a rank have {count} chunks, at most {MAX_KEPT} are read: more ranks \
                 must read the set"
            );
            return Err(Failure::new(Code::Refused, text));
        }
        let open = |of: OfFile| {
            let file = open(&of.path).map_err(|error| Failure::io(of.path.display(), &error))?;
            Ok(Source { of, file })
        };
        let files = self.files.into_iter().map(open).collect::<Result<Vec<_>, Failure>>()?;
        let entry = |(task, file, place): (u64, usize, Task)| {
            let none = || Failure::new(Code::Refused, format_args!("task {task} is in no file"));
            let (ends, bytes) = files.get(file).ok_or_else(none)?.ends(task, place)?;
            Ok(TaskEntry { task, place, bytes, file, ends })
        };
        let tasks = self.tasks.into_iter().map(entry).collect::<Result<_, Failure>>()?;
        let Self { ntasks, older, first, .. } = self;
        Ok(Streams { ntasks, older, first, files, tasks })
    }
}
