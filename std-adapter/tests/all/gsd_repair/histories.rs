//! Random histories of files that striae and gsd write in turns, with crashes of both.

use super::*;
use made::{Frame, frames_of};
use striae::Verify;
use striae_core::gsd::{Attributes, ChunkType, Slot, State, Version, Writer};
use striae_core::store::{FixedSize, ReadAt, WriteAt};
use striae_kit::adapter::Random;
use striae_kit::gsd_stock::{Chunk, Stock};

const SECTOR: usize = 512;

/// A file, and what of it is durable.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    pub(crate) file: Vec<u8>,
    durable: Vec<u8>,
    /// Writes and syncs until it fails.
    fuel: Option<u64>,
    /// Headers that were durable, one after another.
    pub(crate) headers: Vec<[u8; 256]>,
}

impl Disk {
    fn burn(&mut self) -> Result<(), FixedSize> {
        if let Some(fuel) = &mut self.fuel {
            *fuel = fuel.checked_sub(1).ok_or(FixedSize { len: 0, wanted: 0 })?;
        }
        Ok(())
    }

    fn settle(&mut self) {
        self.durable.clone_from(&self.file);
        if let Some(header) = self.file.first_chunk() {
            self.headers.push(*header);
        }
    }

    /// Loses some of the sectors that are not durable.
    fn crash(&mut self, random: &mut Random) {
        let lens = [self.durable.len(), self.file.len()];
        let rare = random.below(4);
        let at = |file: &[u8], at: usize| file.get(at).copied().unwrap_or(0);
        let mut file: Vec<u8> = vec![0; lens[0].max(lens[1]).next_multiple_of(SECTOR)];
        for sector in 0..file.len() / SECTOR {
            let is_kept = match rare {
                0 => random.below(8) > 0,
                1 => random.below(8) == 0,
                _ => random.below(2) == 0,
            };
            let from = if is_kept { &self.file } else { &self.durable };
            for (byte, to) in file.iter_mut().enumerate().skip(sector * SECTOR).take(SECTOR) {
                *to = at(from, byte);
            }
        }
        file.truncate(lens[random.index(2)]);
        (self.file, self.fuel) = (file, None);
        self.settle();
    }
}

impl ReadAt for Disk {
    type Error = FixedSize;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
        self.file.as_slice().read_at(offset, buf)
    }

    fn size(&self) -> Result<u64, FixedSize> {
        self.file.as_slice().size()
    }
}

impl WriteAt for Disk {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        self.burn()?;
        let start = offset as usize;
        let end = start + bytes.len();
        self.file.resize(self.file.len().max(end), 0);
        self.file[start..end].copy_from_slice(bytes);
        Ok(())
    }

    fn set_size(&mut self, len: u64) -> Result<(), FixedSize> {
        self.burn()?;
        self.file.resize(len as usize, 0);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FixedSize> {
        self.burn()?;
        self.settle();
        Ok(())
    }
}

/// A file with a past.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) disk: Disk,
    /// The frames of each commit; the last ones are those that there can be now.
    pub(crate) commits: Vec<Vec<Frame>>,
    /// The first of those.
    pub(crate) now: usize,
    /// Whether a crash has cut off a writer, and nobody wrote since.
    pub(crate) is_crashed: bool,
    /// Whether a crash has left damage that is still there.
    has_hole: bool,
    /// What was done, for messages.
    pub(crate) acts: String,
    count: u64,
}

type File<'d> = Writer<&'d mut Disk, Vec<Slot>>;

fn frame_of(random: &mut Random, number: u64, is_of_gsd: bool) -> Frame {
    const NAMES: [&[u8]; 6] =
        [b"a", b"position", b"step", b"log/d", b"e", b"a longer name than these"];
    let mut frame = Frame::new();
    let count = if random.below(8) == 0 { 0 } else { 1 + random.index(5) };
    for _ in 0..count {
        let name = NAMES[random.index(NAMES.len())].to_vec();
        let (kind, m) = if is_of_gsd {
            (ChunkType::U8, 1)
        } else {
            [(ChunkType::F32, 3), (ChunkType::U8, 1), (ChunkType::U64, 2)][random.index(3)]
        };
        let n = if random.below(6) == 0 { 0 } else { random.below(9) };
        let bytes =
            (0..n * u64::from(m) * kind.size().get()).map(|i| (i ^ number.wrapping_mul(41)) as u8);
        frame.insert(name, (kind, n, m, bytes.collect()));
    }
    frame
}

