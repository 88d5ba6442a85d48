# The documentation builds without a warning, private links and dead ones included.

RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --all-features --workspace
