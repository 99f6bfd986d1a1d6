//! What else a cluster has: claims, volumes, namespaces, budgets, overlays, buffers.

use model::{
    CapacityType, ClaimPhase, buffer::BufferTarget, eviction::CountOrPercent, overlay::PriceChange,
};

use super::*;
use api::objects::{EventSubject, Referable, VolumeManifest};

/// The only object of a text without a problem.
#[track_caller]
fn one(text: &str) -> Object {
    let mut manifest = read(text, "x.yaml");
    assert_eq!(manifest.problems, []);
    assert_eq!(manifest.objects.len(), 1, "{manifest:?}");
    manifest.objects.remove(0)
}

const CLAIM: &str = "\
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: general-x1
  uid: u
  creationTimestamp: '2026-08-01T11:00:00Z'
  labels: {karpenter.sh/nodepool: general, node.kubernetes.io/instance-type: m7i.large, topology.kubernetes.io/zone: us-west-2a, karpenter.sh/capacity-type: spot}
  somethingNew: {a: b}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large, m7i.xlarge], minValues: 2}
  - {key: karpenter.sh/nodepool, operator: In, values: [general]}
  resources: {requests: {cpu: '1', pods: '2'}}
  startupTaints: [{key: starting, effect: NoSchedule}]
  expireAfter: Never
  terminationGracePeriod: 5m
status:
  providerID: aws:///us-west-2a/i-0123456789abcdef0
  nodeName: n1
  imageID: ami-1
  lastPodEventTime: '2026-08-01T11:40:00Z'
  capacity: {cpu: '2'}
  allocatable: {cpu: 1930m}
  conditions:
  - {type: Launched, status: 'True', lastTransitionTime: '2026-08-01T11:01:00Z'}
  - {type: Registered, status: 'True', lastTransitionTime: '2026-08-01T11:02:00Z'}
  - {type: Initialized, status: Unknown, reason: NodeNotReady, lastTransitionTime: '2026-08-01T11:03:00Z'}
  - {type: Drifted, status: 'True', reason: NodePoolDrifted, lastTransitionTime: '2026-08-01T11:30:00Z'}
";

fn claim(text: &str) -> model::NodeClaim {
    match one(text) {
        Object::NodeClaim(claim) => *claim,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_claim_is_as_far_as_its_conditions_say() {
    let read = claim(CLAIM);
    assert_eq!(read.phase, ClaimPhase::Registered);
    assert_eq!(read.phase_since.to_string(), "2026-08-01T11:02:00Z");
    assert_eq!(read.instance_types.len(), 2);
    assert_eq!((read.expire_after, read.node.is_some()), (None, true));
    assert_eq!(read.conditions.drifted.as_deref(), Some("NodePoolDrifted"));
    assert_eq!(
        (read.conditions.is_consolidatable, read.conditions.initialized_at),
        (Some(false), None)
    );
    let instance = read.instance.unwrap();
    assert_eq!(
        (instance.capacity_type, instance.zone.as_str()),
        (CapacityType::Spot, "us-west-2a")
    );
    let ready =
        claim(&CLAIM.replace("Initialized, status: Unknown", "Initialized, status: 'True'"));
    assert_eq!(ready.phase, ClaimPhase::Initialized);
    assert!(ready.conditions.initialized_at.is_some());
}

#[test]
fn a_claim_without_an_instance_is_created_and_one_that_goes_is_deleting() {
    let waiting =
        claim(&CLAIM.replace("  providerID: aws:///us-west-2a/i-0123456789abcdef0\n", ""));
    assert_eq!((waiting.phase, waiting.instance), (ClaimPhase::Created, None));
    let leaving = CLAIM.replace("  uid: u\n", "  uid: u\n  deletionTimestamp: '2026-08-01T11:50:00Z'\n  annotations: {karpenter.sh/nodeclaim-termination-timestamp: '2026-08-01T11:55:00Z'}\n");
    let leaving = claim(&leaving);
    assert_eq!(leaving.phase, ClaimPhase::Deleting);
    assert!(leaving.deletion.is_some_and(|deletion| deletion.deadline.is_some()));
}

#[test]
fn a_claim_without_a_label_is_known_by_what_else_says_it() {
    let bare = CLAIM
        .replace("topology.kubernetes.io/zone: us-west-2a, ", "")
        .replace("node.kubernetes.io/instance-type: m7i.large, ", "")
        .replace(", karpenter.sh/capacity-type: spot", "");
    let instance = claim(&bare).instance.unwrap();
    assert_eq!(
        (instance.zone.as_str(), instance.instance_type.as_str()),
        ("us-west-2a", "m7i.large")
    );
    assert_eq!(instance.capacity_type, CapacityType::OnDemand);
    let standalone = one(&CLAIM.replace("karpenter.sh/nodepool: general, ", ""));
    assert!(matches!(standalone, Object::StandaloneClaim(_)), "{standalone:?}");
}

#[test]
fn readiness_is_what_conditions_say_and_nothing_said_is_ready() {
    let pool = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {template: \
                {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}, \
                requirements: []}}}\n";
    let place = |status: &str| read(&format!("{pool}{status}"), "x.yaml").places.remove(0);
    assert_eq!(place("").not_ready, None);
    let ready = "status: {conditions: [{type: ValidationSucceeded, status: 'True'}, {type: Ready, status: 'True'}]}";
    assert_eq!(place(ready).not_ready, None);
    let not_ready = "status: {conditions: [{type: NodeClassReady, status: 'False', reason: SubnetsNotFound}, {type: Ready, status: 'False', reason: UnhealthyDependents}]}";
    let reason = place(not_ready).not_ready.unwrap();
    assert_eq!(reason.in_detail(), "condition NodeClassReady is not true: SubnetsNotFound");
    assert!(
        place("status: {conditions: [{type: ValidationSucceeded, status: 'True'}]}")
            .not_ready
            .is_some()
    );
}

