//! What a process has of a set that several read.

use crate::writer::Confined;
use crate::{told, untold};
use std::fmt::Debug;
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, PoisonError};
use striae::sion::{Record, TaskEntry};
use striae_c::sion::parts::{Failure, Stream, Streams};
use striae_mpi::sion::Streams as Own;
use striae_mpi::{Collective, Operation};

/// The streams of a process, and the communicator by which all of them close the set.
#[derive(Debug)]
pub(crate) struct Shared<C> {
    own: Arc<Own>,
    comm: Mutex<Option<Confined<C>>>,
}

impl<C> Shared<C> {
    pub(crate) fn new(own: Own, comm: C) -> Self {
        Self { own: Arc::new(own), comm: Mutex::new(Some(Confined(comm))) }
    }
}

impl<C: Collective + Debug> Streams for Shared<C> {
    fn chunk_lens(&self, entry: &TaskEntry) -> Result<Vec<u64>, Failure> {
        let own = self.own.entry(entry.task);
        let own = own.ok_or_else(|| format!("task {} is not one of this process", entry.task))?;
        Ok(own.chunk_lens().collect())
    }

    fn stream(&self, entry: &TaskEntry) -> Result<Box<dyn Stream>, Failure> {
        self.own.stream(entry.task)?;
        Ok(Box::new(OwnStream { own: Arc::clone(&self.own), task: entry.task, position: 0 }))
    }

    fn agree(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        let comm = self.comm.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Confined(comm)) = &*comm else { return mine };
        comm.agree(mine.map_err(|failure| untold(&failure))).map_err(told)
    }

    fn close(&self, mine: Result<(), Failure>) -> Result<(), Failure> {
        let comm = self.comm.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(Confined(comm)) = comm else { return mine };
        comm.begin(Operation::SionEndRead, 0);
        comm.free(mine.map_err(|failure| untold(&failure))).map_err(told)
    }
}

/// The stream of a task, with a position.
#[derive(Debug)]
struct OwnStream {
    own: Arc<Own>,
    task: u64,
    position: u64,
}

impl Read for OwnStream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.own.stream(self.task)?;
        stream.seek(SeekFrom::Start(self.position))?;
        let len = stream.read(buf)?;
        self.position = stream.stream_position()?;
        Ok(len)
    }
}

impl Seek for OwnStream {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let mut stream = self.own.stream(self.task)?;
        stream.seek(SeekFrom::Start(self.position))?;
        self.position = stream.seek(to)?;
        Ok(self.position)
    }
}

impl Stream for OwnStream {
    fn position_of(&mut self, chunk: u64, at: u64) -> Result<u64, Failure> {
        Ok(self.own.stream(self.task)?.position_of(chunk, at)?)
    }

    fn records(&mut self) -> Result<Vec<Record>, Failure> {
        Ok(self.own.stream(self.task)?.records()?.collect::<Result<_, _>>()?)
    }
}
