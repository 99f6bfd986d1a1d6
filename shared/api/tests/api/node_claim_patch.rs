//! Claims over their objects, from creation to the end.

use expect_test::expect_file;
use jiff::{SignedDuration, Timestamp};
use model::{
    ClaimPhase, DeletionReason, NodeClaim,
    claim::{ClaimMessage, VolumeState, VolumesDetached},
    disruption::DisruptionReason,
    labels,
};
use serde_json::json;

use api::{
    files,
    karpenter::{
        kind::CustomObject,
        node_claim::NodeClaimSpec,
        node_claim_patch::{Changes, StoredNodeClaim, changes, created, released},
    },
    objects::Object,
};
use serde_json::Value;

/// A claim as it is stored once its instance was launched.
const LAUNCHED: &str = r#"{"v":1,"name":"general-7-0","version":3,"node_pool":"general",
    "node_class":"default","batch":"demo-7-0","batch_index":0,"batch_size":1,
    "created_at":"2026-08-01T12:00:00Z",
    "labels":{"karpenter.sh/nodepool":"general","team":"blue","kubernetes.io/arch":"arm64"},
    "annotations":{"karpenter.sh/nodepool-hash":"17","karpenter.sh/nodepool-hash-version":"v3"},
    "requirements":[
        {"key":"node.kubernetes.io/instance-type","values":["m7g.large","m7g.xlarge"],"min_values":2},
        {"key":"karpenter.k8s.aws/instance-generation","not":true,"at_least":6},
        {"key":"karpenter.sh/capacity-type","values":["on-demand","spot"]}],
    "instance_types":["m7g.large","m7g.xlarge"],
    "requests":{"cpu":1150,"memory":1610612736,"pods":5},
    "taints":[{"key":"team","value":"blue","effect":"NoSchedule"}],
    "startup_taints":[{"key":"starting","value":"","effect":"NoExecute"}],
    "expire_after":"720h0m0s","termination_grace_period":"30m0s",
    "phase":"launched","phase_since":"2026-08-01T12:00:10.4Z",
    "capacity":{"cpu":2000,"memory":8589934592,"pods":29},
    "allocatable":{"cpu":1930,"memory":7516192768,"pods":29},
    "instance":{"id":"i-0123456789abcdef0","instance_type":"m7g.large","zone":"us-west-2a",
        "capacity_type":"spot","price":81600000,"image":"ami-1",
        "launched_at":"2026-08-01T12:00:10.4Z"}}"#;

fn launched() -> NodeClaim {
    wire::record::decode_claim(LAUNCHED).unwrap()
}

fn new_claim() -> NodeClaim {
    let phase = ClaimPhase::Created;
    let version = 1;
    let phase_since = launched().created_at;
    NodeClaim { instance: None, phase, version, phase_since, ..launched() }
}

fn time(seconds: &str) -> Timestamp {
    format!("2026-08-01T12:{seconds}Z").parse().unwrap()
}

fn registered() -> NodeClaim {
    let node = Some("ip-10-0-0-1.ec2.internal".parse().unwrap());
    NodeClaim { node, ..launched().moved_to(ClaimPhase::Registered, time("00:40")) }
}

fn initialized() -> NodeClaim {
    registered().moved_to(ClaimPhase::Initialized, time("00:55"))
}

/// What the API server keeps of a document that is applied, as far as these tests need it.
fn merge(stored: &mut Value, applied: &Value) {
    let (Value::Object(stored), Value::Object(applied)) = (&mut *stored, applied) else {
        stored.clone_from(applied);
        return;
    };
    for (key, value) in applied {
        merge(stored.entry(key.clone()).or_insert(Value::Null), value);
    }
}

fn read(object: &Value) -> StoredNodeClaim {
    StoredNodeClaim::read(object.to_string().as_bytes()).unwrap()
}

