//! Commits: they make the written bytes part of the file.

use super::desk::{Desk, Failure, SMALL};
use super::tail::{Stands, Tail};
use crate::exact::Exact;
use crate::gsd::disk::shadow::Added;
use crate::gsd::error::Error;
use crate::gsd::layout::IndexBlock;
use crate::gsd::raw::{Image, Shadow};
use crate::integrity::Checksum;
use crate::span::Span;
#[twin(WriteAt)]
use crate::store::WriteAt;
use striae_twin::twin;
use zerocopy::FromZeros;

#[twin(WriteAt)]
impl<S: WriteAt> Desk<'_, S, S::Error> {
    /// Makes all ended frames durable and visible. It takes two syncs, or one
    /// ([`Attributes::one_sync`](crate::gsd::Attributes::one_sync)), and none if nothing is new.
    /// The first commit always syncs the state that was found.
    pub(super) async fn commit(&mut self) -> Result<(), Failure> {
        self.settle().await?;
        self.spill().await?;
        let tail = &*self.tail;
        let names = if tail.is_adopted { tail.image.commit.names.get() } else { tail.names_count };
        if tail.entries != tail.committed || names != tail.names_count {
            return self.publish_all().await;
        }
        match tail.stands {
            // The program that left this state may have been killed before its sync. A commit
            // promises durability.
            Stands::Found => self.make_durable().await,
            Stands::Written | Stands::Durable => Ok(()),
        }
    }

    /// Writes the entries of ended frames after the entries of the index.
    pub(super) async fn spill(&mut self) -> Result<(), Failure> {
        let Some(last) = self.waiting.last_ended() else { return Ok(()) };
        self.settle().await?;
        self.free_slots().await?;
        let slots = self.tail.entries.exact_add(self.waiting.counts.ended_len());
        if slots > self.tail.usable_slots() {
            self.move_index(slots).await?;
        }
        let entries = self.waiting.ended();
        self.disk.write(self.tail.index.slot(self.tail.entries), entries).await?;
        self.tail.add_entries(entries, self.checksum);
        self.tail.index_frames = last.saturating_add(1);
        self.waiting.drop_ended();
        Ok(())
    }

    /// Publishes all entries of the index and all names.
    pub(super) async fn publish_all(&mut self) -> Result<(), Failure> {
        self.free_slots().await?;
        self.pad().await?;
        self.publish(self.tail.entries).await
    }

    /// Fills the index with copies of its last entry, up to the number that it must have.
    #[inline(never)] // its memory is not in use while a commit is published
    pub(super) async fn pad(&mut self) -> Result<(), Failure> {
        let want = self.tail.padded();
        if want == self.tail.entries || self.tail.entries == 0 {
            return Ok(());
        }
        if want > self.tail.usable_slots() {
            self.move_index(want).await?;
        }
        self.copy_entries().await?;
        let mut last = [0; 32];
        self.disk.read(self.tail.index.slot(self.tail.entries.exact_sub(1)), &mut last).await?;
        let copies = [last; SMALL / 32];
        while self.tail.entries < want {
            let left = usize::try_from(want.exact_sub(self.tail.entries)).unwrap_or(SMALL);
            let part = copies.get(..left).unwrap_or(&copies).as_flattened();
            self.disk.write(self.tail.index.slot(self.tail.entries), part).await?;
            self.tail.add_entries(part, self.checksum);
        }
        Ok(())
    }

    /// Publishes the first `shown` entries of the index, and all names.
    #[inline(never)]
    pub(super) async fn publish(&mut self, shown: u64) -> Result<(), Failure> {
        self.show_nothing(shown).await?;
        self.copy_entries().await?;
        self.clear_behind_names().await?;
        self.reserve(self.tail.data_end).await?;
        let mut shadow = Shadow::new_zeroed();
        self.disk.check(self.tail.fill_shadow(&mut shadow, shown, self.checksum))?;
        self.replace_header(&shadow).await?;
        self.tail.committed = shown;
        Ok(())
    }

    /// Clears the slots that a header without entries shows: the last ones, so that the others stay
    /// free.
    #[inline(never)]
    async fn show_nothing(&mut self, shown: u64) -> Result<(), Failure> {
        if shown > 0 || self.tail.shows_empty_slots() {
            return Ok(());
        }
        if self.tail.index.last(self.tail.shown_slots).is_none() {
            self.move_index(self.tail.shown_slots.exact_mul(2)).await?;
        }
        let last = self.tail.index.last(self.tail.shown_slots).unwrap_or(self.tail.index);
        self.disk.write_zeros(last.exact_span()).await
    }

    /// Replaces the header's image: after a crash, the header is the old or the new one.
    ///
    /// The shadow is written first and made durable together with all bytes that the new header
    /// refers to. The header is then written in the order of its bytes, so that a torn header is
    /// the start of the new one and the rest of the old one. The shadow tells this state from any
    /// other.
    #[inline(never)]
    async fn replace_header(&mut self, shadow: &Shadow) -> Result<(), Failure> {
        self.disk.prepare(shadow).await?;
        // From here on the header may be the new one, even after an error.
        let is_of_one_sync = shadow.added_crc.get() != 0;
        (self.tail.image, self.tail.is_torn) = (shadow.new, true);
        self.tail.stands = if is_of_one_sync { Stands::Written } else { Stands::Durable };
        self.tail.begin_sums();
        self.disk.show(&shadow.new).await?;
        // After a commit of one sync, the next commit makes the header durable; until then the
        // shadow proves the commit.
        match is_of_one_sync {
            true => self.disk.order().await?,
            false => self.disk.sync().await?,
        }
        self.tail.is_torn = false;
        Ok(())
    }

    /// Completes a publication that was interrupted while the header was written.
    pub(super) async fn settle(&mut self) -> Result<(), Failure> {
        if self.tail.is_torn_before {
            self.settle_before().await?;
        }
        if self.tail.is_torn {
            self.disk.complete(&self.tail.image).await?;
            (self.tail.is_torn, self.tail.stands) = (false, Stands::Durable);
            self.tail.committed = self.tail.image.commit.entries.get();
        }
        Ok(())
    }

    /// Completes the publication of the previous commit. Without this, the header could be a front
    /// of the last commit's and parts of two others, which no shadow explains.
    #[cold]
    #[inline(never)]
    async fn settle_before(&mut self) -> Result<(), Failure> {
        let commit = &self.tail.image.commit;
        let before = commit.sequence.get().wrapping_sub(1);
        let place = Span::exact(Shadow::offset_of(commit.shadow.get(), before), Shadow::LEN);
        let mut small = [0; SMALL];
        let shadow = Shadow::parse(self.disk.read_front(place, &mut [], &mut small).await?);
        let before = self.disk.check(shadow.ok_or_else(|| self.tail.image.crc_error()))?;
        self.disk.complete(&before.new).await?;
        self.tail.is_torn_before = false;
        Ok(())
    }

    /// Cuts the store at the end of the file: a failed or discarded chunk may have left bytes after
    /// it.
    pub(super) async fn cut(&mut self) -> Result<(), Failure> {
        let is_longer = self.tail.is_adopted && self.tail.store_len > self.tail.data_end;
        if is_longer || self.tail.stands == Stands::Written {
            self.make_durable().await?; // an older header may use the bytes that are cut off
        }
        if is_longer {
            self.cut_store().await?;
        }
        Ok(())
    }

    pub(super) async fn cut_store(&mut self) -> Result<(), Failure> {
        self.set_store_len(self.tail.data_end).await?;
        self.disk.sync().await
    }
}

