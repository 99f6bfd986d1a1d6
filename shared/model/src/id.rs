//! Ids and names: one type each, checked when they enter, cheap to copy around.
//!
//! They order by their text, which is what every tie in a plan is broken by.

use std::{fmt, sync::Arc};

/// Why a text is not an id of the wanted kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a valid {kind}: {rule}")]
pub struct InvalidId {
    /// What it should have been, in words.
    pub kind: &'static str,
    /// The text as given.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks `text` and keeps it.
            pub fn new(text: &str) -> Result<Self, InvalidId> {
                match $check(text) {
                    Ok(()) => Ok(Self(Arc::from(text))),
                    Err(rule) => Err(InvalidId { kind: $kind, text: text.to_owned(), rule }),
                }
            }

            /// The text as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(text)
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }
    };
}

string_id!(
    /// Name of an EKS cluster; the partition key of the ledger.
    ClusterName, "cluster name", cluster_name);
string_id!(
    /// Name of a NodePool.
    NodePoolName, "NodePool name", dns_subdomain);
string_id!(
    /// Name of an EC2NodeClass, or what a NodePool or a NodeClaim names as one: the API server looks at no
    /// reference, and a class may be called by [`is_object_name`] texts only.
    NodeClassName, "EC2NodeClass name", not_empty);
string_id!(
    /// Name of a NodeClaim.
    NodeClaimName, "NodeClaim name", dns_subdomain);
string_id!(
    /// Name of a Kubernetes Node.
    NodeName, "node name", dns_subdomain);
string_id!(
    /// A Kubernetes namespace.
    Namespace, "namespace", dns_subdomain);
string_id!(
    /// Name of any other Kubernetes object.
    ObjectName, "object name", not_empty);
string_id!(
    /// `metadata.uid` of a pod.
    PodUid, "pod uid", not_empty);
string_id!(
    /// An EC2 instance, `i-…`.
    InstanceId, "instance id", instance_id);
string_id!(
    /// Name of an EC2 instance type such as `m7g.large`.
    InstanceTypeName, "instance type name", instance_type_name);
string_id!(
    /// Name of an availability zone such as `us-west-2a`.
    Zone, "zone", not_empty);
string_id!(
    /// Id of an availability zone such as `usw2-az1`: the same place in every account.
    ZoneId, "zone id", not_empty);
string_id!(
    /// A subnet, `subnet-…`.
    SubnetId, "subnet id", subnet_id);
string_id!(
    /// A security group, `sg-…`.
    SecurityGroupId, "security group id", security_group_id);
string_id!(
    /// An Amazon machine image, `ami-…`.
    ImageId, "image id", image_id);
string_id!(
    /// A capacity reservation, `cr-…`.
    ReservationId, "capacity reservation id", not_empty);
string_id!(
    /// A placement group, `pg-…`.
    PlacementGroupId, "placement group id", not_empty);
string_id!(
    /// A node's `spec.providerID`: `aws:///<zone>/<instance id>`.
    ProviderId, "provider id", not_empty);
string_id!(
    /// Name of an EC2 launch template.
    LaunchTemplateName, "launch template name", not_empty);
string_id!(
    /// A resource that containers request: `cpu`, `memory`, `nvidia.com/gpu`.
    ResourceName, "resource name", qualified_name);
string_id!(
    /// A label key in its canonical spelling; see [`crate::labels::canonical`].
    LabelKey, "label key", not_empty);
string_id!(
    /// Identity of one commit to the ledger: a repeated commit is recognized by it.
    CommitId, "commit id", not_empty);
string_id!(
    /// Identity of a command of disruption.
    CommandId, "command id", not_empty);
string_id!(
    /// Identity of a ledger, drawn when it is opened: a few lower-case letters and digits. It is part of
    /// the names of claims, of client tokens and of tags, so that another ledger never repeats them.
    LedgerId, "ledger id", ledger_id);
string_id!(
    /// Identity of a batch of launches, and the client token of its CreateFleet request.
    BatchId, "batch id", not_empty);

impl ProviderId {
    /// The provider id that the kubelet of `instance` in `zone` reports.
    pub fn of_instance(zone: &Zone, instance: &InstanceId) -> Self {
        Self(Arc::from(format!("aws:///{zone}/{instance}")))
    }

    /// The instance that this provider id names, if it is one of EC2's.
    pub fn instance(&self) -> Option<InstanceId> {
        let (_, id) = self.as_str().strip_prefix("aws:///")?.rsplit_once('/')?;
        InstanceId::new(id).ok()
    }
}

