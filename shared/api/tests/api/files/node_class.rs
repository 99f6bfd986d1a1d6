//! Both sides of every rule about EC2NodeClasses.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

use model::node_class::{ImageFamily, ImageTerm, MaxPods, NodeIdentity};
use model::{Problem, dynamic_resources::GpuSharing};

use super::*;

/// The class with something replaced: `what => by what`.
fn with(input: &str) -> String {
    let (from, to) = input.split_once(" => ").unwrap();
    assert!(CLASS.contains(from), "{from}");
    CLASS.replace(from, to)
}

/// The class with other `amiSelectorTerms`, and what follows them.
fn images(terms: &str) -> String {
    CLASS.replace("[{alias: al2023@latest}]", terms)
}

/// The class with a line added to its `spec`.
pub(super) fn spec(line: &str) -> String {
    format!("{CLASS}  {line}\n")
}

/// The class with one volume.
fn volume(ebs: &str) -> String {
    spec(&format!("blockDeviceMappings: [{{deviceName: a, ebs: {{{ebs}}}}}]"))
}

pub(super) fn good(text: &str) -> NodeClass {
    let manifest = read(text, "x.yaml");
    assert_eq!(manifest.problems, []);
    match manifest.objects.into_iter().next() {
        Some(Object::NodeClass(read)) => read.class,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_absent_has_the_defaults_of_the_api() {
    let class = good(CLASS);
    assert_eq!(class.image_family, ImageFamily::Al2023);
    assert_eq!(
        class.image_terms,
        [ImageTerm::Alias { family: ImageFamily::Al2023, version: "latest".into() }]
    );
    assert_eq!(class.identity, NodeIdentity::Role("node".into()));
    assert_eq!(class.metadata_options, model::node_class::MetadataOptions::default());
    assert_eq!((class.detailed_monitoring, class.is_raid0), (None, false));
    assert_eq!(class.problems, []);
}

#[test]
fn what_is_given_is_kept() {
    let class = good(&format!(
        "{CLASS}  instanceStorePolicy: RAID0
  metadataOptions: {{httpTokens: optional, httpPutResponseHopLimit: 2}}
  associatePublicIPAddress: false
  detailedMonitoring: true
  ipPrefixCount: 1
  context: ctx
  tags: {{Name: node}}
  userData: 'echo ${{HOME}}'
  blockDeviceMappings:
  - {{deviceName: /dev/xvda, rootVolume: true, ebs: {{volumeSize: 1Ti, volumeType: io2, iops: 9, throughput: 8, encrypted: true, deleteOnTermination: false, kmsKeyID: k}}}}
  - {{ebs: {{snapshotID: s, volumeInitializationRate: 100}}}}
  kubelet: {{clusterDNS: [10.0.0.10], maxPods: 20, podsPerCore: 2, systemReserved: {{cpu: 100m}}, kubeReserved: {{memory: 1Gi}}, evictionHard: {{memory.available: 5%}}, evictionSoft: {{nodefs.available: 1Gi}}, evictionSoftGracePeriod: {{nodefs.available: 1m30s}}, evictionMaxPodGracePeriod: 60, imageGCHighThresholdPercent: 80, imageGCLowThresholdPercent: 70, cpuCFSQuota: false}}
"
    ));
    assert!(class.is_raid0 && !class.metadata_options.http_tokens_required);
    assert_eq!(class.metadata_options.http_put_response_hop_limit, 2);
    assert_eq!(class.associate_public_ip_address, Some(false));
    assert_eq!((class.ip_prefix_count, class.detailed_monitoring), (Some(1), Some(true)));
    assert_eq!(class.user_data.as_deref(), Some("echo ${HOME}"));
    assert_eq!(class.block_devices[0].size, Some(model::Bytes(1 << 40)));
    assert_eq!(class.block_devices[1].initialization_rate, Some(100));
    assert_eq!(class.kubelet.max_pods, Some(MaxPods::Number(20)));
    let period = class.kubelet.eviction_soft_grace_period["nodefs.available"];
    assert_eq!(period.as_secs(), 90);
}

#[test]
fn image_terms_have_rules() {
    each(
        images,
        &[
            "[{alias: AL2023@latest}]",
            "[{alias: ubuntu@latest}]",
            "[{alias: al2023}]",
            "[{alias: windows2022@v1}]",
            "[{alias: al2023@newest}]",
            "[{alias: al2023@latest}, {id: ami-1}]",
            "[{alias: al2023@latest, name: x}]",
            "[{id: ami-1}]",
            "[{id: ami-1, name: x}]\n  amiFamily: AL2023",
            "[{id: AMI-1}]\n  amiFamily: AL2023",
            "[{owner: self}]\n  amiFamily: AL2023",
            "[{name: x, owner: 0123456789}]\n  amiFamily: AL2023",
            "[]",
            "[{alias: al2023@latest}]\n  amiFamily: Bottlerocket",
            "[{alias: al2023@latest}]\n  amiFamily: Ubuntu",
            // Right:
            "[{alias: al2023@v20240625}]",
            "[{alias: bottlerocket@1.10.0}]",
            "[{alias: al2023@latest}]\n  amiFamily: AL2023",
            "[{name: my-*, owner: self}, {tags: {a: '*'}}, {ssmParameter: /x}]\n  amiFamily: AL2023",
        ],
        &expect![[r#"
            [{alias: AL2023@latest}]
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0].alias: `AL2023@latest`: the family must be in lower case; write `al2023@latest`
            [{alias: ubuntu@latest}]
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0].alias: `ubuntu` is not one of `al2`, `al2023`, `bottlerocket`, `windows2019`, `windows2022`, `windows2025`
            [{alias: al2023}]
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0].alias: `al2023` must be a family and a version such as `al2023@latest`
            [{alias: windows2022@v1}]
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0].alias: `windows2022` has only the version `latest`
            [{alias: al2023@newest}]
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0].alias: `newest` is not a version: it must be `latest` or a build such as `v20240625` or `v1.10.0`
            [{alias: al2023@latest}, {id: ami-1}]
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0]: a term with `alias` must be the only one
            [{alias: al2023@latest, name: x}]
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0]: `alias` excludes every other member of its term
            [{id: ami-1}]
                x.yaml:4: EC2NodeClass default: spec.amiFamily: is required when no amiSelectorTerms has an alias
            [{id: ami-1, name: x}]\n  amiFamily: AL2023
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0]: `id` excludes every other member of its term
            [{id: AMI-1}]\n  amiFamily: AL2023
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0].id: `AMI-1` is not a valid image id: it must be `ami-` followed by lower-case letters or digits
            [{owner: self}]\n  amiFamily: AL2023
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0]: must have at least one of `alias`, `id`, `name`, `tags` and `ssmParameter`; `owner` alone is not enough
            [{name: x, owner: 0123456789}]\n  amiFamily: AL2023
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms[0].owner: must be a text, not the number 0123456789; quote it: "0123456789"
            []
                x.yaml:6: EC2NodeClass default: spec.amiSelectorTerms: must have at least one entry
            [{alias: al2023@latest}]\n  amiFamily: Bottlerocket
                x.yaml:7: EC2NodeClass default: spec.amiFamily: must be `AL2023` as in the alias, or `Custom`
            [{alias: al2023@latest}]\n  amiFamily: Ubuntu
                x.yaml:7: EC2NodeClass default: spec.amiFamily: must be one of `AL2`, `AL2023`, `Bottlerocket`, `Custom`, `Windows2019`, `Windows2022`, `Windows2025`, not `Ubuntu`
            [{alias: al2023@v20240625}]
                right
            [{alias: bottlerocket@1.10.0}]
                right
            [{alias: al2023@latest}]\n  amiFamily: AL2023
                right
            [{name: my-*, owner: self}, {tags: {a: '*'}}, {ssmParameter: /x}]\n  amiFamily: AL2023
                right
        "#]],
    );
}

