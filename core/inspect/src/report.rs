//! [`Report`]: what checks of a format have found, and [`verify`], which runs them.

use crate::finding::{Found, Severity};
use crate::subject::Failed;
use alloc::string::{String, ToString};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// A finding that can say why a check has ended.
pub(crate) trait Ending<E>: Found {
    /// The file is damaged.
    fn wrong(error: E) -> Self;
    /// The file became shorter while it was read.
    fn ended(offset: u64) -> Self;
    /// The store could not be read.
    fn unreadable(message: String) -> Self;
}

/// A summary that counts findings.
pub(crate) trait Counts: Default {
    /// The number of findings of this severity.
    fn of(&mut self, severity: Severity) -> &mut u64;
}

/// Receives findings.
pub(crate) struct Report<'a, K, C> {
    each: &'a mut dyn FnMut(K),
    pub(crate) summary: C,
}

impl<'a, K: Found, C: Counts> Report<'a, K, C> {
    pub(crate) fn new(each: &'a mut dyn FnMut(K)) -> Self {
        Self { each, summary: C::default() }
    }

    /// Adds a finding.
    pub(crate) fn add(&mut self, what: K) {
        let count = self.summary.of(what.severity());
        *count = count.saturating_add(1);
        (self.each)(what);
    }

    /// Adds the error of a file, after which reading goes on.
    pub(crate) fn wrong<E>(&mut self, error: E) -> Result<(), E>
    where
        K: Ending<E>,
    {
        self.add(K::wrong(error));
        Ok(())
    }

    /// Adds why a check has ended early, unless it is an error of the store.
    pub(crate) fn end<E, X>(&mut self, done: Result<(), DriveError<X, E>>) -> Result<(), X>
    where
        K: Ending<E>,
        DriveError<X, E>: ToString,
    {
        match done {
            Ok(()) => {}
            Err(DriveError::Store(error)) => return Err(error),
            Err(DriveError::Format(error)) => self.add(K::wrong(error)),
            Err(DriveError::Ended { offset }) => self.add(K::ended(offset)),
            Err(error) => self.add(K::unreadable(error.to_string())),
        }
        Ok(())
    }
}

/// Runs all checks of a file, passes each finding to `each`, and returns the summary.
pub(crate) fn verify<S: ReadAt + ?Sized, E, K: Ending<E>, C: Counts>(
    each: &mut dyn FnMut(K),
    check: impl FnOnce(&mut Report<'_, K, C>) -> Result<(), Failed<S, E>>,
) -> Result<C, S::Error>
where
    Failed<S, E>: ToString,
{
    let mut report = Report::new(each);
    let done = check(&mut report);
    report.end(done)?;
    Ok(report.summary)
}

/// Implements [`Ending`] for findings with the variants `Wrong`, `Ended` and `Unreadable`, and
/// [`Counts`] for a summary with the fields `damage` and `notes`.
macro_rules! report {
    ($kind:ident($error:ty), $summary:ty) => {
        impl $crate::report::Ending<$error> for $kind {
            fn wrong(error: $error) -> Self {
                Self::Wrong(error)
            }

            fn ended(offset: u64) -> Self {
                Self::Ended { offset }
            }

            fn unreadable(message: alloc::string::String) -> Self {
                Self::Unreadable { message }
            }
        }

        impl $crate::report::Counts for $summary {
            fn of(&mut self, severity: $crate::finding::Severity) -> &mut u64 {
                match severity {
                    $crate::finding::Severity::Damage => &mut self.damage,
                    $crate::finding::Severity::Note => &mut self.notes,
                }
            }
        }
    };
}

#[allow(unused_imports, reason = "without a format nobody uses it")]
pub(crate) use report;
