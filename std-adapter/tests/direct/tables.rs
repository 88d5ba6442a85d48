//! Threads with descriptors of their own: unshare(2), CLONE_FILES.
#![expect(unsafe_code, reason = "no safe call can give two files one number")]

use crate::*;
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use striae::direct::Writer;
use striae::posix::PosixFile;

#[test]
fn a_thread_with_descriptors_of_its_own_opens_its_own_file_again() {
    let (own, other) = (made(&[1; 5000]), made(&[2; 5000]));
    let open = |path| File::options().read(true).write(true).open(path).unwrap();
    let of_process = open(other.path());
    let number = of_process.as_raw_fd();
    let is_written = || {
        let file = open(own.path());
        // SAFETY: it takes flags; what this thread opened before is in both tables.
        if unsafe { libc::unshare(libc::CLONE_FILES) } != 0 {
            println!("skipped: unshare(2): {}", io::Error::last_os_error());
            return false;
        }
        // SAFETY: it takes numbers; nobody uses this one in the table of this thread.
        assert_eq!(unsafe { libc::dup3(file.as_raw_fd(), number, libc::O_CLOEXEC) }, number);
        // SAFETY: `OwnedFd`: "the resource pointed to by `fd` must be open and suitable for
        // assuming ownership": it was just made, and `of_process` is in the other table.
        let file = PosixFile::from_fd(unsafe { OwnedFd::from_raw_fd(number) }).unwrap();
        let mut writer = Writer::new(file, Policy::Preferred).unwrap();
        writer.write_all_at(0, &[3; 5000]).unwrap();
        writer.sync().unwrap();
        true
    };
    let is_written = std::thread::scope(|scope| scope.spawn(is_written).join().unwrap());
    let written = if is_written { [3; 5000] } else { [1; 5000] };
    assert!(std::fs::read(own.path()).unwrap() == written);
    assert!(std::fs::read(other.path()).unwrap() == [2; 5000]);
}
