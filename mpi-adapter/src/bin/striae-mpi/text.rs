//! What the program prints.

use std::fmt::Display;
use std::io::{self, Write};

/// Prints results. A reader that has gone is no error.
pub(crate) fn say(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Prints a message in one piece, between those of other ranks; nobody may be there to read it.
pub(crate) fn warn(message: impl Display) {
    let _ = io::stderr().write_all(format!("striae-mpi: {message}\n").as_bytes());
}
