//! What checking a file finds, as values with stable names: for programs, whatever the format.

use crate::shown;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use striae_inspect::finding::{Coverage, Facts, FieldId, Found, Kind, Severity, Value};

/// Something that is wrong or unusual in a file. Its `Display` is one line, without the severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<W> {
    /// The physical file that it is in.
    pub file: Arc<Path>,
    /// How bad it is.
    pub severity: Severity,
    /// What it is.
    pub what: W,
}

impl<W: Found> Finding<W> {
    pub(crate) fn new(file: &Arc<Path>, what: W) -> Self {
        Self { file: Arc::clone(file), severity: what.severity(), what }
    }

    /// What it says, as values.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.what.facts()
    }
}

impl<W: fmt::Display> fmt::Display for Finding<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", shown::path(&self.file), self.what)
    }
}
