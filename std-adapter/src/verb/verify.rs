//! Options for verifying a file, common to all formats.

use crate::direct::OpenOptions;
use crate::error::{Error, ErrorKind};
use crate::finding::{Finding, Found};
use crate::store::Inspected;
use crate::store::bulk::Bulk;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Options for verifying a file. Each format adds a method that verifies: [`sion`](Self::sion),
/// [`gsd`](Self::gsd), [`ffrecord`](Self::ffrecord), [`cdf`](Self::cdf), [`blob`](Self::blob).
///
/// ```
/// use striae::Verify;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/doc/v21_hoomd_full_single.gsd");
/// let summary = Verify::new().gsd(path, &mut |finding| println!("{finding}"))?;
/// assert!(summary.is_sound());
/// # Ok::<(), striae::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Verify<'a> {
    pub(crate) direct: Option<OpenOptions>,
    pub(crate) map: Option<&'a Path>,
    pub(crate) progress: &'a (dyn Fn(u64) + Sync),
}

impl<'a> Verify<'a> {
    /// Reads through the page cache and reports no progress.
    #[must_use]
    pub const fn new() -> Self {
        Self { direct: None, map: None, progress: &|_| {} }
    }

    /// With `Some` options, reads data past the page cache where possible. The findings do not
    /// change.
    #[must_use]
    pub const fn direct(mut self, options: Option<OpenOptions>) -> Self {
        self.direct = options;
        self
    }

    /// Compares a blob set with the decomposition map at this path, if there is one.
    #[must_use]
    pub const fn against(mut self, map: Option<&'a Path>) -> Self {
        self.map = map;
        self
    }

    /// Reports the length of each piece of data that was checked to `progress`. The module of each
    /// format gives the total.
    #[must_use]
    pub const fn progress(mut self, progress: &'a (dyn Fn(u64) + Sync)) -> Self {
        self.progress = progress;
        self
    }

    /// Runs the checks of one file, and adds its path to each finding and to an error.
    pub(crate) fn one<K: Found, T, E: Into<ErrorKind>>(
        &self,
        path: &Path,
        each: &mut dyn FnMut(Finding<K>),
        checks: impl FnOnce(&Inspected<'a, Bulk>, &mut dyn FnMut(K)) -> Result<T, E>,
    ) -> Result<T, Error> {
        let subject = Inspected::new(Bulk::open(path, self.direct)?, self.progress);
        let mut tell = named(|()| path.to_owned(), each);
        checks(&subject, &mut |what| tell((), what)).map_err(|error| Error::new(path, error))
    }
}

/// Adds the path to each finding of a file of a set; the path is made when the file changes.
pub(crate) fn named<K: Found, N: Copy + PartialEq>(
    path_of: impl Fn(N) -> PathBuf,
    each: &mut dyn FnMut(Finding<K>),
) -> impl FnMut(N, K) {
    let mut entered: Option<(N, Arc<Path>)> = None;
    move |number, what| {
        let file = match entered.take().filter(|(of, _)| *of == number) {
            Some((_, file)) => file,
            None => path_of(number).into(),
        };
        each(Finding::new(&file, what));
        entered = Some((number, file));
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
