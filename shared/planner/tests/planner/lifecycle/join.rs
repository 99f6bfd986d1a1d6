//! Causes by what the console says, and what is asked for where it says nothing.

mod secrets;

use jiff::SignedDuration;
use model::{
    ClaimPhase, NodeClaim,
    interruption::StatusProblem,
    join::{
        AuthenticationMode, JoinEvidence, JoinImage, JoinNetwork, JoinQuestions, JoinReason,
        JoiningInstance,
        NodeAccess::{self, NoRole},
        WayOut,
    },
};
use planner::lifecycle::join::*;

use crate::planner::support::{add_managed, facts, now};

fn evidence(console: &str, access: NodeAccess) -> JoinEvidence {
    JoinEvidence {
        console: Ok(console.to_owned()),
        checks: Ok(Vec::new()),
        instance: Some(Ok(instance())),
        access: Some(Ok(access)),
        network: Some(Ok(network())),
        image: Some(Ok(Some(image("amd64")))),
        architecture: Some("amd64".to_owned()),
    }
}

fn entry(kind: &str) -> NodeAccess {
    NodeAccess::Entry { role: "node".to_owned(), kind: kind.to_owned() }
}

fn no_entry(mode: AuthenticationMode) -> NodeAccess {
    NodeAccess::NoEntry { role: "node".to_owned(), mode }
}

fn missing() -> NodeAccess {
    no_entry(AuthenticationMode::AccessEntries)
}

fn image(architecture: &str) -> JoinImage {
    JoinImage { name: "al2023".to_owned(), architecture: architecture.to_owned() }
}

fn instance() -> JoiningInstance {
    JoiningInstance {
        profile: Some("p".to_owned()),
        image: None,
        vpc: None,
        subnet: testkit::build::id::<model::SubnetId>("subnet-1").into(),
        security_groups: vec![testkit::build::id("sg-1"), testkit::build::id("sg-2")],
        has_public_address: false,
    }
}

/// Of which nothing is in the way.
fn network() -> JoinNetwork {
    JoinNetwork {
        is_private: true,
        route_table: Some("rtb-1".to_owned()),
        ways_out: Vec::new(),
        lets_out: true,
        lets_in: Some(true),
    }
}

fn way(target: &str, is_black_hole: bool) -> WayOut {
    WayOut { target: target.to_owned(), is_black_hole }
}

#[track_caller]
fn check(console: &str, expected: JoinReason) {
    let noise = "[    0.0] Linux version 6.1\n";
    let diagnosed = diagnose(&evidence(&format!("{noise}{console}\nlogin:"), entry("EC2_LINUX")));
    assert_eq!(diagnosed.reason, expected, "{console}: {}", diagnosed.message);
    if expected != JoinReason::UnknownJoinFailure {
        assert!(!diagnosed.message.contains("Linux version"), "{}", diagnosed.message);
    }
}

#[test]
fn the_console_names_the_cause() {
    for (console, expected) in [
        ("[ 2.1] Kernel panic - not syncing: VFS", JoinReason::KernelPanic),
        ("write /var/lib/x: no space left on device", JoinReason::DiskFull),
        ("/usr/bin/kubelet: cannot execute binary file", JoinReason::ArchitectureMismatch),
        ("cloud-init[9]: Failed to run module scripts-user", JoinReason::UserDataFailed),
        ("No cluster found for name: demo.", JoinReason::ClusterNotFound),
        (
            "ipamd: AssignPrivateIpAddresses: UnauthorizedOperation",
            JoinReason::CniPermissionMissing,
        ),
        ("x.dkr.ecr.us-west-2.amazonaws.com/pause: 403 Forbidden", JoinReason::ImagePullDenied),
        ("nodeadm: DescribeInstances UnauthorizedOperation", JoinReason::NodeRolePermissionMissing),
        ("no EC2 IMDS role found", JoinReason::NoNodeRole),
        ("Get http://169.254.169.254/latest: timeout", JoinReason::InstanceMetadataUnreachable),
        ("dial tcp: lookup x.eks.amazonaws.com: no such host", JoinReason::DnsFailed),
        ("x509: certificate signed by unknown authority", JoinReason::CertificateRejected),
        ("kubelet: failed to validate kubelet flags", JoinReason::KubeletConfigInvalid),
        ("dial unix /run/containerd.sock: no such file", JoinReason::ContainerRuntimeFailed),
        ("kubelet: register node: Unauthorized", JoinReason::NodeRoleRefused),
        ("dial tcp 10.0.0.1:443: i/o timeout", JoinReason::ApiServerUnreachable),
        ("Out of memory: Killed process 9 (kubelet)", JoinReason::OutOfMemory),
        ("bootstrap.sh: error: no IP", JoinReason::BootstrapFailed),
        ("all is well", JoinReason::UnknownJoinFailure),
    ] {
        check(console, expected);
    }
}

#[test]
fn what_explains_other_lines_goes_first() {
    let refused = "kubelet: Unauthorized";
    check(&format!("{refused}\nno space left on device\n{refused}"), JoinReason::DiskFull);
    check(
        "bootstrap.sh: error\ndial tcp 10.0.0.1:443: i/o timeout",
        JoinReason::ApiServerUnreachable,
    );
}

