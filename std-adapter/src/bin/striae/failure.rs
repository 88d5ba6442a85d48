//! How the program ends.

use crate::text::printable;
use std::cell::RefCell;
use std::io;
use std::path::Path;
use striae::Error;
use striae::address;
use striae::error::ErrorKind;
use striae::gsd::verify::FindingKind;
use striae::shown;
use striae::sion::buddy_path;
use striae::{ffrecord, gsd, sion};
use striae_core::sion::raw::{
    self, BlockcountEntry, BlocksizeEntry, CommitFields, MappingEntry, MappingSize,
};

/// Whether what was asked for is sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sound {
    Yes,
    /// It is damaged, or the answer is no; this has been said already.
    No,
}

/// Why the program stopped.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Of a file.
    File(Error),
    /// Of a file, and what helps.
    Hinted(Error, String),
    /// Of the arguments, beyond what clap sees.
    Usage(String),
    /// Of standard output.
    Stdout(io::Error),
    /// Of one of several files, and said already.
    Said,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::File(error)
    }
}

impl Failure {
    /// Of the arguments, about the file at `path`.
    pub(crate) fn usage(path: &Path, text: &str) -> Self {
        Self::Usage(format!("{}: {text}", shown::path(path)))
    }

    pub(crate) const fn stdout(error: io::Error) -> Self {
        Self::Stdout(error)
    }

    /// Of a verb of which status 1 says that there is a new file: without one it is 2, whatever the
    /// reason.
    pub(crate) fn nothing_made(error: &Error) -> Self {
        // That verb is what the advice would be.
        let blames_file = Self::blames_file(error);
        Self::Usage(if blames_file { error.to_string() } else { with_advice(error) })
    }

    /// Says why, in one line, and gives the exit status.
    pub(crate) fn report(self) -> u8 {
        let text = match &self {
            // Whoever read our output has seen enough.
            Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return 0;
            }
            Self::File(error) => with_advice(error),
            Self::Hinted(error, hint) => format!("{error}; {hint}"),
            Self::Usage(text) => text.clone(),
            Self::Stdout(error) => format!("standard output: {error}"),
            Self::Said => return 2,
        };
        complain(&text);
        let is_no = match &self {
            Self::File(error) | Self::Hinted(error, _) => Self::blames_file(error),
            Self::Usage(_) | Self::Stdout(_) | Self::Said => false,
        };
        if is_no { 1 } else { 2 }
    }

    /// Whether the file is to blame, or the answer is no.
    fn blames_file(error: &Error) -> bool {
        use ffrecord::ErrorKind::{Format, Sample};
        match error.kind() {
            ErrorKind::NoFormat { .. } | ErrorKind::Ended { .. } => true,
            ErrorKind::Address(error) => matches!(error, address::Error::NoMatch { .. }),
            ErrorKind::Sion(kind) => sion_blames_file(kind),
            ErrorKind::Gsd(kind) => gsd_blames_file(kind),
            ErrorKind::Ffrecord(Format(error) | Sample { error, .. }) => !error.blames_caller(),
            _ => false,
        }
    }
}

const fn sion_blames_file(kind: &sion::ErrorKind) -> bool {
    use sion::ErrorKind::{Format, NoGlobalrank, NoKey, Task};
    match kind {
        Format(error) => !error.blames_caller(),
        Task { .. } | NoGlobalrank { .. } | NoKey { .. } => true,
        _ => false,
    }
}

const fn gsd_blames_file(kind: &gsd::ErrorKind) -> bool {
    use gsd::ErrorKind::{Chunk, Damaged, Format, Hoomd, NoChunk, NoName, NotText};
    match kind {
        Format(error) | Chunk { error, .. } => !error.blames_caller(),
        Hoomd(error) => !error.blames_caller(),
        Damaged(_) | NoChunk { .. } | NoName { .. } | NotText { .. } => true,
        _ => false,
    }
}

/// The first error of a list. What cannot be listed gets a row with its error, and the list goes
/// on.
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

/// What went wrong, and what helps.
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

/// The copy that there is of a set without one of its files.
fn buddy_of(first: &Path) -> Option<String> {
    let path = buddy_path(first, 0);
    let buddy = shown::path(&path);
    let text = format!("{buddy} is there, a buddy set, in which SIONlib keeps a copy");
    path.exists().then_some(text)
}

fn advice(kind: &ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Exists => Some("--force replaces it"),
        ErrorKind::Sion(sion::ErrorKind::Format(error)) if is_of_meta2(error) => {
            Some("striae recover makes a closed copy")
        }
        ErrorKind::Gsd(kind) if has_rest(kind) => Some("striae recover saves what is left"),
        _ => None,
    }
}

/// Whether recover makes more of a GSD file than there is without it.
fn has_rest(kind: &gsd::ErrorKind) -> bool {
    use gsd::ErrorKind::{Chunk, Damaged, Format};
    match kind {
        // Of a file that is no longer than a part of its header nothing is left.
        Format(gsd::Error::Cut { .. }) => false,
        Format(error) | Chunk { error, .. } => !error.blames_caller(),
        // Recover would find the same chunks.
        Damaged(finding) => !matches!(finding.what, FindingKind::Hoomd { .. }),
        _ => false,
    }
}

/// Whether META2 or the way to it is not there or damaged: recover makes both anew.
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

/// One line on standard error.
pub(crate) fn complain(text: &str) {
    use std::io::Write;
    let style = anstyle::AnsiColor::Red.on_default();
    // If standard error is gone, there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "{style}striae:{style:#} {}", printable(text));
}
