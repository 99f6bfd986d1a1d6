//! The build script of every function: what is left out when it is linked.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "Cargo tells a build script by variables, and is answered on stdout"
)]

use std::env;

fn main() {
    let variable = |name: &str| env::var(name).unwrap_or_default();
    let script = format!("{}/../../shared/bootstrap/link.ld", variable("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed={script}");
    if variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux" {
        println!("cargo::rustc-link-arg-bins=-Wl,--script={script}");
    }
}
