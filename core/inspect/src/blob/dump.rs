//! Lists every metadata field of a subfile, with its offset, bytes and value.

use super::Flaw;
use super::container::{Container, bytes_of, container, datasets, parts};
use super::grammar::{Grammar, order_of};
use super::sealed::shape;
use super::subfile::gap;
use crate::cdf;
use crate::dump::{Each, Line, Lines, WINDOW};
use crate::subject::Failed;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::blob::raw::{SealHead, SealRow, SealTie};
use striae_core::blob::seal::{COPIES, Duplicate, FindSeal, Found, SealPlace, Shape, heads};
use striae_core::endian::ByteOrder;
use striae_core::field::{Field, Table};
use striae_core::integrity::crc32c;
use striae_core::span::Span;
use striae_core::step::{DriveError, drive_read};
use striae_core::store::ReadAt;
use zerocopy::{FromBytes, IntoBytes};

/// Passes each field of a subfile to `each`: those of its header, as [`cdf::dump`] does, then those
/// of both copies of its seal, whether they are right or not. In an HDF5 subfile the first ones are
/// the fields of `header_blob`, with their offsets in the file.
///
/// The index of a field of a seal begins with the number of the copy: `seal.numrecs[0]`. That of a
/// row continues with the variable and the blob: `seal_row.crc[0][17][3]`. If the head of a copy is
/// damaged, its other parts are where the head of the other copy has them, or else the header of
/// the subfile. What is wrong with a copy follows it.
///
/// # Errors
/// [`Flaw`] if the header, the container, or the seal in both copies is damaged; the fields before
/// that, and all of the seal, are passed first. An error of the store; an error of `each`.
pub fn dump<'a, S: ReadAt>(store: &'a S, each: &'a mut Each<'a, S>) -> Result<(), Failed<S, Flaw>> {
    let mut failed = None;
    let mut tell = |line| {
        failed = each(line).err();
        failed.is_none()
    };
    if container(store)? == Container::Cdf {
        cdf::each_line(store, ByteOrder::Big, &mut tell).map_err(Flaw::of_cdf)?;
    } else {
        let (header, _) = datasets(store)?;
        let bytes = bytes_of(store, header)?;
        let done = cdf::each_line(&bytes[..], order_of(&bytes), &mut |mut line| {
            if let Line::Field { offset, .. } = &mut line {
                *offset = offset.saturating_add(header.offset());
            }
            tell(line)
        });
        let in_file = |error| Flaw::of_header_blob(error, header.offset());
        done.map_err(Flaw::of_cdf).map_err(in_file)?;
    }
    failed.map_or(Ok(()), |error| Err(DriveError::Store(error)))?;
    match Seal::find(Lines::new(store, each)?)? {
        Some(seal) => seal.copies(),
        None => Ok(()),
    }
}

/// A seal of which a copy has the magic.
struct Seal<'a, S: ReadAt> {
    out: Lines<'a, S, Flaw>,
    gap: Span,
    /// What is in the places of the heads; `None` if the file ends before.
    heads: [Option<SealHead>; COPIES],
    /// What the seal has by the header of the subfile.
    shape: Option<Shape>,
}

impl<'a, S: ReadAt> Seal<'a, S> {
    /// Looks for a seal where readers do: in the gap, or where the gap of a sealed subfile is if
    /// the header says where its first value is by mistake. A head that is right knows it, too.
    fn find(mut out: Lines<'a, S, Flaw>) -> Result<Option<Self>, Failed<S, Flaw>> {
        let (header, end, _, data) = match parts(out.store, None) {
            Err(DriveError::Format(_)) => return Ok(None), // it has no gap that is known
            parts => parts?,
        };
        let shape = Grammar::new(&header, data.is_none()).ok().as_ref().and_then(shape);
        let usual = shape.and_then(|shape| shape.gap_after(end));
        let gaps = [Some(gap(&header, end, data)), usual].into_iter().flatten();
        let is_in = |gap: &Span| gap.fits(out.file_len);
        let (mut inside, outside): (Vec<_>, Vec<_>) = gaps.partition(is_in);
        inside.extend(outside);
        for mut gap in inside {
            let mut heads = heads_in(&mut out, gap)?;
            if !heads.iter().flatten().any(|head| head.magic == SealHead::MAGIC) {
                continue;
            }
            let sound = heads.iter().flatten().find(|head| is_sound(head));
            let told = sound.and_then(|head| Span::between(end, head.values_begin.get()));
            if let Some(told) = told.filter(|told| *told != gap && told.fits(out.file_len)) {
                (gap, heads) = (told, heads_in(&mut out, told)?);
            }
            return Ok(Some(Self { out, gap, heads, shape }));
        }
        Ok(None)
    }

