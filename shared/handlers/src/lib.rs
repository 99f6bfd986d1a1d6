//! One module per function: observe, decide, check, commit, act.
