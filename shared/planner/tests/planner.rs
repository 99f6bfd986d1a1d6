//! The planner at its boundary: facts in, plans out, and the algorithms that they are made with.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod planner {
    mod disruption;
    mod events;
    mod eviction;
    mod index;
    mod launch;
    mod lifecycle;
    mod pace;
    mod properties;
    mod scheduling;
    mod support;
}
