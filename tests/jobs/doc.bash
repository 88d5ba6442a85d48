# The documentation builds without a warning, private links and dead ones included.

export RUSTDOCFLAGS="-D warnings"
cargo doc --no-deps --all-features --workspace --exclude striae-mpi --exclude striae-mpi-c
cargo doc --no-deps -p striae-mpi # its feature needs MPI: the job mpi
