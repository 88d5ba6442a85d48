//! A map gives each byte one kind, and the one that the tables of the file say: for all golden
//! files, and for the seeds of the fuzz targets.

use std::cell::Cell;
use std::fs;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use striae_core::sion::{Meta1, Opened, Physical};
use striae_core::span::Span;
use striae_core::store::ReadAt;
use striae_core::{ffrecord, gsd};
use striae_inspect::dump::Line;
use striae_inspect::map::{Amounts, Cells, Kind, Map, Region};
use striae_inspect::subject::Subject;

/// Files in a folder of the repository.
fn files(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            !name.ends_with(".json") && !name.ends_with(".txt") && !name.ends_with(".md")
        })
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// All regions, each looked up where it starts.
fn regions<S: Subject, F: std::fmt::Debug>(map: &mut Map<'_, S, F>) -> Vec<Region> {
    let (mut regions, mut at) = (Vec::new(), 0);
    while at < map.file_len() {
        let region = map.at(at).unwrap_or_else(|_| panic!("{at}"));
        assert!(region.span.offset() == at && !region.span.is_empty());
        at = region.span.end();
        regions.push(region);
    }
    assert_eq!(at, map.file_len());
    regions
}

/// The laws of a map of any file, however damaged. Returns its regions.
fn check<S: Subject, F: std::fmt::Debug>(map: &mut Map<'_, S, F>) -> Vec<Region> {
    let all = regions(map);
    let file_len = map.file_len();
    let mut sums = Amounts::default();
    all.iter().for_each(|region| sums.add(region.kind, region.span.len()));
    assert_eq!(sums.total(), file_len);
    for part in map.parts().to_vec() {
        let found = all.iter().find(|region| region.span == part.span).unwrap();
        assert_eq!((found.kind, found.name), (part.kind, part.name));
    }
    // Looking up is the same from every byte.
    for region in &all {
        for skip in [region.span.len() / 2, region.span.len() - 1] {
            let rest = map.at(region.span.offset() + skip).unwrap_or_else(|_| panic!());
            assert_eq!(rest, Region { span: region.span.rest(skip).unwrap(), ..*region });
        }
    }
    for width in 1..=200 {
        check_cells(map, width, &sums, &all);
    }
    all
}

fn check_cells<S: Subject, F>(
    map: &mut Map<'_, S, F>,
    width: u64,
    sums: &Amounts,
    regions: &[Region],
) {
    let cell_len = NonZeroU64::new(map.file_len().div_ceil(width).max(1)).unwrap();
    let cells = map.cells(cell_len).unwrap_or_else(|_| panic!());
    let (mut amounts, mut at) = (Amounts::default(), 0);
    for cell in &cells.cells {
        assert_eq!(cell.span.offset(), at);
        assert!(!cell.span.is_empty() && cell.span.len() <= cell_len.get());
        assert_eq!(cell.amounts.total(), cell.span.len());
        assert!(cell.amounts.present().any(|(kind, _)| kind == cell.kind));
        amounts.add_all(&cell.amounts);
        at = cell.span.end();
    }
    assert_eq!((at, amounts), (map.file_len(), cells.amounts));
    assert!(u64::try_from(cells.cells.len()).unwrap() <= width);
    // Tables are counted exactly, and each is seen, however short.
    let of = |amounts: &Amounts, kind| {
        amounts.present().find(|(other, _)| *other == kind).map(|(_, bytes)| bytes)
    };
    let only_tables =
        [Kind::Header, Kind::Shadow, Kind::Index, Kind::Lengths, Kind::Names, Kind::Free];
    for kind in only_tables {
        assert_eq!(of(&amounts, kind), of(sums, kind), "{kind:?}");
    }
    let is_seen_always = |region: &&Region| !region.name.is_empty() && region.kind != Kind::Free;
    for part in regions.iter().filter(is_seen_always) {
        let mut cells = cells.cells.iter().filter(|cell| cell.span.overlaps(part.span));
        let is_seen = |kind: Kind| kind <= part.kind || kind.is_metadata();
        assert!(cells.all(|cell| is_seen(cell.kind) || cell.mark.is_some_and(is_seen)));
    }
    if !cells.is_sampled {
        assert_eq!(amounts, *sums);
        check_part(map, &cells);
    }
}

