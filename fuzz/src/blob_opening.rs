//! The body of `blob_open`: a subfile of any bytes, read by the adapter in a temporary folder that
//! is in memory if the system has such a place.

use std::num::NonZeroUsize;
use striae::blob::{OpenOptions, Set};
use striae::cdf::{Variable, whole};

/// Bytes of a variable that are compared: a header may claim any number.
const MOST: usize = 1 << 12;

/// Bytes of memory of a set; they must not change what is read.
const BUFFERS: [usize; 2] = [1 << 8, 1 << 12];

/// Reads the only subfile of a set, with little and with more memory: both give the same values, as
/// many as the header says. So does checked reading, unless it has lost something.
pub fn blob_open(data: &[u8]) {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("a.0000");
    std::fs::write(&path, data).unwrap();
    let open =
        |buffer: usize| OpenOptions::new().threads(NonZeroUsize::MIN).buffer(buffer).open(&path);
    let [few, more] = BUFFERS.map(open);
    let (few, more) = match (few, more) {
        (Ok(few), Ok(more)) => (few, more),
        (Err(few), Err(more)) => return assert_eq!(few.to_string(), more.to_string()),
        opened => panic!("{opened:?}"),
    };
    assert_eq!(few.decompositions().unwrap(), more.decompositions().unwrap());
    for (one, other) in few.header().variables().zip(more.header().variables()) {
        let (one, other) = (front(&few, one), front(&more, other));
        assert_eq!(one, other);
    }
    let checked = OpenOptions::new().threads(NonZeroUsize::MIN).checked(true).open(&path).unwrap();
    for (one, other) in few.header().variables().zip(checked.header().variables()) {
        let same = front(&checked, other) == front(&few, one);
        assert!(same || !checked.lost().is_empty());
    }
}

/// The first bytes of a variable; a header may claim more values than any file has.
fn front(set: &Set, variable: Variable<'_>) -> Result<Vec<u8>, String> {
    let (start, mut bytes) = (vec![0; variable.shape().len()], Vec::new());
    let read = set.read_pieces(variable, whole(variable, &start), None, &mut |piece| {
        bytes.extend_from_slice(piece);
        bytes.len() < MOST
    });
    read.map_err(|error| error.to_string())?;
    assert!(bytes.len() as u64 >= variable.len().min(MOST as u64));
    bytes.truncate(MOST);
    Ok(bytes)
}
