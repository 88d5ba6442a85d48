//! A message layer of callbacks.
#![allow(unsafe_code, reason = "calls callbacks of C programs")]

use super::callbacks::Callbacks;
use libc::{c_int, c_void};
use std::ptr;
use striae_mpi::Error;
use striae_mpi::comm::{Comm, Folded, Step, Transport, Words};
use zerocopy::{FromZeros, IntoBytes};

/// A process of a program with callbacks.
pub(super) type Rank = Comm<Layer>;

/// A group of processes, as the callbacks know it.
#[derive(Debug)]
pub(super) struct Layer {
    callbacks: Callbacks,
    /// What the program calls a `commgroup`: its own memory.
    group: *mut c_void,
    /// Whether a callback has made it.
    is_own: bool,
    rank: u32,
    size: u32,
    world_rank: u32,
}

/// `_SION_INT32`, `_SION_INT64` and `_SION_CHAR` of SIONlib.
const INT32: c_int = 10;
const INT64: c_int = 11;
const CHAR: c_int = 12;

/// The most values of a call.
const MOST: usize = 1 << 30;

fn to_int(value: u32) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX) // ranks and sizes are ints
}

fn index(value: u32) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

impl Layer {
    /// All processes of a program.
    pub(super) fn new(callbacks: Callbacks, group: *mut c_void, (rank, size): (u32, u32)) -> Self {
        Self { callbacks, group, is_own: false, rank, size, world_rank: rank }
    }

    fn failed(&self, what: &str, code: c_int) -> Error {
        Error::carrier(self.world_rank, code, format_args!("the callback {what} returned {code}"))
    }

    fn check(&self, what: &str, code: c_int) -> Result<(), Error> {
        if code == 0 { Ok(()) } else { Err(self.failed(what, code)) }
    }

    fn missing(&self, what: &str) -> Error {
        Error::carrier(self.world_rank, 0, format_args!("the API has no callback {what}"))
    }

    /// Copies values of `root` to all. `T` has the size of a value of the kind.
    fn broadcast<T>(&self, values: &mut [T], kind: c_int, root: u32) -> Result<(), Error> {
        let call = self.callbacks.bcast.ok_or_else(|| self.missing("bcastr"))?;
        let (len, root) = (c_int::try_from(values.len()).unwrap_or(c_int::MAX), to_int(root));
        // SAFETY: the header: "data: nelem values of dtype", which the callback reads at the root
        // and writes at the others.
        let code = unsafe { call(values.as_mut_ptr().cast(), self.group, kind, len, root) };
        self.check("bcastr", code)
    }

    /// Brings as many values of each process to `root`, where `all` has place for them.
    fn gather_equal<T>(
        &self,
        own: &mut [T],
        all: &mut [T],
        (kind, root): (c_int, u32),
    ) -> Result<(), Error> {
        let call = self.callbacks.gather.ok_or_else(|| self.missing("gatherr"))?;
        let (len, root) = (c_int::try_from(own.len()).unwrap_or(c_int::MAX), to_int(root));
        let (from, to) = (own.as_mut_ptr().cast(), all.as_mut_ptr().cast());
        // SAFETY: the header: "indata: nelem values of each process; outdata: at the root, memory
        // for those of all".
        let code = unsafe { call(from, to, self.group, kind, len, root) };
        self.check("gatherr", code)
    }

    /// The words of all processes at the first one, in their order; at the others nothing.
    fn words(&self, own: &Words) -> Result<Vec<Words>, Error> {
        let count = if self.rank == 0 { index(self.size) } else { 0 };
        let (mut own, mut all) = (*own, vec![*own; count.max(1)]);
        let mut mine: Vec<i64> = to_longs(own.as_mut_bytes());
        let mut longs = vec![0_i64; mine.len().saturating_mul(all.len())];
        self.gather_equal(&mut mine, &mut longs, (INT64, 0))?;
        all.as_mut_bytes().copy_from_slice(longs.as_bytes());
        all.truncate(count);
        Ok(all)
    }

    /// For each process its part of what the first one has.
    fn scatter(&self, all: &[Folded]) -> Result<Folded, Error> {
        let call = self.callbacks.scatter.ok_or_else(|| self.missing("scatterr"))?;
        let (mut from, mut own) = (to_longs(all.as_bytes()), Folded::new_zeroed());
        let mut mine = to_longs(own.as_bytes());
        let len = c_int::try_from(mine.len()).unwrap_or(c_int::MAX);
        from.resize(from.len().max(1), 0);
        let (all, to) = (from.as_mut_ptr().cast(), mine.as_mut_ptr().cast());
        // SAFETY: the header: "indata: at the root, nelem values for each process; outdata: memory
        // for nelem values".
        let code = unsafe { call(all, to, self.group, INT64, len, 0) };
        self.check("scatterr", code)?;
        own.as_mut_bytes().copy_from_slice(mine.as_bytes());
        Ok(own)
    }

    /// The colors and keys of all processes, at all of them.
    fn places(&self, color: u32, key: u32) -> Result<Vec<[u32; 2]>, Error> {
        let mut own = [color, key];
        let mut all = vec![[0_u32; 2]; index(self.size)];
        self.gather_equal(&mut own, all.as_flattened_mut(), (INT32, 0))?;
        self.broadcast(all.as_flattened_mut(), INT32, 0)?;
        Ok(all)
    }
}

