//! SIONlib sets.

use crate::file::{Named, Store, Wrong};
use crate::format::Set;
use crate::json::{Json, list, row};
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use striae_core::sion::{Error, Head, Meta1, Opened, Physical, ReadError, Task, check_set, raw};
use striae_core::span::Span;
use striae_inspect::sion::{Ending, PartOfSet, Sealing, State, state};

/// Bytes of the window that tables are read in.
const WINDOW: usize = 1 << 16;

/// The files of a set, opened.
pub(crate) struct Parts<'a, S> {
    parts: Vec<(&'a Named<S>, Opened<&'a S>)>,
    /// How many files of the set are not there; it is read without them.
    missing: u32,
}

impl<'a, S: Store> Parts<'a, S> {
    pub(crate) fn open(all: &'a [Named<S>], first: &'a Named<S>) -> Result<Self, Wrong> {
        let open = |file: &'a Named<S>| {
            let opened = Physical::open(&file.store, &mut [0; Meta1::MAX_LEN]);
            opened.map(|opened| (file, opened)).map_err(Wrong::of(&file.name))
        };
        let mut parts = vec![open(first)?];
        let set = Set::sion(all, first);
        let nfiles = parts.first().map_or(1, |(_, part)| set.files_of(&part.head().meta1));
        let there = set.files().iter().filter(|(number, _)| (1..nfiles).contains(number)).count();
        let missing = nfiles.saturating_sub(1).saturating_sub(u32::try_from(there).unwrap_or(0));
        if missing == 0 {
            let others = (1..nfiles).filter_map(|number| set.file(number));
            for file in others {
                parts.push(open(file)?);
            }
            if nfiles > 1 {
                let heads = parts.iter().map(|(_, part)| part.head());
                check_set(heads).map_err(|error| Wrong::new(&first.name, error))?;
            }
        }
        Ok(Self { parts, missing })
    }

    fn heads(&self) -> impl Iterator<Item = (&'a Named<S>, &Head)> {
        self.parts.iter().map(|(file, part)| (*file, part.head()))
    }

    fn is_closed(&self) -> bool {
        self.parts.iter().all(|(_, part)| matches!(part, Opened::Closed(_)))
    }

    fn ntasks(&self) -> u64 {
        let ntasks = self.heads().map(|(_, head)| u64::from(head.meta1.ntasks()));
        ntasks.fold(0, u64::saturating_add)
    }

    /// The common first part of `ls --json` and `info --json`.
    fn summary(&self) -> Json {
        let Some((first, head)) = self.heads().next() else { return row() };
        let meta1 = head.meta1;
        let file = |(file, head): (&Named<S>, &Head)| {
            row().with("path", file.name.as_str()).with("ntasks", head.meta1.ntasks())
        };
        let part = match self.parts.as_slice() {
            [_] => PartOfSet::of(&meta1),
            _ => None,
        };
        row()
            .with("path", first.name.as_str())
            .with("format", "sion")
            .with("fileformat_version", meta1.fileformat_version().number())
            .with("meta_order", meta1.order().to_string())
            .with("data_order", meta1.data_order().to_string())
            .with("keyval", meta1.keyval().to_string())
            .with("closed", self.is_closed())
            .with("fsblksize", meta1.fsblksize())
            .with("ntasks", self.ntasks())
            .with("files", list(self.heads().map(file)))
            .with_some("part_of_set", part.map(|part| part_of(part, &first.name)))
    }

    /// The error of the first file that was never closed.
    fn not_closed(&self) -> Option<Wrong> {
        let (file, head) = self.heads().find(|(_, head)| head.meta2.is_none())?;
        let at = head.meta1.layout().commit_fields().offset();
        let field = raw::CommitFields::start_of_varheader.offset();
        let offset = at.saturating_add(field.into());
        Some(Wrong::new(&file.name, Error::NotClosed { offset }))
    }

    /// What was read without other files of its set, or was never closed.
    fn remark(&self) -> Option<Json> {
        if let Some(wrong) = self.not_closed() {
            return Some(wrong.to_string().into());
        }
        let more = self.missing;
        (more > 0).then(|| format!("{more} more files of the set are not here").into())
    }
}

/// The only file of a set that was read.
pub(crate) fn part_of(part: PartOfSet, name: &str) -> Json {
    let suffix = striae_core::sion::filename::Sibling(part.file).to_string();
    let set = name.strip_suffix(suffix.as_str()).filter(|set| !set.is_empty());
    row().with("file", part.file).with("files", part.files).with_some("set", set)
}

