//! The machine that finds a seal, and the proof that a seal belongs to a damaged file.

use crate::integrity::Checksum;
use crate::sion::disk::head::Head;
use crate::sion::disk::varheader::{TRAILER_LEN, Varheader, VarheaderShape};
use crate::sion::error::Error;
use crate::sion::layout::Layout;
use crate::sion::raw::{CommitFields, SealTrailer};
use crate::sion::verdict::seal::sums::{Crcs, Sums};
use crate::sion::verdict::{Condition, FoundTrailer, Standing, Suspect, Trailer, Verdict};
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep};
use zerocopy::{FromBytes, IntoBytes};

/// Finds a seal. It looks after META2 and the mapping, and then at the end of the file, where a
/// seal may contradict the metadata. Needs a buffer of 64 bytes.
#[derive(Debug)]
pub struct FindSeal {
    head: Head,
    /// The end of META2 and the mapping.
    end: u64,
    checksum: Checksum,
    search: Search,
}

#[derive(Debug, Clone, Copy)]
enum Search {
    /// Read the trailer at its usual place.
    Usual(Varheader),
    /// Read the trailer at the end of the file.
    Last(u64),
    /// Read the commit fields, for this whole trailer.
    Fields(Trailer),
    Proof(Proof),
    Done(Option<FoundTrailer>),
}

impl FindSeal {
    /// Makes a machine for the file with this head, whose META2 and mapping end at `end`.
    #[must_use]
    pub fn new(head: &Head, end: u64, checksum: Checksum) -> Self {
        let usual = head.meta2.and_then(|meta2| {
            let (layout, maxchunks) = (head.meta1.layout(), meta2.maxchunks());
            let mapping_len = end.checked_sub(meta2.end())?;
            VarheaderShape::new(layout, maxchunks, mapping_len, true)?.at(meta2.start())
        });
        let usual = usual.filter(|place| place.span().fits(head.file_len));
        let search = usual.map_or_else(|| Search::last(head), Search::Usual);
        Self { head: *head, end, checksum, search }
    }

    /// The next state for a whole trailer, when the commit fields are known.
    fn judge(&self, trailer: Trailer, fields: Option<&CommitFields>) -> Search {
        let (suspect, otherwise) = match trailer.judge(&self.head, fields) {
            Standing::Current(seal) => {
                let error = trailer.misplaced(&self.head, self.end);
                let suspect = |error| Suspect { error, needs_meta2: true, needs_meta1: true };
                (error.map(suspect), Verdict::Current(seal))
            }
            Standing::Stale => (None, Verdict::Stale),
            Standing::Suspect(suspect) => (Some(suspect), Verdict::Stale),
        };
        let proof = |suspect| Proof::new(trailer, suspect, otherwise, &self.head, self.checksum);
        let found = FoundTrailer { trailer, verdict: otherwise };
        suspect.and_then(proof).map_or(Search::Done(Some(found)), Search::Proof)
    }

    fn whole(&self, trailer: Trailer) -> Search {
        match self.head.meta1.layout().commit_fields().fits(self.head.file_len) {
            true => Search::Fields(trailer),
            false => self.judge(trailer, None),
        }
    }
}

impl Search {
    fn last(head: &Head) -> Self {
        let behind = head.meta1.layout().commit_fields().end();
        let last = head.file_len.checked_sub(TRAILER_LEN).filter(|&last| last >= behind);
        last.map_or(Self::Done(None), Self::Last)
    }
}

