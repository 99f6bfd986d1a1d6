//! The core: what to launch and what to give up, decided from facts.
