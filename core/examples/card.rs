//! Reads a GSD file that fills a card, which is read in blocks of 512 bytes. With
//! `embedded-sdmmc`, `striae_sdmmc::Blocks` is such a device.
//!
//! ```text
//! cargo run -p striae-core --example card
//! ```
#![allow(clippy::as_conversions, missing_docs, reason = "an example of few words")]

use std::error::Error;
use striae_core::gsd::Reader;
use striae_core::store::{BlockDevice, BlockStore, Cached, FixedSize, ReadAt, WriteAt};

/// A card in memory. Another one sends commands to a chip here.
struct Card(Vec<u8>);

impl BlockDevice for Card {
    type Error = FixedSize;

    fn blocks(&mut self) -> Result<u64, FixedSize> {
        Ok(self.0.as_slice().size()? / 512)
    }

    fn read_blocks(&mut self, first: u64, bytes: &mut [u8]) -> Result<(), FixedSize> {
        self.0.as_slice().read_at(first.saturating_mul(512), bytes).map(drop)
    }

    fn write_blocks(&mut self, first: u64, bytes: &[u8]) -> Result<(), FixedSize> {
        self.0.as_mut_slice().write_all_at(first.saturating_mul(512), bytes)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut card = include_bytes!("../doc/v21_names_70.gsd").to_vec();
    card.resize(card.len().next_multiple_of(512), 0);
    let store = BlockStore::<_, _>::new(Card(card), [Cached::EMPTY; 2])?;
    let mut window = [0; 512];
    let file = Reader::open(store, &mut window)?;
    let id = file.name_id(b"log/quantity_042", &mut window)?.ok_or("no such name")?;
    assert_eq!(id, 42);
    assert!(file.find(0, id, &mut window)?.is_some());
    Ok(())
}

#[test]
fn a_chunk_of_the_card_is_found() -> Result<(), Box<dyn Error>> {
    main()
}