impl Tail {
    /// Whether the header shows the last slots of the index, or all of them.
    fn shows_empty_slots(&self) -> bool {
        let shown = self.image.index();
        self.index.last(shown.slots) == Some(shown) || self.index == shown
    }

    /// Fills the shadow of the commit that shows the first `entries` entries.
    #[inline(never)]
    fn fill_shadow(
        &self,
        shadow: &mut Shadow,
        entries: u64,
        checksum: Checksum,
    ) -> Result<(), Error> {
        let commit = &self.image.commit;
        let place = (self.data_end, commit.shadow.get(), commit.sequence.get().wrapping_add(1));
        shadow.old.copy_from(&self.image);
        shadow.new.copy_from(&self.image);
        self.show(&mut shadow.new, self.shown_block(entries));
        self.put_record(&mut shadow.new, entries, place, checksum)?;
        let crc = self.sums.added_crc(self.data_end, checksum);
        let is_proof = crc != 0 && Added::between(&shadow.old, &shadow.new).is_some();
        shadow.seal(if is_proof { crc } else { 0 }, checksum);
        Ok(())
    }

    /// Makes the header show the blocks of the next commit.
    fn show(&self, image: &mut Image, shown: IndexBlock) {
        image.index_location = shown.location.into();
        image.index_allocated_entries = shown.slots.into();
        image.namelist_location = self.names.location.into();
        image.namelist_allocated_entries = self.names.units.into();
        image.gsd_version = self.version.number().into();
    }

    fn shown_block(&self, entries: u64) -> IndexBlock {
        let shown = self.image.index();
        match entries {
            0 if self.shows_empty_slots() => shown,
            0 => self.index.last(self.shown_slots).unwrap_or(shown),
            slots => IndexBlock { slots, ..self.index },
        }
    }
}
