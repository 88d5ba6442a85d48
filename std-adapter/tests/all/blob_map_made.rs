//! netCDF maps that are made here, with what no writer of maps makes: what `verify` says of them,
//! and that nothing is made of them.

use crate::run::striae;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use striae::blob::map::{Map, Request};
use striae_core::cdf::{
    Alignment, AttrDef, Definition, DimDef, Encode, Plan, Type, VarDef, Version,
};

/// A decomposition of an array of 40 elements: of each rank the number of all requests, and of
/// those that fill no holes; of each request its offset and length.
struct Table<'a> {
    ranks: &'a [[i32; 2]],
    requests: &'a [[i32; 2]],
}

/// A map of these decompositions, for `nprocs` ranks.
fn map(nprocs: u64, tables: &[Table<'_>]) -> Vec<u8> {
    let name = |of: &str| (1..=tables.len()).map(|id| format!("D{id}.{of}")).collect::<Vec<_>>();
    let (nreqs, fills, offsets, lengths, shape) =
        (name("nreqs"), name("fill_starts"), name("offsets"), name("lengths"), name("dims"));
    let (ranks, requests) = (name("ranks"), name("total_nreqs"));
    let mut dims = vec![
        DimDef { name: "num_decomp", length: tables.len() as u64 },
        DimDef { name: "decomp_nprocs", length: nprocs },
    ];
    let (mut attrs, mut vars, mut values) = (Vec::new(), Vec::new(), Vec::new());
    let ids: Vec<_> = (0..tables.len() as u64).map(|id| ([2 + 2 * id], [3 + 2 * id])).collect();
    for (at, table) in tables.iter().enumerate() {
        dims.push(DimDef { name: &ranks[at], length: table.ranks.len() as u64 });
        dims.push(DimDef { name: &requests[at], length: table.requests.len() as u64 });
        attrs.push(AttrDef::new(&shape[at], &[40_i32]));
        let (of_ranks, of_requests) = (&ids[at].0, &ids[at].1);
        for (name, dimids, numbers, column) in [
            (&nreqs[at], of_ranks, table.ranks, 0),
            (&fills[at], of_ranks, table.ranks, 1),
            (&offsets[at], of_requests, table.requests, 0),
            (&lengths[at], of_requests, table.requests, 1),
        ] {
            vars.push((VarDef { name, nc_type: Type::Int, dimids }, &[][..]));
            values.extend(numbers.iter().flat_map(|pair| pair[column].to_be_bytes()));
        }
    }
    let definition = Definition { dims: &dims, attrs: &attrs, vars: &vars };
    let plan = Plan::new(&definition, Version::Cdf1, Alignment::COMPACT).unwrap();
    let mut file = vec![0; plan.file_len(0).unwrap() as usize];
    Encode::new(&definition, &plan, 0, &mut [0; 256]).unwrap().run(&mut &mut file[..]).unwrap();
    let header = file.len() - values.len();
    file[header..].copy_from_slice(&values);
    file
}

fn made(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = crate::in_memory();
    let path = dir.path().join("map.nc");
    fs::write(&path, bytes).unwrap();
    (dir, path)
}

/// The kinds of findings that are damage. If there are some, no map is made of this one.
fn damage(path: &Path) -> Vec<String> {
    let path_text = path.to_str().unwrap();
    let assert = striae(&["verify", "--json", path_text]).assert();
    let report: Value = serde_json::from_slice(&assert.get_output().stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    let damage = findings.iter().filter(|finding| finding["severity"] == "damage");
    let kinds: Vec<_> = damage.map(|one| one["kind"].as_str().unwrap().to_owned()).collect();
    for out in ["out.nc", "out.dat"] {
        let out = path.with_file_name(out);
        let assert = striae(&["convert", path_text, out.to_str().unwrap()]).assert();
        assert_eq!(assert.get_output().status.success(), kinds.is_empty(), "{kinds:?}");
        let made = fs::read_dir(path.parent().unwrap()).unwrap().count() - 1;
        assert_eq!(made > 0, kinds.is_empty());
    }
    kinds
}

#[test]
fn a_map_is_for_one_number_of_ranks() {
    let three = Table { ranks: &[[1, 1]; 3], requests: &[[0, 10], [10, 10], [20, 20]] };
    let two = Table { ranks: &[[1, 1]; 2], requests: &[[0, 10], [10, 30]] };
    let three_again = || Table { ..three };
    let (_dir, path) = made(&map(3, &[three_again(), three_again()]));
    assert_eq!(damage(&path), [""; 0]);
    assert_eq!(Map::open(&path).unwrap().nprocs(), 3);
    for (nprocs, tables) in [(3, vec![three_again(), two]), (2, vec![three_again()])] {
        let (_dir, path) = made(&map(nprocs, &tables));
        assert_eq!(damage(&path), ["column"]);
        let error = Map::open(&path).unwrap_err().to_string();
        assert!(error.contains(".nreqs is missing, or of a wrong kind"), "{error}");
    }
}

#[test]
fn requests_that_fill_holes_are_checked() {
    let requests = |fill| [[0, 10], fill, [20, 20]];
    for (fill, found) in [
        ([10, 10], None),
        ([10, 5], None),
        ([5000, 7], Some("outside")),
        ([5, 10], Some("overlap_in_rank")),
        ([15, 10], Some("overlap")),
    ] {
        let table = Table { ranks: &[[2, 1], [1, 1]], requests: &requests(fill) };
        let (_dir, path) = made(&map(2, &[table]));
        assert_eq!(damage(&path), Vec::from_iter(found), "{fill:?}");
        let one = Request { offset: fill[0] as u64, len: fill[1] as u64 };
        assert_eq!(Map::open(&path).unwrap().decompositions()[0].fills(0), [one]);
    }
    // Those of two ranks, which overlap each other.
    let table =
        Table { ranks: &[[2, 1], [2, 1]], requests: &[[0, 10], [10, 5], [20, 20], [14, 2]] };
    let (_dir, path) = made(&map(2, &[table]));
    assert_eq!(damage(&path), ["overlap"]);
}

#[test]
fn a_rank_has_no_more_requests_than_the_table_also_if_they_fill_holes() {
    let requests = [[0, 10], [10, 10], [20, 20]];
    for (ranks, is_sound) in [([[1, 1], [2, 2]], true), ([[1, 1], [3, 2]], false)] {
        let (_dir, path) = made(&map(2, &[Table { ranks: &ranks, requests: &requests }]));
        assert_eq!(damage(&path).is_empty(), is_sound);
        let error = Map::open(&path).err().map(|error| error.to_string());
        let expected = "the requests of rank 1 in D1 end at 4, there are 3 requests";
        assert_eq!(error.is_some_and(|error| error.ends_with(expected)), !is_sound);
    }
}

#[test]
fn a_map_has_decompositions() {
    let (_dir, path) = made(&map(2, &[]));
    assert_eq!(damage(&path), ["not_map"]);
}

/// The names of the header are read once, and not for each decomposition: a thousand of them need
/// less than three times the reads of five hundred.
#[test]
fn many_decompositions_are_found_in_one_pass() {
    use std::cell::Cell;
    use striae_core::store::{FixedSize, ReadAt};

    struct Counted<'a>(&'a [u8], Cell<u64>);

    impl ReadAt for Counted<'_> {
        type Error = FixedSize;

        fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, FixedSize> {
            let len = self.0.read_at(offset, buf)?;
            self.1.set(self.1.get() + len as u64);
            Ok(len)
        }

        fn size(&self) -> Result<u64, FixedSize> {
            self.0.size()
        }
    }

    let read = |count| {
        let table = || Table { ranks: &[[1, 1]], requests: &[[0, 40]] };
        let tables: Vec<_> = (0..count).map(|_| table()).collect();
        let file = map(1, &tables);
        let store = Counted(&file, Cell::new(0));
        let found = striae_inspect::blob::map::Map::read(&store).unwrap();
        assert_eq!(found.decompositions().len(), count);
        store.1.get()
    };
    let (some, twice) = (read(500), read(1000));
    assert!(twice < 3 * some, "{some} {twice}");
}
