//! Writing a path to a store, and what the file must hold at each moment.

use super::check::{Piece, Verdict, read};
use super::hand::{FileWriter, Mode};
use super::path::{Act, Path, Session, Shape};
use super::stock::Stock;
use striae_core::gsd::writer::WriteError;
use striae_core::gsd::{ChunkType, Slot};
use striae_core::integrity::crc32c;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;
use striae_kit::power::{Again, MAX_LEN, PowerStore, Promises};

const CHECKSUMS: &[u8] = b"striae/crc32c";

/// A chunk as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) frame: u64,
    pub(crate) id: u16,
    pub(crate) kind: u8,
    pub(crate) n: u64,
    pub(crate) m: u32,
    pub(crate) bytes: Vec<u8>,
}

impl Chunk {
    pub(crate) fn of(piece: &Piece<'_>) -> Self {
        let Piece { frame, id, kind, n, m, bytes } = *piece;
        Self { frame, id, kind, n, m, bytes: bytes.to_vec() }
    }

    /// The row of checksums for it, as `spec/gsd.md#checksums` says.
    fn row(&self) -> [u8; 8] {
        let mut entry = [0; 32];
        entry[..8].copy_from_slice(&self.frame.to_le_bytes());
        entry[8..16].copy_from_slice(&self.n.to_le_bytes());
        entry[24..28].copy_from_slice(&self.m.to_le_bytes());
        entry[28..30].copy_from_slice(&self.id.to_le_bytes());
        entry[30] = self.kind;
        let crc = crc32c(crc32c(0, &self.bytes), &entry);
        let mut row = [0; 8];
        row[..2].copy_from_slice(&self.id.to_le_bytes());
        row[4..].copy_from_slice(&crc.to_le_bytes());
        row
    }
}

/// A file's contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content {
    /// Major version of the file layer.
    pub(crate) layer: u8,
    /// Names that are there, by id; more may be.
    pub(crate) names: Vec<Vec<u8>>,
    /// By frame and id.
    pub(crate) chunks: Vec<Chunk>,
}

/// What a file can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// No GSD file.
    Nothing,
    /// One with these contents.
    File(Content),
}

/// A path that is being written.
#[derive(Debug)]
pub(crate) struct Run<'p> {
    pub(crate) shape: &'p Shape,
    pub(crate) store: PowerStore,
    pub(crate) promises: Promises<State>,
    pub(crate) again: Again,
    pub(crate) mode: Mode,
    /// Whether there were entries behind the end of the index when gsd left the file: it finds some
    /// of them again when it appends.
    pub(crate) has_holes: bool,
    /// Whether a write of the header failed behind some byte: nobody knows what gsd makes of that.
    pub(crate) is_torn: bool,
    /// Entries of the log when the first act failed.
    pub(crate) failed_at: Option<usize>,
    /// All names that each name list ever had.
    pub(crate) lists: Vec<Vec<Vec<u8>>>,
    /// What is in the writer, committed or not: the last list is its names.
    layer: u8,
    chunks: Vec<Chunk>,
    open: Vec<Chunk>,
    frame: u64,
    checksums: bool,
    next: u8,
}

pub(crate) type Failure = WriteError<PowerStore>;

impl<'p> Run<'p> {
    /// Nothing was written yet to `store`, which holds a file in this state.
    pub(crate) fn new(shape: &'p Shape, store: PowerStore, state: State, first: u8) -> Self {
        let names = match &state {
            State::File(content) => content.names.clone(),
            State::Nothing => Vec::new(),
        };
        let has_holes = Stock::open(&store.live()).is_ok_and(|file| !file.is_clean());
        Self {
            shape,
            store,
            has_holes,
            promises: Promises::new(state),
            again: Again::Never,
            mode: Mode::default(),
            is_torn: false,
            failed_at: None,
            lists: vec![names],
            layer: 2,
            chunks: Vec::new(),
            open: Vec::new(),
            frame: 0,
            checksums: false,
            next: first,
        }
    }

