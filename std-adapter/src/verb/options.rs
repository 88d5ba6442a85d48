//! Options of a verb.

use super::Output;
use std::marker::PhantomData;

/// The options of a verb that makes files: those that all formats have, and `H`, those of the
/// format. Each format has a name for them: [`sion::Convert`](crate::sion::Convert),
/// [`gsd::Extract`](crate::gsd::Extract), [`cdf::recover::Recover`](crate::cdf::recover::Recover).
#[derive(Debug, Clone, Copy, Default)]
pub struct Options<H> {
    pub(crate) output: Output,
    pub(crate) how: H,
}

/// The `H` of a verb without options of its own; `R`, what it reads or makes, tells verbs apart.
pub(crate) type Plain<R> = PhantomData<fn() -> R>;

impl<H: Default> Options<H> {
    /// Makes all that can be made, and replaces no file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl<H> Options<H> {
    /// Sets how the new files are made. By default, no file is replaced.
    #[must_use]
    pub fn output(mut self, output: Output) -> Self {
        self.output = output;
        self
    }
}
