//! Records that all ranks append to a closed set.

use super::plan::{Plan, Variable};
use super::refused;
use super::writer::Writer;
use crate::collective::{Collective, gather_numbers};
use crate::error::{Error, Failure};
use crate::operation::Operation;
use std::path::Path;
use std::sync::Arc;
use striae::blob::{OldSet, OldSubfile};
use striae_core::blob::book::Sum;
use striae_core::blob::{Fingerprint, Pen, Records};
use striae_core::integrity::crc32c;

/// Bytes of ranks that the first one takes at once.
const WINDOW: usize = 1 << 12;

/// The subfile of no rank.
const NONE: u32 = u32::MAX;

/// A subfile that was closed, and gets more records.
#[derive(Debug)]
pub(super) struct Old {
    /// At rank 0 it has the lock.
    set: OldSet,
    subfile: OldSubfile,
    number: u32,
    is_sealed: bool,
}

impl Old {
    /// The number of records when it was opened.
    pub(super) const fn records(&self) -> u64 {
        self.set.records()
    }

    /// Whether the subfile is sealed.
    pub(super) const fn is_sealed(&self) -> bool {
        self.is_sealed
    }

    /// What a blob adds to the fingerprint of the set's values.
    pub(super) fn fingerprint(&self, blob: u32, sums: &[u32]) -> Fingerprint {
        self.subfile.fingerprint(blob, sums)
    }
}

/// The blob of a rank.
#[derive(Debug, Clone, Copy)]
struct Place {
    subfile: u32,
    blob: u32,
}

impl<C: Collective> Writer<C> {
    /// Opens a closed set of CDF-5 files to append records, by as many ranks as it has blobs: a
    /// rank puts records from [`first`](Self::first) on, of all record variables, with the requests
    /// that its blob was written with. Its blob is that of the attribute `world_ranks`; if there is
    /// none, the ranks are numbered in the order of the subfiles and their blobs. All ranks call
    /// this.
    ///
    /// No value is moved. Until [`close`](Self::close) all readers see the old records only. A set
    /// that is sealed stays sealed. Records that not all subfiles have, as after a power cut during
    /// a close, are overwritten. One writer at a time may have the set.
    ///
    /// Besides splitting the communicator it takes 7 calls of the message layer on all ranks, and
    /// one on those of a subfile. As many ranks as there are subfiles send rank 0 the ranks of one
    /// each, and all ranks have a list of 8 bytes for each rank meanwhile.
    ///
    /// # Errors
    /// The failure of a rank, at all ranks: [`Code::Refused`](crate::Code::Refused) for HDF5 files,
    /// another number of ranks, or a missing subfile; [`Code::Damaged`](crate::Code::Damaged) for a
    /// damaged subfile or seal; [`Code::Differ`](crate::Code::Differ); an error of the operating
    /// system, EBUSY if another writer has the set. The set is as it was.
    ///
    /// ```
    /// # use striae::striae_core::cdf::{Definition, DimDef, Type, VarDef};
    /// use striae_mpi::blob::{Builder, Request, Writer};
    /// use striae_mpi::{Collective, Error, Threads};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("heat.nc");
    /// # let heat = VarDef { name: "heat", nc_type: Type::Float, dimids: &[0, 1] };
    /// # let dims = [DimDef::record("time"), DimDef { name: "cell", length: 4 }];
    /// # let canonical = Definition { dims: &dims, attrs: &[], vars: &[(heat, &[])] };
    /// let write = |rank: striae_mpi::threads::Rank| -> Result<(), Error> {
    ///     let mine = vec![Request { offset: 2 * u64::from(rank.rank()), len: 2 }];
    ///     let builder = Builder::new(&canonical).decomposition(&[1], mine).decomposed(0, 0);
    ///     let mut writer = builder.create(rank, &path)?;
    ///     assert!(writer.put("heat", 0, &[1.5_f32, 2.5]).is_ok());
    ///     let mut writer = Writer::append(writer.close()?, &path)?;
    ///     let next = writer.first();
    ///     assert!(writer.put("heat", next, &[3.5_f32, 4.5]).is_ok());
    ///     writer.close().map(drop)
    /// };
    /// for done in Threads::new(2).run(write) {
    ///     done.expect("no rank panicked")?;
    /// }
    /// let set = striae::blob::Set::open(&path)?;
    /// let heat = set.read::<f32>(set.variable("heat")?)?;
    /// assert_eq!(heat, [1.5, 2.5, 1.5, 2.5, 3.5, 4.5, 3.5, 4.5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn append(comm: C, path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        comm.begin(Operation::BlobAppend, crc32c(0, path.as_os_str().as_encoded_bytes()));
        let set = lock(&comm, path)?;
        let place = place(&comm, &set)?;
        let part = comm.split(Ok(place.subfile))?;
        let opened = open(&part, set, place);
        let (old, plan, sums) = comm.agree(opened)?;
        // Nothing is written before all subfiles are known to be sound.
        let taken = match part.rank() {
            0 => old.subfile.take_back().map_err(Failure::from),
            _ => Ok(()),
        };
        comm.agree(taken)?;
        let file = Arc::clone(old.subfile.file());
        let mut writer = Self::new((comm, part), file, None, plan, (1 << 26, true));
        let records = Records { before: Some(old.records()), all: None };
        writer.pen = Pen::new(records, writer.plan.variables.len(), Vec::new(), sums);
        writer.old = Some(old);
        Ok(writer)
    }

    /// Counts the new records: in all subfiles but the first one, then in that, by which readers
    /// go.
    pub(super) fn count(self, records: u64, values: Fingerprint) -> Result<C, Error> {
        let (whole, part) = (&self.whole, &self.part);
        let Some(old) = &self.old else { return Ok(self.whole) }; // never
        let mine = self.check(records).and_then(|()| self.sync());
        let sums = mine.and_then(|()| self.value_sums(records));
        let all = if old.is_sealed { gather(part, self.plan.blob, sums) } else { sums };
        let all = whole.agree(all)?;
        for is_first in [false, true] {
            let counted = match part.rank() == 0 && (old.number == 0) == is_first {
                true => old.subfile.count(records, &all, values).map_err(Failure::from),
                false => Ok(()),
            };
            whole.agree(counted)?;
        }
        let settled = match part.rank() {
            0 => old.subfile.settle(records, &all, values).map_err(Failure::from),
            _ => Ok(()),
        };
        let freed = self.part.free(settled).map_err(Failure::from);
        self.whole.agree(freed)?;
        Ok(self.whole)
    }
}

