//! Recovers what is left of a damaged file.
//!
//! The new file has the variables before the first damage in the header, at their old places, and
//! the whole records. If the number of records is 0, it may have been lost: then the records up to
//! the last byte that is not null are saved. The bytes of the header, except the two numbers, and
//! the values stay as they were.

use super::header::Header;
use super::items::Variable;
use crate::subject::{Failed, WINDOW, read, read_pieces};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use striae_core::cdf::define::FILL_VALUE;
use striae_core::cdf::layout::{LargeVars, padded};
use striae_core::cdf::{Error, Layout, Type};
use striae_core::span::Span;
use striae_core::step::DriveError;
use striae_core::store::{ReadAt, WriteAt, usize_to_u64};

/// The most bytes that are filled in a new file, unless the damaged one is longer: sizes in a
/// damaged header can be anything.
const MOST_FILLED: u64 = 1 << 24;

/// What can be recovered from a file.
#[derive(Debug)]
pub struct Recovery {
    /// The header of the new file.
    header: Header,
    damage: Option<Error>,
    lost_variables: u64,
    /// The bytes from one record to the next in the damaged file; `None` if it is not known.
    recsize: Option<u64>,
    records: Records,
    filled: Vec<Filled>,
}

/// The records of the damaged file and of the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Records {
    /// The number in the header; `None` if it is that of a stream.
    pub claimed: Option<u64>,
    /// The number of saved records.
    pub saved: u64,
}

/// A fixed variable whose last bytes are not in the damaged file. They are fill values in the new
/// one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The name of the variable.
    pub name: String,
    /// The number of the missing bytes.
    pub bytes: u64,
}

/// The reason why a file was not saved.
#[derive(Debug)]
pub enum Unwritten<R, W> {
    /// The damaged file cannot be read.
    Read(R),
    /// The new file cannot be written.
    Write(W),
}

impl<R: fmt::Display, W: fmt::Display> fmt::Display for Unwritten<R, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::Write(error) => error.fmt(f),
        }
    }
}

impl Recovery {
    /// Finds what can be recovered from a file.
    ///
    /// # Errors
    /// [`Error`] if no variable can be saved, since the damage is before `var_list`; an error of
    /// the store.
    pub fn examine<S: ReadAt + ?Sized>(store: &S) -> Result<Self, Failed<S, Error>> {
        let (old, stopped) = Header::examine(store, &mut Err)?;
        let all = old.head().nvars;
        if let (0, Some(error)) = (all, stopped) {
            return Err(DriveError::Format(error));
        }
        let mut keep = keep_small(&old);
        let mut damage = stopped;
        // Each time, fewer variables stay.
        let header = loop {
            match old.of_first(keep, old.head().numrecs) {
                Ok(header) => match header.first_missing() {
                    Some(fewer) if fewer < keep => keep = fewer,
                    _ => break header,
                },
                Err(error) => {
                    damage = damage.or(Some(error));
                    let fewer = old.place_of(&error).filter(|&fewer| fewer < keep);
                    keep = fewer.ok_or(DriveError::Format(error))?;
                }
            }
        };
        let claimed = Some(old.head().numrecs).filter(|_| !old.head().is_streaming);
        let is_whole = usize_to_u64(old.variables().len()) == all && stopped.is_none();
        let recsize = match is_whole {
            true => Some(old.head().recsize),
            false => guess_recsize(&header, claimed),
        };
        let written = match claimed {
            Some(0) => last_byte(store, header.first_record())?,
            _ => header.head().file_len,
        };
        let saved = header.saved_records(claimed, recsize, written);
        let header = old.of_first(keep, saved).map_err(DriveError::Format)?;
        let filled = header.filled();
        let records = Records { claimed, saved };
        let lost_variables = all.saturating_sub(usize_to_u64(keep));
        Ok(Self { header, damage, lost_variables, recsize, records, filled })
    }

    /// The header of the new file.
    #[must_use]
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// The first damage in the header.
    #[must_use]
    pub const fn damage(&self) -> Option<&Error> {
        self.damage.as_ref()
    }

    /// The number of variables that are not in the new file.
    #[must_use]
    pub const fn lost_variables(&self) -> u64 {
        self.lost_variables
    }

    /// The records before and after.
    #[must_use]
    pub const fn records(&self) -> Records {
        self.records
    }

    /// The variables with missing values.
    #[must_use]
    pub fn filled(&self) -> &[Filled] {
        &self.filled
    }

    /// The place of the first record, if the saved records overlap: values of one were overwritten
    /// by those of the next.
    #[must_use]
    pub fn overlap(&self) -> Option<Span> {
        self.header.overlap(self.records.saved)
    }

