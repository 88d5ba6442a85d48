# The documentation builds without a warning, private links and dead ones included.

export RUSTDOCFLAGS="-D warnings"
features=$(features_without_mpi) # the rest is the job mpi's
cargo doc --no-deps --workspace --exclude striae-mpi-c --features "$features"