impl LaunchTemplateName {
    /// The launch template whose content has this digest: `karpenter.k8s.aws/<decimal digest>`.
    pub fn of_digest(digest: u64) -> Self {
        Self(Arc::from(format!("karpenter.k8s.aws/{digest}")))
    }

    /// Whether it is a name that [`Self::of_digest`] gives: one of another kind is the user's own.
    pub fn is_of_digest(&self) -> bool {
        let digest = self.as_str().strip_prefix("karpenter.k8s.aws/");
        digest.is_some_and(|digest| digest.parse::<u64>().is_ok())
    }
}

/// Characters of the name of a NodePool that are in the names of all of its claims, whatever the numbers behind them.
const POOL_NEVER_CUT: usize = 16;

impl NodeClaimName {
    /// Name of the `index`th claim that the next commit on `head` creates for `pool`: the same on
    /// every retry, another for every other claim. The pool's part is cut so that the whole fits
    /// in the 63 characters of a label value.
    pub fn derived(pool: &NodePoolName, head: &crate::ledger::Head, index: u32) -> Self {
        let suffix = suffix(head, index);
        let room = 63usize.saturating_sub(suffix.len());
        let pool = pool.as_str();
        let cut = pool.char_indices().nth(room).and_then(|(end, _)| pool.get(..end));
        let stem = cut.unwrap_or(pool).trim_end_matches(['-', '.']);
        Self(Arc::from([stem, &suffix].concat()))
    }

    /// Whether a claim of `pool` may have it: the name of a claim begins with so much of its pool's as is never cut.
    pub fn may_be_of(&self, pool: &NodePoolName) -> bool {
        let start = pool.as_str().get(..POOL_NEVER_CUT).unwrap_or(pool.as_str());
        self.as_str().starts_with(start.trim_end_matches(['-', '.']))
    }
}

impl CommitId {
    /// The commit that `invocation` makes as its `part`th.
    pub fn derived(invocation: &str, part: u32) -> Self {
        Self(Arc::from(format!("{invocation}/{part}")))
    }
}

impl CommandId {
    /// Of a command by its method, when it was found and what it is about.
    pub fn derived(command: &crate::disruption::Command) -> Self {
        let names: Vec<&str> = command.candidates.iter().map(NodeClaimName::as_str).collect();
        let digest = crate::ledger::digest(names.join(" ").as_bytes());
        let (method, found_at) = (command.method, command.found_at.as_second());
        Self(Arc::from(format!("{method}-{found_at}-{digest:016x}")))
    }

    /// Of what the command `id` moved.
    pub fn moved_by(id: &Self) -> Self {
        Self(Arc::from(format!("moved-{id}")))
    }

    /// Of what remembers that a rollout is halted, by the canaries that are the candidates of `id`.
    pub fn halting(id: &Self) -> Self {
        Self(Arc::from(format!("halted-{id}")))
    }

    /// Of what remembers that canaries of `class` passed at `at`.
    pub fn accepting(class: &NodeClassName, at: jiff::Timestamp) -> Self {
        Self(Arc::from(format!("accepted-{class}-{}", at.as_second())))
    }

    /// Of what frees nodes again that were found to be kept free for nothing.
    pub fn freeing(found_at: jiff::Timestamp) -> Self {
        Self(Arc::from(format!("freeing-{}", found_at.as_second())))
    }
}

impl NodePoolName {
    /// That of no NodePool, which a NodeClaim that a user made has. No NodePool is called so.
    pub fn none() -> Self {
        Self(Arc::from(""))
    }

    /// Whether it is that of no NodePool.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }
}

impl BatchId {
    /// The `index`th batch of launches that the next commit on the `head` of the cluster's ledger
    /// creates.
    ///
    /// EC2 takes at most 64 ASCII characters as a client token, and cluster names have up to 100:
    /// a long name is replaced by its digest.
    pub fn derived(cluster: &ClusterName, head: &crate::ledger::Head, index: u32) -> Self {
        let suffix = suffix(head, index);
        let name = cluster.as_str();
        if name.len() + suffix.len() <= 64 {
            Self(Arc::from([name, &suffix].concat()))
        } else {
            Self(Arc::from(format!("{:016x}{suffix}", crate::ledger::digest(name.as_bytes()))))
        }
    }

    /// The arrivals of the ledger after the commit that created the batch; `None` if the id was not derived.
    pub fn arrivals(&self) -> Option<u64> {
        let mut parts = self.as_str().rsplit('-').skip(1);
        u64::from_str_radix(parts.next()?, 36).ok()
    }
}

