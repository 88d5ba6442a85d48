//! The device of the firmware around this library: files that are read and written by offset.

use core::fmt;
use embedded_io::{ErrorKind, ErrorType, Read, Seek, SeekFrom, Write};
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

unsafe extern "C" {
    /// Reads up to `len` bytes to `to` and returns how many, or a negative number.
    fn host_read(file: u32, offset: u64, to: *mut u8, len: usize) -> isize;
    /// Writes `len` bytes and returns 0, or another number.
    fn host_write(file: u32, offset: u64, from: *const u8, len: usize) -> i32;
    safe fn host_size(file: u32) -> u64;
    /// Shows `len` bytes of text.
    fn host_text(from: *const u8, len: usize);
}

/// A file of the device.
#[derive(Clone, Copy)]
pub(crate) struct Host {
    pub(crate) file: u32,
}

/// The device failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HostError;

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the device failed")
    }
}

impl core::error::Error for HostError {}

impl embedded_io::Error for HostError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Other
    }
}

impl ReadAt for Host {
    type Error = HostError;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, HostError> {
        // SAFETY: host_read writes "up to `len` bytes to `to`"; `buf` is that many, and ours.
        let n = unsafe { host_read(self.file, offset, buf.as_mut_ptr(), buf.len()) };
        usize::try_from(n).map_err(|_| HostError)
    }

    fn size(&self) -> Result<u64, HostError> {
        Ok(host_size(self.file))
    }
}

impl WriteAt for Host {
    fn write_all_at(&mut self, offset: u64, bytes: &[u8]) -> Result<(), HostError> {
        // SAFETY: host_write reads `len` bytes; `bytes` is that many.
        let status = unsafe { host_write(self.file, offset, bytes.as_ptr(), bytes.len()) };
        if status == 0 { Ok(()) } else { Err(HostError) }
    }

    fn set_size(&mut self, len: u64) -> Result<(), HostError> {
        self.write_all_at(len, &[])
    }

    fn sync(&mut self) -> Result<(), HostError> {
        Ok(())
    }
}

/// The device with a cursor, as embedded-io knows it.
#[derive(Default)]
pub(crate) struct Cursor {
    file: u32,
    at: u64,
}

impl ErrorType for Cursor {
    type Error = HostError;
}

impl Read for Cursor {
    fn read(&mut self, buf: &mut [u8]) -> Result<usize, HostError> {
        let n = Host { file: self.file }.read_at(self.at, buf)?;
        self.at = self.at.saturating_add(usize_to_u64(n));
        Ok(n)
    }
}

impl Write for Cursor {
    fn write(&mut self, bytes: &[u8]) -> Result<usize, HostError> {
        Host { file: self.file }.write_all_at(self.at, bytes)?;
        let n = usize::try_from(host_size(self.file)).unwrap_or(0); // any number, 0 too
        self.at = self.at.saturating_add(usize_to_u64(n));
        Ok(n)
    }

    fn flush(&mut self) -> Result<(), HostError> {
        Ok(())
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> Result<u64, HostError> {
        self.at = match to {
            SeekFrom::Start(at) => at,
            SeekFrom::Current(by) => self.at.checked_add_signed(by).ok_or(HostError)?,
            SeekFrom::End(by) => host_size(self.file).checked_add_signed(by).ok_or(HostError)?,
        };
        Ok(self.at)
    }
}

/// Where text goes.
pub(crate) struct Text;

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: host_text reads `len` bytes; `text` is that many.
        unsafe { host_text(text.as_ptr(), text.len()) };
        Ok(())
    }
}
