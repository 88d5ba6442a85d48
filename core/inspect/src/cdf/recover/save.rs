//! Copies the values to the new file.

use super::records::{Records, there};
use super::{Recovery, Unwritten};
use crate::cdf::header::Header;
use crate::cdf::items::Variable;
use crate::recover::{self, copy};
use crate::subject::{Failed, Subject, WINDOW, read, stored};
use alloc::vec;
use alloc::vec::Vec;
use striae_core::cdf::Error;
use striae_core::cdf::layout::padded;
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{WriteAt, usize_to_u64};

/// Copies values to a new file.
pub(super) struct Copy<'a, S: ?Sized, W> {
    pub(super) store: &'a S,
    pub(super) out: &'a mut W,
    pub(super) progress: &'a mut dyn FnMut(u64),
    pub(super) window: Vec<u8>,
}

type Copied<S, W> = recover::Copied<S, W, Error>;

/// A variable of a record: where its values are in one of the old file and in one of the new file,
/// from the start of the record, and how many bytes they have.
struct Part {
    from: u64,
    to: u64,
    len: u64,
}

impl<S: Subject + ?Sized, W: WriteAt> Copy<'_, S, W> {
    /// Copies all that is saved.
    pub(super) fn all(&mut self, recovery: &Recovery) -> Copied<S, W> {
        let Recovery { old, header, places, records, .. } = recovery;
        let kept = places.kept.iter().filter_map(|new| old.variable_at(new.number));
        let mut parts = Vec::new();
        let to = header.first_record().map_or(0, Span::offset);
        for (from, new) in kept.zip(header.variables()) {
            match records.as_ref().filter(|_| from.is_record()) {
                None => self.fixed(old, from, new)?,
                Some(records) => {
                    let place = records.place(from).unwrap_or(Span::ZERO);
                    let skip = place.offset().saturating_sub(records.first.offset());
                    let len = place.len();
                    parts.push(Part { from: skip, to: new.begin().saturating_sub(to), len });
                }
            }
        }
        match records {
            Some(records) if records.saved > 0 && !parts.is_empty() => {
                self.records(old, header, records, &parts)
            }
            _ => Ok(()),
        }
    }

    /// Copies a span to another place. Holes stay holes.
    fn span(&mut self, from: Span, to: u64) -> Copied<S, W> {
        let Self { store, out, progress, window } = self;
        for part in stored(*store, from) {
            let part = part.map_err(|error| Unwritten::Read(DriveError::Store(error)))?;
            let at = to.saturating_add(part.offset().saturating_sub(from.offset()));
            copy((*store, part), (&mut **out, at), window, &mut **progress)?;
        }
        Ok(())
    }

    /// Copies a fixed variable; what the file does not have is filled.
    fn fixed(&mut self, old: &Header, from: Variable<'_>, new: Variable<'_>) -> Copied<S, W> {
        let (there, place) = (there(old, from), new.layout().first);
        if there.len() == place.len() {
            // With the padding, which is as good as any.
            let len = padded(place.len()).unwrap_or(place.len());
            let end = there.offset().saturating_add(len).min(old.head().file_len);
            let all = Span::between(there.offset(), end).unwrap_or(there);
            return self.span(all, place.offset());
        }
        self.span(there, place.offset())?;
        self.fill(new, place.skip(there.len()), there.len())
    }

    /// Writes fill values to `span`, of which `have` bytes of values are before.
    fn fill(&mut self, variable: Variable<'_>, span: Span, have: u64) -> Copied<S, W> {
        let size = usize::try_from(variable.nc_type().size()).unwrap_or(1);
        let fill = variable.fill_value().into_iter().take(size);
        if fill.clone().all(|byte| byte == 0) {
            return Ok(()); // as a hole
        }
        let start = have.checked_rem(usize_to_u64(size)).unwrap_or(0);
        let mut values = fill.cycle();
        if let Some(before) = usize::try_from(start).ok().and_then(|start| start.checked_sub(1)) {
            values.nth(before); // the value that is cut
        }
        for piece in span.pieces(WINDOW) {
            let len = usize::try_from(piece.len()).unwrap_or(0);
            self.window.clear();
            self.window.extend(values.by_ref().take(len));
            let written = self.out.write_all_at(piece.offset(), &self.window);
            written.map_err(Unwritten::Write)?;
        }
        Ok(())
    }

    /// Copies the records: all at once if a record of the new file is one of the old file.
    fn records(
        &mut self,
        old: &Header,
        header: &Header,
        records: &Records,
        parts: &[Part],
    ) -> Copied<S, W> {
        let to = header.first_record().map_or(0, Span::offset);
        let (recsize, saved) = (header.head().recsize, records.saved);
        let is_same = parts.iter().all(|part| part.from == part.to);
        if is_same && (saved == 1 || recsize == records.recsize) {
            let Some(span) = records.span() else { return Ok(()) };
            let end = header.file_len(saved).unwrap_or(0).saturating_sub(to);
            let end = span.offset().saturating_add(end).min(old.head().file_len);
            let all = Span::between(span.offset(), end).unwrap_or(span);
            return self.span(all, to);
        }
        let each = records.first.len().max(records.recsize).max(recsize).max(1);
        if each > WINDOW.get() {
            return self.one_by_one(header, records, parts);
        }
        let (mut number, mut values) = (0, Vec::new());
        let most = WINDOW.get().checked_div(each).unwrap_or(1).max(1);
        while let Some(left) = saved.checked_sub(number).filter(|&left| left > 0) {
            let start = records.first.offset();
            let start = start.saturating_add(number.saturating_mul(records.recsize));
            let end = records.span().map_or(start, Span::end);
            let rest = Span::between(start, end).unwrap_or(Span::ZERO);
            let data = self.store.first_data(rest);
            let data = data.map_err(|error| Unwritten::Read(DriveError::Store(error)))?;
            let Some(data) = data else { return Ok(()) };
            // Of a record with gaps, only the last values may be data: it is no hole then.
            let hole = data.offset().saturating_sub(start).checked_sub(records.first.len());
            let hole = hole
                .map_or(0, |more| more.checked_div(records.recsize).unwrap_or(0).saturating_add(1));
            if let Some(hole) = Some(hole.min(left)).filter(|&hole| hole > 0) {
                number = number.saturating_add(hole);
                continue;
            }
            let count = left.min(most);
            let skip = to.saturating_add(number.saturating_mul(recsize));
            let gathered =
                gather(self.store, records, (number, count), recsize, parts, &mut values);
            gathered.map_err(Unwritten::Read)?;
            self.out.write_all_at(skip, &values).map_err(Unwritten::Write)?;
            (self.progress)(usize_to_u64(values.len()));
            number = number.saturating_add(count);
        }
        Ok(())
    }

    /// Copies records that are longer than a window.
    fn one_by_one(&mut self, header: &Header, records: &Records, parts: &[Part]) -> Copied<S, W> {
        let to = header.first_record().map_or(0, Span::offset);
        let recsize = header.head().recsize;
        for number in 0..records.saved {
            let old = number.saturating_mul(records.recsize);
            let old = records.first.offset().saturating_add(old);
            let new = to.saturating_add(number.saturating_mul(recsize));
            for part in parts {
                let from = Span::new(old.saturating_add(part.from), part.len);
                self.span(from.unwrap_or(Span::ZERO), new.saturating_add(part.to))?;
            }
        }
        Ok(())
    }
}

