# What needs an allocator, and no operating system, compiles for WebAssembly. The job page runs it there.

own debian/wasm32-unknown-unknown
need_debian_rust
for package in striae-inspect striae-hoomd; do
    debian_cargo check -p "$package" --lib --target wasm32-unknown-unknown \
        -Zbuild-std=core,alloc --target-dir "$debian"
    note "$package"
done
