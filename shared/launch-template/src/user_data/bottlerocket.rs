//! Bottlerocket: TOML settings, the user's kept with their comments, ours put over them.
//!
//! <https://bottlerocket.dev/en/os/latest/#/api/settings/>
//! Karpenter: `pkg/providers/amifamily/bootstrap/bottlerocket*.go` of the AWS provider.

use std::collections::BTreeMap;

use model::{
    ResourceName,
    duration::format_go,
    node_class::{ImageTerm, ResolvedNodeClass},
};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike, Value, value};

use super::Node;

/// What the values of a setting look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Truth,
    Texts,
    Table,
    /// Bottlerocket's own business.
    Any,
}

/// The settings below `settings.kubernetes` that reach nodes. Others are dropped.
#[rustfmt::skip]
const KUBERNETES: [(&str, Kind); 49] = [
    ("api-server", Kind::Text),
    ("cloud-provider", Kind::Text),
    ("cluster-certificate", Kind::Text),
    ("cluster-name", Kind::Text),
    ("cluster-dns-ip", Kind::Any),
    ("credential-providers", Kind::Table),
    ("node-labels", Kind::Table),
    ("node-taints", Kind::Table),
    ("max-pods", Kind::Integer),
    ("static-pods", Kind::Table),
    ("eviction-hard", Kind::Table),
    ("eviction-soft", Kind::Table),
    ("eviction-soft-grace-period", Kind::Table),
    ("eviction-max-pod-grace-period", Kind::Integer),
    ("kube-reserved", Kind::Table),
    ("system-reserved", Kind::Table),
    ("allowed-unsafe-sysctls", Kind::Texts),
    ("server-tls-bootstrap", Kind::Truth),
    ("registry-qps", Kind::Integer),
    ("registry-burst", Kind::Integer),
    ("event-qps", Kind::Integer),
    ("event-burst", Kind::Integer),
    ("kube-api-qps", Kind::Integer),
    ("kube-api-burst", Kind::Integer),
    ("container-log-max-size", Kind::Text),
    ("container-log-max-files", Kind::Integer),
    ("cpu-manager-policy", Kind::Text),
    ("cpu-manager-policy-options", Kind::Texts),
    ("cpu-manager-reconcile-period", Kind::Text),
    ("memory-manager-policy", Kind::Text),
    ("memory-manager-reserved-memory", Kind::Table),
    ("topology-manager-scope", Kind::Text),
    ("topology-manager-policy", Kind::Text),
    ("topology-manager-policy-options", Kind::Any),
    ("image-gc-high-threshold-percent", Kind::Text),
    ("image-gc-low-threshold-percent", Kind::Text),
    ("ids-per-pod", Kind::Integer),
    ("cpu-cfs-quota-enforced", Kind::Truth),
    ("shutdown-grace-period", Kind::Text),
    ("shutdown-grace-period-for-critical-pods", Kind::Text),
    ("cluster-domain", Kind::Text),
    ("seccomp-default", Kind::Truth),
    ("pod-pids-limit", Kind::Integer),
    ("device-ownership-from-security-context", Kind::Truth),
    ("single-process-oom-kill", Kind::Truth),
    ("container-log-max-workers", Kind::Integer),
    ("container-log-monitor-interval", Kind::Text),
    ("hostname-override-source", Kind::Text),
    ("log-level", Kind::Integer),
];

const MOUNT_COMMAND: &str = "000-mount-instance-storage";

/// The user data of a Bottlerocket node.
pub(super) fn user_data(node: &Node<'_>) -> Result<String, String> {
    let mut document = parse(node.custom().unwrap_or_default())?;
    let dropped: Vec<String> = foreign_keys(document.as_table(), |key| key == "settings");
    for key in dropped {
        document.remove(&key);
    }
    let settings = table(document.as_table_mut(), "settings", "settings")?;
    if node.class.class.is_raid0 {
        let path = "settings.bootstrap-commands";
        let commands = table(settings, "bootstrap-commands", path)?;
        commands.insert(MOUNT_COMMAND, mount_command(node.class));
    }
    let kubernetes = table(settings, "kubernetes", "settings.kubernetes")?;
    for key in foreign_keys(kubernetes, is_known) {
        kubernetes.remove(&key);
    }
    check_kinds(kubernetes)?;
    fill(kubernetes, node)?;
    Ok(document.to_string())
}

/// The labels among the settings `text`.
pub(super) fn own_labels(text: &str) -> BTreeMap<String, String> {
    let Ok(document) = parse(text) else { return BTreeMap::new() };
    let labels = ["settings", "kubernetes", "node-labels"]
        .into_iter()
        .try_fold(document.as_item(), |item, key| item.get(key))
        .and_then(Item::as_table_like);
    let labels = labels.into_iter().flat_map(|labels| labels.iter());
    labels.filter_map(|(key, item)| Some((key.to_owned(), item.as_str()?.to_owned()))).collect()
}

