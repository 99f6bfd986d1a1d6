//! The webhooks that have the API server call the function `wake`, made from [`WAKE_RULES`].
//!
//! They cannot block a request: `failurePolicy: Ignore` admits it if `wake` fails, is slower than a second or cannot be
//! reached, and `wake` always allows. Each rule has a webhook of its own, so that a request is compared with the
//! conditions of its own kind only, inside the API server; only those that fit cost a call.

use model::{
    Function,
    event::{COMPONENT, EventReason},
    labels,
    wake::{PROBE_REPORTER, WAKE_RULES, WakeCondition, WakeRule},
};
use report::error::BadInput;
use serde_json::{Value, json};

/// The name of the configuration, and the end of the names of its webhooks.
pub const WEBHOOKS: &str = "journeyman";
/// Seconds until the API server goes on without an answer, the least that it takes.
const TIMEOUT_SECONDS: u32 = 1;
const SECRET_BYTES_MIN: usize = 32;

/// How the cluster calls `wake`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WakeArgs {
    /// Have the API server call the function `wake` at this URL, with its secret path. Default: leave
    /// the webhooks as they are.
    #[arg(long, value_name = "URL")]
    pub wake: Option<String>,
    /// Namespaces whose pending pods and CapacityBuffers wake nothing.
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',', requires = "wake")]
    pub wake_except: Vec<String>,
}

impl WakeArgs {
    /// The configuration of the webhooks, if one is asked for.
    ///
    /// # Errors
    ///
    /// If the API server could not call the URL, or everyone could guess it.
    pub fn objects(&self) -> Result<Vec<Value>, BadInput> {
        let Some(url) = &self.wake else { return Ok(Vec::new()) };
        checked(url).map_err(|why| {
            BadInput::one(format!(
                "--wake: {why}; it is the output WakeUrl of the stack, such as https://HOST/SECRET"
            ))
        })?;
        Ok(vec![configuration(url, &self.wake_except)])
    }
}

/// Whether `url` is one that a webhook may have and that ends with a secret.
fn checked(url: &str) -> Result<(), String> {
    let Some(place) = url.strip_prefix("https://") else {
        return Err("the URL does not begin with https://".to_owned());
    };
    if url.contains(['?', '#', '@']) {
        return Err("a webhook's URL has no query, fragment or user".to_owned());
    }
    let (host, secret) = place.split_once('/').unwrap_or((place, ""));
    if host.is_empty() {
        return Err("the URL has no host".to_owned());
    }
    let is_safe = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if secret.len() < SECRET_BYTES_MIN || !secret.chars().all(is_safe) {
        return Err(format!(
            "the path is no secret of {SECRET_BYTES_MIN} or more letters, digits, - and _"
        ));
    }
    Ok(())
}

/// The webhooks that call `url`, except for objects in the namespaces `except`.
pub fn configuration(url: &str, except: &[String]) -> Value {
    let webhooks: Vec<Value> = WAKE_RULES.iter().map(|rule| webhook(rule, url, except)).collect();
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": WEBHOOKS, "labels": {"app.kubernetes.io/name": labels::MANAGER}},
        "webhooks": webhooks,
    })
}

fn webhook(rule: &WakeRule, url: &str, except: &[String]) -> Value {
    let operations: Vec<&str> =
        rule.operations.iter().map(|operation| operation.as_str()).collect();
    let scope = if rule.is_namespaced { "Namespaced" } else { "Cluster" };
    let conditions: Vec<Value> = conditions(rule)
        .into_iter()
        .map(|(name, expression)| json!({"name": name, "expression": expression}))
        .collect();
    let mut webhook = json!({
        "name": format!("{}.wake.{WEBHOOKS}", rule.name),
        "clientConfig": {"url": url},
        "rules": [{
            "apiGroups": [rule.group],
            "apiVersions": ["*"],
            "operations": operations,
            "resources": [rule.resource],
            "scope": scope,
        }],
        // Conditions name the fields of their own API: events of the other one are not converted.
        "matchPolicy": "Exact",
        "matchConditions": conditions,
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "timeoutSeconds": TIMEOUT_SECONDS,
        "admissionReviewVersions": ["v1"],
    });
    if rule.is_namespaced
        && !except.is_empty()
        && let Some(fields) = webhook.as_object_mut()
    {
        let is_other =
            json!({"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": except});
        let selector = json!({"matchExpressions": [is_other]});
        fields.insert("namespaceSelector".to_owned(), selector);
    }
    webhook
}

/// What has to hold of a request under `rule`, each under a name, in the Common Expression Language. A field that is
/// missing is an error, by which the API server skips the webhook, so that each is looked for first.
///
/// <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions>
pub fn conditions(rule: &WakeRule) -> Vec<(&'static str, String)> {
    let groups = "request.userInfo.groups";
    // What functions write themselves, they know. Their probes are sent to be called for.
    let mut by_others = format!(
        "!(has({groups}) && {groups}.exists(group, group.startsWith('{}')))",
        Function::GROUP_PREFIX
    );
    if let WakeCondition::UnschedulablePod { component, .. } = rule.condition {
        by_others = format!("{by_others} || ({})", is("object", component, PROBE_REPORTER));
    }
    let mut conditions = vec![("by-others", by_others)];
    match rule.condition {
        WakeCondition::Always => {}
        WakeCondition::UnschedulablePod { about, component } => {
            let reason = EventReason::FailedScheduling.as_str();
            conditions.extend([
                ("failed-scheduling", is("object", &["reason"], reason)),
                ("of-a-pod", is("object", &[about, "kind"], "Pod")),
                ("by-a-scheduler", format!("!({})", is("object", component, COMPONENT))),
            ]);
        }
        WakeCondition::SpecChanged => {
            let is_other = "oldObject == null || object.spec != oldObject.spec".to_owned();
            conditions.push(("new-spec", is_other));
        }
        WakeCondition::NodeOfKarpenter => {
            let labels = "oldObject.metadata.labels";
            let has = |label: &str| format!("'{label}' in {labels}");
            let (pool, class) = (has(labels::NODE_POOL), has(labels::NODE_CLASS));
            conditions.push(("of-karpenter", format!("has({labels}) && ({pool} || {class})")));
        }
    }
    conditions
}

/// That the field at the end of `path` below `root` is there and is `value`.
fn is(root: &str, path: &[&str], value: &str) -> String {
    let mut field = root.to_owned();
    let mut parts = Vec::new();
    for name in path {
        field = format!("{field}.{name}");
        parts.push(format!("has({field})"));
    }
    parts.push(format!("{field} == '{value}'"));
    parts.join(" && ")
}