    /// A path of which nothing is written yet.
    pub(crate) fn start(path: &'p Path) -> Self {
        Self::new(&path.shape, PowerStore::new(&path.start), path.state.clone(), 1)
    }

    /// Writes all of a path.
    pub(crate) fn of(path: &'p Path) -> Self {
        let mut run = Self::start(path);
        for session in path.sessions {
            let done = run.session(*session);
            done.unwrap_or_else(|error| panic!("{}: {error}", path.name));
        }
        run
    }

    /// The run if the program is killed after `ops` operations.
    pub(crate) fn killed_after(&self, ops: usize, first: u8) -> Self {
        let store = self.store.killed_after(ops);
        let mut run = Self::new(self.shape, store, State::Nothing, first);
        run.promises = self.promises.killed_after(ops);
        run.lists = self.lists.clone();
        run.has_holes = self.has_holes;
        run
    }

    /// Another program, which finds a file in this state.
    pub(crate) fn next(&self, image: &[u8], state: &State) -> Self {
        let mut next = Self::new(self.shape, PowerStore::new(image), state.clone(), 101);
        next.lists.extend_from_slice(&self.lists);
        next
    }

    /// Bytes that were there before the first operation.
    pub(crate) fn start_len(&self) -> u64 {
        self.store.killed_after(0).size().unwrap()
    }

    /// The contents that the next commit would make.
    fn content(&self) -> Content {
        let names = self.lists[self.lists.len() - 1].clone();
        Content { layer: self.layer, names, chunks: self.chunks.clone() }
    }

    /// Does a session.
    pub(crate) fn session(&mut self, session: Session) -> Result<(), Failure> {
        let (mut writer, acts) = match session {
            Session::Create(acts) => (self.again(Self::create)?, acts),
            Session::Open(acts) => (self.again(Self::reopen)?, acts),
        };
        let acts = acts.iter().flat_map(|act| act.steps()).collect::<Vec<_>>();
        let mut frame = 0; // its first act
        for (number, &act) in acts.iter().enumerate() {
            let Err(error) = self.act(&mut writer, act) else {
                frame = if matches!(act, Act::End) { number + 1 } else { frame };
                continue;
            };
            if self.again == Again::Never || !matches!(error, DriveError::Store(_)) {
                return Err(error);
            }
            self.mend();
            if self.again == Again::Anew {
                self.anew(&mut writer, &acts[frame..=number])?;
                continue;
            }
            // A frame that has not ended goes on; the acts that come are for the next one.
            if self.again == Again::AtOnce || matches!(act, Act::End) {
                self.act(&mut writer, act)?;
            }
        }
        Ok(())
    }

    /// Gives up a frame, and does all of its acts again; the last one has failed.
    fn anew(&mut self, writer: &mut FileWriter, acts: &[Act]) -> Result<(), Failure> {
        let (&last, before) = acts.split_last().unwrap();
        if !matches!(last, Act::Chunk(..) | Act::Stream(..) | Act::Dropped(..) | Act::End) {
            return self.act(writer, last); // frames that have ended stay
        }
        let frames = writer.frames();
        writer.discard_frame();
        self.open.clear();
        assert_eq!(writer.frames(), frames);
        before.iter().chain([&last]).try_for_each(|&act| self.act(writer, act))
    }

    /// Notes the first error, and removes what caused it.
    fn mend(&mut self) {
        self.failed_at.get_or_insert(self.store.ops());
        self.store.limit(MAX_LEN);
        self.store.mend();
    }

    /// Creates or opens the file, the second time if that is to be done.
    fn again(
        &mut self,
        open: impl Fn(&mut Self) -> Result<FileWriter, Failure>,
    ) -> Result<FileWriter, Failure> {
        match open(self) {
            Err(DriveError::Store(_)) if self.again != Again::Never => {
                self.mend();
                open(self)
            }
            done => done,
        }
    }

