//! Files that have a length and no bytes.

use super::model::Picoseconds;
use super::world::{State, Tally, World};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// The files that all simulated ranks share, as one of them uses them.
#[derive(Debug, Clone)]
pub struct Disk {
    world: Arc<World>,
    runner: usize,
}

/// A file of a simulated world. It keeps its length; its bytes read as zeros.
#[derive(Debug)]
pub struct SimulatedFile {
    disk: Disk,
    path: PathBuf,
}

impl Disk {
    pub(super) const fn new(world: Arc<World>, runner: usize) -> Self {
        Self { world, runner }
    }

    /// What this rank did so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.world.tally(self.runner)
    }

    /// Opens a file; if `anew`, makes it, or empties it.
    ///
    /// # Errors
    /// There is no such file; the fault of this rank.
    pub fn open(&self, path: &Path, anew: bool) -> io::Result<SimulatedFile> {
        let _aside = self.world.aside();
        self.operate(0, |tally, _| tally.opens = tally.opens.saturating_add(1))?;
        self.world.wait_for_open(self.runner).map_err(io::Error::from)?;
        let files = &mut self.world.lock().files;
        if anew {
            files.insert(path.to_owned(), 0);
        } else if !files.contains_key(path) {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(SimulatedFile { disk: self.clone(), path: path.to_owned() })
    }

    /// Does something that takes a time, unless it is what this rank fails at.
    fn operate<R>(
        &self,
        time: Picoseconds,
        work: impl FnOnce(&mut Tally, &mut std::collections::HashMap<PathBuf, u64>) -> R,
    ) -> io::Result<R> {
        let rank = self.world.runners.get(self.runner).map(|runner| runner.rank);
        let mut state = self.world.lock();
        let State { tallies, files, .. } = &mut *state;
        let Some(tally) = tallies.get_mut(self.runner) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let number = tally.operations;
        tally.operations = number.saturating_add(1);
        let fault = self.world.settings.fault;
        if fault.is_some_and(|(failing, at)| Some(failing) == rank && at == number) {
            return Err(io::Error::from_raw_os_error(28)); // ENOSPC
        }
        tally.spend(time);
        Ok(work(tally, files))
    }
}

impl SimulatedFile {
    fn bytes_take(&self, len: usize) -> Picoseconds {
        usize_to_u64(len).saturating_mul(self.disk.world.settings.model.file_byte)
    }

    fn len(&self) -> u64 {
        self.disk.world.lock().files.get(&self.path).copied().unwrap_or(0)
    }
}

impl ReadAt for &SimulatedFile {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        let len = left.min(buf.len());
        buf.iter_mut().take(len).for_each(|byte| *byte = 0);
        self.disk.operate(self.bytes_take(len), |tally, _| {
            tally.read = tally.read.saturating_add(usize_to_u64(len));
            len
        })
    }

    fn size(&self) -> io::Result<u64> {
        self.disk.operate(0, |_, _| ()).map(|()| self.len())
    }
}

impl WriteAt for &SimulatedFile {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let len = usize_to_u64(bytes.len());
        let end = offset.checked_add(len).ok_or(io::ErrorKind::FileTooLarge)?;
        self.disk.operate(self.bytes_take(bytes.len()), |tally, files| {
            tally.writes = tally.writes.saturating_add(1);
            tally.written = tally.written.saturating_add(len);
            if let Some(length) = files.get_mut(&self.path) {
                *length = end.max(*length);
            }
        })
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.disk.operate(0, |_, files| {
            if let Some(length) = files.get_mut(&self.path) {
                *length = len;
            }
        })
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.operate(self.disk.world.settings.model.sync, |_, _| ())
    }
}
