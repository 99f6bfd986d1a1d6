//! Catalogs at the boundary of the crate: bytes in, the instance types that they describe out.

// Marked as a test, so that helpers may unwrap as tests do.
#[cfg(test)]
mod instance_catalog {
    mod catalog;
    mod ec2;
    mod price_list;
    mod stored;
}
