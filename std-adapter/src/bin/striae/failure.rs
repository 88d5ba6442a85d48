//! Failures, their texts and the exit status.

use crate::printable::printable;
use std::cell::RefCell;
use std::io;
use std::path::Path;
use striae::Error;
use striae::blob::{self, BuildError};
use striae::error::{ErrorKind, Party};
use striae::shown;
use striae::sion::buddy_path;
use striae::{gsd, sion};
use striae_core::sion::raw::{
    self, BlockcountEntry, BlocksizeEntry, CommitFields, MappingEntry, MappingSize,
};

/// Whether the result of a verb is sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sound {
    Yes,
    /// The file is damaged, or the answer is no; the program has reported this already.
    No,
}

/// Why the program stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An error of a file.
    File(Error),
    /// An error of a file, with a hint.
    Hinted(Error, String),
    /// A wrong argument that clap does not detect.
    Usage(String),
    /// An error of standard output.
    Stdout(io::Error),
    /// An error of one of several files, which was reported already.
    Reported,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

impl Failure {
    /// A wrong argument for the file at `path`.
    pub(crate) fn usage(path: &Path, text: &str) -> Self {
        Self::Usage(format!("{}: {text}", shown::path(path)))
    }

    pub(crate) const fn stdout(error: io::Error) -> Self {
        Self::Stdout(error)
    }

    /// The text of a failure that has nothing to do with the output.
    pub(crate) fn of_input(&self) -> Option<String> {
        match self {
            Self::File(error) => Some(with_advice(error)),
            Self::Hinted(error, hint) => Some(format!("{error}; {hint}")),
            Self::Usage(text) => Some(text.clone()),
            Self::Stdout(_) | Self::Reported => None,
        }
    }

    /// An error of a verb whose status 1 means that a new file was made. No file was made, so the
    /// status is 2 for every reason.
    pub(crate) fn nothing_made(error: &Error) -> Self {
        // The advice would be to use this verb.
        let blames_file = error.party() == Party::File;
        Self::Usage(if blames_file { error.to_string() } else { with_advice(error) })
    }

    /// An error of the file that an option names and that must be `of` some kind: the option is
    /// wrong, whatever is wrong with the file.
    pub(crate) fn of_option(self, option: &str, given: Option<&Path>, of: &str) -> Self {
        match self {
            Self::File(error) if given == Some(error.path()) && error.party() == Party::File => {
                Self::Usage(format!("{error}; --{option} takes {of}"))
            }
            other => other,
        }
    }

    /// Reports the reason in one line, and returns the exit status.
    pub(crate) fn report(self) -> u8 {
        let text = match &self {
            // The reader of the output has closed it, which is no error.
            Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return 0;
            }
            Self::Stdout(error) => format!("standard output: {error}"),
            Self::Reported => return 2,
            _ => self.of_input().unwrap_or_default(),
        };
        complain(&text);
        let is_no = match &self {
            Self::File(error) | Self::Hinted(error, _) => error.party() == Party::File,
            Self::Usage(_) | Self::Stdout(_) | Self::Reported => false,
        };
        if is_no { 1 } else { 2 }
    }
}

/// The first error of a list. An item that cannot be listed gets a row with its error, and the list
/// continues.
#[derive(Default)]
pub(crate) struct FirstError(RefCell<Option<Error>>);

impl FirstError {
    pub(crate) fn keep(&self, error: Error) -> String {
        let text = error.to_string();
        self.0.borrow_mut().get_or_insert(error);
        text
    }

    pub(crate) fn into_failure(self) -> Result<(), Failure> {
        self.0.into_inner().map_or(Ok(()), |error| Err(Failure::File(error)))
    }
}

/// The text of an error, with advice if there is any.
fn with_advice(error: &Error) -> String {
    let (buddy, advice) = match error.kind() {
        ErrorKind::Sion(sion::ErrorKind::Sibling { first, .. }) => {
            (buddy_of(first), Some("--alone opens one file without the others"))
        }
        ErrorKind::Io(io) if io.kind() == io::ErrorKind::NotFound => (buddy_of(error.path()), None),
        kind => (None, advice(kind)),
    };
    let advice = buddy.into_iter().chain(advice.map(str::to_owned));
    advice.fold(error.to_string(), |text, advice| format!("{text}; {advice}"))
}

/// The text about a buddy set, if there is one for a set with a missing file.
fn buddy_of(first: &Path) -> Option<String> {
    let path = buddy_path(first, 0);
    let buddy = shown::path(&path);
    let text = format!("{buddy} is there, a buddy set, in which SIONlib keeps a copy");
    path.exists().then_some(text)
}

fn advice(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Exists => Some("--force replaces it"),
        ErrorKind::DamagedMap(_) => Some("striae verify lists all that is wrong"),
        ErrorKind::TooLarge { .. }
        | ErrorKind::Gsd(gsd::ErrorKind::Hoomd(gsd::hoomd::Error::Part { .. })) => {
            Some("--max-size BYTES allows more")
        }
        ErrorKind::Blob(blob::ErrorKind::Build(BuildError::Ambiguous { .. })) => {
            Some("--decomposition VAR=K or --like SET says it")
        }
        ErrorKind::Sion(sion::ErrorKind::Format(error)) if is_of_meta2(error) => {
            Some("striae recover makes a closed copy")
        }
        ErrorKind::Gsd(kind) if has_rest(kind) => Some("striae recover saves what is left"),
        _ => None,
    }
}

/// Whether recover can save more of a GSD file than the other verbs can read.
fn has_rest(kind: &gsd::ErrorKind) -> bool {
    use gsd::ErrorKind::{Chunk, Damaged, Format};
    match kind {
        // A file that ends within its header has nothing to save.
        Format(gsd::Error::Cut { .. }) => false,
        Format(error) | Chunk { error, .. } => !error.blames_caller(),
        Damaged(_) => true,
        _ => false,
    }
}

/// Whether META2, or the offset of META2, is missing or damaged: recover rebuilds both.
fn is_of_meta2(error: &sion::Error) -> bool {
    const TABLES: [&str; 5] = [
        CommitFields::TABLE.name,
        BlockcountEntry::TABLE.name,
        BlocksizeEntry::TABLE.name,
        MappingSize::TABLE.name,
        MappingEntry::TABLE.name,
    ];
    let field = match error {
        sion::Error::NotClosed { .. } => return true,
        sion::Error::Cut { field, .. }
        | sion::Error::TooSmall { field, .. }
        | sion::Error::TooLarge { field, .. }
        | sion::Error::NotAsSealed { field, .. } => field,
        _ => return false,
    };
    field.find(raw::TABLES).is_some_and(|(table, _)| TABLES.contains(&table.name))
}

/// Writes one line to standard error.
pub(crate) fn complain(text: &str) {
    use std::io::Write;
    let style = anstyle::AnsiColor::Red.on_default();
    // If standard error is closed, the line is lost.
    let _ = writeln!(anstream::stderr(), "{style}striae:{style:#} {}", printable(text));
}
