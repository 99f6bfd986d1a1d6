//! AL2, Windows and custom images.

use expect_test::expect;

use super::*;

#[test]
fn al2_is_joined_by_its_script() {
    check(
        &with(ImageFamily::Al2, |class| class.kubelet = every_kubelet_field()),
        &expect![[r#"
            MIME-Version: 1.0
            Content-Type: multipart/mixed; boundary="//"

            --//
            Content-Type: text/x-shellscript; charset="us-ascii"

            #!/bin/bash -xe
            exec > >(tee /var/log/user-data.log|logger -t user-data -s 2>/dev/console) 2>&1
            /etc/eks/bootstrap.sh 'golden' --apiserver-endpoint 'https://0123456789ABCDEF.gr7.us-west-2.eks.example' --b64-cluster-ca 'Z29sZGVuLWNhLWJ1bmRsZQ==' \
            --dns-cluster-ip '10.100.0.20' \
            --use-max-pods false \
            --kubelet-extra-args '--node-labels="karpenter.sh/capacity-type=spot,karpenter.sh/do-not-sync-taints=true,notk8s.io/x=y,team=payments" --register-with-taints="dedicated=payments:NoSchedule,dedicated:NoExecute,karpenter.sh/unregistered:NoExecute" --max-pods=42 --pods-per-core=0 --system-reserved="cpu=100m,pid=1000" --kube-reserved="memory=300Mi" --eviction-hard="memory.available<5%" --eviction-soft="memory.available<500Mi" --eviction-soft-grace-period="memory.available=1m0s" --eviction-max-pod-grace-period=60 --image-gc-high-threshold=85 --image-gc-low-threshold=80 --cpu-cfs-quota=false'
            --//--
        "#]],
    );
}

#[test]
fn al2_on_ipv6_with_local_disks() {
    let class = with(ImageFamily::Al2, |class| class.is_raid0 = true);
    let text = write(&class, &crate::testing::ipv6_settings()).unwrap();
    let options: Vec<&str> =
        text.lines().filter(|line| line.starts_with("--") && !line.starts_with("--//")).collect();
    expect![[r#"
        --ip-family ipv6 \
        --dns-cluster-ip 'fd30:1c53:5f8a::a' \
        --use-max-pods false \
        --kubelet-extra-args '--node-labels="karpenter.sh/capacity-type=spot,karpenter.sh/do-not-sync-taints=true,notk8s.io/x=y,team=payments" --register-with-taints="dedicated=payments:NoSchedule,dedicated:NoExecute,karpenter.sh/unregistered:NoExecute" --max-pods=29' \
        --local-disks raid0"#]].assert_eq(&options.join("\n"));
}

#[test]
fn al2_keeps_scripts_and_archives_before_its_own_part() {
    let parts = |text: &str| {
        let class = with(ImageFamily::Al2, |class| class.user_data = Some(text.to_owned()));
        let text = write(&class, &settings()).unwrap();
        text.split("#!/bin/bash -xe").next().unwrap().to_owned()
    };
    expect![[r#"
        MIME-Version: 1.0
        Content-Type: multipart/mixed; boundary="//"

        --//
        Content-Type: text/x-shellscript; charset="us-ascii"

        #!/bin/sh
        echo one

        --//
        Content-Type: text/x-shellscript; charset="us-ascii"

    "#]]
    .assert_eq(&parts("#!/bin/sh\r\necho one\n"));
    let archive = "Content-Type: multipart/mixed; boundary=\"b\"\nMIME-Version: 1.0\n\n--b\n\
                   content-transfer-encoding: base64\nContent-Type: text/cloud-config\n\n\
                   I2Nsb3VkLWNvbmZpZw==\n--b--\n";
    expect![[r#"
        MIME-Version: 1.0
        Content-Type: multipart/mixed; boundary="//"

        --//
        Content-Transfer-Encoding: base64
        Content-Type: text/cloud-config

        I2Nsb3VkLWNvbmZpZw==
        --//
        Content-Type: text/x-shellscript; charset="us-ascii"

    "#]]
    .assert_eq(&parts(archive));
}

#[test]
fn al2_refuses_what_only_looks_like_an_archive() {
    check_refused(
        ImageFamily::Al2,
        "MIME-Version: 1.0\n\nhello",
        &expect![[r"
        it starts like MIME, but is not multipart: Content-Type must be multipart/mixed
    "]],
    );
}

#[test]
fn windows_is_joined_after_the_users_own_lines() {
    check(
        &with(ImageFamily::Windows2022, |class| {
            class.user_data = Some("Write-Host 'first'".to_owned());
            class.kubelet.pods_per_core = Some(10);
        }),
        &expect![[r#"
            <powershell>
            Write-Host 'first'
            [string]$EKSBootstrapScriptFile = "$env:ProgramFiles\Amazon\EKS\Start-EKSBootstrap.ps1"
            & $EKSBootstrapScriptFile -EKSClusterName 'golden' -APIServerEndpoint 'https://0123456789ABCDEF.gr7.us-west-2.eks.example' -Base64ClusterCA 'Z29sZGVuLWNhLWJ1bmRsZQ==' -KubeletExtraArgs '--node-labels="karpenter.sh/capacity-type=spot,karpenter.sh/do-not-sync-taints=true,notk8s.io/x=y,team=payments" --register-with-taints="dedicated=payments:NoSchedule,dedicated:NoExecute,karpenter.sh/unregistered:NoExecute" --max-pods=29 --pods-per-core=10' -DNSClusterIP '10.100.0.10'
            </powershell>"#]],
    );
}

#[test]
fn windows_without_dns_or_certificate_authority_names_neither() {
    let settings = ClusterSettings { dns_ip: None, ca_bundle: String::new(), ..settings() };
    let text = write(&class(ImageFamily::Windows2025), &settings).unwrap();
    assert!(!text.contains("-DNSClusterIP") && !text.contains("-Base64ClusterCA"), "{text}");
}

#[test]
fn of_a_custom_image_every_byte_is_the_users() {
    for text in ["", "\r\n\tgr\u{fc}\u{df}e  ", "MIME-Version: nonsense"] {
        let class = with(ImageFamily::Custom, |class| class.user_data = Some(text.to_owned()));
        assert_eq!(write(&class, &settings()).unwrap(), text);
    }
}
