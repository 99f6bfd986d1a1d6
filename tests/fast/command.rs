//! `journeyman simulate` as its user runs it.

#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail loudly, and say what they played"
)]

use std::path::PathBuf;

use journeyman::{
    options::{MoreManifests, SetArgs},
    simulate::{SimulateArgs, SimulateExit, run},
};
use report::{error::CommandError, format::Format};
use tests::repository;

#[path = "command/cases.rs"]
mod cases;
#[path = "command/explained.rs"]
mod explained;
#[path = "command/replayed.rs"]
mod replayed;

fn arguments() -> SimulateArgs {
    SimulateArgs {
        packing: None,
        node_charge: None,
        set: SetArgs::default(),
        manifests: Vec::new(),
        more_manifests: Vec::new(),
        more: MoreManifests::default(),
        scenario: None,
        seed: 1,
        duration: None,
        ledger: None,
        record: None,
        strict: false,
        output: Format::Table,
        html: None,
        dumps: None,
        every: "5m".to_owned(),
        verbose: false,
        wake: false,
    }
}

/// Five minutes are enough for what never changes.
fn short() -> SimulateArgs {
    SimulateArgs { duration: Some("5m".to_owned()), ..arguments() }
}

fn play(arguments: &SimulateArgs) -> (String, SimulateExit) {
    let mut out = Vec::new();
    let validation = run(arguments, &mut out).unwrap_or_else(|error| panic!("{error}"));
    (String::from_utf8(out).expect("text"), validation)
}

fn example(path: &str) -> Vec<PathBuf> {
    vec![repository().join("examples").join(path)]
}

/// A folder of this test with one file of manifests.
fn manifests(name: &str, text: &str) -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    std::fs::write(folder.join("manifests.yaml"), text).expect("a file for the test");
    vec![folder]
}

#[test]
fn the_built_in_story_places_every_pod_replaces_and_removes() {
    let (text, validation) = play(&SimulateArgs { verbose: true, ..arguments() });
    assert_eq!(validation, SimulateExit::AllPlaced);
    for said in [
        "default/web wants 100 pods",
        "back in two minutes",
        "deleted: SpotInterrupted",
        "default/web wants 10 pods",
        "deleted: Empty",
        "deleted: Underutilized",
        " not disrupted (",
        "deleted: Expired",
        "pods unplaced    0",
        "Assumed of the account",
    ] {
        assert!(text.contains(said), "`{said}` is missing in\n{text}");
    }
}

#[test]
fn what_is_alike_is_one_line_unless_everything_is_asked_for() {
    let text = play(&short()).0;
    assert!(text.contains("15 instances launched (i-"), "{text}");
    assert!(text.contains(": 14 spot m7g.xlarge us-west-2c, $0."), "{text}");
    let everything = play(&SimulateArgs { verbose: true, ..short() }).0;
    assert_eq!(everything.matches(" launched: spot ").count(), 15, "{everything}");
    assert!(text.lines().count() * 10 < everything.lines().count(), "{text}");
}

#[test]
fn the_same_seed_prints_the_same_bytes_and_another_differs() {
    let first = play(&arguments()).0;
    assert!(first == play(&arguments()).0, "the same seed prints something else");
    assert!(
        first != play(&SimulateArgs { seed: 2, ..arguments() }).0,
        "another seed prints the same"
    );
}

#[test]
fn machines_get_one_json_document() {
    let (text, _) = play(&SimulateArgs { output: Format::Json, ..arguments() });
    let document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(document["summary"]["unplaced"], serde_json::json!([]));
    assert!(document["timeline"].as_array().is_some_and(|lines| lines.len() > 50));
    assert!(document["summary"]["podsPlaced"].as_u64().is_some_and(|placed| placed >= 100));
}

const CLUSTER: &str = r"
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: KarpenterNodeRole-simulated
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: simulated}}]
---
";

#[test]
fn an_impossible_pod_is_reported_with_the_reason_of_each_pool() {
    let pod = "
apiVersion: v1
kind: Pod
metadata: {name: huge}
spec:
  containers: [{name: huge, image: huge, resources: {requests: {memory: 10T}}}]
";
    // Without a limit on the category it would run: some types have 32 TiB.
    let requirement = "{key: karpenter.k8s.aws/instance-category, operator: In, values: [c, m, r]}";
    let cluster = CLUSTER.replace("requirements: []", &format!("requirements: [{requirement}]"));
    let manifests = manifests("impossible", &format!("{cluster}{pod}"));
    let (text, validation) = play(&SimulateArgs { manifests, ..short() });
    assert_eq!(validation, SimulateExit::SomeUnplaced);
    let reported = text.lines().any(|line| {
        line.contains("default/huge: general: ")
            && line.contains("memory")
            && line.contains("largest")
    });
    assert!(reported, "{text}");
}

