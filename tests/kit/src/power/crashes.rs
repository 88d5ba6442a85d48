//! All that a crash could leave of a store, one state after another.

use super::cells::{Disk, parts};
use super::{Op, SECTOR, usize_of};
use std::ops::Range;

/// Where a write can be torn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tear {
    /// At the boundaries of sectors.
    Sectors,
    /// Behind each byte, but for writes within one sector and within one of these ranges. A torn
    /// sector is shown with all else that is unsynced kept, with all of it lost, and with a random
    /// choice.
    Bytes {
        /// What a writer relies on being written all or nothing.
        atomic: Vec<Range<u64>>,
    },
}

/// What a sector reads as that is behind the durable end of the store, and was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Zeros.
    Zeros,
    /// Any bytes; so may a gap that a write left behind the old end, which is written by zeros.
    Noise,
}

/// What a failed sync leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedSync {
    /// Sectors that no later sync covers unless they are written again, as Linux does.
    Clean,
    /// Sectors that the next sync covers, as a store of one's own may do.
    Dirty,
}

/// What crashes do, and how many of the states are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    /// Bytes that a disk writes all or nothing: [`SECTOR`], or the pages of a cache.
    pub sector: usize,
    /// Where a write can be torn.
    pub tear: Tear,
    /// What lost sectors read as.
    pub lost: Lost,
    /// What a failed sync leaves.
    pub failed_sync: FailedSync,
    /// The states of one moment in so many are shown, a moment being that after each operation.
    pub moments: usize,
    /// All states of a moment are shown if they are at most so many; else none or all of the
    /// unsynced sectors kept, each one lost or kept alone, and random choices.
    pub exhaustive: usize,
    /// How many of these there are, at each moment.
    pub random: usize,
    /// At how many random choices of each moment the disk has written only a front of one more
    /// sector, whose rest is as any earlier moment left it.
    pub torn: usize,
    /// At how many random choices of each moment one or several of the sectors under way are wiped,
    /// see [`Model::wiped`].
    pub erased: usize,
    /// What a sector that is wiped holds.
    pub wiped: Wiped,
    /// Bytes that are wiped at once: a sector, or a page of flash with all its sectors.
    pub page: usize,
}

/// What a medium leaves of a sector that it was about to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wiped {
    /// All bytes are 0xFF, or 0x00.
    Erased,
    /// Any bytes.
    Noise,
}

impl Model {
    /// Each write torn behind each of its bytes; each 512 bytes kept, lost or torn.
    pub fn bytes() -> Self {
        let tear = Tear::Bytes { atomic: vec![] };
        Self { tear, exhaustive: 256, torn: 8, random: 8, ..Self::default() }
    }
}

impl Default for Model {
    fn default() -> Self {
        Self {
            sector: SECTOR,
            tear: Tear::Sectors,
            lost: Lost::Zeros,
            failed_sync: FailedSync::Clean,
            moments: 1,
            exhaustive: 1 << 10,
            random: 16,
            torn: 0,
            erased: 0,
            wiped: Wiped::Erased,
            page: SECTOR,
        }
    }
}

/// How a state came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The program was killed: all that it had written is there.
    Killed,
    /// The power was cut, and not all of it is there.
    PowerCut,
    /// The program was killed within a write.
    KilledWriting,
    /// The power was cut while a write was going on.
    PowerCutWriting,
    /// The power was cut while the disk wrote a sector, see [`Model::torn`].
    PowerCutTorn,
    /// The power was cut when the medium had erased a sector to write it, see [`Model::erased`].
    PowerCutErased,
}

/// A state that a crash could leave.
#[derive(Debug, Clone, Copy)]
pub struct Crash<'a> {
    /// Entries of the log that were begun; the last one may be cut.
    pub begun: usize,
    /// Entries of the log that were ended.
    pub ended: usize,
    /// How it came about.
    pub kind: Kind,
    /// What is there.
    pub image: &'a [u8],
}

