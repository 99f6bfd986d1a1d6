//! The adapters on the simulated account, over the wire: the ports' conformance suites, the launch
//! handler under faults, and the first burst of a big deployment.
//!
//! Everything is in this process: the server on loopback, the account behind it, and the AWS SDKs
//! in front of it. Nothing else is needed, and nothing outside is reached.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod server {
    mod burst;
    mod catalog;
    mod conformance;
    mod dry_run;
    mod faults;
    mod figures;
    mod prices;
    mod world;
}