#[test]
fn volumes_say_where_they_are_and_who_attaches_them() {
    let volume = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv}\nspec: {capacity: {storage: 1Gi}, \
        csi: {driver: ebs.csi.aws.com, volumeHandle: v}, nodeAffinity: {required: {nodeSelectorTerms: \
        [{matchExpressions: [{key: topology.ebs.csi.aws.com/zone, operator: In, values: [us-west-2a]}]}]}}}\n";
    let Object::Volume(VolumeManifest { name, volume: read, .. }) = one(volume) else {
        panic!("a volume")
    };
    assert_eq!(
        (name.as_str(), read.driver.as_deref(), read.is_local),
        ("pv", Some("ebs.csi.aws.com"), false)
    );
    assert_eq!(read.terms[0][0].to_string(), "topology.kubernetes.io/zone In [us-west-2a]");
    let in_tree = volume.replace(
        "csi: {driver: ebs.csi.aws.com, volumeHandle: v}",
        "awsElasticBlockStore: {volumeID: v}",
    );
    let Object::Volume(VolumeManifest { volume: read, .. }) = one(&in_tree) else {
        panic!("a volume")
    };
    assert_eq!(read.driver.as_deref(), Some("ebs.csi.aws.com"));
    // Kube-scheduler compares the labels of a volume as well.
    let labeled = "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: pv, labels: \
        {failure-domain.beta.kubernetes.io/zone: us-west-2a__us-west-2b}}\nspec: {storageClassName: slow, \
        claimRef: {namespace: x, name: data}, awsElasticBlockStore: {volumeID: v}}\n";
    let Object::Volume(read) = one(labeled) else { panic!("a volume") };
    assert_eq!(
        read.volume.terms[0][0].to_string(),
        "topology.kubernetes.io/zone In [us-west-2a us-west-2b]"
    );
    assert_eq!(read.claim.map(|claim| claim.name.to_string()).as_deref(), Some("data"));
    assert_eq!(read.storage_class, "slow");
    let local =
        volume.replace("csi: {driver: ebs.csi.aws.com, volumeHandle: v}", "local: {path: /d}");
    assert!(
        matches!(one(&local), Object::Volume(read) if read.volume.is_local && read.volume.driver.is_none())
    );
}

