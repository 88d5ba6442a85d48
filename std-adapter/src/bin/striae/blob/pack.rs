//! `striae pack --format blob`.

use crate::args::{PackArgs, PackContainer, PackGrouping};
use crate::failure::{Failure, Sound};
use crate::progress::with_bar;
use striae::Format;
use striae::blob::map::Order;
use striae::blob::{Container, Pack};
use striae::format::Recognized;

pub(super) fn pack(args: &PackArgs) -> Result<Sound, Failure> {
    let [canonical] = args.sources.as_slice() else {
        return Err(Failure::usage(&args.out, "a blob set is made of one netCDF file"));
    };
    let blob = &args.blob;
    if Recognized::new(canonical)?.format() == Format::Blob {
        let text =
            "is of a blob set; striae convert makes the netCDF file of one, which pack takes";
        return Err(Failure::usage(canonical, text));
    }
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
    let made = with_bar(total, |progress| {
        pack.run(canonical, map, &args.out, &|bytes| progress(bytes)).map_err(Failure::File)
    });
    made.map_err(|failure| {
        let failure = failure.of_option("map", Some(map), "a decomposition map");
        failure.of_option("like", blob.like.as_deref(), "a blob set")
    })?;
    Ok(Sound::Yes)
}
