//! The ports over the AWS SDKs.
