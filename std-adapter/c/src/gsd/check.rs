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
    let (mut first, mut first_damage) = (None, None);
    Verify::new().gsd(path, &mut |finding| {
        let (count, first) = match finding.severity {
            Severity::Damage => (&mut found.damages, &mut first_damage),
            _ => (&mut found.warnings, &mut first),
        };
        *count = count.saturating_add(1);
        first.get_or_insert(finding);
    })?;
    if let Some(first) = first_damage.or(first) {
        remember(&first);
    }
    Ok(found)
}