#[test]
fn claims_of_volumes_say_what_became_of_them() {
    let text = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data, namespace: x, \
        annotations: {pv.kubernetes.io/bind-completed: 'yes'}}\nspec: {storageClassName: '', \
        volumeName: pv, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}\nstatus: {phase: Lost}\n";
    let Object::VolumeClaim(key, claim) = one(text) else { panic!("a claim") };
    assert_eq!((key.namespace.as_str(), key.name.as_str()), ("x", "data"));
    assert!(claim.is_bind_completed && claim.is_lost && !claim.is_deleting);
    assert_eq!((claim.volume.as_deref(), claim.storage_class.as_deref()), (Some("pv"), Some("")));
}

#[test]
fn classes_say_when_they_bind_and_where() {
    let text = "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast, annotations: \
        {storageclass.kubernetes.io/is-default-class: 'true'}}\nprovisioner: ebs.csi.aws.com\n\
        volumeBindingMode: WaitForFirstConsumer\nallowedTopologies: [{matchLabelExpressions: [{key: \
        topology.kubernetes.io/zone, values: [us-west-2a, us-west-2b]}]}]\n";
    let Object::StorageClass(read) = one(text) else { panic!("a class") };
    assert!(read.is_default && read.class.waits_for_first_consumer);
    assert_eq!(
        read.class.allowed_topologies[0][0].to_string(),
        "topology.kubernetes.io/zone In [us-west-2a us-west-2b]"
    );
    let immediate = text.replace("volumeBindingMode: WaitForFirstConsumer\n", "");
    assert!(
        matches!(one(&immediate), Object::StorageClass(read) if !read.class.waits_for_first_consumer)
    );
    let node = "apiVersion: storage.k8s.io/v1\nkind: CSINode\nmetadata: {name: n1}\nspec: {drivers: [{name: \
        ebs.csi.aws.com, nodeID: i, topologyKeys: [], allocatable: {count: 25}}, {name: other, nodeID: i}]}\n";
    let Object::CsiNode(_, limits) = one(node) else { panic!("a CSINode") };
    assert_eq!(limits, [("ebs.csi.aws.com".to_owned(), 25)].into());
}

#[test]
fn events_say_when_what_happened_to_whom() {
    let event = "apiVersion: v1\nkind: Event\nmetadata: {name: e, namespace: shop}\ninvolvedObject: {apiVersion: \
        apps/v1, kind: Deployment, namespace: shop, name: web}\nreason: ScalingReplicaSet\nmessage: m\n\
        firstTimestamp: null\neventTime: 2026-08-01T12:00:00.5Z\nsource: {component: c}\nunheard: {}\n";
    let read = |text: &str| match one(text) {
        Object::Event(event) => (event.about, event.reason, event.at.to_string()),
        other => panic!("{other:?}"),
    };
    let (about, reason, at) = read(event);
    let shown = |about: EventSubject| format!("{about:?}");
    assert!(matches!(&about, EventSubject::Deployment(key) if key.to_string() == "shop/web"));
    assert_eq!((&*reason, &*at), ("ScalingReplicaSet", "2026-08-01T12:00:00.5Z"));
    let first = event.replace("firstTimestamp: null", "firstTimestamp: 2026-08-01T11:00:00Z");
    assert_eq!(read(&first).2, "2026-08-01T11:00:00Z");
    for (kind, subject) in [("Node", "Node("), ("NodeClaim", "NodeClaim("), ("Pod", "Other")] {
        let about = read(&event.replace("kind: Deployment", &format!("kind: {kind}"))).0;
        assert!(shown(about).starts_with(subject), "{kind}");
    }
    // What no time is known of decides nothing.
    assert!(matches!(one(&event.replace("eventTime", "other")), Object::Other { .. }));
    assert_eq!(problems(event), "");
}

