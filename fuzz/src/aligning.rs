//! Plans, splits and writes for any requests.

use arbitrary::{Arbitrary, Unstructured};
use striae_core::align::{Alignment, Plan, Rules, Run, Write};
use striae_core::span::Span;
use striae_kit::aligned::{check_plan, check_split};

/// The input is rules and requests. What is refused must be wrong; all else is served as promised.
pub fn align_plan(data: &[u8]) {
    let mut input = Unstructured::new(data);
    while !input.is_empty() && one(&mut input).is_ok() {}
}

fn one(input: &mut Unstructured<'_>) -> arbitrary::Result<()> {
    let powers = <[u8; 3]>::arbitrary(input)?;
    let [offset, length, memory] = powers.map(|power| 1_u64 << (power % 17));
    let alignment = Alignment { offset, length, memory };
    // Short files and the longest ones; requests of a million reads would only take time.
    let room = i64::MAX as u64 - (1 << 18);
    let base = if input.arbitrary()? { room } else { 0 };
    let file_len = base + u64::from(u16::arbitrary(input)?);
    let rules = Rules::new(alignment, file_len).expect("all of it is possible");
    let max_io = u64::from(u16::arbitrary(input)?) + rules.granule();
    let rules = rules.with_max_io(max_io).expect("a granule or more");
    let rules = rules.with_max_gap(u64::from(u16::arbitrary(input)?));
    let mut requests = Vec::new();
    for _ in 0..input.int_in_range(0..=12)? {
        let (from, len) = <(u16, u16)>::arbitrary(input)?;
        let offset = base + u64::from(from);
        requests.extend(Span::new(offset, u64::from(len)));
    }
    let address = u64::arbitrary(input)?;
    let mut memory = vec![Run::EMPTY; requests.len()];
    let is_inside = requests.iter().all(|request| request.is_empty() || request.fits(file_len));
    assert_eq!(Plan::new(&requests, rules, &mut memory).is_ok(), is_inside);
    for &request in &requests {
        let write = Write::new(request, &rules).expect("it ends where files can");
        assert!(write.set_len.is_none_or(|len| len == file_len.max(request.end())));
    }
    requests.retain(|request| request.fits(file_len));
    check_plan(&requests, rules);
    for &request in &requests {
        check_split(request, address, &rules);
    }
    Ok(())
}
