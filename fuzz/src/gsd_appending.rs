//! The body of `gsd_append`: a writer that goes on with any file that can be read leaves what is in
//! it as it is, and adds what is written.

use crate::bounded::{Bounded, Full};
use crate::gsd_linear::{seal, seal_ahead, seal_shadow};
use core::ops::Range;
use striae_core::gsd::checksums::NAME;
use striae_core::gsd::error::BadName;
use striae_core::gsd::layout::MAX_PADDING;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::writer::WriteError;
use striae_core::gsd::{Chunk, ChunkType, Error, Slot, Writer};
use striae_core::step::DriveError;
use striae_kit::gsd_everything::{Summary, read_everything};

/// What is read of a file, and all bytes of it.
struct Readable<'f> {
    bytes: &'f [u8],
    summary: Summary,
}

impl<'f> Readable<'f> {
    fn new(bytes: &'f [u8]) -> Option<Self> {
        let summary = read_everything(bytes).ok()?;
        Some(Self { bytes, summary })
    }

    fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.summary.chunks.iter().flatten()
    }

    fn bytes_of(&self, chunk: &Chunk) -> &'f [u8] {
        &self.bytes[range(chunk.span.offset(), chunk.span.end())]
    }

    /// Index, names and shadow, each of which a writer may write to, as far as they reach.
    fn blocks(&self) -> Option<Vec<Range<usize>>> {
        let head = &self.summary.head;
        let record = head.state.record();
        let index = record.map_or(Some(head.header.index), |it| it.index(head.header.index));
        let (index, names) = (index?.span()?, head.header.names.span()?);
        let mut blocks =
            vec![range(index.offset(), index.end()), range(names.offset(), names.end())];
        if let Some(record) = record {
            blocks.push(range(record.shadow, record.shadow.checked_add(512)?)); // two
        }
        Some(blocks)
    }

    /// The longest that a writer may ask for: what it has to fill up an index by, doubled, and
    /// gaps.
    fn most_asked(&self) -> u64 {
        let align = self.summary.head.state.record().map_or(1, |record| 1_u64 << record.align);
        8 * (u64::try_from(self.bytes.len()).unwrap() + 32 * MAX_PADDING) + 64 * align
    }

    /// Whether what a writer may write to lies in places of its own.
    fn is_apart(&self) -> bool {
        let Some(blocks) = self.blocks() else { return false };
        let record = self.summary.head.state.record();
        let end = record.map_or(self.bytes.len(), |it| usize::try_from(it.data_end).unwrap());
        let chunks = self.chunks().map(|chunk| range(chunk.span.offset(), chunk.span.end()));
        let chunks: Vec<_> = chunks.collect();
        let has_bytes = |part: &&Range<usize>| !part.is_empty();
        // Where a chunk of no bytes is past the end, a writer ends the file before it.
        blocks.iter().chain(&chunks).all(|part| part.end <= end)
            && blocks.iter().chain(&chunks).filter(has_bytes).all(|part| part.start >= 256)
            && blocks.iter().enumerate().all(|(number, block)| {
                let others = blocks[..number].iter().chain(&chunks).filter(has_bytes);
                others.into_iter().all(|other| are_apart(block, other))
            })
    }

    /// All that was in `old` is here. What was said twice in a frame of layer 1 is said once in
    /// layer 2.
    fn assert_has(&self, old: &Self) {
        if let Ok(names) = &old.summary.names {
            assert!(self.summary.names.as_ref().unwrap().starts_with(names), "other names");
        }
        let version = |of: &Self| of.summary.head.header.version.major;
        let said = if version(self) == version(old) { Vec::new() } else { old.keys() };
        let mut here = self.summary.chunks.iter();
        for (number, chunk) in old.summary.chunks.iter().enumerate() {
            let there = if said.is_empty() { here.next() } else { None };
            let Ok(chunk) = chunk else { continue };
            if said.is_empty() {
                assert_eq!(there, Some(&Ok(*chunk)));
            } else if !self.summary.chunks.contains(&Ok(*chunk)) {
                let later = &said[number + 1..];
                assert!(later.contains(&(chunk.frame, chunk.id)), "{chunk:?} is lost");
            }
            assert_eq!(self.bytes_of(chunk), old.bytes_of(chunk), "other bytes in {chunk:?}");
        }
    }

    /// Frame and id of what is listed, also of what is no chunk.
    fn keys(&self) -> Vec<(u64, u16)> {
        let index = self.summary.head.index();
        let mut entries: Vec<_> = self.bytes[usize::try_from(index.location).unwrap()..]
            .chunks_exact(32)
            .take(usize::try_from(index.slots).unwrap())
            .collect();
        entries.dedup();
        let key = |entry: &[u8]| {
            let frame = u64::from_le_bytes(entry[..8].try_into().unwrap());
            (frame, u16::from_le_bytes(entry[28..30].try_into().unwrap()))
        };
        entries.into_iter().map(key).collect()
    }

    /// There is nothing in it that was not appended behind a truncation.
    fn is_emptied(&self) -> bool {
        let Ok(names) = &self.summary.names else { return false };
        let is_new = |chunk: &Chunk| {
            chunk.kind == ChunkType::U16 && (chunk.n, chunk.m) == (1, 3)
                || names[usize::from(chunk.id)] == NAME
        };
        names.iter().all(|name| NAMES.contains(&name.as_slice()))
            && self.summary.chunks.iter().all(|chunk| chunk.as_ref().is_ok_and(is_new))
    }
}

fn are_apart(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.end <= other.start || other.end <= one.start
}

fn range(start: u64, end: u64) -> Range<usize> {
    usize::try_from(start).unwrap()..usize::try_from(end).unwrap()
}

