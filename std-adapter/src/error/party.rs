//! Who is to blame for an error.

/// Who must do something about an [`Error`](super::Error).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    /// The file is damaged, or it lacks what was asked for.
    File,
    /// The caller: what was asked for makes no sense, or not for this file.
    Argument,
    /// The limit of a size, of memory or of the disk.
    Capacity,
    /// The operating system, or another program.
    System,
}

impl Party {
    /// The party of an error of a format, which blames the caller or else the file.
    pub(crate) const fn of(blames_caller: bool) -> Self {
        if blames_caller { Self::Argument } else { Self::File }
    }
}
