//! The evidence in a damaged file: header, commit record, shadow, and the index that is used.

use super::of_gsd::OfGsd;
use super::scan::{self, Block, Sought};
use super::{Certainty, Doubt, Proof};
use crate::gsd::verify::{Head, Judged, read_shadows, unproven};
use crate::gsd::{Basis, Failed, Stale, each_entry, each_window};
use crate::subject::{Subject, Sum, read};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::slice;
use striae_core::gsd::create::{OLD_SHADOW, SHADOW};
use striae_core::gsd::layout::{IndexBlock, MAX_PADDING, NameBlock};
use striae_core::gsd::raw::{self, IndexEntry};
use striae_core::gsd::{Record, Version};
use striae_core::integrity::{MAX_CORRECTED, crc32c, wrong_bit};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::usize_to_u64;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// The most entries that are taken from other index blocks than the chosen one.
const MAX_PATCHES: usize = 1 << 21;

/// The index that is used for recovery.
#[derive(Debug)]
pub(super) struct Index {
    /// The block, as far as it is inside the file.
    pub(super) block: IndexBlock,
    /// The number of entries that there are, or were.
    pub(super) entries: u64,
    /// Whether this number is known; otherwise the file ends there.
    is_counted: bool,
    /// Whether the first slot is the first slot of the block, and not of a part of it.
    pub(super) has_start: bool,
    /// Whether the last entries and the slot after them are as they were written.
    pub(super) has_end: bool,
    /// Entries that this block has lost and other blocks have.
    pub(super) patches: BTreeMap<u64, IndexEntry>,
    /// Slots at which no frame continues, because an older block ends there.
    pub(super) ends: BTreeSet<u64>,
    /// Whether nothing is left of the index that the header shows: this one may be from before a
    /// truncation.
    pub(super) is_unrelated: bool,
    /// Entries from this one on are proven.
    pub(super) proven_from: Option<u64>,
    /// Whether the commit of the file is a guess: a later commit may have truncated the file, and a
    /// shadow may be of a commit that was cut off.
    is_guess: bool,
    /// The state of its slots, if gsd has added to them and no checksum proves them.
    pub(super) of_gsd: Option<OfGsd>,
    /// Another doubt about entries, if they are not just as found.
    pub(super) doubt: Option<Doubt>,
}

/// The evidence in a file, without its frames.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) file_len: u64,
    pub(super) version: Version,
    pub(super) schema_version: Version,
    pub(super) application: String,
    pub(super) schema: String,
    pub(super) record: Option<Record>,
    /// The properties that frames had before gsd appended.
    pub(super) stale: Option<Stale>,
    /// The record with these properties.
    pub(super) stale_commit: Option<raw::Commit>,
    /// The name list that the header shows, as far as it is inside the file.
    pub(super) names: NameBlock,
    /// Whether the whole list is inside the file.
    pub(super) names_are_whole: bool,
    /// Other possible places of name lists.
    pub(super) more_names: Vec<NameBlock>,
    /// The number of slots that the header states, or the number of frames if the whole index shows
    /// that there are more.
    pub(super) allocated: u64,
    pub(super) index: Index,
}

/// The sound shadows at the places that do not depend on the header, the later one first.
fn known_shadows<S: Subject>(subject: &S, file_len: u64) -> Result<Vec<raw::Shadow>, Failed<S>> {
    for both in [SHADOW, OLD_SHADOW] {
        let mut shadows = read_shadows(subject, both, file_len)?;
        shadows.retain(|shadow| shadow.new.commit.shadow.get() == both);
        if !shadows.is_empty() {
            return Ok(shadows);
        }
    }
    Ok(Vec::new())
}