/// Bytes as integers; their number is a multiple of eight.
fn to_longs(bytes: &[u8]) -> Vec<i64> {
    let mut longs = vec![0; bytes.len() / 8];
    longs.as_mut_bytes().iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    longs
}

impl Transport for Layer {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn size(&self) -> u32 {
        self.size
    }

    fn world_rank(&self) -> u32 {
        self.world_rank
    }

    fn exchange(
        &self,
        step: Step,
        words: &Words,
        work: Option<&mut dyn FnMut(&mut Words)>,
    ) -> Result<Folded, Error> {
        let each = self.words(words)?;
        let mut all = *words;
        let mut before = Vec::with_capacity(each.len());
        for other in each.iter().skip(1) {
            before.push(all);
            all.fold(other);
        }
        if let Some(work) = work.filter(|_| self.rank == 0) {
            work(&mut all);
        }
        if step.is_scan() {
            let first = Folded { all, before: *words };
            let others = before.into_iter().map(|before| Folded { all, before });
            let parts: Vec<_> = std::iter::once(first).chain(others).collect();
            return self.scatter(if self.rank == 0 { &parts } else { &[] });
        }
        let mut longs = to_longs(all.as_bytes());
        self.broadcast(&mut longs, INT64, 0)?;
        all.as_mut_bytes().copy_from_slice(longs.as_bytes());
        Ok(Folded { all, before: *words })
    }

    fn bcast(&self, root: u32, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.chunks_mut(MOST).try_for_each(|piece| self.broadcast(piece, CHAR, root))
    }

    fn send(&self, _to: u32, _bytes: &[u8]) -> Result<(), Error> {
        Err(self.missing("for a message to one process"))
    }

    fn recv(&self, _from: u32, _buf: &mut [u8]) -> Result<usize, Error> {
        Err(self.missing("for a message of one process"))
    }

    fn gather(&self, root: u32, bytes: &[u8]) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let call = self.callbacks.gatherv.ok_or_else(|| self.missing("gathervr"))?;
        let count = if self.rank == root { index(self.size) } else { 0 };
        let mut len = [c_int::try_from(bytes.len()).unwrap_or(c_int::MAX)];
        let mut lens = vec![0; count.max(1)];
        self.gather_equal(&mut len, &mut lens, (INT32, root))?;
        let sum = lens.iter().filter_map(|len| usize::try_from(*len).ok());
        let (mut own, mut all) = (bytes.to_vec(), vec![0_u8; sum.sum::<usize>().max(1)]);
        own.resize(own.len().max(1), 0);
        let (from, to) = (own.as_mut_ptr().cast(), all.as_mut_ptr().cast());
        let ([len], counts) = (len, lens.as_mut_ptr());
        // SAFETY: the header: "indata: nelem values; at the root, counts: nelem of each process,
        // and outdata: memory for the values of all".
        let code = unsafe { call(from, to, self.group, CHAR, counts, len, to_int(root)) };
        self.check("gathervr", code)?;
        let mut rest = all.as_slice();
        let parts = lens.iter().take(count).map(|len| {
            let (part, other) = rest.split_at_checked(usize::try_from(*len).unwrap_or(0))?;
            rest = other;
            Some(part.to_vec())
        });
        Ok(Some(parts.map(Option::unwrap_or_default).collect()))
    }

    fn gathers(&self) -> bool {
        true
    }

    fn split(&self, color: u32, key: u32) -> Result<Self, Error> {
        let create = self.callbacks.create_group.ok_or_else(|| self.missing("create_lcg"))?;
        let places = self.places(color, key)?;
        let mine = (key, self.rank);
        let members = || (0..).zip(&places).filter(|(_, [other, _])| *other == color);
        let size = u32::try_from(members().count()).unwrap_or(u32::MAX);
        let before = members().filter(|(rank, [_, key])| (*key, *rank) < mine);
        let rank = u32::try_from(before.count()).unwrap_or(u32::MAX);
        let colors = places.iter().map(|[color, _]| *color).max().unwrap_or(0);
        let numbers = [self.rank, self.size, rank, size, color, colors.saturating_add(1)];
        let [grank, gsize, lrank, lsize, number, count] = numbers.map(to_int);
        let mut group = ptr::null_mut();
        // SAFETY: the header: "local_commgroup: memory for the result, which is null before; the
        // others are as with sion_generic_paropen".
        let code = unsafe {
            create(&raw mut group, self.group, grank, gsize, lrank, lsize, number, count)
        };
        self.check("create_lcg", code)?;
        let (callbacks, world_rank) = (self.callbacks, self.world_rank);
        Ok(Self { callbacks, group, is_own: true, rank, size, world_rank })
    }

    fn node(&self) -> Result<Self, Error> {
        Err(self.missing("for the processes of a node"))
    }

    fn free(self) -> Result<(), Error> {
        let Some(free) = self.callbacks.free_group.filter(|_| self.is_own) else { return Ok(()) };
        // SAFETY: the header: "a group that create_lcg has made", which is not used any more.
        let code = unsafe { free(self.group) };
        self.check("free_lcg", code)
    }

    fn abort(&self, code: i32) -> Error {
        self.failed("for the end of all processes, which no API has", code)
    }
}