#[test]
fn selector_terms_have_rules() {
    each(
        with,
        &[
            "[{id: subnet-1}] => []",
            "[{id: subnet-1}] => [{id: subnet-1, tags: {a: b}}]",
            "[{id: subnet-1}] => [{}]",
            "{id: subnet-1} => {name: x}",
            "subnet-1 => subnet_1",
            "{id: subnet-1} => {tags: {a: ''}}",
            "{id: subnet-1} => {tags: {a: true}}",
            "{id: subnet-1} => {tags: {a: yes}}",
            "{id: subnet-1} => {tags: {a: 1.10}}",
            "{id: subnet-1} => {tags: {a: 1e3}}",
            "{id: subnet-1} => {tags: {a: 0x1F}}",
            "{id: subnet-1} => {tags: {a: 0123}}",
            "{id: sg-1} => {id: sg-1, name: x}",
            "  subnetSelectorTerms: [{id: subnet-1}]\n => ",
            "subnetSelectorTerms: [{id: subnet-1}] => subnetSelector: {a: b}",
            "{id: sg-1} => {tags: {karpenter.sh/discovery: \"${CLUSTER_NAME}\"}}",
            // Right:
            "{id: sg-1} => {name: nodes}",
            "{id: subnet-1} => {tags: {a: '*'}}",
        ],
        &expect![[r#"
            [{id: subnet-1}] => []
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms: must have at least one entry
            [{id: subnet-1}] => [{id: subnet-1, tags: {a: b}}]
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0]: must have exactly one of `tags` and `id`
            [{id: subnet-1}] => [{}]
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0]: must have exactly one of `tags` and `id`
            {id: subnet-1} => {name: x}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].name: unknown field
            subnet-1 => subnet_1
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].id: `subnet_1` is not a valid subnet id: it must be `subnet-` followed by lower-case letters or digits
            {id: subnet-1} => {tags: {a: ''}}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].tags.a: must not be empty; write "*" for any value
            {id: subnet-1} => {tags: {a: true}}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].tags.a: must be a text, not the boolean true; quote it: "true"
            {id: subnet-1} => {tags: {a: yes}}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].tags.a: must be a text, not the boolean yes; quote it: "yes"
            {id: subnet-1} => {tags: {a: 1.10}}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].tags.a: must be a text, not the number 1.10; quote it: "1.10"
            {id: subnet-1} => {tags: {a: 1e3}}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].tags.a: must be a text, not the number 1e3; quote it: "1e3"
            {id: subnet-1} => {tags: {a: 0x1F}}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].tags.a: must be a text, not the number 0x1F; quote it: "0x1F"
            {id: subnet-1} => {tags: {a: 0123}}
                x.yaml:7: EC2NodeClass default: spec.subnetSelectorTerms[0].tags.a: must be a text, not the number 0123; quote it: "0123"
            {id: sg-1} => {id: sg-1, name: x}
                x.yaml:8: EC2NodeClass default: spec.securityGroupSelectorTerms[0]: must have exactly one of `tags`, `id` and `name`
              subnetSelectorTerms: [{id: subnet-1}]\n => 
                x.yaml:4: EC2NodeClass default: spec.subnetSelectorTerms: is required
            subnetSelectorTerms: [{id: subnet-1}] => subnetSelector: {a: b}
                x.yaml:7: EC2NodeClass default: spec.subnetSelector: unknown field; write `subnetSelectorTerms`, a list of `tags` or `id`
            {id: sg-1} => {tags: {karpenter.sh/discovery: "${CLUSTER_NAME}"}}
                x.yaml:8: EC2NodeClass default: spec.securityGroupSelectorTerms[0].tags[karpenter.sh/discovery]: `${CLUSTER_NAME}` was left in: it is a placeholder; put the value in its place, for instance by sending the file through envsubst
            {id: sg-1} => {name: nodes}
                right
            {id: subnet-1} => {tags: {a: '*'}}
                right
        "#]],
    );
}

