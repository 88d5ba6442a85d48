//! Reads a GSD file in a map of memory: a slice is a store, and its bytes are a source for parsers.
//!
//! ```text
//! cargo run -p striae-core --example memory_map
//! ```
#![allow(missing_docs, reason = "an example of few words")]

use std::error::Error;
use std::fs::File;
use striae_core::gsd::Reader;

fn main() -> Result<(), Box<dyn Error>> {
    let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/doc/v21_names_70.gsd"))?;
    // SAFETY: memmap2 asks that nobody changes or cuts the file while it is mapped. Nobody writes
    // this one. What another program changes all the same is read as it is: striae trusts no byte.
    #[allow(unsafe_code, reason = "the caller's promise to memmap2; the library has none")]
    let map = unsafe { memmap2::Mmap::map(&file) }?;

    let mut window = [0; 512];
    let file = Reader::open(&*map, &mut window)?;
    let mut names = file.names(&mut window);
    let mut last = None;
    while let Some((id, name)) = names.next()? {
        assert_eq!(name, format!("log/quantity_{id:03}").as_bytes());
        last = Some(id);
    }
    assert_eq!(last, Some(69));
    Ok(())
}

#[test]
fn all_names_are_in_the_map() -> Result<(), Box<dyn Error>> {
    main()
}