/// Opens the set, and locks it at rank 0 before the others look at it.
fn lock<C: Collective>(comm: &C, path: &Path) -> Result<OldSet, Error> {
    let is_first = comm.rank() == 0;
    let locked = if is_first { Some(OldSet::open(path, true)) } else { None };
    let locked = locked.transpose().map_err(Failure::from);
    let set = match comm.agree(locked)? {
        Some(set) => Ok(set),
        None => OldSet::open(path, false).map_err(Failure::from),
    };
    let equal = set
        .as_ref()
        .map_or(0, |set| crc32c(0, format!("{} {}", set.records(), set.nsubfiles()).as_bytes()));
    comm.begin(Operation::BlobAppend, equal);
    comm.agree(set)
}

/// The blob of this rank. The first ranks each look into a subfile.
fn place<C: Collective>(comm: &C, set: &OldSet) -> Result<Place, Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let known = (|| {
        let count = set.nsubfiles();
        if count > u64::from(size) {
            return Err(refused(format_args!("a set of {count} subfiles, by {size} ranks")));
        }
        if u64::from(rank) >= count {
            return Ok(Vec::new());
        }
        let (nblobs, ranks) = set.subfile(rank, false)?.ranks();
        Ok(ranks.unwrap_or_else(|| vec![NONE; nblobs]))
    })();
    let mut all: Vec<Vec<u32>> = Vec::new();
    gather_numbers(comm, 0, known, WINDOW, |from, piece| {
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        all.resize(all.len().max(from.saturating_add(1)), Vec::new());
        if let Some(ranks) = all.last_mut() {
            ranks.extend(piece);
        }
        Ok(())
    })?;
    let table = if rank == 0 { table(all, size) } else { Ok(Vec::new()) };
    let limit = usize::try_from(u64::from(size).saturating_mul(8)).unwrap_or(usize::MAX);
    let table = comm.bcast(0, table.as_ref().map(Vec::as_slice).map_err(Clone::clone), limit)?;
    let at = usize::try_from(rank).unwrap_or(usize::MAX).saturating_mul(8);
    let entry = table.get(at..).and_then(<[u8]>::first_chunk::<8>).copied().unwrap_or_default();
    let [a, b, c, d, e, f, g, h] = entry;
    Ok(Place { subfile: u32::from_le_bytes([a, b, c, d]), blob: u32::from_le_bytes([e, f, g, h]) })
}

