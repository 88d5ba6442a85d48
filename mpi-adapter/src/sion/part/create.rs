//! How a physical file is made by the ranks that have tasks in it.

use super::reopen::unowned;
use super::table::{Collectors, PIECE, entries, pieces, read, store};
use super::tasks::{Groups, Mine, Request, Requests, Task, sum_of};
use super::{CHECKSUM, Part, WINDOW, failed, io_failure, parts_of, refused};
use crate::collect::Handle;
use crate::collective::{Collective, Fold};
use crate::error::{Code, Error, Failure};
use crate::file::{SharedFile, cache_of, words_of};
use std::ops::Range;
use striae_core::endian::{ByteOrder, I64};
use striae_core::integrity::Crc32cParts;
use striae_core::sion::create::{Front, write_tables};
use striae_core::sion::locate::ChunkSum;
use striae_core::sion::{Attributes, Blocks, Book, ChunkRule, Chunks, Meta1, Pen};
use striae_core::store::usize_to_u64;
use zerocopy::FromBytes;

/// What a physical file is to be; equal at all of its ranks but for their own tasks.
pub(in crate::sion) struct Plan<'a> {
    pub(in crate::sion) attributes: Attributes,
    /// The number of tasks of the file.
    pub(in crate::sion) ntasks: u64,
    /// The name of the set that is stored for SIONlib.
    pub(in crate::sion) prefix: &'a [u8],
    pub(in crate::sion) sealed: bool,
    /// How the chunks are laid out. The sizes of `tasks` are as stored if it is `Aligned`, else as
    /// requested.
    pub(in crate::sion) rule: ChunkRule,
    /// The files of all tasks of the set.
    pub(in crate::sion) groups: Groups,
    /// The entries of the mapping, which only the first of several files has.
    pub(in crate::sion) entries: u64,
    /// The tasks of this rank, in the order of their local ranks.
    pub(in crate::sion) tasks: Vec<Request>,
}

/// The offset of the first chunk of a task, and the stored size of its chunks.
#[derive(Debug, Clone, Copy)]
struct Place {
    start: u64,
    chunksize: u64,
}

/// A rank's part of a file that is being made.
struct Begun<'a> {
    plan: Plan<'a>,
    meta1: Meta1,
    front: Front,
    sums: Crc32cParts,
    /// At rank 0, if records are merged.
    collectors: Collectors,
}

impl<'a> Begun<'a> {
    fn new(plan: Plan<'a>) -> Result<Self, Failure> {
        let meta1 = Meta1::new(&plan.attributes, plan.ntasks).map_err(refused)?;
        let front = Front::new(&meta1, plan.prefix).map_err(refused)?;
        let (sums, collectors) = (Crc32cParts::NONE, Collectors::default());
        Ok(Self { plan, meta1, front, sums, collectors })
    }

    fn book(&self, globalskip: u64) -> Result<(Blocks, Book), Failure> {
        let blocks = Blocks { first: self.meta1.layout().first_chunk(), globalskip };
        let Plan { entries, sealed, .. } = self.plan;
        let book = Book::create(&self.meta1, &blocks, entries, sealed);
        Ok((blocks, book.map_err(refused)?))
    }

    /// Writes the entries of this rank in META1's tables.
    fn write_tables<C: Collective, F: SharedFile>(
        mut self,
        file: &Handle<C, F>,
    ) -> Result<Self, Failure> {
        file.open_as_writer()?;
        let requests = Requests { ntasks: self.plan.ntasks, tasks: &self.plan.tasks };
        for range in requests.runs() {
            let len = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
            let mut window = vec![0; len.saturating_mul(8).clamp(8, WINDOW)];
            let (store, crc) = (&mut file.io(), Some(CHECKSUM));
            let sums = write_tables(&self.meta1, range, &requests, crc, store, &mut window);
            self.sums = self.sums.join(sums.map_err(failed("writing META1"))?);
        }
        Ok(self)
    }

    /// The state of a file of which this is the rank's part, with the places of its tasks.
    fn end(self, (crc, globalskip): (u64, u64), places: &[Place]) -> Result<(Book, Mine), Failure> {
        let (_, book) = self.book(globalskip)?;
        let Plan { tasks, sealed, groups, .. } = self.plan;
        let task = |(request, place): (&Request, &Place)| {
            let (Request { local, globalrank, .. }, Place { start, chunksize }) =
                (*request, *place);
            let chunks = Chunks { start, chunksize, globalskip: Some(globalskip) };
            Task::new(globalrank, Pen::new(local, chunks, sealed))
        };
        let tasks = tasks.iter().zip(places).map(task).collect();
        let book = book.with_meta1_crc(u32::try_from(crc).unwrap_or(0));
        Ok((book, Mine::new(tasks, groups)))
    }
}

