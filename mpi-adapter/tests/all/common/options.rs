//! Options that must be equal at all ranks: for each call one list, of which the first entry is
//! what the others pass, and each further one changes one option.

use crate::common::calls::{Kind, blob_builder, builder, gsd_builder, with_definition};
use std::num::NonZeroU32;
use std::path::Path;
use striae::gsd::Durability;
use striae_core::cdf::{Definition, DimDef, Region, Type, VarDef};
use striae_core::endian::ByteOrder;
use striae_core::gsd::{Chunk, Version};
use striae_core::sion::{ChunkRule, Grouping};
use striae_mpi::blob::Container;
use striae_mpi::sion::{OpenOptions, Placed, Reopen};
use striae_mpi::{Collect, Collective, Error, blob, direct, gsd};

/// The calls with options.
pub(crate) const GROUPS: [&str; 14] = [
    "create sion",
    "reopen sion",
    "open sion",
    "create gsd",
    "reopen gsd",
    "open gsd",
    "create blob",
    "append blob",
    "convert blob",
    "open blob",
    "read blob",
    "chunk gsd",
    "read gsd",
    "open direct",
];

/// The number of options of a call, with the first, which all but one rank pass.
pub(crate) const fn count(group: &str) -> u32 {
    match group.as_bytes() {
        b"create sion" => 19,
        b"reopen sion" => 4,
        b"open sion" => 3,
        b"create gsd" => 13,
        b"reopen gsd" => 4,
        b"open gsd" | b"append blob" | b"open blob" | b"open direct" => 2,
        b"read blob" | b"chunk gsd" | b"read gsd" => 3,
        b"create blob" => 10,
        _ => 4,
    }
}

/// The number of options that are changed.
pub(crate) const TOTAL: u32 = 18 + 3 + 2 + 12 + 3 + 1 + 9 + 1 + 3 + 1 + 2 + 2 + 2 + 1;

/// Makes a call with an option.
pub(crate) fn call<C: Collective>(
    comm: C,
    group: &str,
    option: u32,
    folder: &Path,
) -> Result<(), Error> {
    match group {
        "create sion" => create_sion(comm, option, folder),
        "reopen sion" => {
            let with = match option {
                0 => Reopen::new(),
                1 => Reopen::new().sealed(false),
                2 => Reopen::new().collect(Collect::new()),
                _ => Reopen::new().tasks(vec![comm.rank().into()]),
            };
            with.open(comm, folder.join("a.sion")).map(drop)
        }
        "open sion" => {
            let with = match option {
                0 => OpenOptions::new(),
                1 => OpenOptions::new().tasks(vec![0]),
                _ => OpenOptions::new().globalranks(vec![0]),
            };
            with.open(comm, folder.join("a.sion")).map(drop)
        }
        "create gsd" => create_gsd(comm, option, folder),
        "reopen gsd" => {
            let with = match option {
                2 => gsd::Reopen::new().durability(Durability::None),
                3 => gsd::Reopen::new().lock(false),
                _ => gsd::Reopen::new(),
            };
            with.open(comm, folder.join(if option == 1 { "b.gsd" } else { "a.gsd" })).map(drop)
        }
        "open gsd" => {
            let name = if option == 1 { "b.gsd" } else { "a.gsd" };
            gsd::File::open(comm, folder.join(name)).map(drop)
        }
        "create blob" => create_blob(comm, option, folder),
        "append blob" => {
            let name = if option == 1 { "./a" } else { "a" };
            blob::Writer::append(comm, folder.join(name)).map(drop)
        }
        "open blob" => {
            let name = if option == 1 { "./a" } else { "a" };
            blob::Set::open(comm, folder.join(name)).map(drop)
        }
        "open direct" => {
            let name = if option == 1 { "a.gsd" } else { "a.sion" };
            direct::File::open(comm, folder.join(name)).map(drop)
        }
        "chunk gsd" | "read gsd" => read_gsd(comm, group, option, folder),
        "read blob" => {
            let set = blob::Set::open(comm, folder.join("a")).unwrap();
            let (start, count) = ([0, u64::from(option == 1)], [1, 3 - u64::from(option == 2)]);
            let region = Region { start: &start, count: &count, stride: None };
            set.read_region::<f64>("heat", region).map(drop)
        }
        _ => {
            let set = blob::Set::open(comm, folder.join("a")).unwrap();
            let with = match option {
                1 => blob::Convert::new().force(true),
                2 => blob::Convert::new().fill(Some("7")),
                _ => blob::Convert::new(),
            };
            with.run(&set, folder.join(if option == 3 { "v.nc" } else { "w.nc" })).map(drop)
        }
    }
}

