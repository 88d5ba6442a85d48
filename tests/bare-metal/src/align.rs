//! Planning aligned reads and writes.

use crate::host::Text;
use crate::{Fail, entries};
use core::fmt::Write as _;
use striae_core::align::{Alignment, Error, Plan, Rules, Run, Split, Write};
use striae_core::span::Span;

fn rules(offset: u64, memory: u64, file_len: u64, max_io: u64) -> Result<Rules, Fail> {
    let length = Alignment::of(offset).length;
    let rules = Rules::new(Alignment { offset, length, memory }, file_len)?;
    Ok(rules.with_max_io(max_io)?.with_max_gap(max_io / 2))
}

fn sum(rules: &Rules) -> u64 {
    rules.unit() & rules.unaligned().unit()
        ^ rules.memory()
        ^ rules.granule()
        ^ rules.file_len()
        ^ rules.max_io()
        ^ rules.max_gap()
}

/// Requests out of any bytes: 16 of them each.
fn requests(bytes: &[u8], spans: &mut [Span]) -> usize {
    let mut count = 0;
    for (span, pair) in spans.iter_mut().zip(bytes.chunks_exact(16)) {
        let number = |at: usize| {
            let bytes = pair.get(at..).and_then(<[u8]>::first_chunk::<8>);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        *span = Span::new(number(0), number(8)).unwrap_or(Span::ZERO);
        count += 1;
    }
    count
}

entries! {
    fn gate_align_plan(bytes, offset: u64, memory: u64, file_len: u64, max_io: u64, number: u64) {
        let rules = rules(offset, memory, file_len, max_io)?;
        let (mut spans, mut runs) = ([Span::ZERO; 8], [Run::EMPTY; 8]);
        let count = requests(bytes, &mut spans);
        let spans = spans.get(..count).ok_or(Fail)?;
        let plan = Plan::new(spans, rules, &mut runs)?;
        let mut all = plan.len() ^ plan.bytes() ^ plan.room() ^ sum(plan.rules());
        all ^= u64::from(plan.is_empty());
        for read in plan.reads().take(1000) {
            all ^= read.span.end() ^ read.valid;
        }
        if let Some(read) = plan.read(number) {
            core::hint::black_box(read.rest(number, plan.rules()));
        }
        for &span in spans {
            all ^= plan.place(span).ok_or(Fail)?;
            let parts = plan.parts(span).ok_or(Fail)?;
            let sums = parts.map(|part| part.read ^ part.skip ^ part.at ^ part.len);
            all = sums.take(1000).fold(all, |all, sum| all ^ sum);
        }
        Ok(all)
    }

    fn gate_align_one(bytes, offset: u64, memory: u64, file_len: u64, max_io: u64, address: u64) {
        let rules = rules(offset, memory, file_len, max_io)?;
        let mut spans = [Span::ZERO; 8];
        let count = requests(bytes, &mut spans);
        for &span in spans.get(..count).unwrap_or_default() {
            core::hint::black_box(Split::new(span, address, &rules)?);
            core::hint::black_box(Write::new(span, &rules)?);
        }
        Ok(rules.up(address) ^ rules.down(address))
    }

    fn gate_text64_align_error(text, number: u64, which: u8) {
        let error = match which {
            0 => Error::Alignment { value: number, max: number },
            1 => Error::MaxIo { value: number, min: number },
            2 => Error::FileTooLong { file_len: number, max: number },
            3 => Error::BehindEnd { request: text.len(), end: number, file_len: number },
            _ => Error::Memory { need: text.len(), have: text.len() },
        };
        write!(Text, "{error}")?;
        Ok(number)
    }
}