pub(crate) fn info<S: Store>(all: &[Named<S>], first: &Named<S>) -> Result<Json, Wrong> {
    let parts = Parts::open(all, first)?;
    let of = |(file, _): &(&Named<S>, _)| state(&file.store).map_err(Wrong::of(&file.name));
    let states = parts.parts.iter().map(of).collect::<Result<Vec<State>, _>>()?;
    let endings = states.iter().map(|state| state.ending);
    let seals = states.iter().map(|state| state.sealing);
    let row = parts.summary();
    Ok(row
        .with("ending", endings.clone().min().map_or(Ending::Unclosed.name(), Ending::name))
        .with("seal", seals.clone().min().map_or(Sealing::None.name(), Sealing::name))
        .with("endings", list(endings.map(Ending::name)))
        .with("seals", list(seals.map(Sealing::name)))
        .with_some("remark", parts.remark()))
}

pub(crate) fn ls<S: Store>(
    all: &[Named<S>],
    first: &Named<S>,
    (from, count): (u64, u64),
) -> Result<Json, Wrong> {
    let parts = Parts::open(all, first)?;
    let (mut task, mut rows) = (0_u64, Vec::new());
    let end = from.saturating_add(count);
    for (number, (file, part)) in (0_u32..).zip(&parts.parts) {
        let ntasks = u64::from(part.head().meta1.ntasks());
        if task.saturating_add(ntasks) <= from {
            task = task.saturating_add(ntasks);
            continue;
        }
        let tasks = part.tasks(vec![0; WINDOW]).map_err(Wrong::of(&file.name))?;
        for listed in tasks {
            if task >= end {
                break;
            }
            if task >= from {
                rows.push(match listed {
                    Ok(listed) => {
                        let row = of_task((task, number), listed.task);
                        with_lens(row, part, listed.task, listed.bytes, &parts)
                    }
                    Err(error) => {
                        let error = Wrong::of(&file.name)(error).to_string();
                        row().with("task", task).with("error", error)
                    }
                });
            }
            task = task.saturating_add(1);
        }
    }
    Ok(parts.summary().with("tasks", rows).with_some("remark", parts.remark()))
}

fn of_task((task, file): (u64, u32), place: Task) -> Json {
    row()
        .with("task", task)
        .with("address", format!("task/{task}"))
        .with("globalrank", place.globalrank)
        .with("file", file)
        .with("local", place.local)
        .with("chunksize", place.chunks.chunksize)
}

/// The row of a task, with the lengths of its chunks; unknown in a set that was never closed.
fn with_lens<S: Store>(
    row: Json,
    part: &Opened<&S>,
    task: Task,
    bytes: u64,
    parts: &Parts<'_, S>,
) -> Json {
    let Opened::Closed(file) = part else {
        return row.with("chunks", Json::Null).with("bytes", Json::Null);
    };
    if !parts.is_closed() {
        return row.with("chunks", Json::Null).with("bytes", Json::Null);
    }
    let (mut lens, mut error) = (Vec::new(), None);
    for len in file.chunk_lens(task, vec![0; WINDOW]) {
        match len {
            Ok(len) => lens.push(len),
            Err(found) => {
                error = Some(Wrong::of("the list of its chunks")(found).to_string());
                break;
            }
        }
    }
    row.with("chunks", lens).with("bytes", bytes).with_some("error", error)
}

/// The places of the stream of a task, or of one of its chunks: its file, and spans.
pub(crate) fn places<'a, S: Store>(
    (all, first): (&'a [Named<S>], &'a Named<S>),
    task: u64,
    chunk: Option<u64>,
) -> Result<(&'a Named<S>, Vec<Span>), Wrong> {
    let parts = Parts::open(all, first)?;
    if let Some(wrong) = parts.not_closed() {
        return Err(wrong);
    }
    let mut left = task;
    for (named, part) in &parts.parts {
        match (left.checked_sub(part.head().meta1.ntasks().into()), part) {
            (Some(more), _) => left = more,
            (None, Opened::Closed(file)) => {
                let local = u32::try_from(left).unwrap_or(u32::MAX);
                let spans = spans_of(file, local, chunk);
                return Ok((named, spans.map_err(Wrong::of(&named.name))?));
            }
            (None, Opened::Unclosed(_)) => break,
        }
    }
    Err(Wrong::new(&first.name, Error::NoTask { task, ntasks: parts.ntasks() }))
}

fn spans_of<S: Store>(
    file: &Physical<&S>,
    local: u32,
    chunk: Option<u64>,
) -> Result<Vec<Span>, ReadError<S>> {
    let place = file.task(local, &mut vec![0; WINDOW])?;
    let mut stream = file.stream(place);
    let mut spans = Vec::new();
    while let Some(span) = stream.next_span(u64::MAX)? {
        let is_wanted = chunk.is_none_or(|chunk| {
            place.chunks.chunk(chunk).is_some_and(|place| place.offset() == span.offset())
        });
        spans.extend(Some(span).filter(|_| is_wanted));
    }
    Ok(spans)
}
