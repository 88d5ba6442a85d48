//! [`FindSeal`]: the search for the copies of a seal.

use super::copy::{COPIES, Duplicate, Facts, Found, HEAD_LEN, Seal, SealPlace, Shape, TIE_LEN};
use super::copy::{head_crc, heads};
use crate::blob::error::Error;
use crate::blob::raw::{SealHead, SealTie};
use crate::field::FieldId;
use crate::integrity::Checksum;
use crate::span::Span;
use crate::step::{ReadMachine, ReadStep, SumOf};
use zerocopy::FromBytes;

/// A machine that finds the copies of a seal, and checks their own checksums.
#[derive(Debug)]
pub struct FindSeal {
    gap: Span,
    checksum: Checksum,
    heads: [Span; COPIES],
    found: Found,
    /// The copy that comes next.
    number: usize,
    /// Its table, if its head was read.
    table: Option<Table>,
}

/// The tie and the table of a copy.
#[derive(Debug)]
struct Table {
    /// The tie, until it was read.
    tie: Span,
    sum: SumOf,
    /// The checksum that the head has.
    stored: u32,
}

impl FindSeal {
    /// Looks for a seal in a gap, which is from the end of the header to the first value, or to
    /// the end of the file if it ends before.
    #[must_use]
    pub fn new(gap: Span, checksum: Checksum) -> Self {
        let (heads, number) = match heads(gap) {
            Some(heads) => (heads, 0),
            None => ([Span::ZERO; COPIES], COPIES),
        };
        Self { gap, checksum, heads, found: Found::default(), number, table: None }
    }

    fn set(&mut self, copy: Duplicate) {
        if let Some(place) = self.found.copies.get_mut(self.number) {
            *place = copy;
        }
        (self.number, self.table) = (self.number.saturating_add(1), None);
    }

    fn head(&self) -> Span {
        self.heads.get(self.number).copied().unwrap_or(Span::ZERO)
    }

    /// Parses a head.
    fn parse(&self, head: &SealHead) -> Result<Option<Seal>, Error> {
        if head.magic != SealHead::MAGIC {
            return Ok(None);
        }
        let at = |field: FieldId| self.head().offset().saturating_add(field.offset().into());
        let (stored, computed) = (head.head_crc.get(), head_crc(head, self.checksum));
        if stored != computed {
            let field = SealHead::head_crc;
            return Err(Error::Checksum { field, offset: at(field), stored, computed });
        }
        let wrong = |field: FieldId, value: u64, expected: u64| {
            Err(Error::Sealed { field, offset: at(field), value, expected })
        };
        let tied = match head.version.get() {
            SealHead::VERSION => true,
            SealHead::UNTIED => false,
            value => return wrong(SealHead::version, value.into(), SealHead::VERSION.into()),
        };
        let shape = Shape { nblobs: head.nblobs.get(), nvars: head.nvars.get() };
        let places = shape.places(self.gap, tied);
        let place = places.and_then(|places| places.get(self.number).copied());
        let Some(place) = place else {
            if head.values_begin.get() != self.gap.end() {
                return wrong(SealHead::values_begin, head.values_begin.get(), self.gap.end());
            }
            let (field, Shape { nblobs, nvars }) = (SealHead::nblobs, shape);
            let (offset, gap) = (at(field), self.gap.len());
            return Err(Error::SealedRows { field, offset, nblobs, nvars, gap });
        };
        let facts = Facts {
            shape,
            header_len: head.header_len.get(),
            header_crc: head.header_crc.get(),
            values_begin: head.values_begin.get(),
            numrecs: head.numrecs.get(),
            tie: None, // it is read next
        };
        Ok(Some(Seal { facts, place }))
    }
}

impl ReadMachine for FindSeal {
    type Output = Found;
    type Error = Error;

    fn poll(&mut self) -> ReadStep<Found> {
        if self.number >= COPIES {
            return ReadStep::Done(self.found);
        }
        let (Some(table), Some(Duplicate::Whole(seal))) =
            (&mut self.table, self.found.copies.get(self.number))
        else {
            let (offset, want) = (self.head().offset(), HEAD_LEN);
            return ReadStep::Read { offset, need: size_of::<SealHead>(), want };
        };
        if !table.tie.is_empty() {
            let (offset, want) = (table.tie.offset(), TIE_LEN);
            return ReadStep::Read { offset, need: size_of::<SealTie>(), want };
        }
        let (stored, seal) = (table.stored, *seal);
        match table.sum.poll() {
            ReadStep::Read { offset, need, want } => ReadStep::Read { offset, need, want },
            ReadStep::Done(computed) => {
                let field = SealHead::table_crc;
                let offset = seal.place.head.offset().saturating_add(field.offset().into());
                self.set(match stored == computed {
                    true => Duplicate::Whole(seal),
                    false => {
                        Duplicate::Damaged(Error::Checksum { field, offset, stored, computed })
                    }
                });
                self.poll()
            }
        }
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let place = self.found.copies.get_mut(self.number);
        if let (Some(table), Some(Duplicate::Whole(seal))) = (&mut self.table, place) {
            if table.tie.is_empty() {
                let Ok(()) = table.sum.feed(bytes);
            } else if let Ok((tie, _)) = SealTie::ref_from_prefix(bytes) {
                seal.facts.tie = Some(tie.into());
                let crc = seal.facts.tie_crc(self.checksum);
                table.tie = Span::ZERO;
                table.sum = SumOf::new(seal.place.table, crc, self.checksum);
            }
            return Ok(());
        }
        let Ok((head, _)) = SealHead::ref_from_prefix(bytes) else { return Ok(()) };
        match self.parse(head) {
            Ok(None) => self.set(Duplicate::None),
            Err(error) => self.set(Duplicate::Damaged(error)),
            Ok(Some(seal)) => {
                let SealPlace { tie, table, .. } = seal.place;
                let sum = SumOf::new(table, 0, self.checksum);
                self.table = Some(Table { tie, sum, stored: head.table_crc.get() });
                if let Some(place) = self.found.copies.get_mut(self.number) {
                    *place = Duplicate::Whole(seal);
                }
            }
        }
        Ok(())
    }
}