/// `object` after it was made to show `claim`; made if there is none.
fn shown(object: Option<Value>, claim: &NodeClaim) -> Value {
    let mut object = object.unwrap_or_else(|| {
        let mut object = created(claim, Some("uid-of-pool"));
        merge(&mut object, &json!({ "metadata": { "uid": "u1", "generation": 1 } }));
        object
    });
    let changes = changes(&read(&object), claim);
    for document in [changes.status, changes.object].into_iter().flatten() {
        merge(&mut object, &document);
    }
    object
}

/// `object` after a user deleted it.
fn deleted(mut object: Value) -> Value {
    let metadata = json!({ "deletionTimestamp": "2026-08-01T12:09:00Z", "generation": 2 });
    merge(&mut object, &json!({ "metadata": metadata }));
    object
}

/// `Type=Status Reason minutes:seconds`, one each.
fn conditions(object: &Value) -> Vec<String> {
    let word = |value: &Value, key: &str| value[key].as_str().unwrap().to_owned();
    let conditions = object["status"]["conditions"].as_array().unwrap();
    conditions
        .iter()
        .map(|value| {
            let (kind, status, reason) =
                (word(value, "type"), word(value, "status"), word(value, "reason"));
            let since = word(value, "lastTransitionTime");
            assert_eq!(value["observedGeneration"], object["metadata"]["generation"], "{kind}");
            let since = since.trim_start_matches("2026-08-01T12:").trim_end_matches('Z');
            format!("{kind}={status} {reason} {since}")
        })
        .collect()
}

#[test]
fn an_initialized_claim_as_kubectl_prints_it() {
    let object = shown(None, &initialized());
    let text = format!("{}\n", serde_json::to_string_pretty(&object).unwrap());
    expect_file!["initialized.json"].assert_eq(&text);
}

#[test]
fn a_claim_of_several_nodes_is_not_registered() {
    let several = NodeClaim {
        message: Some(ClaimMessage::parse("MultipleNodesFound: node-1, node-2")),
        ..launched()
    };
    assert!(
        conditions(&shown(None, &several))
            .contains(&"Registered=False MultipleNodesFound 00:10".to_owned())
    );
}

#[test]
fn a_claim_that_waits_for_its_launch_says_why_in_karpenters_words() {
    for (message, reason, text) in [
        ("NodeClassNotReady: not looked at yet", "NodeClassNotReady", "not looked at yet"),
        ("NodeClassReadinessUnknown: unknown", "NodeClassReadinessUnknown", "unknown"),
        ("Unauthorized: UnauthorizedOperation: no", "Unauthorized", "UnauthorizedOperation: no"),
        ("Timeout: slow", "LaunchFailed", "Timeout: slow"),
    ] {
        let message = Some(ClaimMessage::parse(message));
        let object = shown(None, &NodeClaim { message, version: 2, ..new_claim() });
        let expected = format!("Launched=Unknown {reason} 00:00");
        assert!(conditions(&object).contains(&expected), "{expected}");
        let conditions = object["status"]["conditions"].as_array().unwrap();
        assert!(conditions.iter().any(|condition| condition["message"] == text), "{text}");
    }
}

