# The documentation builds without a warning, private links and dead ones included.

export RUSTDOCFLAGS="-D warnings"
cargo doc --no-deps --all-features --workspace --exclude striae-mpi --exclude striae-mpi-c --exclude striae-mpi-lab
cargo doc --no-deps -p striae-mpi -p striae-mpi-lab --lib # their feature needs MPI: the job mpi
