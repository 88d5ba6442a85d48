//! Recovers the frames of damaged files.
//!
//! ```
//! use striae_inspect::gsd::recover::Recovery;
//!
//! # const CUT: &[u8] = include_bytes!("../../../doc/bad_trunc_relocated_index.gsd");
//! let recovery = Recovery::examine(&CUT)?;
//! let runs: Vec<String> =
//!     recovery.runs().map(|run| format!("frames {:?}: {}", run.frames, run.certainty)).collect();
//! assert_eq!(recovery.frames(), 475);
//! # assert!(!runs.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | `evidence` | header, commit record and shadow; the index that is used, and its gaps |
//! | `of_gsd` | the slots that count in an index that gsd writes to |
//! | `scan` | searches for superseded index blocks |
//! | `names` | the name list, or an older one |
//! | `frames` | the entries of a frame, and the doubts about them |
//! | `judge` | decides which frames are saved, and how certain they are |
//! | `sharing` | frames that share bytes with one another |
//! | `trajectory` | the schema hoomd: frames take values from frame 0 |
//! | `forbid` | the schema hoomd: frames that no reader of the new file could read |
//! | `sums` | the checksums of a frame |
//! | `write` | the new file |
//!
//! Memory grows with the damage, not with the file: consecutive frames with the same result are
//! kept as one run, and only entries that come from another index block are kept.

mod evidence;
mod forbid;
mod frames;
mod judge;
mod names;
mod of_gsd;
mod scan;
mod sharing;
mod sums;
mod torn;
mod trajectory;
mod write;

pub use write::{Copied, IntoWriter, Output, Unwritten};

use super::verify;
use super::{Contents, Failed, FindingKind, Stale};
use crate::certainty::{self, Tally};
use crate::finding::{Found, Severity};
use crate::size::Demand;
use crate::subject::Subject;
use alloc::vec::Vec;
use core::ops::Range;
use evidence::Evidence;
use judge::Judged;
use striae_core::gsd::{Attributes, Version};
use striae_core::texts;
use striae_hoomd::schema;

/// How certain it is that a frame is what was written.
///
/// A frame of the schema hoomd is no more certain than the values that it takes from frame 0.
pub type Certainty = certainty::Certainty<Proof, Doubt, Loss>;

texts! {
    /// The proof of a frame that is as found, from the strongest to the weakest.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Proof;

    /// A commit record has a checksum that covers its entries, and their bytes are in the file.
    Committed => "their entries are as committed, their data not checked";
    /// The checksums of its chunks fit, but no checksum covers all their names.
    Unnamed => "as their checksums say, but no checksum covers a name";
    /// The header shows its entries, so every reader sees it, and nothing contradicts them.
    Shown => "the header shows them, no checksum covers them";
}

texts! {
    /// The reason why a frame is a guess.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Doubt;

    /// The header is damaged and was reconstructed.
    Header => "the header is damaged";
    /// Its entries look sound, but their index is not as it was committed.
    Index => "the index is not as it was committed";
    /// One bit of the index was wrong, and the checksum identified it.
    Corrected => "a bit of the index was wrong";
    /// Its entries come from a superseded index block.
    Superseded => "their index is a superseded one";
    /// Names of its chunks are uncertain or made from their ids.
    Names => "names are not certain";
    /// Its entries were committed, but the chunk with its checksums is damaged.
    Checksums => "the checksums are damaged";
    /// Its schema is hoomd, and a value that it takes from frame 0 is a guess or lost.
    First => "what they take from frame 0 is not certain";
    /// The bytes after its entries are such as a crash of gsd leaves if it cuts a frame.
    Torn => "perhaps cut by a crash of gsd";
    /// Its schema is hoomd, and a logged quantity that frame 0 does not have is left out: no reader
    /// would find it.
    Late => "a logged quantity that frame 0 does not have is left out";
}

texts! {
    /// The reason why a frame is lost.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[non_exhaustive]
    pub enum Loss;

    /// A chunk of it is past the end of the file.
    Cut => "a chunk ends after the end of the file";
    /// A chunk of it does not have its checksum.
    Checksum { id: u16 } => "the chunk of name {id} is not as its checksum says";
    /// The chunk with its checksums is damaged.
    Checksums => "the checksums are damaged";
    /// Its chunks and its checksums do not belong together.
    Chunks => "the chunks are not those that there are checksums of";
    /// An entry of it is damaged or missing.
    Entry => "an entry is damaged";
    /// Entries next to its own are damaged or missing, and may have belonged to it.
    Neighbour => "damaged entries may have been theirs";
    /// Its entries are not in order, or two have the same name: it is unknown which are right.
    Order => "entries are not in order";
    /// A chunk of it shares bytes with another part of the file.
    Overlap => "a chunk shares bytes with something else";
    /// The operating system cannot read it.
    Unreadable => "a chunk cannot be read";
    /// Its schema is hoomd, and no reader could read a chunk of it.
    Forbidden { id: u16 } => "the schema forbids the chunk of name {id}";
}

