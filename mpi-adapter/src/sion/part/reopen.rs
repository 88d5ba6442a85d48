//! How the ranks go on with a file that was committed or closed.

use super::tasks::{Groups, Mine, Task, runs};
use super::{CHECKSUM, Part, WINDOW, differ};
use crate::collect::Handle;
use crate::collective::{Collective, gather_numbers};
use crate::error::{Code, Error, Failure};
use crate::file::{SharedFile, agree_in_cache};
use std::io;
use std::ops::Range;
use striae_core::sion::cursor::Cursor;
use striae_core::sion::pen::Finished;
use striae_core::sion::recover::{Remains, Sparse};
use striae_core::sion::seal::checksum_of;
use striae_core::sion::{
    Blocks, Book, Error as SionError, Head, Meta1, Opened, Pen, Physical, ReadError, SealState,
    Varheader, VarheaderShape,
};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt};

/// A file that is appended to, as a rank knows it.
pub(in crate::sion) struct Old {
    pub(in crate::sion) head: Head,
    /// Whether commits are to seal the file; as it is, unless told.
    pub(in crate::sion) sealed: Option<bool>,
    /// The tasks of this rank, in the order of their local ranks.
    pub(in crate::sion) tasks: Vec<Resumed>,
}

/// A task at the end of its stream.
pub(in crate::sion) struct Resumed {
    pub(in crate::sion) number: u32,
    pub(in crate::sion) local: u32,
    pub(in crate::sion) cursor: Cursor,
    /// The checksum of the last chunk, if the file is to be sealed.
    pub(in crate::sion) crc: Option<u32>,
    /// All chunks but the last, if they are to be sealed anew.
    pub(in crate::sion) renewed: Option<Vec<Finished>>,
}

impl<C: Collective, F: SharedFile> Part<C, F> {
    /// Opens a file to append to it. Also returns the largest number of a commit of the set in it.
    /// This takes three calls of the message layer.
    pub(in crate::sion) fn reopen(
        comm: C,
        old: Result<Old, Failure>,
        mut file: Handle<C, F>,
    ) -> Result<(Self, u32), Error> {
        let locals = old
            .as_ref()
            .map_err(Clone::clone)
            .map(|old| (old.head.meta1.ntasks(), old.tasks.iter().map(|task| task.local)));
        let unowned = unowned(&comm, locals)?;
        let mine = old.as_ref().map(|_| []).map_err(Clone::clone);
        let state = comm.decide(mine, [], |[]| {
            let old = old.as_ref().map_err(Clone::clone)?;
            file.open_first()?;
            state(&file, &old.head, old.sealed, !unowned.is_empty())
        })?;
        let begun = old.and_then(|old| {
            let book = book(&old, state)?;
            file.open_as_writer()?;
            let task = |resumed: Resumed| {
                let Resumed { number, local, cursor, crc, renewed } = resumed;
                Task::resume(number, Pen::resume(local, cursor, crc), renewed)
            };
            let tasks = old.tasks.into_iter().map(task).collect();
            let mine = Mine::new(tasks, Groups::Listed(Vec::new())); // the mapping is there
            Ok((book, mine.with_unowned(unowned)))
        });
        let ((book, mine), cache) = agree_in_cache(&comm, begun, |_| file.cache())?;
        file.synced_in(cache);
        Ok((Self::of(comm, file, book, mine), last_of(state)))
    }
}

/// Length in bytes of the messages of a gather.
const MESSAGE: usize = 1 << 16;

/// A file without a seal is to have one.
const TO_BE_SEALED: u64 = 2;

