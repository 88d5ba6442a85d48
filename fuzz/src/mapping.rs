//! A map of any bytes gives each of them one kind; a dump of them names none that are not there.

use core::fmt::Debug;
use core::num::NonZeroU64;
use striae_inspect::dump::Line;
use striae_inspect::map::Map;
use striae_inspect::subject::{Failed, Subject};

/// Cells of a picture: few, so that some have more regions than are looked at.
const CELLS: u64 = 8;

/// The input is mapped as a file of its target's format only: others are for other targets.
pub(crate) fn check_map<S: Subject<Error: Debug>, F: Debug>(
    map: Result<Map<'_, S, F>, Failed<S, F>>,
) {
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

type Each<'e> = dyn FnMut(Line) -> Result<(), striae_core::store::FixedSize> + 'e;

/// Every field has the bytes that are at its place. There are no more lines than bytes justify.
pub(crate) fn check_dump(data: &[u8], dump: impl FnOnce(&mut Each<'_>) -> bool) {
    let mut lines = 0;
    let is_whole = dump(&mut |line| {
        lines += 1;
        match line {
            // The header of a record may continue in another chunk.
            Line::Derived { .. } | Line::Field { position: Some(_), .. } => {}
            Line::Field { name, offset, len, bytes, position: None, .. } => {
                let place = usize::try_from(offset).ok().and_then(|at| data.get(at..));
                let place = place.and_then(|rest| rest.get(..usize::try_from(len).ok()?));
                assert!(place.is_some_and(|place| place.starts_with(&bytes)), "{name}: {offset}");
            }
        }
        Ok(())
    });
    assert!(!is_whole || lines > 0, "nothing is listed of a file without damage");
    assert!(lines <= 1000 + 8 * data.len(), "{lines} lines of {} bytes", data.len());
}