/// Consecutive frames with the same result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Run {
    /// Their numbers in the damaged file.
    pub frames: Range<u64>,
    /// The number of the first of them in the new file, if they are saved.
    pub first: Option<u64>,
    /// How certain they are.
    pub certainty: Certainty,
}

impl Run {
    /// Adds frames to runs, to the last one if the result is the same.
    fn push(runs: &mut Vec<Self>, frames: Range<u64>, certainty: Certainty) {
        match runs.last_mut() {
            _ if frames.is_empty() => {}
            Some(last) if last.certainty == certainty && last.frames.end == frames.start => {
                last.frames.end = frames.end;
            }
            _ => runs.push(Self { frames, first: None, certainty }),
        }
    }

    /// Sets the numbers in the new file.
    fn number(runs: &mut [Self]) {
        let mut next = 0_u64;
        for run in runs {
            run.first = run.certainty.is_saved().then_some(next);
            next = next.saturating_add(if run.first.is_some() { run.count() } else { 0 });
        }
    }

    /// The number of frames.
    const fn count(&self) -> u64 {
        self.frames.end.saturating_sub(self.frames.start)
    }

    /// The runs with limits for some of their frames.
    fn limited(runs: &[Self], limits: &Limits) -> Vec<Self> {
        let (mut new, mut limits) = (Vec::new(), limits.0.iter().peekable());
        for Self { frames, certainty, .. } in runs {
            let mut rest = frames.clone();
            while let Some((some, limit)) = limits.peek().filter(|(it, _)| it.start < frames.end) {
                let some = some.start.max(rest.start)..some.end.min(frames.end);
                Self::push(&mut new, rest.start..some.start, *certainty);
                rest.start = some.end;
                Self::push(&mut new, some, at_most(*certainty, *limit));
                if limits.next_if(|(it, _)| it.end <= frames.end).is_none() {
                    break; // it continues in the next run
                }
            }
            Self::push(&mut new, rest, *certainty);
        }
        new
    }
}

/// How certain saved frames are at most, in order.
#[derive(Debug, Default)]
struct Limits(Vec<(Range<u64>, Certainty)>);

impl Limits {
    /// Adds a frame after all others.
    fn push(&mut self, frame: u64, limit: Certainty) {
        let next = frame.saturating_add(1);
        match self.0.last_mut() {
            Some((last, same)) if *same == limit && last.end == frame => last.end = next,
            _ => self.0.push((frame..next, limit)),
        }
    }
}

/// The less certain of both; a lost frame stays lost as it is.
fn at_most(certainty: Certainty, limit: Certainty) -> Certainty {
    match (certainty, limit) {
        (Certainty::Lost(_), _) => certainty,
        (Certainty::Exact, limit) | (_, limit @ Certainty::Lost(_)) => limit,
        (Certainty::AsFound(own), Certainty::AsFound(most)) => Certainty::AsFound(own.max(most)),
        (Certainty::AsFound(_), Certainty::Guess(_)) => limit,
        _ => certainty,
    }
}

/// The part of a file that can be recovered. The file is only read. Its header must be there, or
/// the shadow of it; anything else may be missing.
#[derive(Debug)]
pub struct Recovery {
    evidence: Evidence,
    names: names::Names,
    judged: Judged,
    /// Whether `verify` finds no damage in header, names and index.
    is_whole: bool,
    /// What the schema forbids and a frame has.
    forbidden: Option<striae_hoomd::Error>,
}

impl Recovery {
    /// Decides for all frames of a file whether they can be saved.
    ///
    /// # Errors
    /// An error if neither the header nor its shadow is there; an error of the store.
    pub fn examine<S: Subject>(subject: &S) -> Result<Self, Failed<S>> {
        let mut evidence = Evidence::gather(subject)?;
        let mut names = names::Names::find(subject, &evidence)?;
        evidence.complete(subject)?;
        let judged = judge::judge(subject, &evidence, &mut names)?;
        let mut is_whole = true;
        let verified = verify::tables(subject, &mut |finding| match finding {
            FindingKind::Torn { .. } => {}
            finding => is_whole &= finding.severity() != Severity::Damage,
        });
        is_whole &= verified.is_ok();
        let mut recovery = Self { evidence, names, judged, is_whole, forbidden: None };
        if recovery.has_schema() {
            forbid::judge(&mut recovery, subject)?;
        }
        Ok(recovery)
    }

