//! Rules of a pod, and its size.

use std::sync::Arc;

use model::{
    Pod, PodKey, PodSpec, Requirement, Resources,
    selector::LabelSelector,
    storage::PodVolume,
    topology::{PodAffinityTerm, WhenUnsatisfiable},
};

use super::words::Words;

/// Resources of which a smaller instance type has less.
const SIZES: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];

/// A rule of a pod, by its place in the pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    Selector(Requirement),
    Affinity(usize, Requirement),
    Spread(usize),
    PodAffinity(usize),
    PodAntiAffinity(usize),
    HostPort(usize),
    Volume(usize),
    /// How much it requests of this resource.
    Request(&'static str),
}

impl Rule {
    /// What keeps `pod` from some nodes, whatever its size is.
    pub(super) fn of(pod: &Pod) -> Vec<Self> {
        let spec = &pod.spec;
        let mut rules: Vec<Self> = spec.node_selector.iter().cloned().map(Self::Selector).collect();
        for (term, asked) in spec.required_terms.iter().enumerate() {
            rules.extend(asked.iter().cloned().map(|asked| Self::Affinity(term, asked)));
        }
        let spreads = spec.spread.iter().enumerate();
        let hard =
            spreads.filter(|(_, s)| s.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule);
        rules.extend(hard.map(|(place, _)| Self::Spread(place)));
        rules.extend((0..spec.pod_affinity.required.len()).map(Self::PodAffinity));
        rules.extend((0..spec.pod_anti_affinity.required.len()).map(Self::PodAntiAffinity));
        rules.extend((0..spec.host_ports.len()).map(Self::HostPort));
        rules.extend((0..pod.volumes.len()).map(Self::Volume));
        rules
    }

    /// The resources that `pod` may request too much of.
    pub(super) fn sizes(pod: &Pod) -> Vec<Self> {
        let requested = |name: &&str| pod.spec.requests.get(name) > 0;
        SIZES.into_iter().filter(requested).map(Self::Request).collect()
    }

    /// Whether it is about the label called `key`.
    pub(super) fn is_of(&self, key: &str) -> bool {
        match self {
            Self::Selector(asked) | Self::Affinity(_, asked) => asked.key().as_str() == key,
            _ => false,
        }
    }

    /// `pod`, called `key` and pending, without `dropped`.
    pub(super) fn without(pod: &Pod, key: PodKey, dropped: &[&Self]) -> Pod {
        let stays = |rule: Self| !dropped.contains(&&rule);
        let spec = &pod.spec;
        let node_selector =
            spec.node_selector.iter().filter(|r| stays(Self::Selector((*r).clone())));
        let terms = spec.required_terms.iter().enumerate().map(|(term, asked)| {
            let asked = asked.iter().filter(|r| stays(Self::Affinity(term, (*r).clone())));
            asked.cloned().collect()
        });
        let mut relaxed = PodSpec {
            node_selector: node_selector.cloned().collect(),
            required_terms: terms.collect(),
            spread: kept(&spec.spread, |place| stays(Self::Spread(place))),
            host_ports: kept(&spec.host_ports, |place| stays(Self::HostPort(place))),
            requests: smaller(&spec.requests, stays),
            ..PodSpec::clone(spec)
        };
        let (near, far) = (&mut relaxed.pod_affinity, &mut relaxed.pod_anti_affinity);
        near.required = kept(&near.required, |place| stays(Self::PodAffinity(place)));
        far.required = kept(&far.required, |place| stays(Self::PodAntiAffinity(place)));
        let volumes = kept(&pod.volumes, |place| stays(Self::Volume(place))).into_iter();
        Pod {
            volumes: volumes.map(|volume| named(&pod.key, volume)).collect(),
            owner: pod.owner.clone(),
            ..Pod::waiting(key, pod.uid.clone(), Arc::new(relaxed), pod.created_at)
        }
    }

    /// `its node selector kubernetes.io/arch In [arm64]`
    pub(super) fn in_words(&self, pod: &Pod) -> Words {
        let spec = &pod.spec;
        let of_terms = |what: &str, terms: &[PodAffinityTerm], place: usize| {
            let term = terms.get(place);
            term.map_or_else(
                || what.to_owned(),
                |term| {
                    format!(
                        "{what} to {} over {}",
                        selected(term.selector.as_ref()),
                        term.topology_key
                    )
                },
            )
        };
        Words::Without(match self {
            Self::Selector(asked) => format!("its node selector {asked}"),
            Self::Affinity(_, asked) => format!("its node affinity {asked}"),
            Self::Spread(place) => {
                let key = spec.spread.get(*place).map(|spread| &spread.topology_key);
                let others = spec.spread.iter().filter(|spread| Some(&spread.topology_key) == key);
                let among = (1 < others.count()).then(|| {
                    let spread = spec.spread.get(*place);
                    let selector = spread.and_then(|spread| spread.selector.as_ref());
                    format!(" among {}", selected(selector))
                });
                let key = key.map(ToString::to_string).unwrap_or_default();
                format!("its spread over {key}{}", among.unwrap_or_default())
            }
            Self::PodAffinity(at) => of_terms("its pod affinity", &spec.pod_affinity.required, *at),
            Self::PodAntiAffinity(at) => {
                of_terms("its pod anti-affinity", &spec.pod_anti_affinity.required, *at)
            }
            Self::HostPort(place) => {
                let port = spec.host_ports.get(*place).map(|port| port.port.to_string());
                format!("its host port {}", port.unwrap_or_default())
            }
            Self::Volume(place) => {
                let claim = match pod.volumes.get(*place).map(|v| named(&pod.key, v.clone())) {
                    Some(PodVolume::Claim(name)) => name.to_string(),
                    Some(PodVolume::Ephemeral { volume, .. }) => volume,
                    None => String::new(),
                };
                format!("its volume {claim}")
            }
            Self::Request(name) => return Words::With(format!("a smaller request of {name}")),
        })
    }
}

/// The pods that `selector` selects: `app=web`.
fn selected(selector: Option<&LabelSelector>) -> String {
    selector.map_or_else(|| "no pod".to_owned(), ToString::to_string)
}

/// `requests` without those that do not stay.
fn smaller(requests: &Resources, stays: impl Fn(Rule) -> bool) -> Resources {
    let mut smaller = requests.clone();
    for name in SIZES.into_iter().filter(|name| !stays(Rule::Request(name))) {
        match name {
            "cpu" => smaller.cpu.0 = 0,
            "memory" => smaller.memory.0 = 0,
            _ => smaller.ephemeral_storage.0 = 0,
        }
    }
    smaller
}

/// The claim of an ephemeral volume, which is called after its pod, so that a pod of another name has it.
fn named(pod: &PodKey, volume: PodVolume) -> PodVolume {
    match &volume {
        PodVolume::Ephemeral { volume: name, .. } => {
            format!("{}-{name}", pod.name).parse().map_or(volume, PodVolume::Claim)
        }
        PodVolume::Claim(_) => volume,
    }
}

/// The items whose place `stays`.
fn kept<T: Clone>(items: &[T], stays: impl Fn(usize) -> bool) -> Vec<T> {
    let kept = items.iter().enumerate().filter(|(place, _)| stays(*place));
    kept.map(|(_, item)| item.clone()).collect()
}