/// The tasks that no rank owns, at rank 0, which has a bit for each task of the file. No task may
/// have two ranks.
/// `mine` is the number of tasks, and the local ranks of this rank.
pub(super) fn unowned<C: Collective>(
    comm: &C,
    mine: Result<(u32, impl IntoIterator<Item = u32>), Failure>,
) -> Result<Vec<Range<u32>>, Error> {
    let ntasks = mine.as_ref().map_or(0, |(ntasks, _)| *ntasks);
    let ntasks = if comm.rank() == 0 { ntasks } else { 0 };
    let index = |local: u32| usize::try_from(local >> 3).unwrap_or(usize::MAX);
    let mut owned = vec![0u8; index(ntasks).saturating_add(1)];
    gather_numbers(comm, 0, mine.map(|(_, locals)| locals), MESSAGE, |_, locals| {
        for &local in locals {
            let (Some(bits), bit) = (owned.get_mut(index(local)), 1u8 << (local & 7)) else {
                continue; // of the file: all have the same head
            };
            if *bits & bit != 0 {
                let text = format_args!("two ranks have task {local} of a file");
                return Err(Failure::new(Code::Refused, text));
            }
            *bits |= bit;
        }
        Ok(())
    })?;
    let is_owned =
        |local: &u32| owned.get(index(*local)).is_some_and(|bits| bits & (1u8 << (local & 7)) != 0);
    Ok(runs((0..ntasks).filter(|local| !is_owned(local))).collect())
}

/// What rank 0 finds of a commit.
pub(super) type State = [u64; 6];

/// What rank 0 finds: the place of META2; its number of rows, and the checksum of META1; the length
/// of the mapping; whether it is sealed and is to be, and the set that the seal names; globalskip;
/// the number of its commit in the set, and the largest such number that is in the file.
pub(super) fn state<C: Collective, F: SharedFile>(
    file: &Handle<C, F>,
    head: &Head,
    sealed: Option<bool>,
    has_unowned: bool,
) -> Result<State, Failure> {
    let state = read_state(file, head, sealed).map_err(|error| match error {
        DriveError::Store(error) => Failure::io("reading META2", &error),
        DriveError::Ended { .. } => changed(),
        DriveError::Format(error @ SionError::NotClosed { .. }) => {
            Failure::new(Code::Unclosed, error)
        }
        DriveError::Format(error) if error.blames_caller() => Failure::new(Code::Refused, error),
        _ => Failure::new(Code::Damaged, error),
    })?;
    let [_, _, _, seals, ..] = state;
    if seals == TO_BE_SEALED && has_unowned {
        let text = "to seal a file, each of its tasks must be owned by a rank";
        return Err(Failure::new(Code::Refused, text));
    }
    Ok(state)
}

fn read_state<C: Collective, F: SharedFile>(
    file: &Handle<C, F>,
    head: &Head,
    sealed: Option<bool>,
) -> Result<State, DriveError<io::Error, SionError>> {
    // What is visible may be the last words of a program that was killed, and not durable.
    file.io().sync().map_err(DriveError::Store)?;
    let not_closed = || {
        let offset = head.meta1.layout().commit_fields().offset();
        DriveError::Format(SionError::NotClosed { offset })
    };
    let Opened::Closed(physical) = Physical::open(file.io(), &mut [0; Meta1::MAX_LEN])? else {
        return Err(not_closed());
    };
    let mut window = vec![0; WINDOW];
    let seal = match physical.seal() {
        Ok(SealState::Sealed(seal)) => Some(seal),
        Ok(_) => None,
        // Whoever takes the seal away need not be told that it is damaged.
        Err(DriveError::Format(_)) if sealed == Some(false) => None,
        Err(error) => return Err(error),
    };
    let (published, crc) = match seal {
        Some(seal) if sealed != Some(false) => {
            let crc = seal.check_metadata(physical.store(), CHECKSUM, &mut window)?;
            (Some(*seal.varheader()), crc)
        }
        Some(seal) => (Some(*seal.varheader()), front_crc(&physical, &mut window)?),
        None => {
            let mapping = physical.mapping()?;
            let published = Varheader::of(physical.head(), mapping.as_ref());
            (published, front_crc(&physical, &mut window)?)
        }
    };
    let published = published.ok_or_else(not_closed)?;
    let first = physical.tasks(window)?.next().transpose()?;
    let globalskip = first.and_then(|first| first.task.chunks.globalskip).unwrap_or(0);
    let is_sealed = published.is_sealed();
    let seals = u32::from(is_sealed) | u32::from(sealed.unwrap_or(is_sealed)) << 1;
    let seals = pair(seals, published.set_identity());
    let blocks = Blocks { first: head.meta1.layout().first_chunk(), globalskip };
    let last = last_number(file, head, &blocks, &published)?;
    let (meta2, mapping_len) = (pair(published.maxchunks(), crc), published.shape().mapping_len());
    let numbers = pair(published.set_number(), last);
    Ok([published.start(), meta2, mapping_len, seals, globalskip, numbers])
}