    /// Whether readers look for the chunks of the schema hoomd.
    fn has_schema(&self) -> bool {
        let Evidence { schema, schema_version, .. } = &self.evidence;
        schema == schema::NAME && schema::is_readable(*schema_version)
    }

    /// The attributes and the layout of the new file: those of the damaged file, as far as they are
    /// known.
    #[must_use]
    pub fn attributes(&self) -> Attributes<'_> {
        let Evidence { record, stale, version, .. } = &self.evidence;
        let layer = match version.is_sorted() || self.judged.has_text {
            true => Version::LAYER,
            false => Version { major: 1, minor: 0 },
        };
        let align = record.and_then(|record| 1_u64.checked_shl(record.align.into()));
        let has_sums = |stale: Stale| stale.checksums;
        Attributes {
            application: &self.evidence.application,
            schema: &self.evidence.schema,
            schema_version: self.evidence.schema_version,
            layer,
            align: align.or(stale.map(|stale| stale.align)).unwrap_or(1),
            checksums: record.is_some_and(|record| record.checksums) || stale.is_some_and(has_sums),
            ..Attributes::default()
        }
    }

    /// All known frames, in order.
    #[must_use]
    pub fn runs(&self) -> impl ExactSizeIterator<Item = &Run> {
        self.judged.runs.iter()
    }

    /// The number of frames with each word, and how many bytes of their chunks were compared with
    /// checksums.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally { coverage: self.judged.coverage, ..Tally::default() };
        for run in &self.judged.runs {
            tally.add(run.certainty.word(), run.count());
        }
        let is_all = self.is_whole && self.lost_entries() == Some(0);
        let is_named = self.names.invented().next().is_none();
        tally.is_contradicted = !is_all || !is_named;
        tally
    }

    /// Number of frames of the new file.
    #[must_use]
    pub fn frames(&self) -> u64 {
        let Tally { exact, as_found, guesses, .. } = self.tally();
        exact.saturating_add(as_found).saturating_add(guesses)
    }

    /// Frames that are known of and lost.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.tally().lost
    }

    /// Frames that are saved and a guess.
    #[must_use]
    pub fn guesses(&self) -> u64 {
        self.tally().guesses
    }

    /// Entries of the index that were committed, or have room in it, and are not there, or are left
    /// out because no writer takes their frame: how many frames they were is not known. `None` if
    /// it is not known whether there were any.
    #[must_use]
    pub const fn lost_entries(&self) -> Option<u64> {
        match self.evidence.lost_entries() {
            Some(lost) => Some(lost.saturating_add(self.judged.left_out)),
            None => None,
        }
    }

    /// Ids of names that were invented, since those of the file are lost.
    pub fn invented(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.names.invented()
    }

    /// Layer of the file.
    #[must_use]
    pub const fn version(&self) -> Version {
        self.evidence.version
    }

    /// Bytes of the chunks that are saved.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.judged.coverage.bytes
    }

    /// The size that the new file has at most, if this number of bytes of the damaged file exist:
    /// all but its holes. Bytes that many chunks share count for each of them.
    #[must_use]
    pub fn demand(&self, existing: u64) -> Demand {
        let taken = self.judged.taken.as_ref().map_or_else(Default::default, |taken| taken.taken);
        let contents = Contents {
            data: self.judged.coverage.bytes.saturating_add(taken.bytes),
            // The last frame of a trajectory may get its step.
            chunks: self.judged.chunks.saturating_add(taken.chunks).saturating_add(1),
            frames: self.frames(),
            names: self.names.bytes(),
            align: self.attributes().align,
        };
        contents.demand(existing, false)
    }

    /// Whether `verify` finds no damage in header, names and index. A header that was half written
    /// is none: the other half is known.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// What the schema hoomd forbids and a frame has, the first that is found. No reader could read
    /// it, so such frames are lost, or saved without it.
    #[must_use]
    pub const fn forbidden(&self) -> Option<&striae_hoomd::Error> {
        self.forbidden.as_ref()
    }

    /// Whether all that the file shows is saved: its header, names and index are whole, all chunks
    /// of all frames lie in the file, and nothing is [forbidden](Self::forbidden). Whether it is as
    /// it was written only checksums can say.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.tally().is_sound()
    }

    /// Whether it is [complete](Self::is_complete), and all frames are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.tally().is_exact()
    }
}