#[test]
fn a_refused_role_is_distinguished_by_its_access_entry() {
    let console = "kubelet: Unable to register node: Unauthorized";
    let diagnosed = |access| diagnose(&evidence(console, access));
    let unknown = diagnosed(missing());
    assert_eq!(unknown.reason, JoinReason::NoAccessEntry);
    assert!(unknown.message.contains("role node has no access entry"), "{}", unknown.message);
    assert_eq!(diagnosed(entry("EC2_LINUX")).reason, JoinReason::NodeRoleRefused);
    let unseen = JoinEvidence { access: Some(Err("denied".into())), ..evidence(console, NoRole) };
    assert_eq!(diagnose(&unseen).reason, JoinReason::NodeRoleRefused);
}

#[test]
fn what_the_console_does_not_tell_is_asked_for() {
    let diagnosed = |access| diagnose(&evidence("", access)).reason;
    assert_eq!(diagnosed(missing()), JoinReason::NoAccessEntry);
    assert_eq!(diagnosed(NoRole), JoinReason::NoNodeRole);
    assert_eq!(diagnosed(entry("EC2_LINUX")), JoinReason::UnknownJoinFailure);
    // What is reported explains more than what is missing.
    let both = evidence("kernel panic - not syncing", missing());
    assert_eq!(diagnose(&both).reason, JoinReason::KernelPanic);
    let ill = vec![StatusProblem::ScheduledEvent, StatusProblem::SystemCheck { since: None }];
    let ill = JoinEvidence { checks: Ok(ill), ..evidence("", entry("EC2_LINUX")) };
    assert_eq!(diagnose(&ill).reason, JoinReason::InstanceStatusFailed);
}

#[test]
fn an_unknown_cause_shows_the_end_of_the_console_without_secrets() {
    let lines: Vec<String> = (0..9).map(|number| format!("line {number}")).collect();
    let console = format!("{}\npassword=hunter2\n\n", lines.join("\n"));
    let diagnosed = diagnose(&evidence(&console, entry("EC2_LINUX")));
    let end = "line 5 | line 6 | line 7 | line 8 | password=***";
    assert!(diagnosed.message.ends_with(end), "{}", diagnosed.message);
    let long = "x".repeat(10_000);
    let diagnosed = diagnose(&evidence(&format!("{long}\n{long}"), entry("EC2_LINUX")));
    assert!(diagnosed.message.len() < 900, "{}", diagnosed.message.len());
}

#[test]
fn only_what_explains_the_console_is_asked_for() {
    let asked = |console: &str| {
        let JoinQuestions { access, network, image } = questions(&Ok(console.to_owned()));
        (access, network, image)
    };
    assert_eq!(asked("all is well"), (true, true, true));
    assert_eq!(asked("kernel panic - not syncing"), (false, false, false));
    assert_eq!(asked("kubelet: Unauthorized"), (true, false, false));
    assert_eq!(asked("dial tcp 10.0.0.1:443: i/o timeout"), (false, true, false));
    assert_eq!(asked("kubelet: exec format error"), (false, false, true));
    assert!(questions(&Err("denied".to_owned())).is_any());
}

#[test]
fn an_access_entry_that_is_not_for_nodes_is_named() {
    for console in ["", "kubelet: Unauthorized"] {
        let diagnosed = diagnose(&evidence(console, entry("STANDARD")));
        assert_eq!(diagnosed.reason, JoinReason::NodeRoleRefused);
        assert!(diagnosed.message.contains("is of type STANDARD"), "{}", diagnosed.message);
    }
    for kind in ["EC2", "EC2_LINUX", "EC2_WINDOWS"] {
        let reason = diagnose(&evidence("", entry(kind))).reason;
        assert_eq!(reason, JoinReason::UnknownJoinFailure, "{kind}");
    }
}

#[test]
fn how_else_a_role_may_be_known_is_said() {
    let both = diagnose(&evidence("", no_entry(AuthenticationMode::Both)));
    assert_eq!(both.reason, JoinReason::NoAccessEntry);
    assert!(both.message.ends_with("unless the ConfigMap aws-auth maps it"), "{}", both.message);
    let mapped = no_entry(AuthenticationMode::ConfigMap);
    let silent = diagnose(&evidence("", mapped.clone()));
    assert_eq!(silent.reason, JoinReason::UnknownJoinFailure);
    let refused = diagnose(&evidence("kubelet: Unauthorized", mapped));
    assert_eq!(refused.reason, JoinReason::NodeRoleRefused);
    assert!(refused.message.contains("aws-auth does not map to nodes"), "{}", refused.message);
}

