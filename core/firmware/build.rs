//! Puts memory.x where the linker looks for it, and names the scripts that it needs.

use std::{env, fs, path::Path};

fn main() {
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::copy("memory.x", Path::new(&out).join("memory.x")).expect("memory.x is there");
    println!("cargo:rustc-link-search={out}");
    println!("cargo:rerun-if-changed=memory.x");
    // Not in rustflags: cargo would compile `core` anew for them, and another package has built it.
    for argument in ["-Tlink.x", "-Tdefmt.x", "-n"] {
        println!("cargo:rustc-link-arg-bins={argument}");
    }
}