#[test]
fn role_and_instance_profile_exclude_each_other() {
    each(
        with,
        &[
            "role: node => role: node\n  instanceProfile: x",
            "  role: node\n => ",
            "role: node => role: ''",
            // Right:
            "role: node => instanceProfile: x",
            "role: node => role: 'arn:aws:iam::123456789012:role/team/node'",
            "role: node => role: team/node",
            "role: node => instanceProfile: 'arn:aws:iam::123456789012:instance-profile/node'",
        ],
        &expect![[r#"
            role: node => role: node\n  instanceProfile: x
                x.yaml:5: EC2NodeClass default: spec.role: `role` and `instanceProfile` exclude each other; keep `role` to have an instance profile made, or `instanceProfile` to bring one
              role: node\n => 
                x.yaml:4: EC2NodeClass default: spec.role: either `role` or `instanceProfile` is required
            role: node => role: ''
                x.yaml:5: EC2NodeClass default: spec.role: must not be empty
            role: node => instanceProfile: x
                right
            role: node => role: 'arn:aws:iam::123456789012:role/team/node'
                x.yaml:5: EC2NodeClass default: spec.role: `arn:aws:iam::123456789012:role/team/node` is an ARN, not a name: write `node`
            role: node => role: team/node
                x.yaml:5: EC2NodeClass default: spec.role: `team/node` is a path, not a name: write `node`
            role: node => instanceProfile: 'arn:aws:iam::123456789012:instance-profile/node'
                x.yaml:5: EC2NodeClass default: spec.instanceProfile: `arn:aws:iam::123456789012:instance-profile/node` is an ARN, not a name: write `node`
        "#]],
    );
}

#[test]
fn volumes_have_rules() {
    each(
        volume,
        &[
            "volumeType: gp3",
            "volumeSize: 100",
            "volumeSize: 100GB",
            "volumeSize: 59001Gi",
            "volumeSize: 1Gi, volumeType: gp4",
            "volumeSize: 1Gi, volumeInitializationRate: 100",
            "snapshotID: s, volumeInitializationRate: 99",
            // Right:
            "volumeSize: 59000Gi",
            "snapshotID: s, volumeInitializationRate: 300",
        ],
        &expect![[r#"
            volumeType: gp3
                x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings[0].ebs: must have `snapshotID` or `volumeSize`
            volumeSize: 100
                x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings[0].ebs.volumeSize: must be a text, not the number 100; write it with its unit, such as `100Gi`
            volumeSize: 100GB
                x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings[0].ebs.volumeSize: `100GB` is not a volume size: it must be a whole number of Gi (to 59000), Ti (to 58), G (to 64000) or T (to 64)
            volumeSize: 59001Gi
                x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings[0].ebs.volumeSize: `59001Gi` is not a volume size: it must be a whole number of Gi (to 59000), Ti (to 58), G (to 64000) or T (to 64)
            volumeSize: 1Gi, volumeType: gp4
                x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings[0].ebs.volumeType: must be one of `standard`, `io1`, `io2`, `gp2`, `sc1`, `st1`, `gp3`, not `gp4`
            volumeSize: 1Gi, volumeInitializationRate: 100
                x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings[0].ebs.volumeInitializationRate: needs `snapshotID`
            snapshotID: s, volumeInitializationRate: 99
                x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings[0].ebs.volumeInitializationRate: must be 100 to 300, not 99
            volumeSize: 59000Gi
                right
            snapshotID: s, volumeInitializationRate: 300
                right
        "#]],
    );
    each(
        spec,
        &["blockDeviceMappings: [{rootVolume: true}, {rootVolume: true}]"],
        &expect![[r#"
        blockDeviceMappings: [{rootVolume: true}, {rootVolume: true}]
            x.yaml:9: EC2NodeClass default: spec.blockDeviceMappings: at most one entry may have `rootVolume: true`
    "#]],
    );
}

#[test]
fn everything_else_has_rules() {
    each(
        spec,
        &[
            "tags: {karpenter.sh/nodepool: a}",
            "tags: {kubernetes.io/cluster/x: owned}",
            "metadataOptions: {httpPutResponseHopLimit: 65}",
            "metadataOptions: {httpTokens: enabled}",
            "instanceStorePolicy: RAID1",
            "associatePublicIPAddress: 'yes'",
            "launchTemplate: mine",
            "userdata: x",
            "kubelet: {maxPods: -1}",
            "kubelet: {evictionHard: {memory: 5%}}",
            "kubelet: {evictionHard: {memory.available: 101%}}",
            "kubelet: {evictionSoft: {memory.available: 5%}}",
            "kubelet: {kubeReserved: {gpu: 1}}",
            "kubelet: {kubeReserved: {cpu: -1}}",
            "kubelet: {imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}",
            "kubelet: {registryPullQPS: 5}",
        ],
        &expect![[r#"
            tags: {karpenter.sh/nodepool: a}
                x.yaml:9: EC2NodeClass default: spec.tags[karpenter.sh/nodepool]: tag `karpenter.sh/nodepool` is set by the launch and cannot be given
            tags: {kubernetes.io/cluster/x: owned}
                x.yaml:9: EC2NodeClass default: spec.tags[kubernetes.io/cluster/x]: tag `kubernetes.io/cluster/x` is set by the launch and cannot be given
            metadataOptions: {httpPutResponseHopLimit: 65}
                x.yaml:9: EC2NodeClass default: spec.metadataOptions.httpPutResponseHopLimit: must be 1 to 64, not 65
            metadataOptions: {httpTokens: enabled}
                x.yaml:9: EC2NodeClass default: spec.metadataOptions.httpTokens: must be one of `required`, `optional`, not `enabled`
            instanceStorePolicy: RAID1
                x.yaml:9: EC2NodeClass default: spec.instanceStorePolicy: must be one of `RAID0`, not `RAID1`
            associatePublicIPAddress: 'yes'
                x.yaml:9: EC2NodeClass default: spec.associatePublicIPAddress: must be true or false, not the text `yes`
            launchTemplate: mine
                x.yaml:9: EC2NodeClass default: spec.launchTemplate: unknown field; launch templates are made by `launch`; write `amiSelectorTerms`, `userData` and `blockDeviceMappings`
            userdata: x
                x.yaml:9: EC2NodeClass default: spec.userdata: unknown field; it is spelled `userData`
            kubelet: {maxPods: -1}
                x.yaml:9: EC2NodeClass default: spec.kubelet.maxPods: must be at least 0, not -1
            kubelet: {evictionHard: {memory: 5%}}
                x.yaml:9: EC2NodeClass default: spec.kubelet.evictionHard.memory: unknown signal: it must be one of memory.available, nodefs.available, nodefs.inodesFree, imagefs.available, imagefs.inodesFree, pid.available
            kubelet: {evictionHard: {memory.available: 101%}}
                x.yaml:9: EC2NodeClass default: spec.kubelet.evictionHard[memory.available]: `101%` is neither a quantity such as `100Mi` nor a percentage from 0% to 100%
            kubelet: {evictionSoft: {memory.available: 5%}}
                x.yaml:9: EC2NodeClass default: spec.kubelet.evictionSoft: evictionSoft and evictionSoftGracePeriod must have the same keys
            kubelet: {kubeReserved: {gpu: 1}}
                x.yaml:9: EC2NodeClass default: spec.kubelet.kubeReserved.gpu: unknown resource: it must be one of cpu, memory, ephemeral-storage, pid
            kubelet: {kubeReserved: {cpu: -1}}
                x.yaml:9: EC2NodeClass default: spec.kubelet.kubeReserved.cpu: must be a text, not the number -1; quote it: "-1"
            kubelet: {imageGCHighThresholdPercent: 50, imageGCLowThresholdPercent: 50}
                x.yaml:9: EC2NodeClass default: spec.kubelet.imageGCLowThresholdPercent: must be below imageGCHighThresholdPercent
            kubelet: {registryPullQPS: 5}
                right
        "#]],
    );
}

#[test]
fn an_expression_needs_its_gate() {
    let class = good(&format!("{CLASS}  kubelet: {{maxPods: \"vcpus * 10\"}}\n"));
    expect!["spec.kubelet.maxPods: an expression needs the feature gate NodeClassCEL, which is off (FeatureGates=NodeClassCEL=true)"]
        .assert_eq(&Problem::in_words(&class.problems));
}

#[test]
fn the_annotation_says_how_gpus_are_shared() {
    let read = |mode: &str| {
        let annotation =
            format!("annotations: {{karpenter.k8s.aws/nvidia-consumable-capacity: '{mode}'}}");
        let class = good(&CLASS.replacen("metadata: {", &format!("metadata: {{{annotation}, "), 1));
        (class.gpu_sharing, Problem::in_words(&class.problems))
    };
    let field = "metadata.annotations[karpenter.k8s.aws/nvidia-consumable-capacity]";
    assert_eq!(read("disabled"), (None, String::new()));
    let closed = "sharing GPUs needs the feature gate DRANVIDIAGPU, which is off (FeatureGates=DRANVIDIAGPU=true)";
    assert_eq!(read("4"), (Some(GpuSharing::Shares(4)), format!("{field}: {closed}")));
    let (sharing, problems) = read("0");
    assert_eq!(sharing, None);
    assert!(problems.starts_with(&format!("{field}: \"0\" is not one of")), "{problems}");
}
