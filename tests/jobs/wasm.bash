# striae-hoomd builds for WebAssembly, where there is no std.

need_debian_rust
debian_cargo build -p striae-hoomd --lib --target wasm32-unknown-unknown -Zbuild-std=core,alloc \
    --target-dir "$target/wasm"
