//! What addresses stand for in a set.

use super::file::{File, TaskEntry};
use crate::address::{self, Address, Index, Part, Pattern, Selection};
use crate::error::Error;
use crate::format::Format;
use std::collections::BTreeSet;
use striae_core::sion::KeyvalMode;

impl File {
    /// The task, and which part of it, that has this address.
    ///
    /// # Errors
    /// [`address::Error`]; as [`find_globalrank`](Self::find_globalrank).
    pub fn locate(&self, address: &Address) -> Result<(u64, Part), Error> {
        let at = |error: address::Error| Error::new(self.path(), error);
        match address.resolve(Format::Sion, self.ntasks()).map_err(at)? {
            Address::Task(Index::FromStart(task), part) => Ok((task, part)),
            Address::Rank(rank, part) => Ok((self.find_globalrank(rank)?, part)),
            // Never: all that is resolved in a set is one of these.
            other => {
                Err(at(address::Error::NotOf { address: other.to_string(), format: Format::Sion }))
            }
        }
    }

    /// What these stand for in this set.
    ///
    /// # Errors
    /// [`address::Error`].
    pub fn selection(&self, patterns: &[Pattern]) -> Result<Selection, Error> {
        let selection = Selection::new(patterns, Format::Sion, self.ntasks());
        selection.map_err(|error| Error::new(self.path(), error))
    }

    /// What is chosen of a task: all of it, keys, chunks of a set without keys, or nothing.
    ///
    /// # Errors
    /// As [`stream_of`](Self::stream_of); a damaged record.
    pub fn selected(&self, entry: &TaskEntry, chosen: &Selection) -> Result<Vec<Part>, Error> {
        let (task, rank) = (Index::FromStart(entry.task), entry.place.globalrank);
        // Both are looked at: that each of them was found is kept in mind.
        let has =
            |part| chosen.has(&Address::Task(task, part)) | chosen.has(&Address::Rank(rank, part));
        let mut parts = Vec::new();
        if has(Part::All) {
            parts.push(Part::All);
        }
        if chosen.has_parts() {
            let candidates = self.parts(entry)?;
            parts.extend(candidates.into_iter().filter(|&part| has(part)));
        }
        Ok(parts)
    }

    /// The keys of a task, each once, or the chunks in a set without keys.
    fn parts(&self, entry: &TaskEntry) -> Result<Vec<Part>, Error> {
        let mut stream = self.stream_of(entry)?; // refuses more chunks than fit into memory
        if self.keyval() != KeyvalMode::Inline {
            return Ok((0..entry.place.blockcount).map(Part::Chunk).collect());
        }
        let mut keys = BTreeSet::new();
        for record in stream.records()? {
            keys.insert(record.map_err(|error| error.of_task(entry.task))?.key);
        }
        Ok(keys.into_iter().map(Part::Key).collect())
    }
}
