//! Causes by what the console says, and what is asked for where it says nothing.

use model::join::NodeAccess::{Entry, NoEntry, NoRole};

use super::*;
use crate::testing::{add_managed, facts, now};

fn evidence(console: &str, access: NodeAccess) -> JoinEvidence {
    JoinEvidence { console: Ok(console.to_owned()), checks: Ok(Vec::new()), access: Ok(access) }
}

#[track_caller]
fn check(console: &str, expected: JoinReason) {
    let noise = "[    0.0] Linux version 6.1\n";
    let diagnosed = diagnose(&evidence(&format!("{noise}{console}\nlogin:"), Entry("node".into())));
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
fn a_refused_role_is_told_apart_by_its_access_entry() {
    let console = "kubelet: Unable to register node: Unauthorized";
    let diagnosed = |access| diagnose(&evidence(console, access));
    let missing = diagnosed(NoEntry("node".into()));
    assert_eq!(missing.reason, JoinReason::NoAccessEntry);
    assert!(missing.message.contains("role node has no access entry"), "{}", missing.message);
    assert_eq!(diagnosed(Entry("node".into())).reason, JoinReason::NodeRoleRefused);
    let unknown = JoinEvidence { access: Err("denied".into()), ..evidence(console, NoRole) };
    assert_eq!(diagnose(&unknown).reason, JoinReason::NodeRoleRefused);
}

#[test]
fn what_the_console_does_not_tell_is_asked_for() {
    let diagnosed = |access| diagnose(&evidence("", access)).reason;
    assert_eq!(diagnosed(NoEntry("node".into())), JoinReason::NoAccessEntry);
    assert_eq!(diagnosed(NoRole), JoinReason::NoNodeRole);
    assert_eq!(diagnosed(Entry("node".into())), JoinReason::UnknownJoinFailure);
    // What is told explains more than what is not there.
    let both = evidence("kernel panic - not syncing", NoEntry("node".into()));
    assert_eq!(diagnose(&both).reason, JoinReason::KernelPanic);
    let ill = vec![StatusProblem::ScheduledEvent, StatusProblem::SystemCheck { since: None }];
    let ill = JoinEvidence { checks: Ok(ill), ..evidence("", Entry("node".into())) };
    assert_eq!(diagnose(&ill).reason, JoinReason::InstanceStatusFailed);
}

#[test]
fn an_unknown_cause_shows_the_end_of_the_console_without_secrets() {
    let lines: Vec<String> = (0..9).map(|number| format!("line {number}")).collect();
    let console = format!("{}\npassword=hunter2\n\n", lines.join("\n"));
    let diagnosed = diagnose(&evidence(&console, Entry("node".into())));
    let end = "line 5 | line 6 | line 7 | line 8 | password=***";
    assert!(diagnosed.message.ends_with(end), "{}", diagnosed.message);
    let long = "x".repeat(10_000);
    let diagnosed = diagnose(&evidence(&format!("{long}\n{long}"), Entry("node".into())));
    assert!(diagnosed.message.len() < 900, "{}", diagnosed.message.len());
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let none = JoinEvidence {
        console: Err("GetConsoleOutput: UnauthorizedOperation".into()),
        checks: Err("throttled".into()),
        access: Err("denied".into()),
    };
    let diagnosed = diagnose(&none);
    assert_eq!(diagnosed.reason, JoinReason::NotLookedInto);
    let words = "could not look: GetConsoleOutput: UnauthorizedOperation; throttled; denied";
    assert_eq!(diagnosed.message, words);
    let some = JoinEvidence { console: Ok(String::new()), ..none };
    let diagnosed = diagnose(&some);
    assert_eq!(diagnosed.reason, JoinReason::UnknownJoinFailure);
    assert!(
        diagnosed.message.ends_with("could not look: throttled; denied"),
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
