//! What the command prints.

use std::fs;

use expect_test::expect;

use report::format::Format;

use super::*;

const FACTS: &str = r#"{
  "name": "golden", "endpoint": "https://golden.example", "caBundle": "Z29sZGVu",
  "serviceCIDR": "10.100.0.0/16", "dnsIP": "10.100.0.10", "kubernetesVersion": "1.34",
  "region": "us-west-2",
  "subnets": [{"id": "subnet-0a", "availableIpAddressCount": 100}],
  "placementGroups": [{"id": "pg-1", "name": "apart", "strategy": "partition", "partitionCount": 3}],
  "capacityReservations": [{"id": "cr-1", "availableInstanceCount": 2}]
}"#;

const OBJECTS: &str = "\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general}
spec:
  template:
    metadata: {labels: {team: payments}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand, reserved]}
      - {key: node.kubernetes.io/instance-type, operator: In, values: [m7i.large]}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default, generation: 2}
spec:
  role: nodes
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{id: subnet-0a}]
  securityGroupSelectorTerms: [{id: sg-0a}]
status:
  subnets: [{id: subnet-0a, zone: us-west-2a, zoneID: usw2-az1}]
  securityGroups: [{id: sg-0a, name: nodes}]
  amis:
  - {id: ami-0a, name: al2023, requirements: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}
  instanceProfile: golden_1
  conditions: [{type: Ready, status: \"True\", observedGeneration: 2}]
";

/// Files in a folder of their own, which goes with it.
struct Files(PathBuf);

impl Files {
    fn new(name: &str, files: &[(&str, &str)]) -> Self {
        let folder = std::env::temp_dir().join(format!("render-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for (file, text) in [("facts.json", FACTS)].iter().chain(files) {
            fs::write(folder.join(file), text).unwrap();
        }
        Self(folder)
    }

    fn args(&self, manifests: &[&str]) -> RenderArgs {
        RenderArgs {
            manifests: manifests.iter().map(|file| self.0.join(file)).collect(),
            cluster_facts: Some(self.0.join("facts.json")),
            ..RenderArgs::default()
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

fn shown(args: &RenderArgs) -> Result<String, String> {
    let mut out = Vec::new();
    run(args, Screen::default(), &mut out).map_err(|error| error.to_string())?;
    String::from_utf8(out).map_err(|error| error.to_string())
}

/// What is shown for `OBJECTS` with `from` replaced by `to`.
fn with(name: &str, from: &str, to: &str) -> Result<String, String> {
    assert!(OBJECTS.contains(from), "{from}");
    let files = Files::new(name, &[("objects.yaml", &OBJECTS.replace(from, to))]);
    shown(&files.args(&["objects.yaml"]))
}

#[test]
fn a_launch_is_shown_for_people() {
    expect![[r#"
        launch template 1 (karpenter.k8s.aws/13169005661290866249)
          for m7i.large
          BlockDeviceMappings: [{"DeviceName":"/dev/xvda","Ebs":{"Encrypted":true,"VolumeSize":20,"VolumeType":"gp3"}}]
          CapacityReservationSpecification: {"CapacityReservationPreference":"none"}
          EnclaveOptions: {"Enabled":false}
          IamInstanceProfile: {"Name":"golden_1"}
          ImageId: "ami-0a"
          MetadataOptions: {"HttpEndpoint":"enabled","HttpProtocolIpv6":"disabled","HttpPutResponseHopLimit":1,"HttpTokens":"required","InstanceMetadataTags":"disabled"}
          Monitoring: {"Enabled":false}
          NetworkInterfaces: [{"DeviceIndex":0,"Groups":["sg-0a"]}]
          Placement: {"Tenancy":"default"}
          tag eks:eks-cluster-name=golden
          tag karpenter.k8s.aws/ec2nodeclass=default
          tag karpenter.sh/nodepool=general
          tag kubernetes.io/cluster/golden=owned
          user data, 771 bytes:
            MIME-Version: 1.0
            Content-Type: multipart/mixed; boundary="//"
    
            --//
            Content-Type: application/node.eks.aws
    
            # Karpenter Generated NodeConfig
            apiVersion: node.eks.aws/v1alpha1
            kind: NodeConfig
            metadata: {}
            spec:
              cluster:
                apiServerEndpoint: https://golden.example
                certificateAuthority: Z29sZGVu
                cidr: "10.100.0.0/16"
                name: golden
              containerd: {}
              instance:
                localStorage: {}
              kubelet:
                config:
                  clusterDNS:
                  - "10.100.0.10"
                  maxPods: 29
                  registerWithTaints:
                  - effect: NoExecute
                    key: karpenter.sh/unregistered
                flags:
                - "--node-labels=\"karpenter.k8s.aws/ec2nodeclass=default,karpenter.sh/capacity-type=on-demand,karpenter.sh/do-not-sync-taints=true,karpenter.sh/nodepool=general,team=payments\""
    
            --//--

        fleet request: 1 on-demand instance
          m7i.large us-west-2a subnet-0a ami-0a $0.1008/h, for pods: cpu 1930m, memory 6903Mi, ephemeral-storage 17Gi, pods 29, vpc.amazonaws.com/pod-eni 9
    "#]].assert_eq(&with("text", "nodes", "nodes").unwrap());
}

#[test]
fn a_reserved_launch_is_shown_with_ec2s_names() {
    let reserved = "  instanceProfile: golden_1
  capacityReservations:
  - {id: cr-1, instanceType: m7i.large, availabilityZone: us-west-2a, ownerID: \"111122223333\",
     instanceMatchCriteria: open, reservationType: default, interruptible: true, state: active}
";
    let objects = OBJECTS
        .replace("  instanceProfile: golden_1\n", reserved)
        .replace("  role: nodes\n", "  role: nodes\n  placementGroupSelector: {name: apart}\n");
    let files = Files::new("json", &[("objects.yaml", &objects)]);
    let args = RenderArgs { output: Format::Json, ..files.args(&["objects.yaml"]) };
    let document: serde_json::Value = serde_json::from_str(&shown(&args).unwrap()).unwrap();
    let template = &document["launchTemplates"][0]["data"];
    let parts = [
        &template["CapacityReservationSpecification"],
        &template["InstanceMarketOptions"],
        &template["Placement"],
        &document["fleet"]["targetCapacity"],
        &document["fleet"]["reservedCapacityOptions"],
        &document["fleet"]["launchTemplateConfigs"][0]["overrides"],
    ];
    let lines: Vec<String> = parts.iter().map(ToString::to_string).collect();
    expect![[r#"
        {"CapacityReservationPreference":"capacity-reservations-only","CapacityReservationTarget":{"CapacityReservationId":"cr-1"}}
        {"MarketType":"interruptible-capacity-reservation"}
        {"GroupId":"pg-1","PartitionNumber":1,"Tenancy":"default"}
        {"DefaultTargetCapacityType":"reserved-capacity","TotalTargetCapacity":1}
        {"ReservationTypes":["interruptible-capacity-reservation"]}
        [{"availabilityZone":"us-west-2a","imageId":"ami-0a","instanceType":"m7i.large","priority":1.008e-8,"subnetId":"subnet-0a"}]"#]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_difference_shows_what_changes_on_the_nodes() {
    let changed = OBJECTS.replace(
        "  role: nodes\n",
        "  role: nodes\n  metadataOptions: {httpTokens: optional}\n  kubelet: {maxPods: 20}\n",
    );
    let files = Files::new("diff", &[("old.yaml", OBJECTS), ("new.yaml", &changed)]);
    let diff = vec![files.0.join("old.yaml"), files.0.join("new.yaml")];
    let args = RenderArgs { diff, ..files.args(&[]) };
    expect![[r#"
        ~ m7i.large: allocatable.pods: 29 → 20
        ~ m7i.large: data.MetadataOptions.HttpTokens: required → optional
        ~ m7i.large: user data:
          @@ -21,7 +21,7 @@
               config:
                 clusterDNS:
                 - "10.100.0.10"
          -      maxPods: 29
          +      maxPods: 20
                 registerWithTaints:
                 - effect: NoExecute
                   key: karpenter.sh/unregistered

        Running nodes would drift: the hash of EC2NodeClass changes (16046962574782165743 → 16714831695443106095).
    "#]].assert_eq(&shown(&args).unwrap());
    let same = vec![files.0.join("old.yaml"), files.0.join("old.yaml")];
    let nothing = shown(&RenderArgs { diff: same, ..files.args(&[]) }).unwrap();
    let expected =
        "nothing changes on the nodes\n\nBy hashes and images, running nodes would not drift.\n";
    assert_eq!(nothing, expected);
}

#[test]
fn what_keeps_a_class_from_launching_is_said() {
    let refused = |name: &str, from: &str, to: &str| with(name, from, to).unwrap_err();
    let lines = [
        refused("r1", "observedGeneration: 2", "observedGeneration: 1"),
        refused("r2", "status: \"True\"", "status: \"Unknown\", message: wait"),
        refused("r3", "  instanceProfile: golden_1\n", ""),
        refused("r4", "type: Ready", "type: AMIsReady"),
        refused("r5", "role: nodes", "role: nodes\n  placementGroupSelector: {name: gone}"),
        refused("r6", "[m7i.large]", "[m7g.large]"),
        refused("r7", "name: default}\n      req", "name: other}\n      req"),
    ];
    expect![[r"
        EC2NodeClass `default` is not ready: its newest generation was not looked at yet
        EC2NodeClass `default` is not ready: Ready is Unknown: wait
        EC2NodeClass `default` is not ready: status.instanceProfile is not there
        EC2NodeClass `default` is not ready: it has no condition Ready
        EC2NodeClass `default` is not ready: PlacementGroupNotFound: spec.placementGroupSelector selects no placement group
        EC2NodeClass `default`: spec.amiSelectorTerms: none of ami-0a starts on the instance types
        there is no EC2NodeClass `other`"]].assert_eq(&lines.join("\n"));
}

#[test]
fn a_launch_template_of_ones_own_is_named_and_none_is_made() {
    let named = OBJECTS
        .replace(
            "metadata: {name: default, generation: 2}",
            "metadata:\n  name: default\n  generation: 2\n  annotations: \
             {compatibility.karpenter.k8s.aws/v1alpha1-launch-template: mine}",
        )
        .replace("  instanceProfile: golden_1\n", "")
        .replace("  securityGroups: [{id: sg-0a, name: nodes}]\n", "");
    let files = Files::new("named", &[("objects.yaml", &named), ("old.yaml", OBJECTS)]);
    let text = shown(&files.args(&["objects.yaml"])).unwrap();
    expect![[r"
        fleet request: 1 on-demand instance
          from launch template mine, version $Latest, which is the user's own:
          image, user data, instance profile, security groups and volumes are in it
          m7i.large us-west-2a subnet-0a ami-0a $0.1008/h, for pods: cpu 1930m, memory 6903Mi, ephemeral-storage 17Gi, pods 29, vpc.amazonaws.com/pod-eni 9
    "]].assert_eq(&text);
    let args = RenderArgs { output: Format::Json, ..files.args(&["objects.yaml"]) };
    let document: serde_json::Value = serde_json::from_str(&shown(&args).unwrap()).unwrap();
    assert_eq!(document["launchTemplates"], serde_json::json!([]));
    let config = &document["fleet"]["launchTemplateConfigs"][0];
    assert_eq!(config["launchTemplateName"], "mine");
    assert_eq!(config["launchTemplateVersion"], "$Latest");
    assert_eq!(config["overrides"][0]["instanceType"], "m7i.large");
}

#[test]
fn what_a_launch_template_of_ones_own_has_is_refused_beside_it() {
    let annotated = "metadata:\n  name: default\n  generation: 2\n  annotations: \
                     {compatibility.karpenter.k8s.aws/v1alpha1-launch-template: mine}";
    let objects = OBJECTS
        .replace("metadata: {name: default, generation: 2}", annotated)
        .replace("  role: nodes\n", "  role: nodes\n  userData: echo\n");
    let files = Files::new("beside", &[("objects.yaml", &objects)]);
    let refused = shown(&files.args(&["objects.yaml"])).unwrap_err();
    assert!(
        refused.contains("spec.userData: has no effect beside the launch template `mine`"),
        "{refused}"
    );
}
