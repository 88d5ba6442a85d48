//! Publishes META2; handles a disk that fails or is full.

use super::{Part, WINDOW};
use crate::error::Error;
use crate::posix::PosixFile;
use std::io;
use std::sync::atomic::Ordering;
use striae_core::sion::book::Ahead;
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::{Book, Error as SionError};
use striae_core::step::DriveError;

impl Part {
    /// Fails if an earlier sync of this file failed.
    pub(in crate::sion::write) fn check_disk(&self) -> Result<(), Error> {
        self.file.check_syncs().map_err(|error| Error::new(&self.path, error))
    }

    /// Fails if the file was removed, because then nobody could find the commit.
    pub(super) fn check_name(&self) -> Result<(), Error> {
        self.file.check_name().map_err(|error| Error::new(&self.path, error))
    }

    /// Does `work`, which publishes. META2 is put after twice the blocks in use, if the file may
    /// become that long.
    pub(super) fn publish(
        &self,
        book: &mut Book,
        work: impl Fn(&mut Desk<'_, &PosixFile>) -> Result<(), DriveError<io::Error, SionError>>,
    ) -> Result<(), Error> {
        self.check_disk()?;
        self.leave_rubbish(); // this META2 will be behind data one day, or is a part of one
        let mut window = vec![0; WINDOW];
        let mut publish = |book: &mut Book, ahead| {
            let terms = Terms { ahead, checksum: crc32c::crc32c_append, set_number: 0 };
            work(&mut Desk::new(book, &mut &*self.file, terms, &mut window)?)
        };
        let done = match publish(book, Ahead::Double) {
            Err(DriveError::Store(error))
                if error.kind() == io::ErrorKind::FileTooLarge && book.unsettled().is_none() =>
            {
                publish(book, Ahead::NONE)
            }
            done => done,
        };
        self.entered.store(book.entered(), Ordering::Release);
        done.map_err(|error| Error::new(&self.path, error))
    }
}
