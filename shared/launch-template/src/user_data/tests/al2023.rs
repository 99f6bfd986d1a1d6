//! MIME archives for nodeadm.

use expect_test::expect;

use super::*;
use crate::testing::ipv6_settings;

/// What comes before our own part.
#[track_caller]
fn check_before_ours(user_data: &str, expected: &Expect) {
    let class = with(ImageFamily::Al2023, |class| class.user_data = Some(user_data.to_owned()));
    let text = write(&class, &settings()).unwrap();
    let (before, ours) = text.split_once("# Karpenter Generated NodeConfig\n").unwrap();
    assert!(ours.ends_with("\n\n--//--\n"), "ours is last: {ours}");
    expected.assert_eq(before);
}

#[test]
fn al2023_plain() {
    check(
        &class(ImageFamily::Al2023),
        &expect![[r#"
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
            apiServerEndpoint: https://0123456789ABCDEF.gr7.us-west-2.eks.example
            certificateAuthority: Z29sZGVuLWNhLWJ1bmRsZQ==
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
              - effect: NoSchedule
                key: dedicated
                value: payments
              - effect: NoExecute
                key: dedicated
              - effect: NoExecute
                key: karpenter.sh/unregistered
            flags:
            - "--node-labels=\"karpenter.sh/capacity-type=spot,karpenter.sh/do-not-sync-taints=true,notk8s.io/x=y,team=payments\""

        --//--
    "#]],
    );
}

#[test]
fn al2023_with_every_kubelet_field_and_raid0() {
    let class = with(ImageFamily::Al2023, |class| {
        class.kubelet = every_kubelet_field();
        class.is_raid0 = true;
    });
    check(
        &class,
        &expect![[r#"
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
                apiServerEndpoint: https://0123456789ABCDEF.gr7.us-west-2.eks.example
                certificateAuthority: Z29sZGVuLWNhLWJ1bmRsZQ==
                cidr: "10.100.0.0/16"
                name: golden
              containerd: {}
              instance:
                localStorage:
                  strategy: RAID0
              kubelet:
                config:
                  clusterDNS:
                  - "10.100.0.20"
                  cpuCFSQuota: false
                  evictionHard:
                    memory.available: "5%"
                  evictionMaxPodGracePeriod: 60
                  evictionSoft:
                    memory.available: "500Mi"
                  evictionSoftGracePeriod:
                    memory.available: "1m0s"
                  imageGCHighThresholdPercent: 85
                  imageGCLowThresholdPercent: 80
                  kubeReserved:
                    memory: "300Mi"
                  maxPods: 42
                  podsPerCore: 0
                  registerWithTaints:
                  - effect: NoSchedule
                    key: dedicated
                    value: payments
                  - effect: NoExecute
                    key: dedicated
                  - effect: NoExecute
                    key: karpenter.sh/unregistered
                  systemReserved:
                    cpu: "100m"
                    pid: "1000"
                flags:
                - "--node-labels=\"karpenter.sh/capacity-type=spot,karpenter.sh/do-not-sync-taints=true,notk8s.io/x=y,team=payments\""

            --//--
        "#]],
    );
}

#[test]
fn al2023_on_ipv6() {
    let text = write(&class(ImageFamily::Al2023), &ipv6_settings()).unwrap();
    assert!(text.contains("    cidr: fd30:1c53:5f8a::/108\n"), "{text}");
    assert!(text.contains("      clusterDNS:\n      - fd30:1c53:5f8a::a\n"), "{text}");
}

#[test]
fn al2023_needs_the_cidr_of_services() {
    let unknown = ClusterSettings { service_cidr: None, ..settings() };
    let refusal = write(&class(ImageFamily::Al2023), &unknown).unwrap_err();
    assert!(matches!(refusal, BatchRefusal::NotReady { .. }), "{refusal}");
}

#[test]
fn a_script_and_a_node_config_become_parts_before_ours() {
    check_before_ours(
        "#!/bin/bash\necho \"hello: world\"\nexit 0\n",
        &expect![[r#"
        MIME-Version: 1.0
        Content-Type: multipart/mixed; boundary="//"

        --//
        Content-Type: text/x-shellscript; charset="us-ascii"

        #!/bin/bash
        echo "hello: world"
        exit 0

        --//
        Content-Type: application/node.eks.aws

    "#]],
    );
    check_before_ours(
        "apiVersion: node.eks.aws/v1alpha1\nkind: NodeConfig\r\n",
        &expect![[r#"
        MIME-Version: 1.0
        Content-Type: multipart/mixed; boundary="//"

        --//
        Content-Type: application/node.eks.aws

        apiVersion: node.eks.aws/v1alpha1
        kind: NodeConfig

        --//
        Content-Type: application/node.eks.aws

    "#]],
    );
    check_before_ours(
        "",
        &expect![[r#"
        MIME-Version: 1.0
        Content-Type: multipart/mixed; boundary="//"

        --//
        Content-Type: application/node.eks.aws

    "#]],
    );
}

#[test]
fn parts_of_an_archive_come_before_ours() {
    let archive = "MIME-Version: 1.0\n\
                   Content-Type: multipart/mixed;\n \tBoundary=\"= B =\"; charset=x\n\
                   \n\
                   a preamble\n\
                   --= B =\n\
                   Content-Type: text/x-shellscript; charset=\"us-ascii\"\n\
                   X-Other: dropped\n\
                   \n\
                   #!/bin/bash\n\
                   echo first\n\
                   \n\
                   --= B =\n\
                   Content-Transfer-Encoding: base64\n\
                   Content-Type: application/node.eks.aws\n\
                   \n\
                   a2luZDogTm9k\n\
                   ZUNvbmZpZw==\n\
                   --= B =--\n\
                   an epilogue\n";
    check_before_ours(
        archive,
        &expect![[r#"
        MIME-Version: 1.0
        Content-Type: multipart/mixed; boundary="//"

        --//
        Content-Type: text/x-shellscript; charset="us-ascii"

        #!/bin/bash
        echo first

        --//
        Content-Type: application/node.eks.aws

        kind: NodeConfig
        --//
        Content-Type: application/node.eks.aws

    "#]],
    );
}

#[test]
fn an_archive_without_its_header_is_warned_of() {
    let archive = "--B\r\nContent-Type: text/x-shellscript\r\n\r\n#!/bin/sh\r\n--B--\r\n";
    for family in [ImageFamily::Al2, ImageFamily::Al2023] {
        let warnings = |text: &str| {
            let mut class = class(family).class;
            class.user_data = Some(text.to_owned());
            user_data_warnings(&class)
        };
        let said = warnings(archive);
        assert!(said.len() == 1 && said[0].contains("boundary=\"B\""), "{said:?}");
        assert_eq!(warnings(&format!("\n{archive}")), said);
        for text in [
            "",
            "#!/bin/sh\n--B\nContent-Type: x\n",
            "---\nkind: NodeConfig\n",
            "--B\necho\n",
            "--\nContent-Type: x\n",
            &format!("Content-Type: multipart/mixed; boundary=B\n\n{archive}"),
        ] {
            let said = warnings(text);
            assert!(!said.iter().any(|text| text.contains("boundary")), "{text}: {said:?}");
        }
    }
}

#[test]
fn archives_that_cannot_be_merged_are_refused() {
    let al2023 = |text: &str, expected: &Expect| check_refused(ImageFamily::Al2023, text, expected);
    al2023(
        "MIME-Version: 1.0\nContent-Type: text/x-shellscript\n\necho no\n",
        &expect![[r"
        it starts like MIME, but is not multipart: Content-Type must be multipart/mixed
    "]],
    );
    al2023(
        "MIME-Version: 1.0\n\n",
        &expect![[r"
        it starts like MIME, but is not multipart: Content-Type must be multipart/mixed
    "]],
    );
    al2023(
        "Content-Type: multipart/mixed\n\n",
        &expect![[r"
        it is multipart MIME, but its Content-Type names no boundary
    "]],
    );
    al2023(
        "\nMIME-Version: 1.0\nno header\n",
        &expect![[r"
        it starts like MIME, but line 3 is no header `Name: value`
    "]],
    );
    al2023(
        "Content-Type: multipart/mixed; boundary=B\n\n--B\n\nx\n",
        &expect![[r"
        it is multipart MIME, but there is no line `--B--` that ends it
    "]],
    );
    let part = |head: &str, body: &str| {
        format!("Content-Type: multipart/mixed; boundary=B\n\n--B\n{head}\n\n{body}\n--B--\n")
    };
    al2023(
        &part("no header", "x"),
        &expect![[r"
        it starts like MIME, but line 4 is no header `Name: value`
    "]],
    );
    al2023(
        &part("Content-Transfer-Encoding: quoted-printable", "x"),
        &expect![[r"
        part 1 of the MIME archive: Content-Transfer-Encoding quoted-printable: not
        supported yet (7bit, 8bit, binary and base64 are)
    "]],
    );
    al2023(
        &part("Content-Transfer-Encoding: base64", "?"),
        &expect![[r"
        part 1 of the MIME archive: Content-Transfer-Encoding base64: it is not valid
        base64
    "]],
    );
}

#[test]
fn user_data_of_more_than_16_kib_is_refused() {
    let script = format!("#!/bin/bash\n{}\n", "x".repeat(limits::USER_DATA_BYTES_MAX));
    check_refused(
        ImageFamily::Al2023,
        &script,
        &expect![[r"
        with what is added to it, it has 17335 bytes; EC2 takes at most 16384 before
        base64 (move parts of it to the image or to a file that it fetches)
    "]],
    );
}

#[test]
fn members_that_only_the_node_looks_at_are_passed_through() {
    let class = with(ImageFamily::Al2023, |class| {
        let entries = [("featureGates", r#"{"A":true}"#), ("registryPullQPS", "5")];
        class.kubelet.passed_through =
            entries.map(|(key, json)| (key.to_owned(), json.to_owned())).into();
    });
    let text = write(&class, &settings()).unwrap();
    // In the order of names, between those that were worked out.
    let expected =
        "      featureGates: {\"A\":true}\n      maxPods: 29\n      registerWithTaints:\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\n      registryPullQPS: 5\n"), "{text}");
}