/// The largest number of a commit of the set that is in the file: a commit that failed may have
/// left one that nobody sees, and no other commit may have that number.
fn last_number<C: Collective, F: SharedFile>(
    file: &Handle<C, F>,
    head: &Head,
    blocks: &Blocks,
    published: &Varheader,
) -> Result<u32, DriveError<io::Error, SionError>> {
    let is_closed = blocks.is_close(published.maxchunks(), published.start())
        && published.span().end() == head.file_len;
    if is_closed || head.meta1.files_in_set() < 2 {
        return Ok(published.set_number()); // the file has no place for another one
    }
    let (store, mut window) = (Filled(file.io()), vec![0; WINDOW]);
    Remains::read(&store, CHECKSUM, &mut window)?.last_set_number(&store, &mut window)
}

/// A file whose holes are not known.
struct Filled<S>(S);

impl<S: ReadAt> ReadAt for Filled<S> {
    type Error = S::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, S::Error> {
        self.0.read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, S::Error> {
        self.0.size()
    }
}

impl<S: ReadAt> Sparse for Filled<S> {}

/// The checksum of META1 before the commit fields.
fn front_crc<S: ReadAt>(file: &Physical<S>, window: &mut [u8]) -> Result<u32, ReadError<S>> {
    let front = Span::new(0, file.meta1().layout().commit_fields().offset());
    checksum_of(file.store(), front.unwrap_or(Span::ZERO), 0, CHECKSUM, window)
}

/// The Book of the file, which all ranks have equally.
fn book(old: &Old, state: State) -> Result<Book, Failure> {
    let [.., seals, _, _] = state;
    if old.sealed.is_some_and(|mine| mine != (seals & 2 != 0)) {
        return Err(differ());
    }
    let book = book_of(&old.head.meta1, state).filter(|book| {
        let place = |at: &Varheader| (at.start(), at.maxchunks());
        let seen = old.head.meta2.map(|it| (it.start(), it.maxchunks()));
        seen.is_some() && book.published().map(place) == seen
    });
    book.ok_or_else(changed)
}

/// The Book of a file whose last commit is in this state, if it is one.
pub(super) fn book_of(meta1: &Meta1, state: State) -> Option<Book> {
    let [start, meta2, mapping_len, seals, globalskip, numbers] = state;
    let ([rows, crc], [number, _]) = (halves(meta2), halves(numbers));
    let [seals, identity] = halves(seals);
    let [was_sealed, sealed] = [seals & 1 != 0, seals & 2 != 0];
    let shape = VarheaderShape::new(meta1.layout(), rows, mapping_len, was_sealed)?;
    let published = shape.at(start)?.with_set_identity(identity).with_set_number(number)?;
    let blocks = Blocks { first: meta1.layout().first_chunk(), globalskip };
    Some(Book::reopen(meta1, &blocks, published, sealed).with_meta1_crc(crc))
}

/// The largest number of a commit of the set in a file.
pub(super) const fn last_of(state: State) -> u32 {
    let [_, _, _, _, _, numbers] = state;
    let [_, last] = halves(numbers);
    last
}

/// Two numbers in one value of a message.
const fn pair(low: u32, high: u32) -> u64 {
    let ([a, b, c, d], [e, f, g, h]) = (low.to_le_bytes(), high.to_le_bytes());
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

const fn halves(pair: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = pair.to_le_bytes();
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}

pub(super) fn changed() -> Failure {
    Failure::new(Code::Damaged, "the set changed while it was opened")
}
