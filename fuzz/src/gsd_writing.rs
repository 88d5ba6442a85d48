//! The body of `gsd_write`: whatever is done to a writer, its store and its power supply, the file
//! is what a commit that succeeded left, or what one that was under way did, to striae and to gsd.

mod crash;

use crate::gsd_file;
use crate::gsd_held::{Content, Held, Piece};
use crate::gsd_scenario::{Act, Plan, scenario};
use crate::powered::{End, Powered};
use striae_core::gsd::checksums::NAME;
use striae_core::gsd::error::BadName;
use striae_core::gsd::writer::WriteError;
use striae_core::gsd::{ChunkType, Error, Reader, Slot, Version};
use striae_core::step::DriveError;
use striae_kit::power::{MAX_LEN, PowerStore};

type Writer = striae_core::gsd::Writer<PowerStore, Vec<Slot>>;
type Fallible<T> = Result<T, WriteError<PowerStore>>;

struct Run<'p> {
    plan: &'p Plan,
    disk: Powered,
    /// What the writer holds of ended frames.
    live: Content,
    /// Of the present one.
    open: Vec<Piece>,
    frame: u64,
    /// Whether frames get checksums.
    checksums: bool,
    /// What the file may be.
    allowed: Vec<Held>,
    /// What else it may be to gsd, while a commit of one sync stands in a shadow only.
    behind: Vec<Held>,
}

/// The input tells a file, and what is done to it: see [`scenario`].
pub fn gsd_write(data: &[u8]) {
    let (plan, acts) = scenario(data);
    let mut run = Run {
        plan: &plan,
        disk: Powered::new(&plan.start, plan.room),
        live: Content::default(),
        open: Vec::new(),
        frame: 0,
        checksums: false,
        allowed: vec![Held::read(&plan.start)],
        behind: Vec::new(),
    };
    let mut acts = acts.into_iter();
    let mut is_new = plan.start.is_empty();
    loop {
        let end = run.session(is_new, &mut acts);
        is_new = match end {
            End::Acts => break,
            End::Create => true,
            End::Reopen => Held::read(&run.disk.store.live()) == Held::Nothing,
            End::Cut => run.lose_power(),
        };
    }
}

