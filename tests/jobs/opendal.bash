# A file of a web server, read by the package opendal: what another library writes to use core.

own opendal
manifest=tests/opendal/Cargo.toml
rust_tests cargo test --locked --manifest-path "$manifest" --target-dir "$target/opendal"
cargo clippy --locked --manifest-path "$manifest" --target-dir "$target/opendal" --all-targets -- -D warnings
