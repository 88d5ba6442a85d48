//! The C interface of SIONlib for parallel programs: `sion_paropen_mpi` and its like, as of SIONlib
//! 1.7.6, and all functions of `striae-c`, which is linked in.
//!
//! A set that several processes have opened is one of the sets of `striae-c`: its functions read,
//! write and ask for a process alone, whatever opened it. This library opens and closes.
//!
//! | module | holds |
//! |---|---|
//! | `calls` | exported: the functions for MPI, and those of all ways |
//! | `mapped` | exported: sets with any tasks of each process |
//! | `older` | exported: what older programs call |
//! | `create` | how processes make a set together |
//! | `open` | how processes read a set together |
//! | `writer`, `streams` | what a process has of such a set |
//! | `mode` | the words of mode strings that are for several processes |
//! | `comm` | the communicator of a C program |
//! | [`generic`] | communication by callbacks of the program |

mod calls;
mod comm;
mod create;
pub mod generic;
mod mapped;
mod mode;
mod older;
mod open;
mod streams;
mod writer;

pub use calls::*;
pub use mapped::*;
pub use older::*;

use striae_c::sion::parts::{Failure, Numbered};
use striae_mpi::{Code, Error};

/// The failure of a call for an error that all processes have.
fn told(error: Error) -> Failure {
    told_of(&error)
}

fn told_of(error: &Error) -> Failure {
    let errno = match error.code() {
        Code::Io(number) => number,
        Code::Lost => libc::ETIMEDOUT,
        Code::Refused | Code::Differ => libc::EINVAL,
        Code::Full => libc::EFBIG,
        Code::Carrier(_) | Code::Aborted(_) => libc::EPROTO,
        _ => libc::EIO,
    };
    Box::new(Numbered { errno, text: error.to_string() })
}

/// Whether processes are lost, or MPI has failed: the others may still use a communicator.
fn is_severed(numbered: &Numbered) -> bool {
    [libc::ETIMEDOUT, libc::EPROTO].contains(&numbered.errno)
}

/// What a process that failed by itself tells the others.
fn untold(failure: &Failure) -> striae_mpi::Failure {
    let code = failure.downcast_ref::<std::io::Error>().and_then(std::io::Error::raw_os_error);
    let numbered = failure.downcast_ref::<Numbered>().map(|numbered| numbered.errno);
    let code = code.or(numbered).map_or(Code::Refused, Code::Io);
    striae_mpi::Failure::new(code, failure)
}