#[test]
fn conditions_move_only_with_their_status() {
    let mut object = shown(None, &new_claim());
    assert_eq!(
        conditions(&object),
        [
            "Launched=Unknown AwaitingReconciliation 00:00",
            "Registered=Unknown AwaitingReconciliation 00:00",
            "Initialized=Unknown AwaitingReconciliation 00:00",
            "Ready=Unknown ReconcilingDependents 00:00",
        ]
    );
    let refused = NodeClaim { message: Some("no capacity".into()), version: 2, ..new_claim() };
    object = shown(Some(object), &refused);
    assert!(conditions(&object).contains(&"Launched=Unknown LaunchFailed 00:00".to_owned()));
    object = shown(Some(object), &launched());
    assert_eq!(
        conditions(&object),
        [
            "Initialized=Unknown AwaitingReconciliation 00:00",
            "Registered=Unknown NodeNotFound 00:00",
            "Launched=True Launched 00:10",
            "Ready=Unknown ReconcilingDependents 00:00",
        ]
    );
    let why = "NoAccessEntry: role nodes has no access entry";
    let looked = NodeClaim { message: Some(ClaimMessage::parse(why)), version: 4, ..launched() };
    object = shown(Some(object), &looked);
    assert!(conditions(&object).contains(&"Registered=Unknown NoAccessEntry 00:00".to_owned()));
    let waits = |why: &str, version| NodeClaim {
        message: Some(ClaimMessage::parse(why)),
        version,
        ..registered()
    };
    object = shown(Some(object), &waits("NodeNotReady: its node is not ready", 5));
    object = shown(Some(object), &waits("StartupTaintsExist: one is still on its node", 6));
    assert_eq!(
        conditions(&object),
        [
            "Initialized=Unknown StartupTaintsExist 00:00",
            "Launched=True Launched 00:10",
            "Registered=True Registered 00:40",
            "Ready=Unknown ReconcilingDependents 00:00",
        ]
    );
    object = shown(Some(object), &NodeClaim { version: 7, ..initialized() });
    let ready = [
        "Launched=True Launched 00:10",
        "Registered=True Registered 00:40",
        "Initialized=True Initialized 00:55",
        "ConsistentStateFound=True ConsistentStateFound 00:55",
        "Ready=True Ready 00:55",
    ];
    assert_eq!(conditions(&object), ready);
    let gone = NodeClaim { version: 7, ..initialized() }
        .deleted(DeletionReason::Disrupted(DisruptionReason::Drifted), time("08:00"));
    object = shown(Some(deleted(object)), &gone);
    let (root, rest) = ready.split_last().unwrap();
    let going = ["DisruptionReason=True Drifted 08:00", "Drained=Unknown Draining 08:00", root];
    assert_eq!(conditions(&object), [rest, &going].concat());
    let mut told = gone.following();
    told.conditions.drained_since = Some(time("08:10"));
    let volumes = |state| Some(VolumesDetached { state, since: time("08:11") });
    told.conditions.instance_terminating_since = Some(time("08:11"));
    for (state, condition) in [
        (VolumeState::Awaited, "VolumesDetached=Unknown AwaitingVolumeDetachment 08:00"),
        (VolumeState::Detached, "VolumesDetached=True VolumesDetached 08:11"),
        (VolumeState::Elapsed, "VolumesDetached=False TerminationGracePeriodElapsed 08:11"),
    ] {
        told.conditions.volumes = volumes(state);
        let shown = conditions(&shown(Some(object.clone()), &told));
        for condition in [
            "Drained=True Drained 08:10",
            condition,
            "InstanceTerminating=True InstanceTerminating 08:11",
            root,
        ] {
            assert!(shown.iter().any(|text| text == condition), "{condition} in {shown:?}");
        }
    }
    let deadline = &object["metadata"]["annotations"][labels::TERMINATION_TIMESTAMP];
    assert_eq!(deadline, "2026-08-01T12:38:00Z");
}

#[test]
fn a_claim_that_goes_shows_a_deadline_only_if_it_has_one() {
    let deadline = |grace: Option<SignedDuration>| {
        let claim = NodeClaim { termination_grace_period: grace, ..initialized() };
        let gone = claim.deleted(DeletionReason::NodeClaimDeleted, time("08:00"));
        let object = shown(Some(deleted(shown(None, &claim))), &gone);
        assert!(conditions(&object).contains(&"Drained=Unknown Draining 08:00".to_owned()));
        object["metadata"]["annotations"].get(labels::TERMINATION_TIMESTAMP).cloned()
    };
    assert_eq!(deadline(None), None);
    let grace = SignedDuration::from_mins(30);
    assert_eq!(deadline(Some(grace)), Some(json!("2026-08-01T12:38:00Z")));
}

