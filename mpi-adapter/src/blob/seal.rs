//! The seal of a subfile, of which each rank writes its own rows.

use crate::collective::{Collective, Fold};
use crate::error::Failure;
use striae::posix::PosixFile;
use striae_core::blob::{Fingerprint, Sealing};
use striae_core::integrity::Crc32cParts;

/// The bytes that are read at once.
pub(super) const WINDOW: usize = 1 << 16;

/// Writes the rows of this rank's blob: its checksum of each variable. The first rank then writes
/// the heads of both copies. It takes two calls of the message layer on the ranks of the subfile.
pub(super) fn write<C: Collective>(
    seal: &Sealing,
    part: &C,
    mut file: &PosixFile,
    sums: Result<Vec<u32>, Failure>,
    (records, values): (u64, Fingerprint),
) -> Result<(), Failure> {
    let at = |error| Failure::io("writing the seal", &error);
    let own = (part.rank(), values);
    let rows = sums.and_then(|sums| {
        let parts = seal.write_rows(&mut file, own, sums, crc32c::crc32c_append).map_err(at)?;
        Ok([u64::from(parts.word())])
    });
    part.decide(rows, [Fold::Xor], |[word]| {
        let word = u32::try_from(word).unwrap_or(0); // parts have 32 bits
        let (parts, state) = (Crc32cParts::from_word(word), (records, values));
        let written = seal.write_heads(&mut file, state, parts, crc32c::crc32c_append);
        written.map(|()| []).map_err(at)
    })?;
    Ok(())
}
