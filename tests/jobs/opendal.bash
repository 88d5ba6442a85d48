# A file of a web server, read by the package opendal: what another library writes to use core.

own opendal
manifest=tests/opendal/Cargo.toml
# Clippy compiles it, which is rustc with more lints: the 150 packages under it are compiled once.
RUSTC_WORKSPACE_WRAPPER=clippy-driver RUSTFLAGS="-D warnings" \
    rust_tests cargo test --locked --manifest-path "$manifest" --target-dir "$target/opendal"
