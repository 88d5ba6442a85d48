# No lint of rustc or clippy complains, in any crate.

# Sets of fewer features are looked at by the job features.
cargo clippy --workspace --exclude striae-mpi --exclude striae-mpi-c --exclude striae-mpi-lab --all-targets \
    --all-features -- -D warnings
cargo clippy -p striae-mpi -p striae-mpi-lab --all-targets -- -D warnings # their feature needs MPI: the job mpi
cargo clippy --manifest-path fuzz/Cargo.toml --lib --no-default-features -- -D warnings
cargo clippy --manifest-path tests/bare-metal/Cargo.toml -- -D warnings
cargo clippy --manifest-path tests/bare-metal/programs/Cargo.toml -- -D warnings
