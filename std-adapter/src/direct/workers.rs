//! Reads by threads.
#![expect(unsafe_code, reason = "threads write to memory that is lent to them for a while")]

use super::engine::{Completion, Engine, Op};
use super::handles::Handles;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// The threads of a file, which end with it.
#[derive(Debug)]
pub(super) struct Workers {
    handles: Arc<Handles>,
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    /// The process that has the threads.
    process: u32,
}

/// A read, and the sender for its result.
#[derive(Debug)]
struct Job {
    op: Op,
    reply: Sender<Completion>,
}

/// Executes a read into its target.
///
/// # Safety
/// As [`Engine::begin`].
unsafe fn execute(handles: &Handles, op: &Op) -> Completion {
    // SAFETY: `slice::from_raw_parts_mut`: valid, of one allocation and initialized, since it is a
    // `ReadBuffer`; "must not be accessed through any other pointer": the caller's promise.
    let piece = unsafe { std::slice::from_raw_parts_mut(op.target.start.as_ptr(), op.target.len) };
    Completion::new(op.token, handles.read(op.how, op.offset, piece))
}

impl Workers {
    /// Starts up to `threads` threads. If none can be started, `begin` executes the reads.
    pub(super) fn new(handles: Arc<Handles>, threads: usize) -> Self {
        let (jobs, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let start = |_| {
            let (handles, receiver) = (Arc::clone(&handles), Arc::clone(&receiver));
            let work = move || {
                let next = || receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                while let Ok(Job { op, reply }) = next() {
                    // SAFETY: the promise of the caller of `begin`; `wait` returns what `reply`
                    // sends.
                    let done = unsafe { execute(&handles, &op) };
                    let _ = reply.send(done); // whoever began it waits for it
                }
            };
            std::thread::Builder::new().name("striae-read".into()).spawn(work).ok()
        };
        let threads: Vec<_> = (0..threads).map_while(start).collect();
        let jobs = (!threads.is_empty()).then_some(jobs);
        Self { handles, jobs, threads, process: std::process::id() }
    }
}

impl Workers {
    /// Whether this process is a fork of the one with the threads, and has none of them.
    fn is_fork(&self) -> bool {
        self.process != std::process::id()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        let (jobs, threads) = (self.jobs.take(), std::mem::take(&mut self.threads));
        if self.is_fork() {
            // Its handles may be those of other threads by now: they are not waited for.
            return std::mem::forget((jobs, threads));
        }
        drop(jobs); // they see that and end
        for thread in threads {
            let _ = thread.join(); // it does not panic
        }
    }
}

/// The reads of one caller that threads execute.
#[derive(Debug)]
pub(super) struct Threads {
    workers: Arc<Workers>,
    /// Where threads send results; `None` only while this is dropped.
    channel: Option<(Sender<Completion>, Receiver<Completion>)>,
    under_way: usize,
    /// Reads that `begin` has executed itself.
    done: VecDeque<Completion>,
}

impl Threads {
    pub(super) fn new(workers: Arc<Workers>) -> Self {
        Self { workers, channel: Some(channel()), under_way: 0, done: VecDeque::new() }
    }
}

impl Engine for Threads {
    unsafe fn begin(&mut self, op: Op) {
        let refused = match (&self.workers.jobs, &self.channel) {
            (Some(jobs), Some((reply, _))) => {
                jobs.send(Job { op, reply: reply.clone() }).err().map(|error| error.0.op)
            }
            _ => Some(op),
        };
        match refused {
            None => self.under_way = self.under_way.saturating_add(1),
            // SAFETY: the caller's promise.
            Some(op) => self.done.push_back(unsafe { execute(&self.workers.handles, &op) }),
        }
    }

    fn wait(&mut self) -> Option<Completion> {
        if let Some(done) = self.done.pop_front() {
            return Some(done);
        }
        self.under_way = self.under_way.checked_sub(1)?;
        // A sender exists as long as the channel. Each job is answered: reading does not panic.
        let done = self.channel.as_ref().and_then(|(_, replies)| replies.recv().ok());
        Some(done.unwrap_or(Completion::new(u64::MAX, Err(Errno::IO))))
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if self.workers.is_fork() {
            // A thread may have been sending when the process forked: who drops the channel waits
            // for the end of that.
            return std::mem::forget(self.channel.take());
        }
        while self.wait().is_some() {}
    }
}
