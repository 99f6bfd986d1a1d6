//! The core: user data, launch templates and fleet requests for a NodeClaim.