impl Evidence {
    /// Reads the header, the commit record and the shadows.
    pub(super) fn gather<S: Subject>(subject: &S) -> Result<Self, Failed<S>> {
        let file_len = subject.size().map_err(DriveError::Store)?;
        let judged = Judged::read(subject, file_len)?;
        let shadows = known_shadows(subject, file_len)?;
        let (raw, head) = match &judged {
            Ok(judged) => (judged.header, judged.head()),
            Err((_, raw)) => (*raw, None),
        };
        let head = match (head, shadows.first(), &judged) {
            (Some(head), ..) => head,
            // The header is lost, and a shadow has most of it.
            (None, Some(shadow), _) if file_len >= 256 => Head::of_image(&shadow.new, file_len),
            (None, _, Ok(_)) => {
                let image = raw::Image { gsd_version: guess_version(&raw).into(), ..raw.image() };
                Head::of_image(&image, file_len)
            }
            (None, _, Err((error, _))) => return Err(DriveError::Format(*error)),
        };
        // Of a lost header, texts that nothing confirms are not made up.
        let is_lost = raw.magic.get() != raw::Header::MAGIC
            && shadows
                .first()
                .is_some_and(|shadow| raw.ident_crc(crc32c) != shadow.new.commit.ident_crc.get());
        let labels = if is_lost { raw::Header::new_zeroed() } else { raw };
        let claimed = raw.namelist_allocated_entries.get();
        let images = shadows.iter().flat_map(|shadow| [&shadow.new, &shadow.old]);
        let more_names = images.map(|image| image.name_block()).collect();
        let mut index = Index::of_head(subject, &head)?;
        if let Some(record) = head.record {
            // What a later commit had was never durable, or is lost.
            index.is_counted &= unproven(subject, file_len, &record)?.is_none();
        }
        Ok(Self {
            file_len,
            version: head.version,
            schema_version: Version::from_number(labels.schema_version.get()),
            application: label(&labels.application),
            schema: label(&labels.schema),
            record: head.record,
            stale: Stale::in_image(&raw.image()).filter(|_| head.basis == Basis::Appended),
            stale_commit: judged.ok().and_then(|judged| judged.stale()),
            names: head.names,
            names_are_whole: claimed > 0 && head.names.units == claimed,
            more_names,
            allocated: head.allocated.max(index.frames(subject, file_len)?),
            index,
        })
    }

    /// Checks whether the index is whole, and searches for other blocks if it is not.
    pub(super) fn complete<S: Subject>(&mut self, subject: &S) -> Result<(), Failed<S>> {
        if self.prove(subject)? {
            return Ok(());
        }
        if self.record.is_none() && self.index.has_end && self.lacks_nothing(subject)? {
            return Ok(()); // nothing contradicts it
        }
        if self.correct(subject)? {
            return Ok(());
        }
        let sought = Sought {
            max_frames: self.max_frames(),
            is_sorted: self.version.is_sorted(),
            file_len: self.file_len,
        };
        let blocks = scan::find_blocks(subject, sought)?;
        self.take_blocks(subject, &blocks)?;
        if !self.prove(subject)? && self.index.doubt.is_none() && self.record.is_some() {
            self.index.doubt = Some(Doubt::Index);
        }
        Ok(())
    }

    /// The number of entries that were there and are lost, if known.
    pub(super) const fn lost_entries(&self) -> Option<u64> {
        match self.index.is_counted {
            true => Some(self.index.entries.saturating_sub(self.index.known())),
            false => None,
        }
    }

    /// An upper bound: all frame numbers are below this.
    pub(super) fn max_frames(&self) -> u64 {
        self.allocated.min(self.file_len).max(self.index.entries.min(self.file_len)).max(128)
    }

    /// Whether the commit record proves the entries.
    fn prove<S: Subject>(&mut self, subject: &S) -> Result<bool, Failed<S>> {
        let Some(record) = self.record else { return Ok(false) };
        if self.index.known() < record.entries {
            return Ok(false);
        }
        let (mut crc, checksum) = (0, subject.checksum(Sum::Crc32c));
        self.index.each_run(subject, record.crc_from..record.entries, |_, entries| {
            crc = checksum(crc, entries.as_bytes());
            Ok(true)
        })?;
        if crc == record.index_crc {
            self.index.proven_from = Some(record.crc_from);
            self.index.has_end = true;
        }
        Ok(crc == record.index_crc)
    }

