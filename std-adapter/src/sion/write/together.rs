//! The files of a set that is reopened are brought to one commit of the whole set, or refused.

use super::identity::new_identity;
use super::part::{Holed, Part, WINDOW};
use crate::error::Error;
use crate::lock::Locked;
use crate::shown;
use crate::sion::file::Older;
use crate::sion::siblings::sibling_path;
use std::path::Path;
use striae_core::sion::recover::Remains;
use striae_core::sion::set::newest_apart;
use striae_core::sion::visible::show;
use striae_core::sion::{Error as SionError, Meta1, Opened, Physical, SealState};
use striae_core::step::DriveError;

/// Ends a commit of the whole set that a crash ended while files became visible: where the newest
/// one is hidden and durable, it becomes visible, too. If it is not in all files, nothing is done.
pub(super) fn end_set_commit(path: &Path, files: &[Locked]) -> Result<(), Error> {
    let (mut numbers, mut window, mut identities) = (Vec::new(), Vec::new(), Vec::new());
    for (number, file) in (0..).zip(files) {
        let at = |error| Error::new(&sibling_path(path, number), error);
        // What is damaged is reported when the set is opened.
        let sealed = match Physical::open(&**file, &mut [0; Meta1::MAX_LEN]) {
            Ok(Opened::Closed(physical)) => physical.seal(),
            Ok(Opened::Unclosed(_)) | Err(DriveError::Format(_)) => return Ok(()),
            Err(error) => return Err(at(error)),
        };
        numbers.push(match sealed {
            Ok(SealState::Sealed(seal)) => {
                identities.push(seal.varheader().set_identity());
                seal.varheader().set_number()
            }
            _ => 0,
        });
    }
    let newest = numbers.iter().copied().max().unwrap_or(0);
    identities.dedup();
    if identities.len() > 1 {
        return Ok(()); // opening the set says which file is of another one
    }
    if numbers.contains(&0) || numbers.iter().all(|&number| number == newest) {
        return Ok(());
    }
    window.resize(WINDOW, 0);
    let mut behind = Vec::new();
    for ((number, file), _) in (0..).zip(files).zip(&numbers).filter(|(_, own)| **own < newest) {
        let at = |error: DriveError<_, SionError>| Error::new(&sibling_path(path, number), error);
        let store = Holed(file);
        let remains = Remains::read(&store, crc32c::crc32c_append, &mut window).map_err(at)?;
        match remains.at_set_commit(&store, newest, &mut window).map_err(at)? {
            Some(remains) => behind.push((number, file, remains)),
            None => return Ok(()),
        }
    }
    for (number, file, remains) in behind {
        let path = sibling_path(path, number);
        let Some(new) = remains.varheader() else { continue };
        log::warn!("{}: ends commit {newest} of the set, as a crash did not", shown::path(&path));
        // It was durable before any file showed it, and is so again before this one does.
        file.sync().map_err(|error| Error::new(&path, error))?;
        let shown = show(&remains.head().meta1, new, &mut &**file);
        shown.map_err(|error| Error::new(&path, error))?;
    }
    Ok(())
}

/// Gives all files the identity of the set: that of the seals that they have. A set that had none
/// gets a new one.
pub(super) fn join<'p>(parts: impl Iterator<Item = &'p Part> + Clone) {
    let mut sealed = parts.clone().filter_map(Part::sealed_identity);
    let identity = sealed.next().unwrap_or_else(new_identity);
    parts.for_each(|part| part.join(identity));
}

/// Refuses files of different commits of the whole set: appending to them would destroy the commit
/// that all of them have, and hide that they are apart. A file that was committed alone since is of
/// no such commit.
pub(super) fn check_commits(parts: &[Part]) -> Result<(), Error> {
    let Some(newest) = newest_apart(parts.iter().map(Part::set_number)) else { return Ok(()) };
    let newer = parts.iter().find(|part| part.set_number() == newest);
    let older = parts.iter().find(|part| (1..newest).contains(&part.set_number()));
    let Some((newer, older)) = newer.zip(older) else { return Ok(()) };
    let (number, newer) = (older.set_number(), newer.path().to_owned());
    Err(Older { path: older.path(), number, newer: &newer, newest }.into_error())
}
