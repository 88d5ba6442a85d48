//! What is on the disk, and what may be: the versions of each sector since the last sync.

use super::crashes::Lost;
use super::usize_of;

pub(super) type Sector = Box<[u8]>;

/// A sector, and all that a crash could leave of it.
#[derive(Debug)]
pub(super) struct Cell {
    /// Its number in the store.
    pub(super) sector: usize,
    /// Its contents: the durable one, then those behind each later write that changed it.
    versions: Vec<Sector>,
    /// Whether a sync failed since it was last written to.
    doubtful: bool,
    /// Whether the store was cut in front of it: it is not part of it now, and if it becomes so
    /// again, its bytes are zeros.
    is_cut: bool,
    /// Whether the newest version is one of the current operation.
    pub(super) touched: bool,
    /// Whether it was written to, and not only cut in the middle.
    pub(super) is_written: bool,
}

impl Cell {
    pub(super) fn newest(&self) -> usize {
        self.versions.len() - 1
    }

    /// From the first to the last byte in which two versions differ; all if they do not.
    pub(super) fn differing(&self, one: usize, other: usize) -> std::ops::Range<usize> {
        let (one, other) = (&self.versions[one], &self.versions[other]);
        let differs = |&at: &usize| one[at] != other[at];
        let first = (0..one.len()).find(differs).unwrap_or(0);
        let last = (0..one.len()).rfind(differs).unwrap_or(one.len() - 1);
        first..last + 1
    }
}

/// All sectors and the size. One state at a time is shown in `image`, and going from one to another
/// copies only the sectors that differ.
#[derive(Debug)]
pub(super) struct Disk {
    lost: Lost,
    /// Bytes of a sector.
    pub(super) unit: usize,
    /// What is shown, in whole sectors.
    image: Vec<u8>,
    /// The sectors that may differ from the durable ones, in ascending order.
    pub(super) cells: Vec<Cell>,
    /// The durable size, and each later one.
    pub(super) sizes: Vec<usize>,
    pub(super) size_touched: bool,
    size_doubtful: bool,
}

/// Cuts a write where sectors of `unit` bytes end: number of the sector, place in it, bytes.
pub(super) fn parts(
    unit: usize,
    offset: u64,
    bytes: &[u8],
) -> impl Iterator<Item = (usize, usize, &[u8])> {
    let (mut at, mut rest) = (usize_of(offset), bytes);
    std::iter::from_fn(move || {
        let (sector, within) = (at / unit, at % unit);
        let (part, behind) = rest.split_at(rest.len().min(unit - within));
        at += part.len();
        rest = behind;
        (!part.is_empty()).then_some((sector, within, part))
    })
}

impl Disk {
    pub(super) fn new(start: &[u8], lost: Lost, unit: usize) -> Self {
        let mut disk = Self {
            lost,
            unit,
            image: start.to_vec(),
            cells: Vec::new(),
            sizes: vec![start.len()],
            size_touched: false,
            size_doubtful: false,
        };
        disk.make_room(start.len());
        disk
    }

    /// What is shown, if the size is `size`.
    pub(super) fn image(&self, size: usize) -> &[u8] {
        &self.image[..size]
    }

    pub(super) fn live_size(&self) -> usize {
        self.sizes[self.sizes.len() - 1]
    }

    /// The cells of which something is seen if the size is `size`: the first so many.
    pub(super) fn visible(&self, size: usize) -> usize {
        self.cells.partition_point(|cell| cell.sector * self.unit < size)
    }

    fn make_room(&mut self, size: usize) {
        let len = size.next_multiple_of(self.unit);
        if self.image.len() < len {
            self.image.resize(len, 0);
        }
    }

    fn range(&self, sector: usize) -> std::ops::Range<usize> {
        sector * self.unit..(sector + 1) * self.unit
    }

    /// Shows version `version` of a cell.
    pub(super) fn show(&mut self, index: usize, version: usize) {
        let range = self.range(self.cells[index].sector);
        self.image[range].copy_from_slice(&self.cells[index].versions[version]);
    }

    /// Shows the first `len` bytes of version `front` of a cell, and the rest of version `rest`.
    pub(super) fn show_torn(&mut self, index: usize, front: usize, rest: usize, len: usize) {
        self.show(index, rest);
        let start = self.range(self.cells[index].sector).start;
        let front = &self.cells[index].versions[front];
        self.image[start..start + len].copy_from_slice(&front[..len]);
    }

    /// Shows a cell's sector with all bytes the same, until a version of it is shown again.
    pub(super) fn show_erased(&mut self, index: usize, fill: u8) {
        let range = self.range(self.cells[index].sector);
        self.image[range].fill(fill);
    }

    /// Shows a cell's sector with bytes that were never written, until a version of it is shown
    /// again.
    pub(super) fn show_noise(&mut self, index: usize) {
        let sector = self.cells[index].sector;
        let range = self.range(sector);
        self.image[range].copy_from_slice(&noise(sector, self.unit));
    }

    /// Shows other bytes in a sector, until a version of it is shown again.
    pub(super) fn poke(&mut self, sector: usize, within: usize, byte: u8) {
        self.image[sector * self.unit + within] = byte;
    }

    pub(super) fn show_newest(&mut self) {
        for index in 0..self.cells.len() {
            self.show(index, self.cells[index].newest());
        }
    }

