//! Tests below `node_pool`.

mod registrations;
