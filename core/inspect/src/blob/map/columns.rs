//! The columns of a decomposition in a netCDF map.

use crate::subject::{Failed, WINDOW, read_windows};
use alloc::vec::Vec;
use striae_core::blob::map::table::values;
use striae_core::blob::map::{Error, Table};
use striae_core::span::{Span, Stride};
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Says to the store that all columns will be read.
pub(super) fn announce<S: ReadAt>(store: &S, table: &Table) {
    let fills = table.fill_starts.unwrap_or(Span::ZERO);
    let columns = [table.dims, table.nreqs, fills, table.offsets, table.lengths];
    store.will_read(&columns.map(Stride::one));
}

/// The integers in a span of the file, which is in the file.
pub(super) fn column<S: ReadAt>(store: &S, span: Span) -> Result<Vec<i32>, Failed<S, Error>> {
    let mut column = Vec::new();
    let need = usize::try_from(span.len()).unwrap_or(usize::MAX);
    column.try_reserve_exact(need / 4).map_err(|_| DriveError::BufferTooSmall { need })?;
    read_windows(store, span, WINDOW, &mut Vec::new(), |_, bytes| {
        column.extend(values(bytes));
        Ok(true)
    })?;
    Ok(column)
}
