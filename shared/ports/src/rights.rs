//! What each call of a port needs: of IAM, and of Kubernetes' RBAC.
//!
//! The adapters' tests hold both tables to what is sent; `template.yaml` and `deploy/rbac.yaml` are made of them.

pub mod iam;
pub mod rbac;
