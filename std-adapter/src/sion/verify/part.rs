//! One physical file, from front to back.

use super::behind::{self, look_behind};
use super::fixed::Fixed;
use super::{Failed, FindingKind, MAX_COMPARED_RANKS, Report, chunks, meta2, read, seal};
use crate::posix::PosixFile;
use crate::store::bulk::{self, Bulk};
use striae_core::endian::{ByteOrder, I64};
use striae_core::sion::layout::ENTRY_LEN;
use striae_core::sion::locate::ChunkSum;
use striae_core::sion::mapping::Mapping;
use striae_core::sion::{Blocks, Head, Meta1, Meta2, raw};
use striae_core::span::Span;
use zerocopy::FromBytes;

/// What the checks of the set need to know of a physical file.
pub(super) struct Part {
    pub(super) fixed: Fixed,
    /// What is known of it; without META2 if that is damaged.
    pub(super) head: Head,
    /// Global ranks of its tasks; `None` if they are too many to be kept.
    pub(super) ranks: Option<Vec<i64>>,
    pub(super) mapping: Option<Mapping>,
}

/// Checks the file in `bulk`, as if it were alone. `None` if not even its tasks are known. `kept`
/// is how many global ranks of other files are kept already.
pub(super) fn check(
    bulk: &Bulk,
    kept: u64,
    report: &mut Report<'_>,
) -> Result<Option<Part>, Failed> {
    let store: &PosixFile = bulk.file();
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

    let mut mapping = None;
    if head.meta2.is_some() {
        let behind = look_behind(store, &head)?;
        let end = behind.end(&head);
        let seal = seal::look_for_seal(store, &head, end)?;
        let end = seal.and_then(|seal| seal.end()).unwrap_or(end);
        let place = meta2::Place { head, globalskip, end };
        meta2::check(store, &place, report)?;
        mapping = behind::check(&behind, &head, end, report);
        if let Some(seal) = seal {
            if let Some(varheader) = seal::check(store, &head, &seal, report)? {
                chunks::check(bulk, &place, varheader, report)?;
            }
        }
    } else if let Some(seal) = seal::look_for_seal(store, &head, 0)? {
        seal::check(store, &head, &seal, report)?; // it may know where META2 is
    }
    Ok(Some(Part { fixed, head, ranks, mapping }))
}

/// Reads a table with one entry a task in windows: calls `each` with an entry's offset and value.
pub(super) fn each_entry(
    store: &PosixFile,
    table: Span,
    order: ByteOrder,
    mut each: impl FnMut(u64, i64),
) -> Result<(), Failed> {
    bulk::read_windows(store, table, bulk::WINDOW, &mut Vec::new(), |place, bytes| {
        let values = <[I64]>::ref_from_bytes(bytes).unwrap_or_default();
        for (number, value) in (0..).zip(values) {
            let entry = place.entry(number, ENTRY_LEN).unwrap_or(place);
            each(entry.offset(), value.get(order));
        }
        Ok(true)
    })
}

fn global_ranks(store: &PosixFile, meta1: &Meta1, kept: u64) -> Result<Option<Vec<i64>>, Failed> {
    let ntasks = u64::from(meta1.ntasks());
    if kept.saturating_add(ntasks) > MAX_COMPARED_RANKS {
        return Ok(None);
    }
    let mut ranks = Vec::with_capacity(usize::try_from(ntasks).unwrap_or(0));
    let table = meta1.layout().globalranks();
    each_entry(store, table, meta1.order(), |_, rank| ranks.push(rank))?;
    Ok(Some(ranks))
}

/// Returns where blocks are, if all chunk sizes are right.
fn check_chunksizes(
    store: &PosixFile,
    meta1: &Meta1,
    report: &mut Report<'_>,
) -> Result<Option<Blocks>, Failed> {
    let mut sum = ChunkSum::new(*meta1.layout());
    let mut is_right = true;
    each_entry(store, meta1.layout().chunksizes(), meta1.order(), |_, value| {
        if let Err(error) = sum.add(value) {
            report.wrong(error);
            is_right = false;
            skip_task(&mut sum);
        }
    })?;
    Ok(is_right.then_some(sum.blocks()))
}

/// Goes on behind a task whose chunk size is wrong.
pub(super) fn skip_task(sum: &mut ChunkSum) {
    let _added = sum.add(0); // a chunk of no bytes fits anywhere
}

/// Returns where META2 is, if it is in the file.
fn check_commit_fields(
    store: &PosixFile,
    head: &Head,
    blocks: Option<Blocks>,
    report: &mut Report<'_>,
) -> Result<Option<Meta2>, Failed> {
    let (meta1, file_len) = (&head.meta1, head.file_len);
    let span = meta1.layout().commit_fields();
    let mut bytes = [0; 12];
    let left = Span::between(span.offset(), file_len).map_or(0, Span::len);
    let left = usize::try_from(left).unwrap_or(usize::MAX).min(12);
    let bytes = bytes.get_mut(..left).unwrap_or_default();
    read(store, span.offset(), bytes)?;

    let field = raw::CommitFields::start_of_varheader;
    let offset = span.offset().saturating_add(field.offset().into());
    let meta2 = match Meta2::parse(bytes, meta1, file_len) {
        Ok(Some(meta2)) => meta2,
        Ok(None) => {
            report.damage(FindingKind::NotClosed { offset });
            return Ok(None);
        }
        Err(error) => {
            report.wrong(error);
            return Ok(None);
        }
    };
    // Where SIONlib would put it (sion_internal.c:843); it may be elsewhere.
    if let Some(usual) = blocks.and_then(|blocks| blocks.end(meta2.maxchunks().into())) {
        if usual != meta2.start() {
            let usual = format_args!("{usual} when the file is closed, and anywhere until then");
            report.unusual(field, offset, meta2.start(), usual);
        }
    }
    Ok(Some(meta2))
}
