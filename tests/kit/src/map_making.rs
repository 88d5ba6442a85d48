//! What is written and saved of a decomposition map, and what is said of its bytes.

use striae_inspect::blob::map::recover::{Certainty, Doubt, Recovery};
use striae_inspect::blob::map::{Map, NetCdf, dump, is_text, map, text, text_len, verify};
use striae_inspect::dump::Line;

/// What is written of a sound map is sound and as long as was said, whatever the map is written as;
/// a map is damaged if and only if `verify` says so.
pub fn made_of_map(data: &[u8]) {
    let Ok(map) = Map::read(&data) else { return };
    let is_sound = |data: &[u8]| verify(&data, &mut |_| ()).unwrap().is_sound();
    assert_eq!(map.damage().is_none(), is_sound(data), "{:?}", map.damage());
    if map.damage().is_some() {
        return;
    }
    for of in map.decompositions() {
        if text_len(of) <= 1 << 18 {
            let text = text(of);
            assert!(text.len() as u64 <= text_len(of));
            assert!(is_sound(text.as_bytes()), "{text}");
        }
    }
    let how = NetCdf { command_line: "", raw: data.len().is_multiple_of(2) };
    if how.len(&map) <= 1 << 18 {
        let Ok(new) = how.write(&map) else { return };
        assert!(new.len() as u64 <= how.len(&map) + 4096 * (1 + map.decompositions().len() as u64));
        assert!(is_sound(&new));
    }
}

/// A dump has words and numbers in order, each byte has one region, and a text map without damage
/// is saved as it is; what is saved of a damaged one is not longer, and sound if that is said.
pub fn saved_of_map(data: &[u8]) {
    if data.len() > 1 << 16 || !is_text(&data).unwrap() {
        return;
    }
    let mut end = 0;
    let mut in_order = |line| {
        if let Line::Field { offset, len, bytes, .. } = line {
            assert!(offset >= end && offset + len <= data.len() as u64);
            end = offset + len;
            assert!(data[..end as usize].ends_with(&bytes));
        }
        Ok(())
    };
    let is_whole = dump(&data, &mut in_order).is_ok();
    let mut regions = map(&data).unwrap();
    assert_eq!(regions.damage().is_none(), is_whole);
    let mut at = 0;
    while at < data.len() as u64 {
        let region = regions.at(at).unwrap();
        assert!(region.span.offset() == at && !region.span.is_empty());
        at = region.span.end();
    }
    let Ok(recovery) = Recovery::examine(&data) else { return };
    let saved = recovery.text();
    assert!(saved.len() <= 2 * data.len() + 64, "{saved}");
    let new = Map::read(&saved.as_bytes()).unwrap();
    assert_eq!(new.decompositions(), recovery.map().decompositions());
    if recovery.tally().is_sound() {
        assert!(verify(&saved.as_bytes(), &mut |_| ()).unwrap().is_sound());
    }
    let old = Map::read(&data).ok().filter(|old| old.damage().is_none());
    if let Some(old) = old.filter(|_| data.ends_with(b"\n")) {
        // That it may be cut is all that can be said of it.
        let is_guess = |of| matches!(of, Certainty::Guess(Doubt::Missing { .. }));
        let mut words = recovery.found().iter().map(|one| one.certainty);
        assert!(words.all(|of| matches!(of, Certainty::AsFound(_)) || is_guess(of)));
        assert!(!recovery.tally().is_contradicted);
        assert_eq!(new.decompositions(), old.decompositions());
    }
}