/// How many states were shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// [`Kind::Killed`].
    pub killed: usize,
    /// [`Kind::PowerCut`].
    pub power_cut: usize,
    /// [`Kind::KilledWriting`].
    pub killed_writing: usize,
    /// [`Kind::PowerCutWriting`].
    pub power_cut_writing: usize,
    /// [`Kind::PowerCutTorn`].
    pub power_cut_torn: usize,
    /// [`Kind::PowerCutErased`].
    pub power_cut_erased: usize,
    /// Moments of which not all states were shown.
    pub sampled: usize,
}

impl Counts {
    /// All states.
    #[must_use]
    pub const fn total(&self) -> usize {
        let power_cut = self.power_cut + self.power_cut_writing + self.power_cut_torn;
        power_cut + self.power_cut_erased + self.killed + self.killed_writing
    }

    const fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Killed => &mut self.killed,
            Kind::PowerCut => &mut self.power_cut,
            Kind::KilledWriting => &mut self.killed_writing,
            Kind::PowerCutWriting => &mut self.power_cut_writing,
            Kind::PowerCutTorn => &mut self.power_cut_torn,
            Kind::PowerCutErased => &mut self.power_cut_erased,
        }
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.killed += other.killed;
        self.power_cut += other.power_cut;
        self.killed_writing += other.killed_writing;
        self.power_cut_writing += other.power_cut_writing;
        self.power_cut_torn += other.power_cut_torn;
        self.power_cut_erased += other.power_cut_erased;
        self.sampled += other.sampled;
    }
}

/// SplitMix64: the same numbers in every run.
#[derive(Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`.
    pub(super) fn below(&mut self, count: usize) -> usize {
        usize_of(self.next() % u64::try_from(count).unwrap())
    }
}

struct Walk<'m, V> {
    model: &'m Model,
    disk: Disk,
    random: Random,
    /// Nothing is shown before so many operations were begun.
    since: usize,
    begun: usize,
    ended: usize,
    counts: Counts,
    visit: V,
}

pub(super) fn walk<V: FnMut(&Crash<'_>)>(
    model: &Model,
    start: &[u8],
    log: &[Op],
    since: usize,
    visit: V,
) -> Counts {
    let disk = Disk::new(start, model.lost, model.sector);
    let (random, counts) = (Random(0), Counts::default());
    let mut walk = Walk { model, disk, random, since, begun: 0, ended: 0, counts, visit };
    if since == 0 {
        walk.emit(Kind::Killed, start.len());
    }
    for op in log {
        walk.step(op);
    }
    walk.counts
}

