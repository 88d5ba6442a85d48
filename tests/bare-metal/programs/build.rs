//! Programs without a start-up file begin at `start`.

fn main() {
    println!("cargo:rustc-link-arg-bins=--entry=start");
}
