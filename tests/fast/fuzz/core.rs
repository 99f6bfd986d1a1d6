//! Outside text that the core reads itself: cron schedules, user data, expressions, names with wildcards.

use std::{hint::black_box, sync::OnceLock};

use api::{files, objects::Object};
use jiff::{SignedDuration, Timestamp};
use launch_template::{
    NodeSettings, expression_failure, open_expressions, requests, user_data_warnings,
};
use model::{
    ClusterName, CronSchedule, InstanceType, NodeClaim, RegionCatalog, SecurityGroupId, SubnetId,
    Zone, ZoneId,
    node_class::{
        ClusterSettings, Image, ImageFamily, MaxPods, NodeClass, ResolvedNodeClass, Subnet,
    },
};

use super::harness::{Target, owned};

const CLASS: &str = "
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2023
  role: nodes
  amiSelectorTerms: [{id: ami-0123456789abcdef0}]
  subnetSelectorTerms: [{id: subnet-0123456789abcdef0}]
  securityGroupSelectorTerms: [{id: sg-0123456789abcdef0}]
---
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata: {name: general-1, labels: {karpenter.sh/nodepool: general}}
spec:
  nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
  requirements:
  - {key: node.kubernetes.io/instance-type, operator: In, values: [m5.large]}
  - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
";

/// What user data is written for.
struct Node {
    claim: NodeClaim,
    class: NodeClass,
    types: Vec<std::sync::Arc<InstanceType>>,
    settings: ClusterSettings,
}

fn node() -> &'static Node {
    static NODE: OnceLock<Node> = OnceLock::new();
    NODE.get_or_init(|| {
        let manifest = files::read(CLASS, "class.yaml");
        assert_eq!(manifest.problems, []);
        let class = manifest.objects.iter().find_map(|object| match object {
            Object::NodeClass(read) => Some(&read.class),
            _ => None,
        });
        let claim = manifest.objects.iter().find_map(|object| match object {
            Object::NodeClaim(claim) => Some(claim),
            _ => None,
        });
        let (class, claim) = (class.expect("a class"), claim.expect("a claim"));
        let catalog = instance_catalog::builtin().expect("the catalog of this program");
        let wanted = |instance_type: &&std::sync::Arc<InstanceType>| {
            instance_type.name.as_str() == "m5.large"
        };
        Node {
            claim: NodeClaim::clone(claim),
            class: class.clone(),
            types: catalog.instance_types.iter().filter(wanted).cloned().collect(),
            settings: ClusterSettings {
                name: ClusterName::new("demo").expect("a name"),
                endpoint: "https://cluster.example".to_owned(),
                ca_bundle: "Y2E=".to_owned(),
                service_cidr: Some("10.100.0.0/16".to_owned()),
                dns_ip: Some("10.100.0.10".to_owned()),
                kubernetes_version: "1.34".to_owned(),
                region: "us-west-2".to_owned(),
            },
        }
    })
}

/// The user data of every image family with `text` as the user's own.
fn user_data(text: &str) {
    let Node { claim, class, types, settings } = node();
    for image_family in ImageFamily::ALL {
        let user_data = Some(text.to_owned());
        let class = NodeClass { image_family, user_data, ..class.clone() };
        let _warnings = black_box(user_data_warnings(&class));
        let resolved = ResolvedNodeClass {
            class,
            subnets: vec![Subnet {
                id: SubnetId::new("subnet-0123456789abcdef0").expect("an id"),
                zone: Zone::new("us-west-2a").expect("a zone"),
                zone_id: ZoneId::new("usw2-az1").expect("an id"),
                available_ip_address_count: 100,
            }],
            security_groups: vec![SecurityGroupId::new("sg-0123456789abcdef0").expect("an id")],
            images: vec![Image {
                id: "ami-0123456789abcdef0".parse().expect("an id"),
                name: "mine".to_owned(),
                created_at: None,
                deprecated_at: None,
                requirements: model::Requirements::new(),
            }],
            reservations: Vec::new(),
            placement_group: None,
            launch_template: model::node_class::ResolvedTemplate::Made,
        };
        let claims = std::slice::from_ref(claim);
        let _launch = black_box(requests(claims, &resolved, types, settings, "profile"));
    }
}

