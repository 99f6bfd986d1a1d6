//! Label, annotation, taint and finalizer names, exactly as Karpenter spells them.

use model::labels::*;

#[test]
fn restricted_are_own_domains_and_the_hostname_only() {
    for key in ["karpenter.sh/custom", "sub.karpenter.sh/x", "karpenter.k8s.aws/mine", HOSTNAME] {
        assert!(is_restricted(key), "{key}");
    }
    for key in [ZONE, NODE_POOL, "kubernetes.io/x", "node.k8s.io/y", "team", "notkarpenter.sh/x"] {
        assert!(!is_restricted(key), "{key}");
    }
}