/// How the ranks of a new file know that each of its tasks has one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::sion) enum Claim {
    /// Each rank has one, in the order of the ranks.
    OneEach,
    /// Global ranks follow each other: rank 0 looks at those that the ranks have written.
    Numbered,
    /// Global ranks are any: rank 0 gathers the local ones.
    Placed,
}

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// Makes a file. Rank 0 makes it when all ranks want it, and before any other opens it. This
    /// takes three calls of the message layer, one more if tasks are `Numbered`, two if they are
    /// `Placed`; unless each rank has one task and chunks are aligned, two more for each 64 Ki
    /// tasks.
    pub(in crate::sion) fn create(
        comm: C,
        claim: Claim,
        plan: Result<Plan<'_>, Failure>,
        mut file: Handle<C, F>,
    ) -> Result<Self, Error> {
        let begun = plan.and_then(Begun::new);
        let (begun, before) = begun_by_all(&comm, claim, begun, &file)?;
        let written = begun.and_then(|begun| begun.write_tables(&file));
        let (begun, seen) = front(&comm, &mut file, written, claim)?;
        let (rule, is_one_each) = (begun.plan.rule, claim == Claim::OneEach);
        let (places, group) = match (rule, begun.plan.tasks.first()) {
            (ChunkRule::Aligned, Some(task)) if is_one_each => {
                let start = begun.meta1.layout().first_chunk().saturating_add(before);
                (vec![Place { start, chunksize: task.chunksize }], 0..0)
            }
            _ => places(&comm, &file, &begun)?,
        };
        // Rank 0 found it right.
        let (book, mine) = begun.end(seen, &places).map_err(Error::agreed)?;
        // Groups are of ranks if the local ranks are theirs.
        let merges = is_one_each && matches!(rule, ChunkRule::Merged(_));
        Ok(Self { merged: merges.then_some(group), ..Self::of(comm, file, book, mine) })
    }
}

/// What a rank has begun, and the sum of the sizes of the chunks of all lower ranks, if each has
/// one.
type Agreed<'a> = (Result<Begun<'a>, Failure>, u64);

/// Rank 0 makes the file when all are known to want the same, the others open it after that.
fn begun_by_all<'a, C: Collective, F: SharedFile>(
    comm: &C,
    claim: Claim,
    begun: Result<Begun<'a>, Failure>,
    file: &Handle<C, F>,
) -> Result<Agreed<'a>, Error> {
    if claim == Claim::OneEach {
        let mine = begun.as_ref().map_err(Clone::clone);
        let mine = mine.and_then(|begun| Ok([sum_of(&begun.plan.tasks)?]));
        let [before] = comm.exscan_after(mine, || file.make())?;
        return Ok((begun, before));
    }
    let mut mine = begun.as_ref().map(drop).map_err(Clone::clone);
    if claim == Claim::Placed {
        let locals = begun
            .as_ref()
            .map_err(Clone::clone)
            .map(|begun| (begun.meta1.ntasks(), begun.plan.tasks.iter().map(|task| task.local)));
        if let Some(missing) = unowned(comm, locals)?.first() {
            let text = format_args!("no rank has task {} of a file", missing.start);
            mine = Err(Failure::new(Code::Refused, text));
        }
    }
    let [] = comm.decide(mine.map(|()| []), [], |[]| file.make().map(|()| []))?;
    Ok((begun, 0))
}

