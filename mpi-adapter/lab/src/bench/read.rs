//! `striae-mpi-lab bench read`: the ways to read.

use super::report::{Records, Report};
use super::way::{Way, own_path, path};
use super::{Row, WriteArgs, remove};
use clap::{Args, ValueEnum};
use std::fs;
use std::io::{self, BufReader, Read};
use std::num::{NonZeroU32, NonZeroU64};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use striae_mpi::sion::OpenOptions;
use striae_mpi::{Code, Collective, Error, Failure};

#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The folder for the files, which are removed afterwards.
    folder: PathBuf,
    /// Length of a record in bytes.
    #[arg(long, value_name = "BYTES", default_value = "4096")]
    size: NonZeroU64,
    /// Bytes that each rank reads; the last record is cut. 0: open and close only.
    #[arg(long, value_name = "BYTES", default_value = "16777216")]
    bytes: u64,
    /// Size of a chunk; default: all bytes of a rank.
    #[arg(long, value_name = "BYTES")]
    chunksize: Option<NonZeroU64>,
    /// Number of physical files of the set.
    #[arg(long, value_name = "N", default_value = "1")]
    files: NonZeroU32,
    /// Buffer of a rank in the way `buffer`.
    #[arg(long, value_name = "BYTES", default_value = "1048576")]
    buffer: usize,
    /// Number of turns; in each, every way reads once.
    #[arg(long, value_name = "N", default_value = "5")]
    turns: NonZeroU32,
    /// Measure only this way; may be given several times. Ratios are to the first.
    #[arg(long, value_name = "NAME")]
    way: Vec<ReadWay>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReadWay {
    /// A file for each rank, `pread` of each record.
    Pread,
    /// A SIONlib set; every rank reads each record at once.
    Alone,
    /// A SIONlib set; every rank has a buffer.
    Buffer,
}

impl ReadWay {
    const fn text(self) -> &'static str {
        match self {
            Self::Pread => "a file a rank, pread of each record",
            Self::Alone => "set, each record at once",
            Self::Buffer => "set, a buffer a rank",
        }
    }

    /// Opens, reads and closes; all ranks are ready when one of them returns.
    fn read<C: Collective>(self, comm: C, args: &WriteArgs) -> Result<C, Error> {
        if self == Self::Pread {
            let done = read_own(args, comm.rank());
            comm.agree(done.map_err(|error| Failure::io("reading an own file", &error)))?;
            return Ok(comm);
        }
        let rank = comm.rank();
        let set = OpenOptions::new().open(comm, path(args))?;
        let read = |task| {
            let mut stream = set.stream(task)?;
            match self {
                Self::Buffer => {
                    check(args, rank, BufReader::with_capacity(args.buffer.max(1), stream))
                }
                _ => check(args, rank, &mut stream),
            }
        };
        let done = match set.tasks() {
            [own] if own.task == u64::from(rank) => {
                read(own.task).map_err(|error| Failure::io("reading the own task", &error))
            }
            _ => Err(Failure::new(Code::Damaged, "the set has other tasks than were written")),
        };
        set.close(done)
    }
}

fn read_own(args: &WriteArgs, rank: u32) -> io::Result<()> {
    /// Each read is one call of the operating system.
    struct At(fs::File, u64);
    impl Read for At {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            let len = self.0.read_at(buf, self.1)?;
            self.1 = self.1.saturating_add(u64::try_from(len).unwrap_or(0));
            Ok(len)
        }
    }
    check(args, rank, At(fs::File::open(own_path(args, rank))?, 0))
}

/// Reads the records of a rank, and compares them with those that were written.
fn check(args: &WriteArgs, rank: u32, mut from: impl Read) -> io::Result<()> {
    let wrong = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
    let [byte, ..] = rank.to_le_bytes();
    let size = usize::try_from(args.size.get().min(args.bytes)).unwrap_or(usize::MAX);
    let (mut record, mut left) = (vec![0; size], args.bytes);
    while left > 0 {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(size);
        let bytes = record.get_mut(..len).unwrap_or_default();
        from.read_exact(bytes)?;
        // The ends are enough to see a record of another rank, and cost nothing.
        if bytes.first() != Some(&byte) || bytes.last() != Some(&byte) {
            return wrong("bytes that this rank did not write");
        }
        left = left.saturating_sub(u64::try_from(len).unwrap_or(u64::MAX));
    }
    match from.read(&mut [0])? {
        0 => Ok(()),
        _ => wrong("more bytes than were written"),
    }
}

pub(super) fn run<C: Collective>(mut comm: C, args: &ReadArgs) -> Result<(), Error> {
    let ways = if args.way.is_empty() { ReadWay::value_variants() } else { &args.way };
    let mut rows: Vec<_> = ways.iter().map(|way| Row::new(way, way.text())).collect();
    let made = args.to_write();
    for way in [Way::Stdio, Way::Buffer] {
        comm = way.write(comm, &made)?;
    }
    for _ in 0..args.turns.get() {
        for (way, row) in ways.iter().zip(&mut rows) {
            comm = row.measure(comm, |comm| way.read(comm, &made))?;
        }
    }
    for way in [Way::Stdio, Way::Buffer] {
        remove(&comm, way, &made)?;
    }
    if comm.rank() == 0 {
        let records = Records::new(&made, comm.size());
        let total = records.total();
        Report::new(records, total, &rows).print(made.json);
    }
    Ok(())
}

impl ReadArgs {
    /// How the files are written.
    fn to_write(&self) -> WriteArgs {
        let Self { size, bytes, chunksize, files, buffer, turns, json, .. } = *self;
        WriteArgs {
            folder: self.folder.clone(),
            size,
            bytes,
            chunksize,
            files,
            commits: 0,
            ranks_per_writer: None,
            buffer,
            behind: false,
            sync: false,
            turns,
            way: Vec::new(),
            json,
        }
    }
}