    /// Whether every entry is plausible by itself.
    fn lacks_nothing<S: Subject>(&self, subject: &S) -> Result<bool, Failed<S>> {
        let mut is_whole = true;
        let mut before = 0;
        self.index.each(subject, 0..self.index.entries, |_, entry| {
            let entry = entry.filter(|entry| scan::is_plausible(entry, self.max_frames()));
            is_whole &= entry.is_some_and(|entry| entry.frame.get() >= before);
            before = entry.map_or(before, |entry| entry.frame.get());
            Ok(is_whole)
        })?;
        Ok(is_whole)
    }

    /// Corrects a single wrong bit of the index, if there is no other error.
    fn correct<S: Subject>(&mut self, subject: &S) -> Result<bool, Failed<S>> {
        let Some(record) = self.record else { return Ok(false) };
        let count = record.entries.saturating_sub(record.crc_from);
        let len = usize::try_from(count.saturating_mul(32)).unwrap_or(usize::MAX);
        if len > MAX_CORRECTED || self.index.known() < record.entries {
            return Ok(false);
        }
        let mut bytes = vec![0; len];
        read(subject, self.index.block.offset_of(record.crc_from), &mut bytes)?;
        let checksum = subject.checksum(Sum::Crc32c);
        let Some((at, bit)) = wrong_bit(&bytes, record.index_crc, checksum) else {
            return Ok(false);
        };
        bytes.get_mut(at).into_iter().for_each(|byte| *byte ^= bit);
        let entries = <[IndexEntry]>::ref_from_bytes(&bytes).unwrap_or_default();
        if let Some(entry) = entries.get(at / 32) {
            let slot = usize_to_u64(at / 32).saturating_add(record.crc_from);
            self.index.patches.insert(slot, *entry);
        }
        self.index.doubt = Some(Doubt::Corrected);
        self.index.has_end = true;
        Ok(true)
    }

    /// Chooses the block with most entries, and fills its gaps from the others.
    fn take_blocks<S: Subject>(&mut self, subject: &S, blocks: &[Block]) -> Result<(), Failed<S>> {
        let (present, shown) = (self.count_plausible(subject)?, self.index.block.location);
        let most = blocks.iter().max_by_key(|block| block.entries);
        if let Some(most) = most.filter(|block| block.entries > present) {
            let agrees = self.agrees(subject, most)?;
            if present == 0 || agrees {
                let old = self.index.block;
                // Where gsd's first block is, and where the header says that one is, one starts;
                // and all of striae's start at a sector.
                let is_start = [256, old.location].contains(&most.location)
                    || (self.record.is_some() && most.location % 512 == 0);
                self.index.has_start = agrees || is_start;
                self.index.block = IndexBlock { location: most.location, slots: most.entries };
                self.index.has_end = most.has_end;
                self.index.of_gsd = None;
                self.index.is_unrelated = present == 0;
                self.index.doubt = Some(Doubt::Superseded);
                if self.record.is_none() {
                    self.index.entries = self.index.entries.max(most.entries);
                }
                self.patch(subject, old)?;
            }
        }
        for block in blocks {
            if !self.agrees(subject, block)? {
                continue;
            }
            if block.has_end && block.location != shown {
                self.index.ends.insert(block.entries);
            }
            self.patch(subject, IndexBlock { location: block.location, slots: block.entries })?;
        }
        Ok(())
    }

    /// The number of slots from the first one on that hold plausible entries.
    fn count_plausible<S: Subject>(&self, subject: &S) -> Result<u64, Failed<S>> {
        let mut count = 0;
        self.index.each(subject, 0..self.index.known(), |_, entry| {
            let is_plausible = entry.is_some_and(|it| scan::is_plausible(it, self.max_frames()));
            count = if is_plausible { u64::saturating_add(count, 1) } else { count };
            Ok(true)
        })?;
        Ok(count)
    }