    /// Passes on all fields of both copies, and what is wrong with each.
    fn copies(mut self) -> Result<(), Failed<S, Flaw>> {
        let found = self.judged()?;
        let places = heads(self.gap).unwrap_or([Span::ZERO; COPIES]);
        for (number, (head, judged)) in (0..).zip(places.into_iter().zip(found.copies)) {
            self.structure(SealHead::TABLE, head, &[number])?;
            self.tie_and_table(number)?;
            let wrong = match judged {
                Duplicate::Whole(_) => continue,
                _ if !self.gap.fits(self.out.file_len) => "the file is cut".to_string(),
                Duplicate::Damaged(error) => error.to_string(),
                Duplicate::None => "it does not have the magic".to_string(),
            };
            self.out.derived("damaged seal", format!("copy {number}: {wrong}"))?;
        }
        let is_whole = |copy: &Duplicate| matches!(copy, Duplicate::Whole(_));
        let error = found.copies.iter().find_map(|copy| match copy {
            Duplicate::Damaged(error) => Some(*error),
            _ => None,
        });
        match error.filter(|_| !found.copies.iter().any(is_whole)) {
            Some(error) => Err(DriveError::Format(error.into())),
            None => Ok(()),
        }
    }

    /// What readers find; nothing if the file is cut before the first value.
    fn judged(&self) -> Result<Found, Failed<S, Flaw>> {
        if !self.gap.fits(self.out.file_len) {
            return Ok(Found::default());
        }
        let mut find = FindSeal::new(self.gap, crc32c);
        drive_read(&mut find, self.out.store, &mut vec![0; WINDOW]).map_err(Flaw::of_blob)
    }

    /// Where the parts of a copy are, and how many rows it has.
    fn place(&self, number: usize) -> Option<(SealPlace, Shape)> {
        let own = self.heads.get(number)?.as_ref();
        let others = self.heads.iter().flatten();
        let sound = own.into_iter().chain(others).find(|head| is_sound(head));
        let (shape, is_tied) = match sound {
            Some(head) => {
                let tied = match head.version.get() {
                    SealHead::VERSION => true,
                    SealHead::UNTIED => false,
                    _ => return None, // it may have anything
                };
                (Shape::new(head.nblobs.get().into(), head.nvars.get().into())?, tied)
            }
            None => (self.shape?, own?.version.get() != SealHead::UNTIED),
        };
        Some((*shape.places(self.gap, is_tied)?.get(number)?, shape))
    }

    /// The tie of a copy, if it has one, and its table, as far as the file goes.
    fn tie_and_table(&mut self, copy: u64) -> Result<(), Failed<S, Flaw>> {
        let place = usize::try_from(copy).ok().and_then(|number| self.place(number));
        let Some((SealPlace { tie, table, .. }, shape)) = place else { return Ok(()) };
        if !tie.is_empty() {
            self.structure(SealTie::TABLE, tie, &[copy])?;
        }
        for row in 0..shape.rows() {
            let Some(span) = table.entry(row, SealRow::LEN) else { break };
            let nblobs = u64::from(shape.nblobs());
            let (variable, blob) = (row.checked_div(nblobs), row.checked_rem(nblobs));
            let index = [copy, variable.unwrap_or(0), blob.unwrap_or(0)];
            if !span.fits(self.out.file_len) {
                break;
            }
            self.structure(SealRow::TABLE, span, &index)?;
        }
        Ok(())
    }

    /// The fields of a structure, if the file has it.
    fn structure(
        &mut self,
        table: &Table,
        place: Span,
        index: &[u64],
    ) -> Result<(), Failed<S, Flaw>> {
        match place.fits(self.out.file_len) {
            true => self.out.structure(table, (place.offset(), index), value_of),
            false => Ok(()),
        }
    }
}

/// The heads in a gap; `None` for one that is not in the file.
fn heads_in<S: ReadAt>(
    out: &mut Lines<'_, S, Flaw>,
    gap: Span,
) -> Result<[Option<SealHead>; COPIES], Failed<S, Flaw>> {
    let mut found = [None; COPIES];
    for (head, place) in found.iter_mut().zip(heads(gap).into_iter().flatten()) {
        if place.fits(out.file_len) {
            let bytes = out.bytes(place.offset(), size_of::<SealHead>())?;
            *head = SealHead::read_from_bytes(bytes).ok();
        }
    }
    Ok(found)
}

/// Whether a head has the magic and is as its checksum says.
fn is_sound(head: &SealHead) -> bool {
    let covered = usize::from(SealHead::head_crc.offset());
    let computed = crc32c(0, head.as_bytes().get(..covered).unwrap_or_default());
    head.magic == SealHead::MAGIC && head.head_crc.get() == computed
}

fn value_of(field: &Field, bytes: &[u8]) -> String {
    let number = bytes.iter().fold(0_u128, |all, &byte| all << 8 | u128::from(byte));
    match field.name {
        "magic" => format!("\"{}\"", bytes.escape_ascii()),
        "set" => format!("{number:#034x}"),
        name if name.ends_with("crc") => format!("{number:#010x}"),
        _ => number.to_string(),
    }
}