    /// Whether all that the header says is saved. The number of records of a stream follows from
    /// the length of the file.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let Records { claimed, saved } = self.records;
        let is_all = claimed.is_none_or(|claimed| claimed == saved);
        let is_sound = self.damage.is_none() && self.overlap().is_none();
        is_all && is_sound && self.lost_variables == 0 && self.filled.is_empty()
    }

    /// The length of the new file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.header.file_len(self.records.saved).unwrap_or(0)
    }

    /// Writes the new file to `out`, which is empty. `progress` gets the length of each copied
    /// piece.
    ///
    /// # Errors
    /// An error of the store; an error of `out`.
    pub fn save<S: ReadAt + ?Sized, W: WriteAt>(
        &self,
        store: &S,
        out: &mut W,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(), Unwritten<Failed<S, Error>, W::Error>> {
        let mut copy = Copy { store, out, progress, window: Vec::new() };
        copy.out.set_size(self.bytes()).map_err(Unwritten::Write)?;
        for variable in self.header.variables().filter(|variable| !variable.is_record()) {
            copy.fixed(&self.header, variable)?;
        }
        copy.records(self)?;
        // Last: without a header it is no netCDF file.
        copy.out.write_all_at(0, self.header.bytes()).map_err(Unwritten::Write)
    }
}

/// The number of variables before one that is too large for its version.
fn keep_small(header: &Header) -> usize {
    let mut large = LargeVars::new(header.version());
    let wrong = header.variables().find_map(|variable| {
        let len = variable.layout().first.len();
        large.add(variable.varid(), len, variable.is_record()).err()
    });
    let wrong = wrong.or_else(|| large.not_last(header.first_record().is_some()));
    let count = header.variables().len();
    wrong.and_then(|number| usize::try_from(number).ok()).map_or(count, |number| number.min(count))
}

/// The bytes from one record to the next if only the first variables are known: those of all
/// records divided by their number. The record of a single one needs none.
fn guess_recsize(header: &Header, claimed: Option<u64>) -> Option<u64> {
    let begin = header.first_record()?.offset();
    let all = header.head().file_len.checked_sub(begin)?;
    let claimed = claimed.filter(|&claimed| claimed > 1)?;
    let recsize = all.checked_div(claimed).filter(|_| all.checked_rem(claimed) == Some(0))?;
    Some(recsize).filter(|&recsize| recsize >= header.head().recsize)
}

impl Header {
    /// The header with only its first variables, in its first bytes.
    fn of_first(&self, count: usize, numrecs: u64) -> Result<Self, Error> {
        let last = count.checked_sub(1).and_then(|last| self.variables().nth(last));
        let head = self.head();
        let end = last.map_or(head.vars.offset(), Variable::end);
        let mut bytes = self.part(Span::between(0, end).unwrap_or(Span::ZERO)).to_vec();
        let len = self.version().non_neg_len();
        let nvars_at = head.vars.offset().saturating_sub(len);
        put(&mut bytes, 4, len, numrecs);
        put(&mut bytes, nvars_at, len, usize_to_u64(count));
        Self::of_file_start(bytes, head.file_len)
    }

    /// The first fixed variable that is not saved, since too many values would be made.
    fn first_missing(&self) -> Option<usize> {
        let mut left = MOST_FILLED.max(self.head().file_len);
        self.variables().position(|variable| {
            let rest = left.checked_sub(self.missing(variable));
            left = rest.unwrap_or(0);
            rest.is_none()
        })
    }

    /// The number of bytes of a fixed variable that are not in the file.
    fn missing(&self, variable: Variable<'_>) -> u64 {
        let first = variable.layout().first;
        match variable.is_record() {
            true => 0,
            false => first.end().saturating_sub(self.head().file_len).min(first.len()),
        }
    }

    /// The variable whose `begin` an error is about.
    fn place_of(&self, error: &Error) -> Option<usize> {
        let Error::TooSmall { offset, .. } = *error else { return None };
        self.variables().position(|variable| variable.var().begin_at == offset)
    }

    /// The number of records to save: whole ones, and not more than claimed. A number of 0 may be
    /// one that was never written: then records up to the byte `written` count.
    fn saved_records(&self, claimed: Option<u64>, recsize: Option<u64>, written: u64) -> u64 {
        let Some(first) = self.first_record() else { return claimed.unwrap_or(0) };
        let whole = whole_records(first, recsize, self.head().file_len);
        let most = match claimed {
            None => self.version().streaming().saturating_sub(1),
            Some(0) => match Span::between(first.offset(), written) {
                Some(used) if !used.is_empty() => {
                    recsize.map_or(1, |recsize| used.len().div_ceil(recsize.max(1)))
                }
                _ => 0,
            },
            Some(claimed) => claimed,
        };
        whole.min(most)
    }

    /// The fixed variables that the file does not have to their end.
    fn filled(&self) -> Vec<Filled> {
        let filled = |variable: Variable<'_>| {
            let bytes = self.missing(variable);
            (bytes > 0).then(|| Filled { name: variable.name().to_string(), bytes })
        };
        self.variables().filter_map(filled).collect()
    }
}

/// The end of the last byte of the file that is not null; the start of the records if there is none
/// after it.
fn last_byte<S>(store: &S, records: Option<Span>) -> Result<u64, Failed<S, Error>>
where
    S: ReadAt + ?Sized,
{
    let Some(records) = records else { return Ok(0) };
    let mut end = store.size().map_err(DriveError::Store)?;
    let mut window = Vec::new();
    while end > records.offset() {
        let start = end.saturating_sub(WINDOW.get()).max(records.offset());
        let len = usize::try_from(end.saturating_sub(start)).unwrap_or(0);
        window.resize(len, 0);
        read(store, start, &mut window)?;
        if let Some(last) = window.iter().rposition(|&byte| byte != 0) {
            return Ok(start.saturating_add(usize_to_u64(last)).saturating_add(1));
        }
        end = start;
    }
    Ok(records.offset())
}

