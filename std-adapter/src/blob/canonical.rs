//! The header of the canonical file of a set.

use super::Definition;
use super::grammar::{Canonical, Placed};
use striae_core::cdf::book::WINDOW;
use striae_core::cdf::define::FILL_VALUE;
use striae_core::cdf::{Encode, Error};
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_inspect::cdf::{Header, Variable};

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
    /// The header of the canonical CDF-5 file, which was [checked](check).
    pub(crate) fn canonical(&self, canonical: &Canonical) -> Header {
        let definition = Definition::new(&self.header, canonical, &self.places);
        let made = make(&definition, self.numrecs);
        made.unwrap_or_else(|_| self.header.clone()) // never, as it was checked
    }
}

/// Whether there can be a canonical CDF-5 file.
pub(crate) fn check(definition: &Definition<'_>, numrecs: u64) -> Result<(), Error> {
    let plan = definition.plan()?;
    Encode::new(definition, &plan, numrecs, &mut [0; WINDOW]).map(drop)
}

/// The header of the canonical CDF-5 file.
fn make(definition: &Definition<'_>, numrecs: u64) -> Result<Header, Error> {
    let plan = definition.plan()?;
    let mut bytes = vec![0; usize::try_from(plan.header_len()).unwrap_or(0)];
    let mut window = vec![0; 1 << 16];
    let encode = Encode::new(definition, &plan, numrecs, &mut window)?;
    match encode.run(&mut &mut bytes[..]) {
        Ok(()) => Header::parse(&bytes, ByteOrder::Big),
        Err(DriveError::Format(error)) => Err(error),
        // Never: the memory is as long as the header.
        Err(_) => Err(Error::Size { begin: plan.header_len() }),
    }
}

/// The value for elements that nobody has, in big-endian order: the variable's `_FillValue`, else
/// that of the type.
pub(crate) fn fill_value(variable: Variable<'_>) -> [u8; 8] {
    let nc_type = variable.nc_type();
    let mut value = nc_type.fill();
    let own = variable.attribute(FILL_VALUE).filter(|own| own.nc_type() == nc_type);
    if let Some(own) = own.filter(|own| own.count() == 1) {
        value.iter_mut().zip(own.bytes()).for_each(|(to, from)| *to = *from);
    }
    value
}