#[test]
fn budgets_priorities_and_namespaces_are_read() {
    let budget = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: web}\nspec: \
        {maxUnavailable: 10%, selector: {matchLabels: {app: web}}, unhealthyPodEvictionPolicy: AlwaysAllow}\n\
        status: {disruptionsAllowed: 2}\n";
    let Object::DisruptionBudget(read, true) = one(budget) else { panic!("a budget") };
    assert_eq!(
        (read.max_unavailable, read.min_available),
        (Some(CountOrPercent::Percent(10)), None)
    );
    assert!(read.always_allows_unhealthy && read.disruptions_allowed == 2);
    assert!(
        problems(&budget.replace("10%", "ten"))
            .contains("spec.maxUnavailable: `ten` is not a count")
    );
    let class = "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: high}\nvalue: 1000\n";
    assert!(matches!(one(class), Object::PriorityClass(class) if class.value == 1_000));
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {tier: a}}\n";
    let Object::Namespace(_, labels) = one(namespace) else { panic!("a namespace") };
    assert_eq!(labels.get("kubernetes.io/metadata.name").map(String::as_str), Some("shop"));
}

/// What an overlay with these lines in its `spec` does to prices.
#[track_caller]
fn price(lines: &str, expected: Option<PriceChange>) {
    let text = format!(
        "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {{name: o}}\nspec: {{requirements: [], {lines}}}\n"
    );
    let Object::NodeOverlay(overlay) = one(&text) else { panic!("an overlay") };
    assert_eq!(overlay.price, expected, "{lines}");
}

#[test]
fn overlays_change_prices_by_amounts_and_shares() {
    price("price: '0.5'", Some(PriceChange::Absolute(model::HourlyPrice::from_nanos(500_000_000))));
    price("priceAdjustment: '+1.5'", Some(PriceChange::Added(1_500_000_000)));
    price("priceAdjustment: '-2'", Some(PriceChange::Added(-2_000_000_000)));
    price("priceAdjustment: '+10%'", Some(PriceChange::Scaled(100_000_000)));
    price("priceAdjustment: '-12.5%'", Some(PriceChange::Scaled(-125_000_000)));
    price("priceAdjustment: '-100%'", Some(PriceChange::Scaled(-1_000_000_000)));
    price("capacity: {example.com/gpu: 2}", None);
    let refused = |lines: &str| {
        problems(&format!(
            "apiVersion: karpenter.sh/v1alpha1\nkind: NodeOverlay\nmetadata: {{name: o}}\nspec: {{requirements: [], {lines}}}\n"
        ))
    };
    for (lines, rule) in [
        ("priceAdjustment: '10%'", "is not a change of a price"),
        ("priceAdjustment: '-101%'", "no less than `-100%`"),
        ("price: '1', priceAdjustment: '+1'", "together with `price`"),
        ("capacity: {cpu: 1}", "`cpu` cannot be changed by an overlay"),
        ("weight: 0", "spec.weight"),
    ] {
        assert!(refused(lines).contains(rule), "`{rule}` is missing in {}", refused(lines));
    }
}

#[test]
fn a_buffer_stands_for_the_pods_that_it_refers_to() {
    let text = "apiVersion: autoscaling.x-k8s.io/v1beta1\nkind: CapacityBuffer\nmetadata: {name: spare, uid: u}\n\
        spec: {podTemplateRef: {name: small}, replicas: 3, limits: {cpu: '2'}}\n";
    let Object::CapacityBuffer(buffer) = one(text) else { panic!("a buffer") };
    let missing = Referable::default().resolved(buffer.clone());
    assert!(
        matches!(missing.target, BufferTarget::Missing(why) if why.contains("PodTemplate `small`"))
    );
    let template = "apiVersion: v1\nkind: PodTemplate\nmetadata: {name: small}\ntemplate: {spec: {containers: \
        [{name: m, resources: {requests: {cpu: 500m}}}]}}\n";
    let Object::PodTemplate(key, spec) = one(template) else { panic!("a template") };
    let referable = Referable { templates: [(key, spec)].into(), ..Referable::default() };
    let capacity_buffer = referable.resolved(buffer);
    assert_eq!((capacity_buffer.replicas, capacity_buffer.limits.len()), (Some(3), 1));
    assert!(
        matches!(capacity_buffer.target, BufferTarget::Template(spec) if spec.requests.cpu.0 == 500)
    );
    let both = text.replace("replicas: 3", "scalableRef: {kind: Deployment, name: a}");
    assert!(problems(&both).contains("not both"));
    assert!(
        problems(&text.replace(", replicas: 3, limits: {cpu: '2'}", ""))
            .contains("needs `replicas` or `limits`")
    );
}
