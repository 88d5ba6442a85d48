//! Simulated worlds: the few ranks that run give the figures of all ranks.

use striae_mpi::sion::Builder;
use striae_mpi::{Code, Collect, Collective, Error, Fold};
use striae_mpi_lab::simulated::{Done, Rank, Simulated, Tally};

/// What is written: sets of so many files, with this many commits.
#[derive(Debug, Clone, Copy)]
struct Shape {
    ranks: u32,
    files: u32,
    ranks_per_node: u32,
    /// `None`: every rank writes for itself.
    ranks_per_writer: Option<u32>,
    commits: u32,
    sealed: bool,
}

const RECORD: usize = 1000;

/// Writes a set, and returns what this rank had done after each step.
fn write(rank: Rank, shape: Shape) -> Result<Vec<Tally>, Error> {
    let (disk, meter) = (rank.transport().disk(), rank.transport().disk());
    let mut builder = Builder::new().fsblksize(4096).chunksize(2500);
    builder = builder.nfiles(shape.files).sealed(shape.sealed);
    if let Some(ranks) = shape.ranks_per_writer {
        let collect = Collect::new().ranks_per_writer(ranks).buffer(1 << 16).shared_memory(false);
        builder = builder.collect(collect);
    }
    let open = move |path: &std::path::Path, anew| disk.open(path, anew);
    let mut file = builder.create_in(rank, "run.sion", open)?;
    let mut steps = vec![meter.tally()];
    for _ in 0..shape.commits {
        for _ in 0..3 {
            let _ = file.coll_write(&[7; RECORD]); // ranks of other files learn in the commit
        }
        steps.push(meter.tally());
        file.commit()?;
        steps.push(meter.tally());
    }
    file.close()?;
    steps.push(meter.tally());
    Ok(steps)
}

fn run(world: &Simulated, shape: Shape) -> Vec<Done<Vec<Tally>>> {
    let done = world.run(|rank| write(rank, shape)).unwrap().into_iter();
    let unwrapped = |done: Done<Result<_, Error>>| {
        let steps = done.result.map(|result| result.unwrap());
        let Done { rank, stands_for, tally, .. } = done;
        Done { rank, stands_for, tally, result: steps }
    };
    done.map(unwrapped).collect()
}

/// The largest of each count of a step, and the sum of the opens and of the bytes written.
fn summary(done: &[Done<Vec<Tally>>], step: usize) -> (Tally, u64, u64) {
    let mut most = Tally::default();
    let (mut opens, mut written) = (0, 0);
    for rank in done {
        let tally = rank.result.as_ref().unwrap()[step];
        opens += rank.stands_for * tally.opens;
        written += rank.stands_for * tally.written;
        most = Tally {
            time: most.time.max(tally.time),
            collectives: most.collectives.max(tally.collectives),
            messages: most.messages.max(tally.messages),
            bytes: most.bytes.max(tally.bytes),
            opens: most.opens.max(tally.opens),
            writes: most.writes.max(tally.writes),
            written: most.written.max(tally.written),
            read: most.read.max(tally.read),
            operations: most.operations.max(tally.operations),
        };
    }
    (most, opens, written)
}

/// Compares a world of which few ranks run with one in which all do.
fn check(shape: Shape) {
    let Shape { ranks, files, ranks_per_node, .. } = shape;
    let world = Simulated::new(ranks).files(files).ranks_per_node(ranks_per_node);
    let few = run(&world, shape);
    let all = run(&world.every_rank(), shape);
    assert_eq!(all.len(), ranks as usize);
    assert!(few.len() < all.len(), "{shape:?}: all ranks run");
    for step in 0..all[0].result.as_ref().unwrap().len() {
        assert_eq!(summary(&few, step), summary(&all, step), "{shape:?} step {step}");
    }
    for rank in few {
        let same = &all[rank.rank as usize];
        assert_eq!(rank.result.unwrap(), *same.result.as_ref().unwrap(), "{shape:?} {}", rank.rank);
        assert_eq!(rank.tally, same.tally);
    }
}

/// Shapes of which each differs from the others in several ways.
fn check_all(ranks: u32) {
    let (whole, third) = (Some(u32::MAX), Some(3));
    let shapes = [
        (1, 1, None, 1, false),
        (1, 7, None, 2, true),
        (1, 7, whole, 0, false),
        (1, 128, whole, 2, true),
        (1, 128, third, 1, false),
        (4, 1, None, 0, true),
        (4, 7, third, 2, false),
        (5, 17, None, 1, false), // the last file has as many as the others
        (7, 9, whole, 2, true),
        (7, 16, None, 1, false),
    ];
    for (files, ranks_per_node, ranks_per_writer, commits, sealed) in shapes {
        check(Shape { ranks, files, ranks_per_node, ranks_per_writer, commits, sealed });
    }
}

#[test]
fn few_ranks_give_the_figures_of_a_thousand() {
    check_all(1000);
}

#[test]
#[ignore = "takes minutes: 10 000 threads in each of 10 worlds"]
fn few_ranks_give_the_figures_of_ten_thousand() {
    check_all(10_000);
}

#[test]
fn only_writers_open_the_file_also_after_commits() {
    for (ranks, files, ranks_per_node) in [(1000, 1, 10), (1_000_000, 4, 100)] {
        for sealed in [false, true] {
            // Commits of 3000 bytes, in chunks of 4096.
            let (ranks_per_writer, commits) = (Some(u32::MAX), 3);
            let shape = Shape { ranks, files, ranks_per_node, ranks_per_writer, commits, sealed };
            let done =
                run(&Simulated::new(ranks).files(files).ranks_per_node(ranks_per_node), shape);
            let (most, opens, _) = summary(&done, done[0].result.as_ref().unwrap().len() - 1);
            assert_eq!((most.opens, opens), (1, u64::from(ranks / ranks_per_node)), "{shape:?}");
        }
    }
}