/// Rank 0 completes META1 when the tables of all ranks are written, if each task has a rank.
/// Returns the checksum of META1 and globalskip. The ranks learn where rank 0 syncs the file.
fn front<'a, C: Collective, F: SharedFile>(
    comm: &C,
    file: &mut Handle<C, F>,
    written: Result<Begun<'a>, Failure>,
    claim: Claim,
) -> Result<(Begun<'a>, (u64, u64)), Error> {
    let delivered = match comm.error() {
        Some(error) => Err(error.into()), // at all ranks: none waits for the message of a lost one
        None => file.deliver(written.as_ref().map(drop).map_err(Clone::clone)),
    };
    let mut written = delivered.and(written);
    let mine = written.as_ref().map_err(Clone::clone);
    let mine = mine.and_then(|begun| {
        let count = usize_to_u64(begun.plan.tasks.len());
        Ok([begun.sums.word().into(), sum_of(&begun.plan.tasks)?, count])
    });
    let folds = [Fold::Xor, Fold::Sum, Fold::Sum];
    let [crc, globalskip, cache @ ..] = comm.decide(mine, folds, |[sums, globalskip, count]| {
        let begun = written.as_mut().map_err(|failure| failure.clone())?;
        if count != begun.plan.ntasks {
            let ntasks = begun.plan.ntasks;
            let text = format_args!("the ranks have {count} tasks of a file of {ntasks} tasks");
            return Err(Failure::new(Code::Refused, text));
        }
        if claim == Claim::Numbered {
            check_tables(file, begun)?;
        }
        let (sums, globalskip) = match begun.plan.rule {
            ChunkRule::Aligned => (parts_of(sums), globalskip),
            rule => {
                let stored = store(file, &begun.meta1, rule, parts_of(sums))?;
                begun.collectors = stored.collectors;
                (stored.sums, stored.globalskip)
            }
        };
        begun.book(globalskip)?; // before anything can be seen
        let crc = begun.front.meta1_crc(sums, Some(CHECKSUM));
        begun.front.write(&mut file.io()).map_err(io_failure("writing META1"))?;
        let [low, high, device] = words_of(comm, || file.cache());
        Ok([crc.into(), globalskip, low, high, device])
    })?;
    file.synced_in(cache_of(cache));
    Ok((written.map_err(Error::agreed)?, (crc, globalskip)))
}

/// Checks that each task was written by a rank. There are as many as the ranks have, so that none
/// has two ranks if none is missing.
fn check_tables<C: Collective, F: SharedFile>(
    file: &Handle<C, F>,
    begun: &Begun<'_>,
) -> Result<(), Failure> {
    let (order, table) = (begun.meta1.order(), begun.meta1.layout().globalranks());
    let mut expected = i64::from(begun.plan.groups.first(begun.plan.attributes.filenumber));
    for piece in pieces(table) {
        for entry in entries(&read(file, piece)?) {
            if entry.get(order) != expected {
                let text = format_args!("no rank has task {expected}, or two have another one");
                return Err(Failure::new(Code::Refused, text));
            }
            expected = expected.saturating_add(1);
        }
    }
    Ok(())
}

/// The places of this rank's tasks, and the tasks of the group of the first of them, if records are
/// merged. Rank 0 reads the sizes of all chunks, and sends them to all ranks in windows; a size is
/// negative if the task is a collector.
fn places<C: Collective, F: SharedFile>(
    comm: &C,
    file: &Handle<C, F>,
    begun: &Begun<'_>,
) -> Result<(Vec<Place>, Range<u32>), Error> {
    let (layout, order) = (*begun.meta1.layout(), begun.meta1.order());
    let mut wanted = begun.plan.tasks.iter().map(|task| task.local).peekable();
    let first = wanted.peek().copied().unwrap_or(0);
    let (mut sum, mut local, mut places) = (ChunkSum::new(layout), 0u32, Vec::new());
    let mut group = 0..begun.meta1.ntasks();
    for piece in pieces(layout.chunksizes()) {
        let mine = match comm.rank() {
            0 => read(file, piece).map(|sizes| marked(sizes, local, &begun.collectors, order)),
            _ => Ok(Vec::new()),
        };
        let mine = mine.as_deref().map_err(Clone::clone);
        let bytes = comm.bcast(0, mine, PIECE)?;
        for entry in entries(&bytes) {
            let (start, size) = (layout.first_chunk().saturating_add(sum.sum()), entry.get(order));
            let wrong = |error| Error::agreed(refused(error));
            let chunksize = sum.add(size & i64::MAX).map_err(wrong)?;
            match size < 0 {
                true if local <= first => group.start = local,
                true => group.end = group.end.min(local),
                false => {}
            }
            if wanted.next_if_eq(&local).is_some() {
                places.push(Place { start, chunksize });
            }
            local = local.saturating_add(1);
        }
    }
    Ok((places, group))
}

/// Sizes of chunks from that of task `local` on, of which those of collectors are made negative.
fn marked(mut sizes: Vec<u8>, local: u32, collectors: &Collectors, order: ByteOrder) -> Vec<u8> {
    for (local, size) in (local..).zip(<[I64]>::mut_from_bytes(&mut sizes).unwrap_or_default()) {
        if collectors.contains(local) {
            *size = I64::new(size.get(order) | i64::MIN, order);
        }
    }
    sizes
}
