//! What a new subfile's header is made of, for writers with an allocator.

use alloc::vec;
use alloc::vec::Vec;
use striae_core::blob::{Column, Decomposition, Partition, form};
use striae_core::cdf::{Define, Error, Plan};
use striae_core::endian::ByteOrder;

/// Dimensions as a subfile's header stores them: numbers of 4 bytes.
#[derive(Debug)]
pub struct Dimids {
    /// For each decomposition.
    decomposed: Vec<Vec<i32>>,
    /// For each variable.
    variables: Vec<Vec<i32>>,
}

impl Dimids {
    /// The dimensions of decompositions, and those of all variables of a definition; `None` if a
    /// number is too large.
    #[must_use]
    pub fn new<'a, D: Define + ?Sized>(
        definition: &D,
        decomposed: impl Iterator<Item = &'a [u64]>,
    ) -> Option<Self> {
        let variables = (0..u64::MAX).map_while(|varid| definition.var(varid));
        let variables = variables.map(|var| narrow(var.dimids)).collect::<Option<_>>()?;
        Some(Self { decomposed: decomposed.map(narrow).collect::<Option<_>>()?, variables })
    }

    /// The decompositions of a subfile, of which `sums` are the number of elements and the largest
    /// number of requests.
    pub fn decompositions(&self, sums: impl Iterator<Item = (u64, u64)>) -> Vec<Decomposition<'_>> {
        let all = self.decomposed.iter().zip(sums);
        all.map(|(dimids, (nelems, max))| Decomposition::new(dimids, nelems, max)).collect()
    }

    /// What the header says of the variables.
    pub fn partitions(&self, columns: impl Iterator<Item = Column>) -> Vec<Option<Partition<'_>>> {
        columns.zip(&self.variables).map(|(column, dimids)| column.partition(dimids)).collect()
    }
}

fn narrow(dimids: &[u64]) -> Option<Vec<i32>> {
    dimids.iter().map(|&dimid| i32::try_from(dimid).ok()).collect()
}

/// The bytes of the longest name.
const WINDOW: usize = 1 << 16;

/// A header as bytes, as [`form::encode`] writes it.
///
/// # Errors
/// The errors of [`Encode`](striae_core::cdf::Encode).
pub fn encode<D: Define + ?Sized>(
    definition: &D,
    plan: &Plan,
    how: (u64, Option<ByteOrder>),
) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; usize::try_from(plan.header_len()).unwrap_or(0)];
    form::encode(definition, plan, how, &mut bytes, &mut vec![0; WINDOW])?;
    Ok(bytes)
}
