//! ffrecord files: open, list, read samples and check them; write, pack, extract, verify.
//!
//! ```
//! use striae::ffrecord::{Builder, File};
//!
//! # let dir = tempfile::tempdir()?;
//! # let path = dir.path().join("train.ffr");
//! let mut writer = Builder::new().create(&path)?;
//! for sample in [&b"first"[..], b"", b"third"] {
//!     writer.write(sample)?;
//! }
//! writer.finish()?; // until here there is no file of that name
//!
//! let file = File::open(&path)?;
//! assert_eq!(file.n(), 3);
//! assert_eq!(file.read_checked(2)?, b"third");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dump;
pub(crate) mod error;
mod extract;
mod file;
mod pack;
mod recognize;
mod tables;
pub mod verify;
mod write;

pub use crate::extract::Extracted;
pub use error::ErrorKind;
pub use extract::Extract;
pub use file::{File, Samples};
pub use pack::Pack;
pub use striae_core::ffrecord::{Error, Head, Sample};
pub use write::{Builder, Writer, Written};

pub(crate) use recognize::is_ffrecord;

/// The CRC-32 of all bytes so far, as [`striae_core::integrity::crc32`] has it, with the processor's
/// help.
#[must_use]
pub fn crc32(previous: u32, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(previous);
    hasher.update(bytes);
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    #[test]
    fn both_checksums_are_the_same() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        for cut in [0, 1, 7, 64, 500, 999, 1000] {
            let (front, back) = bytes.split_at(cut);
            let fast = super::crc32(super::crc32(0, front), back);
            assert_eq!(fast, striae_core::integrity::crc32(0, &bytes));
        }
    }
}
