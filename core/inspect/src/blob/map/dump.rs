//! Lists every word and number of a text map, with its offset, bytes and value.

use super::tokens::{End, Role, tokens};
use crate::dump::{Each, Line};
use crate::subject::Failed;
use alloc::format;
use alloc::string::{String, ToString};
use striae_core::blob::map::Error;
use striae_core::step::DriveError;
use striae_core::store::ReadAt;

/// Passes each word and each number of a text map to `each`, in the order of the file.
///
/// # Errors
/// [`Error`] at the first damage after which nothing can be understood; what is before it is passed
/// first. An error of the store; an error of `each`.
pub fn dump<'a, S: ReadAt>(store: &'a S, each: &mut Each<'a, S>) -> Result<(), Failed<S, Error>> {
    let end = tokens(store, &mut |token| {
        let name = match token.role {
            Role::Word => "map.word".to_string(),
            Role::Head(0) => "map.version".to_string(),
            Role::Head(1) => "map.npes".to_string(),
            Role::Head(_) => "map.ndims".to_string(),
            Role::Dim { index } => format!("map.dim[{index}]"),
            Role::Rank { rank } => format!("map.rank[{rank}]"),
            Role::Count { rank, .. } => format!("map.count[{rank}]"),
            Role::Element { rank, index } => format!("map.element[{rank}][{index}]"),
        };
        let (offset, len) = (token.place.offset(), token.place.len());
        let value = String::from_utf8_lossy(token.bytes).into_owned();
        let line =
            Line::Field { name, offset, len, bytes: token.bytes.to_vec(), value, position: None };
        each(line).map_err(DriveError::Store)
    })?;
    let len = store.size().map_err(DriveError::Store)?;
    match end {
        End::Damaged(_, error) => Err(DriveError::Format(error)),
        End::Whole(end) if end == len => Ok(()),
        End::Whole(end) => {
            let value = len.saturating_sub(end).to_string();
            each(Line::Derived { name: "bytes after the map", value }).map_err(DriveError::Store)
        }
    }
}
