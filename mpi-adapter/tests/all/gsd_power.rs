//! GSD files of many ranks whose power is cut: what was committed is there.

use crate::disks::LEFT;
use crate::frames::{self, Frame};
use crate::world::ranks;
use std::io;
use std::sync::{Arc, Mutex};
use striae::gsd::OpenOptions;
use striae_core::store::{ReadAt, WriteAt};
use striae_mpi::gsd::{Builder, File, FileWriter, Rows};
use striae_mpi::threads::Rank;
use striae_mpi::{Code, Collective};

const RANKS: u32 = 3;

/// What happened to the disk.
#[derive(Debug, Clone)]
enum Event {
    Write(u64, Vec<u8>),
    SetSize(u64),
    Sync,
    /// A commit returned at rank 0; the file has so many frames.
    Committed(u64),
}

/// A disk on which each rank's sync makes only the writes of its node durable.
#[derive(Debug, Default)]
struct Disk {
    bytes: Vec<u8>,
    events: Vec<(u32, Event)>,
    /// Ranks whose operations fail from this number of events on, as if the disk were full.
    full: Option<(u32, usize)>,
    /// The nodes to which ranks are dealt in turn, if they know that.
    nodes: Option<u32>,
}

/// The node of a rank.
fn node_of(rank: u32, nodes: Option<u32>) -> u32 {
    rank % nodes.unwrap_or(RANKS)
}

#[derive(Debug, Clone)]
struct Handle {
    rank: u32,
    disk: Arc<Mutex<Disk>>,
}

impl Event {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, written) => {
                let end = *offset as usize + written.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[*offset as usize..end].copy_from_slice(written);
            }
            Self::SetSize(len) => bytes.resize(*len as usize, 0),
            Self::Sync | Self::Committed(_) => {}
        }
    }
}

impl Handle {
    fn does(&self, event: Event) -> io::Result<()> {
        let mut disk = self.disk.lock().unwrap();
        let now = disk.events.len();
        if disk.full.is_some_and(|(rank, from)| rank == self.rank && now >= from) {
            return Err(io::Error::from_raw_os_error(28)); // ENOSPC
        }
        event.apply(&mut disk.bytes);
        disk.events.push((self.rank, event));
        Ok(())
    }
}

impl ReadAt for Handle {
    type Error = io::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        Ok(self.disk.lock().unwrap().bytes.as_slice().read_at(offset, buf).unwrap())
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.disk.lock().unwrap().bytes.len() as u64)
    }
}

macro_rules! write_at {
    ($store:ty) => {
        impl WriteAt for $store {
            fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
                self.does(Event::Write(offset, bytes.to_vec()))
            }

            fn set_size(&mut self, len: u64) -> io::Result<()> {
                self.does(Event::SetSize(len))
            }

            fn sync(&mut self) -> io::Result<()> {
                self.does(Event::Sync)
            }

            fn cache(&self) -> Option<[u64; 3]> {
                let nodes = self.disk.lock().unwrap().nodes?;
                Some([1, 2, node_of(self.rank, Some(nodes)).into()])
            }
        }
    };
}

write_at!(Handle);
write_at!(&Handle);

/// Writes frames with a commit after each, on a disk.
fn write(disk: &Arc<Mutex<Disk>>, checksums: bool, frames: u64) -> Vec<Option<Code>> {
    ranks(RANKS, |comm| {
        let handle = Handle { rank: comm.rank(), disk: Arc::clone(disk) };
        let all = || -> Result<(), striae_mpi::Error> {
            let builder = Builder::new().checksums(checksums).names_len(64);
            let mut file: FileWriter<_, Handle> =
                builder.create_in(comm, |_| Ok(handle.clone()))?;
            for number in 0..frames {
                Frame::new(number).share(&mut file)?;
                file.commit()?;
                if handle.rank == 0 {
                    let committed = Event::Committed(number + 1);
                    disk.lock().unwrap().events.push((0, committed));
                }
            }
            file.close().map(drop)
        };
        all().err().map(|error| error.code())
    })
}

