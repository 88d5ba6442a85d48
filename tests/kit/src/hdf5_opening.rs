//! The body of `hdf5_open`: a view of a few pages finds what a slice has, in bounded steps.

use striae_core::hdf5::{Attributes, Dataset, Error, Links, Reader, Search, superblock};
use striae_core::source::{Fault, Miss, Restart, Source, View};
use striae_core::step::DriveError;

/// What a file has, as a number; all that outlives a restart.
#[derive(Debug, Default)]
pub struct Known {
    root: Option<u64>,
    links: Option<Links>,
    attributes: Option<Attributes>,
    /// The object of the link at hand, and its dataset.
    object: Option<u64>,
    dataset: Option<Dataset>,
    sum: u64,
    steps: u64,
}

impl Known {
    fn add(&mut self, found: &impl core::fmt::Debug) {
        self.sum = format!("{found:?}")
            .bytes()
            .fold(self.sum, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        self.steps += 1;
    }
}

/// Reads the links of the root group, the arrays that they lead to, and the attributes.
///
/// # Errors
/// Those of the file, and misses. An array that is refused is no error.
pub fn read_all<S: Source + ?Sized>(source: &S, known: &mut Known) -> Result<u64, Fault<Error>> {
    let root = *source.once(&mut known.root, superblock::root)?;
    source.once(&mut known.links, |source| Links::open(source, root))?;
    source.once(&mut known.attributes, |source| Attributes::open(source, root))?;
    let pins = source.pins();
    loop {
        if let Some(object) = known.object {
            let array = source
                .once(&mut known.dataset, |source| Dataset::open(source, object))
                .and_then(|dataset| dataset.array(source));
            match array {
                Err(Fault::Miss(miss @ (Miss::Read { .. } | Miss::Page { .. } | Miss::Pages))) => {
                    return Err(miss.into());
                }
                array => {
                    if let Ok(array) = array {
                        assert!(array.values.fits(source.file_len()));
                    }
                    known.add(&array);
                }
            }
            (known.object, known.dataset) = (None, None);
            source.set_pins(pins);
        }
        let Some(link) = known.links.as_mut().and_then(|links| links.next(source).transpose())
        else {
            break;
        };
        let link = link?;
        known.add(&link);
        known.object = link.object;
        source.set_pins(pins);
    }
    loop {
        let attributes = known.attributes.as_mut();
        match attributes.and_then(|attributes| attributes.next(source).transpose()) {
            Some(attribute) => known.add(&attribute?),
            None => return Ok(known.sum),
        }
        source.set_pins(pins);
    }
}

/// Asserts that a view of 4 pages finds what a slice has.
pub fn agrees(data: &[u8], page_len: usize) {
    let mut known = Known::default();
    let found = read_all(data, &mut known);
    assert!(known.steps <= data.len() as u64 + 1, "{} steps", known.steps);
    let mut memory = vec![0xee; 4 * page_len];
    let len = data.len() as u64;
    let view = View::<4>::new(&mut memory, len);
    let most = 4 * len + 64;
    let viewed = Restart::new(view, Known::default(), most, read_all).read_from(data);
    match viewed {
        Ok(sum) => assert_eq!(found, Ok(sum), "pages of {page_len}"),
        Err(DriveError::Format(Fault::Miss(Miss::Page { len }))) => assert!(page_len < len),
        // An attribute of many dimensions is longer than 4 such pages.
        Err(DriveError::Format(Fault::Miss(Miss::Pages))) => assert!(page_len < 256),
        Err(DriveError::Format(fault)) => assert_eq!(found, Err(fault), "pages of {page_len}"),
        Err(error) => panic!("{error:?}"),
    }
}

/// The input is an HDF5 file.
pub fn hdf5_open(data: &[u8]) {
    for page_len in [96, 256, 4096] {
        agrees(data, page_len);
    }
    let mut memory = [0; Reader::<()>::MEMORY];
    match Reader::open(data, &mut memory) {
        Err(error) => assert!(!error.to_string().contains('\n')),
        Ok(file) => {
            for name in [&b"header_blob"[..], b"data_blob", b"dataset_00"] {
                let linear = Search::default().dataset(data, file.root(), name);
                match file.dataset(name, &mut memory) {
                    Err(DriveError::Format(Fault::Miss(Miss::Page { .. } | Miss::Pages))) => {}
                    Err(DriveError::Format(error)) => assert_eq!(linear, Err(error)),
                    found => assert_eq!(linear, Ok(found.unwrap())),
                }
            }
        }
    }
}
