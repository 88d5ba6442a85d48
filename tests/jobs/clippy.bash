# No lint of rustc or clippy complains, in any crate.

# Sets of fewer features are looked at by the job features.
features=$(features_without_mpi) # the rest is the job mpi's
cargo clippy --workspace --exclude striae-mpi-c --all-targets --features "$features" -- -D warnings
cargo clippy --manifest-path fuzz/Cargo.toml --lib --no-default-features -- -D warnings
cargo clippy --manifest-path tests/bare-metal/Cargo.toml -- -D warnings
cargo clippy --manifest-path tests/bare-metal/programs/Cargo.toml -- -D warnings
