//! A file may hold any bytes: it is read right, or the answer is an error that names what is wrong.
//!
//! What is expected here was computed by hand from `spec/sion.md` and the files' bytes, never by
//! the code under test.

mod cuts;
mod damage;
mod extremes;
mod flips;
mod work;

use striae_core::field::FieldId;
use striae_core::sion::raw::{
    BlockcountEntry, BlocksizeEntry, ChunksizeEntry, CommitFields, GlobalrankEntry, Ident,
    MappingEntry, MappingSize, Meta1, Meta1V2,
};
use striae_core::sion::{Error, Opened, Physical, Reader};
use striae_kit::everything::{Counted, Summary, read_everything, read_within_budget};
use striae_kit::golden_sets::{as_v2, golden_set};

/// A file, and what a person reads off its bytes.
#[derive(Debug, Clone)]
struct Specimen {
    name: &'static str,
    bytes: Vec<u8>,
    is_big: bool,
    version: i32,
    ntasks: u64,
    maxchunks: u64,
    varheader: u64,
    /// Entries of the mapping, if a reader looks there.
    mapping: Option<u64>,
}

fn golden(name: &str) -> Vec<u8> {
    golden_set(name).files.swap_remove(0)
}

fn specimens() -> Vec<Specimen> {
    let of = |name, is_big, ntasks, maxchunks, varheader, mapping| {
        let bytes = golden(name);
        Specimen { name, bytes, is_big, version: 5, ntasks, maxchunks, varheader, mapping }
    };
    let s02 = of("s02_three_unequal_noncontig", false, 3, 3, 7680, None);
    let v2 = Specimen { name: "v2 of s02", bytes: as_v2(&s02.bytes, 3), version: 2, ..s02.clone() };
    vec![
        s02,
        v2,
        of("c01_be_of_s02", true, 3, 3, 7680, None),
        of("s17_keyval_straddle", false, 2, 7, 8704, None),
        of("c03_be_of_s17_keyval", true, 2, 7, 8704, None),
        of("m05_np8_3files", false, 2, 2, 3584, Some(8)),
        of("s06_fsb1_packed", false, 4, 3, 1236, None),
    ]
}

impl Specimen {
    fn len(&self) -> u64 {
        u64::try_from(self.bytes.len()).unwrap()
    }

    /// Where the task tables start.
    fn tables(&self) -> u64 {
        if self.version == 2 { 1056 } else { 1076 }
    }

    fn commit(&self) -> u64 {
        self.tables() + 16 * self.ntasks
    }

    fn meta2_end(&self) -> u64 {
        self.varheader + 8 * self.ntasks * (1 + self.maxchunks)
    }

    fn with_i32(&self, at: u64, value: i32) -> Vec<u8> {
        self.with(at, &if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() })
    }

    fn with_i64(&self, at: u64, value: i64) -> Vec<u8> {
        self.with(at, &if self.is_big { value.to_be_bytes() } else { value.to_le_bytes() })
    }

    fn with(&self, at: u64, value: &[u8]) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        bytes[usize::try_from(at).unwrap()..][..value.len()].copy_from_slice(value);
        bytes
    }

    fn i64_at(&self, at: u64) -> i64 {
        let eight = self.bytes[usize::try_from(at).unwrap()..][..8].try_into().unwrap();
        if self.is_big { i64::from_be_bytes(eight) } else { i64::from_le_bytes(eight) }
    }

    fn whole(&self) -> Summary {
        let whole = read_within_budget(&self.bytes).unwrap();
        assert_eq!(whole.error(), None, "{}", self.name);
        whole
    }
}

/// The first thing that is wrong with a file, in the order in which it is read.
fn first_error(bytes: &[u8]) -> Option<Error> {
    match read_within_budget(bytes) {
        Ok(summary) => summary.error().or(summary.mapping.err()),
        Err(error) => Some(error),
    }
}

fn open(bytes: &[u8]) -> Opened<&[u8]> {
    Physical::open(bytes, &mut [0; 1076]).unwrap()
}
