//! A netCDF file, CDF-2, with a record for each sample: the part to copy.

use crate::sample::Sample;
use striae_core::cdf::writer::WriteError;
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Error, Fill, Plan, Reader, Slot, Type, VarDef, Version,
    Writer,
};
use striae_core::step::DriveError;
use striae_core::store::WriteAt;

/// Numbers of the variables.
const TIME: u64 = 0;
const TEMPERATURE: u64 = 1;

pub struct Table<S> {
    log: Writer<S, [Slot; 2], [u8; 512]>,
    /// Records that are safe.
    safe: u32,
}

impl<S: WriteAt> Table<S> {
    /// Goes on with the file. Without one, `anew` gives the store of a new file.
    pub fn start(
        store: S,
        anew: impl FnOnce(S) -> Result<S, S::Error>,
    ) -> Result<Self, WriteError<S>> {
        let is_file = match Reader::open(&store, &mut [0; 1], &mut [0; 512]) {
            Ok(_) => true,
            Err(_) if store.size().map_err(DriveError::Store)? == 0 => false,
            Err(DriveError::Format(Error::NotCdf { .. })) => false,
            Err(error) => return Err(error),
        };
        let slots = [Slot::EMPTY; 2];
        let log = if is_file {
            Writer::open(store, Fill::Values, &mut [0; 1], slots, [0; 512])?
        } else {
            let of = |name, nc_type| VarDef { name, nc_type, dimids: &[0] };
            let seconds = AttrDef::new("units", "seconds since 1980-01-01");
            let definition = Definition {
                dims: &[DimDef::record("time")],
                attrs: &[AttrDef::new("title", "striae board")],
                vars: &[
                    (of("time", Type::Int), &[seconds]),
                    (of("temperature", Type::Float), &[AttrDef::new("units", "K")]),
                ],
            };
            let plan = Plan::new(&definition, Version::Cdf2, Alignment::default());
            let plan = plan.map_err(DriveError::Format)?;
            let store = anew(store).map_err(DriveError::Store)?;
            Writer::create(store, &definition, &plan, Fill::Values, slots, [0; 512])?
        };
        Ok(Self { safe: log.records() as u32, log })
    }

    /// Records that are safe.
    pub fn records(&self) -> u32 {
        self.safe
    }

    /// Logs a sample as a record. When it returns, the record is safe. After an error it can be
    /// called again with this sample: the record is never there twice.
    pub fn log(&mut self, sample: &Sample) -> Result<(), WriteError<S>> {
        if self.log.records() == self.safe.into() {
            self.log.put(TIME, &(sample.second as i32))?;
            self.log.put(TEMPERATURE, &sample.temperature)?;
            self.log.end_record()?;
        } // else a call that failed has ended it
        self.log.commit()?;
        self.safe += 1;
        Ok(())
    }
}
