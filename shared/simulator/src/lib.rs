//! An AWS account and a cluster in memory, with virtual time and injected faults.
