//! The runs of a decomposition: where the elements of its arrays are in the subfiles.

use super::Flaw;
use super::grammar::{Canonical, id_of, numbers, request};
use super::plan::Plan;
use super::subfile::Subfile;
use crate::error::ErrorKind as AnyError;
use crate::store::bulk::Bulk;
use std::collections::HashMap;
use std::io;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use striae_core::blob::find::{Place, Run, Runs, overlap, resolve};
use striae_core::blob::map::Request;
use striae_core::blob::{Error, Name, Part};
use striae_core::span::Span;

/// Where the elements of the arrays of a decomposition are.
#[derive(Debug)]
pub(crate) struct Elements {
    pub(crate) runs: Runs<Box<[Run]>>,
    /// Elements that several blobs have, each counted as often as it is not used.
    pub(crate) overlaps: u64,
    /// Elements of requests after the end of the array.
    pub(crate) outside: u64,
    pub(crate) covered: u64,
    /// Whether all maps are there and sound: nobody wrote the other elements.
    pub(crate) is_sure: bool,
    /// Plans that are likely to be needed again.
    plans: Mutex<Plans>,
}

/// What the maps of all subfiles that can be read name.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Named {
    /// The number of elements, each as often as it is named.
    pub(crate) elements: u64,
    /// Whether all blobs are there, with maps that are sound.
    pub(crate) is_sure: bool,
}

/// Plans for reading elements that follow each other: the first one, and their number.
#[derive(Debug, Default)]
struct Plans {
    known: HashMap<(u64, u64), Arc<Plan>>,
    /// The sum of their sizes.
    size: usize,
}

/// So many requests are planned at once, whether all of them are read or not.
const FEW: usize = 1 << 18;

/// A plan of this size is kept: a smaller one is made at once.
const KEPT: usize = 1024;

impl Elements {
    /// Sorts requests, which are in the order of their places. Of elements that several blobs have,
    /// the lowest rank counts.
    ///
    /// `plan` makes a plan for all of them, in the order of their places. `named` is what the
    /// blobs have named.
    pub(crate) fn new(mut requests: Vec<Run>, named: Named, plan: &dyn Fn(&[Run]) -> Plan) -> Self {
        let all = (requests.len() <= FEW).then(|| plan(&requests));
        requests.sort_by_key(|run| run.offset); // a merge, as each blob has its requests in order
        let given = requests.iter().fold(0_u64, |sum, run| sum.saturating_add(run.len));
        let mut plans = Plans::default();
        let runs = match overlap(&requests) {
            false => {
                if let Some(plan) = all {
                    plans.known.insert((0, plan.len), Arc::new(plan));
                }
                requests.into_boxed_slice()
            }
            true => {
                let mut spare = vec![Run::default(); requests.len().saturating_mul(3)];
                // never fails: there is memory for all
                resolve(&mut requests, &mut spare).map(Box::from).unwrap_or_default()
            }
        };
        let runs = Runs::new(runs).or_else(|| Runs::new(Box::default()));
        // Never: they are sorted.
        let Some(runs) = runs else { return Self::new(Vec::new(), Named::default(), plan) };
        let covered = runs.covered();
        let overlaps = given.saturating_sub(covered);
        let outside = named.elements.saturating_sub(given);
        let is_sure = named.is_sure;
        Self { runs, overlaps, outside, covered, is_sure, plans: Mutex::new(plans) }
    }

    /// The plan for elements that follow each other. Plans for parts of an array, as they are for
    /// all variables, are kept: together they have at most about as many moves as there are runs.
    pub(crate) fn plan(&self, span: Span, make: impl FnOnce() -> Plan) -> Arc<Plan> {
        let key = (span.offset(), span.len());
        let plans = || self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans().known.get(&key) {
            return Arc::clone(plan);
        }
        let plan = Arc::new(make());
        if plan.size() >= KEPT {
            let (mut plans, most) = (plans(), self.runs.as_slice().len().saturating_mul(2));
            if plans.size.saturating_add(plan.size()) > most {
                *plans = Plans::default();
            }
            plans.size = plans.size.saturating_add(plan.size());
            plans.known.insert(key, Arc::clone(&plan));
        }
        plan
    }
}

