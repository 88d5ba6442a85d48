//! What a writer has promised of a file at each moment, whatever the format: what a crash may leave
//! of it.

use super::{Crash, Fault, Op, PowerStore};
use std::ops::AddAssign;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the file is from some moment on.
#[derive(Debug, Clone)]
pub struct Version<S> {
    /// What it is.
    pub state: S,
    /// Entries of the log when the writer began to make it so: a state that has begun more may
    /// already be so.
    pub begun: usize,
    /// Entries of the log when the writer said that it is so: a state that has ended as many must
    /// be so, or as a later version.
    pub ended: usize,
    /// Bytes of the file from then on, as long as nothing else is begun; known if it is closed.
    pub len: Option<u64>,
}

/// All that a file was, and may be, in the order in which it was made so.
#[derive(Debug, Clone)]
pub struct Promises<S>(Vec<Version<S>>);

impl<S> Promises<S> {
    /// It was so before the first operation.
    pub fn new(state: S) -> Self {
        Self(vec![Version { state, begun: 0, ended: 0, len: None }])
    }

    /// From here on it may be so.
    pub fn begin(&mut self, store: &PowerStore, state: S) {
        let begun = store.ops();
        self.0.push(Version { state, begun, ended: usize::MAX, len: None });
    }

    /// From here on it must be as was begun last.
    pub fn end(&mut self, store: &PowerStore) {
        self.last_mut().ended = store.ops();
        store.promise();
    }

    /// What was ended last is a file of so many bytes, and closed.
    pub fn closed(&mut self, len: u64) {
        self.last_mut().len = Some(len);
    }

    fn last_mut(&mut self) -> &mut Version<S> {
        self.0.last_mut().unwrap()
    }

    /// What was promised last.
    #[must_use]
    pub fn last(&self) -> &[Version<S>] {
        &self.0[self.0.len() - 1..]
    }

    /// All of it.
    #[must_use]
    pub fn all(&self) -> &[Version<S>] {
        &self.0
    }

    /// The versions that the file may be after a crash that had begun and ended so many operations.
    #[must_use]
    pub fn allowed(&self, begun: usize, ended: usize) -> &[Version<S>] {
        self.allowed_if(begun, ended, |_| true)
    }

    /// What may be read, if only versions of which `must` says so must be there once they ended.
    #[must_use]
    pub fn allowed_if(
        &self,
        begun: usize,
        ended: usize,
        must: impl Fn(&Version<S>) -> bool,
    ) -> &[Version<S>] {
        let may = |version: &&Version<S>| version.begun < begun || version.ended <= ended;
        let count = self.0.iter().take_while(may).count();
        let least = self.0[..count].iter().rposition(|it| it.ended <= ended && must(it));
        &self.0[least.unwrap()..count]
    }
}

impl<S: Clone> Promises<S> {
    /// Those of a program that is killed after `ops` operations.
    #[must_use]
    pub fn killed_after(&self, ops: usize) -> Self {
        let versions = self.0.iter().filter(|it| it.begun < ops || it.ended <= ops);
        let versions = versions.cloned().map(|version| match version.ended {
            ended if ended > ops => Version { ended: usize::MAX, len: None, ..version },
            ended if ended == ops => Version { len: None, ..version }, // it has not said so yet
            _ => version,
        });
        Self(versions.collect())
    }
}

/// When a file has been closed, and nothing else has been begun, nothing is behind it.
///
/// # Errors
/// The length that it has, and the one that it should have.
pub fn check_len<S>(crash: &Crash<'_>, versions: &[Version<S>]) -> Result<(), String> {
    let len = u64::try_from(crash.image.len()).unwrap();
    match versions {
        // The promise itself is an entry of the log.
        [Version { ended, len: Some(closed), .. }]
            if crash.begun <= ended + 1 && len != *closed =>
        {
            Err(format!("{len} bytes after a close, expected {closed}"))
        }
        _ => Ok(()),
    }
}

/// What is done after an act that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Again {
    /// The writer is given up.
    Never,
    /// It tries the same again.
    AtOnce,
    /// It goes on with what comes next.
    Later,
    /// It gives up what it was about to add, and does all of that again.
    Anew,
}

/// What goes wrong while a file is written.
#[derive(Debug, Clone, Copy)]
pub enum Trouble {
    /// An operation fails.
    Fault(Fault),
    /// The disk is full when the file has so many bytes.
    Full(u64),
}

impl Trouble {
    /// Lets it go wrong.
    pub fn befall(self, store: &PowerStore) {
        match self {
            Self::Fault(fault) => store.fail(fault),
            Self::Full(len) => store.limit(len),
        }
    }
}

/// Where the writer of `store` was at a crash with an error, in words.
#[must_use]
pub fn describe(store: &PowerStore, crash: &Crash<'_>, error: &str) -> String {
    let log = store.log();
    let op = log[..crash.begun].last().map(|op: &Op| format!("{op:?}")).unwrap_or_default();
    let op: String = op.chars().take(60).collect();
    let Crash { begun, ended, kind, image } = crash;
    format!("{error}\n  {kind:?} at {begun}/{ended}, {op}, {} bytes", image.len())
}

/// The sum of what `work` makes of each of `items`, on all cores.
pub fn sum_of<T: Sync, F: Default + AddAssign + Send>(
    items: &[T],
    work: impl Fn(&T) -> F + Sync,
) -> F {
    let (next, sum) = (AtomicUsize::new(0), Mutex::new(F::default()));
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let one = work(item);
                    *sum.lock().unwrap() += one;
                }
            });
        }
    });
    sum.into_inner().unwrap()
}
