//! Reads under way: they are begun, continued after short results, and finished.
#![expect(unsafe_code, reason = "who begins a read promises that its memory is left alone")]

use super::aio::Aio;
use super::engine::{Completion, Engine, Op};
use super::file::Shared;
use super::memory::{Memory, Pool, ReadBuffer};
use super::ring::Ring;
use super::standing::{Rung, Standing};
use super::workers::Threads;
use crate::error::ErrorKind;
use rustix::io::Errno;
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use striae_core::align::{Read, Rest, Rules};
use striae_core::store::usize_to_u64;

/// The reads of one plan, which belong together.
#[derive(Debug)]
struct Flight {
    memory: Memory,
    rules: Rules,
    /// Reads that are not begun yet, the next one last.
    waiting: Vec<(Read, ReadBuffer)>,
    /// Number of reads that are begun and not done.
    under_way: usize,
    error: Option<ErrorKind>,
    /// Whether the caller has left the flight.
    is_left: bool,
}

/// A read that is under way.
#[derive(Debug, Clone, Copy)]
struct PendingRead {
    flight: usize,
    read: Read,
    target: ReadBuffer,
    rung: Rung,
    /// How many times in a row it returned no bytes.
    idle: u32,
}

/// A read of a flight is done or has failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) flight: usize,
    /// Number of the read.
    pub(super) read: u64,
}

/// The engines and memory of one caller at a time. Reads under way stay here with their memory
/// until they are done, whatever the caller does.
#[derive(Debug)]
pub(super) struct Lane {
    // Dropped first: their drop waits for all reads under way, which write to the memory of the
    // flights.
    ring: Option<Ring>,
    aio: Option<Aio>,
    threads: Option<Threads>,
    file: Arc<Shared>,
    pub(super) pool: Arc<Pool>,
    flights: Slab<Flight>,
    begun: Slab<PendingRead>,
    /// Flights with reads that are not begun, in order.
    waiting: VecDeque<usize>,
    /// Changes the results of reads, for tests.
    #[cfg(test)]
    pub(super) fault: Option<Fault>,
    #[cfg(test)]
    turn: u64,
    /// The reads that were begun, and the most that were under way at once.
    #[cfg(test)]
    pub(super) reads: (usize, usize),
}

/// A change that a test makes to a finished read.
#[cfg(test)]
pub(super) type Fault = fn(turn: u64, done: &mut Completion);

/// How many times in a row a read may return no bytes before it fails.
pub(super) const IDLE: u32 = 1000;

impl Lane {
    pub(super) fn new(file: Arc<Shared>) -> Self {
        let pool = Pool::new(file.memory_align());
        let (flights, begun, waiting) = (Slab::new(), Slab::new(), VecDeque::new());
        let mut lane = Self {
            ring: None,
            aio: None,
            threads: None,
            file,
            pool,
            flights,
            begun,
            waiting,
            #[cfg(test)]
            fault: None,
            #[cfg(test)]
            turn: 0,
            #[cfg(test)]
            reads: (0, 0),
        };
        lane.set_up();
        lane
    }

    pub(super) const fn file(&self) -> &Arc<Shared> {
        &self.file
    }

    /// Makes the engine that the file's rung needs, or steps down.
    fn set_up(&mut self) {
        if self.file.rung().is_ring() && self.ring.is_none() {
            self.set_up_ring();
        }
        if self.file.rung() == Rung::Aio && self.aio.is_none() {
            match Aio::new(Arc::clone(&self.file.handles), self.file.options.depth) {
                Ok(aio) => self.aio = Some(aio),
                Err(error) => {
                    self.file.step_down(Rung::Aio, &format!("setting up AIO: {error}"));
                }
            }
        }
    }

    fn set_up_ring(&mut self) {
        let options = &self.file.options;
        let most = usize::try_from(options.memory).unwrap_or(usize::MAX).max(Pool::KEPT);
        match Ring::new(Arc::clone(&self.file.handles), options.depth, most) {
            Ok((ring, why)) => {
                if let Some(why) = why {
                    self.file.step_down(Rung::Registered, &format!("registering buffers: {why}"));
                }
                self.ring = Some(ring);
            }
            Err(error) => {
                let why = format!("setting up a ring: {error}");
                self.file.step_down(Rung::Registered, &why);
                self.file.step_down(Rung::Ring, &why);
            }
        }
    }

