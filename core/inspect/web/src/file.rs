//! Files by name, and errors with the name of the file.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use striae_core::sion::recover::Sparse;
use striae_core::step::DriveError;
use striae_core::store::WriteAt;
use striae_hoomd::shown::Shown;
use striae_inspect::subject::Subject;

/// A store that can be looked into.
pub trait Store: Subject + Sparse {}

impl<S: Subject + Sparse> Store for S {}

/// A file that was chosen.
#[derive(Debug, Clone)]
pub struct Named<S> {
    /// Its name, without folder.
    pub name: String,
    /// Its bytes.
    pub store: S,
}

/// New files that `recover` writes.
pub trait Shelf {
    /// A new file.
    type File: WriteAt + Subject;

    /// Makes an empty file.
    fn create(&mut self, name: &str) -> Self::File;
}

/// Why a question has no answer, with the name of the file. `Display` prints both, as the program
/// does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    name: String,
    text: String,
}

impl Wrong {
    /// A file, and what is wrong with it.
    pub fn new(name: &str, text: impl ToString) -> Self {
        Self { name: name.to_string(), text: text.to_string() }
    }

    /// Of a file that is read by a machine.
    pub fn of<E: fmt::Display, F: fmt::Display>(name: &str) -> impl Fn(DriveError<E, F>) -> Self {
        move |error| Self::new(name, text_of(&error))
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Shown::new(&self.name), self.text)
    }
}

/// What the program prints for such an error.
pub(crate) fn text_of<E: fmt::Display, F: fmt::Display>(error: &DriveError<E, F>) -> String {
    match error {
        DriveError::Store(error) => error.to_string(),
        DriveError::Format(error) => error.to_string(),
        DriveError::Ended { offset } => format!("ended at offset {offset} while it was read"),
        error => error.to_string(),
    }
}