fn trimmed(frames: &[Frame]) -> Vec<Frame> {
    let len = frames.iter().rposition(|frame| !frame.is_empty()).map_or(0, |last| last + 1);
    frames[..len].to_vec()
}

impl History {
    /// A history of some acts, which may end with a crash.
    pub(crate) fn new(random: &mut Random) -> Self {
        let mut history = Self::default();
        history.create(random);
        for _ in 0..1 + random.below(6) {
            let is_crash = random.below(5) == 0;
            let is_gone_on = match random.below(8) {
                0 | 1 => history.append_by_gsd(random, is_crash),
                2 if random.below(3) == 0 => history.truncate_or_upgrade_by_gsd(random),
                _ => history.write(random, is_crash),
            };
            if !is_gone_on {
                break;
            }
        }
        history
    }

    fn create(&mut self, random: &mut Random) {
        if random.below(4) == 0 {
            let mut stock = Stock::open(&[0; 256], 1);
            stock.truncate();
            if random.below(3) == 0 {
                stock.file[44..48].copy_from_slice(&[0, 0, 1, 0]);
            }
            self.disk.file = stock.file;
            self.disk.settle();
            self.acts.push_str("gsd creates; ");
        } else {
            let v1 = Version { major: 1, minor: 0 };
            let attributes = Attributes {
                layer: if random.below(4) == 0 { v1 } else { Version::LAYER },
                align: [1, 1, 512][random.index(3)],
                checksums: random.below(2) == 0,
                one_sync: random.below(3) == 0,
                index_slots: [2, 16, 128][random.index(3)],
                shown_slots: [1, 8, 128][random.index(3)],
                names_len: [64, 1024][random.index(2)],
                ..Attributes::default()
            };
            let created = Writer::create(&mut self.disk, &attributes, vec![Slot::EMPTY; 16]);
            drop(created.unwrap());
            self.acts = format!("create {attributes:?}; ");
        }
        self.commits.push(Vec::new());
    }

    fn is_layer_1(&self) -> bool {
        self.disk.file[46] == 1
    }

    /// All frames that can be there now.
    fn last(&self) -> Vec<Frame> {
        self.commits[self.commits.len() - 1].clone()
    }

    fn commit(&mut self, frames: Vec<Frame>) {
        self.commits.push(frames);
        self.now = self.commits.len() - 1;
    }

    /// A crash; whether something is left that can be read, which then is what there is.
    fn crash(&mut self, random: &mut Random, next: Vec<Frame>) -> bool {
        self.disk.crash(random);
        self.acts.push_str("crash; ");
        self.commits.push(next);
        self.is_crashed = true;
        if random.below(2) == 0 {
            return false; // it is judged as it is
        }
        let (_dir, path) = file_of(&self.disk.file);
        let Ok(frames) = frames_of(&path) else { return false };
        self.has_hole = !Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound();
        match self.has_hole {
            true => self.commits.push(trimmed(&frames)),
            false => self.commit(trimmed(&frames)),
        }
        true
    }

    /// striae opens the file, writes frames, commits, and more.
    fn write(&mut self, random: &mut Random, is_crash: bool) -> bool {
        let mut disk = std::mem::take(&mut self.disk);
        disk.fuel = is_crash.then(|| random.below(25));
        let mut frames = self.last();
        let result = self.write_to(&mut disk, &mut frames, random);
        self.disk = disk;
        match result {
            Ok(()) => {
                // What has nothing to commit leaves the file as the crash did.
                let (_dir, path) = file_of(&self.disk.file);
                let file = striae::gsd::File::open(&path).unwrap();
                self.has_hole &= !Verify::new().gsd(&path, &mut |_| {}).unwrap().is_sound();
                self.is_crashed &= self.has_hole || file.head().state.record().is_none();
                self.disk.fuel = None;
                true
            }
            Err(next) => self.crash(random, next),
        }
    }

