//! ffrecord files: samples of any bytes, addressed by their number (`spec/ffrecord.md`).
//!
//! In the order of reading; a module uses only those above it:
//!
//! | room | module | holds |
//! |---|---|---|
//! | | [`raw`] | the structures as they are stored |
//! | | [`error`], [`layout`] | errors; the places of the tables |
//! | read | [`open`] | machine: open a file |
//! | | [`meta_crc`] | machine: compute the checksum of the tables |
//! | | [`sample`], [`find`] | a sample; machine: find one |
//! | | [`samples`] | lists of samples |
//! | | [`reader`] | read a file ([`Reader`]) |
//!
//! These are the files of ffrecord up to 1.4.0: with a checksum of the tables, or without one, as
//! in the first versions. Their writer is in the package `striae`; it uses [`Layout`].

pub mod error;
pub mod layout;
pub mod raw;
mod read;

pub use read::{find, meta_crc, open, reader, sample, samples};

#[cfg(feature = "async")]
pub use error::AsyncError;
pub use error::{Error, ReadError};
pub use layout::Layout;
pub use meta_crc::MetaCrc;
pub use open::Head;
pub use reader::Reader;
pub use sample::Sample;
pub use samples::Samples;