#[test]
fn a_fold_is_that_of_all_ranks() {
    let values = |rank: u64| [rank.min(1) + 3, 5, 9 - rank.min(2), 1];
    let folds = [Fold::Sum, Fold::Sum, Fold::Min, Fold::Max];
    for ranks in [1, 5, 1000, 2_000_000_000] {
        let world = Simulated::new(ranks).ranks_per_node(4);
        let done = world.run(|rank| {
            let before = rank.exscan(Ok([1, 3])).unwrap();
            assert_eq!(before, [u64::from(rank.rank()), 3 * u64::from(rank.rank())]);
            let sums = rank.combine(Ok(values(rank.rank().into())), folds).unwrap();
            let ranks = u64::from(ranks);
            assert_eq!(sums, [4 * ranks - 1, 5 * ranks, 9 - (ranks - 1).min(2), 1]);
            let node = rank.node(Ok(())).unwrap();
            assert!(node.size() <= 4);
            assert_eq!(node.total(Ok([1])).unwrap(), [node.size().into()]);
            let failed = rank.total(Ok([u64::MAX / 2])).map_err(|error| error.code());
            assert_eq!(failed.is_err(), ranks > 2);
        });
        assert!(done.unwrap().iter().all(|rank| rank.result.is_ok()), "{ranks}");
    }
}

#[test]
fn a_failure_at_any_operation_is_that_of_all_ranks_at_one_time() {
    let shape = Shape {
        ranks: 1000,
        files: 2,
        ranks_per_node: 2,
        ranks_per_writer: Some(2),
        commits: 1,
        sealed: true,
    };
    let world = Simulated::new(shape.ranks).files(shape.files).ranks_per_node(2);
    let whole = run(&world, shape);
    let mut failures = 0;
    for runner in whole {
        for operation in 0..runner.tally.operations {
            failures += 1;
            let world = world.clone().fault(runner.rank, operation);
            let done = world.run(|rank| write(rank, shape)).unwrap();
            let last = done.iter().map(|rank| rank.tally.time).max();
            for rank in &done {
                let error = rank.result.as_ref().unwrap().as_ref().unwrap_err();
                let expected = (Code::Io(28), Some(runner.rank));
                assert_eq!((error.code(), error.rank()), expected, "{operation}: {error}");
                assert_eq!(Some(rank.tally.time), last, "{operation}");
            }
        }
    }
    assert!(failures > 50, "{failures}");
}

#[test]
fn what_no_file_can_hold_is_refused_before_a_file_is_made() {
    let create = |ranks, files| {
        let world = Simulated::new(ranks).files(files).ranks_per_node(2);
        let done = world.run(|rank| {
            let disk = rank.transport().disk();
            let builder = Builder::new().nfiles(files).fsblksize(4096);
            let file = builder.create_in(rank, "run.sion", move |path, anew| disk.open(path, anew));
            file.and_then(striae_mpi::sion::FileWriter::close).map(drop)
        });
        let done = done.unwrap();
        let first = done[0].result.as_ref().unwrap().clone();
        assert!(done.iter().all(|rank| *rank.result.as_ref().unwrap() == first));
        assert!(first.is_ok() || done.iter().all(|rank| rank.tally.operations == 0));
        first
    };
    // SIONlib computes the length of META1 as an int.
    assert_eq!(create(134_217_659, 1), Ok(()));
    let error = create(134_217_660, 1).unwrap_err();
    assert_eq!(error.code(), Code::Refused, "{error}");
    assert!(error.text().contains("134217660"), "{error}");
    // The last file has the rest.
    let error = create(2 * 134_217_659 + 1, 2).unwrap_err();
    assert_eq!(error.code(), Code::Refused, "{error}");
    // Numbers of tasks are i32.
    let error = create(1 << 31, 1 << 8).unwrap_err();
    assert_eq!(error.code(), Code::Refused, "{error}");
    assert!(error.text().contains("2147483648"), "{error}");
    // More files than ranks.
    assert_eq!(create(3, 4).unwrap_err().code(), Code::Refused);
}

#[test]
fn a_rank_that_leaves_is_lost() {
    let done = Simulated::new(1000).run(|rank| {
        if rank.rank() == 5 {
            return Ok(());
        }
        rank.agree(Ok(()))
    });
    for rank in done.unwrap() {
        let result = rank.result.unwrap().map_err(|error| error.code());
        assert_eq!(result, if rank.rank == 5 { Ok(()) } else { Err(Code::Lost) });
    }
}

#[test]
fn ranks_that_stand_for_others_split_by_files_and_nodes() {
    let done = Simulated::new(1000).files(4).ranks_per_node(10).run(|rank| {
        let file = rank.split(Ok(rank.rank() / 250)).unwrap();
        assert_eq!((file.size(), file.rank()), (250, rank.rank() % 250));
        assert_eq!(file.total(Ok([1])).unwrap(), [250]);
        let node = file.node(Ok(())).unwrap();
        assert_eq!((node.size(), node.rank()), (10, file.rank() % 10));
        let half = node.split(Ok(node.rank() / 5)).unwrap();
        assert_eq!((half.size(), half.rank()), (5, file.rank() % 5));
        rank.split(Ok(rank.rank() % 2)).map(drop).map_err(|error| error.code())
    });
    for rank in done.unwrap() {
        assert_eq!(rank.result.unwrap(), Err(Code::Refused));
    }
}