    fn create(&mut self) -> Result<FileWriter, Failure> {
        let attributes = &self.shape.attributes;
        // The old file goes before the new one comes.
        self.promises.begin(&self.store, State::Nothing);
        (self.layer, self.checksums) =
            (u8::try_from(attributes.layer.major).unwrap(), attributes.checksums);
        self.clear();
        self.promises.begin(&self.store, State::File(self.content()));
        let memory = vec![Slot::EMPTY; self.shape.slots];
        let writer = self.mode.create(&self.store, attributes, memory)?;
        self.promises.end(&self.store);
        Ok(writer)
    }

    fn reopen(&mut self) -> Result<FileWriter, Failure> {
        let memory = vec![Slot::EMPTY; self.shape.slots];
        let live = self.store.live().to_vec();
        let mut writer = self.mode.open(&self.store, memory)?;
        writer.set_one_sync(self.shape.attributes.one_sync);
        // A commit that failed may be there or not.
        let ops = self.store.ops();
        let versions = self.promises.allowed(ops, ops);
        let both = super::check::Both::of(&live, versions, &self.lists);
        let Verdict::Good(State::File(content)) = both.ours else { panic!("{both:?}") };
        (self.layer, self.chunks, self.open) = (content.layer, content.chunks.clone(), Vec::new());
        let seen = read(&live).unwrap();
        assert_eq!(writer.names(), u32::try_from(seen.names.len()).unwrap());
        self.checksums = self.shape.attributes.checksums && self.shape.is_ours;
        self.frame = self.chunks.last().map_or(0, |chunk| chunk.frame + 1);
        self.lists.push(seen.names);
        Ok(writer)
    }

    /// There are no frames and no names.
    fn clear(&mut self) {
        self.lists.push(Vec::new());
        (self.chunks, self.open, self.frame) = (Vec::new(), Vec::new(), 0);
    }

    fn act(&mut self, writer: &mut FileWriter, act: Act) -> Result<(), Failure> {
        match act {
            Act::Chunk(name, rows) => self.chunk(writer, name, rows, false),
            Act::Stream(name, rows) => self.chunk(writer, name, rows, true),
            Act::Dropped(name, rows) => self.dropped(writer, name, rows),
            Act::End => self.end_frame(writer),
            Act::Commit | Act::Close => {
                self.promises.begin(&self.store, State::File(self.content()));
                if matches!(act, Act::Commit) {
                    writer.commit()?;
                } else {
                    writer.close()?;
                }
                self.promises.end(&self.store);
                if matches!(act, Act::Close) {
                    assert_eq!(self.store.size().unwrap(), writer.data_end(), "closed");
                    self.promises.closed(writer.data_end());
                }
                Ok(())
            }
            Act::Upgrade => {
                self.promises.begin(&self.store, State::File(self.content()));
                let layer = std::mem::replace(&mut self.layer, 2);
                self.promises.begin(&self.store, State::File(self.content()));
                let done = writer.upgrade();
                if done.is_err() && writer.version().major == 1 {
                    self.layer = layer;
                }
                assert_eq!(u16::from(self.layer), writer.version().major);
                done?;
                self.promises.end(&self.store);
                Ok(())
            }
            Act::Truncate => self.truncate(writer),
            Act::Frames(..) | Act::Each(..) | Act::Empty(_) | Act::Measured(_) => {
                panic!("{act:?} is several")
            }
        }
    }

    fn truncate(&mut self, writer: &mut FileWriter) -> Result<(), Failure> {
        let empty = Content { layer: self.layer, names: Vec::new(), chunks: Vec::new() };
        self.promises.begin(&self.store, State::File(empty));
        let done = writer.truncate();
        if writer.frames() == 0 && writer.names() == 0 {
            self.clear();
        }
        done?;
        self.promises.end(&self.store);
        Ok(())
    }