/// Reads `count` records from `number` on, as those of the new file, which are `recsize` apart.
fn gather<S: Subject + ?Sized>(
    store: &S,
    records: &Records,
    (number, count): (u64, u64),
    recsize: u64,
    parts: &[Part],
    values: &mut Vec<u8>,
) -> Result<(), Failed<S, Error>> {
    let bytes = |len: u64| usize::try_from(len).unwrap_or(0);
    let start = number.saturating_mul(records.recsize);
    let start = records.first.offset().saturating_add(start);
    let before = count.saturating_sub(1).saturating_mul(records.recsize);
    let mut old = vec![0; bytes(before.saturating_add(records.first.len()))];
    read(store, start, &mut old)?;
    values.clear();
    values.resize(bytes(count.saturating_mul(recsize)), 0);
    for record in 0..count {
        let (from, to) = (record.saturating_mul(records.recsize), record.saturating_mul(recsize));
        for part in parts {
            let from = bytes(from.saturating_add(part.from));
            let to = bytes(to.saturating_add(part.to));
            let from = old.get(from..).and_then(|rest| rest.get(..bytes(part.len)));
            let to = values.get_mut(to..).and_then(|rest| rest.get_mut(..bytes(part.len)));
            if let (Some(from), Some(to)) = (from, to) {
                to.copy_from_slice(from);
            }
        }
    }
    Ok(())
}
