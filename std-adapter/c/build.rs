//! Gives the shared library its SONAME.

fn main() {
    // The number changes when a program that was linked before can no longer run. Cargo would pass
    // an argument for shared libraries alone on to those of other packages, such as striae-mpi-c.
    println!("cargo:rustc-link-arg=-Wl,-soname,libstriae_c.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
