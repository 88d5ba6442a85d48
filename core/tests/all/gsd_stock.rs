//! Files of striae that gsd goes on with: no committed frame is lost, whatever it does and wherever
//! it is killed, a record that does not say everything any more is told, and striae goes on behind
//! it (`spec/gsd.md#what-stock-programs-do-to-them`).

use std::collections::BTreeMap;
use striae_core::gsd::{Attributes, ChunkType, Reader, Slot, State, Version, Writer};
use striae_kit::growing::Growing;
use striae_kit::gsd_stock::{Chunk, Stock};

type File = Writer<Growing, Vec<Slot>>;
/// What a file holds: bytes by frame and name.
type Contents = BTreeMap<(u64, Vec<u8>), Vec<u8>>;

fn memory() -> Vec<Slot> {
    vec![Slot::EMPTY; 16]
}

fn bytes_of(frame: u64, name: &[u8]) -> Vec<u8> {
    let len = u8::try_from(frame % 5).unwrap() + name[0] % 3;
    (0..len).map(|byte| byte ^ name[0]).collect()
}

fn write_frame(file: &mut File, names: &[&[u8]], contents: &mut Contents) {
    let frame = file.frames();
    for name in names {
        let id = file.name(name).unwrap();
        let bytes = bytes_of(frame, name);
        file.write_chunk(id, ChunkType::U8, 1, &bytes).unwrap();
        contents.insert((frame, name.to_vec()), bytes);
    }
    file.end_frame().unwrap();
}

/// Files of striae in every shape that a header can show, with what is committed in them.
fn shapes() -> Vec<(String, Growing, Contents)> {
    let mut shapes = Vec::new();
    for layer in [Version::LAYER, Version { major: 1, minor: 0 }] {
        let sizes = [(128, 128, 1024), (1, 1, 64), (8, 4, 256)];
        for (index_slots, shown_slots, names_len) in sizes {
            for acts in [
                "",
                "n",
                "c",
                "ecx",
                "xc",
                "xxxxxcxc",
                "xeeeeexc",
                "xceeec",
                "xxcxx",
                "xcxxxxxxxxxx",
            ] {
                let about = Attributes {
                    layer,
                    index_slots,
                    shown_slots,
                    names_len,
                    ..Attributes::default()
                };
                let mut file = Writer::create(Growing::default(), &about, memory()).unwrap();
                let (mut now, mut committed) = (Contents::new(), Contents::new());
                for act in acts.chars() {
                    match act {
                        'n' => drop(file.name(b"unused").unwrap()),
                        'x' => write_frame(&mut file, &[b"a", b"log/b"], &mut now),
                        'e' => drop(file.end_frame().unwrap()),
                        _ => {
                            file.commit().unwrap();
                            committed.clone_from(&now);
                        }
                    }
                }
                let name = format!("layer {layer}, {index_slots} slots, {names_len} bytes, {acts}");
                shapes.push((name, file.into_store(), committed));
            }
        }
    }
    shapes
}

/// All of a file, and how that is known.
fn read(what: &str, bytes: &[u8]) -> (State, Contents) {
    let mut window = [0; 4096];
    let file = Reader::open(bytes, &mut window).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mut names = Vec::new();
    let mut list = file.names([0; 4096]);
    while let Some((_, name)) = list.next().unwrap() {
        names.push(name.to_vec());
    }
    let mut contents = Contents::new();
    for chunk in file.chunks([0; 4096]) {
        let chunk = chunk.unwrap();
        let mut data = vec![0; usize::try_from(chunk.span.len()).unwrap()];
        file.read(chunk.span, &mut data).unwrap();
        let place = (chunk.frame, names[usize::from(chunk.id)].clone());
        assert!(contents.insert(place, data).is_none(), "{what}: twice");
    }
    (file.head().state, contents)
}

fn frames_of(contents: &Contents) -> u64 {
    contents.keys().next_back().map_or(0, |(frame, _)| frame + 1)
}

