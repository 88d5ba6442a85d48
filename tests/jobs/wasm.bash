# What needs an allocator, and no operating system, builds for WebAssembly.

own wasm
need_debian_rust
for package in striae-inspect striae-hoomd; do
    debian_cargo build -p "$package" --lib --target wasm32-unknown-unknown \
        -Zbuild-std=core,alloc --target-dir "$target/wasm"
    note "$package"
done