    /// Memory of at least `len` bytes.
    pub(super) fn memory(&mut self, len: u64) -> Result<Memory, ErrorKind> {
        let too_much = || io::Error::from(io::ErrorKind::OutOfMemory);
        let len = usize::try_from(len).map_err(|_| too_much())?;
        let mut memory = self.pool.take(len).ok_or_else(too_much)?;
        if let Some(ring) = &mut self.ring {
            ring.free(self.pool.free_slots()); // what is registered takes room when it is gone, too
        }
        // Memory larger than the pool is used once, so registering it is not worth it.
        if self.file.rung() == Rung::Registered
            && memory.len() <= Pool::KEPT
            && let Some(ring) = &mut self.ring
            && let Err(error) = ring.register(&mut memory)
        {
            let why = format!("registering {} bytes: {error}", memory.len());
            self.file.step_down(Rung::Registered, &why);
        }
        Ok(memory)
    }

    /// Starts the reads of a plan, and returns the key of their flight.
    ///
    /// # Safety
    /// The targets are disjoint parts of `memory`, or of memory that lives and that nobody uses
    /// until [`wait_for`](Self::wait_for) has returned.
    pub(super) unsafe fn start(
        &mut self,
        memory: Memory,
        rules: Rules,
        mut reads: Vec<(Read, ReadBuffer)>,
    ) -> usize {
        reads.reverse();
        let flight =
            Flight { memory, rules, waiting: reads, under_way: 0, error: None, is_left: false };
        let key = self.flights.insert(flight);
        self.waiting.push_back(key);
        self.begin_waiting();
        key
    }

    /// Begins waiting reads until enough are under way.
    fn begin_waiting(&mut self) {
        let depth = usize::try_from(self.file.options.depth).unwrap_or(usize::MAX);
        while self.begun.len() < depth
            && let Some(&key) = self.waiting.front()
        {
            let flight = self.flights.get_mut(key);
            match flight.and_then(|flight| flight.waiting.pop().map(|read| (flight, read))) {
                None => {
                    self.waiting.pop_front();
                }
                Some((flight, (read, target))) => {
                    flight.under_way = flight.under_way.saturating_add(1);
                    let rung = self.file.rung();
                    self.begin(PendingRead { flight: key, read, target, rung, idle: 0 });
                }
            }
        }
    }

    /// Begins a read on the file's rung.
    fn begin(&mut self, begun: PendingRead) {
        self.set_up(); // others may have stepped down
        let rung = self.file.rung();
        let memory = self.flights.get(begun.flight).map(|flight| &flight.memory);
        let slot = memory.filter(|memory| memory.has(begun.target)).and_then(|memory| memory.slot);
        let key = self.begun.insert(PendingRead { rung, ..begun });
        #[cfg(test)]
        {
            let (reads, most) = self.reads;
            self.reads = (reads.saturating_add(1), most.max(self.begun.len()));
        }
        let op = Op {
            token: usize_to_u64(key),
            offset: begun.read.span.offset(),
            target: begun.target,
            how: rung.how(slot),
        };
        let engine: &mut dyn Engine = match (rung, &mut self.ring, &mut self.aio) {
            (Rung::Registered | Rung::Ring, Some(ring), _) => ring,
            (Rung::Aio, _, Some(aio)) => aio,
            _ => self.threads.get_or_insert_with(|| Threads::new(self.file.workers())),
        };
        // SAFETY: the promise of the caller of `start`; the memory of a flight stays in `flights`
        // until all of its reads are done, and the engines are dropped before `flights`.
        unsafe { engine.begin(op) };
    }

    /// Waits until a read is finally done; `None` if no read is under way.
    pub(super) fn reap(&mut self) -> Option<Event> {
        loop {
            self.begin_waiting();
            if let Some(pace) = self.aio.as_mut().and_then(Aio::take_blocking) {
                self.file.note_blocking(&pace);
            }
            let of_ring = self.ring.as_mut().and_then(Engine::wait);
            let of_kernel = of_ring.or_else(|| self.aio.as_mut().and_then(Engine::wait));
            let done = of_kernel.or_else(|| self.threads.as_mut().and_then(Engine::wait))?;
            #[cfg(test)]
            let done = self.spoil(done);
            if let Some(event) = self.finish(done) {
                return Some(event);
            }
        }
    }

    #[cfg(test)]
    pub(super) fn flights(&self) -> usize {
        self.flights.len()
    }

    #[cfg(test)]
    fn spoil(&mut self, mut done: Completion) -> Completion {
        if let Some(fault) = self.fault {
            self.turn = self.turn.wrapping_add(1);
            fault(self.turn, &mut done);
        }
        done
    }

