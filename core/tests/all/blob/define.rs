//! The definition of a subfile is that of E3SM-IO (the adapter's tests compare the bytes with its
//! files); here is what E3SM-IO does not have.

use striae_core::blob::names::WORLD_RANKS;
use striae_core::blob::{Decomposition, Error, Group, Partition, Subfile};
use striae_core::cdf::{
    Alignment, AttrDef, Define, Definition, DimDef, ListKind, Plan, Type, VarDef, Version,
};

const GROUP: Group<'_> = Group { global_nprocs: 8, num_subfiles: 2, nblobs: 3, world_ranks: None };

const DIMS: [DimDef<'_>; 4] = [
    DimDef::record("time"),
    DimDef { name: "lev", length: 6 },
    DimDef { name: "col", length: 50 },
    DimDef { name: "ilev", length: 6 },
];

fn var(dimids: &[u64]) -> (VarDef<'_>, &[AttrDef<'_>]) {
    (VarDef { name: "v", nc_type: Type::Float, dimids }, &[])
}

fn attrs(definition: &impl Define, of: Option<u64>) -> Vec<(String, Type, Vec<u8>)> {
    let attr = |number| definition.attr(of, number);
    let stored = |attr: AttrDef<'_>| {
        let mut bytes = vec![0; attr.values.len()];
        attr.values.write_to(0, striae_core::endian::ByteOrder::Big, &mut bytes);
        (attr.name.to_owned(), attr.values.nc_type(), bytes)
    };
    (0..).map_while(attr).map(stored).collect()
}

#[test]
fn a_decomposition_without_elements_has_dimensions_of_length_1_that_say_so() {
    let fixed = VarDef { name: "fixed", nc_type: Type::Float, dimids: &[1, 2] };
    let vars = [var(&[0, 1, 2]), (fixed, &[])];
    let canonical = Definition { dims: &DIMS, attrs: &[], vars: &vars };
    let partition = |global_dimids| Some(Partition { decomposition: 1, global_dimids });
    let partitions = [partition(&[0, 1, 2]), partition(&[1, 2])];
    let mut decompositions = [Decomposition::new(&[2], 7, 2), Decomposition::new(&[1, 2], 0, 0)];
    let subfile = Subfile::new(&canonical, GROUP, &mut decompositions, &partitions).unwrap();
    let dims: Vec<_> = (4..).map_while(|dimid| subfile.dim(dimid)).collect();
    let dim = |name, length| DimDef { name, length };
    assert_eq!(
        dims,
        [
            dim("nblobs", 3),
            dim("D1.nelems", 7),
            dim("D2.nelems", 1),
            dim("D1.max_nreqs", 2),
            dim("D2.max_nreqs", 1)
        ]
    );
    let zero = |name: &str| (name.to_owned(), Type::Int, vec![0; 4]);
    assert_eq!(attrs(&subfile, Some(0)).len(), 2);
    assert_eq!(attrs(&subfile, Some(5))[2..], [zero("nelems"), zero("max_nreqs")]);
    assert_eq!(subfile.var(10).unwrap().dimids, [0, 6]);
    assert_eq!(subfile.var(11).unwrap().dimids, [6]);
    assert_eq!(subfile.var(12), None);
    assert_eq!(subfile.nmaps(), 10);
    Plan::new(&subfile, Version::Cdf5, Alignment::default()).unwrap();
}

#[test]
fn ranks_are_the_last_attribute_of_the_file() {
    let title = [AttrDef::new("title", "t")];
    let canonical = Definition { dims: &DIMS, attrs: &title, vars: &[] };
    for world_ranks in [None, Some(&[1, 4, 7][..])] {
        let group = Group { world_ranks, ..GROUP };
        let subfile = Subfile::new(&canonical, group, &mut [], &[]).unwrap();
        let int = |name: &str, value: u8| (name.to_owned(), Type::Int, vec![0, 0, 0, value]);
        let mut expected = vec![
            int("global_nprocs", 8),
            int("num_decompositions", 0),
            int("num_subfiles", 2),
            ("title".to_owned(), Type::Char, b"t".to_vec()),
        ];
        if world_ranks.is_some() {
            let ranks = vec![0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7];
            expected.push((WORLD_RANKS.to_owned(), Type::Int, ranks));
        }
        assert_eq!(attrs(&subfile, None), expected);
    }
}

