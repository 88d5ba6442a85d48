//! The canonical file that all ranks make of a set is that of the serial program, or none.

use crate::set::{Subfiles, files, serial, serial_or_sealed};
use crate::world::{self, ranks};
use std::path::Path;
use striae::lock::lock_replaced;
use striae_mpi::blob::{Container, Convert, OpenOptions, Set};
use striae_mpi::{Code, Collective, Error};

/// The file that the serial program makes.
fn expected(path: &Path, fill: Option<&str>) -> Vec<u8> {
    let whole = OpenOptions::new().checked(true).open(path).unwrap();
    let out = path.with_file_name("serial.nc");
    striae::blob::Convert::new().fill(fill).run(&whole, &out, &|_| ()).unwrap();
    let bytes = std::fs::read(&out).unwrap();
    std::fs::remove_file(out).unwrap();
    bytes
}

fn convert<C: Collective>(comm: C, path: &Path, how: &Convert) -> Result<C, Error> {
    let set = Set::open_with(comm, path, &OpenOptions::new().checked(true))?;
    how.run(&set, path.with_file_name("whole.nc"))?;
    Ok(set.into_comm())
}

#[test]
fn any_number_of_ranks_makes_the_file_of_the_serial_program() {
    for container in [Container::Cdf, Container::Hdf5] {
        for (sealed, subfiles) in
            [(false, Subfiles::InTurn), (true, Subfiles::Blocks(3)), (false, Subfiles::Blocks(1))]
        {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a");
            serial_or_sealed(&path, 5, (container, subfiles), sealed);
            let expected = expected(&path, None);
            let before = files(folder.path()).len();
            for size in [1, 2, 3, 5, 16] {
                let calls = ranks(size, |comm| {
                    let set = Set::open(comm, &path).unwrap();
                    let before = set.comm().calls();
                    let how = Convert::new().force(size > 1);
                    let done = how.run(&set, folder.path().join("whole.nc")).unwrap();
                    assert!(done.is_whole && done.bytes == expected.len() as u64);
                    set.comm().calls() - before
                });
                assert_eq!(calls, vec![5; size as usize]);
                let whole = std::fs::read(folder.path().join("whole.nc")).unwrap();
                assert!(whole == expected, "{container:?} {subfiles:?}, {size} ranks");
                assert_eq!(files(folder.path()).len(), before + 1, "a file is left");
            }
        }
    }
}

#[test]
fn what_is_lost_is_filled_and_told_once_for_all_ranks() {
    for container in [Container::Cdf, Container::Hdf5] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        serial(&path, 6, container, Subfiles::Blocks(3));
        std::fs::remove_file(folder.path().join("a.0000")).unwrap();
        std::fs::write(folder.path().join("a.0002"), "damaged").unwrap();
        let expected = expected(&path, Some("-1"));
        let lost = ranks(4, |comm| {
            let set = Set::open(comm, &path).unwrap();
            let how = Convert::new().fill(Some("-1"));
            let done = how.run(&set, folder.path().join("whole.nc")).unwrap();
            assert!(!done.is_whole);
            set.lost().unwrap()
        });
        assert!(std::fs::read(folder.path().join("whole.nc")).unwrap() == expected);
        assert_eq!((lost[0].len(), lost[0][0].number, lost[0][0].values), (1, 2, None));
        assert!(lost[0][0].text.contains("a.0002"), "{}", lost[0][0].text);
        assert!(lost[1..].iter().all(Vec::is_empty));
    }
}

#[test]
fn what_cannot_be_made_is_one_error_of_all_ranks_and_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    serial(&path, 3, Container::Cdf, Subfiles::Blocks(2));
    std::fs::write(folder.path().join("whole.nc"), "old").unwrap();
    let before = files(folder.path());
    let refused = |how: &(dyn Fn(u32) -> (Convert, &'static str) + Sync)| {
        let errors = ranks(3, |comm| {
            let set = Set::open(comm, &path).unwrap();
            let (how, out) = how(set.comm().rank());
            how.run(&set, folder.path().join(out)).unwrap_err()
        });
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        assert_eq!(files(folder.path()), before);
        (errors[0].code(), errors[0].rank())
    };
    let (new, forced) = (Convert::new(), Convert::new().force(true));
    assert_eq!(refused(&|_| (new.clone(), "whole.nc")), (Code::Io(17), Some(0))); // EEXIST
    assert!(matches!(refused(&|_| (new.clone(), "nowhere/b.nc")), (Code::Io(_), Some(0))));
    assert_eq!(refused(&|_| (forced.clone(), "a.0001")), (Code::Refused, Some(0)));
    let fill = forced.clone().fill(Some("1.5x"));
    assert_eq!(refused(&|_| (fill.clone(), "whole.nc")), (Code::Refused, Some(0)));
    let other = |rank| if rank == 1 { forced.clone() } else { new.clone() };
    assert_eq!(refused(&|rank| (other(rank), "b.nc")).0, Code::Differ);
    let other = |rank| if rank == 2 { "c.nc" } else { "b.nc" };
    assert_eq!(refused(&|rank| (new.clone(), other(rank))).0, Code::Differ);
    let _lock = lock_replaced(&folder.path().join("whole.nc")).unwrap();
    assert_eq!(refused(&|_| (forced.clone(), "whole.nc")), (Code::Io(16), Some(0))); // EBUSY
}

