//! What a commit record says that is older than what gsd has appended.

use core::fmt;
use striae_core::gsd::raw::Image;
use striae_core::gsd::{Head, State};

/// What frames had before gsd appended to a file, and those that come behind have no more: gsd
/// knows neither, and striae goes on as with any file of gsd (`spec/gsd.md#adopting-a-file`).
///
/// Its `Display` is `checksums and alignment to 4096`, or one of both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stale {
    /// Chunks started at multiples of this, in bytes; 1 if anywhere.
    pub align: u64,
    /// Whether frames were given checksums.
    pub checksums: bool,
}

impl Stale {
    /// What the stale record in a header says; `None` if there is none, or it says neither.
    #[must_use]
    pub fn of(head: &Head) -> Option<Self> {
        matches!(head.state, State::Appended).then(|| Self::in_image(&head.image))?
    }

    /// What the record in a header says that is stale.
    #[must_use]
    pub fn in_image(image: &Image) -> Option<Self> {
        // More than a record can have, which nothing proves any more, is damage.
        let power = Some(image.commit.align).filter(|&power| power <= 30);
        let align = power.map_or(1, |power| 1_u64.checked_shl(power.into()).unwrap_or(1));
        let checksums = image.commit.checksums == 1;
        (align > 1 || checksums).then_some(Self { align, checksums })
    }
}

impl fmt::Display for Stale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self { align: 1, .. } => f.write_str("checksums"),
            Self { align, checksums: true } => write!(f, "checksums and alignment to {align}"),
            Self { align, checksums: false } => write!(f, "alignment to {align}"),
        }
    }
}