/// Names that are appended to.
const NAMES: [&[u8]; 4] = [b"a", b"n0", b"a/new/name/of/some/length", NAME];

/// The input is three bytes of choices and a GSD file, of which checksums are made right, or not.
pub fn gsd_append(data: &[u8]) {
    let Some((&[choices, memory, killed], bytes)) = data.split_first_chunk() else { return };
    let mut bytes = bytes.to_vec();
    if bytes.get(176..).is_some_and(|record| record.starts_with(b"striae\0\x01")) {
        let seals: [fn(&mut [u8]); 3] = [seal_shadow, seal, seal_ahead];
        seals.iter().take(usize::from(memory >> 6)).for_each(|seal| seal(&mut bytes));
    }
    let bytes = bytes.as_slice();
    let Some(old) = Readable::new(bytes) else { return };
    let is_apart = old.is_apart();
    let killed = usize::from(killed);
    let mut store = Bounded::new(bytes, 3 * bytes.len() + (1 << 16));
    store.fails = (memory & 16 != 0).then_some(killed);
    let mut writer = match Writer::open(&mut store, vec![Slot::EMPTY; 2 + usize::from(memory & 15)])
    {
        Ok(writer) => writer,
        Err(DriveError::Format(_)) if !is_apart => {
            assert!(store.changes.is_empty(), "a file that was refused was changed");
            return;
        }
        Err(DriveError::Store(Full)) if memory & 16 != 0 => return,
        Err(error) => panic!("a file that can be read was refused: {error}"),
    };
    let mut added = Added::default();
    added.write(&mut writer, choices, old.summary.chunks.iter().any(Result::is_err));
    drop(writer);
    assert!(store.asked <= old.most_asked(), "a file of {} bytes", store.asked);
    if !is_apart {
        _ = read_everything(&store.bytes); // somebody else's mistake; nothing panics
        return;
    }
    let new = Readable::new(&store.bytes).expect("what a writer left cannot be read");
    match added.truncated {
        Some(true) => assert!(new.is_emptied(), "something is left"),
        Some(false) if new.is_emptied() => {}
        _ => new.assert_has(&old),
    }
    for (chunk, bytes) in added.committed {
        assert!(new.summary.chunks.contains(&Ok(chunk)), "{chunk:?} is not there");
        assert_eq!(new.bytes_of(&chunk), bytes);
    }
    // A kill in between leaves what was there, too.
    let count = killed % (store.changes.len() + 1);
    for count in [count, store.changes.len() - count] {
        let mut left = bytes.to_vec();
        store.changes[..count].iter().for_each(|change| change.apply(&mut left));
        let left = Readable::new(&left).expect("what a kill left cannot be read");
        if added.truncated.is_none() || !left.is_emptied() {
            left.assert_has(&old);
        }
    }
}

/// What was added.
#[derive(Debug, Default)]
struct Added {
    waiting: Vec<(Chunk, Vec<u8>)>,
    committed: Vec<(Chunk, Vec<u8>)>,
    /// Whether all that was before was removed, or may have been.
    truncated: Option<bool>,
}

impl Added {
    /// Writes a few frames, and maybe truncates the file before the last of them. If the file
    /// `is_damaged`, a chunk of it cannot be read.
    fn write(
        &mut self,
        writer: &mut Writer<&mut Bounded, Vec<Slot>>,
        choices: u8,
        is_damaged: bool,
    ) {
        if choices & 4 != 0 {
            match writer.upgrade() {
                Err(DriveError::Format(_)) if is_damaged => {}
                done => _ = may_fail(done),
            }
        }
        for frame in 0..1 + (choices >> 3 & 3) {
            self.frame(writer, choices, frame);
        }
        if choices & 128 != 0 {
            let done = may_fail(writer.truncate());
            self.truncated = Some(done);
            if done || writer.frames() == 0 {
                self.waiting.clear();
                self.committed.clear();
            }
            self.frame(writer, choices, 0);
        }
        let done = match choices & 3 {
            0 => may_fail(writer.close()),
            1 => may_fail(writer.commit()),
            2 => may_fail(writer.commit()) && may_fail(writer.close()),
            _ => false,
        };
        self.learn(done);
    }

    fn frame(&mut self, writer: &mut Writer<&mut Bounded, Vec<Slot>>, choices: u8, frame: u8) {
        let mut present = Vec::new();
        for name in &NAMES[..1 + usize::from(frame + (choices >> 5 & 1)) % 4] {
            let bytes = vec![b'0' + frame; 6];
            let added = writer.name(name).and_then(|id| {
                let chunk = writer.write_chunk(id, ChunkType::U16, 3, &bytes)?;
                Ok((chunk, bytes))
            });
            match added {
                Ok(chunk) => present.push(chunk),
                Err(error) => _ = may_fail::<()>(Err(error)),
            }
        }
        if may_fail(writer.end_frame()) {
            self.waiting.append(&mut present);
            let done = choices & 64 != 0 && may_fail(writer.commit());
            self.learn(done);
        }
    }

    /// What waits is in the file if a commit was `done`.
    fn learn(&mut self, done: bool) {
        if done {
            self.committed.append(&mut self.waiting);
        }
    }
}

/// Whether it was done; if not, there was a reason.
fn may_fail<T>(done: Result<T, WriteError<&mut Bounded>>) -> bool {
    let Err(error) = done else { return true };
    match error {
        DriveError::Store(Full) => {}
        DriveError::Format(
            Error::FileFull { .. }
            | Error::FrameFull { .. }
            | Error::NamesFull
            | Error::OpenFrame { .. }
            | Error::OutOfRange { field: IndexEntry::frame, .. }
            | Error::Duplicate { .. }
            | Error::BadName(BadName::Long { .. } | BadName::Empty),
        ) => {}
        error => panic!("{error}"),
    }
    false
}
