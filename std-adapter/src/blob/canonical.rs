//! The header of the canonical file of a set.

use super::Definition;
use super::grammar::{Canonical, Placed};
use striae_inspect::cdf::Header;

/// What the header of the canonical file is made of: the header of a subfile.
#[derive(Debug)]
pub(crate) struct Source {
    /// The number of the subfile.
    pub(crate) number: u32,
    pub(crate) header: Header,
    pub(crate) places: Vec<Placed>,
    pub(crate) numrecs: u64,
}

impl Source {
    /// The header of the canonical CDF-5 file, which was [checked](Definition::check).
    pub(crate) fn canonical(&self, canonical: &Canonical) -> Header {
        let made = Definition::new(&self.header, canonical, &self.places).header(self.numrecs);
        made.unwrap_or_else(|_| self.header.clone()) // never, as it was checked
    }
}
