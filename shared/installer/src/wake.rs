//! The webhooks that have the API server call the function `wake`, made from [`WAKE_RULES`], and the priority of the
//! events that wait for it.
//!
//! The secret path at the end of their URL is that of the day on which they are applied; `sweep` changes it each day.
//!
//! They cannot block a request: `failurePolicy: Ignore` admits it if `wake` fails, is slower than a second or cannot be
//! reached, and `wake` always allows. Each rule has a webhook of its own, so that a request is compared with the
//! conditions of its own kind only, inside the API server; only those that fit cost a call.
//!
//! A request that waits for a webhook holds a seat of its priority level. kube-scheduler's events would take the seats
//! of its bindings and status patches while `wake` does not answer, so its events have a priority level of their own.

use jiff::Timestamp;
use model::{
    ClusterName, Function,
    event::{COMPONENT, EventReason},
    labels,
    wake::{
        EVENTS_PRIORITY, PROBE_REPORTER, TIMEOUT, WAKE_KEY_VARIABLE, WAKE_RULES, WEBHOOKS,
        WakeCondition, WakeKey, WakeRule, with_path,
    },
};
use report::error::BadInput;
use serde_json::{Value, json};

use crate::live::{ObjectKind, kinds};

/// The user of kube-scheduler, on EKS too.
const SCHEDULER: &str = "system:kube-scheduler";
/// Before `kube-scheduler`, the built-in FlowSchema for all that kube-scheduler asks, with 800.
///
/// <https://kubernetes.io/docs/reference/debug-cluster/flow-control/>
const PRECEDENCE: u32 = 700;

/// Kind and name of each object of [`objects`], in the order in which they are removed.
pub const OBJECTS: [(ObjectKind, &str); 3] = [
    (kinds::WEBHOOKS, WEBHOOKS),
    (kinds::FLOW_SCHEMAS, EVENTS_PRIORITY),
    (kinds::PRIORITY_LEVELS, EVENTS_PRIORITY),
];

/// How the cluster calls `wake`.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct WakeArgs {
    /// Have the API server call the function `wake` at this URL, the output WakeUrl of the stack. The
    /// variable JOURNEYMAN_WAKE_KEY must have the parameter WakeKey. Default: leave the webhooks as
    /// they are.
    #[arg(long, value_name = "URL")]
    pub wake: Option<String>,
    /// Namespaces whose pending pods and CapacityBuffers wake nothing.
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',', requires = "wake")]
    pub wake_except: Vec<String>,
}

/// The calls that are asked for.
#[derive(Debug)]
pub struct WantedCalls<'a> {
    url: &'a str,
    except: &'a [String],
    key: WakeKey,
}

impl WakeArgs {
    /// The calls, if they are asked for; `key` is what the environment says of the stack's key.
    ///
    /// # Errors
    ///
    /// If the API server could not call the URL, or there is no key.
    pub fn wanted(&self, key: Option<&str>) -> Result<Option<WantedCalls<'_>>, BadInput> {
        let Some(url) = &self.wake else { return Ok(None) };
        checked(url).map_err(|why| {
            BadInput::one(format!(
                "--wake: {why}; it is the output WakeUrl of the stack, such as https://HOST/"
            ))
        })?;
        let key = WakeKey::new(key.unwrap_or_default()).map_err(|why| {
            BadInput::one(format!(
                "{WAKE_KEY_VARIABLE}: {why}; it is the parameter WakeKey of the stack"
            ))
        })?;
        Ok(Some(WantedCalls { url, except: &self.wake_except, key }))
    }
}

impl WantedCalls<'_> {
    /// The objects in `cluster` that make the calls, with the secret path of the day of `now`.
    pub fn objects(&self, cluster: &ClusterName, now: Timestamp) -> Vec<Value> {
        objects(&with_path(self.url, &self.key.path(cluster, now)), self.except)
    }
}

/// The key of the stack. It is no argument, because arguments are seen by others and kept in histories.
#[expect(clippy::disallowed_methods, reason = "a command is where its environment is read")]
pub fn key_of_environment() -> Option<String> {
    std::env::var(WAKE_KEY_VARIABLE).ok()
}

/// Whether `url` is one that a webhook may have.
fn checked(url: &str) -> Result<(), String> {
    let Some(place) = url.strip_prefix("https://") else {
        return Err("the URL does not begin with https://".to_owned());
    };
    if url.contains(['?', '#', '@']) {
        return Err("a webhook's URL has no query, fragment or user".to_owned());
    }
    if place.split('/').next().is_none_or(str::is_empty) {
        return Err("the URL has no host".to_owned());
    }
    Ok(())
}

/// The command that removes the objects of [`objects`].
pub fn removal() -> String {
    let objects = OBJECTS.map(|(kind, name)| format!("{kind}/{name}")).join(" ");
    format!("kubectl delete {objects} --ignore-not-found")
}

/// What has the API server call `url`, except for objects in the namespaces `except`, in the order in which it is
/// applied: the webhooks come last, once the events that wait for them have their priority.
pub fn objects(url: &str, except: &[String]) -> Vec<Value> {
    let webhooks: Vec<Value> = WAKE_RULES.iter().map(|rule| webhook(rule, url, except)).collect();
    vec![
        object(&kinds::PRIORITY_LEVELS, EVENTS_PRIORITY, "spec", &priority_level()),
        object(&kinds::FLOW_SCHEMAS, EVENTS_PRIORITY, "spec", &flow_schema()),
        object(&kinds::WEBHOOKS, WEBHOOKS, "webhooks", &webhooks.into()),
    ]
}

fn object(kind: &ObjectKind, name: &str, field: &str, value: &Value) -> Value {
    json!({
        "apiVersion": kind.api_version(),
        "kind": kind.name,
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": labels::MANAGER}},
        field: value,
    })
}

/// Two per cent of the API server's seats, 12 of the default 600: as many events wait for `wake` at once at most. The
/// level cannot borrow seats of others, and lends half of its own as `workload-high` does.
///
/// Events beyond that are queued, each namespace by itself, and beyond the queues answered with 429: kube-scheduler
/// sends these again up to ten times, beside its loop.
///
/// <https://kubernetes.io/docs/concepts/cluster-administration/flow-control/>
fn priority_level() -> Value {
    json!({
        "type": "Limited",
        "limited": {
            "nominalConcurrencyShares": 5,
            "lendablePercent": 50,
            "borrowingLimitPercent": 0,
            "limitResponse": {
                "type": "Queue",
                "queuing": {"queues": 16, "handSize": 4, "queueLengthLimit": 100},
            },
        },
    })
}

fn flow_schema() -> Value {
    json!({
        "matchingPrecedence": PRECEDENCE,
        "priorityLevelConfiguration": {"name": EVENTS_PRIORITY},
        "distinguisherMethod": {"type": "ByNamespace"},
        "rules": [{
            "subjects": [{"kind": "User", "user": {"name": SCHEDULER}}],
            "resourceRules": [{
                "apiGroups": ["", "events.k8s.io"],
                "resources": ["events"],
                "verbs": ["create", "patch", "update"],
                "namespaces": ["*"],
            }],
        }],
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
        "timeoutSeconds": TIMEOUT.as_secs(),
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
