//! Where fields of v1 stood in the older versions.

/// Prefixes of paths in v1, and what they were in the kinds of v1alpha5 and v1alpha1. Longer ones
/// come first.
const PROVISIONER: &[(&str, &str)] = &[
    ("spec.template.spec.nodeClassRef", "spec.providerRef"),
    ("spec.template.spec.expireAfter", "spec.ttlSecondsUntilExpired"),
    ("spec.template.spec", "spec"),
    ("spec.template.metadata", "spec"),
    ("spec.disruption.consolidateAfter", "spec.ttlSecondsAfterEmpty"),
    ("spec.disruption.consolidationPolicy", "spec.consolidation"),
    ("spec.limits", "spec.limits.resources"),
];
const NODE_TEMPLATE: &[(&str, &str)] = &[
    ("spec.subnetSelectorTerms", "spec.subnetSelector"),
    ("spec.securityGroupSelectorTerms", "spec.securityGroupSelector"),
    ("spec.amiSelectorTerms", "spec.amiSelector"),
    ("spec.kubelet", "spec.kubeletConfiguration of the Provisioner"),
];
const NODE_POOL: &[(&str, &str)] =
    &[("spec.template.spec.expireAfter", "spec.disruption.expireAfter")];
const NODE_CLASS: &[(&str, &str)] =
    &[("spec.kubelet", "spec.template.spec.kubelet of the NodePool")];

/// `path` of v1 as an object of `kind` has it in its older version; `None` where it is the same.
pub(super) fn as_written(kind: &str, path: &str) -> Option<String> {
    let prefixes = match kind {
        "Provisioner" => PROVISIONER,
        "AWSNodeTemplate" => NODE_TEMPLATE,
        "NodePool" => NODE_POOL,
        "EC2NodeClass" => NODE_CLASS,
        _ => return None,
    };
    prefixes.iter().find_map(|(new, old)| {
        let rest = path.strip_prefix(new)?;
        if rest.is_empty() || rest.starts_with('.') {
            return Some(format!("{old}{rest}"));
        }
        // Terms were one map: a number says nothing.
        let rest = rest.strip_prefix('[')?;
        let is_map = matches!(kind, "AWSNodeTemplate");
        match rest.split_once(']') {
            Some((_, rest)) if is_map => Some(format!("{old}{rest}")),
            _ => Some(format!("{old}[{rest}")),
        }
    })
}
