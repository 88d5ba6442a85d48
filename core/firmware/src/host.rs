//! Files of the host, by semihosting; only a test has them.

use core::ffi::CStr;
use core::fmt;
use semihosting::fs;
use semihosting::io::Write as _;

/// A file of the host, in the folder that QEMU was started in.
pub struct File(fs::File);

impl File {
    /// Makes an empty file.
    pub fn create(path: &CStr) -> Self {
        match fs::File::create(path) {
            Ok(file) => Self(file),
            Err(_) => defmt::panic!("the host has no place for a file"),
        }
    }

    /// Writes all of `bytes`.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.0.write_all(bytes).is_err() {
            defmt::panic!("the host does not write");
        }
    }
}

impl fmt::Write for File {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}
