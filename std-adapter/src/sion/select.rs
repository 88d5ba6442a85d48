//! What addresses stand for in a set.

use super::file::{File, TaskEntry};
use crate::address::{self, Address, Index, Part, Pattern, Selection};
use crate::error::Error;
use crate::formats::Format;
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
    /// [`address::Error`]; as [`locate`](Self::locate).
    pub fn selection(&self, patterns: &[Pattern]) -> Result<Selection, Error> {
        let located = |pattern: &Pattern| match pattern.address() {
            None => Ok(pattern.clone()),
            Some(address) => {
                let (task, part) = self.locate(address)?;
                Ok(Address::Task(Index::FromStart(task), part).into())
            }
        };
        let patterns = patterns.iter().map(located).collect::<Result<Vec<_>, Error>>()?;
        let selection = Selection::new(&patterns, Format::Sion, self.ntasks());
        let selection = selection.map_err(|error| Error::new(self.path(), error))?;
        Ok(selection.keyed(self.keyval() == KeyvalMode::Inline))
    }

    /// What is chosen of a task: all of it, chunks, keys, or nothing.
    ///
    /// # Errors
    /// [`NoChunk`](striae_core::sion::Error::NoChunk) or [`NoKey`](super::ErrorKind::NoKey) for an
    /// address of a part that the task does not have; as [`stream_of`](Self::stream_of); a damaged
    /// record.
    pub fn selected(&self, entry: &TaskEntry, chosen: &Selection) -> Result<Vec<Part>, Error> {
        let task = |part| Address::Task(Index::FromStart(entry.task), part);
        let rank = |part| Address::Rank(entry.place.globalrank, part);
        // Both are looked at: that each of them was found is kept in mind.
        let has = |part: &Part| chosen.has(&task(*part)) | chosen.has(&rank(*part));
        let mut parts = BTreeSet::from([Part::All]);
        for part in chosen.parts_of(entry.task) {
            match part {
                Part::All => {}
                Part::Chunk(chunk) => drop(self.stream_of(entry)?.chunk(chunk)?),
                Part::Key(key) => drop(self.value(entry.task, key)?),
            }
            parts.insert(part);
        }
        let names = [task(Part::All), rank(Part::All)];
        if chosen.lists_chunks(&names) {
            self.stream_of(entry)?; // refuses more chunks than fit into memory
            parts.extend((0..entry.place.blockcount).map(Part::Chunk));
        }
        if chosen.lists_keys(&names) {
            for record in self.stream_of(entry)?.records()? {
                let record = record.map_err(|error| error.of_task(entry.task))?;
                parts.insert(Part::Key(record.key));
            }
        }
        parts.retain(has);
        Ok(parts.into_iter().collect())
    }
}