/// The number of whole records in a file, if `first` is the first one.
fn whole_records(first: Span, recsize: Option<u64>, file_len: u64) -> u64 {
    let Some(room) = file_len.checked_sub(first.end()) else { return 0 };
    let more = recsize.and_then(|recsize| room.checked_div(recsize)).unwrap_or(0);
    more.saturating_add(1)
}

/// Stores a NON_NEG of `len` bytes.
fn put(bytes: &mut [u8], at: u64, len: u64, value: u64) {
    let all = value.to_be_bytes();
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let len = usize::try_from(len).unwrap_or(0);
    let low = all.get(all.len().saturating_sub(len)..).unwrap_or_default();
    if let Some(field) = bytes.get_mut(at..).and_then(|rest| rest.get_mut(..len)) {
        field.copy_from_slice(low);
    }
}

/// Copies values to a new file.
struct Copy<'a, S: ?Sized, W> {
    store: &'a S,
    out: &'a mut W,
    progress: &'a mut dyn FnMut(u64),
    window: Vec<u8>,
}

type Copied<S, W> = Result<(), Unwritten<Failed<S, Error>, <W as ReadAt>::Error>>;

impl<S: ReadAt + ?Sized, W: WriteAt> Copy<'_, S, W> {
    /// Copies a span to another place.
    fn span(&mut self, from: Span, to: u64) -> Copied<S, W> {
        let (mut at, mut failed) = (to, None);
        let (out, progress) = (&mut *self.out, &mut *self.progress);
        let read = read_pieces(self.store, from, &mut self.window, &mut |bytes| {
            failed = out.write_all_at(at, bytes).err();
            at = at.saturating_add(usize_to_u64(bytes.len()));
            progress(usize_to_u64(bytes.len()));
            failed.is_none()
        });
        match failed {
            Some(error) => Err(Unwritten::Write(error)),
            None => read.map_err(Unwritten::Read),
        }
    }

    /// Copies a fixed variable; what the file does not have is filled.
    fn fixed(&mut self, header: &Header, variable: Variable<'_>) -> Copied<S, W> {
        let first = variable.layout().first;
        let have = header.head().file_len.saturating_sub(first.offset()).min(first.len());
        // With the padding, which is as good as any.
        let end = first.offset().saturating_add(padded(first.len()).unwrap_or(u64::MAX));
        let end = end.min(header.head().file_len);
        self.span(Span::between(first.offset(), end).unwrap_or(Span::ZERO), first.offset())?;
        let missing = first.skip(have);
        let fill = fill_value(variable);
        let size = fill.len().max(1);
        let start = have.checked_rem(usize_to_u64(size)).unwrap_or(0);
        let mut values = fill.iter().copied().cycle();
        if let Some(before) = usize::try_from(start).ok().and_then(|start| start.checked_sub(1)) {
            values.nth(before); // the value that is cut
        }
        for piece in missing.pieces(WINDOW) {
            let len = usize::try_from(piece.len()).unwrap_or(0);
            self.window.clear();
            self.window.extend(values.by_ref().take(len));
            let written = self.out.write_all_at(piece.offset(), &self.window);
            written.map_err(Unwritten::Write)?;
        }
        Ok(())
    }

    /// Copies the records.
    fn records(&mut self, recovery: &Recovery) -> Copied<S, W> {
        let (header, saved) = (&recovery.header, recovery.records.saved);
        let Some(first) = header.first_record().filter(|_| saved > 0) else { return Ok(()) };
        let (old, new) = (recovery.recsize, header.head().recsize);
        if old == Some(new) {
            let end = header.file_len(saved).unwrap_or(first.end()).min(header.head().file_len);
            let all = Span::between(first.offset(), end).unwrap_or(first);
            return self.span(all, first.offset());
        }
        for number in 0..saved {
            for variable in header.variables().filter(|variable| variable.is_record()) {
                let layout = variable.layout();
                let place = |recsize| Layout { recsize: Some(recsize), ..layout }.record(number);
                let from = place(old.unwrap_or(new)).unwrap_or(layout.first);
                let to = place(new).unwrap_or(layout.first);
                self.span(from, to.offset())?;
            }
        }
        Ok(())
    }
}

/// The fill value as big-endian bytes.
fn fill_value(variable: Variable<'_>) -> Vec<u8> {
    let nc_type: Type = variable.nc_type();
    let own = variable.attribute(FILL_VALUE);
    let own = own.filter(|own| own.nc_type() == nc_type && own.count() == 1);
    match own {
        Some(own) => own.bytes().to_vec(),
        None => {
            let size = usize::try_from(nc_type.size()).unwrap_or(1);
            nc_type.fill().iter().copied().take(size).collect()
        }
    }
}
