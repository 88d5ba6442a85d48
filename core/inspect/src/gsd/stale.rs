//! The properties in a commit record that is older than gsd's last append.

use core::fmt;
use striae_core::gsd::raw::Image;
use striae_core::gsd::{Head, State};

/// The properties that frames had before gsd appended to a file. Later frames do not have them: gsd
/// knows neither, and striae continues as with any file of gsd (`spec/gsd.md#adopting-a-file`).
///
/// `Display` prints `checksums and alignment to 4096`, or one of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stale {
    /// The alignment of chunks in bytes; 1 if they may start anywhere.
    pub align: u64,
    /// Whether frames had checksums.
    pub checksums: bool,
}

impl Stale {
    /// The properties in the stale record of a header; `None` if there is no such record or it has
    /// none.
    #[must_use]
    pub fn of(head: &Head) -> Option<Self> {
        matches!(head.state, State::Appended).then(|| Self::in_image(&head.image))?
    }

    /// The properties in the stale record of a header image.
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
