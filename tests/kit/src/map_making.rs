//! What is written of a decomposition map.

use striae_inspect::blob::map::{Map, NetCdf, text, text_len, verify};

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