fn schedule(text: &str) {
    let Ok(schedule) = CronSchedule::parse(text) else { return };
    let now = Timestamp::UNIX_EPOCH;
    let _next = black_box(schedule.next_after(now));
    let _active = black_box(schedule.is_active(SignedDuration::from_hours(8), now));
}

/// An expression as it is checked when the class is read, and for an instance type.
fn expression(text: &str) {
    static CATALOG: OnceLock<RegionCatalog> = OnceLock::new();
    let Node { class, .. } = node();
    let mut class = class.clone();
    class.kubelet.max_pods = Some(MaxPods::Expression(text.to_owned()));
    let memory = ("memory".parse().expect("a name"), text.to_owned());
    class.kubelet.kube_reserved = [memory].into();
    open_expressions(&mut class);
    let catalog = CATALOG.get_or_init(|| {
        let mut catalog = instance_catalog::builtin().expect("the catalog of this program");
        catalog.instance_types.truncate(1);
        catalog
    });
    let _failure = black_box(expression_failure(catalog, &class, &NodeSettings::default()));
}

fn wildcards(text: &str) {
    let _like = black_box(simulator::is_like(text, &"a".repeat(2_000)));
}

const MIME: &str = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=\"//\"\n\n--//\n\
    Content-Type: text/x-shellscript; charset=\"us-ascii\"\n\n#!/bin/bash\necho hello\n\
    --//\nContent-Type: application/node.eks.aws\n\napiVersion: node.eks.aws/v1alpha1\n\
    kind: NodeConfig\nspec: {kubelet: {config: {maxPods: 5}}}\n--//--\n";

pub(crate) fn targets() -> Vec<Target> {
    vec![
        Target {
            name: "cron",
            parse: schedule,
            corpus: owned(&[
                "0 9 * * mon-fri",
                "*/15 0-8,20-23 1,15 jan-mar 0",
                "@daily",
                "TZ=Europe/Berlin 0 0 31 2 ?",
                "59 23 29 2 *",
            ]),
            long: Some(|count| format!("{}0 9 * * *", "1,2,".repeat(count))),
        },
        Target {
            name: "user data",
            parse: user_data,
            corpus: owned(&[
                MIME,
                "#!/bin/bash\necho hello\n",
                "[settings.kubernetes]\nmax-pods = 5\n[settings.kubernetes.node-labels]\n\"a/b\" = \"c\"\n\
                 [settings.kernel]\nlockdown = 'integrity'\n",
                "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\nspec:\n  kubelet: {flags: [--v=2]}\n",
                "<powershell>\nWrite-Host hello\n</powershell>",
            ]),
            long: Some(|count| {
                let part = "--//\nContent-Type: text/x-shellscript\n\necho\n";
                format!(
                    "Content-Type: multipart/mixed; boundary=\"//\"\n\n{}--//--\n",
                    part.repeat(count / 8)
                )
            }),
        },
        Target {
            name: "expressions",
            parse: expression,
            corpus: owned(&[
                "min(110, ((default_enis - 1) * (ips_per_eni - 1)) * 16 + 2)",
                "instance_type.startsWith('m5.') && vcpus > 2 ? int(double(memory_mib) * 0.05) : -1",
                "{'m5.large': [1, 2u, 3.5e1]}[instance_type].filter(x, x > 1).map(y, y * 2)[0] % 0x1f",
                "[vcpus].exists_one(x, has({'a': x}.a) || \"\\u00e4\" in r'\\') ? max_pods : size('a\\n')",
            ]),
            long: Some(|count| format!("{}1", "1 + ".repeat(count))),
        },
        Target {
            name: "settings in user data",
            parse: user_data,
            corpus: owned(&["[settings.host-containers.admin]\nenabled = true\n"]),
            long: Some(|count| {
                (0..count).fold("[settings.kernel.sysctl]\n".to_owned(), |text, number| {
                    text + &format!("\"a.{number}\" = \"1\"\n")
                })
            }),
        },
        Target {
            name: "names with wildcards",
            parse: wildcards,
            corpus: owned(&["*nodes*", "a?c", "*", "[a-z]*", "a*a*a*a*b"]),
            long: Some(|count| "a*".repeat(count / 2)),
        },
    ]
}