/// Cells of a part of a file are those of the whole.
fn check_part<S: Subject, F>(map: &mut Map<'_, S, F>, cells: &Cells) {
    let third = cells.cells.len() / 3;
    let part = &cells.cells[third..2 * third];
    let (Some(first), Some(last)) = (part.first(), part.last()) else { return };
    let span = Span::between(first.span.offset(), last.span.end()).unwrap();
    let found = map.cells_of(span, cells.cell_len).unwrap_or_else(|_| panic!());
    assert_eq!(found.cells, part);
    assert_eq!(found.amounts.total(), span.len());
    let behind = Span::new(map.file_len(), 100).unwrap();
    let none = map.cells_of(behind, cells.cell_len).unwrap_or_else(|_| panic!());
    assert_eq!((none.cells, none.amounts.total()), (vec![], 0));
}

fn at(regions: &[Region], offset: u64) -> &Region {
    regions
        .iter()
        .find(|region| region.span.offset() <= offset && offset < region.span.end())
        .unwrap()
}

/// The kind that a line of a dump is of, by its name.
fn kind_of(name: &str, position: Option<u64>) -> Kind {
    let (table, field) = name.split_once('.').unwrap();
    match (table, field.split('[').next().unwrap()) {
        _ if position.is_some() => Kind::Records,
        ("META1", "globalrank" | "chunksize") => Kind::Index,
        ("META1", _) | ("header" | "commit", _) => Kind::Header,
        ("META2", _) => Kind::Lengths,
        ("mapping", _) => Kind::Mapping,
        ("seal", _) => Kind::Checksums,
        (table, _) if table.starts_with("shadow") => Kind::Shadow,
        ("index", _) => Kind::Index,
        ("namelist", _) => Kind::Names,
        (table, field) => panic!("{table} {field}"),
    }
}

fn check_dump(regions: &[Region], lines: &[Line], kind_of: fn(&str, Option<u64>) -> Kind) {
    for line in lines {
        let Line::Field { name, offset, len, position, .. } = line else { continue };
        let region = at(regions, *offset);
        let kind = kind_of(name, *position);
        // Of slots that no commit counts, a dump shows what is in them.
        let is_free = region.kind == Kind::Free && matches!(kind, Kind::Index | Kind::Names);
        assert!(region.kind == kind || is_free, "{name} at {offset}: {:?}", region.kind);
        if position.is_none() {
            let mut end = region.span.end();
            let free =
                regions.iter().find(|free| free.kind == Kind::Free && free.span.offset() == end);
            if let (Kind::Names, Some(free)) = (kind, free) {
                end = free.span.end(); // a name that a commit counts only the front of
            }
            assert!(offset + len <= end, "{name} at {offset}");
        }
    }
}

/// The bytes are of this owner, and data.
fn check_data(regions: &[Region], span: Span, owner: u64) {
    let mut rest = span;
    while !rest.is_empty() {
        let region = at(regions, rest.offset());
        assert!(region.kind.is_data() || region.kind == Kind::Checksums, "{region:?}");
        assert_eq!(region.owner, Some(owner), "{region:?}");
        rest = rest.skip(region.span.end() - rest.offset());
    }
}

#[test]
fn each_byte_of_a_sion_file_is_what_its_tables_say() {
    use striae_inspect::sion::{dump, map};
    for (path, bytes) in files("tests/golden/sion") {
        let store = &bytes[..];
        let mut map = map(&store).unwrap();
        let regions = check(&mut map);
        let mut lines = Vec::new();
        let dumped = dump(&store, &mut |line| {
            lines.push(line);
            Ok(())
        });
        assert_eq!(dumped.is_ok(), map.damage().is_none(), "{path:?}");
        check_dump(&regions, &lines, kind_of);
        let opened = Physical::open(store, &mut [0; Meta1::MAX_LEN]).unwrap();
        let Opened::Closed(file) = opened else { continue };
        for listed in file.tasks(vec![0; 1 << 16]).unwrap() {
            let task = listed.unwrap().task;
            for (chunk, len) in (0..).zip(file.chunk_lens(task, [0; 64])) {
                let (place, len) = (task.chunks.chunk(chunk).unwrap(), len.unwrap());
                check_data(&regions, place.part(0, len).unwrap(), task.local.into());
                let room = place.rest(len).unwrap();
                if !room.is_empty() {
                    let region = at(&regions, room.offset());
                    assert_eq!((region.kind, region.owner), (Kind::Room, Some(task.local.into())));
                    assert_eq!(region.span, room);
                }
            }
        }
    }
}

