//! A definition with lists of its own, also one that is read from a file.

use striae_core::cdf::{Attr, AttrDef, Define, DimDef, Reader, Type, Values, VarDef, Variable};
use striae_core::endian::ByteOrder;

/// A definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Defined {
    pub dims: Vec<(String, u64)>,
    pub attrs: Vec<DefinedAttr>,
    pub vars: Vec<DefinedVar>,
}

/// An attribute; its values are big-endian.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedAttr {
    pub name: String,
    pub nc_type: Type,
    pub values: Vec<u8>,
}

/// A variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefinedVar {
    pub name: String,
    pub nc_type: Type,
    pub dimids: Vec<u64>,
    pub attrs: Vec<DefinedAttr>,
}

type File<'m, 'a> = Reader<'m, &'a [u8]>;

impl Defined {
    /// The definition of a file.
    pub fn of(file: &File<'_, '_>) -> Self {
        let window = || vec![0; 1 << 12];
        let name = |name| file.name(name, &mut [0; 512]).unwrap().unwrap().to_owned();
        let dims = file.dims(window()).map(Result::unwrap);
        let vars = file.variables(window()).map(Result::unwrap).map(|variable| {
            let var = &variable.var;
            let mut dimids = vec![0; usize::try_from(var.dimids.len()).unwrap()];
            file.read(var.dimids, &mut dimids).unwrap();
            let wide = usize::try_from(file.head().version.non_neg_len()).unwrap();
            let number = |id: &[u8]| id.iter().fold(0, |id, &byte| id << 8 | u64::from(byte));
            let dimids = dimids.chunks(wide).map(number).collect();
            let (name, nc_type) = (name(var.name), var.nc_type);
            DefinedVar { name, nc_type, dimids, attrs: attrs(file, Some(&variable)) }
        });
        Self {
            dims: dims.map(|dim| (name(dim.name), dim.length)).collect(),
            attrs: attrs(file, None),
            vars: vars.collect(),
        }
    }
}

fn attrs(file: &File<'_, '_>, of: Option<&Variable>) -> Vec<DefinedAttr> {
    let defined = |attr: Attr| {
        let mut values = vec![0; usize::try_from(attr.values.len()).unwrap()];
        file.read(attr.values, &mut values).unwrap();
        let name = file.name(attr.name, &mut [0; 512]).unwrap().unwrap().to_owned();
        DefinedAttr { name, nc_type: attr.nc_type, values }
    };
    file.attrs(of, vec![0; 1 << 12]).map(|attr| defined(attr.unwrap())).collect()
}

impl Define for Defined {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        let (name, length) = self.dims.get(usize::try_from(dimid).ok()?)?;
        Some(DimDef { name, length: *length })
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        let attrs = match of {
            Some(varid) => &self.vars.get(usize::try_from(varid).ok()?)?.attrs,
            None => &self.attrs,
        };
        let attr = attrs.get(usize::try_from(number).ok()?)?;
        let values = Values::new(attr.nc_type, ByteOrder::Big, &attr.values);
        Some(AttrDef { name: &attr.name, values })
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        let var = self.vars.get(usize::try_from(varid).ok()?)?;
        Some(VarDef { name: &var.name, nc_type: var.nc_type, dimids: &var.dimids })
    }
}
