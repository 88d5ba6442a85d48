//! The machine that commits a frame.

use super::fault::Fault;
use super::form::Form;
use super::log::Log;
use crate::gsd::publish::{Publish, Stage};
use crate::gsd::record::Record;
use crate::integrity::crc32c;
use crate::step::{Machine, Step};
use crate::store::{copy_front, usize_to_u64};
use core::convert::Infallible;

/// Ends the current frame and commits it, after the last commit if that was interrupted.
#[derive(Debug)]
pub(super) struct Commit<'l, F, const N: usize> {
    log: &'l mut Log<F, N>,
    /// The record of this commit; `None` if there is only the last one to complete.
    next: Option<Record>,
    at: At,
    publish: &'l mut Publish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Settle,
    Entries,
    /// So many slots are filled with copies of the last entry.
    Padding(u64),
    Publish,
}

impl<'l, F: Form, const N: usize> Commit<'l, F, N> {
    /// Makes the machine; `publish` is memory for it.
    pub(super) fn new(log: &'l mut Log<F, N>, publish: &'l mut Publish) -> Result<Self, Fault> {
        let next = match log.next() {
            Err(Fault::NoChunks) if log.is_torn => None,
            next => Some(next?),
        };
        let mut commit = Self { log, next, at: At::Entries, publish };
        if commit.log.is_torn {
            commit.settle();
        }
        Ok(commit)
    }

    /// Completes the last commit, which is in the log already.
    fn settle(&mut self) {
        self.at = At::Settle;
        let log = &*self.log;
        self.publish.set(Stage::Before, |shadow| {
            shadow.new = log.image();
            shadow.old = shadow.new;
            shadow.seal(0, crc32c);
        });
    }

    #[inline(never)]
    fn begin_publication(&mut self) {
        let (log, next) = (&*self.log, &self.next);
        self.publish.set(Stage::Shadow, |shadow| {
            shadow.old = log.image();
            shadow.new = log.form.next_image(next.as_ref().unwrap_or(&log.record));
            shadow.seal(0, crc32c);
        });
        self.at = At::Publish;
    }

    /// Fills the memory of the publication with copies of the last entry; returns how many.
    fn fill(&mut self, left: u64) -> usize {
        let memory = self.publish.memory();
        let copies = usize::try_from(left).unwrap_or(usize::MAX).min(memory.len() / 32);
        for place in memory.chunks_mut(32).take(copies) {
            copy_front(self.log.open().1, place);
        }
        copies
    }
}

impl<F: Form, const N: usize> Machine for Commit<'_, F, N> {
    type Output = ();
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, ()> {
        if self.at == At::Settle && self.publish.is_done() {
            (self.log.is_torn, self.at) = (false, At::Entries);
        }
        let Some(end) = self.next.as_ref().map(|next| next.entries) else {
            // There was nothing to do but to complete the last commit.
            return match self.at {
                At::Settle => self.publish.poll(),
                _ => Step::Done(()),
            };
        };
        let index = self.log.form.index();
        if self.at == At::Entries {
            let (bytes, _) = self.log.open();
            let written = usize_to_u64(bytes.len() / 32);
            let first = self.log.record.entries;
            self.at = At::Padding(end.saturating_sub(first).saturating_sub(written));
            return Step::Write { offset: index.offset_of(first), bytes: self.log.open().0 };
        }
        if let At::Padding(left) = self.at {
            if left > 0 {
                let copies = self.fill(left);
                self.at = At::Padding(left.saturating_sub(usize_to_u64(copies)));
                let offset = index.offset_of(end.saturating_sub(left));
                let bytes = self.publish.bytes().get(..copies.saturating_mul(32));
                return Step::Write { offset, bytes: bytes.unwrap_or_default() };
            }
            self.begin_publication();
        }
        if self.at == At::Publish {
            if self.publish.is_about_to_begin() {
                self.next.iter().for_each(|next| self.log.end_frame(next));
            } else if self.publish.is_done() {
                self.log.is_torn = false;
            }
        }
        self.publish.poll()
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}
