//! Kinds of bytes, whatever the format: the one legend of all maps.

/// What bytes of a file are for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// What the file is, in fixed places.
    Header,
    /// Copies of a header.
    Shadow,
    /// Where data are.
    Index,
    /// How much of each place is used.
    Lengths,
    /// Which file has which task.
    Mapping,
    /// Names of data.
    Names,
    /// Checksums.
    Checksums,
    /// Data of users.
    Data,
    /// Data of users, in records with keys.
    Records,
    /// Room that nothing uses, for more data of an owner.
    Room,
    /// What nothing points to.
    Unclaimed,
    /// What follows all that is read.
    Tail,
    /// As [`Kind::Room`], [`Kind::Unclaimed`], [`Kind::Tail`] or [`Kind::Unknown`], and not stored.
    Hole,
    /// What nothing says anything of that could be right.
    Unknown,
}

/// How a kind is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Its name.
    pub name: &'static str,
    /// What stands for it where there are no colours; see [`Kind::letter_of`].
    pub letter: char,
    /// Red, green and blue, each a multiple of 51.
    pub colour: [u8; 3],
    /// What bytes of it are.
    pub description: &'static str,
}

impl Kind {
    /// Number of kinds.
    pub const COUNT: usize = 14;

    /// All of them: metadata first, and of these the most important one first.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Header,
        Self::Shadow,
        Self::Index,
        Self::Lengths,
        Self::Mapping,
        Self::Names,
        Self::Checksums,
        Self::Data,
        Self::Records,
        Self::Room,
        Self::Unclaimed,
        Self::Tail,
        Self::Hole,
        Self::Unknown,
    ];

    /// How it is shown.
    #[must_use]
    pub const fn look(self) -> Look {
        let (name, letter, colour, description) = match self {
            Self::Header => ("header", 'H', [204, 0, 0], "what the file is: fixed fields"),
            Self::Shadow => ("shadow", 'S', [255, 102, 102], "copies of the header"),
            Self::Index => ("index", 'I', [255, 153, 0], "where data are"),
            Self::Lengths => ("lengths", 'L', [204, 153, 51], "how much of each chunk is used"),
            Self::Mapping => ("mapping", 'M', [153, 51, 204], "which file has which task"),
            Self::Names => ("names", 'N', [204, 102, 204], "names of chunks"),
            Self::Checksums => ("checksums", 'C', [51, 153, 51], "checksums, and seals of them"),
            Self::Data => ("data", 'D', [51, 102, 204], "data"),
            Self::Records => ("records", 'K', [0, 153, 153], "keys, lengths and values of records"),
            Self::Room => ("room", '-', [153, 153, 153], "unused rest of a chunk"),
            Self::Unclaimed => {
                ("unclaimed", 'o', [153, 153, 102], "nothing points to it: alignment, old tables")
            }
            Self::Tail => ("tail", '>', [102, 102, 102], "behind the end of all that is read"),
            Self::Hole => ("hole", '.', [255, 255, 255], "not used, and no bytes on the disk"),
            Self::Unknown => {
                ("unknown", '?', [255, 255, 0], "nothing says what it is, or not rightly")
            }
        };
        Look { name, letter, colour, description }
    }

    /// Whether it is about the file, and not of users.
    #[must_use]
    pub fn is_metadata(self) -> bool {
        self <= Self::Checksums
    }

    /// Whether it is what users wrote.
    #[must_use]
    pub const fn is_data(self) -> bool {
        matches!(self, Self::Data | Self::Records)
    }

    /// Whether no reader of the file looks at it.
    #[must_use]
    pub fn is_unread(self) -> bool {
        self >= Self::Room
    }

    /// The letter of what has this owner: those of data of neighbours differ.
    #[must_use]
    pub const fn letter_of(self, owner: Option<u64>) -> char {
        let letter = self.look().letter;
        if self.is_data() && is_odd(owner) { letter.to_ascii_lowercase() } else { letter }
    }

    /// The colour of what has this owner: those of neighbours differ.
    #[must_use]
    pub fn colour_of(self, owner: Option<u64>) -> [u8; 3] {
        let lighter = if is_odd(owner) { 51 } else { 0 };
        self.look().colour.map(|part| part.saturating_add(lighter))
    }
}

const fn is_odd(owner: Option<u64>) -> bool {
    matches!(owner, Some(owner) if !owner.is_multiple_of(2))
}
