//! The files of a set on a disk whose power is cut.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use striae::posix::PosixFile;
use striae_core::store::{ReadAt, WriteAt};

#[derive(Debug, Clone)]
enum Event {
    Made,
    Write(u64, Vec<u8>),
    SetSize(u64),
    Sync,
    /// A commit returned at a rank.
    Committed(u32),
}

#[derive(Debug)]
struct Happened {
    rank: u32,
    path: PathBuf,
    event: Event,
}

/// Everything that ranks did to files, in order. A sync makes durable what the ranks of its node
/// wrote to its file.
#[derive(Debug, Clone)]
pub(crate) struct Disks {
    happened: Arc<Mutex<Vec<Happened>>>,
    /// The number of nodes; ranks are dealt to them in turn.
    nodes: u32,
    /// Whether ranks can tell on which node they are.
    are_named: bool,
}

impl Default for Disks {
    /// Each rank is on a node of its own, and no rank knows that.
    fn default() -> Self {
        Self { are_named: false, ..Self::of_nodes(u32::MAX) }
    }
}

/// Which of the writes are on the disk that no sync has made durable.
pub(crate) const LEFT: [fn(usize) -> bool; 4] =
    [|_| false, |_| true, |at| at % 2 == 0, |at| at % 3 == 1];

impl Disks {
    /// The ranks of so many nodes.
    pub(crate) fn of_nodes(nodes: u32) -> Self {
        Self { happened: Arc::default(), nodes, are_named: true }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Happened>> {
        self.happened.lock().unwrap()
    }

    const fn node_of(&self, rank: u32) -> u32 {
        rank % self.nodes
    }

    pub(crate) const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The number of syncs by a rank.
    pub(crate) fn syncs(&self, rank: u32) -> usize {
        let is_sync = |it: &&Happened| matches!(it.event, Event::Sync) && it.rank == rank;
        self.lock().iter().filter(is_sync).count()
    }

    /// How a rank opens files.
    pub(crate) fn open(&self, rank: u32) -> impl Fn(&Path, bool) -> io::Result<Watched> + use<> {
        let disks = self.clone();
        move |path, anew| {
            let file =
                if anew { PosixFile::create(path, true)? } else { PosixFile::open_rw(path)? };
            let watched = Watched { file, rank, path: path.to_owned(), disks: disks.clone() };
            if anew {
                watched.did(Event::Made);
            }
            Ok(watched)
        }
    }

    /// Commit number `number` returned at this rank.
    pub(crate) fn committed(&self, rank: u32, number: u32) {
        let (path, event) = (PathBuf::new(), Event::Committed(number));
        self.lock().push(Happened { rank, path, event });
    }

    /// The number of events.
    pub(crate) fn events(&self) -> usize {
        self.lock().len()
    }

    /// The number of events up to the last one that made a file.
    pub(crate) fn made(&self) -> usize {
        let is_made = |happened: &Happened| matches!(happened.event, Event::Made);
        self.lock().iter().rposition(is_made).map_or(0, |at| at + 1)
    }

    /// Makes the files what they are after a power cut before event number `cut`. Returns the
    /// number of the last commit that returned at any rank.
    pub(crate) fn after_cut(&self, cut: usize, is_left: fn(usize) -> bool) -> u32 {
        let (all, mut committed) = (self.lock(), 0);
        let events = &all[..cut];
        let mut files = std::collections::BTreeMap::<&Path, Vec<u8>>::new();
        for (at, Happened { rank, path, event }) in events.iter().enumerate() {
            let is_sync = |other: &Happened| {
                self.node_of(other.rank) == self.node_of(*rank)
                    && other.path == *path
                    && matches!(other.event, Event::Sync)
            };
            let is_there = events[at..].iter().any(is_sync) || is_left(at);
            match event {
                Event::Made => drop(files.insert(path, Vec::new())),
                Event::Write(offset, bytes) if is_there => {
                    let (file, start) = (files.get_mut(path.as_path()).unwrap(), *offset as usize);
                    file.resize(file.len().max(start + bytes.len()), 0);
                    file[start..start + bytes.len()].copy_from_slice(bytes);
                }
                Event::SetSize(len) if is_there => {
                    files.get_mut(path.as_path()).unwrap().resize(*len as usize, 0);
                }
                Event::Committed(number) => committed = committed.max(*number),
                Event::Write(..) | Event::SetSize(_) | Event::Sync => {}
            }
        }
        for (path, bytes) in files {
            std::fs::write(path, bytes).unwrap();
        }
        committed
    }
}

/// A file whose changes are remembered.
#[derive(Debug)]
pub(crate) struct Watched {
    file: PosixFile,
    rank: u32,
    path: PathBuf,
    disks: Disks,
}

impl Watched {
    fn did(&self, event: Event) {
        let (rank, path) = (self.rank, self.path.clone());
        self.disks.lock().push(Happened { rank, path, event });
    }
}

impl ReadAt for &Watched {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(offset, buf)
    }

    fn size(&self) -> io::Result<u64> {
        ReadAt::size(&self.file)
    }
}

impl WriteAt for &Watched {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.did(Event::Write(offset, bytes.to_vec()));
        self.file.write_all_at(offset, bytes)
    }

    fn set_size(&mut self, len: u64) -> io::Result<()> {
        self.did(Event::SetSize(len));
        self.file.set_size(len)
    }

    fn order(&mut self) -> io::Result<()> {
        self.sync()
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()?;
        self.did(Event::Sync);
        Ok(())
    }

    fn cache(&self) -> Option<[u64; 3]> {
        self.disks.are_named.then(|| [1, 2, self.disks.node_of(self.rank).into()])
    }
}