#[test]
fn each_byte_of_a_gsd_file_is_what_its_tables_say() {
    use striae_inspect::gsd::{dump, map};
    let (mut mapped, mut indexed) = (0, 0);
    for (path, bytes) in files("tests/golden/gsd") {
        let store = &bytes[..];
        let Ok(mut map) = map(&store) else { continue };
        mapped += 1;
        let regions = check(&mut map);
        let mut lines = Vec::new();
        dump(&store, &mut |line| {
            lines.push(line);
            Ok(())
        })
        .unwrap();
        check_dump(&regions, &lines, kind_of);
        let Ok(reader) = gsd::Reader::open(store, &mut [0; 256]) else {
            assert!(map.damage().is_some(), "{path:?}");
            continue;
        };
        let chunks = reader.chunks(vec![0; 1 << 12]).collect::<Result<Vec<_>, _>>();
        if let (Ok(chunks), None) = (chunks, map.damage()) {
            let index = regions.iter().filter(|region| region.kind == Kind::Index);
            let slots = index.map(|region| region.span.len()).sum::<u64>() / 32;
            assert_eq!(slots, u64::try_from(chunks.len()).unwrap(), "{path:?}");
            indexed += 1;
        }
        let overlaps = path.file_name().unwrap() == "bad_overlapping_data.gsd";
        for chunk in reader.chunks(vec![0; 1 << 12]).flatten().filter(|_| !overlaps) {
            check_data(&regions, chunk.span, chunk.frame);
        }
    }
    assert!(mapped > 40 && indexed > 30, "{mapped} {indexed}");
}

#[test]
fn each_byte_of_an_ffrecord_file_is_what_its_tables_say() {
    use striae_inspect::ffrecord::{dump, map};
    let mut mapped = 0;
    for (path, bytes) in files("tests/golden/ffrecord") {
        let store = &bytes[..];
        let mut lines = Vec::new();
        let dumped = dump(&store, &mut |line| {
            lines.push(line);
            Ok(())
        });
        let Ok(mut map) = map(&store) else {
            assert!(dumped.is_err(), "{path:?}");
            continue;
        };
        mapped += 1;
        let regions = check(&mut map);
        check_dump(&regions, &lines, |name, _| match name.split_once('[') {
            None => Kind::Header,
            Some((name, _)) if name.contains("checksum") => Kind::Checksums,
            Some(_) => Kind::Index,
        });
        let reader = ffrecord::Reader::open(store, &mut [0; 12]).unwrap();
        let samples: Vec<_> = reader.samples(0..reader.n(), vec![0; 1 << 12]).collect();
        for sample in samples.iter().filter(|_| samples.iter().all(Result::is_ok)) {
            let sample = sample.as_ref().unwrap();
            check_data(&regions, sample.span, sample.number);
        }
    }
    assert!(mapped >= 9, "{mapped}");
}

#[test]
fn any_bytes_have_a_map_or_an_error() {
    for (_, bytes) in files("fuzz/seeds/sion_open") {
        let store = &bytes[..];
        let _ = striae_inspect::sion::map(&store).map(|mut map| check(&mut map));
    }
    for (_, bytes) in files("fuzz/seeds/gsd_open") {
        let store = &bytes[..];
        let Ok(mut map) = striae_inspect::gsd::map(&store) else { continue };
        let (regions, mut lines) = (check(&mut map), Vec::new());
        let dumped = striae_inspect::gsd::dump(&store, &mut |line| {
            lines.push(line);
            Ok(())
        });
        dumped.unwrap();
        check_dump(&regions, &lines, kind_of);
    }
    for (_, bytes) in files("fuzz/seeds/ffrecord_open") {
        let store = &bytes[..];
        let _ = striae_inspect::ffrecord::map(&store).map(|mut map| check(&mut map));
    }
    for (_, bytes) in netcdf_files() {
        let store = &bytes[..];
        let maps = [
            striae_inspect::cdf::map(&store).map(|mut map| check(&mut map)).is_ok(),
            striae_inspect::blob::map(&store).map(|mut map| check(&mut map)).is_ok(),
        ];
        assert_ne!(maps, [false; 2]);
    }
}

