//! The header of a new file: that of the damaged one without its lost variables, with new numbers.

use crate::cdf::header::Header;
use crate::subject::part_of;
use alloc::vec::Vec;
use striae_core::cdf::layout::padded;
use striae_core::cdf::{Attr, Error};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// A variable of the new file: its number in the damaged one, and where its values begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct New {
    pub(super) number: usize,
    pub(super) begin: u64,
}

/// The length of the header with only these variables.
pub(super) fn len_of(old: &Header, is_kept: impl Iterator<Item = bool>) -> u64 {
    let variables = pieces(old).zip(is_kept).filter(|(_, is_kept)| *is_kept);
    let variables = variables.map(|(piece, _)| piece.len());
    variables.fold(old.head().vars.offset(), u64::saturating_add)
}

/// The header of a new file of `file_len` bytes. Padding is null, and every `vsize` is right.
pub(super) fn header_of(
    old: &Header,
    kept: &[New],
    numrecs: u64,
    file_len: u64,
) -> Result<Header, Error> {
    let (head, version) = (old.head(), old.version());
    let (non_neg, offset) = (version.non_neg_len(), version.offset_len());
    let mut all = old.bytes().to_vec();
    put(&mut all, 4, non_neg, numrecs);
    let list = head.vars.offset().saturating_sub(non_neg);
    put(&mut all, list, non_neg, usize_to_u64(kept.len()));
    if kept.is_empty() {
        put(&mut all, list.saturating_sub(4), 4, 0); // ABSENT
    }
    let names = old.dims.iter().map(|dim| dim.name);
    let attrs = old.attrs.iter().flat_map(|Attr { name, values, .. }| [*name, *values]);
    let names = names.chain(old.variables.iter().map(|known| known.var.name));
    for text in names.chain(attrs) {
        let pad = padded(text.len()).unwrap_or(0).saturating_sub(text.len());
        put(&mut all, text.end(), pad, 0);
    }
    for New { number, begin } in kept {
        let Some(known) = old.variables.get(*number) else { continue };
        let vsize = version.stored_vsize(known.first.len());
        put(&mut all, known.var.begin_at.saturating_sub(non_neg), non_neg, vsize);
        put(&mut all, known.var.begin_at, offset, *begin);
    }
    let pieces: Vec<Span> = pieces(old).collect();
    let before = Span::between(0, head.vars.offset());
    let kept = kept.iter().map(|new| pieces.get(new.number).copied());
    let mut bytes = Vec::new();
    for piece in [before].into_iter().chain(kept).flatten() {
        bytes.extend_from_slice(part_of(&all, piece).unwrap_or_default());
    }
    Header::of_file_start(bytes, file_len)
}

/// The bytes of each variable in the header.
fn pieces(old: &Header) -> impl Iterator<Item = Span> + '_ {
    let mut at = old.head().vars.offset();
    old.variables.iter().map(move |known| {
        let piece = Span::between(at, known.end).unwrap_or(Span::ZERO);
        at = known.end;
        piece
    })
}

/// Stores an integer of `len` bytes.
fn put(bytes: &mut [u8], at: u64, len: u64, value: u64) {
    let all = value.to_be_bytes();
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let len = usize::try_from(len).unwrap_or(0);
    let low = all.get(all.len().saturating_sub(len)..).unwrap_or_default();
    if let Some(field) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..len)) {
        field.copy_from_slice(low);
    }
}
