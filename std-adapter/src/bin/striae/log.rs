//! What the library says besides its results.

use crate::text::printable;
use log::{LevelFilter, Log, Metadata, Record};
use std::io::Write;

/// Lines on standard error.
struct Stderr;

/// Prints, from here on, what the library logs, if that is wanted.
pub(crate) fn start(verbose: bool) {
    if verbose && log::set_logger(&Stderr).is_ok() {
        log::set_max_level(LevelFilter::Info);
    }
}

impl Log for Stderr {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &Record<'_>) {
        // If standard error is gone, there is nobody to tell.
        let _ = writeln!(anstream::stderr(), "striae: {}", printable(&record.args().to_string()));
    }

    fn flush(&self) {}
}
