//! `striae pack --format blob`.

use crate::args::{PackArgs, PackContainer, PackGrouping};
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::blob::map::Order;
use striae::blob::{Container, Pack};

pub(crate) fn pack(args: &PackArgs) -> Result<Sound, Failure> {
    let [canonical] = args.sources.as_slice() else {
        return Err(Failure::usage(&args.out, "a blob set is made of one netCDF file"));
    };
    let blob = &args.blob;
    let total = std::fs::metadata(canonical).map_or(0, |file| file.len());
    if blob.append {
        with_bar(total, |progress| {
            Pack::append(canonical, &args.out, &|bytes| progress(bytes)).map_err(Failure::File)
        })?;
        return Ok(Sound::Yes);
    }
    let Some(map) = &blob.map else {
        return Err(Failure::usage(&args.out, "a blob set needs --map MAP"));
    };
    let mut pack = Pack::new().output(args.layout.output()).sealed(args.seal);
    if blob.unsorted {
        pack = pack.order(Order::Kept);
    }
    if blob.container == Some(PackContainer::Hdf5) {
        pack = pack.container(Container::Hdf5);
    }
    if let Some(subfiles) = blob.subfiles {
        pack = pack.subfiles(subfiles);
    }
    if blob.grouping == Some(PackGrouping::RoundRobin) {
        pack = pack.round_robin();
    }
    if let Some(processes) = blob.processes {
        pack = pack.processes(processes);
    }
    if let Some(like) = &blob.like {
        pack = pack.like(like);
    }
    for (variable, id) in &blob.decomposition {
        pack = pack.decomposition(variable, *id);
    }
    with_bar(total, |progress| {
        pack.run(canonical, map, &args.out, &|bytes| progress(bytes)).map_err(Failure::File)
    })?;
    Ok(Sound::Yes)
}