fn read_gsd<C: Collective>(comm: C, group: &str, option: u32, folder: &Path) -> Result<(), Error> {
    let file = gsd::File::open(comm, folder.join("a.gsd")).unwrap();
    if group == "chunk gsd" {
        let name = if option == 2 { "y" } else { "x" };
        return file.chunk(u64::from(option == 1), name).map(drop);
    }
    let chunk = file.chunk(0, "x").unwrap();
    let other = Chunk { id: 7, ..chunk };
    match option {
        0 => file.read::<u32>(&chunk).map(drop),
        1 => file.read::<u32>(&other).map(drop),
        _ => file.read_rows::<u32>(&chunk, 0..1).map(drop),
    }
}

fn create_sion<C: Collective>(comm: C, option: u32, folder: &Path) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let with = builder(Kind::OneFile, size);
    let with = match option {
        1 => with.nfiles(2),
        2 => with.fsblksize(1024),
        3 => with.order(ByteOrder::Big),
        4 => with.data_order(ByteOrder::Big),
        5 => with.rule(ChunkRule::Packed(Grouping::WHOLE_FILE)),
        6 => with.keyval(true),
        7 => with.prefix(b"other".to_vec()),
        8 => with.force(false),
        9 => with.nfiles(2).buddies(1),
        10 => with.sealed(true),
        11 => with.collect(Collect::new()),
        12 => with.collect(Collect::new().ranks_per_writer(1)),
        13 => with.chunksizes(vec![512]),
        14 => with.tasks(vec![(rank.into(), 512)]),
        15 => {
            let placed = Placed { file: 0, local: rank, globalrank: rank, chunksize: 512 };
            with.placed(vec![placed])
        }
        16 => with.color(0),
        18 => with.set_identity(1),
        _ => with,
    };
    let name = if option == 17 { "b.sion" } else { "a.sion" };
    with.create(comm, folder.join(name)).map(drop)
}

fn create_gsd<C: Collective>(comm: C, option: u32, folder: &Path) -> Result<(), Error> {
    let with = gsd_builder();
    let version = |major, minor| Version { major, minor };
    let with = match option {
        1 => with.application("other"),
        2 => with.schema("other", version(0, 0)),
        3 => with.schema("", version(1, 0)),
        4 => with.layer(version(1, 0)),
        5 => with.align(8),
        6 => with.checksums(true),
        7 => with.index_slots(256),
        8 => with.names_len(2048),
        9 => with.force(false),
        10 => with.durability(Durability::OnCommit),
        11 => with.lock(false),
        _ => with,
    };
    with.create(comm, folder.join(if option == 12 { "b.gsd" } else { "a.gsd" })).map(drop)
}

fn create_blob<C: Collective>(comm: C, option: u32, folder: &Path) -> Result<(), Error> {
    let (rank, size) = (comm.rank(), comm.size());
    let other = VarDef { name: "cold", nc_type: Type::Double, dimids: &[0, 1] };
    let dims = [DimDef::record("time"), DimDef { name: "cell", length: 3 * u64::from(size) }];
    let other = Definition { dims: &dims, attrs: &[], vars: &[(other, &[])] };
    with_definition(size, |definition| {
        let definition = if option == 1 { &other } else { definition };
        let with = blob_builder(definition, rank).records(1).force(true);
        let with = match option {
            2 => with.subfiles(NonZeroU32::new(2).unwrap()),
            3 => with.by_node(),
            4 => with.world_ranks(true),
            5 => with.records(2),
            6 => with.sealed(true),
            7 => with.force(false),
            8 => with.container(Container::Hdf5),
            _ => with,
        };
        with.create(comm, folder.join(if option == 9 { "b" } else { "a" })).map(drop)
    })
}
