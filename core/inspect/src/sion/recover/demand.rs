//! How long the new file becomes.

use super::anew;
use super::part::Part;
use crate::size::Demand;

impl Part {
    /// The new file with all chunks in their places, if it can have them.
    pub(super) fn demand(&self, entries: u64) -> Option<Demand> {
        let rows = u32::try_from(self.maxchunks()).ok()?;
        let places = (&self.remains.head().meta1, self.remains.blocks());
        let size = anew::end_of(places, (entries, self.is_sealed()), rows).ok()?;
        self.demand_of(size, entries)
    }

    /// The new file with each stream placed anew.
    pub(super) fn demand_anew(&self, entries: u64) -> Option<Demand> {
        self.demand_of(anew::end(self, entries).ok()?, entries)
    }

    /// A new file of this size. The holes of the old one stay holes, so they count once for the
    /// length of the new one, and justify no tables.
    fn demand_of(&self, size: u64, entries: u64) -> Option<Demand> {
        let holes = self.remains.head().file_len.saturating_sub(self.stored);
        let own = anew::tables_len(self, (entries, false), 1)?.saturating_add(holes);
        Some(Demand { size, existing: self.stored, own })
    }

    /// The bytes of META1, META2 and what belongs to it in the new file.
    pub(super) fn tables(&self, entries: u64, max_size: Option<u64>) -> u64 {
        let keeps_places = self.keeps_places(entries, max_size);
        let rows = if keeps_places { self.maxchunks() } else { 1 };
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        anew::tables_len(self, (entries, self.is_sealed()), rows).unwrap_or(u64::MAX)
    }

    /// Whether the chunks keep their places in the new file.
    pub(super) fn keeps_places(&self, entries: u64, max_size: Option<u64>) -> bool {
        let is_fair = |demand: Demand| demand.size <= max_size.unwrap_or(demand.limit());
        !self.is_copy && self.demand(entries).is_some_and(is_fair)
    }
}
