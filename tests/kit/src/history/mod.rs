//! Files after random histories, each kind of damage to them, and what recovery may promise then.

mod damage;
mod law;

pub use damage::{Damaged, damages};
pub use law::{Found, Ledger};

use striae_core::endian::ByteOrder;
use striae_core::sion::{Meta1, raw};

/// A physical file, and what its tasks wrote.
#[derive(Debug, Clone)]
pub struct History {
    pub what: String,
    pub bytes: Vec<u8>,
    /// Each stream at the last commit; all empty if there was none.
    pub committed: Vec<Vec<u8>>,
    /// What the last commit has, and what was written since, or tried to be.
    pub live: Vec<Vec<u8>>,
    /// What earlier writers wrote since the last commit, and left there.
    pub abandoned: Vec<Vec<Vec<u8>>>,
    /// Where META2 stood at any time: start_of_varheader and the end of the file.
    pub places: Vec<(u64, u64)>,
}

impl History {
    /// Notes that `what` made all that was written durable, in a file of these bytes.
    pub fn committed(&mut self, what: &str, bytes: &[u8]) {
        self.what.push_str(what);
        self.committed = self.live.clone();
        self.abandoned.clear();
        let facts = Facts::of(bytes);
        self.places.push((facts.start as u64, bytes.len() as u64));
    }
}

/// What a file says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Facts {
    pub order: ByteOrder,
    pub ntasks: usize,
    pub keyval: bool,
    /// Offset of the commit fields.
    pub fields: usize,
    /// Where the first chunk stands.
    pub first: usize,
    pub maxchunks: usize,
    pub start: usize,
}

impl Facts {
    pub fn of(bytes: &[u8]) -> Self {
        Self::try_of(bytes).unwrap()
    }

    /// `None` if META1 is not there.
    pub fn try_of(bytes: &[u8]) -> Option<Self> {
        let meta1 = Meta1::parse(bytes, bytes.len() as u64).ok()?;
        let fields = meta1.layout().commit_fields().offset() as usize;
        let keyval = meta1.keyval() == striae_core::sion::KeyvalMode::Inline;
        let (order, ntasks) = (meta1.order(), meta1.ntasks() as usize);
        let first = meta1.layout().first_chunk() as usize;
        let mut facts = Self { order, ntasks, keyval, fields, first, maxchunks: 0, start: 0 };
        facts.maxchunks = facts.i32_at(bytes, fields) as usize;
        facts.start = facts.i64_at(bytes, fields + 4) as usize;
        Some(facts)
    }

    fn i32_at(&self, bytes: &[u8], at: usize) -> i32 {
        let four = bytes[at..at + 4].try_into().unwrap();
        match self.order {
            ByteOrder::Little => i32::from_le_bytes(four),
            ByteOrder::Big => i32::from_be_bytes(four),
        }
    }

    pub fn i64_at(&self, bytes: &[u8], at: usize) -> i64 {
        let eight = bytes[at..at + 8].try_into().unwrap();
        match self.order {
            ByteOrder::Little => i64::from_le_bytes(eight),
            ByteOrder::Big => i64::from_be_bytes(eight),
        }
    }

    pub fn meta2_end(&self) -> usize {
        self.start + 8 * self.ntasks * (1 + self.maxchunks)
    }

    /// Where a seal stands behind META2, if there is one.
    pub fn is_sealed(&self, bytes: &[u8]) -> bool {
        let magic = &raw::SealTrailer::MAGIC;
        let behind = bytes.get(self.meta2_end()..).unwrap_or_default();
        self.start > 0 && behind.windows(magic.len()).any(|window| window == magic)
    }
}

/// Numbers that are the same in each run.
#[derive(Debug, Clone)]
pub struct Dice(pub u64);

impl Dice {
    pub fn number(&mut self) -> u64 {
        // splitmix64, public domain
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        (self.number() % end as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Bytes of data: random ones, ones that end in zeros, or zeros only.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..len).map(|_| (self.number() % 255) as u8 + 1).collect();
        match self.below(8) {
            0 => bytes.fill(0),
            1 => bytes[len / 2..].fill(0),
            _ => {}
        }
        bytes
    }
}

/// Numbers of histories that a test looks at: `few` of them, or all with `STRIAE_EXHAUSTIVE`; from
/// `STRIAE_SEED` on, or as many as `STRIAE_COUNT` says.
pub fn seeds(few: u64, all: u64) -> std::ops::Range<u64> {
    let number = |name| std::env::var(name).ok().map(|value| value.parse::<u64>().unwrap());
    let is_all = std::env::var_os("STRIAE_EXHAUSTIVE").is_some();
    let count = number("STRIAE_COUNT").unwrap_or(if is_all { all } else { few });
    let first = number("STRIAE_SEED").unwrap_or(0);
    first..first + count
}
