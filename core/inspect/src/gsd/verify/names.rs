//! Checks the name list.

use super::Report;
use super::head::{Head, compare};
use crate::gsd::Failed;
use crate::gsd::finding::FindingKind;
use crate::report::Cases;
use crate::subject::{Subject, Sum, read_pieces};
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use sha2::{Digest, Sha256};
use striae_core::gsd::layout::MAX_NAMES;
use striae_core::gsd::raw::Commit;
use striae_core::gsd::{Error, checksums};
use striae_core::span::Span;
use striae_core::store::usize_to_u64;

/// The most bytes of a name that are checked as text.
const TEXT: usize = 1 << 16;

/// The names of a file, as far as they are kept.
pub(super) struct Names {
    /// The start of each name.
    starts: Vec<u64>,
    /// Whether chunks use each name.
    used: Vec<bool>,
    /// The id of [`checksums::NAME`].
    pub(super) sums: Option<u16>,
}

impl Names {
    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.starts.len()).unwrap_or(u32::MAX)
    }

    /// Records that a chunk has this name.
    pub(super) fn is_used(&mut self, id: u16) {
        if let Some(used) = self.used.get_mut(usize::from(id)) {
            *used = true;
        }
    }

    /// Reports names that no chunk uses.
    pub(super) fn report_unused(&self, report: &mut Report<'_>) {
        // Not the other way round: after 65535 names there is no other id.
        let mut unused = self.used.iter().zip(0..).filter(|(used, _)| !**used);
        if let Some((_, id)) = unused.next() {
            let offset = self.starts.get(usize::from(id)).copied().unwrap_or(0);
            let count = usize_to_u64(unused.count()).saturating_add(1);
            report.add(FindingKind::NamesUnused { offset, id, count });
        }
    }
}

/// Reads the list byte by byte.
struct List<'r, 'a> {
    report: &'r mut Report<'a>,
    is_packed: bool,
    /// Offset of the next byte.
    at: u64,
    start: u64,
    /// The end of the committed names, if there is a commit record.
    end: Option<u64>,
    /// The byte before the next one.
    before: u8,
    /// The present name so far, at most [`TEXT`] bytes.
    name: Vec<u8>,
    /// Its fingerprint so far.
    print: Sha256,
    /// Its length, with the bytes after its NUL in layer 1.
    len: u64,
    /// Whether its NUL was seen, in layer 1.
    is_done: bool,
    is_ended: bool,
    /// Bytes after the names or after a NUL that are not zero.
    junk: Cases<u64>,
    starts: Vec<u64>,
    sums: Option<u16>,
    /// A fingerprint of all bytes of each name, which cannot be forged.
    seen: BTreeMap<[u8; 16], u16>,
}

impl List<'_, '_> {
    fn take(&mut self, byte: u8) {
        let at = self.at;
        self.at = at.saturating_add(1);
        let before = core::mem::replace(&mut self.before, byte);
        if self.end == Some(at) {
            if self.len > 0 {
                // Readers do not look for the rest of the name behind it.
                self.report
                    .wrong(Error::NotTerminated { offset: at.saturating_sub(1), value: before });
            }
            self.is_ended = self.len == 0;
        }
        if self.is_ended {
            return self.junk(at, byte);
        }
        if self.len == 0 {
            self.name.clear();
            self.print = Sha256::new();
            self.start = at;
            self.is_done = false;
            if byte == 0 {
                self.is_ended = true;
                return;
            }
        }
        self.len = self.len.saturating_add(1);
        match byte {
            _ if self.is_done => self.junk(at, byte),
            0 => self.is_done = true,
            _ if self.name.len() < TEXT => self.name.push(byte),
            _ => self.print.update([byte]),
        }
        let is_end = if self.is_packed { self.is_done } else { self.len == 64 };
        if is_end {
            self.finish();
        }
    }

    fn junk(&mut self, at: u64, byte: u8) {
        if byte != 0 {
            self.junk.add(at);
        }
    }

    /// Ends the present name.
    fn finish(&mut self) {
        let id = u16::try_from(self.starts.len()).unwrap_or(u16::MAX);
        let (offset, is_cut) = (self.start, self.name.len() >= 63 && !self.is_packed);
        if !self.is_done {
            self.report.add(FindingKind::NameNotTerminated { offset, id });
        }
        match core::str::from_utf8(&self.name) {
            // The whole name was too long to keep.
            Err(error) if error.error_len().is_none() && self.name.len() == TEXT => {}
            Err(_) => {
                let name = self.name.clone().into_boxed_slice();
                // gsd's layer 1 cuts names, also inside a character.
                self.report.add(match is_cut {
                    true => FindingKind::NameCut { offset, id, name },
                    false => FindingKind::NameNotText { offset, id, name },
                });
            }
            Ok(_) => {}
        }
        let print = self.print.clone().chain_update(self.len.to_le_bytes());
        let print = print.chain_update(&self.name);
        let print = *print.finalize().first_chunk().unwrap_or(&[0; 16]);
        match self.seen.get(&print) {
            Some(&first) => self.report.add(FindingKind::NameRepeated { offset, id, first }),
            None => {
                self.seen.insert(print, id);
            }
        }
        if self.name == checksums::NAME && self.sums.is_none() {
            self.sums = Some(id);
        }
        self.starts.push(offset);
        self.len = 0;
        self.is_ended = usize_to_u64(self.starts.len()) == u64::from(MAX_NAMES);
    }
}

pub(super) fn check<S: Subject>(
    subject: &S,
    head: &Head,
    report: &mut Report<'_>,
) -> Result<Names, Failed<S>> {
    let span = head.names.span().unwrap_or(Span::ZERO);
    let record = head.record;
    let end = record.map(|record| span.offset().saturating_add(record.names_len.into()));
    let mut list = List {
        report,
        is_packed: head.version.is_sorted(),
        at: span.offset(),
        start: 0,
        end,
        before: 0,
        name: Vec::new(),
        print: Sha256::new(),
        len: 0,
        is_done: false,
        is_ended: false,
        junk: Cases::NONE,
        starts: Vec::new(),
        sums: None,
        seen: BTreeMap::new(),
    };
    let (mut last, mut crc, checksum) = (0, 0, subject.checksum(Sum::Crc32c));
    read_pieces(subject, span, &mut Vec::new(), &mut |bytes| {
        let skip = end.map_or(0, |end| end.saturating_sub(list.at));
        let covered = bytes.get(..usize::try_from(skip).unwrap_or(usize::MAX)).unwrap_or(bytes);
        crc = checksum(crc, covered);
        bytes.iter().for_each(|&byte| list.take(byte));
        last = bytes.last().copied().unwrap_or(last);
        true
    })?;
    let (starts, sums, junk) = (list.starts, list.sums, list.junk);
    if last != 0 {
        let offset = span.end().saturating_sub(1);
        report.wrong(Error::NotTerminated { offset, value: last });
    }
    report.cases(junk, |offset, count| FindingKind::NameJunk { offset, count });
    let names = Names { used: vec![false; starts.len()], starts, sums };
    if let Some(record) = record {
        compare(Commit::names_crc, record.names_crc, crc, report);
        if names.len() != record.names {
            report.add(FindingKind::Differs {
                field: Commit::names,
                offset: 232,
                value: record.names.into(),
                expected: names.len().into(),
                by: "as the name list has",
            });
        }
    }
    report.summary.names = names.len();
    Ok(names)
}
