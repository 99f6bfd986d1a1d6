//! TOML settings.

use expect_test::expect;
use model::node_class::ImageTerm;

use super::*;
use crate::testing::image;

#[test]
fn bottlerocket_plain() {
    check(
        &class(ImageFamily::Bottlerocket),
        &expect![[r#"
        [settings]

        [settings.kubernetes]
        api-server = "https://0123456789ABCDEF.gr7.us-west-2.eks.example"
        cluster-certificate = "Z29sZGVuLWNhLWJ1bmRsZQ=="
        cluster-name = "golden"
        cluster-dns-ip = "10.100.0.10"
        max-pods = 29

        [settings.kubernetes.node-labels]
        "karpenter.sh/capacity-type" = "spot"
        "karpenter.sh/do-not-sync-taints" = "true"
        "notk8s.io/x" = "y"
        team = "payments"

        [settings.kubernetes.node-taints]
        dedicated = ["payments:NoSchedule", ":NoExecute"]
        "karpenter.sh/unregistered" = [":NoExecute"]
    "#]],
    );
}

#[test]
fn bottlerocket_with_every_kubelet_field() {
    let kubelet = every_kubelet_field();
    let class = with(ImageFamily::Bottlerocket, |class| class.kubelet = kubelet.clone());
    check(
        &class,
        &expect![[r#"
            [settings]

            [settings.kubernetes]
            api-server = "https://0123456789ABCDEF.gr7.us-west-2.eks.example"
            cluster-certificate = "Z29sZGVuLWNhLWJ1bmRsZQ=="
            cluster-name = "golden"
            cluster-dns-ip = "10.100.0.20"
            max-pods = 42
            eviction-max-pod-grace-period = 60
            image-gc-high-threshold-percent = "85"
            image-gc-low-threshold-percent = "80"
            cpu-cfs-quota-enforced = false

            [settings.kubernetes.node-labels]
            "karpenter.sh/capacity-type" = "spot"
            "karpenter.sh/do-not-sync-taints" = "true"
            "notk8s.io/x" = "y"
            team = "payments"

            [settings.kubernetes.node-taints]
            dedicated = ["payments:NoSchedule", ":NoExecute"]
            "karpenter.sh/unregistered" = [":NoExecute"]

            [settings.kubernetes.eviction-hard]
            "memory.available" = "5%"

            [settings.kubernetes.eviction-soft]
            "memory.available" = "500Mi"

            [settings.kubernetes.eviction-soft-grace-period]
            "memory.available" = "1m0s"

            [settings.kubernetes.kube-reserved]
            memory = "300Mi"

            [settings.kubernetes.system-reserved]
            cpu = "100m"
            pid = "1000"
        "#]],
    );
}

const OWN_SETTINGS: &str = r#"
# Of the top level only settings stay.
[other]
x = 1

[settings.kubernetes]
cluster-name = "mine" # not for long
max-pods = 7
cluster-domain = "example.local" # stays
made-up = true

[settings.kubernetes.node-labels]
"mine" = "yes"
"karpenter.sh/capacity-type" = "mine"

[settings.kubernetes.node-taints]
"mine" = ["yes:NoSchedule"]

# So that Elasticsearch starts.
[settings.kernel.sysctl]
"vm.max_map_count" = "262144"

[settings.bootstrap-commands.mine]
commands = [["true"]]
mode = "once"
essential = false
"#;

fn with_own_settings() -> ResolvedNodeClass {
    with(ImageFamily::Bottlerocket, |class| {
        class.user_data = Some(OWN_SETTINGS.to_owned());
        class.is_raid0 = true;
    })
}

#[test]
fn bottlerocket_keeps_the_users_settings_and_comments() {
    check(
        &with_own_settings(),
        &expect![[r#"

        [settings.kubernetes]
        cluster-name = "golden" # not for long
        max-pods = 29
        cluster-domain = "example.local" # stays
        api-server = "https://0123456789ABCDEF.gr7.us-west-2.eks.example"
        cluster-certificate = "Z29sZGVuLWNhLWJ1bmRsZQ=="
        cluster-dns-ip = "10.100.0.10"

        [settings.kubernetes.node-labels]
        "mine" = "yes"
        "karpenter.sh/capacity-type" = "spot"
        "karpenter.sh/do-not-sync-taints" = "true"
        "notk8s.io/x" = "y"
        team = "payments"

        [settings.kubernetes.node-taints]
        dedicated = ["payments:NoSchedule", ":NoExecute"]
        "karpenter.sh/unregistered" = [":NoExecute"]

        # So that Elasticsearch starts.
        [settings.kernel.sysctl]
        "vm.max_map_count" = "262144"

        [settings.bootstrap-commands.mine]
        commands = [["true"]]
        mode = "once"
        essential = false

        [settings.bootstrap-commands.000-mount-instance-storage]
        commands = [["apiclient", "ephemeral-storage", "init"], ["apiclient", "ephemeral-storage", "bind"]]
        mode = "always"
        essential = true
    "#]],
    );
}

#[test]
fn settings_that_reach_no_node_can_be_told() {
    assert_eq!(
        user_data_warnings(&with_own_settings().class),
        [
            "other does not reach nodes",
            "settings.kubernetes.made-up does not reach nodes",
            "settings.kubernetes.max-pods does not reach nodes: spec.kubelet.maxPods takes its place",
            "settings.kubernetes.node-taints does not reach nodes: spec.template.spec.taints of the NodePool takes its \
             place",
        ]
    );
    assert!(user_data_warnings(&class(ImageFamily::Al2023).class).is_empty());
}

#[test]
fn merging_what_was_merged_changes_nothing() {
    let spellings = [
        OWN_SETTINGS,
        "settings.kubernetes.max-pods = 1\nsettings.motd = 'hi'\n",
        "settings = { kubernetes = { max-pods = 1, node-labels = { a = 'b' } }, motd = 'hi' }\n",
        "[settings]\nkubernetes.node-labels.a = 'b'\nmotd = 'hi'\n",
        "[settings.kubernetes.node-labels]\na = 'b'\n[settings]\nmotd = 'hi'\n",
    ];
    for text in spellings {
        let once = with(ImageFamily::Bottlerocket, |class| {
            class.user_data = Some(text.to_owned());
            class.is_raid0 = true;
            class.kubelet = every_kubelet_field();
        });
        let merged = write(&once, &settings()).unwrap();
        let twice = with(ImageFamily::Bottlerocket, |class| {
            class.user_data = Some(merged.clone());
            class.is_raid0 = true;
            class.kubelet = every_kubelet_field();
        });
        assert_eq!(write(&twice, &settings()).unwrap(), merged, "{text}");
    }
}

#[test]
fn settings_that_bottlerocket_would_not_take_are_refused() {
    let refused = |text: &str, expected: &Expect| {
        check_refused(ImageFamily::Bottlerocket, text, expected);
    };
    refused(
        "#!/bin/bash\necho no\n",
        &expect![[r"
        Bottlerocket takes TOML, but line 2 is none: key with no value, expected `=`
    "]],
    );
    refused(
        "[settings.kubernetes]\nmax-pods = 7\nmax-pods = 8\n",
        &expect![[r"
        Bottlerocket takes TOML, but line 3 is none: duplicate key
    "]],
    );
    refused(
        "settings = 1\n",
        &expect![[r"
        `settings` must be a table
    "]],
    );
    refused(
        "[settings]\nkubernetes = []\n",
        &expect![[r"
        `settings.kubernetes` must be a table
    "]],
    );
    refused(
        "[settings.kubernetes]\nregistry-qps = \"7\"\n",
        &expect![[r"
        `settings.kubernetes.registry-qps` must be an integer
    "]],
    );
    refused(
        "[settings.kubernetes]\nallowed-unsafe-sysctls = [1]\n",
        &expect![[r"
        `settings.kubernetes.allowed-unsafe-sysctls` must be a list of strings
    "]],
    );
}

#[test]
fn older_bottlerocket_gets_what_to_bind() {
    let search = |name: &str| ImageTerm::Search {
        name: Some(name.to_owned()),
        owner: None,
        tags: BTreeMap::new(),
    };
    let alias = |version: &str| ImageTerm::Alias {
        family: ImageFamily::Bottlerocket,
        version: version.to_owned(),
    };
    let by_id = |id: &str| ImageTerm::Id(model::ImageId::new(id).unwrap());
    let named = "bottlerocket-aws-k8s-1.34-x86_64-v1.50.0-0a1b2c3d";
    for (term, image_name, is_given) in [
        (alias("latest"), "", false),
        (alias("1.46.0"), "", false),
        (alias("v2.0.0"), "", false),
        (alias("v1.45.2"), named, true),
        (alias("1.9.0"), "", true),
        (alias("1.46"), "", true),
        (search("bottlerocket-aws-k8s-1.34-x86_64-v1.46.1-*"), "", false),
        (search("bottlerocket-*"), named, false),
        (search("bottlerocket-*"), "mine-v1.50.0", true),
        (by_id("ami-0c01"), "mine-v1.50.0", false),
        (by_id("ami-0c01"), "mine", true),
    ] {
        let mut class = with(ImageFamily::Bottlerocket, |class| {
            class.is_raid0 = true;
            class.image_terms = vec![term.clone()];
        });
        class.images = vec![image("ami-0c01", image_name, &[])];
        let text = write(&class, &settings()).unwrap();
        assert_eq!(text.contains("--dirs"), is_given, "{term:?} {image_name}");
    }
}
