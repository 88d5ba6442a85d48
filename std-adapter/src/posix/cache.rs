//! The page cache that the writes of a file go to, by a name.

use super::PosixFile;
use rustix::fs::{StatFs, fstatfs, statfs};
use rustix::io::retry_on_intr;
use rustix::system::uname;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::OnceLock;
use striae_core::integrity::crc32c;

/// File systems of which a file is in the page cache of one kernel at most, whose `fsync` writes
/// all pages of the file, whoever wrote them; by the numbers of linux/magic.h. On others, of a
/// network above all, another node may have bytes that a sync here does not reach.
const LOCAL: [u64; 5] = [
    0x0000_ef53, // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xf2f5_2010, // F2FS
    0x0102_1994, // tmpfs
];

/// The name of the cache of a file: that of the running kernel, and the file system's device.
/// `None` if the file system is not one of those, or the kernel has no name.
///
/// A sync also fails for bytes of another process: "Since Linux 4.13, errors from write-back will
/// be reported to all file descriptors that might have written the data which triggered the error"
/// (fsync(2)).
pub(super) fn of(file: &PosixFile) -> Option<[u64; 3]> {
    let kind = retry_on_intr(|| fstatfs(&file.fd)).ok()?.f_type;
    let [low, high] = kernel().filter(|_| is_one_of(&LOCAL, kind))?;
    let (device, _) = file.identity();
    Some([low, high, device])
}

/// More file systems of which a write that was accepted does not fail when the file is closed.
const STACKED: [u64; 2] = [
    0x794c_7630, // overlayfs
    0x2fc1_2fc1, // ZFS
];

/// Whether the file system of a folder takes no byte for which it has no room. Others, of a network
/// above all, tell some errors of writes when a file is synced or closed (close(2)).
pub(crate) fn is_local(folder: &Path) -> bool {
    retry_on_intr(|| statfs(folder)).is_ok_and(is_of_local)
}

/// [`is_local`] of the folder of an open file.
pub(super) fn has_local(file: impl AsFd) -> bool {
    retry_on_intr(|| fstatfs(&file)).is_ok_and(is_of_local)
}

fn is_of_local(found: StatFs) -> bool {
    is_one_of(&LOCAL, found.f_type) || is_one_of(&STACKED, found.f_type)
}

fn is_one_of<K: TryInto<u64>>(kinds: &[u64], kind: K) -> bool {
    kind.try_into().is_ok_and(|kind| kinds.contains(&kind))
}

/// The random number of the start of this kernel. Machines that go on from one image of memory have
/// it in common; they should have host names of their own.
fn kernel() -> Option<[u64; 2]> {
    static KERNEL: OnceLock<Option<[u64; 2]>> = OnceLock::new();
    *KERNEL.get_or_init(|| {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let boot = u128::from_str_radix(&boot.trim().replace('-', ""), 16).ok()?;
        let host = u64::from(crc32c(0, uname().nodename().to_bytes()));
        let [low, high] = [boot, boot >> 64].map(|half| u64::try_from(half & u128::from(u64::MAX)));
        Some([low.ok()? ^ host, high.ok()?])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use striae_core::store::WriteAt;

    #[test]
    fn a_folder_that_no_disk_has_is_not_local() {
        assert!(is_local(Path::new("/dev/shm")));
        assert!(!is_local(Path::new("/proc")) && !is_local(Path::new("/dev/shm/not there")));
    }

    #[test]
    fn files_of_one_local_file_system_have_the_name_of_its_cache() {
        let folder = tempfile::tempdir_in("/dev/shm").unwrap();
        let path = folder.path().join("a");
        let files = [PosixFile::create(&path, false), PosixFile::open_rw(&path)];
        let [made, opened] = files.map(Result::unwrap).map(|file| file.cache());
        assert!(made.is_some() && made == opened, "{made:?} {opened:?}");
        let kernel = PosixFile::open(Path::new("/proc/version")).unwrap();
        assert_eq!(kernel.cache(), None, "a file system that is not known");
    }
}
