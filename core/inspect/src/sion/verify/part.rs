//! Checks one physical file, from front to back.

use super::behind::{self, look_behind};
use super::fixed::Fixed;
use super::meta2::{Place, add_or_skip};
use super::{Failed, FindingKind, MAX_COMPARED_RANKS, Report, chunks, meta2, seal};
use crate::subject::{Subject, WINDOW, read, read_windows};
use alloc::vec::Vec;
use striae_core::endian::{ByteOrder, I64};
use striae_core::sion::layout::ENTRY_LEN;
use striae_core::sion::locate::ChunkSum;
use striae_core::sion::mapping::Mapping;
use striae_core::sion::verdict::Verdict;
use striae_core::sion::{Blocks, Error, Head, Meta1, Meta2, raw};
use striae_core::span::Span;
use striae_core::store::ReadAt;
use zerocopy::FromBytes;

/// The data of a physical file that the checks of the set need.
pub(super) struct Part {
    pub(super) fixed: Fixed,
    /// The parsed metadata; without META2 if that is damaged.
    pub(super) head: Head,
    /// Global ranks of its tasks; `None` if there are too many to keep.
    pub(super) ranks: Option<Vec<i64>>,
    pub(super) mapping: Option<Mapping>,
    /// The number of its last commit in the set; 0 if it was committed by itself.
    pub(super) set_number: u32,
    /// The identity of the set that its seal names; `None` without a sound seal.
    pub(super) identity: Option<u32>,
}

/// Checks the file in `store` by itself. `None` if not even its tasks are known. `kept` is the
/// number of global ranks of other files that are already kept.
pub(super) fn check<S: Subject>(
    store: &S,
    kept: u64,
    report: &mut Report<'_>,
) -> Result<Option<Part>, Failed<S>> {
    report.summary.files = report.summary.files.saturating_add(1);
    let fixed = Fixed::read(store)?;
    fixed.check(report);
    let Some(meta1) = fixed.meta1 else { return Ok(None) };
    report.summary.tasks = report.summary.tasks.saturating_add(meta1.ntasks().into());

    let ranks = global_ranks(store, &meta1, kept)?;
    let blocks = check_chunksizes(store, &meta1, report)?;
    let blocks = blocks.filter(|_| !fixed.is_wrong(raw::Meta1::fsblksize));
    let globalskip = blocks.map(|blocks| blocks.globalskip);
    let mut head = Head { file_len: fixed.file_len, meta1, meta2: None };
    head.meta2 = check_commit_fields(store, &head, blocks, report)?;

    let Some(meta2) = head.meta2 else {
        if let Some(seal) = seal::look_for_seal(store, &head, 0)? {
            seal::check(store, &head, &seal, report)?; // it may know where META2 is
        }
        return Ok(Some(Part { fixed, head, ranks, mapping: None, set_number: 0, identity: None }));
    };
    let behind = look_behind(store, &head)?;
    let end = behind.end(&head);
    let seal = seal::look_for_seal(store, &head, end)?;
    let end = seal.and_then(|seal| seal.end()).unwrap_or(end);
    let place = Place { head, meta2, globalskip, end };
    meta2::check(store, &place, report)?;
    let mapping = behind::check(&behind, &head, end, report);
    let sealed = seal.and_then(|seal| match seal.verdict() {
        Verdict::Current(seal) => Some(*seal.varheader()),
        _ => None,
    });
    let set_number = sealed.map_or(0, |sealed| sealed.set_number());
    let identity = sealed.map(|sealed| sealed.set_identity());
    if let Some(seal) = seal
        && let Some(varheader) = seal::check(store, &head, &seal, report)?
    {
        chunks::check(store, &place, varheader, report)?;
    }
    Ok(Some(Part { fixed, head, ranks, mapping, set_number, identity }))
}