/// striae goes on with a file, and all of it is there. New names come with every commit, and no
/// list has anything behind them.
fn goes_on(what: &str, bytes: &[u8], mut contents: Contents) {
    let mut file = Writer::open(Growing(bytes.to_vec()), memory()).unwrap();
    assert_eq!(file.frames(), frames_of(&contents), "{what}");
    let known = usize::try_from(file.names()).unwrap();
    for new in [&b"c1"[..], b"c2", b"c3"] {
        write_frame(&mut file, &[b"a", new], &mut contents);
        file.commit().unwrap();
        let names = Stock::open(&file.store().0, 1).all_names();
        assert_eq!(names.len(), usize::try_from(file.names()).unwrap(), "{what}: {names:?}");
        assert!(names.len() <= known + 4, "{what}: {names:?}");
    }
    file.close().unwrap();
    let (state, found) = read(what, &file.into_store().0);
    assert!(matches!(state, State::Committed(_)), "{what}: {state:?}");
    assert_eq!(found, contents, "{what}");
}

/// Chunks that gsd appends: `count` to each of two frames, under names of which some are new.
fn appended(first: u64, count: usize) -> Vec<(u64, Vec<u8>, Vec<u8>)> {
    let long = [b'n'; 90];
    let names: [&[u8]; 4] = [b"a", b"of gsd", &long, b"log/b"];
    let mut chunks = Vec::new();
    for frame in first..first + 2 {
        for name in &names[..count] {
            chunks.push((frame, name[..name.len().min(63)].to_vec(), bytes_of(frame, name)));
        }
    }
    chunks
}

fn chunks(of: &[(u64, Vec<u8>, Vec<u8>)]) -> Vec<Chunk<'_>> {
    of.iter().map(|(frame, name, bytes)| Chunk { frame: *frame, name, bytes }).collect()
}

#[test]
fn an_append_of_gsd_makes_the_record_stale_and_loses_nothing() {
    for (shape, file, contents) in shapes() {
        for count in 1..=4 {
            let what = format!("{shape}; gsd appends {count} chunks to 2 frames");
            let more = appended(frames_of(&contents), count);
            let mut stock = Stock::open(&file.0, 1);
            assert_eq!(stock.chunks(), contents.len(), "{what}: gsd sees what is committed");
            stock.flush(&chunks(&more), None);
            let mut all = contents.clone();
            all.extend(more.into_iter().map(|(frame, name, bytes)| ((frame, name), bytes)));
            assert_eq!(read(&what, &stock.file), (State::Appended, all.clone()), "{what}");
            goes_on(&what, &stock.file, all);
        }
    }
}

#[test]
fn gsd_can_be_killed_behind_any_of_its_writes() {
    for (shape, file, contents) in shapes() {
        for count in 1..=4 {
            let more = appended(frames_of(&contents), count);
            let mut stock = Stock::open(&file.0, 1);
            stock.flush(&chunks(&more), None);
            let last = stock.states.len() - 1;
            for (number, state) in stock.states[..last].iter().enumerate() {
                let what = format!("{shape}; {count} chunks, killed behind write {number}");
                assert_eq!(read(&what, state).1, contents, "{what}");
                goes_on(&what, state, contents.clone());
            }
        }
    }
}

#[test]
fn a_frame_that_gsd_leaves_open_adds_names_and_nothing_else() {
    for (shape, file, contents) in shapes() {
        for len in [1, 40, 3000] {
            let name = vec![b'q'; len.min(if file.0[46] == 2 { 3000 } else { 63 })];
            let frame = frames_of(&contents);
            let open = [Chunk { frame, name: &name, bytes: b"lost" }];
            let mut stock = Stock::open(&file.0, 1);
            stock.flush(&open, Some(frame));
            let what = format!("{shape}; a name of {} bytes", name.len());
            assert_eq!(read(&what, &stock.file).1, contents, "{what}");
            goes_on(&what, &stock.file, contents.clone());
        }
    }
}

#[test]
fn frames_that_are_appended_in_turns_are_all_there() {
    for (shape, mut file, mut contents) in shapes() {
        for turn in 0..6 {
            let what = format!("{shape}; turn {turn}");
            let more = appended(frames_of(&contents), 1 + turn % 4);
            let mut stock = Stock::open(&file.0, 1);
            stock.flush(&chunks(&more), None);
            contents.extend(more.into_iter().map(|(frame, name, bytes)| ((frame, name), bytes)));
            let mut ours = Writer::open(Growing(stock.file), memory()).unwrap();
            for _ in 0..turn {
                write_frame(&mut ours, &[b"a", b"of striae"], &mut contents);
            }
            ours.commit().unwrap();
            file = ours.into_store();
            assert_eq!(read(&what, &file.0).1, contents, "{what}");
        }
    }
}

