//! A set that all ranks write.

use super::append::Old;
use super::plan::{Plan, Variable};
use super::{of_striae, refused, size};
use crate::collective::{Collective, Fold};
use crate::error::{Error, Failure};
use crate::operation::Operation;
use std::io;
use std::mem::take;
use std::sync::Arc;
use striae::cdf::Element;
use striae::posix::PosixFile;
use striae::publish::Publish;
use striae_core::blob::book::Sum;
use striae_core::blob::sealing::{NewSeal, complete};
use striae_core::blob::{Column, Fingerprint, Pen, Records, Refusal};
use striae_core::cdf::Values;
use striae_core::endian::ByteOrder;
use striae_core::integrity::Crc32cParts;
use striae_core::store::usize_to_u64;
use zerocopy::IntoBytes;

/// Pieces that follow each other are joined up to this length.
const RUN: usize = 1 << 20;

/// A run of so many bytes is written before it grows longer, from memory that is used again.
const LONG_RUN: usize = 1 << 18;

/// Values of so many bytes are written at once.
const LONG: usize = 1 << 16;

/// Bytes of values that are read at once for their checksum.
const SUM_WINDOW: usize = 1 << 16;

/// Bytes of long values that are turned into the byte order of the file at once.
const WINDOW: usize = 1 << 17;

/// A new set, or new records of a set, that all ranks write, each its own blobs.
///
/// [`put`](Self::put) is a call of this rank alone. Short values are kept in memory if those of
/// variables that follow each other make long writes, up to the bytes that the
/// [builder](super::Builder::buffer) allows. What lies between values of other ranks, and 64 KiB
/// and more, are written at once. If the writer is dropped without [`close`](Self::close), no new
/// file is left, or no new record.
#[derive(Debug)]
pub struct Writer<C> {
    pub(super) whole: C,
    pub(super) part: C,
    file: Arc<PosixFile>,
    /// The hidden files, at rank 0.
    publish: Option<Publish>,
    /// The subfile, if it was closed before.
    pub(super) old: Option<Old>,
    pub(super) plan: Plan,
    /// What this rank has put.
    pub(super) pen: Pen<Vec<u64>, Vec<Sum>>,
    /// Values that are not in the file yet, with their offsets, and how many bytes of them.
    held: Vec<(u64, Vec<u8>)>,
    held_len: usize,
    /// Memory for values in the byte order of the file.
    window: Vec<u8>,
    buffer: usize,
    /// Whether the files are to be synced.
    is_durable: bool,
    /// The reason why this rank failed, until the other ranks get it.
    untold: Option<Failure>,
}

impl<C: Collective> Writer<C> {
    pub(super) fn new(
        (whole, part): (C, C),
        file: Arc<PosixFile>,
        publish: Option<Publish>,
        plan: Plan,
        (buffer, is_durable): (usize, bool),
    ) -> Self {
        let (nvars, is_sealed) = (plan.variables.len(), plan.seal.is_some());
        let sums = vec![Sum::default(); if is_sealed { nvars } else { 0 }];
        let records = Records { before: None, all: plan.records };
        Self {
            whole,
            part,
            file,
            publish,
            old: None,
            plan,
            pen: Pen::new(records, nvars, Vec::new(), sums),
            held: Vec::new(),
            held_len: 0,
            window: Vec::new(),
            buffer,
            is_durable,
            untold: None,
        }
    }

    /// The communicator of the set.
    pub const fn comm(&self) -> &C {
        &self.whole
    }

    /// The communicator of this rank's subfile.
    pub const fn part(&self) -> &C {
        &self.part
    }

