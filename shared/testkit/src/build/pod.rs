//! Pods and DaemonSets, from words.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::Ipv4Addr,
    sync::Arc,
};

use model::{
    Pod, PodKey, PodSpec, Toleration,
    facts::DaemonSet,
    labels,
    pod::{HostPort, Owner, PodPhase},
    selector::LabelSelector,
    storage::PodVolume,
    topology::{
        NodeInclusionPolicy, PodAffinity, PodAffinityTerm, SpreadConstraint, Weighted,
        WhenUnsatisfiable,
    },
};

use super::{
    text::{
        ago, at, read_requirement, read_requirements, tolerates_everything, tolerates_key, valid,
    },
    words::{
        Plain, Read, each_statement, each_word, first, long, owned_pair, pair, parsed, plain,
        set_amount,
    },
};

/// Namespace `default` and `name`; or `namespace/name`.
///
/// # Panics
///
/// When `name` is none.
#[track_caller]
pub fn pod_key(name: &str) -> PodKey {
    valid(key_of(name))
}

fn key_of(name: &str) -> Read<PodKey> {
    let (namespace, name) = name.split_once('/').unwrap_or(("default", name));
    Ok(PodKey { namespace: parsed(namespace)?, name: parsed(name)? })
}

/// A pod such as `web cpu=500m app=web`, of a ReplicaSet, that kube-scheduler could not place a minute
/// ago and that asks for nothing but its place where no word says otherwise.
///
/// # Panics
///
/// When a word is wrong.
#[must_use]
#[track_caller]
pub fn pod(words: &str) -> Pod {
    let (name, rest) = first(words);
    valid(waiting(name).and_then(|pod| read_more(pod, rest)))
}

/// The pods of statements such as `web x2 cpu=1; db cpu=2`. Those of one statement share their spec.
///
/// # Panics
///
/// When a word is wrong.
#[must_use]
#[track_caller]
pub fn pods(text: &str) -> Vec<Pod> {
    valid(each_statement(text, read_pods)).concat()
}

/// What a pod asks for: the words of [`pod`] without a name.
///
/// # Panics
///
/// When a word is wrong.
#[must_use]
#[track_caller]
pub fn spec(words: &str) -> PodSpec {
    PodSpec::clone(&pod(&format!("any {words}")).spec)
}

/// The same pod with more words.
///
/// # Panics
///
/// When a word is wrong.
#[must_use]
#[track_caller]
pub fn with(pod: Pod, words: &str) -> Pod {
    valid(read_more(pod, words))
}

/// A DaemonSet such as `kube-system/proxy cpu=100m tolerate:*`, in the words of its pods.
///
/// # Panics
///
/// When a word is wrong.
#[must_use]
#[track_caller]
pub fn daemon_set(words: &str) -> DaemonSet {
    valid(daemon_of(words))
}

pub(crate) fn daemon_of(words: &str) -> Read<DaemonSet> {
    let (name, rest) = first(words);
    let pod = read_more(waiting(name)?, rest)?;
    Ok(DaemonSet { key: pod.key, spec: pod.spec })
}

pub(crate) fn read_pods(statement: &str) -> Read<Vec<Pod>> {
    let (name, rest) = first(statement);
    let (second, words) = first(rest);
    let Some(count) = second.strip_prefix('x').and_then(|count| count.parse().ok()) else {
        return Ok(vec![read_more(waiting(name)?, rest)?]);
    };
    let alike = read_more(waiting(name)?, words)?;
    let member = |index: usize| {
        let Pod { key, uid, .. } = waiting(&format!("{name}-{index}"))?;
        Ok(Pod { key, uid, ..alike.clone() })
    };
    (0..count).map(member).collect()
}

fn waiting(name: &str) -> Read<Pod> {
    Ok(Pod {
        key: key_of(name)?,
        uid: parsed(&format!("uid-{name}"))?,
        created_at: at("2026-08-01T11:58:00Z"),
        deleted_at: None,
        phase: PodPhase::Pending,
        started_at: None,
        unschedulable_at: Some(at("2026-08-01T11:59:00Z")),
        node: None,
        nominated_node: None,
        is_ready: false,
        volumes: Vec::new(),
        made_claims: BTreeMap::new(),
        owner: owner("ReplicaSet"),
        spec: Arc::new(PodSpec {
            requests: model::Resources { pods: 1, ..model::Resources::default() },
            termination_grace_seconds: 30,
            ..PodSpec::default()
        }),
    })
}

/// `DaemonSet` of `apps/v1`, `v1/Node`, or none.
pub fn owner(text: &str) -> Option<Arc<Owner>> {
    let (api_version, kind) = text.rsplit_once('/').unwrap_or(("apps/v1", text));
    let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
    (!kind.is_empty()).then(|| Arc::new(Owner { api_version, kind, name: "owner".to_owned() }))
}

