//! The crate at its boundary: texts in, objects, hashes, patches and complaints out.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod api {
    mod alpha_status_patch;
    mod conditions;
    mod convert;
    mod definitions;
    mod document;
    mod files;
    mod hash;
    mod kubelet;
    mod leader;
    mod lists;
    mod node_claim_patch;
    mod node_class_patch;
    mod node_pool_patch;
    mod scheduler_config;
    mod stored;
    mod validation;
}
