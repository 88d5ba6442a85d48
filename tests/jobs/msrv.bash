# The oldest supported compiler, `rust-version`, builds all libraries and programs.

# Not part of a run: the lint clippy::incompatible_msrv refuses what its library lacks, and the job
# package other packages that need a newer one. Only this compiler knows what its language lacks.
oldest=$(sed -n 's/^rust-version = "\([0-9.]*\)".*/\1/p' Cargo.toml)
cargo "+$oldest" --version || skip "needs the toolchain $oldest of rustup"
own "rust-$oldest"
cargo "+$oldest" check --workspace --exclude striae-mpi --exclude striae-mpi-lab --exclude striae-python --lib --bins \
    --target-dir "$target/rust-$oldest"
cargo "+$oldest" check -p striae-core --all-features --target-dir "$target/rust-$oldest"