/// Adds the requests of all blobs of a subfile of `set`. `of` is the index of the decomposition and
/// the number of elements of an array. Blobs with a damaged list are left out if `judge` lets the
/// error pass. Returns how many elements the other blobs name.
pub(crate) fn add_requests(
    requests: &mut Vec<Run>,
    set: &Canonical,
    from: (u32, &Subfile, &Bulk),
    of: (usize, u64),
    judge: &mut dyn FnMut(AnyError) -> Result<(), AnyError>,
) -> Result<u64, AnyError> {
    let (mut columns, mut named) = ([Vec::new(), Vec::new()], 0_u64);
    for (number, blob) in (0..).zip(0..from.1.found) {
        let before = requests.len();
        let as_sealed = from.1.check_maps(from.2.file(), set, (of.0, number));
        let mut add = || add_blob(requests, from, (number, blob), of, &mut columns);
        match as_sealed.and_then(|()| add()) {
            Ok(()) => named = named.saturating_add(from.1.share(number, of.0).count),
            Err(error) => {
                requests.truncate(before);
                judge(error)?;
            }
        }
    }
    Ok(named)
}

/// Adds the requests of a blob.
fn add_blob(
    requests: &mut Vec<Run>,
    (number, subfile, bulk): (u32, &Subfile, &Bulk),
    (blob, blob_index): (u32, usize),
    (index, total): (usize, u64),
    [offsets, lengths]: &mut [Vec<u8>; 2],
) -> Result<(), AnyError> {
    let id = id_of(index).unwrap_or(NonZeroU32::MIN);
    let none = || Flaw::Size { name: Name::Of { id, part: Part::Offsets }.to_string().into() };
    let spans = subfile.requests(blob_index, index).ok_or_else(none)?;
    let [(first_span, first), (second_span, second)] = spans;
    read(bulk, subfile, first_span, offsets)?;
    read(bulk, subfile, second_span, lengths)?;
    let count = offsets.len().checked_div(4).unwrap_or(0); // a request has 4 bytes or 8 for each
    let no_room = |_| io::Error::from_raw_os_error(libc::ENOMEM);
    requests.try_reserve(count).map_err(no_room)?;
    let order = subfile.order();
    let pairs = numbers(offsets, first, order).zip(numbers(lengths, second, order));
    let mut position = 0_u64;
    for (offset, len) in pairs {
        let Request { offset, len } = request((id, blob), [offset, len]).map_err(Flaw::Format)?;
        let place = Place { subfile: number, blob, position };
        if let Some(run) = (Run { offset, len, place }).clipped(total) {
            requests.push(run);
        }
        position = position.saturating_add(len);
    }
    let expected = subfile.share(blob, index).count;
    if position != expected {
        let (part, value) = (Part::Lengths, position);
        let error = Error::Differs { id, part, blob, value, expected };
        return Err(Flaw::Format(error).into());
    }
    Ok(())
}

/// Makes memory as long as a file says that it must be.
pub(crate) fn resize(bytes: &mut Vec<u8>, len: u64) -> io::Result<()> {
    let no_room = || io::Error::from_raw_os_error(libc::ENOMEM);
    let len = usize::try_from(len).map_err(|_| no_room())?;
    bytes.try_reserve(len.saturating_sub(bytes.len())).map_err(|_| no_room())?;
    bytes.resize(len, 0);
    Ok(())
}

/// Reads bytes of a subfile. If it ends before, `bytes` are those in front of its end.
pub(crate) fn read(
    bulk: &Bulk,
    subfile: &Subfile,
    span: Span,
    bytes: &mut Vec<u8>,
) -> Result<(), AnyError> {
    let left = subfile.file_len.saturating_sub(span.offset()).min(span.len());
    resize(bytes, left).inspect_err(|_| bytes.clear())?;
    let read = bulk.read_into::<striae_core::cdf::Error>(span.offset(), bytes);
    if let Err(error) = read {
        bytes.clear();
        return Err(error.into());
    }
    if left < span.len() {
        let (offset, end, file_len) = (span.offset(), span.end(), subfile.file_len);
        let error = striae_core::cdf::Error::OutOfFile { offset, end, file_len };
        return Err(Flaw::Cdf(error).into());
    }
    Ok(())
}

/// A judge that keeps the first error if errors are to be mended, and otherwise returns it.
pub(super) fn keep_first<E>(first: &mut Option<E>, mends: bool) -> impl FnMut(E) -> Result<(), E> {
    move |error| match mends {
        true => {
            first.get_or_insert(error);
            Ok(())
        }
        false => Err(error),
    }
}
