//! Opening a log, and making one in a blank store.

use super::desk::Desk;
use super::fault::Fault;
#[twin(FixedError)]
use super::fault::FixedError;
use super::form::Form;
use super::log::Log;
use crate::gsd::disk::record::Record;
use crate::gsd::raw::{Header, Image, IndexEntry};
use crate::gsd::verdict::{Judge, Kind};
use crate::gsd::write::create::{Create, OLD_SHADOW, SHADOW};
use crate::gsd::write::medium::PIECE;
use crate::integrity::crc32c;
use crate::span::Span;
use crate::step::DriveError;
#[twin(WriteAt)]
use crate::store::WriteAt;
use crate::store::usize_to_u64;
use striae_twin::twin;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

/// What is in a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// No GSD file.
    None,
    /// The log, as its last commit left it. Who made that commit may have had no time for its sync.
    Whole,
    /// The log. Its header must be written again.
    Torn,
    /// The log. The sector of its header is erased, and all of the header must be written again.
    Erased,
}

/// The judge of a log.
type OwnJudge = Judge<false, true>;

const HEADER_LEN: usize = size_of::<Header>();

// Each in a function of its own, so that its part of the stack is free before the next one.
#[twin(WriteAt, FixedError)]
impl<S: WriteAt, F: Form, const N: usize> Desk<S, F, N> {
    /// Opens the file, or makes one in a blank store.
    pub(super) async fn begin(&mut self) -> Result<(), FixedError<S>> {
        let store_len = self.disk.size().await?;
        match self.find(store_len).await? {
            Found::None => self.make(store_len).await,
            Found::Whole => self.disk.sync().await,
            Found::Torn => self.settle().await,
            Found::Erased => self.restore().await,
        }
    }

    /// Finds the log in a store of `store_len` bytes.
    #[inline(never)]
    async fn find(&mut self, store_len: u64) -> Result<Found, FixedError<S>> {
        let mut judge = OwnJudge::unasked(&Image::new_zeroed(), store_len);
        let mut bytes = [0; HEADER_LEN];
        self.disk.find_proof(store_len, &mut bytes, &mut judge.image).await?;
        let front = Span::exact(0, store_len).front_of(&mut bytes);
        self.disk.read(0, front).await?;
        let found = self.log.see_header(front, &mut judge)?;
        if found == Found::None {
            return Ok(found);
        }
        while let Some(read) = judge.next_read() {
            let part = bytes.get_mut(..read.need).unwrap_or_default();
            self.disk.read(read.offset, part).await?;
            judge.feed_stage(part);
        }
        let found = self.log.take(&judge, found)?;
        if let Some(slot) = self.log.record.entries.checked_sub(1) {
            let mut last = IndexEntry::new_zeroed();
            let offset = self.log.form.index().slot(slot);
            self.disk.read(offset, last.as_mut_bytes()).await?;
            self.log.take_last(&last)?;
        }
        Ok(found)
    }

    /// Makes a log in a blank store.
    #[inline(never)]
    async fn make(&mut self, store_len: u64) -> Result<(), FixedError<S>> {
        let mut create = Create::nothing();
        let end = self.log.record.data_end;
        create.set_header(|header, image| self.log.fill(header, image), end, store_len, crc32c);
        let (base, names) = (self.log.form.base(), self.log.form.first_names());
        let more = |at| base.name_byte(names, at);
        self.disk.check_blank(&create, store_len, &mut [0; PIECE], more).await?;
        create.clear(&mut self.disk.store).await.map_err(DriveError::Store)?;
        let mut offset = self.log.form.base().blocks().names.location;
        for name in self.log.form.first_names() {
            self.disk.write(offset, name.as_bytes()).await?;
            offset = offset.saturating_add(usize_to_u64(name.len())).saturating_add(1);
        }
        create.show(&mut self.disk.store).await.map_err(DriveError::Store)
    }

    /// Writes the header again, whose sector was erased.
    #[inline(never)]
    async fn restore(&mut self) -> Result<(), FixedError<S>> {
        let (mut header, mut image) = (Header::new_zeroed(), Image::new_zeroed());
        self.log.fill(&mut header, &mut image);
        self.disk.restore(&header).await
    }
}

impl<F: Form, const N: usize> Log<F, N> {
    /// What the store has by the `bytes` of a header, which the judge starts with. It has the
    /// header that the shadows prove, if there is one.
    #[inline(never)]
    fn see_header(&self, bytes: &[u8], judge: &mut OwnJudge) -> Result<Found, Fault> {
        let base = self.form.base();
        let Ok((header, _)) = Header::ref_from_prefix(bytes) else {
            return Ok(Found::None); // the store is shorter than a header
        };
        let is_proved = judge.image.commit.layer > 0;
        let mut found = Found::Whole;
        if is_proved && !header.has_record() && base.is_erased_in(&judge.image, header) {
            found = Found::Erased;
        } else if header.magic.get() != Header::MAGIC {
            return Ok(Found::None);
        } else if base.is_of(header) {
            judge.image = header.image();
        } else {
            return Err(Fault::Another);
        }
        judge.start();
        Ok(found)
    }

    /// Takes the state of the file after its header was judged.
    #[inline(never)]
    fn take(&mut self, judge: &OwnJudge, mut found: Found) -> Result<Found, Fault> {
        match judge.kind {
            _ if judge.damage.is_some() => return Err(Fault::Damaged),
            Kind::Committed => {}
            Kind::Torn => found = Found::Torn,
            _ => return Err(Fault::Another),
        }
        let committed = &Record::from_raw(&judge.image.commit);
        let mut record = self.record;
        if committed.shadow < SHADOW {
            record.shadow = OLD_SHADOW;
        }
        let is_right = self.form.take(committed, &judge.image, &mut record)
            && self.form.base().image(&record, &self.form.shown()).as_bytes()
                == judge.image.as_bytes();
        if !is_right || record.data_end < self.record.data_end {
            return Err(Fault::Another);
        }
        self.set(&record, found == Found::Torn);
        Ok(found)
    }

    /// Takes the number of frames from the last entry.
    fn take_last(&mut self, last: &IndexEntry) -> Result<(), Fault> {
        // Each frame has an entry.
        if !last.is_used() || last.frame.get() >= self.record.entries {
            return Err(Fault::Damaged);
        }
        self.frames = last.frame.get().saturating_add(1);
        Ok(())
    }
}
