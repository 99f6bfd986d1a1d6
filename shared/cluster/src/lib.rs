//! The ports over the Kubernetes API, and the token that EKS wants.
