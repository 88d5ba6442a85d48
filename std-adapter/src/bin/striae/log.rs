//! Log messages of the library.

use crate::printable::printable;
use log::{LevelFilter, Log, Metadata, Record};
use std::io::Write;

/// Writes log messages to standard error, one on each line.
struct Stderr;

/// Prints the library's log messages from now on if `verbose` is set.
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
        // If standard error is closed, the line is lost.
        let _ = writeln!(anstream::stderr(), "striae: {}", printable(&record.args().to_string()));
    }

    fn flush(&self) {}
}
