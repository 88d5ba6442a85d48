# All crates are formatted by rustfmt.

cargo fmt --all --check
for manifest in fuzz/Cargo.toml tests/bare-metal/Cargo.toml \
    tests/bare-metal/programs/Cargo.toml core/firmware/Cargo.toml tests/opendal/Cargo.toml; do
    cargo fmt --check --manifest-path "$manifest"
done
