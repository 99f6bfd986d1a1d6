//! What the command prints.
