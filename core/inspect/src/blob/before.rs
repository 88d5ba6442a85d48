//! The widths of the variables in a process-centric blob.

use super::container::{memory, room};
use super::flaw::Flaw;
use super::grammar::{Local, Variable};
use alloc::boxed::Box;
use alloc::vec::Vec;
use striae_core::blob::{Content, Fixed, Width};
use striae_core::step::DriveError;

/// The bytes of the variables before each variable in a blob, and those of all variables.
#[derive(Debug)]
pub(super) struct Before {
    fixed: Box<[Fixed]>,
    /// For each variable, for each decomposition.
    elements: Box<[u64]>,
    ndecompositions: usize,
}

impl Before {
    pub(super) fn new<E>(
        variables: &[Variable],
        locals: &[Local],
        numrecs: u64,
        stray: bool,
    ) -> Result<Self, DriveError<E, Flaw>> {
        let ndecompositions = locals.len();
        let mut sums = memory(ndecompositions)?;
        let mut width = Width::new(&mut sums);
        let (mut fixed, mut elements) = (Vec::new(), Vec::new());
        // A header of a few MB may ask for more than there is.
        let rows = variables.len().saturating_add(1);
        room(&mut elements, rows.saturating_mul(ndecompositions))?;
        for variable in variables {
            fixed.push(width.fixed());
            elements.extend_from_slice(width.elements());
            let size = || DriveError::Format(Flaw::Size { name: variable.name.clone() });
            let records = if variable.is_record { numrecs } else { 1 };
            let len = variable.nc_type.size().checked_mul(records).ok_or_else(size)?;
            let is_empty = |index: usize| locals.get(index).is_some_and(|local| local.nelems == 0);
            let content = match variable.decomposition {
                Some(index) if stray && !variable.is_record && is_empty(index) => {
                    Content::Stray { len }
                }
                Some(decomposition) => Content::Elements { decomposition, len },
                None => Content::Whole { len: len.checked_mul(variable.count).ok_or_else(size)? },
            };
            width.add(content).ok_or_else(size)?;
        }
        fixed.push(width.fixed());
        elements.extend_from_slice(width.elements());
        Ok(Self { fixed: fixed.into(), elements: elements.into(), ndecompositions })
    }

    /// What comes before a variable, or after the last one.
    pub(super) fn of(&self, variable: usize) -> Option<(Fixed, &[u64])> {
        let first = variable.checked_mul(self.ndecompositions)?;
        let elements = self.elements.get(first..first.checked_add(self.ndecompositions)?)?;
        Some((*self.fixed.get(variable)?, elements))
    }

    /// What all variables have.
    pub(super) fn all(&self) -> (Fixed, &[u64]) {
        self.of(self.fixed.len().saturating_sub(1)).unwrap_or_default()
    }
}
