//! `striae cat` of a netCDF file.

use super::text::Rows;
use crate::args::{CatArgs, Indices, RegionArgs};
use crate::failure::{Failure, Sound};
use crate::text::stdout;
use std::io::{self, Write};
use std::path::Path;
use striae::cdf::{Region, Variable};
use striae::{Error, Format};

pub(super) fn cat(args: &CatArgs) -> Result<Sound, Failure> {
    let file = super::open(&args.file.path, args.direct)?;
    let mut parts = Vec::new();
    super::selected((file.path(), file.header(), Format::Cdf), args.address.clone(), |variable| {
        parts.push((variable, bytes(args, variable)?));
        Ok(())
    })?;
    file.admit(&args.max_size.output(), parts)?;
    super::selected((file.path(), file.header(), Format::Cdf), args.address.clone(), |variable| {
        write(args, variable, |region, each| file.read_pieces(variable, region, each))
    })?;
    Ok(Sound::Yes)
}

/// Writes the region of a variable that was asked for; `read` passes its bytes on.
pub(crate) fn write(
    args: &CatArgs,
    variable: Variable<'_>,
    read: impl FnOnce(Region<'_>, &mut dyn FnMut(&[u8]) -> bool) -> Result<(), Error>,
) -> Result<(), Failure> {
    let part = Part::new(&args.file.path, &args.region, variable)?;
    let mut written = Ok(());
    if args.text {
        let mut out = stdout();
        let mut rows = Rows::new(variable.nc_type(), part.count.last().copied());
        read(part.region(), &mut |bytes| {
            written = rows.write(bytes, &mut out);
            written.is_ok()
        })?;
        return written.and_then(|()| rows.finish(&mut out)).map_err(Failure::stdout);
    }
    let mut out = io::stdout().lock();
    read(part.region(), &mut |bytes| {
        written = out.write_all(bytes);
        written.is_ok()
    })?;
    written.and_then(|()| out.flush()).map_err(Failure::stdout)
}

/// The bytes of the region of a variable that was asked for.
pub(crate) fn bytes(args: &CatArgs, variable: Variable<'_>) -> Result<u64, Failure> {
    let part = Part::new(&args.file.path, &args.region, variable)?;
    Ok(part.count.iter().fold(variable.nc_type().size(), |len, n| len.saturating_mul(*n)))
}

/// The part of a variable that was asked for.
pub(crate) struct Part {
    start: Vec<u64>,
    pub(crate) count: Vec<u64>,
    stride: Vec<u64>,
}

impl Part {
    /// The region of the arguments; what is not given is that of the whole variable.
    fn new(path: &Path, args: &RegionArgs, variable: Variable<'_>) -> Result<Self, Failure> {
        let shape = variable.shape();
        Self::of(args, shape).map_err(|flag| {
            let name = crate::printable::printable(variable.name());
            let ndims = shape.len();
            Failure::usage(
                path,
                &format!("--{flag} must have a number for each dimension of {name}: {ndims}"),
            )
        })
    }

    /// The region in an array of this shape; the error is the flag with too few or too many
    /// numbers.
    pub(crate) fn of(args: &RegionArgs, shape: &[u64]) -> Result<Self, &'static str> {
        let given = |flag, numbers: &Option<Indices>, default: u64| match numbers {
            Some(numbers) if numbers.0.len() == shape.len() => Ok(numbers.0.to_vec()),
            Some(_) => Err(flag),
            None => Ok(vec![default; shape.len()]),
        };
        let start = given("start", &args.start, 0)?;
        let stride = given("stride", &args.stride, 1)?;
        let rest = |((&length, &start), &stride): ((&u64, &u64), &u64)| {
            // A stride of 0 and a start after the end are refused later.
            let rest = length.saturating_sub(start).div_ceil(stride.max(1));
            if start > length { 1 } else { rest }
        };
        let count = match &args.count {
            Some(_) => given("count", &args.count, 0)?,
            None => shape.iter().zip(&start).zip(&stride).map(rest).collect(),
        };
        Ok(Self { start, count, stride })
    }

    pub(crate) fn region(&self) -> Region<'_> {
        Region { start: &self.start, count: &self.count, stride: Some(&self.stride) }
    }
}
