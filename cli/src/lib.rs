//! The command `journeyman`.
