//! Labels and sizes of types as EC2 describes them.