/// What of `text` will not reach nodes. Nothing for a text that is not TOML: it is refused.
pub(super) fn dropped_settings(text: &str) -> Vec<String> {
    let Ok(document) = parse(text) else {
        return Vec::new();
    };
    let mut dropped = foreign_keys(document.as_table(), |key| key == "settings");
    let settings = document.get("settings").and_then(Item::as_table_like);
    let kubernetes = settings.and_then(|s| s.get("kubernetes")).and_then(Item::as_table_like);
    if let Some(kubernetes) = kubernetes {
        let keys = foreign_keys(kubernetes, is_known);
        dropped.extend(keys.iter().map(|key| format!("settings.kubernetes.{key}")));
    }
    dropped
}

/// The settings of `settings.kubernetes` in `text` that decide where pods go and that others take the place of, each with
/// the field that does. Nothing for a text that is not TOML: it is refused.
pub(super) fn replaced_settings(text: &str) -> Vec<(&'static str, &'static str)> {
    let Ok(document) = parse(text) else {
        return Vec::new();
    };
    let settings = document.get("settings").and_then(Item::as_table_like);
    let kubernetes = settings.and_then(|s| s.get("kubernetes")).and_then(Item::as_table_like);
    let has = |key: &str| kubernetes.is_some_and(|kubernetes| kubernetes.contains_key(key));
    let replaced = [
        ("max-pods", "spec.kubelet.maxPods"),
        ("node-taints", "spec.template.spec.taints of the NodePool"),
    ];
    replaced.into_iter().filter(|(key, _)| has(key)).collect()
}

fn parse(text: &str) -> Result<DocumentMut, String> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let why = error.message().trim().replace('\n', "; ");
        format!("Bottlerocket takes TOML, but line {line} is none: {why}")
    })
}

fn is_known(key: &str) -> bool {
    KUBERNETES.iter().any(|(known, _)| *known == key)
}

fn foreign_keys(table: &dyn TableLike, is_known: impl Fn(&str) -> bool) -> Vec<String> {
    let keys = table.iter().map(|(key, _)| key);
    keys.filter(|key| !is_known(key)).map(ToOwned::to_owned).collect()
}

/// The table `key` of `parent`, made if it is not there.
fn table<'a>(
    parent: &'a mut dyn TableLike,
    key: &str,
    path: &str,
) -> Result<&'a mut dyn TableLike, String> {
    if !parent.contains_key(key) {
        // Inserted, not put through `entry`: an inline parent then gets an inline table.
        parent.insert(key, Item::Table(Table::new()));
    }
    let entry = parent.get_mut(key).and_then(Item::as_table_like_mut);
    entry.ok_or_else(|| format!("`{path}` must be a table"))
}

/// A user's setting of the wrong kind would only show when the node does not come up.
fn check_kinds(kubernetes: &dyn TableLike) -> Result<(), String> {
    for (key, kind) in KUBERNETES {
        let Some(item) = kubernetes.get(key) else {
            continue;
        };
        let is_text = |value: &Value| value.is_str();
        let (fits, wanted) = match kind {
            Kind::Text => (item.is_str(), "a string"),
            Kind::Integer => (item.is_integer(), "an integer"),
            Kind::Truth => (item.is_bool(), "true or false"),
            Kind::Texts => {
                let all_texts = |array: &Array| array.iter().all(is_text);
                (item.as_array().is_some_and(all_texts), "a list of strings")
            }
            Kind::Table => (item.is_table_like(), "a table"),
            Kind::Any => (true, ""),
        };
        if !fits {
            return Err(format!("`settings.kubernetes.{key}` must be {wanted}"));
        }
    }
    Ok(())
}

