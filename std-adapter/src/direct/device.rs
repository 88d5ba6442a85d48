//! The alignment that a file's device needs.

use super::memory::Pool;
use crate::posix::PosixFile;
use rustix::fs::{AtFlags, StatxFlags, statx};
use rustix::io::{Errno, retry_on_intr};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use striae_core::align::Alignment;
use striae_core::store::{ReadAt, usize_to_u64};

/// How an open file will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Reading,
    Writing,
}

/// The alignment that an open file needs for direct reading or writing.
///
/// # Errors
/// An error of the operating system; an error if direct access is not possible.
pub(super) fn alignment(file: &PosixFile, access: Access) -> io::Result<Alignment> {
    match ask(file.as_fd(), access) {
        Known::Says(alignment) => Ok(alignment),
        Known::Silent => match file.size()? {
            0 => Ok(Alignment::of(4096)), // any read of it is accepted
            len => probe(file.as_fd(), len)?
                .ok_or_else(|| io::Error::other("no aligned read is accepted")),
        },
        Known::Refuses => Err(io::Error::other("the kernel says that it cannot be read directly")),
    }
}

/// The kernel's answer about direct access to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Direct access needs this alignment.
    Says(Alignment),
    /// Direct access is not possible.
    Refuses,
    /// No answer, from an old kernel or a file system that does not support the question. Direct
    /// access may work.
    Silent,
}

/// `STATX_DIO_READ_ALIGN` of Linux 6.14, which rustix does not name.
const DIO_READ_ALIGN: StatxFlags = StatxFlags::from_bits_retain(0x0002_0000);

/// Asks the kernel for the alignment of an open file.
fn ask(file: BorrowedFd<'_>, access: Access) -> Known {
    let wanted = StatxFlags::DIOALIGN | DIO_READ_ALIGN;
    let Ok(stat) = statx(file, "", AtFlags::EMPTY_PATH, wanted) else { return Known::Silent };
    let said = StatxFlags::from_bits_retain(stat.stx_mask);
    if !said.contains(StatxFlags::DIOALIGN) {
        return Known::Silent;
    }
    let offset = match (access, stat.stx_dio_read_offset_align) {
        (Access::Writing, _) | (Access::Reading, 0) => stat.stx_dio_offset_align,
        (Access::Reading, offset) => offset,
    };
    let (offset, memory) = (u64::from(offset), u64::from(stat.stx_dio_mem_align));
    match offset > 0 && memory > 0 {
        true => Known::Says(Alignment { offset, length: offset, memory }),
        false => Known::Refuses,
    }
}

/// Finds the smallest alignment from 4096 on that is accepted, by reads; `None` if all are refused.
///
/// It is only used if the kernel gives no answer. An accepted read of 512 bytes would prove
/// nothing: btrfs reads through the page cache what is not aligned to its blocks, and a device with
/// sectors of 4096 bytes may read more than was asked for. Whatever accepts 512 accepts 4096.
fn probe(file: BorrowedFd<'_>, file_len: u64) -> io::Result<Option<Alignment>> {
    const LEAST: usize = 4096;
    const MOST: usize = 1 << 16;
    let pool = Pool::new(MOST);
    let Some(mut memory) = pool.take(2 * MOST) else { return Ok(None) };
    let mut unit = LEAST;
    while unit <= MOST {
        let len = usize_to_u64(unit);
        // A read after the end would succeed at any offset, and prove nothing.
        let offset = if len < file_len { len } else { 0 };
        // Aligned to the unit, but not to twice the unit.
        let piece = memory.bytes_mut().get_mut(unit..).and_then(|bytes| bytes.get_mut(..unit));
        let piece = piece.unwrap_or_default();
        match retry_on_intr(|| rustix::io::pread(file, &mut *piece, offset)) {
            Ok(_) => return Ok(Some(Alignment::of(len))),
            Err(Errno::INVAL) => unit = unit.saturating_mul(2),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(None)
}
