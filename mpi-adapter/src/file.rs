//! Files that each rank writes by a handle of its own.

use std::io;
use striae_core::store::WriteAt;

/// A file that a rank, and its threads, write at any place by one handle: each type `F` for which
/// `&F` is a [`WriteAt`] with errors of the operating system. Other crates cannot implement it.
pub trait SharedFile: sealed::Sealed {
    /// The bytes of the file.
    fn io(&self) -> impl WriteAt<Error = io::Error>;
}

impl<F> SharedFile for F
where
    for<'f> &'f F: WriteAt<Error = io::Error>,
{
    fn io(&self) -> impl WriteAt<Error = io::Error> {
        self
    }
}

mod sealed {
    #[allow(unnameable_types, reason = "no other crate may implement it")]
    pub trait Sealed {}

    impl<F> Sealed for F where for<'f> &'f F: super::WriteAt<Error = std::io::Error> {}
}
