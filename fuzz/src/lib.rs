//! What the fuzz targets of striae do with their input, as plain functions.
//!
//! A body takes any bytes and panics if striae breaks a promise. The targets in `fuzz_targets` hand
//! libFuzzer's inputs to them; `tests/tests/all/fuzz_replay.rs` hands them the saved seeds, and
//! mutations of these, in an ordinary test run.
#![forbid(unsafe_code)]
#![warn(missing_docs, missing_debug_implementations, unreachable_pub)]

/// The program of a target: what its engine calls for each input, and to make others of it.
///
/// Its target is a constant: a program that looked for it in [`TARGETS`] would hold all of them,
/// and an engine looks at the counters of all that a program holds after each input.
#[macro_export]
macro_rules! target {
    ($name:ident) => {
        const TARGET: $crate::Target = $crate::Target::named(stringify!($name));

        #[cfg(feature = "libfuzzer")]
        libfuzzer_sys::fuzz_target!(|data: &[u8]| (TARGET.body)(data));

        #[cfg(feature = "libfuzzer")]
        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            let plain = libfuzzer_sys::fuzzer_mutate;
            $crate::mutate::by_engine(TARGET.input, data, size, max_size, seed, plain)
        });

        #[cfg(feature = "libfuzzer")]
        libfuzzer_sys::fuzz_crossover!(|data1: &[u8], data2: &[u8], out: &mut [u8], seed: u32| {
            $crate::mutate::cross_by_engine(TARGET.input, data1, data2, out, seed)
        });

        /// What LeakSanitizer does not report. A thread that has done its work may still be leaving
        /// when an input has ended: then nothing points to the list of what it drops at its end.
        #[cfg(feature = "libfuzzer")]
        #[unsafe(no_mangle)]
        extern "C" fn __lsan_default_suppressions() -> *const core::ffi::c_char {
            c"leak:__cxa_thread_atexit_impl".as_ptr()
        }

        #[cfg(feature = "afl")]
        fn main() {
            afl::fuzz!(|data: &[u8]| (TARGET.body)(data));
        }
    };
}

mod aligning;
mod blob_opening;
mod blob_verifying;
pub mod bounded;
mod c_gsd_calling;
mod c_sion_calling;
mod converting;
mod gsd_appending;
pub mod gsd_file;
pub mod gsd_held;
mod gsd_inspecting;
pub mod gsd_linear;
mod gsd_opening;
pub mod gsd_scenario;
mod gsd_writing;
pub mod held;
pub mod hoomd_plain;
mod hoomd_reading;
mod inspecting;
mod mapping;
pub mod model;
pub mod mutate;
mod plain;
pub mod powered;
mod reopening;
mod writing;

pub use aligning::align_plan;
pub use blob_opening::blob_open;
pub use blob_verifying::blob_verify;
pub use c_gsd_calling::c_gsd;
pub use c_sion_calling::c_sion;
pub use converting::sion_convert;
pub use gsd_appending::gsd_append;
pub use gsd_inspecting::{gsd_recover, gsd_verify};
pub use gsd_opening::gsd_open;
pub use gsd_writing::gsd_write;
pub use hoomd_reading::hoomd_read;
pub use inspecting::{ffrecord_verify, sion_recover, sion_verify};
pub use plain::{blob_plain, cdf_plain, ffrecord_plain, gsd_plain};
pub use plain::{hdf5_plain, hoomd_plain, map_plain, sion_plain};
pub use reopening::sion_reopen;
pub use striae_kit::cdf_opening::cdf_open;
pub use striae_kit::cdf_writing::cdf_write;
pub use striae_kit::ffrecord_opening::ffrecord_open;
pub use striae_kit::hdf5_opening::hdf5_open;
pub use writing::sion_write;

use arbitrary::{Arbitrary, Unstructured};
use mutate::Input;
use striae_core::endian::ByteOrder;
use striae_core::sion::position::Ends;
use striae_core::sion::{Chunks, Error, Record, Records, Stream};
use striae_core::step::DriveError;
use striae_kit::cdf_verifying;
use striae_kit::everything::{parse_records, read_set, read_within_budget};
use striae_kit::sion_file::{SionFile, SionTask};

/// A fuzz target by its name.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// Name of the target, and of the folder of its seeds.
    pub name: &'static str,
    /// Its body.
    pub body: fn(&[u8]),
    /// What its inputs are, if mutations can know that.
    pub input: Option<Input>,
}

impl Target {
    /// A target with inputs of a kind.
    const fn of(name: &'static str, body: fn(&[u8]), input: Input) -> Self {
        Self { name, body, input: Some(input) }
    }