impl ReadMachine for FindSeal {
    type Output = Option<FoundTrailer>;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Option<FoundTrailer>> {
        if let Search::Proof(proof) = &mut self.search {
            match proof.sums.poll() {
                ReadStep::Done(crcs) => self.search = Search::Done(Some(proof.conclude(crcs))),
                ReadStep::Read { offset, need, want } => {
                    return ReadStep::Read { offset, need, want };
                }
            }
        }
        let read = |span: Span| {
            let need = usize::try_from(span.len()).unwrap_or(usize::MAX);
            ReadStep::Read { offset: span.offset(), need, want: span.len() }
        };
        match self.search {
            Search::Usual(place) => read(place.trailer()),
            Search::Last(at) => read(Span::new(at, TRAILER_LEN).unwrap_or(Span::ZERO)),
            Search::Fields(_) => read(self.head.meta1.layout().commit_fields()),
            Search::Proof(_) => ReadStep::Done(None), // it has come to its end
            Search::Done(found) => ReadStep::Done(found),
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let order = self.head.meta1.order();
        let trailer =
            |at| SealTrailer::read_from_bytes(bytes).map(|raw| Trailer::new(raw, at, order));
        self.search = match &mut self.search {
            Search::Usual(place) => {
                let Ok(trailer) = trailer(place.trailer().offset()) else { return Ok(()) };
                let found = |verdict| Search::Done(Some(FoundTrailer { trailer, verdict }));
                match trailer.condition() {
                    Condition::Whole => self.whole(trailer),
                    Condition::Damaged(error) => found(Verdict::Damaged(error, *place)),
                    Condition::Unknown(error) => found(Verdict::Unknown(error, *place)),
                    Condition::Absent => Search::last(&self.head),
                }
            }
            Search::Last(at) => match trailer(*at) {
                // Data may look like a seal, but hardly like one of this place.
                Ok(trailer) if trailer.condition() == Condition::Whole => {
                    trailer.table().map_or(Search::Done(None), |_| self.whole(trailer))
                }
                _ => Search::Done(None),
            },
            Search::Fields(trailer) => {
                let fields = CommitFields::ref_from_prefix(bytes).map(|(fields, _)| fields);
                let trailer = *trailer;
                self.judge(trailer, fields.ok())
            }
            Search::Proof(proof) => return proof.sums.feed(bytes),
            Search::Done(found) => Search::Done(*found),
        };
        Ok(())
    }
}

/// The proof that one number is the only change of a file since it was sealed, or is wrong in the
/// seal.
#[derive(Debug, Clone, Copy)]
struct Proof {
    trailer: Trailer,
    suspect: Suspect,
    /// The verdict if nothing is proven.
    otherwise: Verdict,
    sums: Sums,
}

impl Proof {
    /// Starts the proof; `None` if the bytes to compare are not in the file.
    fn new(
        trailer: Trailer,
        suspect: Suspect,
        otherwise: Verdict,
        head: &Head,
        checksum: Checksum,
    ) -> Option<Self> {
        let layout = Layout { ntasks: trailer.ntasks()?, ..*head.meta1.layout() };
        let mut sums = Sums::new(&layout, head.meta1.order(), checksum);
        if suspect.needs_meta2 {
            sums.meta2 = trailer.meta2().filter(|meta2| meta2.fits(head.file_len))?;
        }
        match suspect.needs_meta1 {
            true if !layout.commit_fields().fits(head.file_len) => return None,
            true => {}
            false => (sums.before, sums.rest) = (Span::ZERO, Span::ZERO),
        }
        Some(Self { trailer, suspect, otherwise, sums })
    }

    fn conclude(&self, crcs: Crcs) -> FoundTrailer {
        let (trailer, Suspect { error, needs_meta1, needs_meta2 }) = (self.trailer, self.suspect);
        let (raw, order) = (trailer.raw(), self.sums.order);
        let meta1 = (self.sums.checksum)(crcs.front, trailer.commit_fields().as_bytes());
        let is_proven = (!needs_meta1 || meta1 == raw.meta1_crc.get(order))
            && (!needs_meta2 || crcs.meta2 == raw.meta2_crc.get(order));
        let verdict = if is_proven { Verdict::Contradicted(error) } else { self.otherwise };
        FoundTrailer { trailer, verdict }
    }
}
