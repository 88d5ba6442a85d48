//! The results of a check, as values with stable names that are common to all formats.

use crate::shown;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

pub use striae_inspect::certainty::{Certainty, Tally, Word};
pub use striae_inspect::finding::{Coverage, Facts, FieldId, Found, Kind, Severity, Value};

/// A problem or an unusual fact in a file. `Display` prints it on one line, without the severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding<W> {
    /// The physical file it is in.
    pub file: Arc<Path>,
    /// How severe it is.
    pub severity: Severity,
    /// The kind of problem, with its values.
    pub what: W,
}

impl<W: Found> Finding<W> {
    pub(crate) fn new(file: &Arc<Path>, what: W) -> Self {
        Self { file: Arc::clone(file), severity: what.severity(), what }
    }

    /// The problem as a list of named values.
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