/// netCDF files, and subfiles in both containers.
fn netcdf_files() -> Vec<(PathBuf, Vec<u8>)> {
    let folders = ["cdf", "blob/f8_n10_s2", "blob/f4_n4_s1", "blob/f5h_n5_s1"];
    let all = folders.iter().flat_map(|folder| files(&format!("tests/golden/{folder}")));
    all.collect()
}

/// Which of the formats has a map of these bytes.
fn check_any(bytes: &[u8]) {
    let _ =
        striae_inspect::sion::map(&bytes).map(|mut map| map.cells(NonZeroU64::new(16).unwrap()));
    let _ = striae_inspect::gsd::map(&bytes).map(|mut map| map.cells(NonZeroU64::new(16).unwrap()));
    let _ = striae_inspect::ffrecord::map(&bytes)
        .map(|mut map| map.cells(NonZeroU64::new(16).unwrap()));
    let _ = striae_inspect::cdf::map(&bytes).map(|mut map| map.cells(NonZeroU64::new(16).unwrap()));
    let _ =
        striae_inspect::blob::map(&bytes).map(|mut map| map.cells(NonZeroU64::new(16).unwrap()));
}

#[test]
fn a_changed_byte_or_a_cut_panics_nowhere() {
    let seeds = ["sion_open", "gsd_open", "ffrecord_open"];
    let seeds = seeds.iter().flat_map(|folder| files(&format!("fuzz/seeds/{folder}")));
    let small = seeds.map(|(_, mut bytes)| {
        bytes.truncate(1 << 13);
        (bytes, 101)
    });
    let netcdf = netcdf_files().into_iter().map(|(_, bytes)| (bytes, 1009));
    for (mut bytes, step) in small.chain(netcdf) {
        for at in (0..bytes.len()).step_by(step * striae_kit::hosts::stride(5)) {
            let old = bytes[at];
            for new in [0, 1, 0x7f, 0xff] {
                bytes[at] = new;
                check_any(&bytes);
            }
            bytes[at] = old;
            check_any(&bytes[..at]);
        }
    }
}

#[test]
fn the_legend_is_the_one_that_is_written_down() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/rationale.md");
    let text = fs::read_to_string(path).unwrap();
    let (_, table) = text.split_once("| letter | kind | what it is |\n|---|---|---|\n").unwrap();
    let row = |kind: Kind| {
        let look = kind.look();
        format!("| `{}` | {} | {} |", look.letter, look.name, look.description)
    };
    let rows: Vec<_> = table.lines().take(Kind::COUNT).collect();
    assert_eq!(rows, Kind::ALL.map(row));
    for (index, kind) in Kind::ALL.into_iter().enumerate() {
        let others = Kind::ALL.iter().skip(index + 1).map(|other| other.look());
        for other in others {
            assert!(kind.look().letter != other.letter && kind.look().colour != other.colour);
        }
    }
}