impl<V: FnMut(&Crash<'_>)> Walk<'_, V> {
    fn emit(&mut self, kind: Kind, size: usize) {
        let (begun, ended, image) = (self.begun, self.ended, self.disk.image(size));
        (self.visit)(&Crash { begun, ended, kind, image });
        *self.counts.of(kind) += 1;
    }

    /// Does an operation and shows the states that it adds.
    fn step(&mut self, op: &Op) {
        self.begun += 1;
        self.disk.begin();
        let is_shown = self
            .begun
            .checked_sub(self.since)
            .is_some_and(|since| since.is_multiple_of(self.model.moments));
        match op {
            Op::Write { offset, bytes } => {
                self.disk.prepare(*offset, bytes);
                if is_shown {
                    self.tear(*offset, bytes);
                }
                self.disk.write(*offset, bytes);
            }
            Op::SetSize(len) => self.disk.set_size(usize_of(*len)),
            Op::Sync => self.disk.sync(),
            Op::SyncFailed if self.model.failed_sync == FailedSync::Clean => {
                self.disk.sync_failed();
            }
            Op::SyncFailed | Op::SetSizeFailed | Op::Promise => {}
        }
        self.ended += 1;
        if !is_shown {
            return;
        }
        self.disk.show_newest();
        self.emit(Kind::Killed, self.disk.live_size());
        // What was possible before is shown if it was not yet, or if it may have become bad.
        self.subsets(matches!(op, Op::Promise) || self.begun == self.since);
    }

    /// The states that are possible since this operation, or all of them, but for the newest one.
    fn subsets(&mut self, all: bool) {
        let is_touched = self.disk.size_touched || self.disk.cells.iter().any(|cell| cell.touched);
        if !all && !is_touched {
            return;
        }
        let states = self.disk.sizes.iter().fold(0usize, |sum, &size| {
            let cells = &self.disk.cells[..self.disk.visible(size)];
            let states = cells
                .iter()
                .fold(1usize, |product, cell| product.saturating_mul(cell.newest() + 1));
            sum.saturating_add(states)
        });
        if states <= self.model.exhaustive {
            self.every_subset(all);
        } else {
            self.counts.sampled += 1;
            self.some_subsets();
        }
        self.torn_sectors();
        self.erased_sectors();
        self.disk.show_newest();
    }

    /// Counts through the versions of all sectors that are seen, for each size.
    fn every_subset(&mut self, all: bool) {
        let sizes = self.disk.sizes.clone();
        for (number, &size) in sizes.iter().enumerate() {
            let is_newest_size = number == sizes.len() - 1;
            let mut choice = vec![0; self.disk.visible(size)];
            self.disk.show_oldest();
            loop {
                let cells = self.disk.cells.iter().zip(&choice);
                let is_newest = |(cell, &version)| super::cells::Cell::newest(cell) == version;
                let is_killed = is_newest_size && cells.clone().all(is_newest);
                let is_new = is_newest_size && self.disk.size_touched
                    || cells.clone().any(|at| at.0.touched && is_newest(at));
                if (all || is_new) && !is_killed {
                    self.emit(Kind::PowerCut, size);
                }
                let Some(index) = self.advance(&mut choice) else { break };
                for (index, &version) in choice.iter().enumerate().take(index + 1) {
                    self.disk.show(index, version);
                }
            }
        }
    }

    /// The next choice of versions; the index of the last one that changed.
    fn advance(&self, choice: &mut [usize]) -> Option<usize> {
        for (index, version) in choice.iter_mut().enumerate() {
            if *version < self.disk.cells[index].newest() {
                *version += 1;
                return Some(index);
            }
            *version = 0;
        }
        None
    }

    fn some_subsets(&mut self) {
        let (durable, newest) = (self.disk.sizes[0], self.disk.live_size());
        self.disk.show_newest();
        for size in self.disk.sizes.clone() {
            if size != newest {
                self.emit(Kind::PowerCut, size);
            }
        }
        for index in 0..self.disk.visible(newest) {
            for older in 0..self.disk.cells[index].newest() {
                self.disk.show(index, older);
                self.emit(Kind::PowerCut, newest);
            }
            self.disk.show(index, self.disk.cells[index].newest());
        }

        self.disk.show_oldest();
        self.emit(Kind::PowerCut, durable);
        self.emit(Kind::PowerCut, newest);
        for index in 0..self.disk.cells.len() {
            self.disk.show(index, self.disk.cells[index].newest());
            if index < self.disk.visible(durable) {
                self.emit(Kind::PowerCut, durable);
            }
            self.emit(Kind::PowerCut, newest);
            self.disk.show(index, 0);
        }
        for _ in 0..self.model.random {
            let size = self.show_random();
            self.emit(Kind::PowerCut, size);
        }
    }

    /// A disk without the energy to end a sector: of one, the front of a version and the rest of an
    /// older one are there.
    fn torn_sectors(&mut self) {
        for _ in 0..self.model.torn {
            let size = self.show_random();
            let visible = self.disk.visible(size);
            let torn = (0..visible).filter(|&index| self.disk.cells[index].newest() > 0);
            let torn: Vec<usize> = torn.collect();
            if torn.is_empty() {
                continue;
            }
            let index = torn[self.random.below(torn.len())];
            let front = 1 + self.random.below(self.disk.cells[index].newest());
            let rest = self.random.below(front);
            let differing = self.disk.cells[index].differing(front, rest);
            let len = differing.start + 1 + self.random.below(differing.len());
            self.disk.show_torn(index, front, rest, len);
            self.emit(Kind::PowerCutTorn, size);
        }
    }

    /// A medium that wipes a sector before it writes it, with its page: of those under way, one, or
    /// each by chance.
    fn erased_sectors(&mut self) {
        for number in 0..self.model.erased {
            let size = self.show_random();
            let visible = self.disk.visible(size);
            let dirty = self.disk.cells.iter().take(visible).filter(|cell| cell.is_written);
            let dirty: Vec<usize> = dirty.map(|cell| cell.sector).collect();
            if dirty.is_empty() {
                return;
            }
            let fill = if self.random.below(2) == 0 { 0x00 } else { 0xFF };
            let one = dirty[self.random.below(dirty.len())];
            for sector in dirty {
                let is_too = number % 2 == 1 && self.random.below(2) == 0;
                if sector == one || is_too {
                    self.wipe_page(sector, size, fill);
                }
            }
            self.emit(Kind::PowerCutErased, size);
        }
    }

    /// Wipes the page of a sector.
    fn wipe_page(&mut self, sector: usize, size: usize, fill: u8) {
        let sectors = (self.model.page / self.model.sector).max(1);
        let first = sector / sectors * sectors;
        for sector in (first..first + sectors).filter(|sector| sector * self.model.sector < size) {
            let index = self.disk.cell(sector);
            match self.model.wiped {
                Wiped::Erased => self.disk.show_erased(index, fill),
                Wiped::Noise => self.disk.show_noise(index),
            }
        }
    }

    /// Shows any version of each sector, and returns any size.
    fn show_random(&mut self) -> usize {
        for index in 0..self.disk.cells.len() {
            let version = self.random.below(self.disk.cells[index].newest() + 1);
            self.disk.show(index, version);
        }
        self.disk.sizes[self.random.below(self.disk.sizes.len())]
    }

    /// Shows what is left if the next write is cut: all before it kept; all before it lost; some
    /// of it lost.
    fn tear(&mut self, offset: u64, bytes: &[u8]) {
        let unit_len = self.model.sector;
        let end = offset + u64::try_from(bytes.len()).unwrap();
        let is_single = parts(unit_len, offset, bytes).count() < 2;
        let is_atomic = |range: &Range<u64>| range.start <= offset && end <= range.end;
        let unit = match &self.model.tear {
            Tear::Bytes { atomic } if is_single && atomic.iter().any(is_atomic) => return,
            Tear::Bytes { .. } => 1,
            Tear::Sectors => unit_len,
        };
        self.disk.show_newest();
        for (sector, within, part) in parts(unit_len, offset, bytes) {
            let is_last = sector * unit_len + within + part.len() == usize_of(end);
            let count = part.len() - usize::from(is_last); // all of them is no tear
            self.tear_sector(sector, within, &part[..count], unit, Kind::KilledWriting, &[]);
        }
        if unit == unit_len {
            return; // whole sectors are among the subsets
        }
        let durable = self.disk.sizes[0];
        for (sector, within, part) in parts(unit_len, offset, bytes) {
            let part = &part[..part.len() - 1]; // all of it is one of its sector's versions
            self.disk.show_oldest();
            self.tear_sector(sector, within, part, unit, Kind::PowerCutWriting, &[durable]);
            let size = self.show_random();
            self.tear_sector(sector, within, part, unit, Kind::PowerCutWriting, &[size]);
        }
    }

    /// Shows the bytes of a write in one sector one after another, with the size that the store has
    /// by then, and with other sizes.
    fn tear_sector(
        &mut self,
        sector: usize,
        within: usize,
        part: &[u8],
        unit: usize,
        kind: Kind,
        sizes: &[usize],
    ) {
        self.disk.show_live(sector);
        let live = self.disk.live_size();
        for (at, &byte) in (within..).zip(part) {
            self.disk.poke(sector, at, byte);
            let end = sector * self.model.sector + at + 1;
            if !end.is_multiple_of(unit) {
                continue;
            }
            self.emit(kind, live.max(end));
            for &size in sizes {
                if size > sector * self.model.sector && size != live.max(end) {
                    self.emit(kind, size);
                }
            }
        }
    }
}
