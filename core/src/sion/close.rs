//! Closing: the last commit, at the place where SIONlib puts META2, and nothing behind it.

use super::commit::{Commit, Outcome, Publication, Written};
use super::error::Error;
use super::layout::{Blocks, Varheader};
use crate::step::{Machine, Step};
use core::convert::Infallible;

/// Closes a physical file.
///
/// If the last commit is in the way of the new one, it is first moved aside: no byte that is visible
/// is ever overwritten. In the end the file is cut behind META2 and what belongs to it.
#[derive(Debug)]
pub struct Close<'w, T> {
    commit: Commit<'w, T>,
    last: Varheader,
    /// The place that what was visible before has been moved to.
    aside: Option<Varheader>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Aside,
    InPlace,
    SyncSize,
    Done,
}

impl<'w, T: Written> Close<'w, T> {
    /// Commits `written` behind the last of `blocks` that is in use. Of `publication.new` all but the
    /// place counts. `window` needs [`super::commit::WINDOW`] bytes.
    ///
    /// # Errors
    /// [`Error::Window`]; [`Error::FileFull`] if META2 has no place in a file.
    pub fn new(
        mut publication: Publication,
        blocks: &Blocks,
        written: T,
        window: &'w mut [u8],
    ) -> Result<Self, Error> {
        let (old, new) = (publication.old, publication.new);
        let used = u64::from(new.maxchunks);
        let full = Error::FileFull { chunk: used };
        let last = blocks.end(used).and_then(|end| new.at(end)).ok_or(full)?;
        let is_in_the_way = old.is_some_and(|old| old.span().overlaps(last.span()));
        let state = if is_in_the_way { State::Aside } else { State::InPlace };
        publication.new = match old.filter(|_| is_in_the_way) {
            Some(old) => new.behind(old.span().end().max(last.span().end())).ok_or(full)?,
            None => last,
        };
        let aside = None;
        Ok(Self { commit: Commit::new(publication, written, window)?, last, aside, state })
    }

    /// What the file is if this machine is given up now, after an error of the store.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.state, self.aside) {
            (State::SyncSize | State::Done, _) => Outcome::Published(self.last),
            (State::InPlace, Some(aside)) if self.commit.outcome() == Outcome::Unchanged => {
                Outcome::Published(aside)
            }
            _ => self.commit.outcome(),
        }
    }
}

impl<T: Written> Machine for Close<'_, T> {
    type Output = Varheader;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Varheader> {
        if self.state == State::Aside && self.commit.is_done() {
            self.aside = Some(self.commit.restart(self.last));
            self.state = State::InPlace;
        }
        match self.state {
            State::InPlace if self.commit.is_done() => {
                self.state = State::SyncSize;
                Step::SetSize { len: self.last.span().end() }
            }
            State::Aside | State::InPlace => self.commit.poll(),
            State::SyncSize => {
                self.state = State::Done;
                Step::Sync
            }
            State::Done => Step::Done(self.last),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.commit.feed(bytes)
    }
}