/// A colour as someone sees it whose eyes mix light by `matrix`, in CIE L*a*b*.
fn seen([red, green, blue]: [u8; 3], matrix: [[f64; 3]; 3]) -> [f64; 3] {
    let linear = |part: u8| match f64::from(part) / 255.0 {
        part if part <= 0.040_45 => part / 12.92,
        part => ((part + 0.055) / 1.055).powf(2.4),
    };
    let mixed = |rows: [[f64; 3]; 3], light: [f64; 3]| {
        rows.map(|row| row.iter().zip(light).map(|(a, b)| a * b).sum::<f64>())
    };
    let light = mixed(matrix, [red, green, blue].map(linear)).map(|part| part.clamp(0.0, 1.0));
    // sRGB to XYZ, relative to its white (IEC 61966-2-1).
    const WHITE: [[f64; 3]; 3] = [
        [0.412_4 / 0.950_5, 0.357_6 / 0.950_5, 0.180_5 / 0.950_5],
        [0.212_6, 0.715_2, 0.072_2],
        [0.019_3 / 1.089, 0.119_2 / 1.089, 0.950_5 / 1.089],
    ];
    let [x, y, z] = mixed(WHITE, light).map(|part| match part {
        part if part > 0.008_856 => part.cbrt(),
        part => 7.787 * part + 16.0 / 116.0,
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

#[test]
fn no_two_colours_look_alike_to_readers_who_see_no_red_green_or_blue() {
    // Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
    // Deficiency (2009), severity 1.0.
    const EYES: [[[f64; 3]; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ];
    // Three times of what can just be told apart, side by side.
    const LEAST: f64 = 3.0 * 2.3;
    let odd = Kind::ALL.into_iter().filter(|kind| kind.is_data()).map(|kind| (kind, Some(1)));
    let all: Vec<_> = Kind::ALL.into_iter().map(|kind| (kind, None)).chain(odd).collect();
    for eyes in EYES {
        for (index, &(kind, owner)) in all.iter().enumerate() {
            for &(other, other_owner) in &all[..index] {
                let pair = [kind.colour_of(owner), other.colour_of(other_owner)];
                let [a, b] = pair.map(|colour| seen(colour, eyes));
                let distance = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                assert!(distance > LEAST, "{kind:?} and {other:?}: {distance}");
            }
        }
    }
}

/// A GSD file of so many entries, each of 4 bytes: too many to be read for a picture.
fn long_gsd(entries: u64) -> Vec<u8> {
    let golden = files("tests/golden/gsd");
    let mut bytes =
        golden.iter().find(|(path, _)| path.ends_with("v21_empty.gsd")).unwrap().1.clone();
    bytes.resize(256, 0);
    let index = 1024_u64;
    let data = index + 32 * (entries + 1);
    for (at, value) in [(8, index), (16, entries + 1), (24, 256), (32, 12)] {
        bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    }
    bytes.extend(b"a\0");
    bytes.resize(1024, 0);
    for slot in 0..entries {
        // Pairs are in the other order, as those of a frame may be.
        let place = data + 4 * (slot ^ 1);
        bytes.extend([slot / 2, 1, place].map(u64::to_le_bytes).concat());
        bytes.extend([1, 0, 0, 0, 0, 0, 9, 0]);
    }
    bytes.resize(usize::try_from(data + 4 * entries).unwrap(), 0);
    bytes
}

#[test]
fn a_long_index_is_looked_up_where_it_is_drawn() {
    let bytes = long_gsd(200_000);
    let store = &bytes[..];
    let mut map = striae_inspect::gsd::map(&store).unwrap();
    for slot in (0..200_000).step_by(997) {
        let region = map.at(1024 + 32 * 200_001 + 4 * (slot ^ 1) + 1).unwrap();
        assert_eq!((region.kind, region.owner), (Kind::Data, Some(slot / 2)));
        assert_eq!(region.span.len(), 3);
    }
    let cells = map.cells(NonZeroU64::new(1 << 16).unwrap()).unwrap();
    assert!(cells.is_sampled);
    let amounts: Vec<_> = cells.amounts.present().collect();
    // A slot of the index and all but the name "a" of 768 bytes for names are free.
    let (index, free) = ((Kind::Index, 32 * 200_000), (Kind::Free, 32 + 768 - 2));
    let wanted = [(Kind::Header, 256), index, (Kind::Names, 2), free, (Kind::Data, 800_000)];
    assert_eq!(amounts, wanted);
}

/// A store that counts the bytes that are read.
struct Counting<'b>(&'b [u8], Cell<u64>);

impl ReadAt for Counting<'_> {
    type Error = <[u8] as ReadAt>::Error;

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, Self::Error> {
        let read = self.0.read_at(offset, buf)?;
        self.1.set(self.1.get() + u64::try_from(read).unwrap());
        Ok(read)
    }

    fn size(&self) -> Result<u64, Self::Error> {
        self.0.size()
    }
}

impl Subject for Counting<'_> {}

#[test]
fn a_picture_costs_what_it_shows_and_not_what_the_file_has() {
    let read = |entries| {
        let bytes = long_gsd(entries);
        let store = Counting(&bytes, Cell::new(0));
        let mut map = striae_inspect::gsd::map(&store).unwrap();
        map.cells(NonZeroU64::new(map.file_len().div_ceil(64)).unwrap()).unwrap();
        store.1.get()
    };
    let (once, twice) = (read(200_000), read(400_000));
    assert!(twice < once + once / 4, "{once} {twice}");
}
