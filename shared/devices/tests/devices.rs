//! Devices at their boundary: facts in, allocations and reasons out.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod devices {
    mod allocated;
    mod aws;
    mod claims;
    mod constraints;
    mod counters;
    mod explained;
    mod expressions;
    mod judge;
    mod karpenter;
    mod known;
    mod pools;
    mod properties;
    mod ready;
    mod requests;
    mod search;
    mod sharing;
    mod state;
    mod support;
}
