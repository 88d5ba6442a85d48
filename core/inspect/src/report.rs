//! [`Report`]: what checks of a format have found, and [`verify`], which runs them.

use crate::finding::{Found, Severity};
use crate::subject::Failed;
use alloc::string::{String, ToString};
use embedded_io::ErrorKind;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// A finding that can say why a check has ended.
pub(crate) trait Ending<E>: Found {
    /// The file is damaged.
    fn wrong(error: E) -> Self;
    /// The file became shorter while it was read.
    fn ended(offset: u64) -> Self;
    /// The store could not be read: its kind of error, and its message.
    fn unreadable(kind: ErrorKind, message: String) -> Self;
}

/// A summary that counts findings.
pub(crate) trait Counts: Default {
    /// The number of findings of this severity.
    fn of(&mut self, severity: Severity) -> &mut u64;
}

/// Receives findings.
pub(crate) struct Report<'a, K, C> {
    /// The number of the file that is being checked; 0 of a format without sets.
    pub(crate) file: u32,
    each: &'a mut dyn FnMut(u32, K),
    pub(crate) summary: C,
}

impl<'a, K: Found, C: Counts> Report<'a, K, C> {
    /// Passes each finding to `each`, with the number of the file.
    pub(crate) fn new(each: &'a mut dyn FnMut(u32, K)) -> Self {
        Self { file: 0, each, summary: C::default() }
    }

    /// Adds a finding.
    pub(crate) fn add(&mut self, what: K) {
        let count = self.summary.of(what.severity());
        *count = count.saturating_add(1);
        (self.each)(self.file, what);
    }

    /// Adds a finding of cases, if there are any.
    pub(crate) fn cases<T>(&mut self, cases: Cases<T>, what: impl FnOnce(T, u64) -> K) {
        if let Some((first, count)) = cases.0 {
            self.add(what(first, count));
        }
    }

    /// Adds an error of the file.
    pub(crate) fn wrong<E>(&mut self, error: E)
    where
        K: Ending<E>,
    {
        self.add(K::wrong(error));
    }

    /// Adds an error of the file, after which what judges it goes on.
    pub(crate) fn go_on<E>(&mut self, error: E) -> Result<(), E>
    where
        K: Ending<E>,
    {
        self.wrong(error);
        Ok(())
    }

    /// Adds why a check has ended early.
    pub(crate) fn failed<E, X: embedded_io::Error>(&mut self, error: DriveError<X, E>)
    where
        K: Ending<E>,
        DriveError<X, E>: ToString,
    {
        self.add(match error {
            DriveError::Format(error) => K::wrong(error),
            DriveError::Ended { offset } => K::ended(offset),
            DriveError::Store(ref own) => K::unreadable(own.kind(), error.to_string()),
            error => K::unreadable(ErrorKind::OutOfMemory, error.to_string()),
        });
    }

    /// Adds why a check has ended early, unless it is an error of the store.
    pub(crate) fn end<E, X: embedded_io::Error>(
        &mut self,
        done: Result<(), DriveError<X, E>>,
    ) -> Result<(), X>
    where
        K: Ending<E>,
        DriveError<X, E>: ToString,
    {
        match done {
            Ok(()) => Ok(()),
            Err(DriveError::Store(error)) => Err(error),
            Err(error) => {
                self.failed(error);
                Ok(())
            }
        }
    }
}

/// Cases that are reported together: the first one, and their number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cases<T>(pub(crate) Option<(T, u64)>);

impl<T> Cases<T> {
    pub(crate) const NONE: Self = Self(None);

    /// Adds a case.
    pub(crate) fn add(&mut self, one: T) {
        let (_, count) = self.0.get_or_insert((one, 0));
        *count = count.saturating_add(1);
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
    let mut each = |_, what| each(what);
    let mut report = Report::new(&mut each);
    let done = check(&mut report);
    report.end(done)?;
    Ok(report.summary)
}

/// Defines what verifying a file of a format returns: [`Ending`] for its findings, which have the
/// variants `Wrong`, `Ended` and `Unreadable`, the type of its [`Report`], and the summary.
/// `Unreadable` has the kind of the store's error if that is asked for.
///
/// With `verify`, also the function of that name, which runs the function `check` on a file.
macro_rules! report {
    (
        $kind:ident($error:ty $(, $field:ident)?);
        $(#[$doc:meta])* pub fn verify;
        $($summary:tt)+
    ) => {
        $crate::report::report!($kind($error $(, $field)?); $($summary)+);

        $(#[$doc])*
        pub fn verify<S: Subject>(
            subject: &S,
            each: &mut dyn FnMut($kind),
        ) -> Result<Summary, S::Error> {
            $crate::report::verify::<S, _, _, _>(each, |report| check(subject, report))
        }
    };
    ($kind:ident($error:ty $(, $field:ident)?); $($summary:tt)+) => {
        impl $crate::report::Ending<$error> for $kind {
            fn wrong(error: $error) -> Self {
                Self::Wrong(error)
            }

            fn ended(offset: u64) -> Self {
                Self::Ended { offset }
            }

            #[allow(unused_variables, reason = "not every finding has the kind")]
            fn unreadable(kind: embedded_io::ErrorKind, message: alloc::string::String) -> Self {
                Self::Unreadable { $($field: kind,)? message }
            }
        }

        $crate::report::summary!($kind; $($summary)+);
    };
}

/// Defines a summary with these fields, which also counts the findings, and the type of the
/// [`Report`] that makes it.
macro_rules! summary {
    (
        $kind:ident;
        $(#[$doc:meta])*
        pub struct Summary { $($(#[$about:meta])* pub $name:ident: $type:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Summary {
            $($(#[$about])* pub $name: $type,)*
            /// Number of findings of [`Severity::Damage`](crate::finding::Severity::Damage).
            pub damage: u64,
            /// Number of findings of [`Severity::Note`](crate::finding::Severity::Note).
            pub notes: u64,
        }

        impl Summary {
            /// Whether no damage was found in what was checked; see
            /// [`Coverage`](crate::finding::Coverage).
            #[must_use]
            pub const fn is_sound(&self) -> bool {
                self.damage == 0
            }
        }

        impl $crate::report::Counts for Summary {
            fn of(&mut self, severity: $crate::finding::Severity) -> &mut u64 {
                match severity {
                    $crate::finding::Severity::Damage => &mut self.damage,
                    $crate::finding::Severity::Note => &mut self.notes,
                }
            }
        }

        /// Receives the findings.
        type Report<'a> = $crate::report::Report<'a, $kind, Summary>;
    };
}

#[allow(unused_imports, reason = "without a format nobody uses them")]
pub(crate) use {report, summary};
