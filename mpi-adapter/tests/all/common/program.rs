//! A program that uses every operation of a communicator.

use striae_mpi::{Collective, Error, Failure, Fold};

/// Every operation, with results that each rank checks. Ranks of one parity have a communicator of
/// their own for a while.
pub(crate) fn program<C: Collective>(comm: C) -> Result<(), Error> {
    let (rank, size) = (u64::from(comm.rank()), u64::from(comm.size()));
    comm.agree(Ok(()))?;
    let folded = comm.combine(
        Ok([rank + 1, rank, rank + 5, 1 << (rank % 64)]),
        [Fold::Sum, Fold::Max, Fold::Min, Fold::Xor],
    )?;
    let bits = (0..size).fold(0, |bits, rank| bits ^ (1 << (rank % 64)));
    assert_eq!(folded, [size * (size + 1) / 2, size - 1, 5, bits]);

    let before = comm.exscan(Ok([rank, 1]));
    if let Ok(before) = before {
        assert_eq!(before, [rank * rank.saturating_sub(1) / 2, rank]);
    }
    let mut is_done = false;
    let mut work = || {
        is_done = true;
        Ok(())
    };
    assert_eq!(comm.exscan_after(Ok([2]), &mut work)?, [2 * rank]);
    assert_eq!(is_done, rank == 0);
    let [answer] =
        comm.decide(before.map(|[sum, _]| [sum]), [Fold::Max], |[most]| Ok([most + 1]))?;
    assert_eq!(answer, (size - 1) * size.saturating_sub(2) / 2 + 1);

    let root = comm.size() - 1;
    let said = comm.bcast(root, Ok(&[rank as u8; 100]), 100)?;
    assert_eq!(said, [root as u8; 100]);
    let long = comm.bcast(root, Ok(&[root as u8; 5000]), 5000)?;
    assert!(long == [root as u8; 5000]);

    let mut gathered = Vec::new();
    comm.gather(root, Ok(&bytes_of(rank)), 7, |from, piece| {
        assert!(!piece.is_empty() && piece.len() <= 7);
        gathered.extend(piece.iter().map(|byte| (from, *byte)));
        Ok(())
    })?;
    let expected =
        (0..size).flat_map(|rank| bytes_of(rank).into_iter().map(move |b| (rank as u32, b)));
    let expected: Vec<_> = expected.collect();
    assert_eq!(gathered, if rank == u64::from(root) { expected } else { Vec::new() });

    // Greedy groups of at most 3: a state that only a chain can have.
    let (group, [groups, _]) = comm.chain(Ok([0, 0]), |[groups, filled]| {
        let starts = filled == 0 || filled == 3;
        let groups = groups + u64::from(starts);
        Ok(([groups, if starts { 1 } else { filled + 1 }], groups))
    })?;
    assert_eq!((group, groups), (rank / 3 + 1, size.div_ceil(3)));

    let part = comm.split(Ok(comm.rank() % 2))?;
    assert_eq!(u64::from(part.rank()), rank / 2);
    let done = part.total(Ok([rank])).map_err(Failure::from);
    let ranks = (0..size).filter(|other| other % 2 == rank % 2);
    if let Ok([sum]) = done {
        assert_eq!(sum, ranks.sum::<u64>());
    }
    let freed = done.and_then(|_| part.free(Ok(())).map_err(Failure::from));
    comm.agree(freed)?; // the other part learns of an error here

    let node = comm.node(Ok(()))?;
    let done = node.max(Ok([rank])).map(drop).map_err(Failure::from);
    comm.agree(done)?;
    comm.keep(1, node);
    comm.free(Ok(())) // and the node
}

/// What a rank gives to a gather: another length for each, 0 for rank 0.
fn bytes_of(rank: u64) -> Vec<u8> {
    (0..rank * 5).map(|i| (i * 7 + rank) as u8).collect()
}