    /// The id of a name, and the type and columns of its chunks.
    fn name(
        &mut self,
        writer: &mut FileWriter,
        name: usize,
    ) -> Result<(u16, ChunkType, u32), Failure> {
        let (kind, m) = match (name % 5, self.layer) {
            (0, _) => (ChunkType::F32, 3),
            (1, _) => (ChunkType::U64, 1),
            (2, 2) if self.shape.is_ours => (ChunkType::Character, 1),
            (2, _) => (ChunkType::I8, 1),
            (3, _) => (ChunkType::I16, 2),
            _ => (ChunkType::U8, 1),
        };
        let bytes = name_of(name);
        let id = writer.name(&bytes)?;
        self.add_name(writer, bytes);
        Ok((id, kind, m))
    }

    /// Notes that the writer has one name more, if it has.
    fn add_name(&mut self, writer: &FileWriter, name: Vec<u8>) {
        let last = self.lists.len() - 1;
        let list = &mut self.lists[last];
        let count = usize::try_from(writer.names()).unwrap();
        if list.len() < count {
            list.push(name);
        }
        assert_eq!(list.len(), count);
    }

    fn chunk(
        &mut self,
        writer: &mut FileWriter,
        name: usize,
        rows: usize,
        is_stream: bool,
    ) -> Result<(), Failure> {
        let (id, kind, m) = self.name(writer, name)?;
        let row = usize::try_from(u64::from(m) * kind.size().get()).unwrap();
        let bytes: Vec<u8> = (0..row * rows).map(|_| self.next_byte()).collect();
        if is_stream {
            writer.stream((id, kind, m), bytes.chunks(7), true)?;
        } else {
            writer.write_chunk(id, kind, m, &bytes)?;
        }
        let (frame, n) = (self.frame, u64::try_from(rows).unwrap());
        self.open.push(Chunk { frame, id, kind: kind.number(), n, m, bytes });
        Ok(())
    }

    /// A chunk that is given up while it is written.
    fn dropped(
        &mut self,
        writer: &mut FileWriter,
        name: usize,
        rows: usize,
    ) -> Result<(), Failure> {
        let (id, kind, m) = self.name(writer, name)?;
        let byte = self.next_byte();
        let bytes = vec![byte; rows];
        writer.stream((id, kind, m), [bytes.as_slice()].into_iter(), false)
    }

    fn end_frame(&mut self, writer: &mut FileWriter) -> Result<(), Failure> {
        let frame = self.frame;
        let done = writer.end_frame();
        self.add_name(writer, CHECKSUMS.to_vec());
        assert_eq!(done?, frame);
        self.frame += 1;
        self.open.sort_by_key(|chunk| chunk.id);
        if self.checksums && !self.open.is_empty() {
            let list = &self.lists[self.lists.len() - 1];
            let id = list.iter().position(|name| name == CHECKSUMS).unwrap();
            let id = u16::try_from(id).unwrap();
            let n = u64::try_from(self.open.len()).unwrap() + 1;
            let bytes: Vec<u8> = self.open.iter().flat_map(Chunk::row).collect();
            let mut own = Chunk { frame, id, kind: 3, n, m: 2, bytes };
            let row = own.row();
            own.bytes.extend_from_slice(&row);
            self.open.push(own);
            self.open.sort_by_key(|chunk| chunk.id);
        }
        self.chunks.append(&mut self.open);
        Ok(())
    }

    /// Bytes that are not zero, and not the same in the next round.
    fn next_byte(&mut self) -> u8 {
        self.next = self.next % 251 + 1;
        self.next
    }
}

/// Names of many lengths, all that a slot of layer 1 holds; some are the front of others. Those
/// from 1000 on are very long.
pub(crate) fn name_of(number: usize) -> Vec<u8> {
    if number >= 1000 {
        return format!("{number}{}", "_long".repeat(140)).into_bytes();
    }
    let len = 1 + number * 13 % 63;
    let mut name = format!("n{number}");
    while name.len() < len {
        name.push_str("_and_more");
    }
    name.truncate(len.max(format!("n{number}").len()));
    name.into_bytes()
}