    /// Evaluates a finished read: it is done, or it is begun again for its rest.
    fn finish(&mut self, done: Completion) -> Option<Event> {
        let begun = self.begun.try_remove(usize::try_from(done.token).ok()?)?;
        let flight = self.flights.get_mut(begun.flight)?;
        let rest = match done.result {
            Ok(got) => self.file.rest((begun.rung, begun.idle), begun.read, got, &flight.rules),
            Err(errno) if done.is_refused || Standing::is_refusal(errno) => {
                let why = format!("reading at offset {}: {errno}", begun.read.span.offset());
                match self.file.step_down(begun.rung, &why) {
                    true => Ok(Rest::Again { skip: 0, read: begun.read }),
                    false => Err(errno),
                }
            }
            // CANCELED: the thread that began the read ended before the kernel executed it.
            Err(Errno::INTR | Errno::AGAIN | Errno::CANCELED) => {
                Ok(Rest::Again { skip: 0, read: begun.read })
            }
            Err(errno) => Err(errno),
        };
        let error = match rest {
            Ok(Rest::Again { .. }) if flight.is_left => None,
            Ok(Rest::Again { skip, read }) => {
                let idle = if skip == 0 { begun.idle.saturating_add(1) } else { 0 };
                let skip = usize::try_from(skip).unwrap_or(usize::MAX);
                match begun.target.part(skip, begun.target.len.saturating_sub(skip)) {
                    Some(target) if idle < IDLE => {
                        if matches!(done.result, Err(Errno::AGAIN)) {
                            std::thread::yield_now();
                        }
                        self.begin(PendingRead { read, target, idle, ..begun });
                        return None;
                    }
                    _ => Some(failed(begun.read, Errno::AGAIN)),
                }
            }
            Ok(Rest::Done) => None,
            Ok(Rest::Ended { offset }) => Some(ErrorKind::Ended { offset }),
            Err(errno) => Some(failed(begun.read, errno)),
        };
        if let Some(error) = error {
            flight.error.get_or_insert(error);
            flight.waiting.clear(); // nobody will see it
        }
        flight.under_way = flight.under_way.saturating_sub(1);
        if flight.is_left && flight.under_way == 0 {
            self.put_away(begun.flight);
            return None;
        }
        Some(Event { flight: begun.flight, read: begun.read.number })
    }

    /// The error of a flight, if it has failed.
    pub(super) fn take_error(&mut self, flight: usize) -> Option<ErrorKind> {
        self.flights.get_mut(flight).and_then(|flight| flight.error.take())
    }

    /// Waits until all reads of a flight are done, and returns its memory.
    pub(super) fn wait_for(&mut self, key: usize) -> Result<Memory, ErrorKind> {
        let is_done = |flight: &Flight| flight.waiting.is_empty() && flight.under_way == 0;
        while !self.flights.get(key).is_none_or(is_done) && self.reap().is_some() {}
        if !self.flights.get(key).is_none_or(is_done) {
            self.leave(key); // its memory is not to be had before all is done
            return Err(io::Error::other("a read of a batch was lost").into());
        }
        match self.flights.try_remove(key) {
            Some(Flight { memory, error: None, .. }) => Ok(memory),
            Some(Flight { memory, error: Some(error), .. }) => {
                self.pool.give_back(memory);
                Err(error)
            }
            None => Err(io::Error::other("a batch that is not there was waited for").into()),
        }
    }

    /// Leaves a flight: its waiting reads are dropped, and the reads under way finish later.
    pub(super) fn leave(&mut self, key: usize) {
        let Some(flight) = self.flights.get_mut(key) else { return };
        flight.is_left = true;
        flight.waiting.clear();
        if flight.under_way == 0 {
            self.put_away(key);
        }
    }

    fn put_away(&mut self, key: usize) {
        if let Some(flight) = self.flights.try_remove(key) {
            self.pool.give_back(flight.memory);
        }
    }

    /// The memory of a flight that still exists.
    pub(super) fn memory_of(&self, key: usize) -> Option<&Memory> {
        self.flights.get(key).map(|flight| &flight.memory)
    }
}

/// The error of a read, with its offset and length.
pub(super) fn failed(read: Read, errno: Errno) -> ErrorKind {
    let (offset, len) = (read.span.offset(), read.span.len());
    let error = io::Error::from(errno);
    io::Error::new(error.kind(), format!("reading {len} bytes at offset {offset}: {error}")).into()
}