impl Run<'_> {
    /// One writer, from its beginning to its end.
    fn session(&mut self, is_new: bool, acts: &mut impl Iterator<Item = Act>) -> End {
        let begun = if is_new { self.create() } else { self.reopen() };
        self.check();
        let Some(mut writer) = begun else {
            self.disk.store.limit(MAX_LEN); // or it would never be
            return self.disk.end(if is_new { End::Create } else { End::Reopen });
        };
        for act in acts {
            if let Some(end) = self.act(&mut writer, act) {
                return self.disk.end(end);
            }
            if self.disk.is_cut() {
                return End::Cut;
            }
            assert_eq!(writer.frames(), self.frame);
            assert_eq!(usize::try_from(writer.names()), Ok(self.live.names.len()));
            self.check();
        }
        self.finish(&mut writer);
        End::Acts
    }

    fn act(&mut self, writer: &mut Writer, act: Act) -> Option<End> {
        match act {
            // what has this name is taken for checksums, also if the file should have none
            Act::Chunk { name, .. } if name == NAME && !self.checksums => {}
            Act::Chunk { name, kind, m, rows, pieces } => {
                _ = self.chunk(writer, &name, (kind, m, rows), pieces);
            }
            Act::End => _ = self.end_frame(writer),
            Act::Commit => _ = self.publish(writer, Writer::commit),
            Act::Frames(count) => {
                let mut frame = |_| {
                    self.chunk(writer, b"n0", (ChunkType::U8, 1, 2), 1) && self.end_frame(writer)
                };
                _ = (0..count).all(&mut frame);
            }
            Act::Empty(count) => _ = (0..count).all(|_| self.end_frame(writer)),
            Act::Close => self.close(writer),
            Act::Reopen => return Some(End::Reopen),
            Act::Create => return Some(End::Create),
            Act::Upgrade => self.upgrade(writer),
            Act::Truncate => return (!self.truncate(writer)).then_some(End::Reopen),
            Act::Gsd(puts) => {
                self.append_as_gsd(&puts);
                return Some(End::Reopen);
            }
            Act::OneSync(one_sync) => writer.set_one_sync(one_sync),
            Act::Nonsense(which) => self.nonsense(writer, which),
            Act::Trouble(trouble) => self.disk.expect(trouble),
        }
        None
    }

    /// Begins with a new file, unless the store fails.
    fn create(&mut self) -> Option<Writer> {
        let attributes = &self.plan.attributes;
        self.begin(Content { major: attributes.layer.major, ..Content::default() });
        let new = Held::File(self.live.clone());
        self.allowed.extend([Held::Nothing, new.clone()]);
        let memory = vec![Slot::EMPTY; self.plan.slots];
        match Writer::create(self.disk.store.clone(), attributes, memory) {
            Ok(writer) => {
                self.allowed = vec![new];
                self.checksums = attributes.checksums;
                Some(writer)
            }
            Err(DriveError::Store(_)) => None,
            Err(error) => panic!("a good file was refused: {error}"),
        }
    }

    /// Goes on with the file that is there.
    fn reopen(&mut self) -> Option<Writer> {
        let held = self.check();
        let Held::File(content) = held else { panic!("there is no file") };
        self.begin(content);
        let head = *Reader::open(&*self.disk.store.live(), &mut [0; 256]).unwrap().head();
        self.checksums = head.state.record().is_some_and(|record| record.checksums);
        match Writer::open(self.disk.store.clone(), vec![Slot::EMPTY; self.plan.slots]) {
            Ok(mut writer) => {
                writer.set_one_sync(self.plan.attributes.one_sync);
                Some(writer)
            }
            Err(DriveError::Store(_)) => None,
            Err(error) => panic!("a good file was refused: {error}"),
        }
    }

    fn begin(&mut self, content: Content) {
        self.frame = content.frames();
        self.live = content;
        self.open.clear();
    }

    /// The id of a name, unless the writer has to refuse it, or the store fails.
    fn name(&mut self, writer: &mut Writer, name: &[u8]) -> Option<u16> {
        let known = self.live.names.iter().position(|known| known == name);
        let id = u16::try_from(known.unwrap_or(self.live.names.len())).unwrap();
        match writer.name(name) {
            Ok(found) => {
                assert_eq!(found, id);
                if known.is_none() {
                    self.live.names.push(name.to_vec());
                }
                Some(id)
            }
            Err(DriveError::Store(_)) => None,
            Err(DriveError::Format(Error::BadName(BadName::Long { max: 63, .. }))) => {
                assert!(self.live.major < 2 && name.len() > 63);
                None
            }
            Err(error) => panic!("{name:?}: {error}"),
        }
    }

    /// Writes a chunk; whether there is one.
    fn chunk(
        &mut self,
        writer: &mut Writer,
        name: &[u8],
        (kind, m, n): (ChunkType, u32, u64),
        pieces: usize,
    ) -> bool {
        let Some(id) = self.name(writer, name) else { return false };
        let len = usize::try_from(n * u64::from(m) * kind.size().get()).unwrap();
        let bytes = self.disk.bytes(len);
        let written = match pieces {
            1 => writer.write_chunk(id, kind, m, &bytes).map(|_| true),
            pieces => stream(writer, (id, kind, m), &bytes, pieces),
        };
        match written {
            Ok(is_there) => {
                self.allow_chunk(writer, id, kind, None);
                if is_there {
                    let (frame, kind) = (self.frame, kind.number());
                    self.open.push(Piece { frame, id, kind, n, m, bytes });
                }
                is_there
            }
            Err(DriveError::Store(_)) => false,
            Err(DriveError::Format(error)) => {
                self.allow_chunk(writer, id, kind, Some(error));
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// A chunk was taken, or refused: there was no other answer.
    fn allow_chunk(&self, writer: &Writer, id: u16, kind: ChunkType, answer: Option<Error>) {
        let is_text = kind == ChunkType::Character;
        let is_own = self.checksums && self.live.names[usize::from(id)] == NAME;
        let is_there = self.open.iter().any(|piece| piece.id == id);
        let most = self.plan.slots - usize::from(self.checksums);
        let may = match answer {
            Some(Error::Layer { .. }) => is_text && writer.version() < Version::LAYER,
            Some(Error::Duplicate { .. }) => is_own || is_there,
            Some(Error::FrameFull { .. }) => self.open.len() >= most,
            Some(error) => panic!("{error}"),
            None => !is_own && !is_there,
        };
        assert!(may, "{answer:?}: name {id}, {kind}, {} chunks", self.open.len());
    }

    fn end_frame(&mut self, writer: &mut Writer) -> bool {
        match writer.end_frame() {
            Ok(frame) => {
                assert_eq!(frame, self.frame);
                self.learn_checksums(writer);
                self.frame += 1;
                self.live.pieces.append(&mut self.open);
                self.live.pieces.sort();
                true
            }
            Err(DriveError::Store(_)) => {
                self.learn_checksums(writer);
                false
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// The name of the checksums comes with the first frame that needs it.
    fn learn_checksums(&mut self, writer: &Writer) {
        let more = usize::try_from(writer.names()).unwrap() - self.live.names.len();
        assert!(more <= usize::from(self.checksums && !self.open.is_empty()));
        self.live.names.extend(vec![NAME.to_vec(); more]);
    }

    /// Commits, and returns whether the store let that happen.
    fn publish(
        &mut self,
        writer: &mut Writer,
        publish: impl FnOnce(&mut Writer) -> Fallible<()>,
    ) -> bool {
        let new = Held::File(self.live.clone());
        let before = self.allowed.clone();
        self.allowed.push(new.clone());
        match publish(writer) {
            Ok(()) => {
                if before.contains(&new) {
                    self.behind.extend(before); // maybe there was nothing to do
                } else {
                    self.behind = before;
                }
                self.allowed = vec![new];
                true
            }
            Err(DriveError::Store(_)) => false,
            Err(error) => panic!("nothing is wrong but the store: {error}"),
        }
    }

    fn close(&mut self, writer: &mut Writer) {
        if !self.open.is_empty() {
            let refused = writer.close();
            assert!(matches!(refused, Err(DriveError::Format(Error::OpenFrame { .. }))));
        } else if self.publish(writer, Writer::close) {
            let file = self.disk.store.live();
            let head = *Reader::open(&*file, &mut [0; 256]).unwrap().head();
            if let Some(record) = head.state.record() {
                // a name list that failed half way waits behind what is committed
                let ends = [record.data_end, writer.data_end()];
                assert!(ends.contains(&head.file_len), "something is behind the end");
            }
        }
    }

    fn upgrade(&mut self, writer: &mut Writer) {
        if !self.open.is_empty() {
            let refused = writer.upgrade();
            assert!(matches!(refused, Err(DriveError::Format(Error::OpenFrame { .. }))));
            return;
        }
        let old = Held::File(self.live.clone());
        let new = Held::File(Content { major: 2, ..self.live.clone() });
        self.allowed.extend([old.clone(), new.clone()]);
        match writer.upgrade() {
            Ok(()) => self.allowed = vec![new],
            Err(DriveError::Store(_)) => {}
            Err(DriveError::Format(Error::FrameFull { .. })) => {
                let most = self.plan.slots - usize::from(self.checksums);
                let mut frames = self.live.pieces.chunk_by(|one, next| one.frame == next.frame);
                assert!(frames.any(|frame| frame.len() > most), "there is memory for each frame");
                self.allowed = vec![old];
            }
            Err(error) => panic!("{error}"),
        }
        self.live.major = writer.version().major;
    }

    /// Removes all; `false` if the store fails.
    fn truncate(&mut self, writer: &mut Writer) -> bool {
        let empty = Content { major: self.live.major, ..Content::default() };
        self.allowed.push(Held::File(empty.clone()));
        match writer.truncate() {
            Ok(()) => {
                self.allowed = vec![Held::File(empty.clone())];
                self.begin(empty);
                true
            }
            Err(DriveError::Store(_)) => false,
            Err(error) => panic!("{error}"),
        }
    }

    /// gsd goes on where the file is as the last commit left it.
    fn append_as_gsd(&mut self, puts: &[gsd_file::Put]) {
        let held = self.check();
        let mut file = self.disk.store.live().to_vec();
        if Held::read_as_gsd(&file).as_ref() != Ok(&held) {
            return; // the header is torn inside a number: gsd has to wait for striae
        }
        let Held::File(mut content) = held else { return };
        let slots = u64::from_le_bytes(file[16..24].try_into().unwrap());
        gsd_file::append(&mut file, puts);
        if slots < 128 && Held::read_as_gsd(&file).is_err() {
            return; // as gsd does to an index of few slots: a frame is not below their number
        }
        let frames = content.frames();
        for put in puts {
            let known = content.names.iter().position(|name| *name == put.name);
            let id = known.unwrap_or_else(|| {
                content.names.push(put.name.clone());
                content.names.len() - 1
            });
            content.pieces.push(Piece {
                frame: frames + put.frame,
                id: u16::try_from(id).unwrap(),
                kind: 1,
                n: u64::try_from(put.bytes.len()).unwrap(),
                m: 1,
                bytes: put.bytes.clone(),
            });
        }
        self.disk.go_on_with(&file);
        self.allowed = vec![Held::File(content.sorted())];
    }

    /// Requests that no file can serve are refused and change nothing.
    fn nonsense(&mut self, writer: &mut Writer, which: u8) {
        let names = writer.names();
        let none = u16::try_from(names).unwrap();
        let refused = match which & 7 {
            0 => writer.name(b"").map(drop),
            1 => writer.name(b"a\0b").map(drop),
            2 => writer.write_chunk(none, ChunkType::U8, 1, b"x").map(drop),
            3 => writer.write_chunk(0, ChunkType::U8, 0, b"x").map(drop),
            4 => writer.write_chunk(0, ChunkType::U32, 1, b"x").map(drop),
            5 => writer.begin_chunk(u16::MAX, ChunkType::U8, 1).map(drop),
            6 => writer.begin_chunk(0, ChunkType::F64, 0).map(drop),
            _ => writer.write_chunk(u16::MAX, ChunkType::U8, 1, b"x").map(drop),
        };
        match refused {
            Err(DriveError::Format(error)) => assert!(error.blames_caller(), "{error}"),
            Err(DriveError::Store(_)) => {}
            other => panic!("{which}: {other:?}"),
        }
    }
}

/// Writes a chunk in so many pieces, or gives it up; whether it is there.
fn stream(
    writer: &mut Writer,
    (id, kind, m): (u16, ChunkType, u32),
    bytes: &[u8],
    pieces: usize,
) -> Fallible<bool> {
    let mut chunk = writer.begin_chunk(id, kind, m)?;
    for piece in bytes.chunks(bytes.len() / pieces.max(1) + 1) {
        chunk.write(piece)?;
    }
    assert_eq!(usize::try_from(chunk.len()), Ok(bytes.len()));
    if pieces == 0 {
        return Ok(false);
    }
    chunk.finish().map(|_| true)
}