/// `-<ledger>-<arrivals>-<index>`.
fn suffix(head: &crate::ledger::Head, index: u32) -> String {
    let mut suffix = String::with_capacity(32);
    if let Some(ledger) = &head.ledger {
        suffix.push('-');
        suffix.push_str(ledger.as_str());
    }
    for number in [head.counters.arrivals + 1, u64::from(index)] {
        suffix.push('-');
        push_base36(number, &mut suffix);
    }
    suffix
}

/// Appends `number` with the digits 0 to 9 and a to z.
fn push_base36(number: u64, text: &mut String) {
    if number >= 36 {
        push_base36(number / 36, text);
    }
    let digit = u32::try_from(number % 36).unwrap_or_default();
    text.extend(char::from_digit(digit, 36));
}

fn not_empty(text: &str) -> Result<(), &'static str> {
    if text.is_empty() { Err("it must not be empty") } else { Ok(()) }
}

/// EKS: 1 to 100 letters, digits, `-` and `_`, the first a letter or digit.
fn cluster_name(text: &str) -> Result<(), &'static str> {
    let rule = "it must be 1 to 100 letters, digits, `-` or `_`, and start with a letter or digit";
    let starts = text.chars().next().is_some_and(|c| c.is_ascii_alphanumeric());
    let body = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    if starts && body && text.len() <= 100 { Ok(()) } else { Err(rule) }
}

/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>
fn dns_subdomain(text: &str) -> Result<(), &'static str> {
    let rule = "it must be at most 253 lower-case letters, digits, `-` and `.`, each part starting \
                and ending with a letter or digit";
    let part = |part: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        part.chars().all(|c| inner(c) || c == '-')
            && part.starts_with(inner)
            && part.ends_with(inner)
    };
    if text.len() <= 253 && text.split('.').all(part) { Ok(()) } else { Err(rule) }
}

/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>
pub(crate) fn qualified_name(text: &str) -> Result<(), &'static str> {
    let rule = "it must be an optional DNS prefix and `/`, then at most 63 letters, digits, `-`, \
                `_` and `.`, starting and ending with a letter or digit";
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    if prefix.is_some_and(|prefix| prefix.is_empty() || dns_subdomain(prefix).is_err()) {
        return Err(rule);
    }
    if name.is_empty() || !is_label_text(name) { Err(rule) } else { Ok(()) }
}

/// Whether `text` may be a label's value: empty, or at most 63 characters of the known set.
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_label_text(text)
}

/// Whether an object may be called `text`: a DNS subdomain.
pub fn is_object_name(text: &str) -> bool {
    dns_subdomain(text).is_ok()
}

/// Whether `text` is a qualified name, as label and taint keys must be.
pub fn is_qualified_name(text: &str) -> bool {
    qualified_name(text).is_ok()
}

fn is_label_text(text: &str) -> bool {
    let outer = |c: char| c.is_ascii_alphanumeric();
    text.len() <= 63
        && text.starts_with(outer)
        && text.ends_with(outer)
        && text.chars().all(|c| outer(c) || matches!(c, '-' | '_' | '.'))
}

fn prefixed(text: &str, prefix: &str) -> bool {
    text.strip_prefix(prefix).is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    })
}

fn instance_id(text: &str) -> Result<(), &'static str> {
    let rule = "it must be `i-` followed by lower-case letters, digits or hyphens";
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let is_id = text.strip_prefix("i-").is_some_and(|id| !id.is_empty() && id.chars().all(inner));
    if is_id { Ok(()) } else { Err(rule) }
}

fn ledger_id(text: &str) -> Result<(), &'static str> {
    let rule = "it must be 1 to 8 lower-case letters or digits";
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if (1..=8).contains(&text.len()) && text.chars().all(inner) { Ok(()) } else { Err(rule) }
}

fn subnet_id(text: &str) -> Result<(), &'static str> {
    let rule = "it must be `subnet-` followed by lower-case letters or digits";
    if prefixed(text, "subnet-") { Ok(()) } else { Err(rule) }
}

fn security_group_id(text: &str) -> Result<(), &'static str> {
    let rule = "it must be `sg-` followed by lower-case letters or digits";
    if prefixed(text, "sg-") { Ok(()) } else { Err(rule) }
}

fn image_id(text: &str) -> Result<(), &'static str> {
    let rule = "it must be `ami-` followed by lower-case letters or digits";
    if prefixed(text, "ami-") { Ok(()) } else { Err(rule) }
}

fn instance_type_name(text: &str) -> Result<(), &'static str> {
    let rule = "it must be a family and a size joined by `.`, such as `m7g.large`";
    match text.split_once('.') {
        Some((family, size)) if !family.is_empty() && !size.is_empty() => Ok(()),
        _ => Err(rule),
    }
}