#[test]
fn a_pod_with_claims_waits_while_claims_are_ignored() {
    let pod = "
apiVersion: v1
kind: Pod
metadata: {name: device}
spec:
  resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
  containers: [{name: device, image: device, resources: {requests: {cpu: 100m}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec:
  containers: [{name: plain, image: plain, resources: {requests: {cpu: 100m}}}]
";
    let manifests = manifests("unsupported", &format!("{CLUSTER}{pod}"));
    let (text, validation) = play(&SimulateArgs { manifests, ..short() });
    assert_eq!(validation, SimulateExit::SomeUnplaced);
    let why = "default/device: it has Dynamic Resource Allocation requirements, which are not supported while \
               IGNORE_DRA_REQUESTS is true: set IgnoreDraRequests=false";
    assert!(text.contains(why), "{text}");
    assert!(!text.contains("default/plain: "), "{text}");
}

#[test]
fn a_story_with_spreads_volumes_and_preferences_plays_to_its_end() {
    let arguments = SimulateArgs {
        manifests: example("spread"),
        scenario: Some(repository().join("examples/scenarios/spread.yaml")),
        verbose: true,
        ..arguments()
    };
    let (text, validation) = play(&arguments);
    assert_eq!(validation, SimulateExit::AllPlaced, "{text}");
    for said in
        ["default/db wants 3 pods", "back in two minutes", "deleted: Empty", "unplaced    0"]
    {
        assert!(text.contains(said), "`{said}` is missing in\n{text}");
    }
}

#[test]
fn pods_get_the_gpus_that_their_claims_ask_for() {
    let played = || SimulateArgs {
        manifests: example("devices"),
        scenario: Some(repository().join("examples/scenarios/devices.yaml")),
        ..arguments()
    };
    let (text, validation) = play(&played());
    assert_eq!(validation, SimulateExit::AllPlaced, "{text}");
    for said in [
        "driver gpu.nvidia.com runs on every node with GPUs",
        "pods placed      4",
        "disrupted        3 NodeClaims (3 Empty)",
        "nodes now        1: 1 g6.xlarge",
    ] {
        assert!(text.contains(said), "`{said}` is missing in\n{text}");
    }
    let feature_gates = "DRANVIDIAGPU=false".to_owned();
    let closed = SetArgs { feature_gates, ..SetArgs::default() };
    let (text, validation) = play(&SimulateArgs { set: closed, ..played() });
    assert_eq!(validation, SimulateExit::SomeUnplaced, "{text}");
}

#[test]
fn the_classic_walkthroughs_run_unchanged() {
    let (text, validation) = play(&SimulateArgs { manifests: example("walkthrough"), ..short() });
    assert_eq!(validation, SimulateExit::AllPlaced, "{text}");
    assert!(text.contains("nodes now"), "{text}");
}

#[track_caller]
fn check_refused(name: &str, text: &str, said: &[&str]) {
    let manifests = manifests(name, text);
    let error = run(&SimulateArgs { manifests, ..arguments() }, &mut Vec::new());
    let Err(CommandError::Input(problems)) = error else { panic!("{name} was played: {error:?}") };
    let shown = problems.to_string();
    assert_eq!(problems.0.len(), 1, "one problem is one message: {shown}");
    for said in said {
        assert!(shown.contains(said), "`{said}` is missing in {shown}");
    }
}

#[test]
fn bad_input_is_one_clear_message() {
    check_refused(
        "missing-class",
        CLUSTER.split("---").next().unwrap_or_default(),
        &["manifests.yaml:", "NodePool general", "nodeClassRef", "default"],
    );
    check_refused(
        "letter",
        &CLUSTER.replace("requirements: []", "requirements: []\n  limits: {cpu: 1O0m}"),
        &["1O0m", "spec.limits"],
    );
    check_refused(
        "expire-after",
        &CLUSTER.replace("spec:\n  template:", "spec:\n  expireAfter: 720h\n  template:"),
        &["spec.expireAfter", "spec.template.spec"],
    );
    check_refused(
        "alias",
        &CLUSTER.replace("al2023@latest", "AL2023@latest"),
        &["AL2023@latest", "lower case"],
    );
    check_refused(
        "profile",
        &CLUSTER.replace("role: KarpenterNodeRole-simulated", "role: a\n  instanceProfile: b"),
        &["role", "instanceProfile"],
    );
    check_refused(
        "variable",
        &CLUSTER.replacen(
            "karpenter.sh/discovery: simulated",
            "karpenter.sh/discovery: ${CLUSTER_NAME}",
            1,
        ),
        &["${CLUSTER_NAME}"],
    );
    check_refused(
        "unknown-field",
        &CLUSTER.replace("role: Karp", "rolle: x\n  role: Karp"),
        &["rolle"],
    );
    check_refused(
        "wrong-type",
        &CLUSTER.replace("requirements: []", "requirements: 5"),
        &["requirements"],
    );
}

const OLD: &str = "\
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: custom}
spec:
  provider:
    launchTemplate: MyLaunchTemplate
    subnetSelector: {karpenter.sh/discovery: demo}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, resources: {requests: {cpu: 500m, memory: 1Gi}}}]}
";

#[test]
fn a_provisioner_with_a_launch_template_is_played_as_it_is() {
    let manifests = manifests("launch-template", OLD);
    let (text, validation) = play(&SimulateArgs { manifests, ..short() });
    assert_eq!(validation, SimulateExit::AllPlaced, "{text}");
    assert!(text.contains("launch template MyLaunchTemplate with image ami-"), "{text}");
}

#[test]
fn a_custom_family_is_launched_from_the_images_of_another_ones_alias() {
    let cluster = CLUSTER.replace(
        "amiSelectorTerms: [{alias: al2023@latest}]",
        "amiFamily: Custom\n  amiSelectorTerms: [{alias: bottlerocket@latest}]",
    );
    let pod = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: web, image: web, resources: {requests: {cpu: 100m}}}]
";
    let manifests = manifests("custom-alias", &format!("{cluster}{pod}"));
    let (text, validation) = play(&SimulateArgs { manifests, ..short() });
    assert_eq!(validation, SimulateExit::AllPlaced, "{text}");
    assert!(text.contains("AMI alias bottlerocket@latest for x86_64 and arm64"), "{text}");
}
