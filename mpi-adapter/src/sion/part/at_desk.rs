//! What the first rank of a file does at core's [`Desk`] for all of them.

use super::{WINDOW, failed};
use crate::collect::{Handle, Io};
use crate::collective::Collective;
use crate::error::Failure;
use crate::file::SharedFile;
use std::io;
use striae_core::sion::Varheader;
use striae_core::sion::book::Book;
use striae_core::sion::error::Error as SionError;
use striae_core::sion::publish::{Desk, Terms};
use striae_core::sion::tables::Pieces;
use striae_core::step::DriveError;

/// How a publication ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its tables are durable, and no reader sees them.
    Hidden,
    Visible,
    /// It is visible, and the file ends with it.
    Cut,
}

/// The work of rank 0 with the tables of a publication, or with the sums of those that all ranks
/// have written.
pub(super) fn finish<C: Collective, F: SharedFile>(
    book: Book,
    new: &Varheader,
    tables: &mut impl Pieces,
    file: &Handle<C, F>,
    end: End,
) -> Result<(), Failure> {
    at_desk(book, file, "writing META2", |desk| desk.prepare(new, tables))?;
    if end != End::Hidden {
        show(book, file, new)?;
    }
    if end == End::Cut { cut(book, file, new) } else { Ok(()) }
}

/// Makes a commit visible whose tables are durable.
pub(super) fn show<C: Collective, F: SharedFile>(
    book: Book,
    file: &Handle<C, F>,
    new: &Varheader,
) -> Result<(), Failure> {
    at_desk(book, file, "writing the commit fields", |desk| desk.show(new))
}

/// Lets the file end with `last`, which is visible.
pub(super) fn cut<C: Collective, F: SharedFile>(
    book: Book,
    file: &Handle<C, F>,
    last: &Varheader,
) -> Result<(), Failure> {
    at_desk(book, file, "cutting the file at its end", |desk| desk.cut(last))
}

/// Does `work` in the file, with a copy of the Book: the ranks' own Books change when they have
/// agreed on the result.
fn at_desk<C: Collective, F: SharedFile>(
    mut book: Book,
    file: &Handle<C, F>,
    what: &'static str,
    work: impl FnOnce(&mut Desk<'_, Io<'_, C, F>>) -> Result<(), DriveError<io::Error, SionError>>,
) -> Result<(), Failure> {
    let (mut io, mut window) = (file.io(), vec![0; WINDOW]);
    let desk = Desk::new(&mut book, &mut io, Terms::default(), &mut window);
    let done = desk.map_err(DriveError::Format).and_then(|mut desk| work(&mut desk));
    done.map_err(failed(what))
}
