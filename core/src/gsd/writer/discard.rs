//! Giving up the present frame.

use super::{Slot, Writer};
use crate::store::WriteAt;

impl<S: WriteAt, B: AsMut<[Slot]>> Writer<S, B> {
    /// Gives up the chunks of the present frame: the writer is as after the last
    /// [`end_frame`](Self::end_frame) that succeeded.
    ///
    /// Frames that have ended stay, committed or not, and so do names that were added. What comes is
    /// written over the bytes of the chunks, unless a commit has made their place part of the file.
    /// Nothing is done to the store, so this cannot fail.
    pub fn discard_frame(&mut self) {
        self.discard_frame_with(|_, _| ());
    }

    /// As [`discard_frame`](Self::discard_frame); `forget` is told the offset from which on nothing in
    /// the store is needed any more. A store that keeps what it could not write may drop that, and its
    /// size may become less.
    pub fn discard_frame_with(&mut self, forget: impl FnOnce(&mut S, u64)) {
        let start = self.buffer.discard_open();
        let tail = &mut self.tail;
        if let Some(start) = start {
            tail.data_end = start.max(tail.blocks_end());
            tail.sums.lose(); // they have the bytes that were given up
        }
        forget(&mut self.store, tail.data_end);
        tail.store_len = self.store.size().unwrap_or(tail.store_len);
    }
}