/// Reads a table with one entry per task in windows: calls `each` with the offset and the value of
/// an entry.
pub(in super::super) fn each_entry<S: ReadAt>(
    store: &S,
    table: Span,
    order: ByteOrder,
    mut each: impl FnMut(u64, i64),
) -> Result<(), Failed<S>> {
    read_windows(store, table, WINDOW, &mut Vec::new(), |place, bytes| {
        let values = <[I64]>::ref_from_bytes(bytes).unwrap_or_default();
        for (number, value) in (0..).zip(values) {
            let entry = place.entry(number, ENTRY_LEN).unwrap_or(place);
            each(entry.offset(), value.get(order));
        }
        Ok(true)
    })
}

fn global_ranks<S: ReadAt>(
    store: &S,
    meta1: &Meta1,
    kept: u64,
) -> Result<Option<Vec<i64>>, Failed<S>> {
    let ntasks = u64::from(meta1.ntasks());
    if kept.saturating_add(ntasks) > MAX_COMPARED_RANKS {
        return Ok(None);
    }
    let mut ranks = Vec::with_capacity(usize::try_from(ntasks).unwrap_or(0));
    let table = meta1.layout().globalranks();
    each_entry(store, table, meta1.order(), |_, rank| ranks.push(rank))?;
    Ok(Some(ranks))
}

/// Returns the places of the blocks, if all chunk sizes are allowed.
fn check_chunksizes<S: ReadAt>(
    store: &S,
    meta1: &Meta1,
    report: &mut Report<'_>,
) -> Result<Option<Blocks>, Failed<S>> {
    let mut sum = ChunkSum::new(*meta1.layout());
    let mut is_right = true;
    each_entry(store, meta1.layout().chunksizes(), meta1.order(), |_, value| {
        if let Err(error) = add_or_skip(&mut sum, value) {
            report.wrong(error);
            is_right = false;
        }
    })?;
    Ok(is_right.then_some(sum.blocks()))
}

/// The place of META2 that the commit fields state, or what is wrong with them.
pub(in super::super) fn find_meta2<S: ReadAt>(
    store: &S,
    head: &Head,
) -> Result<Result<Meta2, Error>, Failed<S>> {
    let span = head.meta1.layout().commit_fields();
    let mut bytes = [0; 12];
    let left = Span::between(span.offset(), head.file_len).map_or(0, Span::len);
    let left = usize::try_from(left).unwrap_or(usize::MAX).min(12);
    let bytes = bytes.get_mut(..left).unwrap_or_default();
    read(store, span.offset(), bytes)?;
    let meta2 = Meta2::parse(bytes, &head.meta1, head.file_len);
    let offset = start_field(&head.meta1);
    Ok(meta2.and_then(|meta2| meta2.ok_or(Error::NotClosed { offset })))
}

/// The offset of the field with the place of META2.
pub(in super::super) fn start_field(meta1: &Meta1) -> u64 {
    let field = raw::CommitFields::start_of_varheader;
    meta1.layout().commit_fields().offset().saturating_add(field.offset().into())
}

/// Returns the place of META2, if it is in the file.
fn check_commit_fields<S: ReadAt>(
    store: &S,
    head: &Head,
    blocks: Option<Blocks>,
    report: &mut Report<'_>,
) -> Result<Option<Meta2>, Failed<S>> {
    let meta2 = match find_meta2(store, head)? {
        Ok(meta2) => meta2,
        Err(error) => {
            report.wrong(error);
            return Ok(None);
        }
    };
    // Where SIONlib puts it (sion_internal.c:843).
    if let Some(blocks) = blocks
        && let Some(usual) = blocks.end(meta2.maxchunks().into())
        && usual != meta2.start()
    {
        let offset = start_field(&head.meta1);
        let is_first = head.meta1.is_first_of_several();
        let span = Span::between(meta2.start(), meta2.end()).unwrap_or(Span::ZERO);
        if blocks.is_commit(meta2.maxchunks(), span, is_first) {
            let usual = format_args!(
                "{usual} when the file is closed, and the start of a sector after a block until then"
            );
            let field = raw::CommitFields::start_of_varheader;
            report.unusual(field, offset, meta2.start(), usual);
        } else {
            let (start, expected) = (meta2.start(), usual);
            report.add(FindingKind::Misplaced { offset, start, expected });
        }
    }
    Ok(Some(meta2))
}
