//! Kinds of bytes: one legend for the maps of all formats.

/// How a kind is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The name of the kind.
    pub name: &'static str,
    /// The letter of the kind in pictures without colours; see [`Kind::letter_of`].
    pub letter: char,
    /// Red, green and blue.
    pub colour: [u8; 3],
    /// What bytes of the kind are.
    pub description: &'static str,
}

/// A row for each kind: letter, name, colour, description.
macro_rules! kinds {
    ($($Kind:ident $letter:literal $name:literal $colour:tt $description:literal,)+) => {
        /// What bytes of a file are for. Kinds of metadata come first, the most important one at
        /// the front.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $(#[doc = concat!("`", $letter, "`: ", $description, ".")] $Kind,)+
        }

        impl Kind {
            /// All kinds, in order.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$Kind,)+];

            /// Number of kinds.
            pub const COUNT: usize = [$($letter,)+].len();

            /// How the kind is shown.
            #[must_use]
            pub const fn look(self) -> Look {
                let (name, letter, colour, description) = match self {
                    $(Self::$Kind => ($name, $letter, $colour, $description),)+
                };
                Look { name, letter, colour, description }
            }
        }
    };
}

// Colours that also readers tell apart who see no red, no green or no blue: "muted" of Paul Tol
// (Colour Schemes, SRON/EPS/TN/09-002, issue 3.2), "pear" of his scheme "light", and greys.
kinds! {
    Header 'H' "header" [0x88, 0x22, 0x55] "what the file is: fixed fields",
    Shadow 'S' "shadow" [0xcc, 0x66, 0x77] "copies of the header",
    Index 'I' "index" [0x33, 0x22, 0x88] "where data are",
    Lengths 'L' "lengths" [0x99, 0x99, 0x33] "how much of each chunk is used",
    Mapping 'M' "mapping" [0xaa, 0x44, 0x99] "which file has which task",
    Names 'N' "names" [0x11, 0x77, 0x33] "names of chunks",
    Checksums 'C' "checksums" [0x44, 0xaa, 0x99] "checksums, and seals of them",
    Free 'f' "free" [0xbb, 0xcc, 0x33] "slots of an index or room for names, not used yet",
    Data 'D' "data" [0x88, 0xcc, 0xee] "data",
    Records 'K' "records" [0xdd, 0xcc, 0x77] "keys, lengths and values of records",
    Room '-' "room" [0xdd, 0xdd, 0xdd] "unused rest of a chunk",
    Unclaimed 'o' "unclaimed" [0xbb, 0xbb, 0xbb] "nothing points to it: alignment, old tables",
    Tail '>' "tail" [0x66, 0x66, 0x66] "behind the end of all that is read",
    Hole '.' "hole" [0xff, 0xff, 0xff] "not used, and no bytes on the disk",
    Unknown '?' "unknown" [0, 0, 0] "nothing says what it is, or not rightly",
}

impl Kind {
    /// Whether the kind is metadata, not data of users.
    #[must_use]
    pub fn is_metadata(self) -> bool {
        self <= Self::Free
    }

    /// Whether its bytes are counted, and not estimated, if a map is of samples.
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.is_metadata() && self != Self::Checksums
    }

    /// Whether users wrote bytes of the kind.
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Records)
    }

    /// Whether no reader uses bytes of the kind.
    #[must_use]
    pub fn is_unread(self) -> bool {
        self >= Self::Room
    }

    /// The letter for bytes of this owner. Data of odd and even owners have different letters.
    #[must_use]
    pub const fn letter_of(self, owner: Option<u64>) -> char {
        let letter = self.look().letter;
        if self.is_data() && is_odd(owner) { letter.to_ascii_lowercase() } else { letter }
    }

    /// The colour for bytes of this owner. Data of odd owners is lighter.
    #[must_use]
    pub fn colour_of(self, owner: Option<u64>) -> [u8; 3] {
        let lighter = if self.is_data() && is_odd(owner) { 0x22 } else { 0 };
        self.look().colour.map(|part| part.saturating_add(lighter))
    }
}

const fn is_odd(owner: Option<u64>) -> bool {
    matches!(owner, Some(owner) if !owner.is_multiple_of(2))
}
