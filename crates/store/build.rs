//! Makes a new migration file reach the binary; `migrate!` alone notices only changed ones.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
