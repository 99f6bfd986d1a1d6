//! Builders, scenario text and one conformance suite per port.