/// The disk after a power cut before event number `cut`, and how many frames were committed.
fn after_cut(
    (events, nodes): (&[(u32, Event)], Option<u32>),
    cut: usize,
    is_left: fn(usize) -> bool,
) -> (Vec<u8>, u64) {
    let (mut bytes, mut committed) = (Vec::new(), 0);
    let mut is_header_lost = false; // it is in one sector: what is lost is lost with what follows
    let events = &events[..cut];
    for (at, (rank, event)) in events.iter().enumerate() {
        let is_sync = |(other, event): &(u32, Event)| {
            node_of(*other, nodes) == node_of(*rank, nodes) && matches!(event, Event::Sync)
        };
        let is_durable = events[at..].iter().any(is_sync);
        let is_header = matches!(event, Event::Write(0..256, _));
        if is_durable || is_left(at) && !(is_header && is_header_lost) {
            event.apply(&mut bytes);
        } else {
            is_header_lost |= is_header;
        }
        if let Event::Committed(frames) = event {
            committed = *frames;
        }
    }
    (bytes, committed)
}

#[test]
fn after_a_power_cut_the_file_is_that_of_the_last_commit_or_the_one_under_way() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut cuts = 0;
    let cases = [(false, None), (true, None), (false, Some(1)), (true, Some(2))];
    for (checksums, nodes) in cases {
        let disk = Arc::new(Mutex::new(Disk { nodes, ..Disk::default() }));
        assert_eq!(write(&disk, checksums, 3), [None; RANKS as usize]);
        let events = std::mem::take(&mut disk.lock().unwrap().events);
        for rank in 1..RANKS {
            let is_sync = |of: &&(u32, Event)| of.0 == rank && matches!(of.1, Event::Sync);
            // One on the node of rank 0 leaves its syncs to that.
            let leaves = nodes.is_some() && node_of(rank, nodes) == node_of(0, nodes);
            let syncs = events.iter().filter(is_sync).count();
            assert_eq!(syncs == 0, leaves, "rank {rank}, {nodes:?} nodes: {syncs}");
        }
        for cut in 0..=events.len() {
            for is_left in LEFT {
                let (bytes, committed) = after_cut((&events, nodes), cut, is_left);
                if committed == 0 {
                    continue; // the file may not be made yet
                }
                std::fs::write(&path, bytes).unwrap();
                let file = OpenOptions::new().checked(checksums).open(&path).unwrap();
                assert!((committed..=committed + 1).contains(&file.frames()), "cut at {cut}");
                for number in 0..file.frames() {
                    assert_eq!(Frame::read(&file, number), Frame::new(number), "cut at {cut}");
                }
                cuts += 1;
            }
        }
    }
    assert!(cuts > 600, "{cuts}");
}

#[test]
fn a_full_disk_at_any_rank_and_time_is_the_same_error_at_all_and_costs_no_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    for rank in 0..RANKS {
        for from in (0..).step_by(3) {
            let disk = Arc::new(Mutex::new(Disk { full: Some((rank, from)), ..Disk::default() }));
            let codes = write(&disk, true, 3);
            if codes == [None; RANKS as usize] {
                break; // it had all of its operations before
            }
            assert_eq!(codes, [Some(Code::Io(28)); RANKS as usize], "rank {rank}, {from}");
            let disk = disk.lock().unwrap();
            let mut committed = disk.events.iter().filter_map(|(_, event)| match event {
                Event::Committed(frames) => Some(*frames),
                _ => None,
            });
            if let Some(committed) = committed.next_back() {
                std::fs::write(&path, &disk.bytes).unwrap();
                let file = OpenOptions::new().checked(true).open(&path).unwrap();
                assert!((committed..=committed + 1).contains(&file.frames()));
                assert_eq!(Frame::read(&file, committed - 1), Frame::new(committed - 1));
            }
        }
    }
}