/// Puts what we know over what the user wrote.
fn fill(kubernetes: &mut dyn TableLike, node: &Node<'_>) -> Result<(), String> {
    let settings = node.settings;
    put(kubernetes, "api-server", &settings.endpoint);
    put(kubernetes, "cluster-certificate", &settings.ca_bundle);
    put(kubernetes, "cluster-name", settings.name.as_str());
    if let Some(address) = node.cluster_dns().first() {
        put(kubernetes, "cluster-dns-ip", *address);
    }
    put(kubernetes, "max-pods", i64::try_from(node.max_pods).unwrap_or(i64::MAX));
    let kubelet = node.kubelet;
    if let Some(seconds) = kubelet.eviction_max_pod_grace_period {
        put(kubernetes, "eviction-max-pod-grace-period", i64::from(seconds));
    }
    // Bottlerocket takes these two percentages as strings.
    if let Some(percent) = kubelet.image_gc_high_threshold_percent {
        put(kubernetes, "image-gc-high-threshold-percent", percent.to_string());
    }
    if let Some(percent) = kubelet.image_gc_low_threshold_percent {
        put(kubernetes, "image-gc-low-threshold-percent", percent.to_string());
    }
    if let Some(is_enforced) = kubelet.cpu_cfs_quota {
        put(kubernetes, "cpu-cfs-quota-enforced", is_enforced);
    }
    let labels = table(kubernetes, "node-labels", "settings.kubernetes.node-labels")?;
    for (key, text) in node.registered_labels() {
        put(labels, key, text);
    }
    kubernetes.insert("node-taints", taints(node));
    let grace = &kubelet.eviction_soft_grace_period;
    let grace: BTreeMap<String, String> =
        grace.iter().map(|(signal, time)| (signal.clone(), format_go(*time))).collect();
    replace(kubernetes, "eviction-hard", texts(&kubelet.eviction_hard));
    replace(kubernetes, "eviction-soft", texts(&kubelet.eviction_soft));
    replace(kubernetes, "eviction-soft-grace-period", texts(&grace));
    replace(kubernetes, "kube-reserved", resources(&kubelet.kube_reserved));
    replace(kubernetes, "system-reserved", resources(&kubelet.system_reserved));
    Ok(())
}

/// Sets a value, keeping a comment that stands beside the old one.
fn put(table: &mut dyn TableLike, key: &str, new: impl Into<Value>) {
    let mut new = new.into();
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => {
            table.insert(key, value(new));
        }
    }
}

fn texts(map: &BTreeMap<String, String>) -> Table {
    map.iter().map(|(key, text)| (key.as_str(), value(text.as_str()))).collect()
}

fn resources(map: &BTreeMap<ResourceName, String>) -> Table {
    map.iter().map(|(name, text)| (name.as_str(), value(text.as_str()))).collect()
}

fn replace(kubernetes: &mut dyn TableLike, key: &str, table: Table) {
    if !table.is_empty() {
        kubernetes.insert(key, Item::Table(table));
    }
}

/// `key = ["value:Effect", …]`
fn taints(node: &Node<'_>) -> Item {
    let mut by_key: BTreeMap<String, Array> = BTreeMap::new();
    for taint in node.registered_taints() {
        let entry = format!("{}:{}", taint.value, taint.effect.as_str());
        by_key.entry(taint.key).or_default().push(entry);
    }
    Item::Table(by_key.into_iter().map(|(key, entries)| (key, value(entries))).collect())
}

/// The bootstrap command that joins local disks and puts what grows onto them.
fn mount_command(class: &ResolvedNodeClass) -> Item {
    let init = ["apiclient", "ephemeral-storage", "init"];
    let mut bind = vec!["apiclient", "ephemeral-storage", "bind"];
    if !binds_by_itself(class) {
        bind.extend(["--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"]);
    }
    let mut commands = Array::new();
    commands.push(Array::from_iter(init));
    commands.push(Array::from_iter(bind));
    let mut command = Table::new();
    command.insert("commands", value(commands));
    command.insert("mode", value("always"));
    command.insert("essential", value(true));
    Item::Table(command)
}

/// Whether the images know by themselves which directories to bind: from 1.46.0 on. Images whose
/// version cannot be told are told the directories.
fn binds_by_itself(class: &ResolvedNodeClass) -> bool {
    let Some(version) = version(class) else {
        return false;
    };
    if version == "latest" {
        return true;
    }
    let parts = version.strip_prefix('v').unwrap_or(version).split('.');
    let numbers: Option<Vec<u32>> = parts.map(|part| part.parse().ok()).collect();
    numbers.is_some_and(|numbers| numbers.len() == 3 && numbers >= vec![1, 46, 0])
}

/// The version of the images: the alias's, or in the name that a term asks for, or in the name of
/// the image that an id means, or in that of any image that is called like Bottlerocket's.
fn version(class: &ResolvedNodeClass) -> Option<&str> {
    let terms = &class.class.image_terms;
    let alias = terms.iter().find_map(|term| match term {
        ImageTerm::Alias { version, family: _ } => Some(version.as_str()),
        _ => None,
    });
    let name = || {
        terms.iter().find_map(|term| match term {
            ImageTerm::Search { name: Some(name), .. } => version_in(name),
            _ => None,
        })
    };
    let id = || {
        terms.iter().find_map(|term| match term {
            ImageTerm::Id(id) => {
                class.images.iter().find(|image| image.id == *id).and_then(|i| version_in(&i.name))
            }
            _ => None,
        })
    };
    let any = || {
        let mut images = class.images.iter().filter(|i| i.name.starts_with("bottlerocket"));
        images.find_map(|image| version_in(&image.name))
    };
    alias.or_else(name).or_else(id).or_else(any)
}

/// The piece between dashes that starts with `v` and has a dot.
fn version_in(name: &str) -> Option<&str> {
    name.split('-').find(|piece| piece.starts_with('v') && piece.contains('.'))
}
