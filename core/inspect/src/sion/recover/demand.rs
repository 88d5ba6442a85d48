//! How long the new file becomes.

use super::anew;
use super::part::Part;
use crate::size::Demand;

impl Part {
    /// The new file with all chunks in their places, if it can have them; the old one exists as far
    /// as it is long, because its holes stay holes.
    pub(super) fn demand(&self, entries: u64) -> Option<Demand> {
        let head = self.remains.head();
        let rows = u32::try_from(self.maxchunks()).ok()?;
        let places = (&head.meta1, self.remains.blocks());
        let size = anew::end_of(places, (entries, self.is_sealed()), rows).ok()?;
        Some(Demand { size, existing: head.file_len, own: anew::tables_len(self, entries)? })
    }

    /// The new file with each stream placed anew.
    pub(super) fn demand_anew(&self, entries: u64) -> Option<Demand> {
        let size = anew::end(self, entries).ok()?;
        let own = anew::tables_len(self, entries)?;
        Some(Demand { size, existing: self.remains.head().file_len, own })
    }

    /// Whether the chunks keep their places in the new file.
    pub(super) fn keeps_places(&self, entries: u64, max_size: Option<u64>) -> bool {
        let is_fair = |demand: Demand| demand.size <= max_size.unwrap_or(demand.limit());
        !self.is_copy && self.demand(entries).is_some_and(is_fair)
    }
}
