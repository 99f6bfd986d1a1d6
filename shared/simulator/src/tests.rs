//! The simulator's own promises. What it promises as a port is checked by `testkit`'s suites.

mod account;
mod cluster;
mod ledger;
mod limits;
mod reservations;
mod runs;
mod toy;
mod triggers;