    /// A target whose inputs are choices.
    const fn any(name: &'static str, body: fn(&[u8])) -> Self {
        Self { name, body, input: None }
    }

    /// The target with this name. Panics if there is none.
    #[must_use]
    pub const fn named(name: &str) -> Self {
        let mut rest = TARGETS;
        while let [target, others @ ..] = rest {
            if is_same(target.name.as_bytes(), name.as_bytes()) {
                return *target;
            }
            rest = others;
        }
        panic!("no target has this name")
    }
}

/// Whether names are equal: `==` is not for constants.
const fn is_same(mut one: &[u8], mut other: &[u8]) -> bool {
    while let ([a, others_of_one @ ..], [b, others_of_other @ ..]) = (one, other) {
        if *a != *b {
            return false;
        }
        (one, other) = (others_of_one, others_of_other);
    }
    one.is_empty() && other.is_empty()
}

/// The body of `cdf_verify`: what is found in any bytes, what is saved of them, and their fields.
pub fn cdf_verify(data: &[u8]) {
    cdf_verifying::cdf_verify(data);
    mapping::check_dump(data, |each| striae_inspect::cdf::dump(&data, each).is_ok());
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target::of("sion_open", sion_open, mutate::SION),
    Target::any("sion_keyval", sion_keyval),
    Target::of("sion_set", sion_set, mutate::SION_SET),
    Target::any("sion_write", sion_write),
    Target::of("sion_reopen", sion_reopen, mutate::SION),
    Target::of("sion_convert", sion_convert, mutate::SION),
    Target::of("sion_verify", sion_verify, mutate::SION_SET),
    Target::of("sion_recover", sion_recover, mutate::SION),
    Target::of("gsd_open", gsd_open, mutate::GSD),
    Target::of("gsd_recover", gsd_recover, mutate::GSD),
    Target::of("gsd_verify", gsd_verify, mutate::GSD),
    Target::any("gsd_write", gsd_write),
    Target::of("gsd_append", gsd_append, mutate::GSD),
    Target::of("hoomd_read", hoomd_read, mutate::GSD),
    Target::any("align_plan", align_plan),
    Target::of("ffrecord_open", ffrecord_open, mutate::FFRECORD),
    Target::of("ffrecord_verify", ffrecord_verify, mutate::FFRECORD),
    Target::of("blob_open", blob_open, mutate::BLOB),
    Target::of("blob_verify", blob_verify, mutate::BLOB_SET),
    Target::of("cdf_open", cdf_open, mutate::CDF),
    Target::any("cdf_write", cdf_write),
    Target::of("cdf_verify", cdf_verify, mutate::CDF),
    Target::of("hdf5_open", hdf5_open, mutate::HDF5),
    Target::of("map_text", map_text, mutate::MAP),
    Target::any("c_gsd", c_gsd),
    Target::any("c_sion", c_sion),
    Target::of("sion_plain", sion_plain, mutate::SION),
    Target::of("gsd_plain", gsd_plain, mutate::GSD),
    Target::of("hoomd_plain", hoomd_plain, mutate::GSD),
    Target::of("blob_plain", blob_plain, mutate::BLOB),
    Target::of("cdf_plain", cdf_plain, mutate::CDF),
    Target::of("hdf5_plain", hdf5_plain, mutate::HDF5),
    Target::of("ffrecord_plain", ffrecord_plain, mutate::FFRECORD),
    Target::of("map_plain", map_plain, mutate::MAP),
];

/// The input is a text map: what is read of it, and what is written and saved of it.
pub fn map_text(data: &[u8]) {
    striae_kit::map_texts::map_text(data);
    striae_kit::map_making::made_of_map(data);
    striae_kit::map_making::saved_of_map(data);
}

/// The input is a physical SIONlib file.
pub fn sion_open(data: &[u8]) {
    if let Err(error) = read_within_budget(data) {
        assert!(!error.to_string().contains('\n'));
    }
}

/// The input is a set of one to four physical files: their number less 1 in two bits, a
/// little-endian 16-bit length for each but the last, then the files.
pub fn sion_set(data: &[u8]) {
    if let Some(files) = split_set(data) {
        read_set(&files);
    }
}

/// The physical files of an input of [`sion_set`].
fn split_set(data: &[u8]) -> Option<Vec<&[u8]>> {
    let (&first, mut rest) = data.split_first()?;
    let mut lens = Vec::new();
    for _ in 0..first & 3 {
        let (len, behind) = rest.split_first_chunk()?;
        lens.push(usize::from(u16::from_le_bytes(*len)));
        rest = behind;
    }
    let mut files = Vec::new();
    for len in lens {
        let (file, behind) = rest.split_at(len.min(rest.len()));
        files.push(file);
        rest = behind;
    }
    files.push(rest);
    Some(files)
}

