//! A small set of variables of all kinds, and how it is dealt to ranks.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::path::Path;
use striae::cdf::Element;
use striae_core::cdf::{AttrDef, Definition, DimDef, Type, VarDef};
use striae_mpi::blob::{Builder, Container, Request};

pub(crate) const RECORDS: u64 = 3;
pub(crate) const CELLS: u64 = 41;
pub(crate) const FACES: u64 = 7;
pub(crate) const LEVELS: u64 = 3;

/// Runs `work` with the canonical definition, and for each variable its decomposition.
pub(crate) fn with_definition<R>(work: impl FnOnce(&Definition<'_>) -> R) -> R {
    let dims = [
        DimDef { name: "cell", length: CELLS },
        DimDef::record("time"),
        DimDef { name: "level", length: LEVELS },
        DimDef { name: "face", length: FACES },
    ];
    let var = |name, nc_type, dimids| VarDef { name, nc_type, dimids };
    let units = [AttrDef::new("units", "K")];
    let vars: [(VarDef<'_>, &[AttrDef<'_>]); 7] = [
        (var("area", Type::Float, &[0]), &[]),
        (var("heat", Type::Double, &[1, 0]), &units),
        (var("level", Type::Double, &[2]), &[]),
        (var("date", Type::Int, &[1]), &[]),
        (var("flux", Type::Short, &[1, 2, 3]), &[]),
        (var("mask", Type::Byte, &[0]), &[]),
        (var("none", Type::Int64, &[1, 3]), &[]),
    ];
    let attrs = [AttrDef::new("title", "a set of all ranks")];
    work(&Definition { dims: &dims, attrs: &attrs, vars: &vars })
}

/// The dimensions of the decompositions, and their variables.
const DIMIDS: [&[u64]; 4] = [&[0], &[2, 3], &[3], &[0]];
const DECOMPOSED: [(u64, usize); 5] = [(0, 0), (1, 0), (4, 1), (5, 3), (6, 2)];

/// The requests of a rank: elements are dealt in turn, backwards, and rank 1 of several has none.
pub(crate) fn requests(decomposition: usize, rank: u32, size: u32) -> Vec<Request> {
    let total = [CELLS, LEVELS * FACES, 0, CELLS][decomposition];
    let taker = |offset: u64| match size {
        1 => 0,
        _ => [0, 2, 3, 4, 5, 6, 7][offset as usize / (decomposition + 1) % (size as usize - 1)],
    };
    let own = (0..total).rev().filter(|offset| taker(*offset) % size == rank);
    own.map(|offset| Request { offset, len: 1 }).collect()
}

/// A value of an element of a record of a variable.
pub(crate) fn value(variable: &str, record: u64, element: u64) -> u8 {
    (variable.len() as u64 * 31 + record * 7 + element * 3) as u8
}

/// What a rank puts: for each variable of a record, or of none, its values.
pub(crate) fn puts(rank: u32, size: u32, is_first: bool, mut put: impl FnMut(&str, u64, &[u8])) {
    let values = |name: &str, record, elements: &mut dyn Iterator<Item = u64>| -> Vec<u8> {
        elements.map(|element| value(name, record, element)).collect()
    };
    let decomposed = [
        ("area", 0, false),
        ("heat", 0, true),
        ("flux", 1, true),
        ("mask", 3, false),
        ("none", 2, true),
    ];
    for (name, decomposition, has_records) in decomposed {
        for record in 0..if has_records { RECORDS } else { 1 } {
            let requests = requests(decomposition, rank, size);
            put(name, record, &values(name, record, &mut requests.iter().map(|one| one.offset)));
        }
    }
    if is_first {
        put("level", 0, &values("level", 0, &mut (0..LEVELS)));
        (0..RECORDS).for_each(|record| put("date", record, &values("date", record, &mut (0..1))));
    }
}

/// Calls `put` with values of the type of the variable.
macro_rules! typed {
    ($name:expr, $values:expr, $put:expr) => {
        match $name {
            "area" => $put(&to::<f32>($values)),
            "heat" | "level" => $put(&to::<f64>($values)),
            "date" => $put(&to::<i32>($values)),
            "flux" => $put(&to::<i16>($values)),
            "none" => $put(&to::<i64>($values)),
            _ => $put(&$values.iter().map(|value| *value as i8).collect::<Vec<_>>()),
        }
    };
}

pub(crate) fn to<T: Element + From<u8>>(values: &[u8]) -> Vec<T> {
    values.iter().map(|value| T::from(*value)).collect()
}

/// How the ranks are dealt to subfiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Subfiles {
    Blocks(u32),
    /// Rank r has subfile r % 2.
    InTurn,
    Nodes,
}

pub(crate) fn parallel<'d, 'c>(
    definition: &'d Definition<'c>,
    (rank, size): (u32, u32),
    (container, subfiles): (Container, Subfiles),
) -> Builder<'d, Definition<'c>> {
    let mut builder = Builder::new(definition).container(container).force(true);
    for (decomposition, dimids) in DIMIDS.into_iter().enumerate() {
        builder = builder.decomposition(dimids, requests(decomposition, rank, size));
    }
    for (varid, decomposition) in DECOMPOSED {
        builder = builder.decomposed(varid, decomposition);
    }
    if container == Container::Hdf5 {
        builder = builder.records(RECORDS);
    }
    match subfiles {
        Subfiles::Blocks(count) => builder.subfiles(NonZeroU32::new(count).unwrap()),
        Subfiles::InTurn => builder.group(rank % 2),
        Subfiles::Nodes => builder.by_node(),
    }
}

/// The set of the serial writer.
pub(crate) fn serial(path: &Path, size: u32, container: Container, subfiles: Subfiles) {
    serial_or_sealed(path, size, (container, subfiles), false);
}

/// The set of the serial writer, perhaps sealed.
pub(crate) fn serial_or_sealed(
    path: &Path,
    size: u32,
    (container, subfiles): (Container, Subfiles),
    sealed: bool,
) {
    with_definition(|definition| {
        let nprocs = NonZeroU32::new(size).unwrap();
        let mut builder = striae::blob::Builder::new(definition, nprocs).container(container);
        for (decomposition, dimids) in DIMIDS.into_iter().enumerate() {
            let all = (0..size).map(|rank| requests(decomposition, rank, size)).collect();
            builder = builder.decomposition(dimids, all);
        }
        for (varid, decomposition) in DECOMPOSED {
            builder = builder.decomposed(varid, decomposition);
        }
        if container == Container::Hdf5 {
            builder = builder.records(RECORDS);
        }
        builder = match subfiles {
            Subfiles::Blocks(count) => builder.subfiles(NonZeroU32::new(count).unwrap()),
            Subfiles::InTurn => builder.grouping((0..size).map(|rank| rank % 2).collect()),
            Subfiles::Nodes => builder.grouping((0..size).map(|rank| rank / 2).collect()),
        };
        let writer = builder.force(true).sealed(sealed).create(path).unwrap();
        for number in 0..size {
            let rank = writer.rank(number).unwrap();
            puts(number, size, rank.is_first(), |name, record, values| {
                typed!(name, values, |values: &_| rank.put(name, record, values).unwrap());
            });
        }
        writer.close().unwrap();
    });
}

/// All files of a folder by their names.
pub(crate) fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let read = |path| {
        if folder.join(&path).is_dir() {
            Vec::new()
        } else {
            std::fs::read(folder.join(path)).unwrap()
        }
    };
    files
        .map(|file| file.file_name().into_string().unwrap())
        .map(|name| (name.clone(), read(name)))
        .collect()
}

pub(crate) use typed;
