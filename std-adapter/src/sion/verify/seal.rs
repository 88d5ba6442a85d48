//! The seal: where it is, and whether the tables are as it says. What it is, core judges.

use super::{Failed, FindingKind, Report, WINDOW};
use crate::posix::PosixFile;
use crc32c::crc32c_append;
use std::num::NonZeroU32;
use striae_core::sion::raw::SealTrailer;
use striae_core::sion::seal::{checksum_of, commit_fields};
use striae_core::sion::verdict::{Condition, Standing, Suspect, Trailer};
use striae_core::sion::{Error, Head, Seal, Varheader, VarheaderShape};
use striae_core::span::Span;

/// A trailer, or what is left of one.
#[derive(Debug, Clone, Copy)]
pub(in crate::sion) struct Found {
    pub(in crate::sion) trailer: Trailer,
    /// The table of checksums of chunks in front of it, if it says where that starts.
    pub(in crate::sion) table: Option<Span>,
    pub(super) state: State,
}

/// What a trailer says about the file.
#[derive(Debug, Clone, Copy)]
pub(super) enum State {
    /// It is that of the file.
    Current(Seal),
    /// It is that of another state of the file.
    Stale,
    /// It is in the right place, behind META2 and a table that are where this says, and damaged itself.
    Damaged(Error, Varheader),
    /// It is in the right place, and of a version that is not known.
    Unknown,
    /// It is that of the file, in which a field has another value now.
    Contradicted(Suspect),
}

/// Looks for a seal: behind the tables, which end at `end`, and at the end of the file, where one
/// stands that something else of the file contradicts.
pub(in crate::sion) fn look_for_seal(
    store: &PosixFile,
    head: &Head,
    end: u64,
) -> Result<Option<Found>, Failed> {
    let (layout, order) = (head.meta1.layout(), head.meta1.order());
    let usual = head.meta2.and_then(|meta2| {
        let mapping_len = end.checked_sub(meta2.end())?;
        VarheaderShape::new(layout, meta2.maxchunks(), mapping_len, true)?.at(meta2.start())
    });
    if let Some(usual) = usual.filter(|usual| usual.span().fits(head.file_len)) {
        let trailer = Trailer::read(&store, usual.trailer().offset(), order)?;
        let table = Some(usual.crcs());
        match trailer.condition() {
            Condition::Damaged(error) => {
                let state = State::Damaged(error, usual);
                return Ok(Some(Found { trailer, table, state }));
            }
            Condition::Unknown(_) => {
                return Ok(Some(Found { trailer, table, state: State::Unknown }));
            }
            Condition::Whole => return whole(store, head, trailer).map(Some),
            Condition::Absent => {}
        }
    }
    // Nobody knows that a seal must be there, so this one has to be whole.
    let Some(offset) = head.file_len.checked_sub(SealTrailer::TABLE.len.into()) else {
        return Ok(None);
    };
    if offset < layout.commit_fields().end() {
        return Ok(None);
    }
    let trailer = Trailer::read(&store, offset, order)?;
    if trailer.condition() != Condition::Whole || trailer.table().is_none() {
        return Ok(None); // data may look like a seal, but hardly like one of this place
    }
    whole(store, head, trailer).map(Some)
}

/// What a trailer that is whole says about the file.
fn whole(store: &PosixFile, head: &Head, trailer: Trailer) -> Result<Found, Failed> {
    let state = match trailer.judge(head, commit_fields(&store, head)?.as_ref()) {
        Standing::Current(seal) => State::Current(seal),
        Standing::Suspect(suspect)
            if trailer.proves(&suspect, &store, head, crc32c_append, &mut vec![0; WINDOW])? =>
        {
            State::Contradicted(suspect)
        }
        Standing::Stale | Standing::Suspect(_) => State::Stale,
    };
    Ok(Found { trailer, table: trailer.table(), state })
}

impl Found {
    /// Whether it is that of another state of the file.
    pub(in crate::sion) const fn is_stale(&self) -> bool {
        matches!(self.state, State::Stale)
    }

    /// Entries of a row of its table.
    pub(in crate::sion) fn ntasks(&self, head: &Head) -> NonZeroU32 {
        let own = match self.state {
            State::Stale | State::Contradicted(_) => self.trailer.ntasks(),
            State::Current(_) | State::Damaged(..) | State::Unknown => None, // as META1 has it
        };
        own.unwrap_or(head.meta1.layout().ntasks)
    }

    /// Where the seal ends, if it is one of the file as it is.
    pub(in crate::sion) const fn end(&self) -> Option<u64> {
        match self.state {
            State::Current(_) | State::Damaged(..) | State::Unknown => Some(self.trailer.end()),
            State::Stale | State::Contradicted(_) => None,
        }
    }
}

/// Reports what the seal says about itself and about the tables. Returns where its own table is, if
/// what stands there can be trusted.
pub(super) fn check(
    store: &PosixFile,
    head: &Head,
    found: &Found,
    report: &mut Report<'_>,
) -> Result<Option<Varheader>, Failed> {
    let (trailer, order) = (&found.trailer, head.meta1.order());
    let mut window = vec![0; WINDOW];
    match found.state {
        State::Current(seal) => {
            let reserved = trailer.raw().reserved.get(order);
            if reserved != 0 {
                let field = SealTrailer::reserved;
                report.unusual(field, trailer.place(field), reserved, 0);
            }
            let checked = seal.check(&store, crc32c_append, &mut window)?;
            for part in [checked.meta1, checked.meta2, checked.chunks] {
                part.err().into_iter().for_each(|error| report.wrong(error));
            }
            Ok(checked.chunks.ok().map(|()| *seal.varheader()))
        }
        State::Damaged(error, place) => {
            match error {
                Error::SealMagic { offset, magic } => {
                    report.damage(FindingKind::SealMagic { offset, magic });
                }
                error => report.wrong(error),
            }
            let computed = checksum_of(&store, place.crcs(), 0, crc32c_append, &mut window)?;
            Ok((computed == trailer.raw().chunks_crc.get(order)).then_some(place))
        }
        State::Unknown => {
            let (field, version) = (SealTrailer::seal_version, trailer.raw().seal_version);
            let usual = "1, so nothing of it was checked";
            report.unusual(field, trailer.place(field), version.get(order), usual);
            Ok(None)
        }
        State::Stale => {
            report.note(FindingKind::StaleSeal { offset: trailer.offset() });
            Ok(None)
        }
        State::Contradicted(Suspect { field, offset, value, sealed, .. }) => {
            report.damage(FindingKind::NotAsSealed { field, offset, value, sealed });
            Ok(None)
        }
    }
}
