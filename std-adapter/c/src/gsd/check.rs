//! Checks all of a file.

use super::code::Code;
use super::extra::StriaeGsdFindings;
use crate::boundary::remember;
use std::path::Path;
use striae::Verify;
use striae::finding::Severity;

/// Checks the file at `path`, and counts what is found.
pub(super) fn check(path: &Path) -> Result<StriaeGsdFindings, Code> {
    let mut found = StriaeGsdFindings::default();
    let mut first = None;
    Verify::new().gsd(path, &mut |finding| {
        let count = match finding.severity {
            Severity::Damage => &mut found.damages,
            _ => &mut found.warnings,
        };
        *count = count.saturating_add(1);
        if finding.severity == Severity::Damage || first.is_none() {
            first.get_or_insert(finding);
        }
    })?;
    if let Some(first) = first {
        remember(&first);
    }
    Ok(found)
}
