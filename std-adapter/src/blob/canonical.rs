//! The header of the canonical file of a set.

use super::grammar::{Attribute, Grammar};
use striae_core::cdf::{Encode, Error, Type};
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_inspect::cdf::Header;

/// The header of the canonical CDF-5 file.
pub(crate) fn header(grammar: &Grammar, numrecs: u64) -> Result<Header, Error> {
    let plan = grammar.plan()?;
    let mut bytes = vec![0; usize::try_from(plan.header_len()).unwrap_or(0)];
    let mut window = vec![0; 1 << 16];
    let encode = Encode::new(grammar, &plan, numrecs, &mut window)?;
    match encode.run(&mut &mut bytes[..]) {
        Ok(()) => Header::parse(&bytes, ByteOrder::Big),
        Err(DriveError::Format(error)) => Err(error),
        // Never: the memory is as long as the header.
        Err(_) => Err(Error::Size { begin: plan.header_len() }),
    }
}

/// The value for elements that nobody has: the variable's `_FillValue`, else that of the type.
pub(crate) fn fill_value(attributes: &[Attribute], nc_type: Type) -> [u8; 8] {
    let mut value = nc_type.fill();
    let own = attributes.iter().find(|attribute| &*attribute.name == "_FillValue");
    if let Some(own) = own.filter(|own| own.nc_type == nc_type) {
        let size = usize::try_from(nc_type.size()).unwrap_or(8);
        if own.bytes.len() == size {
            value.iter_mut().zip(&own.bytes).for_each(|(to, from)| *to = *from);
        }
    }
    value
}
