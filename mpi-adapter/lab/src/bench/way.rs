//! The ways to write.

use super::WriteArgs;
use clap::ValueEnum;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use striae::posix::PosixFile;
use striae_core::sion::filename::Sibling;
use striae_mpi::sion::{Builder, FileWriter};
use striae_mpi::{Collect, Collective, Error, Failure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Way {
    /// A file for each rank, with a buffer of 4 KiB as that of C's stdio.
    Stdio,
    /// One file for all ranks, `pwrite` for each record.
    Pwrite,
    /// A SIONlib set; every rank writes each record at once.
    Alone,
    /// A SIONlib set; every rank has a buffer and writes it.
    Buffer,
    /// A SIONlib set; records are written by `coll_write`, and few ranks write for all.
    Coll,
}

impl Way {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Stdio => "a file a rank, buffer of 4 KiB",
            Self::Pwrite => "one file, pwrite of each record",
            Self::Alone => "set, each record at once",
            Self::Buffer => "set, a buffer a rank",
            Self::Coll => "set, coll_write, few writers",
        }
    }

    /// Opens, writes and closes; all ranks are ready when one of them returns.
    pub(crate) fn write<C: Collective>(self, comm: C, args: &WriteArgs) -> Result<C, Error> {
        let collect = Collect::new().buffer(args.buffer).write_behind(args.behind);
        match self {
            Self::Stdio => {
                let done = write_own(args, comm.rank());
                comm.agree(done.map_err(|error| Failure::io("writing an own file", &error)))?;
                Ok(comm)
            }
            Self::Pwrite => {
                let made =
                    if comm.rank() == 0 { fs::File::create(path(args)).map(drop) } else { Ok(()) };
                comm.agree(made.map_err(|error| Failure::io("making the file", &error)))?;
                let done = write_one(args, comm.rank());
                comm.agree(done.map_err(|error| Failure::io("writing the file", &error)))?;
                Ok(comm)
            }
            Self::Alone => write_set(comm, args, None, false),
            Self::Buffer => write_set(comm, args, Some(collect.ranks_per_writer(1)), false),
            Self::Coll => {
                let ranks = args.ranks_per_writer.map_or(u32::MAX, std::num::NonZeroU32::get);
                write_set(comm, args, Some(collect.ranks_per_writer(ranks)), true)
            }
        }
    }

    /// Removes the files of a turn.
    pub(crate) fn remove(self, args: &WriteArgs, ranks: u32) -> io::Result<()> {
        match self {
            Self::Stdio => (0..ranks).try_for_each(|rank| fs::remove_file(own_path(args, rank))),
            Self::Pwrite => fs::remove_file(path(args)),
            Self::Alone | Self::Buffer | Self::Coll => (0..args.files.get()).try_for_each(|file| {
                let mut name = path(args).into_os_string();
                name.push(Sibling(file).to_string());
                fs::remove_file(name)
            }),
        }
    }
}

pub(super) fn path(args: &WriteArgs) -> PathBuf {
    args.folder.join("striae-mpi-bench.sion")
}

pub(super) fn own_path(args: &WriteArgs, rank: u32) -> PathBuf {
    args.folder.join(format!("striae-mpi-bench.{rank}"))
}

/// Passes the records of a rank to `write`, with their numbers from 1 on.
fn records<E>(
    args: &WriteArgs,
    rank: u32,
    mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let size = args.size.get().min(args.bytes);
    let full = vec![rank.to_le_bytes()[0]; usize::try_from(size).unwrap_or(0)];
    let (mut left, mut number) = (args.bytes, 0_u64);
    while left > 0 {
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(full.len());
        number = number.saturating_add(1);
        write(number, full.get(..len).unwrap_or_default())?;
        left = left.saturating_sub(size);
    }
    Ok(())
}

fn write_own(args: &WriteArgs, rank: u32) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(4096, fs::File::create(own_path(args, rank))?);
    records(args, rank, |_, record| file.write_all(record))?;
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    if args.sync { file.sync_data() } else { Ok(()) }
}

fn write_one(args: &WriteArgs, rank: u32) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path(args))?;
    let mut offset = args.bytes.saturating_mul(rank.into());
    records(args, rank, |_, record| {
        file.write_all_at(record, offset)?;
        offset = offset.saturating_add(args.size.get());
        Ok::<(), io::Error>(())
    })?;
    if args.sync { file.sync_data() } else { Ok(()) }
}

fn write_set<C: Collective>(
    comm: C,
    args: &WriteArgs,
    collect: Option<Collect>,
    together: bool,
) -> Result<C, Error> {
    let (rank, syncs) = (comm.rank(), args.sync);
    let chunksize = args.chunksize.map_or(args.bytes.max(1), std::num::NonZeroU64::get);
    let mut builder = Builder::new().chunksize(chunksize).nfiles(args.files.get()).force(true);
    if let Some(collect) = collect {
        builder = builder.collect(collect);
    }
    let mut file = builder.create_in(comm, path(args), move |path, anew| {
        let file = if anew { PosixFile::create(path, true) } else { PosixFile::open_rw(path) };
        Ok(file?.durable(syncs))
    })?;
    let number = args.bytes.div_ceil(args.size.get());
    let part = number.div_ceil(u64::from(args.commits).saturating_add(1)).max(1);
    records(args, rank, |at, record| {
        match together {
            true => file.coll_write(record)?,
            false => write_alone(&mut file, record)?,
        }
        if at.checked_rem(part) == Some(0) && at < number { file.commit() } else { Ok(()) }
    })?;
    file.close()
}

/// A failure is told by the next collective.
fn write_alone<C: Collective>(file: &mut FileWriter<C>, record: &[u8]) -> Result<(), Error> {
    if let Err(error) = file.write(record)
        && error.kind() == io::ErrorKind::WouldBlock
    {
        file.advance(u64::try_from(record.len()).unwrap_or(0))?;
        let _ = file.write(record); // as above
    }
    Ok(())
}