    /// Whether a block has equal entries where both have entries.
    fn agrees<S: Subject>(&self, subject: &S, block: &Block) -> Result<bool, Failed<S>> {
        let (mut same, mut others) = (0_u64, 0_u64);
        let other = IndexBlock { location: block.location, slots: block.entries };
        let slots = 0..self.index.known().min(block.entries).min(1 << 16);
        let mut theirs = Vec::new();
        each_entry(subject, other, slots.clone(), |_, entry| {
            theirs.push(*entry);
            Ok(true)
        })?;
        let mut theirs = theirs.iter();
        self.index.each(subject, slots, |_, ours| {
            let theirs = theirs.next();
            let ours = ours.filter(|entry| scan::is_plausible(entry, self.max_frames()));
            match ours.zip(theirs) {
                Some((ours, theirs)) if ours == theirs => same = same.saturating_add(1),
                Some(_) => others = others.saturating_add(1),
                None => {}
            }
            Ok(true)
        })?;
        // An entry that is damaged may look as if it could be right.
        Ok(same > 0 && others <= same / 8)
    }

    /// Takes entries from another block that the present one lacks.
    fn patch<S: Subject>(&mut self, subject: &S, other: IndexBlock) -> Result<(), Failed<S>> {
        let max_frames = self.max_frames();
        let mut found = Vec::new();
        let most = MAX_PATCHES.saturating_sub(self.index.patches.len()); // of all blocks
        let slots = 0..other.slots.min(self.index.entries);
        let index = &self.index;
        let mut lacking = Vec::new();
        index.each(subject, slots.clone(), |slot, entry| {
            if entry.is_none_or(|entry| !scan::is_plausible(entry, max_frames)) {
                lacking.push(slot);
            }
            Ok(lacking.len() < most)
        })?;
        for slot in lacking.into_iter().chain(index.known()..slots.end) {
            if found.len() >= most {
                break;
            }
            let mut entry = IndexEntry::new_zeroed();
            read(subject, other.offset_of(slot), entry.as_mut_bytes())?;
            if scan::is_plausible(&entry, max_frames) {
                found.push((slot, entry));
            }
        }
        self.index.patches.extend(found);
        Ok(())
    }
}

/// Guesses the version of a file whose version field is invalid. Files of layer 1 have room for 128
/// names, or twice as many, and so on; in others that is rare.
fn guess_version(raw: &raw::Header) -> u32 {
    let units = raw.namelist_allocated_entries.get();
    let is_first = units >= 128 && units.is_power_of_two();
    let version = if is_first { Version { major: 1, minor: 0 } } else { Version::LAYER };
    version.number()
}

/// The text before the first NUL, at most 63 bytes.
fn label(bytes: &[u8; 64]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    let mut text = String::from_utf8_lossy(text).into_owned();
    while text.len() > 63 {
        text.pop();
    }
    text
}

impl Index {
    /// The index that the header shows.
    fn of_head<S: Subject>(subject: &S, head: &Head) -> Result<Self, Failed<S>> {
        let mut index = Self {
            block: head.shown,
            entries: 0,
            is_counted: true,
            has_start: true,
            has_end: true,
            patches: BTreeMap::new(),
            ends: BTreeSet::new(),
            is_unrelated: false,
            proven_from: None,
            is_guess: head.wrong_bytes > 1,
            of_gsd: None,
            doubt: (head.basis == Basis::Damaged && head.record.is_none()).then_some(Doubt::Header),
        };
        if let Some(record) = head.record {
            index.entries = record.entries;
            index.block.slots = head.shown.slots.min(record.entries);
            index.has_end = record.entries <= head.shown.slots;
            // What gsd has appended since may be there, and only the header that is damaged tells.
            index.is_counted = head.basis != Basis::Damaged || head.file_len <= record.data_end;
            return Ok(index);
        }
        let used = OfGsd::look(subject, head)?;
        index.entries = used.end;
        index.block.slots = used.end;
        index.has_end = !used.has_stale && (used.end < used.slots || used.slots == head.allocated);
        index.has_end &= head.allocated > 0;
        index.is_counted = index.has_end && used.hole.is_none();
        index.of_gsd = Some(used);
        Ok(index)
    }

    /// The number of frames, if the index is in order: gsd allows more frames than slots. Numbers
    /// above the bytes of the file, or that no writer of striae takes, do not count.
    fn frames<S: Subject>(&self, subject: &S, file_len: u64) -> Result<u64, Failed<S>> {
        let (mut before, mut in_order) = (0, self.has_end);
        self.each(subject, 0..self.entries, |slot, entry| {
            let frame = entry.map_or(0, |entry| entry.frame.get());
            if frame < file_len && frame <= slot.saturating_add(MAX_PADDING) {
                in_order &= frame >= before;
                before = frame;
            }
            Ok(in_order)
        })?;
        Ok(if in_order { before.saturating_add(1) } else { 0 })
    }

