//! How a file is verified: what the formats have in common.

use crate::direct::OpenOptions;
use std::fmt;

/// How a file is verified. Each format adds a method that does it: [`sion`](Self::sion),
/// [`gsd`](Self::gsd), [`ffrecord`](Self::ffrecord).
///
/// ```
/// use striae::Verify;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/gsd/v21_hoomd_full_single.gsd");
/// let summary = Verify::new().gsd(path, &mut |finding| println!("{finding}"))?;
/// assert!(summary.is_sound());
/// # Ok::<(), striae::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Verify<'a> {
    pub(crate) direct: Option<OpenOptions>,
    pub(crate) progress: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Verify<'a> {
    /// Reads through the page cache and tells nobody how far it is.
    #[must_use]
    pub const fn new() -> Self {
        Self { direct: None, progress: &|_| {} }
    }

    /// Reads data past the page cache, as far as that can be, if there are options for that. What
    /// is found is the same.
    #[must_use]
    pub const fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Tells `progress` the length of each piece of data that was checked. The format's module
    /// says of how many bytes.
    #[must_use]
    pub const fn progress(mut self, progress: &'a (dyn Fn(u64) + Sync)) -> Self {
        self.progress = progress;
        self
    }
}

impl Default for Verify<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Verify<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verify").field("direct", &self.direct).finish_non_exhaustive()
    }
}