    /// The number of records that the set had when it was opened; 0 of a new set.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.pen.records().first()
    }

    /// Whether this is the first rank of its subfile, which writes the variables that are not
    /// decomposed.
    #[must_use]
    pub const fn is_first(&self) -> bool {
        self.plan.blob == 0
    }

    /// Takes the rank's elements of a record of a variable, in the order of its requests; or all
    /// values of a variable that is not decomposed, if this is the first rank of its subfile. A
    /// variable without records has record 0.
    ///
    /// # Errors
    /// [`Code::Refused`](crate::Code::Refused) for a variable that the set does not have, values of
    /// another type or number, or a record past the last one; the set is unchanged. An error of the
    /// operating system, if values had to be written; the next collective reports it to all ranks.
    pub fn put<T: Element>(
        &mut self,
        name: &str,
        record: u64,
        values: &[T],
    ) -> Result<(), Failure> {
        let number = self.plan.names.get(name).copied();
        let variable = number.and_then(|number| self.plan.variables.get(number));
        let (Some(number), Some(variable)) = (number, variable) else {
            return Err(refused(format_args!("no variable {}", name.escape_debug())));
        };
        let Variable { column, held, .. } = *variable;
        let nc_type = column.nc_type;
        let bytes = values.as_bytes();
        if !T::holds(nc_type) {
            return Err(refused(format_args!("variable {name} has the type {nc_type}")));
        }
        let place = self.pen.records().place(column, held, record, usize_to_u64(bytes.len()));
        let place = place.map_err(|refusal| match refusal {
            Refusal::Stored => {
                refused(format_args!("variable {name} has its record {record} already"))
            }
            Refusal::Past { .. } => refused(format_args!("variable {name} has no record {record}")),
            Refusal::Len { given, len } => {
                refused(format_args!("{given} bytes of variable {name}, this rank has {len}"))
            }
            Refusal::Size => size(),
        })?;
        let values = Values::new(nc_type, ByteOrder::HOST, bytes);
        let before = self.pen.sum(number);
        let is_held = bytes.len() < LONG && self.may_join(column);
        let crc = match is_held {
            true => self.hold(place.offset(), values, before.map(Sum::crc))?,
            false => self.write_through(place.offset(), values, before.map(Sum::crc))?,
        };
        self.pen.wrote(number, column, record, before.zip(crc));
        if self.held_len > self.buffer { self.write_out() } else { Ok(()) }
    }

    /// Whether this rank's values of the variable lie beside those of other variables: not if those
    /// of other ranks are between them.
    fn may_join(&self, column: Column) -> bool {
        let is_alone = column.decomposition.is_none() || self.part.size() == 1;
        is_alone || self.plan.order() == ByteOrder::Little
    }

    /// Keeps short values until they are written. Those that follow what is held are one run with
    /// it, which is written when it is long. Returns the checksum that they continue.
    fn hold(
        &mut self,
        place: u64,
        values: Values<'_>,
        crc: Option<u32>,
    ) -> Result<Option<u32>, Failure> {
        let end = |(start, run): &(u64, Vec<u8>)| start.saturating_add(usize_to_u64(run.len()));
        let follows = matches!(&self.held[..], [one] if end(one) == place || one.1.is_empty());
        if !follows {
            self.held.push((place, Vec::new()));
        }
        let Some((start, run)) = self.held.last_mut() else { return Ok(crc) }; // never: just pushed
        if run.is_empty() {
            *start = place;
        }
        let before = run.len();
        run.resize(before.saturating_add(values.len()), 0);
        let stored = run.get_mut(before..).unwrap_or_default();
        values.write_to(0, self.plan.order(), stored);
        let crc = crc.map(|crc| crc32c::crc32c_append(crc, stored));
        self.held_len = self.held_len.saturating_add(values.len());
        if follows && run.len() >= LONG_RUN {
            let written = self.file.write_all_at(*start, run);
            self.held_len = self.held_len.saturating_sub(run.len());
            run.clear();
            self.note(written)?;
        }
        Ok(crc)
    }

    /// Writes long values at once: it costs little more than to keep them. Returns the checksum
    /// that they continue.
    fn write_through(
        &mut self,
        place: u64,
        values: Values<'_>,
        mut crc: Option<u32>,
    ) -> Result<Option<u32>, Failure> {
        let (order, mut window) = (self.plan.order(), take(&mut self.window));
        window.resize(WINDOW, 0);
        let (mut from, mut written) = (0, Ok(()));
        while from < values.len() && written.is_ok() {
            let len = values.write_to(from, order, &mut window);
            let bytes = window.get(..len).filter(|bytes| !bytes.is_empty());
            let Some(bytes) = bytes else { break }; // never: the window has whole values
            crc = crc.map(|crc| crc32c::crc32c_append(crc, bytes));
            let offset = place.saturating_add(usize_to_u64(from));
            written = self.file.write_all_at(offset, bytes);
            from = from.saturating_add(len);
        }
        self.window = window;
        self.note(written).map(|()| crc)
    }

    /// Remembers a failure of this rank for the next collective.
    fn note(&mut self, written: io::Result<()>) -> Result<(), Failure> {
        let written = written.map_err(|error| Failure::io("writing values", &error));
        if let Err(failure) = &written {
            self.untold.get_or_insert_with(|| failure.clone());
        }
        written
    }

    /// Writes what is in memory. A failure is that of the next collective, too.
    fn write_out(&mut self) -> Result<(), Failure> {
        let mut held = take(&mut self.held);
        self.held_len = 0;
        held.sort_by_key(|(offset, _)| *offset); // of equal ones the last stays the last
        let (mut start, mut run) = (0, Vec::new());
        let mut written = Ok(());
        for (offset, bytes) in held {
            let end = usize_to_u64(run.len()).saturating_add(start);
            if offset != end || run.len().saturating_add(bytes.len()) > RUN {
                written = written.and_then(|()| self.file.write_all_at(start, &run));
                (start, run) = (offset, bytes);
            } else {
                run.extend(bytes);
            }
        }
        written = written.and_then(|()| self.file.write_all_at(start, &run));
        self.note(written)
    }

    fn begin(&self, operation: Operation) {
        self.whole.begin(operation, 0);
        self.part.begin(operation, 0);
    }

    /// Takes the failure of this rank, if it has one; writes all that is in memory before.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        let written = self.write_out();
        self.untold.take().map_or(written, Err)
    }

    /// Writes everything that ranks have put to the disk, and gives its memory free. All ranks call
    /// this. It takes one call of the message layer.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.begin(Operation::BlobFlush);
        let written = self.settle().and_then(|()| self.sync());
        self.whole.agree(written)
    }

    pub(super) fn sync(&self) -> Result<(), Failure> {
        self.file.sync().map_err(|error| Failure::io("syncing a subfile", &error))
    }

    /// Checks that every rank has put all its elements, and gives the subfiles their names: all of
    /// them, or none if anything fails before that. Returns the communicator. All ranks call this.
    /// It takes three calls of the message layer on all ranks, and one on those of a subfile, or
    /// three if it is sealed; after [`append`](Self::append) five, and one, or two if it is sealed.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Refused`](crate::Code::Refused) if a rank has
    /// not put all of its elements, or a name was taken in the meantime; an error of the operating
    /// system. No new file is left.
    pub fn close(mut self) -> Result<C, Error> {
        self.begin(Operation::BlobClose);
        let written = self.settle().and_then(|()| {
            let [first, second] = self.fingerprint()?.words();
            Ok([self.pen.reached(), first, second])
        });
        let folds = [Fold::Max, Fold::Xor, Fold::Xor];
        let [records, first, second] = self.whole.combine(written, folds)?;
        let values = Fingerprint::from_words([first, second]);
        if self.old.is_some() {
            return self.count(records, values);
        }
        let records = self.pen.records().count(records);
        let finished = self.finish(self.check(records), (records, values));
        let freed = self.part.free(finished).map_err(Failure::from);
        let (publish, is_durable) = (self.publish, self.is_durable);
        self.whole.decide(freed.map(|()| []), [], |[]| {
            let done = publish.map_or(Ok(()), |publish| publish.finish(is_durable));
            done.map_err(|error| of_striae("giving the subfiles their names", &error))?;
            Ok([])
        })?;
        Ok(self.whole)
    }

    /// Checks that this rank has put all that it has.
    pub(super) fn check(&self, records: u64) -> Result<(), Failure> {
        let all = self.plan.variables.iter().map(|of| (of.column, Some(of.held)));
        let Some((number, record)) = self.pen.missing(all, records) else { return Ok(()) };
        let name = self.plan.variables.get(number).map_or("", |of| &*of.name);
        Err(refused(format_args!("record {record} of variable {name} was not put")))
    }

    /// What this rank has written, if its subfile is sealed; nothing if it has not written all.
    fn fingerprint(&self) -> Result<Fingerprint, Failure> {
        let reached = self.pen.reached();
        if self.check(reached).is_err() {
            return Ok(Fingerprint::default()); // the others get the error later
        }
        let sums = || self.value_sums(reached);
        Ok(match (&self.old, &self.plan.seal) {
            (Some(old), _) if old.is_sealed() => old.fingerprint(self.plan.blob, &sums()?),
            (None, Some(seal)) => seal.of_blob(self.plan.blob, sums()?),
            _ => Fingerprint::default(),
        })
    }

    /// The checksum of this rank's values of each variable, if the set is sealed.
    pub(super) fn value_sums(&self, records: u64) -> Result<Vec<u32>, Failure> {
        let mut window = vec![0; SUM_WINDOW];
        let all = self.plan.variables.iter().enumerate();
        let all = all.take_while(|(number, _)| self.pen.sum(*number).is_some());
        let sums = all.map(|(number, of)| {
            let (of, crc) = ((number, of.column, of.held), crc32c::crc32c_append);
            let crc = self.pen.sum_of_all(of, records, &*self.file, &mut window, crc);
            crc.map_err(|error| Failure::io("reading values for the seal", &error.into()))
        });
        sums.collect()
    }

    /// Completes the subfile, after all of its ranks have written. If there is a seal, each rank
    /// writes its rows, unless it has failed; that takes two calls of the message layer on them.
    fn finish(
        &self,
        mine: Result<(), Failure>,
        (records, values): (u64, Fingerprint),
    ) -> Result<(), Failure> {
        let at = |error| Failure::io("completing a subfile", &error);
        let numrecs = Some(records).filter(|_| self.plan.order() == ByteOrder::Big);
        let complete = |sealed: Option<NewSeal<'_>>| {
            let (mut file, len) = (&*self.file, self.plan.file_len(records)?);
            complete(&mut file, (len, numrecs), sealed, crc32c::crc32c_append).map_err(at)
        };
        if let Some(seal) = &self.plan.seal {
            let rows = mine.and_then(|()| {
                let sums = [&*self.plan.map_sums, &self.value_sums(records)?].concat();
                let (mut file, own) = (&*self.file, (self.part.rank(), values));
                let parts = seal.write_rows(&mut file, own, sums, crc32c::crc32c_append);
                parts.map(|parts| [parts.word().into()]).map_err(at)
            });
            self.part.decide(rows, [Fold::Xor], |[word]| {
                let parts = Crc32cParts::from_word(u32::try_from(word).unwrap_or(0)); // of 32 bits
                complete(Some(NewSeal { seal, records, values, parts })).map(|()| [])
            })?;
        } else {
            mine?;
            if self.is_first() {
                complete(None)?;
            }
        }
        if self.is_durable { self.sync() } else { Ok(()) }
    }
}
