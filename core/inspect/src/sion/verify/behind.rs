//! The bytes after META2: a mapping, its size, or bytes that no reader reads.

use super::{Failed, FindingKind, Report};
use crate::subject::{WINDOW, read, read_windows};
use alloc::vec::Vec;
use striae_core::endian::{ByteOrder, I32};
use striae_core::sion::mapping::Mapping;
use striae_core::sion::{Error, Head, raw};
use striae_core::span::Span;
use striae_core::store::ReadAt;
use zerocopy::FromBytes;

/// The part of the format after META2.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Behind {
    /// Nothing.
    Nothing,
    /// `mapping_size` of a file that was written serially, which should be 0, without entries.
    Size(i32),
    /// The mapping.
    Mapping(Mapping),
    /// A damaged mapping in the first file of several.
    Wrong(Error),
}

/// Reads what follows META2 of the file that `head` was read from.
pub(crate) fn look_behind<S: ReadAt>(store: &S, head: &Head) -> Result<Behind, Failed<S>> {
    let Some(meta2) = head.meta2 else { return Ok(Behind::Nothing) };
    let left = Span::between(meta2.end(), head.file_len).map_or(0, Span::len);
    let mut bytes = [0; Mapping::HEAD_LEN];
    let len = usize::try_from(left).unwrap_or(usize::MAX).min(Mapping::HEAD_LEN);
    let bytes = bytes.get_mut(..len).unwrap_or_default();
    read(store, meta2.end(), bytes)?;

    let mapping = Mapping::parse(bytes, meta2.end(), head);
    if head.meta1.is_first_of_several() {
        return Ok(mapping.map_or_else(Behind::Wrong, Behind::Mapping));
    }
    if head.meta1.has_empty_mapping() {
        let size = I32::ref_from_bytes(bytes).ok().map(|size| size.get(head.meta1.order()));
        return Ok(size.map_or(Behind::Nothing, Behind::Size));
    }
    // The only file of a mapped writer has a mapping (sion_generic_mapped.c:1570), that of other
    // parallel writers has none, and nobody reads it: it is one if it makes sense.
    match mapping {
        Ok(mapping) if head.meta1.nfiles() == 1 && is_sensible(store, &mapping, head)? => {
            Ok(Behind::Mapping(mapping))
        }
        _ => Ok(Behind::Nothing),
    }
}

impl Behind {
    /// The end of the part of the file that readers read.
    pub(crate) fn end(&self, head: &Head) -> u64 {
        let end = head.meta2.map_or(0, |meta2| meta2.end());
        match self {
            Self::Nothing | Self::Wrong(_) => end,
            Self::Size(_) => end.saturating_add(head.meta1.mapping_len(0)),
            Self::Mapping(mapping) => mapping.end(),
        }
    }
}

/// Whether the mapping of a single file names each of its tasks at least once.
fn is_sensible<S: ReadAt>(store: &S, mapping: &Mapping, head: &Head) -> Result<bool, Failed<S>> {
    let ntasks = head.meta1.ntasks();
    if mapping.len() != u64::from(ntasks) {
        return Ok(false);
    }
    let mut all = true;
    each_entry(store, mapping, head.meta1.order(), |_, _, [file, lrank]| {
        all &= file == 0 && u32::try_from(lrank).is_ok_and(|lrank| lrank < ntasks);
    })?;
    Ok(all)
}

/// All entries of a mapping.
fn table_of(mapping: &Mapping) -> Span {
    let first = mapping.entry(0).unwrap_or(Span::ZERO);
    Span::of_table(first.offset(), mapping.len(), first.len()).unwrap_or(Span::ZERO) // in the file
}

/// Reads a mapping in windows: calls `each` with the index, the offset and the two fields of an
/// entry.
pub(super) fn each_entry<S: ReadAt>(
    store: &S,
    mapping: &Mapping,
    order: ByteOrder,
    mut each: impl FnMut(u64, u64, [i32; 2]),
) -> Result<(), Failed<S>> {
    let mut indices = 0..mapping.len();
    read_windows(store, table_of(mapping), WINDOW, &mut Vec::new(), |_, bytes| {
        let entries = <[raw::MappingEntry]>::ref_from_bytes(bytes).unwrap_or_default();
        for (entry, index) in entries.iter().zip(&mut indices) {
            let fields = [entry.filenumber, entry.lrank].map(|field| field.get(order));
            each(index, mapping.entry(index).map_or(0, Span::offset), fields);
        }
        Ok(true)
    })
}

/// Reports unusual or wrong bytes after META2. Entries of the mapping are checked later, when the
/// whole set is known. The part that is read ends at `end`, the end of the seal if there is one.
pub(super) fn check(
    behind: &Behind,
    head: &Head,
    end: u64,
    report: &mut Report<'_>,
) -> Option<Mapping> {
    let place = head.meta2.map_or(0, |meta2| meta2.end());
    let field = raw::MappingSize::mapping_size;
    match behind {
        Behind::Wrong(error) => {
            report.wrong(*error);
            return None; // what else stands there is the damaged mapping
        }
        Behind::Size(size) if *size != 0 => {
            report.unusual(field, place, size, "0 in a file that was written serially");
        }
        Behind::Nothing if head.meta1.has_empty_mapping() && head.meta1.filenumber().is_some() => {
            report.unusual(field, place, "not there", "0 in a file that was written serially");
        }
        _ => {}
    }
    if let Some(rest) = Span::between(end, head.file_len).filter(|rest| !rest.is_empty()) {
        report.add(FindingKind::Trailing { offset: end, len: rest.len() });
    }
    match behind {
        Behind::Mapping(mapping) if head.meta1.is_first_of_several() => Some(*mapping),
        _ => None,
    }
}