    /// The number of slots of which anything is known, from the first one.
    pub(super) const fn known(&self) -> u64 {
        self.block.slots
    }

    /// The slot after the last one of which anything is known.
    pub(super) fn end(&self) -> u64 {
        let patched = self.patches.last_key_value().map_or(0, |(slot, _)| slot.saturating_add(1));
        self.block.slots.max(patched).min(self.entries)
    }

    /// Passes the entries in some slots to `each`, with patches; `None` for a missing entry.
    pub(super) fn each<S: Subject>(
        &self,
        subject: &S,
        slots: core::ops::Range<u64>,
        mut each: impl FnMut(u64, Option<&IndexEntry>) -> Result<bool, Failed<S>>,
    ) -> Result<(), Failed<S>> {
        self.each_run(subject, slots, |first, entries| {
            if entries.is_empty() {
                return each(first, None);
            }
            for (entry, slot) in entries.iter().zip(first..) {
                if !each(slot, Some(entry))? {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    /// Passes the entries in some slots to `each`, many at once, with the slot of the first; a
    /// patch and a missing entry alone, the latter as none.
    fn each_run<S: Subject>(
        &self,
        subject: &S,
        slots: core::ops::Range<u64>,
        mut each: impl FnMut(u64, &[IndexEntry]) -> Result<bool, Failed<S>>,
    ) -> Result<(), Failed<S>> {
        let in_block = slots.start..slots.end.min(self.block.slots);
        let mut go_on = true;
        each_window(subject, self.block, in_block, |first, mut entries| {
            let mut slot = first;
            let end = first.saturating_add(usize_to_u64(entries.len()));
            for (&patched, patch) in self.patches.range(first..end) {
                let before = usize::try_from(patched.saturating_sub(slot)).unwrap_or(usize::MAX);
                let (run, rest) = entries.split_at_checked(before).unwrap_or((entries, &[]));
                go_on = go_on && (run.is_empty() || each(slot, run)?);
                go_on = go_on && each(patched, slice::from_ref(patch))?;
                (slot, entries) = (patched.saturating_add(1), rest.get(1..).unwrap_or_default());
            }
            go_on = go_on && (entries.is_empty() || each(slot, entries)?);
            Ok(go_on)
        })?;
        let mut slot = slots.start.max(self.block.slots);
        while go_on && slot < slots.end.min(self.end()) {
            go_on = each(slot, self.patches.get(&slot).map_or(&[], slice::from_ref))?;
            slot = slot.saturating_add(1);
        }
        Ok(())
    }

    /// How certain the entries in these slots are, and why.
    pub(super) fn belief(&self, slots: core::ops::Range<u64>) -> Certainty {
        if self.is_guess {
            return Certainty::Guess(Doubt::Header);
        }
        if self.proven_from.is_some_and(|from| slots.start >= from) {
            return Certainty::AsFound(Proof::Committed);
        }
        let hole = self.of_gsd.and_then(|of_gsd| of_gsd.hole);
        let is_behind = hole.is_some_and(|hole| slots.start > hole);
        match (self.patches.range(slots).next(), self.doubt) {
            (None, None) if is_behind => Certainty::Guess(Doubt::Index),
            (_, Some(Doubt::Corrected)) => Certainty::Guess(Doubt::Corrected),
            (Some(_), _) => Certainty::Guess(Doubt::Superseded),
            (None, Some(doubt)) => Certainty::Guess(doubt),
            (None, None) => Certainty::AsFound(Proof::Shown),
        }
    }

    /// The bytes of all slots, used or not.
    pub(super) fn all(&self) -> Option<Span> {
        let slots = self.of_gsd.map_or(self.block.slots, |of_gsd| of_gsd.slots);
        IndexBlock { slots, ..self.block }.span()
    }

    /// The span of the index block, which chunks must not overlap.
    pub(super) fn span(&self) -> Span {
        self.block.span().unwrap_or(Span::ZERO)
    }
}
