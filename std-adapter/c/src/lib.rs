//! C interfaces of striae: `gsd.h` as of gsd 5.0.1, and the serial `sion.h` as of SIONlib 1.7.6.
//!
//! Programs in C are compiled again with the headers in `include` and linked with this library in
//! place of the original; `README.md` says how. Rust programs use the crate `striae`.
//!
//! | module | holds |
//! |---|---|
//! | [`boundary`] | what every exported function needs; the text of the last error |
//! | `called` | safe calls of the exported functions, for the fuzz targets |
//! | [`gsd`] | the functions of `gsd.h` |
//! | [`sion`] | the functions of `sion.h` |

pub mod boundary;
#[doc(hidden)] // no part of the library: safe calls, for the fuzz targets
pub mod called;
pub mod gsd;
pub mod sion;
