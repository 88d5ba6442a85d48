//! Hidden folders that a killed program left.

use super::hidden::{LOCK, NEW, PREFIX, REPLACED};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::{Errno, retry_on_intr};
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A hidden folder left by a killed program or a power cut.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// Its path.
    pub path: PathBuf,
    /// Number of files in it that never got their names.
    pub files: u64,
    /// Number of replaced files in it. These may be the only copy of their data.
    pub replaced: u64,
    /// Bytes that all of these files take on the disk.
    pub bytes: u64,
    /// Whether it is certain that no program is using the folder. It is uncertain on a file system
    /// without locks.
    pub is_certain: bool,
}

/// Lists the hidden folders in `folder` that [`Publish`](super::Publish) or an extraction made and
/// that no program uses any more. The list has no folder that is in use, and no folder of another
/// user that cannot be read.
///
/// All of them may be removed with their contents; this function removes nothing.
///
/// # Errors
/// An error of the operating system if the folder cannot be listed.
pub fn leftovers(folder: &Path) -> io::Result<Vec<Leftover>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if name.as_bytes().starts_with(PREFIX.as_bytes()) {
            found.extend(leftover(&folder.join(name)));
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn leftover(path: &Path) -> Option<Leftover> {
    let path = path.to_owned();
    // Made last and removed first: whoever needs it has locked it meanwhile.
    if !fs::symlink_metadata(path.join(NEW)).is_ok_and(|new| new.is_dir()) {
        return None;
    }
    // Anybody may have made it: it must be a file, and no other thing is waited for.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let lock = retry_on_intr(|| rustix::fs::open(path.join(LOCK), flags, Mode::empty()));
    let lock = File::from(lock.ok()?);
    if !lock.metadata().is_ok_and(|lock| lock.is_file()) {
        return None;
    }
    let is_certain =
        match retry_on_intr(|| rustix::fs::flock(&lock, FlockOperation::NonBlockingLockShared)) {
            Ok(()) => true,
            Err(Errno::WOULDBLOCK) => return None,
            Err(_) => false,
        };
    let (files, new_bytes) = count(&path.join(NEW));
    let (replaced, old_bytes) = count(&path.join(REPLACED));
    let bytes = new_bytes.saturating_add(old_bytes);
    Some(Leftover { path, files, replaced, bytes, is_certain })
}

/// Number of files in a folder and below it, and the bytes that they take on the disk.
fn count(folder: &Path) -> (u64, u64) {
    let (mut files, mut bytes) = (0_u64, 0_u64);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // What cannot be listed is not counted.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(there) if there.is_dir() => folders.push(entry.path()),
                Ok(there) => {
                    files = files.saturating_add(1);
                    bytes = bytes.saturating_add(there.blocks().saturating_mul(512));
                }
                Err(_) => {}
            }
        }
    }
    (files, bytes)
}
