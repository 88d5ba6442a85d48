//! What a process has of a set that several write.
#![allow(unsafe_code, reason = "one lock of a set lets it go from thread to thread")]

use crate::create::New;
use crate::{told, untold};
use std::io;
use striae_c::sion::parts::{About, Failure, Opened, Track, Writer};
use striae_mpi::Collective;
use striae_mpi::sion::FileWriter;

/// A value with a communicator, which one thread after another may use.
#[derive(Debug, Clone)]
pub(crate) struct Confined<T>(pub(crate) T);

// SAFETY: `Send`: "types that can be transferred across thread boundaries". What keeps a
// communicator from that is counters of references that are not atomic (`Rc`), and cells. All such
// references to the parts of a set are inside of it: it is made from a communicator of its own
// (`comm::duplicate`), of which nothing is left outside. The lock of the set lets one thread after
// another in. Calls of MPI in another thread are those of the program, which must have asked
// MPI_Init_thread for them.
unsafe impl<T> Send for Confined<T> {}

/// The writer of a process.
#[derive(Debug)]
pub(crate) struct Parallel<C> {
    file: Option<Confined<FileWriter<C>>>,
    new: New,
    /// Whether the program has written a byte or a record.
    has_written: bool,
}

impl<C: Collective> Parallel<C> {
    pub(crate) const fn new(file: FileWriter<C>, new: New) -> Self {
        Self { file: Some(Confined(file)), new, has_written: false }
    }

    fn file(&mut self) -> Result<&mut FileWriter<C>, Failure> {
        let file = self.file.as_mut().map(|Confined(file)| file);
        file.ok_or_else(|| "the set is closed, because of an error".into())
    }

    const fn has_copies(&self) -> bool {
        self.new.together.buddies() > 0
    }

    fn of(task: u64) -> Result<u32, Failure> {
        Ok(u32::try_from(task)?)
    }

    /// Refuses a record that no chunk of a task can have. Merged ones go to chunks of others.
    fn check_fits(&mut self, task: u64, len: usize) -> Result<(), Failure> {
        if self.new.together.merges() {
            return Ok(());
        }
        let (task, len) = (Self::of(task)?, u64::try_from(len)?);
        let own = self.file()?.own_tasks().find(|own| own.task == task);
        match own.map(|own| own.place.chunks.chunksize) {
            Some(chunksize) if len > chunksize => {
                Err(format!("{len} bytes are more than a chunk of {chunksize}").into())
            }
            _ => Ok(()),
        }
    }
}

