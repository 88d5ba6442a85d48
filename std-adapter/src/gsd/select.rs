//! The chunks that addresses and patterns select.

use super::file::File;
use crate::address::{Pattern, Selection};
use crate::error::Error;
use crate::formats::Format;
use std::ops::Range;
use striae_core::gsd::Chunk;
use striae_hoomd::names::Name;
use striae_hoomd::room::Room;

impl File {
    /// The selection of these patterns in this file.
    ///
    /// # Errors
    /// [`crate::address::Error`] if a pattern does not fit the file.
    pub fn selection(&self, patterns: &[Pattern]) -> Result<Selection, Error> {
        let selection = Selection::new(patterns, Format::Gsd, self.frames());
        selection.map_err(|error| self.error(error))
    }

    /// Calls `each` with the chunks of these frames for which `has` returns `true`, frame by frame,
    /// in the order of the index.
    ///
    /// If a frame has several chunks of a name, only one of them is selected, which is also the one
    /// that [`find`](Self::find) finds: the last one in layer 1, the first one in layer 2.
    ///
    /// # Errors
    /// [`Shared`](striae_core::gsd::Error::Shared) if all chunks together are longer than the file;
    /// an error for an entry that is damaged or out of order; as
    /// [`check_names`](Self::check_names) and [`chunks_of_frames`](Self::chunks_of_frames); the
    /// errors of `each`.
    pub fn each_selected<E: From<Error>>(
        &self,
        frames: Range<u64>,
        mut has: impl FnMut(&Chunk, Name<'_>) -> bool,
        mut each: impl FnMut(Chunk) -> Result<(), E>,
    ) -> Result<(), E> {
        self.check_names()?;
        let names = self.names()?;
        let mut room = Room::new(self.head().file_len);
        let mut give = |frame: &mut OneFrame| {
            frame.chunks.drain(..).try_for_each(|chunk| {
                room.take(&chunk).map_err(|error| self.error(error))?;
                each(chunk)
            })
        };
        let mut one = OneFrame::new(names.len(), self.header().version.is_sorted());
        let mut before = 0;
        for chunk in self.chunks_of_frames(frames)? {
            let chunk = chunk?;
            if chunk.frame > before {
                give(&mut one)?;
            }
            before = chunk.frame;
            if names.get(chunk.id).is_some_and(|name| has(&chunk, name)) {
                one.put(chunk);
            }
        }
        give(&mut one)
    }
}

/// The selected chunks of a frame, one for each name.
struct OneFrame {
    chunks: Vec<Chunk>,
    /// For each name, the last frame that has it, and the place of its chunk in the list.
    places: Vec<Option<(u64, usize)>>,
    /// Whether the first chunk of a name counts, and not the last one.
    first: bool,
}

impl OneFrame {
    fn new(names: usize, first: bool) -> Self {
        Self { chunks: Vec::new(), places: vec![None; names], first }
    }

    fn put(&mut self, chunk: Chunk) {
        let Some(last) = self.places.get_mut(usize::from(chunk.id)) else { return };
        match last.filter(|&(frame, _)| frame == chunk.frame) {
            Some(_) if self.first => {}
            Some((_, place)) => {
                if let Some(old) = self.chunks.get_mut(place) {
                    *old = chunk;
                }
            }
            None => {
                *last = Some((chunk.frame, self.chunks.len()));
                self.chunks.push(chunk);
            }
        }
    }
}