    /// The frames that there would have been, if it fails.
    fn write_to(
        &mut self,
        disk: &mut Disk,
        frames: &mut Vec<Frame>,
        random: &mut Random,
    ) -> Result<(), Vec<Frame>> {
        let mut file = File::open(disk, vec![Slot::EMPTY; 16]).map_err(|_| frames.clone())?;
        self.acts.push_str("striae opens");
        for _ in 0..1 + random.below(6) {
            let most = if random.below(6) == 0 { 40 } else { 3 };
            for _ in 0..random.below(most) {
                self.count += 1;
                let frame = frame_of(random, self.count, false);
                frames.push(frame.clone());
                self.put(&mut file, &frame).map_err(|_| trimmed(frames))?;
            }
            match random.below(12) {
                0 => {
                    self.acts.push_str(", truncates");
                    file.truncate().map_err(|_| Vec::new())?;
                    frames.clear();
                    self.commit(Vec::new());
                }
                1 => {
                    self.acts.push_str(", upgrades");
                    file.commit().map_err(|_| trimmed(frames))?;
                    self.commit(trimmed(frames));
                    file.upgrade().map_err(|_| trimmed(frames))?;
                }
                2 => self.acts.push_str(", goes on"),
                _ => {
                    self.acts.push_str(&format!(", commits {}", frames.len()));
                    file.commit().map_err(|_| trimmed(frames))?;
                    self.commit(trimmed(frames));
                }
            }
        }
        if random.below(3) > 0 {
            self.acts.push_str(", closes");
            file.close().map_err(|_| trimmed(frames))?;
            self.commit(trimmed(frames));
        }
        self.acts.push_str("; ");
        Ok(())
    }

    fn put(&self, file: &mut File<'_>, frame: &Frame) -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Debug| format!("{error:?}");
        for (name, (kind, _, m, bytes)) in frame {
            let id = file.name(name).map_err(|error| failed(&error))?;
            file.write_chunk(id, *kind, *m, bytes).map_err(|error| failed(&error))?;
        }
        file.end_frame().map(drop).map_err(|error| failed(&error))
    }

    fn append_by_gsd(&mut self, random: &mut Random, is_crash: bool) -> bool {
        let mut all = self.last();
        let (_dir, path) = file_of(&self.disk.file);
        let is_ahead = striae::gsd::File::open(&path)
            .is_ok_and(|file| matches!(file.head().state, State::Ahead(_)));
        // It would lose a commit, as is documented; and frames behind a hole would come to life.
        if is_ahead || self.has_hole {
            return true;
        }
        for _ in 0..1 + random.below(3) {
            let first = all.len() as u64;
            let most = if random.below(4) == 0 { 60 } else { 4 };
            let count = 1 + random.below(most);
            for _ in 0..count {
                self.count += 1;
                all.push(frame_of(random, self.count, true));
            }
            let mut chunks = Vec::new();
            for (number, frame) in (0..).zip(&all).skip(first as usize) {
                for (name, (_, _, _, bytes)) in frame {
                    chunks.push(Chunk { frame: number, name, bytes });
                }
            }
            let mut stock = Stock::open(&self.disk.file, 1);
            stock.states = vec![stock.file.clone()];
            stock.synced = vec![1];
            stock.flush(&chunks, None);
            self.acts.push_str(&format!("gsd flushes {count}; "));
            if is_crash && stock.synced.len() > 1 {
                let epoch = random.index(stock.synced.len() - 1);
                let state = |number: usize| stock.states[stock.synced[number] - 1].clone();
                (self.disk.durable, self.disk.file) = (state(epoch), state(epoch + 1));
                return self.crash(random, trimmed(&all));
            }
            self.disk.file = stock.file;
            self.disk.settle();
            all = trimmed(&all);
            self.commit(all.clone());
            self.is_crashed = false;
        }
        true
    }

    fn truncate_or_upgrade_by_gsd(&mut self, random: &mut Random) -> bool {
        if self.has_hole {
            return true;
        }
        let mut stock = Stock::open(&self.disk.file, 1);
        if self.is_layer_1() && random.below(2) == 0 {
            stock.upgrade();
            self.acts.push_str("gsd upgrades; ");
        } else {
            stock.truncate();
            self.acts.push_str("gsd truncates; ");
            self.commit(Vec::new());
        }
        self.disk.file = stock.file;
        self.disk.settle();
        self.is_crashed = false;
        true
    }
}
