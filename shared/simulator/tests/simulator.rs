//! The simulator's own rules. What it does as a port is checked by the suites of `testkit`.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod simulator {
    mod account;
    mod chance;
    mod cluster;
    mod devices;
    mod ledger;
    mod limits;
    mod meter;
    mod reservations;
    mod runs;
    mod toy;
    mod triggers;
    mod wake;
}