    pub(super) fn show_oldest(&mut self) {
        for index in 0..self.cells.len() {
            self.show(index, 0);
        }
    }

    /// The index of a sector's cell, which is made if there is none.
    pub(super) fn cell(&mut self, sector: usize) -> usize {
        let found = self.cells.binary_search_by_key(&sector, |cell| cell.sector);
        found.unwrap_or_else(|index| {
            self.make_room((sector + 1) * self.unit);
            let mut durable: Sector = self.image[self.range(sector)].into();
            if self.lost == Lost::Noise && sector * self.unit >= self.sizes[0] {
                durable = noise(sector, self.unit);
            }
            let versions = vec![durable];
            let (doubtful, is_cut, touched, is_written) = (false, false, false, false);
            let cell = Cell { sector, versions, doubtful, is_cut, touched, is_written };
            self.cells.insert(index, cell);
            self.show(index, 0);
            index
        })
    }

    /// The content of a sector as a reader sees it.
    fn newest(&mut self, sector: usize) -> (usize, Sector) {
        let index = self.cell(sector);
        let cell = &self.cells[index];
        // What is behind the end of the durable store is no older content to its reader.
        let is_fresh = cell.versions.len() == 1 && sector * self.unit >= self.sizes[0];
        let is_zero = is_fresh || cell.is_cut;
        let zeros = || vec![0; self.unit].into();
        (index, if is_zero { zeros() } else { cell.versions[cell.newest()].clone() })
    }

    fn push(&mut self, index: usize, version: Sector) {
        let cell = &mut self.cells[index];
        (cell.doubtful, cell.is_cut) = (false, false);
        if cell.versions[cell.newest()] != version {
            cell.versions.push(version);
            cell.touched = true;
        }
    }

    fn push_size(&mut self, size: usize) {
        self.make_room(size);
        if size != self.live_size() {
            self.sizes.push(size);
            self.size_touched = true;
            self.size_doubtful = false;
        }
    }

    /// Shows what a reader sees in a sector that has a cell.
    pub(super) fn show_live(&mut self, sector: usize) {
        let (_, content) = self.newest(sector);
        let range = self.range(sector);
        self.image[range].copy_from_slice(&content);
    }

    /// A new operation begins.
    pub(super) fn begin(&mut self) {
        self.cells.iter_mut().for_each(|cell| cell.touched = false);
        self.size_touched = false;
    }

    /// Makes the cells that a write needs.
    pub(super) fn prepare(&mut self, offset: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return; // that does not make the store longer
        }
        let end = usize_of(offset) + bytes.len();
        self.fill_gap(usize_of(offset) / self.unit);
        self.make_room(end);
        for (sector, ..) in parts(self.unit, offset, bytes) {
            self.cell(sector);
        }
    }

    /// Writes into cells that were prepared.
    pub(super) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let end = usize_of(offset) + bytes.len();
        for (sector, within, part) in parts(self.unit, offset, bytes) {
            let (index, mut content) = self.newest(sector);
            content[within..within + part.len()].copy_from_slice(part);
            self.push(index, content);
            self.cells[index].is_written = true;
        }
        if end > self.live_size() && !bytes.is_empty() {
            self.push_size(end);
        }
    }

    pub(super) fn set_size(&mut self, size: usize) {
        self.fill_gap(size.div_ceil(self.unit));
        let end = self.live_size().div_ceil(self.unit);
        if size < self.live_size() && !size.is_multiple_of(self.unit) {
            // The rest of the last block is overwritten by zeros, and that may reach the disk
            // alone.
            let (index, mut content) = self.newest(size / self.unit);
            content[size % self.unit..].fill(0);
            self.push(index, content);
        }
        // Whole blocks behind it belong to the file, with their bytes, or do not.
        for sector in size.div_ceil(self.unit)..end {
            let index = self.cell(sector);
            self.cells[index].is_cut = true;
        }
        self.push_size(size);
    }

    /// The sectors between the end of the store and `end`, which read as zeros, become part of it.
    fn fill_gap(&mut self, end: usize) {
        for sector in self.live_size().div_ceil(self.unit)..end {
            let found = self.cells.binary_search_by_key(&sector, |cell| cell.sector);
            if self.lost == Lost::Noise || found.is_ok() {
                let (index, content) = self.newest(sector);
                self.push(index, content);
            }
        }
    }

    pub(super) fn sync(&mut self) {
        if !self.size_doubtful {
            for index in 0..self.cells.len() {
                if self.cells[index].is_cut {
                    self.push(index, vec![0; self.unit].into());
                }
            }
        }
        self.show_newest();
        self.cells.retain(|cell| cell.doubtful);
        if !self.size_doubtful {
            self.sizes.drain(..self.sizes.len() - 1);
        }
    }

    pub(super) fn sync_failed(&mut self) {
        self.cells.iter_mut().for_each(|cell| cell.doubtful = true);
        self.size_doubtful = self.sizes.len() > 1;
    }
}

/// What a block held that was another file's before.
fn noise(sector: usize, unit: usize) -> Sector {
    let mut random = super::crashes::Random(u64::try_from(sector).unwrap());
    (0..unit).map(|_| random.next().to_le_bytes()[0]).collect()
}
