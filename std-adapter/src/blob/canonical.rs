//! The header of the canonical file of a set.

use super::grammar::{Attribute, Canonical, Grammar};
use striae_core::cdf::{
    Alignment, AttrDef, Define, DimDef, Encode, Error, Plan, Type, Values, VarDef, Version,
};
use striae_core::endian::ByteOrder;
use striae_core::step::DriveError;
use striae_inspect::cdf::Header;

/// What the canonical file has besides values.
struct Definition<'a> {
    canonical: &'a Canonical,
    attributes: &'a [Attribute],
    variable_attributes: &'a [Vec<Attribute>],
}

fn item<T>(items: &[T], number: u64) -> Option<&T> {
    items.get(usize::try_from(number).ok()?)
}

impl Define for Definition<'_> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        item(&self.canonical.dims, dimid).map(|dim| DimDef { name: &dim.name, length: dim.length })
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        let attributes = match of {
            None => self.attributes,
            Some(varid) => item(self.variable_attributes, varid)?,
        };
        let attribute = item(attributes, number)?;
        let values = Values::new(attribute.nc_type, ByteOrder::Big, &attribute.bytes);
        Some(AttrDef { name: &attribute.name, values })
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        let variable = item(&self.canonical.variables, varid)?;
        let (name, nc_type, dimids) = (&*variable.name, variable.nc_type, &*variable.dims);
        Some(VarDef { name, nc_type, dimids })
    }
}

/// The header of the canonical CDF-5 file.
pub(crate) fn header(grammar: &Grammar, numrecs: u64) -> Result<Header, Error> {
    let Grammar { canonical, attributes, variable_attributes, .. } = grammar;
    let definition = Definition { canonical, attributes, variable_attributes };
    let plan = Plan::new(&definition, Version::Cdf5, Alignment::default())?;
    let mut bytes = vec![0; usize::try_from(plan.header_len()).unwrap_or(0)];
    let mut window = vec![0; 1 << 16];
    let encode = Encode::new(&definition, &plan, numrecs, &mut window)?;
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