#[test]
fn what_is_synced_is_not_sent_again() {
    let drifted = |mut claim: NodeClaim| {
        claim.conditions.drifted = Some("NodePoolDrifted".to_owned());
        claim.conditions.drifted_since = Some(time("05:00"));
        claim
    };
    for claim in [new_claim(), launched(), registered(), initialized(), drifted(initialized())] {
        let object = shown(None, &claim);
        assert_eq!(changes(&read(&object), &claim), Changes::default(), "{}", claim.phase);
        // And what others add is no reason either.
        let mut object = object;
        let foreign = json!({
            "metadata": {
                "labels": { "theirs": "1" }, "annotations": { "theirs": "1" },
                "finalizers": ["theirs", labels::TERMINATION_FINALIZER],
            },
            "status": { "lastPodEventTime": "2026-08-01T12:30:00Z" },
        });
        merge(&mut object, &foreign);
        let theirs = json!({ "type": "Theirs", "status": "True",
            "lastTransitionTime": "2026-08-01T12:30:00Z" });
        object["status"]["conditions"].as_array_mut().unwrap().insert(0, theirs);
        assert_eq!(changes(&read(&object), &claim), Changes::default(), "{}", claim.phase);
    }
}

#[test]
fn what_is_ours_is_put_back_and_what_is_over_is_taken_back() {
    let mut object = shown(None, &initialized());
    object["metadata"]["labels"]["team"] = "red".into();
    object["metadata"]["labels"].as_object_mut().unwrap().remove(labels::NODE_CLASS);
    object["status"]["nodeName"] = "other".into();
    let first = changes(&read(&object), &initialized());
    let labels_of = &first.object.unwrap()["metadata"]["labels"];
    assert_eq!(
        (&labels_of["team"], &labels_of[labels::NODE_CLASS]),
        (&json!("blue"), &json!("default"))
    );
    assert_eq!(first.status.unwrap()["status"]["nodeName"], "ip-10-0-0-1.ec2.internal");
    let mut claim = initialized();
    claim.conditions.drifted = Some("NodePoolDrifted".to_owned());
    let object = shown(None, &claim);
    assert!(conditions(&object).join(" ").contains("Drifted=True NodePoolDrifted"));
    let version = claim.version + 1;
    let applied = changes(&read(&object), &NodeClaim { version, ..initialized() }).status.unwrap();
    let kinds: Vec<&Value> = applied["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|value| &value["type"])
        .collect();
    assert_eq!(kinds, ["Launched", "Registered", "Initialized", "ConsistentStateFound", "Ready"]);
}

#[test]
fn a_claim_says_since_when_its_node_is_empty() {
    let claim = NodeClaim { empty_since: Some(time("05:00")), ..initialized() };
    let object = shown(None, &claim);
    let is_said =
        |object: &Value| conditions(object).contains(&"Empty=True Empty 05:00".to_owned());
    assert!(is_said(&object), "{:?}", conditions(&object));
    let used = NodeClaim { version: claim.version + 1, ..initialized() };
    assert!(!is_said(&shown(Some(object), &used)));
}

#[test]
fn a_node_that_lacks_something_makes_its_claim_inconsistent() {
    let mut claim = initialized();
    claim.conditions.inconsistent = Some("expected 4 of cpu, and the node has 2".to_owned());
    let object = shown(None, &claim);
    let words = conditions(&object);
    let expected = "ConsistentStateFound=False ConsistencyCheckFailed 00:55".to_owned();
    assert!(words.contains(&expected), "{words:?}");
    // It decides nothing: the claim is as ready as it was.
    assert!(words.contains(&"Ready=True Ready 00:55".to_owned()), "{words:?}");
}

#[test]
fn conditions_follow_a_generation_that_grows() {
    let claim = initialized();
    let mut object = shown(None, &claim);
    let before = conditions(&object);
    object["metadata"]["generation"] = 2.into();
    // Nothing else changed, and no time moves.
    object = shown(Some(object), &claim);
    assert_eq!(conditions(&object), before);
    assert_eq!(changes(&read(&object), &claim), Changes::default());
}

#[test]
fn an_older_claim_takes_nothing_back() {
    let object = shown(None, &initialized());
    assert_eq!(changes(&read(&object), &launched()), Changes::default());
}

#[test]
fn the_spec_stays_as_it_was_written() {
    let mut object = shown(None, &launched());
    object["spec"]["expireAfter"] = "30d".into();
    let changes = changes(&read(&object), &registered());
    assert_eq!(changes.object.unwrap()["spec"], object["spec"]);
}

#[test]
fn a_claim_of_another_writer_is_not_ours() {
    let ours = shown(None, &launched());
    assert!(read(&ours).is_ours());
    let mut theirs = ours;
    theirs["metadata"]["labels"].as_object_mut().unwrap().remove(labels::MANAGED_BY);
    theirs["metadata"]["managedFields"] = json!([{ "manager": "karpenter" }]);
    assert!(!read(&theirs).is_ours());
    theirs["metadata"]["managedFields"] =
        json!([{ "manager": "kubectl" }, { "manager": "journeyman" }]);
    assert!(read(&theirs).is_ours(), "who takes the label away does not make it theirs");
}

#[test]
fn a_finalizer_goes_alone_and_does_not_come_back() {
    let mut object = deleted(shown(None, &launched()));
    assert_eq!(
        released(&read(&object)).unwrap(),
        json!({ "metadata": { "uid": "u1", "resourceVersion": null, "finalizers": [] } })
    );
    object["metadata"]["finalizers"] = json!(["theirs", labels::TERMINATION_FINALIZER]);
    assert_eq!(released(&read(&object)).unwrap()["metadata"]["finalizers"], json!(["theirs"]));
    object["metadata"]["finalizers"] = json!(["theirs"]);
    assert_eq!(released(&read(&object)), None);
    let object = changes(&read(&object), &registered()).object.unwrap();
    assert_eq!(object["metadata"].get("finalizers"), None);
}

#[test]
fn what_is_shown_reads_back() {
    for claim in [new_claim(), launched(), registered(), initialized()] {
        let object = shown(None, &claim);
        let manifest = files::read(&object.to_string(), "object");
        assert_eq!(manifest.problems, []);
        let [Object::NodeClaim(read)] = manifest.objects.as_slice() else { panic!("one claim") };
        assert_eq!((read.phase, &read.node), (claim.phase, &claim.node));
        assert_eq!(read.conditions.is_consolidatable, None, "it is worked out");
        assert_eq!(read.requirements, claim.requirements);
        assert_eq!(read.requests, claim.requests);
        assert_eq!((&read.taints, &read.startup_taints), (&claim.taints, &claim.startup_taints));
        assert_eq!(
            (read.expire_after, read.termination_grace_period),
            (claim.expire_after, claim.termination_grace_period)
        );
        let offering = |claim: &NodeClaim| {
            claim.instance.as_ref().map(|launched_instance| {
                (launched_instance.id.clone(), launched_instance.offering())
            })
        };
        assert_eq!(offering(read), offering(&claim));
        let typed: CustomObject<NodeClaimSpec> = serde_json::from_value(object.clone()).unwrap();
        assert_eq!(json!(typed.spec), object["spec"]);
    }
}

#[test]
fn durations_are_in_groups() {
    for (seconds, text) in
        [(0, "0s"), (59, "59s"), (5_400, "1h30m"), (2_592_000, "720h"), (3_601, "1h1s")]
    {
        let expire_after = Some(SignedDuration::from_secs(seconds));
        let object = created(&NodeClaim { expire_after, ..launched() }, None);
        assert_eq!(object["spec"]["expireAfter"], text);
    }
}
