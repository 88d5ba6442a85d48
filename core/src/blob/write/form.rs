//! [`Form`]: the header of a new subfile, and the room for its seal.

use crate::blob::define::Subfile;
use crate::blob::disk::seal::Shape;
use crate::cdf::{Alignment, Define, Encode, Error, Plan, Version};
use crate::endian::ByteOrder;
use crate::hdf5::Container;
use crate::span::Span;
use crate::step::DriveError;
use crate::store::usize_to_u64;

/// What is decided about a subfile before its first byte is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    plan: Plan,
    /// The shape of the seal, if it gets one.
    shape: Option<Shape>,
}

impl Form {
    /// The form of a subfile with this header; `None` if it has too many blobs or variables for a
    /// seal.
    ///
    /// # Errors
    /// The errors of [`Plan::new`].
    pub fn new<D: Define + ?Sized>(
        subfile: &Subfile<'_, D>,
        is_sealed: bool,
    ) -> Result<Option<Self>, Error> {
        let mut shape = None;
        if is_sealed {
            let vars = (0..u64::MAX).map_while(|varid| subfile.var(varid));
            shape = Shape::new(subfile.nblobs(), usize_to_u64(vars.count()));
            if shape.is_none() {
                return Ok(None);
            }
        }
        let header_free = shape.and_then(Shape::gap_len).unwrap_or(0);
        let alignment = Alignment { header_free, ..Alignment::default() };
        let plan = Plan::new(subfile, Version::Cdf5, alignment)?;
        Ok(Some(Self { plan, shape }))
    }

    /// Where the header and the values of a variable-centric subfile are.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The seal of a variable-centric subfile, and its gap; `None` if it gets none, or if the file
    /// has no values, and so no place before them.
    #[must_use]
    pub fn sealed(&self) -> Option<(Shape, Span)> {
        let plan = &self.plan;
        let has_values = !plan.fixed().is_empty() || plan.recsize() > 0;
        let gap = Span::between(plan.header_len(), plan.fixed().offset());
        self.shape.zip(gap.filter(|_| has_values))
    }

    /// The container of a process-centric subfile with data of this length. A seal gets the gap
    /// before the data, if there are data. `None` if the file would be longer than HDF5 files can
    /// be.
    #[must_use]
    pub fn container(&self, data_len: u64) -> Option<(Container, Option<(Shape, Span)>)> {
        let header_len = self.plan.header_len();
        let header_end = Container::header_end(header_len)?;
        let sealed = match self.shape.filter(|_| data_len > 0) {
            Some(shape) => Some((shape, shape.gap_after(header_end)?)),
            None => None,
        };
        let begin = sealed.map_or(header_end, |(_, gap)| gap.end());
        Some((Container::with_gap(header_len, begin, data_len)?, sealed))
    }
}

/// Writes a header into `bytes`, which has the length of the plan's: as it is embedded in HDF5
/// files if an order is given. `window` needs room for the longest name.
///
/// # Errors
/// The errors of [`Encode`].
pub fn encode<D: Define + ?Sized>(
    definition: &D,
    plan: &Plan,
    (numrecs, embedded): (u64, Option<ByteOrder>),
    mut bytes: &mut [u8],
    window: &mut [u8],
) -> Result<(), Error> {
    let encode = Encode::new(definition, plan, numrecs, window)?;
    let encode = match embedded {
        Some(order) => encode.embedded(order),
        None => encode,
    };
    encode.run(&mut bytes).map_err(|error| match error {
        DriveError::Format(error) => error,
        // Never: the memory is as long as the header.
        _ => Error::Size { begin: plan.header_len() },
    })
}
