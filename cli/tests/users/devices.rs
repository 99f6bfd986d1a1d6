//! Devices and claims to them: what `plan`, `simulate` and `validate` say of them.

use crate::{CLASS, POOL, folder, run};

/// Two pods, each with a claim for a GPU of 20 GiB.
const GPUS: &str = include_str!("../../../examples/devices/gpus.yaml");

const GATE: &str = "--feature-gates DRANVIDIAGPU=true";

/// A device that every node reaches, its class, and two pods each of which claims one.
const SHARED: &str = "\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: tape}
spec:
  driver: tape.example.com
  pool: {name: tape, generation: 1, resourceSliceCount: 1}
  allNodes: true
  devices: [{name: tape-0, attributes: {speed: {int: 7}}}]
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: tape}
spec: {selectors: [{cel: {expression: \"device.driver == 'tape.example.com'\"}}]}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: tape}
spec: {spec: {devices: {requests: [{name: drive, exactly: {deviceClassName: tape}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: backup}
spec:
  replicas: 2
  selector: {matchLabels: {app: backup}}
  template:
    metadata: {labels: {app: backup}}
    spec:
      resourceClaims: [{name: tape, resourceClaimTemplateName: tape}]
      containers: [{name: m, resources: {requests: {cpu: 1}, claims: [{name: tape}]}}]
";

#[test]
fn pods_with_claims_wait_until_claims_are_heeded_and_gates_say_what_new_nodes_have() {
    let folder = folder("devices-plan", &[("gpus.yaml", GPUS)]);
    run(&folder, "plan .").says(&[
        "2 pods cannot be scheduled",
        "default/inference ×2",
        "not supported while IGNORE_DRA_REQUESTS is true: set IgnoreDraRequests=false",
    ]);
    run(&folder, "plan . --set IgnoreDraRequests=false").says(&[
        "default/inference ×2",
        "gpus: its ResourceClaim gpu: request gpu asks for 1 device of DeviceClass gpu.nvidia.com, and no device \
         of this class is known of any instance type that fits the pod; devices of nodes that do not exist yet are known only \
         with the feature gates DRANVIDIAGPU (NVIDIA GPUs) and DRAEFA (EFA interfaces)",
    ]);
    let planned = run(&folder, &format!("plan . --strict {GATE}"));
    planned.says(&["2 nodes would be launched", "on-demand g6.xlarge"]);
    assert_eq!(planned.code, Some(0), "{}", planned.out);
}

#[test]
fn a_plan_names_the_selector_that_no_device_meets() {
    let small = GPUS.replace("values: [g4dn, g5, g6]", "values: [g4dn]");
    let folder = folder("devices-selector", &[("gpus.yaml", &small)]);
    let planned = run(&folder, &format!("plan . {GATE}"));
    planned.says(&[
        "default/inference ×2",
        "its ResourceClaim gpu: request gpu asks for 1 device of DeviceClass gpu.nvidia.com, and g4dn.",
        ", which comes closest, has none: ",
        "not selected by `device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0`",
    ]);
    let many = small.replace(
        "deviceClassName: gpu.nvidia.com",
        "deviceClassName: gpu.nvidia.com\n            count: 2",
    );
    let many = many.replace("20Gi", "1Gi");
    let folder = self::folder("devices-many", &[("gpus.yaml", &many)]);
    run(&folder, &format!("plan . {GATE}")).says(&[
        "request gpu asks for 2 devices of DeviceClass gpu.nvidia.com, and g4dn.16xlarge, which comes closest, has 1",
    ]);
}

#[test]
fn published_devices_are_given_to_one_pod_only() {
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("tape.yaml", SHARED)];
    let folder = folder("devices-published", &files);
    run(&folder, "plan . --set IgnoreDraRequests=false").says(&[
        "1 node would be launched",
        "1 pod cannot be scheduled",
        "general: its ResourceClaim tape: request drive asks for 1 device of DeviceClass tape",
        "has none: 1 allocated",
    ]);
    let played = run(&folder, "simulate . --duration 5m --set IgnoreDraRequests=false");
    played.says(&["pods placed      1", "its ResourceClaim tape: request drive asks for 1 device"]);
}

#[test]
fn a_pod_of_no_workload_gets_its_claims_too() {
    let (others, pods) = GPUS.split_once("apiVersion: apps/v1").expect("a Deployment");
    let (_, spec) = pods.split_once("    spec:\n").expect("the spec of its pods");
    let spec: String = spec.lines().map(|line| line.replacen("    ", "", 1) + "\n").collect();
    let pod = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: alone}}\nspec:\n{spec}");
    let folder = folder("devices-alone", &[("all.yaml", &format!("{others}{pod}"))]);
    run(&folder, &format!("plan . {GATE}")).says(&["on-demand g6.xlarge", "default/alone"]);
    let played = run(&folder, &format!("simulate . --duration 10m --strict {GATE}"));
    played.says(&["pods placed      1", "launched in all  1 instance (1 on-demand)"]);
    assert_eq!(played.code, Some(0), "{}", played.out);
}

#[test]
fn a_claim_without_its_template_is_never_made() {
    let (others, _) = SHARED.split_once("apiVersion: apps/v1").expect("a Deployment");
    let (others, _) = others
        .split_once("apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate")
        .expect("one");
    let (_, deployment) = SHARED.split_once("apiVersion: apps/v1").expect("a Deployment");
    let tape = format!("{others}apiVersion: apps/v1{deployment}");
    let files = [("class.yaml", CLASS), ("pool.yaml", POOL), ("tape.yaml", &*tape)];
    let folder = folder("devices-template", &files);
    run(&folder, "plan . --set IgnoreDraRequests=false").says(&[
        "its ResourceClaim tape does not exist",
        "ResourceClaimTemplate default/tape is not among the objects",
    ]);
    run(&folder, "simulate . --duration 3m --set IgnoreDraRequests=false")
        .says(&["ResourceClaimTemplate default/tape is not among these files"]);
    let daemon = tape.replace("kind: Deployment", "kind: DaemonSet").replace("  replicas: 2\n", "");
    std::fs::write(folder.join("tape.yaml"), daemon).expect("a file of the test");
    run(&folder, "simulate . --duration 3m --set IgnoreDraRequests=false")
        .says(&["ResourceClaimTemplate default/tape is not among these files"]);
    std::fs::write(folder.join("tape.yaml"), &tape).expect("a file of the test");
    let validated = run(&folder, "validate tape.yaml --set IgnoreDraRequests=false");
    validated.says(&[
        "nothing is wrong in what was checked",
        "Deployment default/backup: there is no ResourceClaimTemplate `default/tape` among these files; the cluster \
         must have it",
    ]);
}

#[test]
fn simulated_pods_get_devices_of_their_nodes() {
    let folder = folder("devices-simulate", &[("gpus.yaml", GPUS)]);
    let played = run(&folder, &format!("simulate . --duration 10m --strict {GATE}"));
    played.says(&["pods placed      2", "driver gpu.nvidia.com runs on every node with GPUs"]);
    assert_eq!(played.code, Some(0), "{}", played.out);
    let waiting = run(&folder, "simulate . --duration 5m --strict");
    waiting.says(&["default/inference ×2", "set IgnoreDraRequests=false"]);
    assert_eq!(waiting.code, Some(1));
}

#[test]
fn claims_that_no_node_satisfies_are_problems() {
    for (right, wrong, said) in [
        (
            "            selectors:\n",
            "            count: 0\n            selectors:\n",
            "spec.spec.devices.requests[0].exactly.count: must be at least 1",
        ),
        (
            "            selectors:\n",
            "            selector:\n",
            "spec.spec.devices.requests[0].exactly.selector: unknown field; did you mean `selectors`?",
        ),
        (
            "memory.compareTo(quantity('20Gi')) >= 0",
            "memory > 20",
            "ResourceClaimTemplate default/large-gpu: spec.spec.devices: request gpu: selector \
             `device.capacity['gpu.nvidia.com'].memory > 20` does not compile: ",
        ),
        (
            "        - name: gpu\n          exactly:",
            "        - name: gpu\n          firstAvailable: []\n          exactly:",
            "needs `exactly` or `firstAvailable`, and only one of them",
        ),
        (
            "      requests:\n        - name: gpu\n",
            "      constraints: [{distinctAttribute: gpu.nvidia.com/index}]\n      requests:\n        - name: gpu\n",
            "spec.spec.devices: constraint distinctAttribute is not supported: only matchAttribute is",
        ),
        (
            "expression: device.driver ==",
            "expression: device.drivr ==",
            "DeviceClass gpu.nvidia.com: spec.selectors: selector `device.drivr ==",
        ),
        (
            "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate",
            "apiVersion: resource.k8s.io/v1beta1\nkind: ResourceClaimTemplate",
            "`resource.k8s.io/v1beta1` is not read, only `resource.k8s.io/v1` is; write resource.k8s.io/v1",
        ),
        (
            "              - name: gpu\n",
            "              - name: gpus\n",
            "resourceClaims: lacks `gpus`, which a container names in resources.claims",
        ),
        (
            "metadata:\n  name: gpus\nspec:\n  role",
            "metadata:\n  name: gpus\n  annotations: {karpenter.k8s.aws/nvidia-consumable-capacity: some}\nspec:\n  role",
            "EC2NodeClass `gpus`: metadata.annotations[karpenter.k8s.aws/nvidia-consumable-capacity]: \"some\" is not",
        ),
    ] {
        let text = GPUS.replacen(right, wrong, 1);
        assert_ne!(text, GPUS, "{right}");
        let folder = folder("devices-wrong", &[("gpus.yaml", &text)]);
        let refused = run(&folder, &format!("validate gpus.yaml {GATE}"));
        refused.says(&["1 file: 1 problem", said]);
        assert_eq!(refused.code, Some(1), "{said}");
    }
}

#[test]
fn claims_that_wait_for_something_are_warnings() {
    let folder = folder("devices-warned", &[("gpus.yaml", GPUS)]);
    run(&folder, "validate gpus.yaml").says(&[
        "1 file: 1 warning",
        "Deployment default/inference: it has Dynamic Resource Allocation requirements, which are not supported while \
         IGNORE_DRA_REQUESTS is true: set IgnoreDraRequests=false",
    ]);
    run(&folder, &format!("validate gpus.yaml {GATE}")).says(&["1 file: nothing is wrong"]);

    let misspelled =
        GPUS.replace("deviceClassName: gpu.nvidia.com", "deviceClassName: gpu.nvidia.co");
    let other = GPUS.replace("deviceClassName: gpu.nvidia.com", "deviceClassName: tape.example");
    let shared = GPUS.replace(
        "metadata:\n  name: gpus\nspec:\n  role",
        "metadata:\n  name: gpus\n  annotations: {karpenter.k8s.aws/nvidia-consumable-capacity: '4'}\nspec:\n  role",
    );
    let files = [("a.yaml", &*misspelled), ("b.yaml", &*other), ("c.yaml", &*shared)];
    let folder = self::folder("devices-elsewhere", &files);
    run(&folder, &format!("validate a.yaml {GATE}")).says(&[
        "ResourceClaimTemplate default/large-gpu: spec.spec.devices: there is no DeviceClass `gpu.nvidia.co` among \
         these files: did you mean gpu.nvidia.com?",
    ]);
    run(&folder, &format!("validate b.yaml {GATE}")).says(&[
        "there is no DeviceClass `tape.example` among these files; the cluster must have it",
        "nothing is wrong in what was checked",
    ]);
    run(&folder, "validate c.yaml --set IgnoreDraRequests=false").says(&[
        "1 file: 1 warning",
        "sharing GPUs needs the feature gate DRANVIDIAGPU, which is off",
    ]);
}

/// A node of a saved cluster whose only GPU the pod `old` has.
const SAVED: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: n1
  uid: n1
  creationTimestamp: '2026-01-05T07:00:00Z'
  labels: {node.kubernetes.io/instance-type: g6.xlarge, topology.kubernetes.io/zone: us-west-2a, kubernetes.io/arch: amd64, kubernetes.io/os: linux, karpenter.sh/capacity-type: on-demand}
spec: {providerID: 'aws:///us-west-2a/i-0123456789abcdef0'}
status:
  capacity: {cpu: '4', memory: 15Gi, pods: '58'}
  allocatable: {cpu: '4', memory: 15Gi, pods: '58'}
  conditions: [{type: Ready, status: 'True'}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: n1-gpu, uid: s, ownerReferences: [{apiVersion: v1, kind: Node, name: n1, uid: n1, controller: true}]}
spec:
  driver: gpu.nvidia.com
  nodeName: n1
  pool: {name: n1, generation: 3, resourceSliceCount: 1}
  devices: [{name: gpu-0, attributes: {type: {string: gpu}}, capacity: {memory: {value: 23034Mi}}}]
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: old-gpu-x, uid: c, ownerReferences: [{apiVersion: v1, kind: Pod, name: old, uid: old, controller: true}]}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
status:
  allocation: {devices: {results: [{request: gpu, driver: gpu.nvidia.com, pool: n1, device: gpu-0}]}}
  reservedFor: [{resource: pods, name: old, uid: old}]
---
apiVersion: v1
kind: Pod
metadata: {name: old, uid: old}
spec:
  nodeName: n1
  resourceClaims: [{name: gpu, resourceClaimTemplateName: any}]
  containers: [{name: m, resources: {requests: {cpu: 100m}, claims: [{name: gpu}]}}]
status: {phase: Running, resourceClaimStatuses: [{name: gpu, resourceClaimName: old-gpu-x}]}
---
";

#[test]
fn pods_that_run_keep_their_devices() {
    let (text, one) = (format!("{SAVED}{GPUS}"), GPUS.replace("replicas: 2", "replicas: 1"));
    let alone = format!("{SAVED}{one}");
    let folder = folder("devices-saved", &[("both.yaml", &text), ("one.yaml", &alone)]);
    run(&folder, &format!("plan both.yaml {GATE}")).says(&["2 nodes would be launched"]);
    let played = run(&folder, &format!("simulate one.yaml --duration 10m --strict {GATE}"));
    played.says(&["pods placed      1", "launched in all  1 instance (1 on-demand)"]);
    assert_eq!(played.code, Some(0), "{}", played.out);
    // Once the pod is gone its GPU is free.
    let (rest, _) = alone.split_once("apiVersion: v1\nkind: Pod").expect("the pod");
    let (node, _) = rest
        .split_once("apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\n")
        .expect("the claim");
    let free = format!("{node}{}", GPUS.replace("replicas: 2", "replicas: 1"));
    std::fs::write(folder.join("one.yaml"), free).expect("a file of the test");
    run(&folder, &format!("simulate one.yaml --duration 10m {GATE}"))
        .says(&["pods placed      1", "launched in all  0 instances"]);
}