#[test]
fn what_keeps_the_api_server_from_being_reached_is_named() {
    let public = || JoinNetwork { is_private: false, lets_in: None, ..network() };
    for (seen, words) in [
        (JoinNetwork { lets_out: false, ..network() }, "(sg-1, sg-2) lets it out to port 443"),
        (
            JoinNetwork { lets_in: Some(false), ..network() },
            "of the API server lets those of the instance (sg-1, sg-2) in on port 443",
        ),
        (public(), "subnet subnet-1 (route table rtb-1) has no route out of the VPC"),
        (
            JoinNetwork { ways_out: vec![way("nat-1", true)], ..public() },
            "(route table rtb-1) to nat-1 is a black hole",
        ),
        (
            JoinNetwork { ways_out: vec![way("igw-1", false)], ..public() },
            "is igw-1, for which the instance has no public address",
        ),
    ] {
        for console in ["", "dial tcp 10.0.0.1:443: i/o timeout"] {
            let network = Some(Ok(seen.clone()));
            let evidence = JoinEvidence { network, ..evidence(console, entry("EC2_LINUX")) };
            let diagnosed = diagnose(&evidence);
            assert_eq!(diagnosed.reason, JoinReason::ApiServerUnreachable);
            assert!(diagnosed.message.contains(words), "{}", diagnosed.message);
            assert_eq!(diagnosed.message.contains("its console: dial"), !console.is_empty());
        }
    }
    // A way that is open is enough, and with a public address a gateway is one.
    let ways = vec![way("nat-1", true), way("nat-2", false)];
    let seen = JoinNetwork { ways_out: ways, ..public() };
    let open = JoinEvidence { network: Some(Ok(seen)), ..evidence("", entry("EC2_LINUX")) };
    assert_eq!(diagnose(&open).reason, JoinReason::UnknownJoinFailure);
    let seen = JoinNetwork { ways_out: vec![way("igw-1", false)], ..public() };
    let addressed = JoiningInstance { has_public_address: true, ..instance() };
    let open = JoinEvidence { network: Some(Ok(seen)), instance: Some(Ok(addressed)), ..open };
    assert_eq!(diagnose(&open).reason, JoinReason::UnknownJoinFailure);
    let told = diagnose(&evidence("dial tcp 10.0.0.1:443: i/o timeout", entry("EC2_LINUX")));
    assert!(told.message.starts_with("routes and security groups let it"), "{}", told.message);
}

#[test]
fn an_image_for_other_processors_is_named() {
    let of = |console: &str, made_for: &str| {
        let image = Some(Ok(Some(image(made_for))));
        diagnose(&JoinEvidence { image, ..evidence(console, entry("EC2_LINUX")) })
    };
    for console in ["", "kubelet: exec format error"] {
        let other = of(console, "arm64");
        assert_eq!(other.reason, JoinReason::ArchitectureMismatch);
        let words = "its image al2023 is for arm64, and the instance is amd64";
        assert!(other.message.starts_with(words), "{}", other.message);
    }
    let same = of("kubelet: exec format error", "amd64");
    assert!(same.message.contains("is for amd64, as it is: a program"), "{}", same.message);
}

#[test]
fn several_causes_are_all_said() {
    let closed = JoinNetwork { lets_out: false, ..network() };
    let both = JoinEvidence { network: Some(Ok(closed)), ..evidence("", missing()) };
    let diagnosed = diagnose(&both);
    assert_eq!(diagnosed.reason, JoinReason::ApiServerUnreachable);
    let also = "; also: role node has no access entry in the cluster";
    assert!(diagnosed.message.ends_with(also), "{}", diagnosed.message);
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let none = JoinEvidence {
        console: Err("GetConsoleOutput: UnauthorizedOperation".into()),
        checks: Err("throttled".into()),
        access: Some(Err("denied".into())),
        network: Some(Err("slow".into())),
        ..evidence("", NoRole)
    };
    let diagnosed = diagnose(&none);
    assert_eq!(diagnosed.reason, JoinReason::NotLookedInto);
    let words = "could not look: GetConsoleOutput: UnauthorizedOperation; throttled; denied; slow";
    assert_eq!(diagnosed.message, words);
    let some = JoinEvidence { console: Ok(String::new()), ..none };
    let diagnosed = diagnose(&some);
    assert_eq!(diagnosed.reason, JoinReason::UnknownJoinFailure);
    assert!(
        diagnosed.message.ends_with("could not look: throttled; denied; slow"),
        "{}",
        diagnosed.message
    );
}

#[test]
fn a_claim_is_looked_into_after_two_minutes_and_every_five() {
    let mut claim = add_managed(&mut facts(Vec::new()), "node-1");
    claim.phase = ClaimPhase::Launched;
    let seconds = SignedDuration::from_secs;
    let launched = claim.instance.as_ref().unwrap().launched_at;
    assert!(!is_look_due(&claim, launched + seconds(119)));
    let first = launched + seconds(120);
    assert!(is_look_due(&claim, first));
    let diagnosed = diagnose(&evidence("", NoRole));
    let next = looked_into(&claim, &diagnosed, first);
    assert_eq!(next.version, claim.version + 1);
    assert!(!is_look_due(&next, first + seconds(299)));
    assert!(is_look_due(&next, first + seconds(300)));
    let joined = NodeClaim { phase: ClaimPhase::Registered, ..claim.clone() };
    assert!(!is_look_due(&joined, now() + seconds(9_999)));
    claim.instance = None;
    assert!(!is_look_due(&claim, now() + seconds(9_999)));
}