#[test]
fn a_variable_must_have_the_lengths_of_its_decomposition() {
    let made = |dimids: &[u64], global_dimids: &[i32], of: &[i32], decomposition| {
        let vars = [var(dimids)];
        let canonical = Definition { dims: &DIMS, attrs: &[], vars: &vars };
        let partitions = [Some(Partition { decomposition, global_dimids })];
        let mut decompositions = [Decomposition::new(of, 7, 2)];
        Subfile::new(&canonical, GROUP, &mut decompositions, &partitions).map(|_| ())
    };
    let wrong = Err(Error::Partition { varid: 0 });
    assert_eq!(made(&[0, 1, 2], &[0, 1, 2], &[1, 2], 0), Ok(()));
    assert_eq!(made(&[1, 2], &[1, 2], &[1, 2], 0), Ok(()));
    assert_eq!(made(&[0, 3, 2], &[0, 3, 2], &[1, 2], 0), Ok(())); // another name, the same length
    assert_eq!(made(&[2, 1], &[2, 1], &[1, 2], 0), wrong);
    assert_eq!(made(&[2], &[2], &[1, 2], 0), wrong);
    assert_eq!(made(&[1, 2], &[2, 1], &[1, 2], 0), wrong);
    assert_eq!(made(&[1, 2], &[1], &[1, 2], 0), wrong);
    assert_eq!(made(&[1, 9], &[1, 9], &[1, 2], 0), wrong);
    assert_eq!(made(&[1, 2], &[1, 2], &[1, 2], 1), wrong);
    let canonical = Definition { dims: &DIMS, attrs: &[], vars: &[] };
    let group = Group { nblobs: 0, ..GROUP };
    assert_eq!(Subfile::new(&canonical, group, &mut [], &[]).unwrap_err(), Error::NoBlobs);
}

/// Readers would take them for those of subfiles.
#[test]
fn attributes_of_subfiles_are_refused_in_the_canonical_file() {
    let made = |attrs: &[AttrDef<'_>], own: &[AttrDef<'_>]| {
        let vars = [var(&[1]), (var(&[2]).0, own)];
        let canonical = Definition { dims: &DIMS, attrs, vars: &vars };
        Subfile::new(&canonical, GROUP, &mut [], &[]).map(|_| ())
    };
    let one = |name| [AttrDef::new("title", "a"), AttrDef::new(name, &[1_i32])];
    for name in ["global_nprocs", "num_decompositions", "num_subfiles", "world_ranks"] {
        assert_eq!(made(&one(name), &[]), Err(Error::Reserved { name, varid: None }));
        assert_eq!(made(&[], &one(name)), Ok(()));
    }
    for name in ["decomposition_ID", "global_dimids"] {
        assert_eq!(made(&[], &one(name)), Err(Error::Reserved { name, varid: Some(1) }));
        assert_eq!(made(&one(name), &[]), Ok(()));
    }
    let told = Error::Reserved { name: "world_ranks", varid: None }.to_string();
    assert_eq!(told, "the file has the attribute world_ranks, which only subfiles may have");
}

/// The definition, with names compared one by one.
struct OneByOne<'a, D>(&'a D);

impl<D: Define> Define for OneByOne<'_, D> {
    fn dim(&self, dimid: u64) -> Option<DimDef<'_>> {
        self.0.dim(dimid)
    }

    fn attr(&self, of: Option<u64>, number: u64) -> Option<AttrDef<'_>> {
        self.0.attr(of, number)
    }

    fn var(&self, varid: u64) -> Option<VarDef<'_>> {
        self.0.var(varid)
    }
}

/// Canonical names of all kinds that a subfile has, too: 24 definitions, all items.
#[test]
fn a_repeated_name_is_found_without_comparing_all_names() {
    let names = ["nblobs", "D1.nelems", "D2.max_nreqs", "D3.nelems", "D1.nreqs", "D2.lengths"];
    let others = ["lev", "x"];
    let mut found = 0;
    for name in names.into_iter().chain(others) {
        for with_ranks in [false, true] {
            let dims = [DIMS[0], DIMS[1], DIMS[2], DimDef { name, length: 6 }];
            let own = [AttrDef::new(name, &[1]), AttrDef::new("x", &[2])];
            let (first, _) = var(&[0, 1, 2]);
            let second = VarDef { name, ..first };
            let vars = [(first, &own[..]), (second, &own[..]), (first, &own[..])];
            let canonical = Definition { dims: &dims, attrs: &own, vars: &vars };
            let partition = Partition { decomposition: 1, global_dimids: &[0, 1, 2] };
            let partitions = [Some(partition), None, None];
            let mut decompositions =
                [Decomposition::new(&[2], 7, 2), Decomposition::new(&[1, 2], 9, 1)];
            let group = Group { world_ranks: with_ranks.then_some(&[1, 2, 3]), ..GROUP };
            let subfile = Subfile::new(&canonical, group, &mut decompositions, &partitions);
            let subfile = subfile.unwrap();
            let slow = OneByOne(&subfile);
            let lists = [(ListKind::Dims, None), (ListKind::Vars, None), (ListKind::Gatts, None)];
            let of_vars = (0..13).map(|varid| (ListKind::Vatts, Some(varid)));
            for (list, of) in lists.into_iter().chain(of_vars) {
                for number in 0..13 {
                    let is_there = match list {
                        ListKind::Dims => subfile.dim(number).is_some(),
                        ListKind::Vars => subfile.var(number).is_some(),
                        _ => subfile.attr(of, number).is_some(),
                    };
                    let right = slow.is_repeated(list, of, number);
                    let text = format!("{name}: {list:?} {of:?} {number}");
                    assert!(
                        !is_there || subfile.is_repeated(list, of, number) == right,
                        "{text}: {right}"
                    );
                    found += u32::from(is_there && right);
                }
            }
        }
    }
    assert!(found > 24, "{found}");
}