#[test]
fn ranks_that_would_cut_other_pieces_differ() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    serial(&path, 2, Container::Cdf, Subfiles::Blocks(1));
    let errors = ranks(2, |comm| {
        let buffer = (1 << 20) << comm.rank();
        let set = Set::open_with(comm, &path, &OpenOptions::new().buffer(buffer)).unwrap();
        Convert::new().run(&set, folder.path().join("whole.nc")).unwrap_err()
    });
    assert!(errors.iter().all(|error| error.code() == Code::Differ), "{errors:?}");
}

#[test]
fn whatever_happens_to_a_rank_the_name_has_the_old_file_or_the_whole_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    serial(&path, 5, Container::Cdf, Subfiles::Blocks(2));
    let (whole, new) = (folder.path().join("whole.nc"), expected(&path, None));
    std::fs::write(&whole, "old").unwrap();
    let (mut olds, mut news) = (0, 0);
    world::sweep(
        3,
        |comm| convert(comm, &path, &Convert::new().force(true)).map(drop),
        |case| {
            let found = std::fs::read(&whole).unwrap();
            let is_new = found == new;
            assert!(is_new || found == b"old", "{case:?}");
            (olds, news) = if is_new { (olds, news + 1) } else { (olds + 1, news) };
            std::fs::write(&whole, "old").unwrap();
            let hidden = |name: &String| name.starts_with('.');
            assert!(!files(folder.path()).keys().any(hidden), "{case:?}");
        },
    );
    assert!(olds > 40 && news > 0, "{olds} {news}");
}

/// The bytes that this thread has read so far.
fn read_by_thread() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

#[test]
fn values_are_read_once_by_all_ranks_together() {
    use striae::cdf::{Definition, DimDef, Type, VarDef};
    const CELLS: u64 = 60_000;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let names: Vec<String> = (0..24).map(|number| format!("v{number}")).collect();
    let var = |name| VarDef { name, nc_type: Type::Double, dimids: &[0] };
    let vars: Vec<(VarDef<'_>, &[striae::cdf::AttrDef<'_>])> =
        names.iter().map(|name| (var(name.as_str()), [].as_slice())).collect();
    let dims = [DimDef { name: "cell", length: CELLS }];
    let canonical = Definition { dims: &dims, attrs: &[], vars: &vars };
    let part = |rank: u64| striae::blob::Request { offset: CELLS / 4 * rank, len: CELLS / 4 };
    let requests = (0..4).map(|rank| vec![part(rank)]).collect();
    let mut builder = striae::blob::Builder::new(&canonical, 4.try_into().unwrap());
    builder = builder.decomposition(&[0], requests).subfiles(2.try_into().unwrap());
    for varid in 0..24 {
        builder = builder.decomposed(varid, 0);
    }
    let writer = builder.create(&path).unwrap();
    for rank in 0..4 {
        let one = writer.rank(rank).unwrap();
        names.iter().for_each(|name| one.put(name, 0, &vec![0.5; 15_000]).unwrap());
    }
    writer.close().unwrap();
    let values = CELLS * 8 * 24;
    for size in [1, 4, 8] {
        let read = ranks(size, |comm| {
            let (before, out) = (read_by_thread(), folder.path().join("whole.nc"));
            convert_to(comm, &path, &out);
            read_by_thread() - before
        });
        let (sum, most) = (read.iter().sum::<u64>(), read.iter().max().unwrap());
        // Headers and maps are those of each rank, with 64 KiB to spare for each.
        assert!((values..values + (u64::from(size) << 17)).contains(&sum), "{sum} of {values}");
        assert!(*most < values / u64::from(size) + values / 20, "{most} of one rank");
    }
}

fn convert_to<C: Collective>(comm: C, path: &Path, out: &Path) {
    let set = Set::open(comm, path).unwrap();
    Convert::new().force(true).run(&set, out).unwrap();
}
