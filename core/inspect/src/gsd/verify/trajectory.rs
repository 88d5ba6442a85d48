//! Checks a file of the schema hoomd: whether readers of trajectories get what was written
//! (`spec/gsd-hoomd.md#what-is-wrong`).

use super::{FindingKind, Report, WINDOW};
use crate::gsd::Failed;
use crate::subject::{Subject, read, read_windows};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use striae_core::gsd::open::Open;
use striae_core::gsd::raw::IndexEntry;
use striae_core::gsd::{Chunk, Reader};
use striae_core::store::usize_to_u64;
use striae_hoomd::Error as HoomdError;
use striae_hoomd::names::{NameList, last_of_each};
use striae_hoomd::schema::{self, Field, Group, Kind, Rows};

/// A chunk of a frame.
#[derive(Debug, Clone, Copy)]
pub(in crate::gsd) struct Placed {
    /// The place of its entry.
    pub(in crate::gsd) entry: u64,
    pub(in crate::gsd) chunk: Chunk,
    /// Its definition, if the schema has one.
    pub(in crate::gsd) field: Option<&'static Field>,
    pub(in crate::gsd) is_log: bool,
    /// Whether all its rows have the default value, and it has no bytes in the file.
    pub(in crate::gsd) is_default: bool,
}

/// What is wrong with a chunk, or unusual.
#[derive(Debug)]
pub(in crate::gsd) struct Wrong {
    pub(in crate::gsd) id: u16,
    /// The place of the value.
    pub(in crate::gsd) offset: u64,
    pub(in crate::gsd) error: HoomdError,
    /// Whether the package reads it as it is.
    pub(in crate::gsd) is_note: bool,
}

/// The largest number in a chunk, and its place.
type Most = Option<(u32, u64)>;

/// The values of a frame against which numbers are checked, its own or those of frame 0.
#[derive(Debug, Clone)]
struct Known {
    /// N of each group; `None` where its chunk is wrong.
    members: [Option<u64>; Group::ALL.len()],
    /// The number of types of each group.
    types: [u64; Group::ALL.len()],
    /// The largest type number, and the largest particle number.
    typeids: [Most; Group::ALL.len()],
    tags: [Most; Group::ALL.len()],
}

impl Known {
    /// The values of a frame without any chunks, if it is frame 0.
    fn defaults() -> Self {
        let types = Group::ALL.map(|group| u64::from(group == Group::Particles));
        let (typeids, tags) = ([None; Group::ALL.len()], [None; Group::ALL.len()]);
        Self { members: [Some(0); Group::ALL.len()], types, typeids, tags }
    }
}

/// Checks one frame after another.
pub(in crate::gsd) struct Check<'r, S> {
    subject: &'r S,
    /// Whether values are looked at that cannot be more than unusual.
    has_notes: bool,
    first: Known,
    /// Logged quantities of frame 0, and those that only other frames have.
    logs: BTreeSet<u16>,
    told: BTreeSet<u16>,
    /// What was found since it was taken out.
    pub(in crate::gsd) found: Vec<Wrong>,
}

/// Checks a file whose header, names and index are sound; does nothing for another schema.
pub(super) fn check<S: Subject>(subject: &S, report: &mut Report<'_>) -> Result<(), Failed<S>> {
    let reader = Reader::open(subject, &mut [0; Open::WINDOW])?;
    let header = &reader.head().header;
    if header.schema.as_bytes() != schema::NAME.as_bytes()
        || !schema::is_readable(header.schema_version)
    {
        return Ok(());
    }
    let names = NameList::read(&reader)?;
    let field = |name: &[u8]| (schema::by_name(name), name.starts_with(b"log/"));
    let fields: Vec<_> = names.iter().map(|name| field(name.0)).collect();
    let mut check = Check::new(subject, true);
    let (index, is_sorted) = (reader.head().index(), header.version.is_sorted());
    let mut frame: Vec<Placed> = Vec::new();
    let mut chunks = reader.chunks(vec![0; WINDOW.min(1 << 16)]);
    loop {
        let entry = index.offset_of(chunks.slot());
        let chunk = chunks.next().transpose()?;
        let is_next = |chunk: &Chunk| frame.first().is_none_or(|it| it.chunk.frame == chunk.frame);
        if !chunk.as_ref().is_some_and(is_next) {
            if !is_sorted {
                last_of_each(&mut frame, |placed| placed.chunk.id);
            }
            let number = frame.first().map_or(0, |placed| placed.chunk.frame);
            let name = |id| names.get(id).map_or(&[][..], |name| name.0);
            let checked = check.frame(number, &frame, &name);
            for Wrong { offset, error, is_note, .. } in check.found.drain(..) {
                report.add(match is_note {
                    true => FindingKind::HoomdValue { offset, error },
                    false => FindingKind::Hoomd { offset, error },
                });
            }
            checked?;
            frame.clear();
        }
        let Some(chunk) = chunk else { return Ok(()) };
        if frame.last().is_none_or(|last| last.chunk != chunk) {
            let (field, is_log) = fields.get(usize::from(chunk.id)).copied().unwrap_or_default();
            frame.push(Placed { entry, chunk, field, is_log, is_default: false });
        }
    }
}

