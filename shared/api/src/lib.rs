//! Karpenter's objects, Kubernetes' objects, messages and stored records as text, and what they mean.