/// For each rank its subfile and its blob there, from the ranks that the subfiles store.
fn table(all: Vec<Vec<u32>>, size: u32) -> Result<Vec<u8>, Failure> {
    let stored = |ranks: Vec<u32>| {
        let count = ranks.len();
        (count, Some(ranks).filter(|ranks| !ranks.contains(&NONE)))
    };
    let subfiles: Vec<_> = all.into_iter().map(stored).collect();
    let nblobs = subfiles.iter().map(|(count, _)| count).fold(0, |sum, n| n.saturating_add(sum));
    if u64::try_from(nblobs) != Ok(size.into()) {
        return Err(refused(format_args!("a set of {nblobs} blobs, by {size} ranks")));
    }
    let members = OldSet::members(&subfiles);
    let members = members.ok_or_else(|| refused("ranks are missing, or have two blobs"))?;
    let mut table = vec![0; nblobs.saturating_mul(8)];
    for (subfile, ranks) in (0_u32..).zip(members) {
        for (blob, rank) in (0_u32..).zip(ranks) {
            let at = usize::try_from(rank).unwrap_or(usize::MAX).saturating_mul(8);
            let entry = subfile.to_le_bytes().into_iter().chain(blob.to_le_bytes());
            let place = table.get_mut(at..).unwrap_or_default();
            place.iter_mut().zip(entry).for_each(|(to, from)| *to = from);
        }
    }
    Ok(table)
}

/// Opens the subfile of this rank.
fn open<C: Collective>(
    part: &C,
    set: OldSet,
    Place { subfile: number, blob }: Place,
) -> Result<(Old, Plan, Vec<Sum>), Failure> {
    let is_first = part.rank() == 0;
    let opened = set.subfile(number, is_first).map_err(Failure::from);
    // Whether it is sealed is what the first rank says, which has judged the seal.
    let is_sealed = opened.as_ref().map(|subfile| [u64::from(!subfile.is_sealed())]);
    let [is_open] = part.max(is_sealed.map_err(Clone::clone))?;
    let subfile = opened?;
    let known = subfile.variables(&set, usize::try_from(blob).unwrap_or(usize::MAX))?;
    let (mut variables, mut sums) = (Vec::new(), Vec::new());
    for one in known {
        sums.extend(one.crc.filter(|_| is_open == 0).map(|crc| Sum::after(set.records(), crc)));
        variables.push(Variable { name: one.name, column: one.column, held: one.held });
    }
    let old = Old { set, subfile, number, is_sealed: is_open == 0 };
    Ok((old, Plan::old(variables, blob), sums))
}

/// The checksums of all blobs of each variable at the first rank, from those of each blob.
fn gather<C: Collective>(
    part: &C,
    blob: u32,
    sums: Result<Vec<u32>, Failure>,
) -> Result<Vec<u32>, Failure> {
    let nvars = sums.as_ref().map_or(0, Vec::len);
    let blobs = usize::try_from(part.size()).unwrap_or(usize::MAX);
    let mine = sums.map(|sums| [vec![blob], sums].concat());
    let (mut all, mut row) = (vec![0; nvars.saturating_mul(blobs)], Vec::new());
    gather_numbers(part, 0, mine, WINDOW, |_, piece| {
        row.extend(piece);
        if row.len() > nvars {
            let mut words = row.drain(..);
            let blob = words.next().and_then(|blob| usize::try_from(blob).ok());
            let places = all.iter_mut().skip(blob.unwrap_or(usize::MAX)).step_by(blobs.max(1));
            places.zip(words).for_each(|(to, crc)| *to = crc);
        }
        Ok(())
    })?;
    Ok(all)
}
