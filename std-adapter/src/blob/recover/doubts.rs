//! Which variables of a set may have wrong values, as the header of a subfile contradicts itself.

use super::Opened;
use crate::blob::{Container, Set};
use crate::error::Error;
use std::collections::{BTreeMap, BTreeSet};
use striae_core::blob::{Name, Part};
use striae_core::step::DriveError;
use striae_inspect::blob::grammar::id_of;
use striae_inspect::cdf::recover::{Certainty, Recovery as Judged};

/// The variables whose places are doubtful in a subfile.
#[derive(Debug, Default)]
pub(super) struct Doubts {
    /// The names of canonical variables.
    names: BTreeSet<Box<str>>,
    /// The decompositions, from 1, of which a variable is.
    ids: BTreeSet<usize>,
}

impl Doubts {
    /// Judges the `damaged` netCDF files among the subfiles, as recovering one of them does.
    pub(super) fn find(
        set: &Set,
        subfiles: &[Opened],
        damaged: &BTreeSet<u32>,
    ) -> Result<Self, Error> {
        let mut doubts = Self::default();
        if set.container() == Container::Hdf5 {
            return Ok(doubts); // no header there says where values are
        }
        for number in subfiles.iter().map(|opened| opened.number) {
            if damaged.contains(&number) {
                doubts.add(set, &of_file(set, number)?);
            }
        }
        Ok(doubts)
    }

    /// Adds the variables that are not where the header of a subfile says for certain.
    fn add(&mut self, set: &Set, is_certain: &BTreeMap<Box<str>, bool>) {
        let is_doubtful = |name: &str| is_certain.get(name) != Some(&true);
        let variables = set.canonical.variables.iter().map(|known| &known.name);
        self.names.extend(variables.filter(|name| is_doubtful(name)).cloned());
        for (index, _) in set.canonical.decompositions.iter().enumerate() {
            let Some(id) = id_of(index) else { continue };
            let mut names = Part::VARIABLES.iter().map(|&part| Name::Of { id, part }.to_string());
            if names.any(|name| is_doubtful(&name)) {
                self.ids.insert(index.saturating_add(1));
            }
        }
    }

    /// Whether values of the variable may be wrong, or where they belong.
    pub(super) fn has(&self, name: &str, id: Option<usize>) -> bool {
        self.names.contains(name) || id.is_some_and(|id| self.ids.contains(&id))
    }
}

/// For each name in the header of a subfile, whether it is certain where the values are. Nothing is
/// certain of a header that cannot be judged.
fn of_file(set: &Set, number: u32) -> Result<BTreeMap<Box<str>, bool>, Error> {
    let mut all = BTreeMap::new();
    let path = set.subfile_path(number);
    let Some((_, bulk)) = set.subfile(number)? else { return Ok(all) };
    let judged = match Judged::examine(&**bulk.file()) {
        Err(DriveError::Format(_)) => return Ok(all),
        judged => judged.map_err(|error| Error::new(&path, error))?,
    };
    for (variable, certainty) in judged.variables() {
        let is_doubtful = matches!(certainty, Certainty::Guess(_));
        let known = all.entry(variable.name().into()).or_insert(true);
        *known &= !is_doubtful;
    }
    Ok(all)
}