impl<'r, S: Subject> Check<'r, S> {
    /// Of a file whose chunks are in `subject`. Without `has_notes`, only damage is found.
    pub(in crate::gsd) fn new(subject: &'r S, has_notes: bool) -> Self {
        let (logs, told, found) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        Self { subject, has_notes, first: Known::defaults(), logs, told, found }
    }

    /// Checks the frame of this number, which has these chunks. Frames must be passed in order;
    /// those without chunks may be left out. `name` gives the name for an id.
    pub(in crate::gsd) fn frame<'n>(
        &mut self,
        number: u64,
        chunks: &[Placed],
        name: &dyn Fn(u16) -> &'n [u8],
    ) -> Result<(), Failed<S>> {
        if chunks.is_empty() {
            return Ok(());
        }
        let mut known = self.first.clone();
        for group in Group::ALL {
            self.count(chunks, group, &mut known)?;
        }
        for placed in chunks {
            self.chunk(placed, &mut known, number, name)?;
        }
        for group in Group::ALL {
            self.numbers(chunks, group, &known, number);
        }
        if number == 0 {
            self.first = known;
        }
        Ok(())
    }

    /// Reads N of a group in a frame. If it differs from N in frame 0, values of frame 0 no longer
    /// apply.
    fn count(
        &mut self,
        chunks: &[Placed],
        group: Group,
        known: &mut Known,
    ) -> Result<(), Failed<S>> {
        let field = group.count();
        let place = group.place();
        let Some(placed) = find(chunks, field.name) else { return Ok(()) };
        let mut bytes = [0; 4];
        let is_right = placed.is_default || field.check(&placed.chunk, Some(1)).is_ok();
        if is_right && !placed.is_default {
            read(self.subject, placed.chunk.span.offset(), &mut bytes)?;
        }
        let n = is_right.then(|| u64::from(u32::from_le_bytes(bytes)));
        let [members, before] = [&mut known.members, &mut self.first.members];
        let (Some(of), Some(first)) = (members.get_mut(place), before.get(place)) else {
            return Ok(());
        };
        *of = n;
        if n != *first || n.is_none() {
            for of in [&mut known.typeids, &mut known.tags] {
                of.get_mut(place).into_iter().for_each(|most| *most = None);
            }
        }
        Ok(())
    }

    /// Checks a chunk by itself, and against the N of its frame.
    fn chunk<'n>(
        &mut self,
        placed: &Placed,
        known: &mut Known,
        frame: u64,
        name: &dyn Fn(u16) -> &'n [u8],
    ) -> Result<(), Failed<S>> {
        let Placed { entry, chunk, field, is_log, is_default } = *placed;
        if is_log && frame == 0 {
            self.logs.insert(chunk.id);
        } else if is_log && !self.logs.contains(&chunk.id) && self.told.insert(chunk.id) {
            self.tell(&chunk, entry, HoomdError::Late { name: name(chunk.id).into(), frame });
        }
        let Some(field) = field else { return Ok(()) };
        let rows = match field.rows {
            Rows::Fixed(n) => Some(n),
            Rows::Each(group) => known.members.get(group.place()).copied().flatten(),
            Rows::Types | Rows::Sum => None,
        };
        if let Err(error) = field.check(&chunk, rows) {
            let at = match error {
                HoomdError::Type { .. } => IndexEntry::kind,
                _ => IndexEntry::n,
            };
            self.tell(&chunk, entry.saturating_add(at.offset().into()), error);
            return Ok(());
        }
        if is_default || field.kind != Kind::Text && !self.has_notes {
            return Ok(());
        }
        let place = Group::of_name(field.name.as_bytes()).map_or(usize::MAX, Group::place);
        let put = |to: &mut [Most], most| to.get_mut(place).into_iter().for_each(|to| *to = most);
        if field.name.ends_with("/typeid") {
            put(&mut known.typeids, self.largest(&chunk)?);
        } else if field.kind == Kind::Tag {
            put(&mut known.tags, self.largest(&chunk)?);
        } else if field.kind == Kind::Text {
            let types = known.types.get_mut(place).filter(|_| field.name.ends_with("/types"));
            types.into_iter().for_each(|types| *types = chunk.n);
            self.texts(&chunk, field)?;
        } else if field.name == schema::DIMENSIONS.name {
            let mut value = [0];
            read(self.subject, chunk.span.offset(), &mut value)?;
            let [value] = value;
            if !matches!(value, 2 | 3) {
                self.tell(&chunk, chunk.span.offset(), HoomdError::Dimensions { frame, value });
            }
        }
        Ok(())
    }

    /// Checks that type numbers and particle numbers are below the numbers of types and particles;
    /// reports them when either changes.
    fn numbers(&mut self, chunks: &[Placed], group: Group, known: &Known, frame: u64) {
        if !self.has_notes {
            return;
        }
        let folder = group.count().name.trim_end_matches('N');
        let place = group.place();
        let at = |most: &[Most]| most.get(place).copied().flatten();
        // Without names of types nobody knows how many there are.
        let types = known.types.get(place).copied().filter(|&types| types > 0);
        let particles = known.members.first().copied().flatten();
        let n = schema::PARTICLES_N.name;
        for (name, of, most, end) in [
            ("typeid", format!("{folder}types"), at(&known.typeids), types),
            ("group", n.to_owned(), at(&known.tags), particles),
        ] {
            let name = format!("{folder}{name}");
            let (Some((value, offset)), Some(end)) = (most, end) else { continue };
            let new = find(chunks, &name).or_else(|| find(chunks, &of));
            if let Some(new) = new.filter(|_| u64::from(value) >= end) {
                let name = name.into_bytes().into();
                self.tell(&new.chunk, offset, HoomdError::Number { name, frame, value, end });
            }
        }
    }

    /// The largest value of 32-bit integers.
    fn largest(&mut self, chunk: &Chunk) -> Result<Most, Failed<S>> {
        let mut most: Most = None;
        self.pieces(chunk, 4, &mut |offset, bytes| {
            for (number, bytes) in (0..).zip(bytes.chunks_exact(4)) {
                let value = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
                if most.is_none_or(|(most, _)| value > most) {
                    most = Some((value, offset.saturating_add(4_u64.saturating_mul(number))));
                }
            }
        })?;
        Ok(most)
    }

    /// Checks that texts are UTF-8, and readable by gsd's Python package.
    fn texts(&mut self, chunk: &Chunk, field: &Field) -> Result<(), Failed<S>> {
        let (name, frame) = (Box::from(field.name.as_bytes()), chunk.frame);
        if chunk.m == 1 && chunk.n > 0 {
            let (found, want) = ((chunk.n, chunk.m), (None, Some(2)));
            self.tell(chunk, chunk.span.offset(), HoomdError::Shape { name, frame, found, want });
            return Ok(());
        }
        let width = usize::try_from(chunk.m).unwrap_or(usize::MAX);
        let mut wrong = None;
        self.pieces(chunk, width, &mut |offset, bytes| {
            for (row, text) in (0..).zip(bytes.chunks(width.max(1))) {
                let len = text.iter().position(|&byte| byte == 0).unwrap_or(text.len());
                let text = text.get(..len).unwrap_or_default();
                if let Err(error) = core::str::from_utf8(text) {
                    let at = usize_to_u64(error.valid_up_to());
                    let start = offset.saturating_add(u64::from(chunk.m).saturating_mul(row));
                    wrong.get_or_insert((start, at));
                }
            }
        })?;
        if let Some((start, at)) = wrong {
            let row = start.saturating_sub(chunk.span.offset());
            let row = row.checked_div(chunk.m.into()).unwrap_or(0);
            let offset = start.saturating_add(at);
            self.tell(chunk, offset, HoomdError::NotText { name, frame, row, at });
        }
        Ok(())
    }

    /// Passes whole rows of `width` bytes to `each`, with their offsets; none if a row is too long
    /// for a text.
    fn pieces(
        &self,
        chunk: &Chunk,
        width: usize,
        each: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<(), Failed<S>> {
        let rows = WINDOW.checked_div(width).unwrap_or(0);
        let Some(most) = NonZeroU64::new(usize_to_u64(rows.saturating_mul(width))) else {
            return Ok(());
        };
        let mut window = Vec::new();
        read_windows(self.subject, chunk.span, most, &mut window, |place, bytes| {
            each(place.offset(), bytes);
            Ok(true)
        })
    }

    fn tell(&mut self, chunk: &Chunk, offset: u64, error: HoomdError) {
        let is_note = matches!(error, HoomdError::Number { .. } | HoomdError::Dimensions { .. });
        self.found.push(Wrong { id: chunk.id, offset, error, is_note });
    }
}

fn find(chunks: &[Placed], name: &str) -> Option<Placed> {
    let is_it = |placed: &&Placed| placed.field.is_some_and(|field| field.name == name);
    chunks.iter().find(is_it).copied()
}
