//! Where the elements of the decompositions of a set are.

use super::Set;
use crate::blob::plan::Plan;
use crate::blob::runs::{self, Elements, Named};
use crate::error::Error;
use crate::error::blob::ErrorKind;
use std::sync::Arc;
use striae_core::blob::find::Run;
use striae_core::store::usize_to_u64;

impl Set {
    /// Where the elements of a decomposition are, by its index.
    pub(crate) fn elements(&self, index: usize) -> Result<&Arc<Elements>, Error> {
        let none = || self.error(ErrorKind::NoSubfile);
        let known = self.elements.get(index).ok_or_else(none)?;
        if let Some(elements) = known.get() {
            return Ok(elements);
        }
        let total = self.canonical.decompositions.get(index).map_or(0, |known| known.total);
        let mut requests = Vec::new();
        let mut named = Named { elements: 0, is_sure: self.missing_count() == 0 };
        let mut nblobs = 0_u64;
        for (_, number) in self.numbers() {
            let Some((subfile, bulk)) = self.subfile(number)? else {
                named.is_sure = false;
                continue;
            };
            let before = requests.len();
            let from = (number, &*subfile, &*bulk);
            let mut damage = None;
            let mends = self.options.mends();
            let of = (index, total);
            let added = {
                let judge = &mut runs::keep_first(&mut damage, mends);
                runs::add_requests(&mut requests, &self.canonical, from, of, judge)
            };
            match added {
                Ok(elements) => named.elements = named.elements.saturating_add(elements),
                Err(error) => {
                    requests.truncate(before); // a map that is wrong somewhere is not believed
                    damage = Some(error);
                }
            }
            nblobs = nblobs.saturating_add(usize_to_u64(subfile.found));
            named.is_sure &= damage.is_none() && !subfile.is_mended && self.is_tied(number);
            if let Some(error) = damage {
                self.lose(number, error, None)?;
            }
        }
        named.is_sure &= nblobs == self.nprocs();
        let subfile = |number| self.known_subfile(number);
        let plan = |requests: &[Run]| Plan::of_requests(requests, index, total, &subfile);
        Ok(known.get_or_init(|| Arc::new(Elements::new(requests, named, &plan))))
    }

    /// Whether a seal ties a subfile to the set, or nobody expects one because no other has a seal.
    fn is_tied(&self, number: u32) -> bool {
        self.tied.is_empty() || self.tied.contains(&number)
    }
}
