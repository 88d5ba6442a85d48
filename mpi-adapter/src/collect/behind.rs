//! A thread that writes while its rank goes on.

use crate::file::SharedFile;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use striae_core::store::WriteAt;

/// How many pieces wait for the thread at most; then its rank waits.
const QUEUE: usize = 6;

/// A thread that writes to a file, in order. It makes no call of a message layer.
pub(super) struct Behind {
    to: Option<SyncSender<Job>>,
    /// Buffers that were written, for the next pieces.
    spare: Receiver<Vec<u8>>,
    done: Receiver<io::Result<()>>,
    failed: Arc<AtomicBool>,
    dropped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

enum Job {
    Write(u64, Vec<u8>),
    /// Says whether all of what came before was written since the last time.
    Tell,
}

impl fmt::Debug for Behind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Behind").field("failed", &self.failed).finish_non_exhaustive()
    }
}

impl Behind {
    /// A thread that writes to `file`.
    ///
    /// # Errors
    /// The operating system has no more threads.
    pub(super) fn start<F: SharedFile + Send + Sync + 'static>(file: Arc<F>) -> io::Result<Self> {
        let (to, jobs) = sync_channel(QUEUE);
        let (give_back, spare) = channel();
        let (tell, done) = channel();
        let (failed, dropped) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let flags = (Arc::clone(&failed), Arc::clone(&dropped));
        let work = move || work(&*file, &jobs, (&give_back, &tell), (&flags.0, &flags.1));
        let thread = std::thread::Builder::new().name("striae-write-behind".into()).spawn(work)?;
        Ok(Self { to: Some(to), spare, done, failed, dropped, thread: Some(thread) })
    }

    /// Hands bytes to the thread, which may take until earlier ones are written.
    ///
    /// # Errors
    /// An earlier write failed.
    pub(super) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if self.failed.load(Ordering::Relaxed) {
            self.finish()?;
        }
        let mut buf = self.spare.try_recv().unwrap_or_default();
        buf.clear();
        buf.extend_from_slice(bytes);
        self.send(Job::Write(offset, buf))
    }

    /// Waits until all is written. The first error since the last call is told once.
    ///
    /// # Errors
    /// A write failed; those after it were not made.
    pub(super) fn finish(&self) -> io::Result<()> {
        self.send(Job::Tell)?;
        self.done.recv().map_err(|_| ended())?
    }

    fn send(&self, job: Job) -> io::Result<()> {
        self.to.as_ref().and_then(|to| to.send(job).ok()).ok_or_else(ended)
    }
}

impl Drop for Behind {
    /// What was not finished is part of no commit, and is not written.
    fn drop(&mut self) {
        self.dropped.store(true, Ordering::Relaxed);
        self.to = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join(); // of a panic the rank learnt when it wanted to write
        }
    }
}

/// The thread has panicked.
fn ended() -> io::Error {
    io::Error::other("the thread that writes has ended")
}

fn work<F: SharedFile>(
    file: &F,
    jobs: &Receiver<Job>,
    (give_back, tell): (&Sender<Vec<u8>>, &Sender<io::Result<()>>),
    (failed, dropped): (&AtomicBool, &AtomicBool),
) {
    let mut so_far = Ok(());
    for job in jobs {
        match job {
            Job::Write(offset, bytes) => {
                if so_far.is_ok() && !dropped.load(Ordering::Relaxed) {
                    so_far = file.io().write_all_at(offset, &bytes);
                    failed.store(so_far.is_err(), Ordering::Relaxed);
                }
                let _ = give_back.send(bytes); // the rank may be gone
            }
            Job::Tell => {
                failed.store(false, Ordering::Relaxed);
                let _ = tell.send(std::mem::replace(&mut so_far, Ok(()))); // as above
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test: a panic fails it")]
mod tests {
    use super::Behind;
    use std::io;
    use std::sync::{Arc, Mutex};
    use striae_core::store::{ReadAt, WriteAt};

    /// Remembers what was written, and refuses offset 13.
    #[derive(Default)]
    struct Log(Mutex<Vec<(u64, Vec<u8>)>>);

    impl ReadAt for &Log {
        type Error = io::Error;

        fn read_at(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
            Ok(0)
        }

        fn size(&self) -> io::Result<u64> {
            Ok(0)
        }
    }

    impl WriteAt for &Log {
        fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
            if offset == 13 {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.0.lock().unwrap().push((offset, bytes.to_vec()));
            Ok(())
        }

        fn set_size(&mut self, _: u64) -> io::Result<()> {
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn all_is_written_in_order_when_it_is_finished() {
        let log = Arc::<Log>::default();
        let behind = Behind::start(Arc::clone(&log)).unwrap();
        let pieces: Vec<(u64, Vec<u8>)> = (100..150).map(|i| (i, vec![9; 3])).collect();
        for (offset, bytes) in &pieces {
            behind.write(*offset, bytes).unwrap();
        }
        behind.finish().unwrap();
        assert_eq!(*log.0.lock().unwrap(), pieces);
    }

    #[test]
    fn an_error_is_told_once_and_nothing_is_written_after_it_until_then() {
        let log = Arc::<Log>::default();
        let behind = Behind::start(Arc::clone(&log)).unwrap();
        behind.write(1, b"before").unwrap();
        behind.write(13, b"refused").unwrap();
        // Whether the rank learns of it here depends on how far the thread is.
        let told = behind.write(2, b"after").and_then(|()| behind.finish());
        assert_eq!(told.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert_eq!(*log.0.lock().unwrap(), [(1, b"before".to_vec())]);
        behind.finish().unwrap();
        behind.write(3, b"again").unwrap();
        behind.finish().unwrap();
        assert_eq!(log.0.lock().unwrap().last(), Some(&(3, b"again".to_vec())));
    }
}