impl<C: Collective + std::fmt::Debug + 'static> Writer for Parallel<C> {
    fn location(&mut self, task: u64) -> Result<(u32, u64), Failure> {
        let location = self.file()?.location(Self::of(task)?);
        location.ok_or_else(|| format!("task {task} is not one of this process").into())
    }

    fn write_record(&mut self, task: u64, bytes: &[u8]) -> Result<(), Failure> {
        let (has_copies, len) = (self.has_copies(), u64::try_from(bytes.len())?);
        let file = self.file()?;
        if has_copies {
            file.ensure_free_space(len)?;
            file.write(bytes).map_err(no_room)?;
        } else {
            let task = Self::of(task)?;
            let mut writer = writer(file, task)?;
            writer.ensure_free_space(len)?;
            io::Write::write_all(&mut writer, bytes)?;
        }
        self.has_written = true;
        Ok(())
    }

    fn write_key(&mut self, task: u64, key: u64, value: &[u8]) -> Result<(), Failure> {
        let has_copies = self.has_copies();
        let file = self.file()?;
        match has_copies {
            true => file.write_key(key, value).map_err(no_room)?,
            false => writer(file, Self::of(task)?)?.write_key(key, value)?,
        }
        self.has_written = true;
        Ok(())
    }

    fn ensure_free_space(&mut self, task: u64, len: u64) -> Result<(), Failure> {
        let has_copies = self.has_copies();
        let file = self.file()?;
        match has_copies {
            true => Ok(file.ensure_free_space(len)?),
            false => Ok(writer(file, Self::of(task)?)?.ensure_free_space(len)?),
        }
    }

    fn count_written(&mut self, task: u64, len: u64) -> Result<(), Failure> {
        let task = Self::of(task)?;
        self.has_written = true;
        Ok(self.file()?.count_written(task, len)?)
    }

    fn overwrite(&mut self, task: u64, chunk: u32, at: u64, bytes: &[u8]) -> Result<(), Failure> {
        let task = Self::of(task)?;
        Ok(self.file()?.overwrite(task, chunk, at, bytes)?)
    }

    fn flush(&mut self, _task: u64) -> Result<(), Failure> {
        if self.has_copies() {
            return Ok(()); // their bytes go out when the processes meet
        }
        Ok(self.file()?.flush()?)
    }

    /// What is written becomes part of the set when all processes close it: others do not call.
    fn commit(&mut self) -> Result<(), Failure> {
        self.flush(0)
    }

    fn close(&mut self, mine: Result<(), Failure>) -> Result<(), Failure> {
        let Some(Confined(mut file)) = self.file.take() else {
            return Err("the set is closed, because of an error".into());
        };
        if let Err(failure) = &mine {
            file.fail(untold(failure));
        }
        let closed = file.close().and_then(|comm| comm.free(Ok(()))).map_err(told);
        self.new.free_after(&closed);
        closed
    }

    fn agree(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        let Some(Confined(file)) = &self.file else { return mine };
        let comm = file.whole().unwrap_or_else(|| file.comm());
        comm.agree(mine.map_err(|failure| untold(&failure))).map_err(told)
    }

    fn is_collective(&self) -> bool {
        // With any tasks of each process, those of a file may write other numbers of records.
        let meets = self.new.together.is_collective || self.has_copies();
        meets && self.new.opened() != Opened::Mapped
    }

    fn coll_write(&mut self, task: u64, record: Result<&[u8], Failure>) -> Result<(), Failure> {
        let record = record.and_then(|record| {
            self.check_fits(task, record.len())?;
            Ok(record)
        });
        self.has_written = true;
        let file = self.file()?;
        if let Err(failure) = &record {
            file.fail(untold(failure));
        }
        file.coll_write(record.as_ref().copied().unwrap_or_default()).map_err(told)?;
        record?;
        match file.has_failed() {
            true => Err("a write of this process has failed, and so does the close".into()),
            false => Ok(()),
        }
    }

    fn reinit(&mut self, chunksize: Result<i64, Failure>) -> Result<(About, Vec<Track>), Failure> {
        let Some(Confined(mut file)) = self.file.take() else {
            return Err("the set is closed, because of an error".into());
        };
        let new = chunksize.and_then(|chunksize| match self.has_written {
            true => Err("chunks only get another size before anything is written".into()),
            false => self.new.with_chunksize(chunksize),
        });
        if let Err(failure) = &new {
            file.fail(untold(failure));
        }
        let comm = file.close().map_err(told);
        self.new.free_after(&comm);
        let (comm, new) = (comm?, new?); // else the close has failed
        let file = new.create(comm).map_err(told);
        self.new.free_after(&file);
        let file = file?;
        let known = new.known(&file);
        (self.file, self.new) = (Some(Confined(file)), new);
        Ok(known)
    }
}

/// An error of writing copies, whose bytes wait for the processes that keep them.
fn no_room(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            let text = "there is no room for copies before the processes meet in sion_coll_fwrite";
            io::Error::new(error.kind(), text)
        }
        _ => error,
    }
}

type TaskWriter<'a, F> = striae_mpi::sion::TaskWriter<'a, F>;

/// The writer of a task.
fn writer<C: Collective>(
    file: &mut FileWriter<C>,
    task: u32,
) -> Result<TaskWriter<'_, impl striae_core::store::WriteAt<Error = io::Error>>, Failure> {
    let error = file.whole().unwrap_or_else(|| file.comm()).error();
    file.writer(task).ok_or_else(|| match error {
        Some(error) => told(error),
        None => format!("task {task} is not one of this process").into(),
    })
}
