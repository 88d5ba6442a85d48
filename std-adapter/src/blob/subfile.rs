//! [`Subfile`]: a subfile of a set that is read, with or without its seal.

pub(crate) use striae_inspect::blob::subfile::{HDF5_MAGIC, Head, is_blob};

use super::Container;
use super::grammar::Canonical;
use crate::error::ErrorKind as AnyError;
use crate::posix::PosixFile;
use std::ops::Deref;
use striae_core::blob::Part;
use striae_core::step::DriveError;
use striae_inspect::blob::Flaw;
use striae_inspect::blob::sealed::{Sealable, Sealed};
use striae_inspect::blob::subfile::{self, Judge};
use striae_inspect::cdf::Header;

/// A subfile. What it has is compared with its seal before it is used, if that was asked for.
#[derive(Debug)]
pub(crate) struct Subfile {
    inner: subfile::Subfile,
    sealed: Option<Sealed>,
    /// Whether what is left of a blob that is cut may be read, although it cannot be compared.
    mends: bool,
    /// Whether a table, the header or the seal is damaged, and what others prove is read.
    pub(crate) is_mended: bool,
}

impl Deref for Subfile {
    type Target = subfile::Subfile;

    fn deref(&self) -> &Self::Target {
        &self.inner
    }
}

impl Subfile {
    /// Opens a subfile, which must have what `set` has, and is likely to have a header like `like`.
    /// If it is to be `checked`, its header is compared with its seal. Errors of tables and of the
    /// seal go to `judge`; if it `mends`, blobs that are cut are not compared. Also returns the
    /// header.
    pub(crate) fn open(
        file: &PosixFile,
        (set, like): (&Canonical, &Header),
        (container, checked, mends): (Container, bool, bool),
        judge: Judge<'_>,
    ) -> Result<(Self, Head), AnyError> {
        let head = Head::read_like(file, like)?;
        head.must_belong(set, container)?;
        Ok((Self { mends, ..Self::examine(file, &head, checked, judge)? }, head))
    }

    /// The subfile with this header, as [`open`](Self::open) reads it.
    pub(crate) fn examine(
        file: &PosixFile,
        head: &Head,
        checked: bool,
        judge: Judge<'_>,
    ) -> Result<Self, AnyError> {
        let inner = subfile::Subfile::examine(file, head, judge)?;
        Self::sealed((file, head), inner, checked, judge)
    }

    /// The subfile with its seal if it is to be checked. If `judge` lets pass that the seal is
    /// damaged, or the header is not as sealed, nothing else is compared with the seal.
    fn sealed(
        (file, head): (&PosixFile, &Head),
        inner: subfile::Subfile,
        checked: bool,
        judge: Judge<'_>,
    ) -> Result<Self, AnyError> {
        if !checked {
            return Ok(Self { inner, sealed: None, mends: false, is_mended: false });
        }
        let sealed = match Sealed::read_live(file, head, inner.numrecs) {
            Err(DriveError::Format(flaw @ Flaw::Format(_))) => {
                judge(flaw)?;
                None
            }
            sealed => sealed?,
        };
        Ok(Self { inner, sealed, mends: false, is_mended: false })
    }

    /// Whether it has a seal, if it was to be checked.
    pub(crate) const fn is_sealed(&self) -> bool {
        self.sealed.is_some()
    }

    /// Whether the elements of all blobs of a variable follow each other, and may be read at once:
    /// blobs that are compared with a seal are read one by one.
    pub(crate) const fn is_joined(&self) -> bool {
        self.inner.is_joined() && self.sealed.is_none()
    }

    /// The offset of the elements of a variable in a record, of a blob or, if they are
    /// [joined](Self::is_joined), of all blobs. `width` is the bytes of an element.
    pub(crate) fn elements(
        &self,
        variable: usize,
        decomposition: usize,
        (record, blob, width): (u64, u32, u64),
    ) -> Option<u64> {
        let at = self.inner.elements(variable, decomposition, (record, blob, width))?;
        if self.is_joined() == self.inner.is_joined() {
            return Some(at);
        }
        at.checked_add(self.share(blob, decomposition).start.checked_mul(width)?)
    }

    /// Compares the blob of a canonical variable with the seal, if there is one.
    pub(crate) fn check(
        &self,
        file: &PosixFile,
        set: &Canonical,
        (variable, blob): (usize, u32),
    ) -> Result<(), AnyError> {
        self.compare(file, set, (Sealable::Values(variable), blob))
    }

    /// Compares the maps of a blob with the seal, if there is one.
    pub(crate) fn check_maps(
        &self,
        file: &PosixFile,
        set: &Canonical,
        (decomposition, blob): (usize, u32),
    ) -> Result<(), AnyError> {
        for part in Part::VARIABLES {
            self.compare(file, set, (Sealable::Map(decomposition, part), blob))?;
        }
        Ok(())
    }

    fn compare(
        &self,
        file: &PosixFile,
        set: &Canonical,
        what: (Sealable, u32),
    ) -> Result<(), AnyError> {
        let Some(sealed) = &self.sealed else { return Ok(()) };
        match sealed.check(file, (&self.inner, set), what) {
            Ok(_) => Ok(()),
            Err(DriveError::Ended { .. }) if self.mends => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}
