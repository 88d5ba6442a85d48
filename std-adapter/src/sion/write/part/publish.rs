//! Publishing META2: where it goes, and what the file is if that fails.

use super::{Part, Place, WINDOW, lock};
use crate::error::{Error, ErrorKind};
use crate::sion::write::snapshot::Snapshot;
use crate::sion::write::target::Target;
use std::io;
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use striae_core::sion::commit::{Commit, Outcome, Publication, Written};
use striae_core::sion::{Error as SionError, Varheader};
use striae_core::step::{DriveError, Machine, drive};
use striae_core::store::ReadAt;

impl Part {
    /// META2 of a commit, without its place.
    pub(super) fn shape(&self, snapshot: &Snapshot<'_>, place: &Place) -> Varheader {
        let published = place.published.map_or(1, |old| old.maxchunks);
        Varheader { maxchunks: snapshot.maxchunks().max(published), ..self.empty() }
    }

    /// The same of a file without data.
    pub(super) const fn empty(&self) -> Varheader {
        let (ntasks, sealed) = (self.meta1.ntasks(), self.settings.sealed);
        Varheader { start: 0, ntasks, maxchunks: 1, mapping_len: self.mapping_len, sealed }
    }

    /// That the disk still says the truth.
    pub(in crate::sion::write) fn check_disk(&self) -> Result<(), Error> {
        match self.sync_failed.load(Ordering::Acquire) {
            true => Err(Error::new(&self.path, ErrorKind::SyncFailed)),
            false => Ok(()),
        }
    }

    /// That somebody will find what is committed.
    pub(super) fn check_name(&self) -> Result<(), Error> {
        let at = |error: io::Error| Error::new(&self.path, error);
        if self.file.is_removed().map_err(at)? {
            let text = "was removed while it was written";
            return Err(at(io::Error::new(io::ErrorKind::NotFound, text)));
        }
        Ok(())
    }

    pub(super) fn publication(&self, place: &Place, new: Varheader) -> Result<Publication, Error> {
        self.check_disk()?;
        let checksum = crc32c::crc32c_append;
        let file_len = self.file.size().map_err(|error| Error::new(&self.path, error))?;
        Ok(Publication { meta1: self.meta1, old: place.published, new, file_len, checksum })
    }

    /// Publishes META2 like `shape` behind `blocks` blocks, and some more if the file may be so long.
    pub(super) fn publish(
        &self,
        place: &mut Place,
        shape: &Varheader,
        blocks: u64,
        written: impl Written + Copy,
    ) -> Result<(), Error> {
        let old = place.published;
        let at = |blocks| shape.aside(&self.blocks, blocks, old.as_ref());
        if let Some(far) = at(ahead(blocks)) {
            match self.publish_at(place, far, written) {
                Err(error) if is_too_far(&error) && place.unsettled.is_none() => {}
                done => return done,
            }
        }
        let full = self.error(SionError::FileFull { chunk: blocks });
        self.publish_at(place, at(blocks).ok_or(full)?, written)
    }

    pub(super) fn publish_at(
        &self,
        place: &mut Place,
        new: Varheader,
        written: impl Written,
    ) -> Result<(), Error> {
        let publication = self.publication(place, new)?;
        let mut window = vec![0; WINDOW];
        let commit = Commit::new(publication, written, &mut window);
        let mut commit = commit.map_err(|error| self.error(error))?;
        let done = self.run(&mut commit);
        self.conclude(place, done, commit.outcome())
    }

    /// Where META2 is. If the last publication failed so that nobody knows, it is finished first.
    pub(super) fn place(&self) -> Result<MutexGuard<'_, Place>, Error> {
        let mut place = lock(&self.place);
        self.check_disk()?;
        if let Some(new) = place.unsettled {
            let mut commit = Commit::settle(&self.meta1, new);
            (place.published, place.unsettled) = (Some(self.run(&mut commit)?), None);
            place.settled = place.settled.saturating_add(1);
        }
        Ok(place)
    }

    /// Remembers what the file is now, after a machine's end or its failure.
    pub(super) fn conclude(
        &self,
        place: &mut Place,
        done: Result<Varheader, Error>,
        outcome: Outcome,
    ) -> Result<(), Error> {
        self.leave_rubbish(); // this META2 will be behind data one day, or is a part of one
        match (&done, outcome) {
            (Ok(new), _) => place.published = Some(*new),
            (Err(_), Outcome::Published(new)) => place.published = Some(new),
            (Err(_), Outcome::Unknown(new)) => place.unsettled = Some(new),
            (Err(_), Outcome::Unchanged) => {}
        }
        done.map(|_| ())
    }

    pub(super) const fn target(&self) -> Target<'_> {
        Target::new(&self.file, self.settings.durability, &self.sync_failed)
    }

    pub(super) fn run<M>(&self, machine: &mut M) -> Result<M::Output, Error>
    where
        M: Machine<Error = std::convert::Infallible>,
    {
        let mut buf = vec![0; WINDOW];
        drive(machine, &mut self.target(), &mut buf).map_err(|error| {
            let error: DriveError<io::Error, SionError> = error.infallible();
            Error::new(&self.path, error)
        })
    }
}

/// Blocks that are left free in front of META2: as many again as there are, so that META2 moves ever
/// more rarely while a file grows. The file has a hole there.
const fn ahead(blocks: u64) -> u64 {
    blocks.saturating_mul(2)
}

/// Whether the file may not be so long.
fn is_too_far(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Io(error) if error.kind() == io::ErrorKind::FileTooLarge)
}