fn read_more(mut pod: Pod, words: &str) -> Read<Pod> {
    let mut spec = Arc::unwrap_or_clone(std::mem::take(&mut pod.spec));
    each_word(words, |word| match word.split_once(':') {
        Some((verb, rest)) => match verb {
            "on" => run(&mut pod, rest),
            "terminating" => {
                pod.deleted_at = Some(ago(-parsed::<i64>(rest)?));
                Ok(())
            }
            "owner" => {
                pod.owner = owner(rest);
                Ok(())
            }
            "claim" => {
                let reference = (rest.to_owned(), Some(parsed(rest)?));
                spec.claims.references.push(reference);
                Ok(())
            }
            "made" => {
                let (name, claim) = pair(rest)?;
                let claim = Some(claim).filter(|claim| !claim.is_empty()).map(parsed);
                spec.claims.references.push((name.to_owned(), None));
                pod.made_claims.insert(name.to_owned(), claim.transpose()?);
                Ok(())
            }
            "volume" => {
                pod.volumes.push(PodVolume::Claim(parsed(rest)?));
                Ok(())
            }
            _ => asks(&mut spec, verb, rest),
        },
        None => is(&mut pod, &mut spec, word),
    })?;
    Ok(Pod { spec: Arc::new(spec), ..pod })
}

fn run(pod: &mut Pod, node: &str) -> Read<()> {
    pod.node = Some(parsed(node)?);
    pod.phase = PodPhase::Running;
    pod.started_at = Some(at("2026-08-01T11:59:30Z"));
    pod.unschedulable_at = None;
    Ok(())
}

fn is(pod: &mut Pod, spec: &mut PodSpec, word: &str) -> Read<()> {
    match word {
        "ready" => pod.is_ready = true,
        "succeeded" => pod.phase = PodPhase::Succeeded,
        "failed" => pod.phase = PodPhase::Failed,
        "do-not-disrupt" => {
            spec.annotations.insert(labels::DO_NOT_DISRUPT.to_owned(), "true".to_owned());
        }
        _ => match plain(word)? {
            Plain::Amount(amount) => set_amount(&mut spec.requests, amount)?,
            Plain::Label(key, value) => {
                spec.labels.insert(key.to_owned(), value.to_owned());
            }
        },
    }
    Ok(())
}

fn asks(spec: &mut PodSpec, verb: &str, rest: &str) -> Read<()> {
    match verb {
        "label" => spec.labels.extend([owned_pair(rest)?]),
        "annotation" => spec.annotations.extend([owned_pair(rest)?]),
        "select" => spec.node_selector.add_all(&read_requirements(rest)?),
        "require" => {
            let term = rest.split('&').map(read_requirement);
            spec.required_terms.push(term.collect::<Read<_>>()?);
        }
        "prefer" => {
            let (term, weight) = weighted(rest)?;
            let term = term.split('&').map(read_requirement).collect::<Read<_>>()?;
            spec.preferred_terms.push(Weighted { weight: weight.unwrap_or(1), term });
        }
        "tolerate" => spec.tolerations.push(toleration(rest)),
        "near" => add_term(&mut spec.pod_affinity, rest)?,
        "away" => add_term(&mut spec.pod_anti_affinity, rest)?,
        "spread" => spec.spread.push(read_spread(rest)?),
        "port" => {
            let (ip, protocol) = (Ipv4Addr::UNSPECIFIED.into(), "TCP".to_owned());
            spec.host_ports.push(HostPort { ip, port: parsed(rest)?, protocol });
        }
        "unsupported" => spec.problems.push(model::Problem::unsupported("spec", rest)),
        _ => return Err("a pod has no such word".to_owned()),
    }
    Ok(())
}

fn toleration(key: &str) -> Toleration {
    if key == "*" { tolerates_everything() } else { tolerates_key(key) }
}

/// A text, and the weight behind it.
fn weighted(text: &str) -> Read<(&str, Option<u32>)> {
    let Some((text, weight)) = text.rsplit_once(":weight=") else { return Ok((text, None)) };
    Ok((text, Some(parsed(weight)?)))
}

fn add_term(affinity: &mut PodAffinity, text: &str) -> Read<()> {
    let (text, weight) = weighted(text)?;
    let term = read_term(text)?;
    match weight {
        Some(weight) => affinity.preferred.push(Weighted { weight, term }),
        None => affinity.required.push(term),
    }
    Ok(())
}

/// The pods with a label such as `app=web`; none of them when `text` is empty.
fn selector(text: &str) -> Read<Option<LabelSelector>> {
    (!text.is_empty()).then(|| pair(text).map(|pair| LabelSelector::of_labels([pair]))).transpose()
}

pub(crate) fn read_term(text: &str) -> Read<PodAffinityTerm> {
    let (key, pods) = text.split_once(':').unwrap_or((text, ""));
    Ok(PodAffinityTerm {
        topology_key: parsed(long(key))?,
        selector: selector(pods)?,
        namespaces: BTreeSet::new(),
        namespace_selector: None,
    })
}

pub(crate) fn read_spread(text: &str) -> Read<SpreadConstraint> {
    let mut parts = text.split(':');
    let mut spread = SpreadConstraint {
        topology_key: parsed(long(parts.next().unwrap_or_default()))?,
        max_skew: 1,
        min_domains: None,
        when_unsatisfiable: WhenUnsatisfiable::DoNotSchedule,
        selector: None,
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    };
    for part in parts {
        match (part, part.split_once('=')) {
            ("soft", _) => spread.when_unsatisfiable = WhenUnsatisfiable::ScheduleAnyway,
            ("honors-taints", _) => spread.node_taints_policy = NodeInclusionPolicy::Honor,
            ("ignores-affinity", _) => spread.node_affinity_policy = NodeInclusionPolicy::Ignore,
            (_, Some(("skew", number))) => spread.max_skew = parsed(number)?,
            (_, Some(("domains", number))) => spread.min_domains = Some(parsed(number)?),
            (pods, _) => spread.selector = selector(pods)?,
        }
    }
    Ok(spread)
}
