//! Kinds of bytes: one legend for the maps of all formats.

/// How a kind is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// The name of the kind.
    pub name: &'static str,
    /// The letter of the kind in pictures without colours; see [`Kind::letter_of`].
    pub letter: char,
    /// Red, green and blue, each a multiple of 51.
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

kinds! {
    Header 'H' "header" [204, 0, 0] "what the file is: fixed fields",
    Shadow 'S' "shadow" [255, 102, 102] "copies of the header",
    Index 'I' "index" [255, 153, 0] "where data are",
    Lengths 'L' "lengths" [204, 153, 51] "how much of each chunk is used",
    Mapping 'M' "mapping" [153, 51, 204] "which file has which task",
    Names 'N' "names" [204, 102, 204] "names of chunks",
    Checksums 'C' "checksums" [51, 153, 51] "checksums, and seals of them",
    Data 'D' "data" [51, 102, 204] "data",
    Records 'K' "records" [0, 153, 153] "keys, lengths and values of records",
    Room '-' "room" [153, 153, 153] "unused rest of a chunk",
    Unclaimed 'o' "unclaimed" [153, 153, 102] "nothing points to it: alignment, old tables",
    Tail '>' "tail" [102, 102, 102] "behind the end of all that is read",
    Hole '.' "hole" [255, 255, 255] "not used, and no bytes on the disk",
    Unknown '?' "unknown" [255, 255, 0] "nothing says what it is, or not rightly",
}

impl Kind {
    /// Whether the kind is metadata, not data of users.
    #[must_use]
    pub fn is_metadata(self) -> bool {
        self <= Self::Checksums
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

    /// The colour for bytes of this owner. Odd and even owners have different colours.
    #[must_use]
    pub fn colour_of(self, owner: Option<u64>) -> [u8; 3] {
        let lighter = if is_odd(owner) { 51 } else { 0 };
        self.look().colour.map(|part| part.saturating_add(lighter))
    }
}

const fn is_odd(owner: Option<u64>) -> bool {
    matches!(owner, Some(owner) if !owner.is_multiple_of(2))
}