#[test]
fn any_number_of_ranks_reads_a_chunk_of_any_number_of_writers() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let values: Vec<f64> = (0..3 * 41).map(f64::from).collect();
    for checksums in [false, true] {
        ranks(4, |comm| {
            let part = frames::part(41, comm.rank(), 4);
            let builder = Builder::new().checksums(checksums).force(true);
            let mut file = builder.create(comm, &path).unwrap();
            let rows = Rows::new().chunk("a", &values[3 * part.start..3 * part.end], 3);
            file.write(&[rows]).unwrap();
            file.end_frame();
            file.close().unwrap();
        });
        for size in [1, 2, 3, 7, 50] {
            let parts = ranks(size, |comm| {
                let rank = u64::from(comm.rank());
                let file = File::open(comm, &path).unwrap();
                assert_eq!((file.frames(), file.comm().calls()), (1, 3));
                let chunk = file.chunk(0, "a").unwrap();
                assert_eq!((chunk.n, chunk.m, file.comm().calls()), (41, 3, 5));
                let part = file.read::<f64>(&chunk).unwrap();
                assert_eq!(file.comm().calls(), 7);
                let rows = rank % 41..41;
                let own = file.read_rows::<f64>(&chunk, rows.clone()).unwrap();
                assert_eq!(own.values, values[3 * rows.start as usize..]);
                part
            });
            let mut rows = 0;
            for part in &parts {
                assert_eq!(part.rows.start, rows);
                rows = part.rows.end;
                assert!(rows - part.rows.start <= 41_u64.div_ceil(size.into()));
            }
            let all: Vec<f64> = parts.into_iter().flat_map(|part| part.values).collect();
            assert_eq!((rows, all), (41, values.clone()));
        }
    }
}

#[test]
fn a_wrong_byte_of_one_part_is_the_error_of_all_ranks() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let mut writer = striae::gsd::Builder::new().checksums(true).create(&path).unwrap();
    writer.write("a", &[7_u32; 100], 1).unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let chunk = striae::gsd::File::open(&path).unwrap().chunk(0, "a").unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[chunk.span.offset() as usize + 250] ^= 4;
    std::fs::write(&path, bytes).unwrap();
    let read = |comm: Rank| {
        let file = File::open(comm, &path).unwrap();
        let chunk = file.chunk(0, "a").unwrap();
        file.read::<u32>(&chunk).unwrap_err()
    };
    let errors = ranks(4, read);
    assert!(errors.iter().all(|error| *error == errors[0]));
    assert_eq!((errors[0].code(), errors[0].rank()), (Code::Damaged, Some(0)));
}

#[test]
fn what_cannot_be_read_is_one_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let error = |work: &(dyn Fn(File<Rank>, u32) -> Option<striae_mpi::Error> + Sync)| {
        let errors = ranks(3, |comm| {
            let rank = comm.rank();
            work(File::open(comm, &path).unwrap(), rank).unwrap()
        });
        assert!(errors.iter().all(|error| *error == errors[0]));
        (errors[0].code(), errors[0].rank())
    };
    let errors = ranks(3, |comm| File::open(comm, &path).unwrap_err().code());
    assert_eq!(errors, [Code::Io(2); 3]); // ENOENT
    std::fs::write(&path, [1; 512]).unwrap();
    let errors = ranks(3, |comm| File::open(comm, &path).unwrap_err().code());
    assert_eq!(errors, [Code::Damaged; 3]);
    std::fs::remove_file(&path).unwrap();
    let mut writer = striae::gsd::Builder::new().create(&path).unwrap();
    writer.write("a", &[7_u32; 10], 1).unwrap();
    writer.end_frame().unwrap();
    writer.close().unwrap();
    let refused = (Code::Refused, Some(0));
    assert_eq!(error(&|file, _| file.chunk(0, "b").err()), refused);
    assert_eq!(error(&|file, _| file.chunk(1, "a").err()), refused);
    let name = |rank| if rank == 2 { "a" } else { "b" };
    assert_eq!(error(&|file, rank| file.chunk(0, name(rank)).err()), (Code::Differ, Some(2)));
    let chunk = striae::gsd::File::open(&path).unwrap().chunk(0, "a").unwrap();
    assert_eq!(error(&|file, _| file.read::<i32>(&chunk).err()), refused);
    let rows = |rank| if rank == 1 { 5..11 } else { 0..10 };
    let past = error(&|file, rank| file.read_rows::<u32>(&chunk, rows(rank)).err());
    assert_eq!(past, (Code::Refused, Some(1)));
}