/// A stream of key-value records in chunks.
#[derive(Debug, Clone, Default)]
struct Keyval {
    big_endian: bool,
    /// Bytes used of each chunk.
    lens: Vec<usize>,
    bytes: Vec<u8>,
}

impl<'a> Arbitrary<'a> for Keyval {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let mut keyval = Self { big_endian: u.arbitrary()?, ..Self::default() };
        let chunks = u.int_in_range(0..=12)?;
        for _ in 0..chunks {
            // SIONlib splits headers at any byte, so small chunks are of interest
            keyval.lens.push(u.int_in_range(0..=40)?);
        }
        let order = SionFile { big_endian: keyval.big_endian, ..SionFile::default() };
        while !u.is_empty() {
            let what: u8 = u.arbitrary()?;
            match what {
                // a record that is right, of a few keys so that they repeat
                0..=191 => {
                    let value = u.bytes(usize::from(what % 24).min(u.len()))?;
                    let len = u64::try_from(value.len()).unwrap();
                    let header = order.record_header(u64::from(what % 5), len);
                    keyval.bytes.extend_from_slice(&header);
                    keyval.bytes.extend_from_slice(value);
                }
                // a header of any numbers
                192..=223 => {
                    let header = order.record_header(u.arbitrary()?, u.arbitrary()?);
                    keyval.bytes.extend_from_slice(&header);
                }
                // any bytes
                _ => keyval.bytes.extend_from_slice(u.bytes(usize::from(what % 32).min(u.len()))?),
            }
        }
        Ok(keyval)
    }
}

/// The input tells chunk sizes and the bytes of a key-value stream; see `Keyval`.
pub fn sion_keyval(data: &[u8]) {
    let Ok(mut keyval) = Keyval::arbitrary(&mut Unstructured::new(data)) else { return };
    let used: usize = keyval.lens.iter().sum();
    keyval.lens.push(keyval.bytes.len().saturating_sub(used)); // the last chunk takes the rest
    let chunksize = keyval.lens.iter().copied().max().unwrap_or(0);

    let mut rest = keyval.bytes.as_slice();
    let chunks = keyval.lens.iter().map(|&len| {
        let (chunk, behind) = rest.split_at(len.min(rest.len()));
        rest = behind;
        chunk.to_vec()
    });
    let task = SionTask {
        globalrank: 0,
        chunksize: u64::try_from(chunksize).unwrap(),
        chunks: chunks.collect(),
    };
    let file = SionFile {
        big_endian: keyval.big_endian,
        fsblksize: 1,
        flag1: 51 << 32,
        tasks: vec![task],
        ..SionFile::default()
    };
    let order = if keyval.big_endian { ByteOrder::Big } else { ByteOrder::Little };
    let summary = read_within_budget(&file.bytes()).unwrap();
    let Ok(Ok(task)) = summary.tasks.as_ref().map(|tasks| &tasks[0]) else {
        panic!("a sound file was refused: {summary:?}");
    };
    let (records, error) = task.records.as_ref().unwrap();
    assert_eq!(task.stream, keyval.bytes);
    assert_eq!(*records, parse_records(&keyval.bytes, order).0);
    assert_eq!((records.clone(), *error), records_in_memory(&file, order));
}

/// The records of the first task, with the lengths of its chunks in memory.
fn records_in_memory(file: &SionFile, order: ByteOrder) -> (Vec<Record>, Option<Error>) {
    let (bytes, places) = (file.bytes(), file.places());
    let chunks = Chunks {
        start: places.starts[0],
        chunksize: places.sizes[0],
        globalskip: Some(places.globalskip),
    };
    let ends: Vec<u64> = file.tasks[0]
        .chunks
        .iter()
        .scan(0, |end, chunk| {
            *end += u64::try_from(chunk.len()).unwrap();
            Some(*end)
        })
        .collect();
    let mut stream = Stream::new(bytes.as_slice(), chunks, Ends::new(ends).unwrap());
    let (mut records, mut error) = (Vec::new(), None);
    for record in Records::new(&mut stream, order).unwrap() {
        match record {
            Ok(record) => records.push(record),
            Err(DriveError::Format(wrong)) => error = Some(wrong),
            Err(other) => panic!("{other:?}"),
        }
    }
    (records, error)
}
