//! Pods of a Karpenter that acts without the lease by which it is noticed.

use model::lease::{KARPENTER_LEASE, KarpenterPod};
use serde_json::Value;

/// `pod` of Karpenter, if it runs and its settings say that it takes no lease called `karpenter-leader-election`.
/// `None` also for one that is ending. A setting from a ConfigMap or a Secret is not seen.
///
/// Karpenter: `pkg/operator/options/options.go`.
pub fn without_lease(pod: &Value) -> Option<KarpenterPod> {
    let text = |pointer| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let is_ending = !text("/metadata/deletionTimestamp").is_empty();
    if is_ending || text("/status/phase") != "Running" {
        return None;
    }
    let containers = items(pod, "/spec/containers");
    containers.iter().any(takes_no_lease).then(|| KarpenterPod {
        namespace: text("/metadata/namespace").to_owned(),
        name: text("/metadata/name").to_owned(),
    })
}

fn takes_no_lease(container: &Value) -> bool {
    let disabled = setting(container, "disable-leader-election", "DISABLE_LEADER_ELECTION");
    let is_disabled = disabled.is_some_and(|value| !is_false(value));
    let name = setting(container, "leader-election-name", "LEADER_ELECTION_NAME");
    is_disabled || name.is_some_and(|name| !name.is_empty() && name != KARPENTER_LEASE)
}

/// The value of the flag, or else of the environment variable. Of a flag without `=` it is the next argument, which Go
/// takes for a text and not for a yes or no; of a flag that is given twice, the last.
fn setting<'c>(container: &'c Value, flag: &str, variable: &str) -> Option<&'c str> {
    let arguments = ["/command", "/args"].into_iter().flat_map(|list| items(container, list));
    let arguments: Vec<&str> = arguments.filter_map(Value::as_str).collect();
    let following = arguments.iter().skip(1).copied().chain([""]);
    let values = arguments.iter().zip(following).filter_map(|(argument, next)| {
        let rest = argument.trim_start_matches('-').strip_prefix(flag)?;
        let is_flag = argument.starts_with('-') && rest.is_empty();
        if is_flag { Some(next) } else { rest.strip_prefix('=') }
    });
    let flagged = values.last();
    let named = |entry: &&Value| entry.get("name").and_then(Value::as_str) == Some(variable);
    let in_environment = || items(container, "/env").iter().find(named)?.get("value")?.as_str();
    flagged.or_else(in_environment)
}

/// As Go's `strconv.ParseBool` takes it. What is neither yes nor no is taken for yes: then Karpenter may act.
fn is_false(value: &str) -> bool {
    matches!(value, "0" | "f" | "F" | "false" | "FALSE" | "False")
}

fn items<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
