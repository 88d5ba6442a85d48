//! Laws of aligned reading and writing; their model is a set of bytes, and shares no code with
//! striae's.

mod exhaustive;
mod large;
mod reading;
mod short;
mod split;
mod write;

use proptest::prelude::ProptestConfig;
use striae_core::align::{Alignment, Rules};
use striae_core::span::Span;
use striae_kit::hosts::stride;

/// A slow host tries an eighth: plans know no bytes.
fn config(cases: u32) -> ProptestConfig {
    crate::config(cases / u32::try_from(stride(2)).unwrap())
}

fn span(offset: u64, len: u64) -> Span {
    Span::new(offset, len).unwrap()
}

fn rules(align: u64, file_len: u64) -> Rules {
    Rules::new(Alignment::of(align), file_len).unwrap()
}

#[test]
fn rules_say_what_no_device_can_ask_for() {
    use striae_core::align::Error;
    let new = |offset, length, memory, file_len| {
        Rules::new(Alignment { offset, length, memory }, file_len)
    };
    let max = 1 << 30;
    assert_eq!(new(0, 1, 1, 0), Err(Error::Alignment { value: 0, max }));
    assert_eq!(new(1, 3, 1, 0), Err(Error::Alignment { value: 3, max }));
    assert_eq!(new(1, 1, 1 << 31, 0), Err(Error::Alignment { value: 1 << 31, max }));
    let longest = i64::MAX as u64 - 511;
    assert_eq!(new(512, 512, 1, longest).map(|rules| rules.up(longest)), Ok(longest));
    let error = Error::FileTooLong { file_len: longest + 1, max: longest };
    assert_eq!(new(512, 512, 1, longest + 1), Err(error));
    let rules = new(512, 4096, 8192, 1).unwrap();
    assert_eq!((rules.unit(), rules.memory(), rules.granule()), (4096, 8192, 8192));
    assert_eq!(rules.with_max_io(8191), Err(Error::MaxIo { value: 8191, min: 8192 }));
    assert_eq!(rules.with_max_io(20_000).unwrap().max_io(), 16_384);
    assert_eq!(
        rules.with_max_io(8191).unwrap_err().to_string(),
        "reads of at most 8191 bytes, must be at least 8192 to be aligned"
    );
}