/// A power cut before the header of a commit was written leaves the shadow of a commit that never
/// was.
#[test]
fn an_append_behind_a_commit_that_was_cut_off_is_one_behind_the_last() {
    for (shape, file, contents) in shapes() {
        let before = file.0.clone();
        let mut ours = Writer::open(file, memory()).unwrap();
        write_frame(&mut ours, &[b"a", b"cut off"], &mut Contents::new());
        ours.commit().unwrap();
        let mut cut = ours.into_store().0;
        cut[..256].copy_from_slice(&before[..256]);
        assert_eq!(read(&shape, &cut).1, contents, "{shape}");
        for count in 1..=4 {
            let more = appended(frames_of(&contents), count);
            let mut stock = Stock::open(&cut, 1);
            stock.flush(&chunks(&more), None);
            let mut all = contents.clone();
            all.extend(more.into_iter().map(|(frame, name, bytes)| ((frame, name), bytes)));
            assert_eq!(read(&shape, &stock.file), (State::Appended, all.clone()), "{shape}");
            goes_on(&shape, &stock.file, all);
        }
    }
}

#[test]
fn opening_by_another_minor_version_leaves_the_record_whole() {
    for (shape, file, contents) in shapes() {
        for minor in [0, 1] {
            let stock = Stock::open(&file.0, minor);
            let (state, found) = read(&shape, &stock.file);
            assert!(matches!(state, State::Committed(_)), "{shape}: {state:?}");
            assert_eq!(found, contents, "{shape}");
            goes_on(&shape, &stock.file, contents.clone());
        }
    }
}

#[test]
fn an_upgrade_by_gsd_makes_the_record_stale() {
    for (shape, file, contents) in shapes().into_iter().filter(|(_, file, _)| file.0[46] == 1) {
        let mut stock = Stock::open(&file.0, 1);
        stock.upgrade();
        assert_eq!(read(&shape, &stock.file), (State::Appended, contents.clone()), "{shape}");
        goes_on(&shape, &stock.file, contents);
    }
}

#[test]
fn a_file_that_gsd_truncates_has_no_record() {
    for (shape, file, _) in shapes() {
        let mut stock = Stock::open(&file.0, 1);
        stock.truncate();
        assert_eq!(read(&shape, &stock.file), (State::Plain, Contents::new()), "{shape}");
        goes_on(&shape, &stock.file, Contents::new());
    }
}

/// The shadow of such a file stands where a new file would have its index.
#[test]
fn a_file_of_gsd_that_striae_truncates_is_empty_and_can_be_gone_on_with() {
    for (shape, file, _) in shapes() {
        let mut stock = Stock::open(&file.0, 1);
        stock.truncate(); // as gsd makes new ones
        for frames in [0, 1, 5, 300] {
            let mut ours = Writer::open(Growing(stock.file.clone()), memory()).unwrap();
            let mut contents = Contents::new();
            for _ in 0..frames {
                write_frame(&mut ours, &[b"a", b"log/b"], &mut contents);
            }
            ours.commit().unwrap();
            ours.truncate().unwrap();
            let what = format!("{shape}; {frames} frames");
            let ours = ours.into_store().0;
            assert_eq!(read(&what, &ours).1, Contents::new(), "{what}");
            goes_on(&what, &ours, Contents::new());
        }
    }
}

#[test]
fn names_that_come_behind_an_upgrade_of_ours_are_whole() {
    for (shape, file, contents) in shapes().into_iter().filter(|(_, file, _)| file.0[46] == 1) {
        let mut ours = Writer::open(file, memory()).unwrap();
        let mut now = contents.clone();
        for name in [&b"before 1"[..], b"before 2", b"before 3"] {
            write_frame(&mut ours, &[b"a", name], &mut now);
            ours.commit().unwrap();
        }
        ours.upgrade().unwrap();
        for name in [&b"behind 1"[..], b"behind 2", b"behind 3"] {
            write_frame(&mut ours, &[b"a", name], &mut now);
            ours.commit().unwrap();
            assert_eq!(read(&shape, &ours.store().0).1, now, "{shape}");
        }
        goes_on(&shape, &ours.into_store().0, now);
    }
}
