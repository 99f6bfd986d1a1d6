//! What statuses and facts are read as.
