//! Records read back as they were written, and bad ones are named.

mod golden;
mod rollouts;

use expect_test::expect;
use jiff::{SignedDuration, Timestamp};
use model::{
    CapacityType, ClaimPhase, ConditionReason, DeletionReason, HourlyPrice, NodePoolName, Operator,
    PodKey, Requirement, ResourceName, Resources, Taint, TaintEffect,
    claim::{
        ClaimConditions, ClaimMessage, Deletion, Disrupting, LaunchedInstance, VolumeState,
        VolumesDetached,
    },
    disruption::DisruptionReason,
    join::JoinReason,
    node_pool::{LaunchedSpec, RegistrationFailure, RegistrationOutcome},
};
use proptest::prelude::*;

use super::*;

fn smallest() -> NodeClaim {
    let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    let batch = "demo-1-0".parse().unwrap();
    let (pool, class) = ("general".parse().unwrap(), "default".parse().unwrap());
    NodeClaim {
        instance_types: ["m7g.large".parse().unwrap()].into(),
        requests: Resources { pods: 1, ..Resources::default() },
        ..NodeClaim::created("general-1-0".parse().unwrap(), pool, class, batch, now)
    }
}

#[test]
fn a_new_claim_as_it_stands_in_the_table() {
    expect![[r#"{"v":1,"name":"general-1-0","version":1,"node_pool":"general","node_class":"default","batch":"demo-1-0","batch_index":0,"batch_size":1,"created_at":"2026-11-21T12:00:00Z","requirements":[],"instance_types":["m7g.large"],"requests":{"pods":1},"phase":"promised","phase_since":"2026-11-21T12:00:00Z","capacity":{},"allocatable":{}}"#]]
    .assert_eq(&encode_claim(&smallest()));
}

#[test]
fn a_claim_that_a_user_made_has_no_node_pool() {
    let claim = NodeClaim { node_pool: NodePoolName::none(), ..smallest() };
    let text = encode_claim(&claim);
    assert!(text.contains(r#""node_pool":"","#), "{text}");
    assert_eq!(decode_claim(&text), Ok(claim));
}

#[test]
fn claims_of_a_batch_say_only_what_differs() {
    let first = NodeClaim { message: Some("x".into()), ..smallest() };
    let other = NodeClaim { name: "general-1-1".parse().unwrap(), batch_index: 1, ..smallest() };
    let text = encode_claims(&[&first, &other]);
    let (_, differences) = text.split_once("},{").unwrap();
    expect![[r#""batch_index":1,"message":null,"name":"general-1-1"}]}"#]].assert_eq(differences);
    assert_eq!(decode_claims(&text), Ok(vec![first, other]));
}

#[test]
fn what_cannot_be_read_names_the_field_and_the_rule() {
    let good = encode_claim(&smallest());
    for (from, to, problem) in [
        (r#""v":1"#, r#""v":2"#, "version 2 is not supported, only 1 is"),
        (r#""v":1,"#, "", "missing field `v` at line 1 column 366"),
        (r#""version":1"#, r#""version":-1"#, "invalid value: integer `-1`, expected u64"),
        (r#""batch":"demo-1-0""#, r#""btach":"x""#, "missing field `batch`"),
        ("promised", "proposed", "`proposed` is not a known phase"),
        ("m7g.large", "m7g", "`m7g` is not a valid instance type name"),
        ("2026-11-21T12:00:00Z", "yesterday", "failed to parse"),
    ] {
        let error = decode_claim(&good.replace(from, to)).unwrap_err().to_string();
        assert!(error.contains(problem.split(" at line").next().unwrap()), "{error}");
        assert!(error.starts_with("claim record: "), "{error}");
    }
}

/// A record of a claim as a later release could write it.
fn of_tomorrow() -> String {
    let claim = NodeClaim {
        requirements: [Requirement::new("team", Operator::In, ["red"]).unwrap()]
            .into_iter()
            .collect(),
        ..smallest().deleted(DeletionReason::Expired, "2026-11-21T12:00:00Z".parse().unwrap())
    };
    let text = encode_claim(&claim)
        .replace(r#""at":"#, r#""who":"a person","at":"#)
        .replace("Expired", "Rebalanced")
        .replace(r#""key":"team""#, r#""key":"team","strength":3"#);
    text.replace(r#"{"v":1"#, r#"{"v":1,"weight":{"is":[null,1]}"#)
}

#[test]
fn what_another_release_wrote_is_passed_over_and_kept() {
    let stored = of_tomorrow();
    let claim = decode_claim(&stored).unwrap();
    assert_eq!(claim.deletion.as_ref().unwrap().reason, DeletionReason::NotUnderstood);
    let as_value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    assert_eq!(as_value(&encode_claim(&claim)), as_value(&stored));
    let next = NodeClaim { message: Some("it waits".into()), ..claim.following() };
    let mut expected = as_value(&stored);
    expected["version"] = 3.into();
    expected["message"] = "it waits".into();
    assert_eq!(as_value(&encode_claim(&next)), expected);
    // And once more, with one member gone.
    let again = decode_claim(&encode_claim(&next)).unwrap();
    let last = NodeClaim { message: None, deletion: None, ..again };
    let written = as_value(&encode_claim(&last));
    assert_eq!(written.get("message"), None);
    assert_eq!(written.get("deletion"), None);
    assert_eq!(written["weight"], expected["weight"]);
    assert_eq!(written["requirements"], expected["requirements"]);
}

#[test]
fn what_another_release_wrote_is_kept_in_a_batch_too() {
    let other = NodeClaim { name: "general-1-1".parse().unwrap(), ..smallest() };
    let claims = [decode_claim(&of_tomorrow()).unwrap(), other];
    let read = decode_claims(&encode_claims(&claims.each_ref())).unwrap();
    assert_eq!(read[1], claims[1]);
    for (read, claim) in read.iter().zip(&claims) {
        assert_eq!(encode_claim(read), encode_claim(claim));
    }
}

#[test]
fn a_record_of_this_release_is_understood_whole() {
    assert_eq!(decode_claim(&encode_claim(&smallest())).unwrap().not_understood, None);
}

#[test]
fn pulses_commands_refusals_and_retries_survive() {
    use model::{
        HourlyPrice, OfferingKey, Requirements,
        disruption::{Method, Progress, Replacement},
        ledger::Counters,
        pulse::PulseNote,
    };
    let at: Timestamp = "2026-11-21T12:00:00.5Z".parse().unwrap();
    let idle = Pulse { sequence: 7, ..Pulse::default() };
    expect![[r#"{"v":1,"sequence":7,"served":{"arrivals":0,"departures":0},"failures":0}"#]]
        .assert_eq(&encode_pulse(&idle));
    let armed = Pulse {
        sequence: u64::MAX,
        due_at: Some(at),
        served: Counters { arrivals: 3, departures: 4 },
        failures: 2,
        note: Some(PulseNote { digest: u64::MAX, at, since: at }),
    };
    for pulse in [idle, armed] {
        assert_eq!(decode_pulse(&encode_pulse(&pulse)), Ok(pulse));
    }

    let replacement = Replacement {
        node_pool: "general".parse().unwrap(),
        instance_types: vec!["m7g.large".parse().unwrap()],
        requirements: Requirements::of_labels([("topology.kubernetes.io/zone", "us-west-2a")]),
        cheapest: Some((
            OfferingKey {
                capacity_type: CapacityType::Spot,
                instance_type: "m7g.large".parse().unwrap(),
                zone: "us-west-2a".parse().unwrap(),
            },
            HourlyPrice::from_nanos(33_700_000),
        )),
        pods: vec![PodKey {
            namespace: "default".parse().unwrap(),
            name: "web-0".parse().unwrap(),
        }],
        device_drivers: ["gpu.nvidia.com".to_owned()].into(),
    };
    for method in Method::ALL {
        let candidates = vec!["general-1-0".parse().unwrap(), "general-1-1".parse().unwrap()];
        let replacements = vec![replacement.clone()];
        let drain = (method == Method::Repair).then(|| SignedDuration::from_mins(10));
        let progress = Progress::Found;
        let command = Command { method, found_at: at, candidates, replacements, drain, progress };
        let text = encode_command(&command);
        assert_eq!(decode_command(&text), Ok(command.clone()));
        let claims = vec!["general-2-0".parse().unwrap()];
        let rolled_back = Progress::RolledBack { why: "general-2-0 is gone".to_owned() };
        let moved = Progress::Moved { until: at, pods: 3, workloads: [7, u64::MAX].into() };
        let rebooting = Progress::Rebooting { since: at };
        let launching = Progress::Launching { since: at, claims };
        for progress in [launching, rebooting, rolled_back, moved] {
            let command = Command { progress, ..command.clone() };
            let carried_out = encode_command(&command);
            assert!(carried_out.starts_with(r#"{"v":2,"#), "{carried_out}");
            assert_eq!(decode_command(&carried_out), Ok(command));
        }
        let unclear = decode_command(&text.replacen("\"v\":1", "\"v\":2", 1)).unwrap_err();
        assert_eq!(unclear.to_string(), "command record: it does not say how far it is");
        let odd = decode_command(&text.replace(method.as_str(), "balance")).unwrap_err();
        assert_eq!(odd.to_string(), "command record: `balance` is not a known method");
    }

    let refusals = LaunchRefusals {
        reason: "MaxSpotInstanceCountExceeded".into(),
        count: 3,
        until: at,
        ended: 0,
    };
    assert_eq!(decode_refusals(&encode_refusals(&refusals)), Ok(refusals));
    let retry = Retry { failures: 3, not_before: at };
    assert_eq!(decode_retry(&encode_retry(retry)), Ok(retry));
    assert!(decode_retry("{}").is_err());
}

#[test]
fn how_launches_ended_survives() {
    let at: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
    let failure = RegistrationFailure {
        reason: ConditionReason::Other("UnfulfillableCapacity".to_owned()),
        message: "none left".to_owned(),
    };
    let registrations = Registrations {
        version: 7,
        about: Some(LaunchedSpec { uid: "u1".into(), generation: 3, class_generation: Some(2) }),
        since: Some(at),
        outcomes: vec![
            RegistrationOutcome { claim: "general-1-0".parse().unwrap(), at, failure: None },
            RegistrationOutcome {
                claim: "general-1-1".parse().unwrap(),
                at,
                failure: Some(failure),
            },
        ],
    };
    for registrations in [Registrations::default(), registrations] {
        let text = encode_registrations(&registrations);
        assert_eq!(decode_registrations(&text), Ok(registrations));
    }
}

#[test]
fn a_decision_survives() {
    use model::ledger::{
        Bound, Counters, DecisionKind, Origin, Rejected, RejectionReason, Subject,
    };
    let pod =
        |name: &str| PodKey { namespace: "default".parse().unwrap(), name: name.parse().unwrap() };
    let subject = Subject {
        claim: Some("general-1-0".parse().unwrap()),
        node: Some("ip-10-0-0-7".parse().unwrap()),
        instance: Some("i-0a1b2c3d".parse().unwrap()),
        offering: Some(model::OfferingKey {
            capacity_type: CapacityType::Spot,
            instance_type: "m7g.large".parse().unwrap(),
            zone: "us-west-2a".parse().unwrap(),
        }),
        price: Some(HourlyPrice::from_nanos(31_000_000)),
        pods: vec![pod("web-1")],
    };
    let decision = Decision {
        kind: DecisionKind::Disruption,
        at: "2026-11-21T12:00:00Z".parse().unwrap(),
        count: 3,
        last_at: "2026-11-21T12:07:00Z".parse().unwrap(),
        function: model::Function::Provision,
        node_pool: Some("general".parse().unwrap()),
        subjects: vec![subject, Subject::default()],
        pods: vec![pod("web-2")],
        summary: "one node for three pods".into(),
        rejected: vec![Rejected {
            what: Some("node-1".to_owned()),
            reason: RejectionReason::BudgetSpent,
            why: "the disruption budgets of its NodePool are spent".to_owned(),
        }],
        price_before: None,
        price_after: Some(HourlyPrice::from_nanos(81_600_000)),
        bounds: vec![Bound {
            node_pool: "general".parse().unwrap(),
            what: "cpu".to_owned(),
            left: Some("4 of 100".to_owned()),
        }],
        origin: Some(Origin {
            facts: 0xfeed,
            counters: Counters { arrivals: 7, departures: 3 },
            delivery: "message-1".to_owned(),
            version: "0.1.0".to_owned(),
            recorded: Some(0xfee1),
        }),
    };
    assert_eq!(decode_decision(&encode_decision(&decision)), Ok(decision));
    assert!(decode_decision("{}").is_err());
}

/// Records that the release before decisions had kinds wrote, and one of a release to come.
#[test]
fn decisions_of_other_releases_are_read() {
    let text = r#"{"v":1,"at":"2026-11-21T12:00:00Z","function":"provision","node_pool":"general",
        "claims":["general-1-0"],"summary":"one node","rejected":["spot: cooling down"],
        "price_after":81600000}"#;
    let decision = decode_decision(text).unwrap();
    assert_eq!(decision.kind, model::ledger::DecisionKind::Other);
    assert_eq!(decision.claims().map(ToString::to_string).collect::<Vec<_>>(), ["general-1-0"]);
    assert_eq!(decision.rejected, ["spot: cooling down".into()]);
    assert_eq!((decision.count, decision.last_at), (1, decision.at));
    let text = r#"{"v":1,"kind":"Moved","at":"2026-11-21T12:00:00Z","function":"provision",
        "claims":[],"summary":"new","mood":"good",
        "alternatives":[{"reason":"Unheard","why":"who knows"}]}"#;
    let decision = decode_decision(text).unwrap();
    assert_eq!(decision.kind, model::ledger::DecisionKind::Other);
    assert_eq!(decision.rejected[0].reason, model::ledger::RejectionReason::Other);
}

#[test]
fn a_validation_survives() {
    use model::validation::FailedCheck;
    let due_at = "2026-11-21T12:30:00Z".parse().unwrap();
    let passed = Validation { key: "1f".to_owned(), due_at, failure: None };
    let text = encode_validation(&passed);
    expect![[r#"{"v":1,"key":"1f","due_at":"2026-11-21T12:30:00Z"}"#]].assert_eq(&text);
    assert_eq!(decode_validation(&text), Ok(passed.clone()));
    for check in FailedCheck::ALL {
        let validation = Validation { failure: Some((check, "why".to_owned())), ..passed.clone() };
        let text = encode_validation(&validation);
        assert_eq!(decode_validation(&text), Ok(validation));
        let odd = decode_validation(&text.replace(check.as_str(), "Mood")).unwrap_err().to_string();
        assert_eq!(odd, "verdict record: failure.check: `Mood` is not a check");
    }
}

fn requirement() -> impl Strategy<Value = Requirement> {
    let operator = prop::sample::select(vec![
        Operator::In,
        Operator::NotIn,
        Operator::Exists,
        Operator::DoesNotExist,
        Operator::Gt,
        Operator::Lt,
        Operator::Gte,
        Operator::Lte,
    ]);
    let values = prop::collection::btree_set("[a-c0-9]{1,2}", 0..4);
    (operator, values, 0_u32..20, prop::option::of(1_u32..50)).prop_map(
        |(operator, values, number, min_values)| {
            let number = number.to_string();
            let values: Vec<&str> = match operator {
                Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => vec![&number],
                _ => values.iter().map(String::as_str).collect(),
            };
            Requirement::new("team", operator, values).unwrap().with_min_values(min_values)
        },
    )
}

prop_compose! {
    fn resources()(cpu in any::<u32>(), memory in any::<u64>(), gpus in prop::option::of(0_u64..9)) -> Resources {
        let mut resources = Resources { pods: 1, ..Resources::default() };
        resources.cpu.0 = cpu.into();
        resources.memory.0 = memory;
        if let Some(gpus) = gpus {
            resources.set(&ResourceName::new("nvidia.com/gpu").unwrap(), gpus);
        }
        resources
    }
}

prop_compose! {
    fn instance()(
        capacity_type in prop::sample::select(CapacityType::ALL.to_vec()),
        price in any::<u64>(),
        image in prop::option::of(Just("ami-0123")),
        second in 0_i64..4_000_000_000,
    ) -> LaunchedInstance {
        LaunchedInstance {
            id: "i-0123456789abcdef0".parse().unwrap(),
            instance_type: "m7g.large".parse().unwrap(),
            zone: "us-west-2a".parse().unwrap(),
            capacity_type,
            price: HourlyPrice::from_nanos(price),
            image: image.map(|id| id.parse().unwrap()),
            launched_at: Timestamp::from_second(second).unwrap(),
        }
    }
}

prop_compose! {
    fn claim()(
        numbers in (any::<u64>(), any::<u32>(), any::<u32>()),
        // Two on one label: bounds together with exclusions come from intersections.
        requirements in prop::collection::vec(requirement(), 0..3),
        amounts in (resources(), resources(), resources()),
        texts in prop::collection::btree_map("[a-z]{1,3}", "[a-z\"\\\\ ]{0,3}", 0..3),
        times in (prop::option::of(0_i64..4_000_000_000), prop::option::of(0_i64..2_000_000_000)),
        durations in (prop::option::of(any::<i64>()), prop::option::of(0_i64..1_000_000)),
        phase in prop::sample::select(ClaimPhase::ALL.to_vec()),
        reason in prop::option::of(prop::sample::select(DeletionReason::ALL.to_vec())),
        instance in prop::option::of(instance()),
        effect in prop::sample::select(vec![TaintEffect::NoSchedule, TaintEffect::NoExecute]),
    ) -> NodeClaim {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        NodeClaim {
            version: numbers.0,
            batch_index: numbers.1,
            batch_size: numbers.2,
            labels: texts.clone(),
            annotations: texts.clone(),
            requirements: requirements.into_iter().collect(),
            requests: amounts.0,
            pods: texts
                .keys()
                .map(|name| PodKey {
                    namespace: "default".parse().unwrap(),
                    name: name.parse().unwrap(),
                })
                .collect(),
            capacity: amounts.1,
            allocatable: amounts.2,
            taints: vec![Taint { key: "a".into(), value: String::new(), effect }],
            startup_taints: vec![Taint { key: "b".into(), value: "x".into(), effect }],
            expire_after: durations.0.filter(|n| *n != i64::MIN).map(SignedDuration::from_nanos),
            termination_grace_period: durations.1.map(SignedDuration::from_secs),
            phase,
            node: instance.as_ref().map(|_| "ip-10-0-0-1".parse().unwrap()),
            instance,
            requested_at: times.1.map(at),
            empty_since: times.0.map(at),
            conditions: ClaimConditions {
                drained_since: times.0.map(at),
                instance_terminating_since: times.1.map(at),
                volumes: times.0.map(|since| VolumesDetached {
                    state: VolumeState::ALL[usize::try_from(since.unsigned_abs() % 3).unwrap()],
                    since: at(since),
                }),
                consolidatable_since: times.1.map(at),
                looked_into_at: times.0.map(at),
                inconsistent: times.0.map(|since| format!("it lacks {since}")),
                disruption: times.1.map(|since| Disrupting {
                    reason: DisruptionReason::Drifted,
                    since: at(since),
                }),
                ..ClaimConditions::default()
            },
            deletion: reason.map(|reason| Deletion { reason, at: at(7), deadline: times.1.map(at) }),
            message: texts.into_values().next().map(|text| text.as_str().into()),
            ..smallest()
        }
    }
}

#[test]
fn what_a_claim_waits_for_is_stored_as_words_and_read_as_a_reason() {
    let waits = |message: ClaimMessage| NodeClaim { message: Some(message), ..smallest() };
    let reason = Some(ConditionReason::NodeNotReady);
    let not_ready = ClaimMessage { reason, text: "its node is not ready: yet".to_owned() };
    let refused = Some(ConditionReason::NotJoined(JoinReason::NoAccessEntry));
    let not_joined = ClaimMessage { reason: refused, text: "role x".to_owned() };
    for (claim, stored) in [
        (waits(not_joined), r#""message":"NoAccessEntry: role x""#),
        (waits(not_ready), r#""message":"NodeNotReady: its node is not ready: yet""#),
        (waits("EC2: no capacity".into()), r#""message":"EC2: no capacity""#),
    ] {
        let text = encode_claim(&claim);
        assert!(text.contains(stored), "{text}");
        assert_eq!(decode_claim(&text), Ok(claim));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_claim_survives(claim in claim()) {
        let text = encode_claim(&claim);
        prop_assert_eq!(decode_claim(&text), Ok(claim));
    }

    #[test]
    fn claims_of_one_record_survive(claims in prop::collection::vec(claim(), 0..4)) {
        let whole_batch: Vec<&NodeClaim> = claims.iter().collect();
        prop_assert_eq!(decode_claims(&encode_claims(&whole_batch)), Ok(claims));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        prop_assert!(decode_claim(&text).is_err());
    }
}
