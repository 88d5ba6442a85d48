//! A map of any bytes gives each of them one kind.

use core::fmt::Debug;
use core::num::NonZeroU64;
use striae_inspect::map::Map;
use striae_inspect::subject::{Failed, Subject};
use striae_inspect::{ffrecord, gsd, sion};

/// Cells of a picture: few, so that some have more regions than are looked at.
const CELLS: u64 = 8;

/// Whatever format the file is said to have.
pub(crate) fn check_maps(data: &[u8]) {
    check(sion::map(&data));
    check(gsd::map(&data));
    check(ffrecord::map(&data));
}

fn check<S: Subject<Error: Debug>, F: Debug>(map: Result<Map<'_, S, F>, Failed<S, F>>) {
    let Ok(mut map) = map else { return };
    let cell_len = NonZeroU64::new(map.file_len().div_ceil(CELLS)).unwrap_or(NonZeroU64::MIN);
    let cells = map.cells(cell_len).unwrap();
    let mut at = 0;
    for cell in &cells.cells {
        assert_eq!((cell.span.offset(), cell.amounts.total()), (at, cell.span.len()));
        at = cell.span.end();
    }
    assert_eq!((at, cells.amounts.total()), (map.file_len(), map.file_len()));
}
