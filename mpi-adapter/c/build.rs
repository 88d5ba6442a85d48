//! Gives the shared library its SONAME.

fn main() {
    // The number changes when a program that was linked before can no longer run.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libstriae_mpi_c.so.0");
    println!("cargo:rerun-if-changed=build.rs");
}
