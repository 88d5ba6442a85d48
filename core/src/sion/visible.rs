//! The machine that makes tables visible: it writes the trailer of a seal, then the 12 bytes of the
//! commit fields, which point to META2.
//!
//! After a power cut at any point, the file is as the last commit left it, or as this commit does
//! (`spec/sion.md#commits`): the tables are durable before the 12 bytes are written, and the 12
//! bytes are in one sector.

use super::meta1::Meta1;
use super::raw;
use super::tables::{Publication, TableSums};
use super::varheader::Varheader;
use crate::endian::{I32, I64, U32};
use crate::integrity::crc32c;
use crate::span::Span;
use crate::step::{Machine, Step};
use core::convert::Infallible;
use zerocopy::{FromZeros, IntoBytes};

/// The state of the file after a publication has ended, or was given up because its store failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Outcome {
    /// The state before the publication.
    Unchanged,
    /// The state before, or this one: it is not known which of them is on the disk. Both must stay
    /// whole until [`Visible::settle`] has made it this one.
    Unknown(Varheader),
    /// This state.
    Published(Varheader),
}

/// Makes the tables of a [`Publication`] visible. All of them must be written before.
#[derive(Debug)]
pub struct Visible {
    new: Varheader,
    /// The offset of the 12 bytes.
    place: u64,
    fields: raw::CommitFields,
    /// The offset where the trailer is written, or where an old one is erased.
    trailer_at: Option<u64>,
    trailer: raw::SealTrailer,
    /// Whether the 12 bytes are written by another machine.
    is_hidden: bool,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Trailer,
    SyncTables,
    Fields,
    SyncFields,
    Synced,
    Done,
}

impl Visible {
    /// Makes a machine for `publication`; `sums` is the checksums of its tables.
    #[must_use]
    pub fn new(publication: &Publication, sums: &TableSums) -> Self {
        let unsealed = Self::unsealed(publication);
        if !publication.new.is_sealed() {
            return unsealed;
        }
        let (trailer_at, trailer) = (publication.new.trailer(), trailer(publication, sums));
        Self { trailer_at: Some(trailer_at.offset()), trailer, ..unsealed }
    }

    /// Makes a machine for a publication without a seal.
    pub(super) fn unsealed(publication: &Publication) -> Self {
        let trailer_at = old_seal(publication).map(Span::offset);
        let visible = Self::settle(&publication.meta1, publication.new);
        Self { trailer_at, state: State::Trailer, ..visible }
    }

    /// Makes a machine that does all but to write the 12 bytes: the tables are then durable, and
    /// [`settle`](Self::settle) makes them visible. In between, several files can wait for each
    /// other.
    #[must_use]
    pub fn hidden(publication: &Publication, sums: &TableSums) -> Self {
        Self { is_hidden: true, ..Self::new(publication, sums) }
    }

    /// Makes a machine that writes the 12 bytes of a publication with an unknown outcome again.
    /// Everything that they make visible was durable before they were first written.
    #[must_use]
    pub fn settle(meta1: &Meta1, new: Varheader) -> Self {
        let place = meta1.layout().commit_fields().offset();
        let (fields, trailer) = (new.commit_fields(meta1.order()), raw::SealTrailer::new_zeroed());
        let (trailer_at, is_hidden, state) = (None, false, State::Fields);
        Self { new, place, fields, trailer_at, trailer, is_hidden, state }
    }

    /// The state of the file if this machine is given up now or has ended.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        match self.state {
            State::Trailer | State::SyncTables | State::Fields => Outcome::Unchanged,
            State::SyncFields | State::Synced => Outcome::Unknown(self.new),
            State::Done => Outcome::Published(self.new),
        }
    }
}

impl Visible {
    /// Whether the work is done, assuming that the last step succeeded, as the next
    /// [`poll`](Machine::poll) does.
    pub(super) fn ends(&mut self) -> bool {
        if self.state == State::Synced {
            self.state = State::Done;
        }
        self.state == State::Done
    }
}

impl Machine for Visible {
    type Output = Varheader;
    type Error = Infallible;

    fn poll(&mut self) -> Step<'_, Varheader> {
        match (self.state, self.trailer_at) {
            (State::Trailer, Some(offset)) => {
                self.state = State::SyncTables;
                Step::Write { offset, bytes: self.trailer.as_bytes() }
            }
            (State::Trailer | State::SyncTables, _) => {
                self.state = State::Fields;
                Step::Sync
            }
            (State::Fields, _) if self.is_hidden => Step::Done(self.new),
            (State::Fields, _) => {
                self.state = State::SyncFields;
                Step::Write { offset: self.place, bytes: self.fields.as_bytes() }
            }
            (State::SyncFields, _) => {
                self.state = State::Synced;
                Step::Sync
            }
            (State::Synced | State::Done, _) => {
                self.state = State::Done;
                Step::Done(self.new)
            }
        }
    }

    fn feed(&mut self, _: &[u8]) -> Result<(), Infallible> {
        Ok(())
    }
}

/// The place of the trailer if this publication were sealed. A trailer that an older commit left
/// there, with META2 at the same place, would be taken for the seal of this one.
fn old_seal(publication: &Publication) -> Option<Span> {
    let Publication { new, old, file_len, .. } = publication;
    let place = new.sealed()?.trailer();
    let is_old = old.is_some_and(|old| old.span().overlaps(place));
    (!is_old && place.fits(*file_len)).then_some(place)
}

fn trailer(publication: &Publication, sums: &TableSums) -> raw::SealTrailer {
    let Publication { meta1, meta1_crc, new, checksum, .. } = publication;
    let order = meta1.order();
    let fields = new.commit_fields(order);
    let i64_of = |n| I64::new(i64::try_from(n).unwrap_or(i64::MAX), order);
    let ntasks = I32::new(i32::try_from(meta1.ntasks()).unwrap_or(i32::MAX), order);
    let meta2 = sums.meta2.crc(new.crcs().offset().saturating_sub(new.start()));
    let mut trailer = raw::SealTrailer {
        seal_version: I32::new(raw::SealTrailer::VERSION, order),
        ntasks,
        maxchunks: fields.maxchunks,
        meta1_crc: U32::new(checksum(*meta1_crc, fields.as_bytes()), order),
        start_of_varheader: fields.start_of_varheader,
        start_of_seal: i64_of(new.crcs().offset()),
        meta2_crc: U32::new(meta2, order),
        chunks_crc: U32::new(sums.chunks.crc(new.crcs().len()), order),
        set_number: I32::new(new.set_number().cast_signed(), order),
        trailer_crc: U32::new(0, order),
        magic: raw::SealTrailer::MAGIC,
    };
    let own = usize::from(raw::SealTrailer::trailer_crc.offset());
    let sealed = trailer.as_bytes().get(..own).unwrap_or_default();
    trailer.trailer_crc = U32::new(crc32c(0, sealed), order);
    trailer
}
