//! What real answers of EC2 mean.

use aws_sdk_ec2::Client;
use model::{
    ImageId, InstanceId,
    interruption::{StatusProblem, StatusReport},
    node_class::{Image, ImageFamily, ImageTerm, SecurityGroupTerm},
};
use ports::{Discovery as _, Fault, Fleet as _};

use super::{Ec2Discovery, Ec2Fleet};
use crate::{
    eks::{Connection, EksClusters},
    ssm::Parameters,
    wire::Wire,
    zonal_shift::ZonalShifts,
};

const DONE: &str = r#"<TerminateInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <instancesSet/></TerminateInstancesResponse>"#;

fn refusal(code: &str) -> String {
    format!(
        "<Response><Errors><Error><Code>{code}</Code><Message>the text</Message></Error></Errors>\
         <RequestID>r-1</RequestID></Response>"
    )
}

async fn terminated(answers: &[Option<(u16, &str)>]) -> (Result<(), Fault>, Vec<String>) {
    let wire = Wire::answering(answers);
    let fleet = Ec2Fleet::new(Client::new(&wire.config()));
    let ids = ["i-1", "i-2"].map(|id| InstanceId::new(id).unwrap());
    let outcome = fleet.terminate(&ids).await.map_err(|error| error.fault);
    (outcome, wire.sent())
}

#[tokio::test]
async fn instances_are_terminated_by_one_call() {
    let (outcome, sent) = terminated(&[Some((200, DONE))]).await;
    assert_eq!(outcome, Ok(()));
    assert_eq!(
        sent,
        ["Action=TerminateInstances&Version=2016-11-15&InstanceId.1=i-1&InstanceId.2=i-2"]
    );
}

#[tokio::test]
async fn one_that_is_gone_does_not_keep_the_others() {
    let gone = refusal("InvalidInstanceID.NotFound");
    let answers = [Some((400, gone.as_str())), Some((400, gone.as_str())), Some((200, DONE))];
    let (outcome, sent) = terminated(&answers).await;
    assert_eq!(outcome, Ok(()));
    assert!(sent[1].ends_with("InstanceId.1=i-1") && sent[2].ends_with("InstanceId.1=i-2"));
}

#[tokio::test]
async fn one_that_is_refused_does_not_keep_the_others() {
    let (gone, denied) = (refusal("InvalidInstanceID.NotFound"), refusal("OperationNotPermitted"));
    let answers = [Some((400, gone.as_str())), Some((400, denied.as_str())), Some((200, DONE))];
    let (outcome, sent) = terminated(&answers).await;
    assert_eq!((outcome, sent.len()), (Err(Fault::Permanent), 3));
}

#[tokio::test]
async fn a_refusal_is_judged_by_its_code() {
    for (code, status, fault) in [
        ("RequestLimitExceeded", 503, Fault::Transient),
        ("UnauthorizedOperation", 403, Fault::Permanent),
        ("InternalError", 500, Fault::Unknown),
    ] {
        let answer = refusal(code);
        let (outcome, _) = terminated(&[Some((status, &answer))]).await;
        assert_eq!(outcome, Err(fault), "{code}");
    }
    let (outcome, _) = terminated(&[None]).await;
    assert_eq!(outcome, Err(Fault::Unknown));
}

/// Two images, of which one says of itself that it is for another processor.
const IMAGES: &str = r#"<DescribeImagesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><imagesSet>
    <item><imageId>ami-1</imageId><name>one</name><architecture>x86_64</architecture>
    <tagSet><item><key>kubernetes.io/arch</key><value>s390x</value></item></tagSet></item>
    <item><imageId>ami-2</imageId><name>two</name><architecture>arm64</architecture></item>
    </imagesSet></DescribeImagesResponse>"#;
const NOT_THERE: Option<(u16, &str)> = Some((400, r#"{"__type":"ParameterNotFound"}"#));
const FIRST: Option<(u16, &str)> = Some((200, r#"{"Parameter":{"Value":"ami-1"}}"#));
const SECOND: Option<(u16, &str)> = Some((200, r#"{"Parameter":{"Value":"ami-2"}}"#));

async fn images(terms: &[ImageTerm], answers: &[Option<(u16, &str)>]) -> (Vec<Image>, Wire) {
    let wire = Wire::answering(answers);
    (discovery(&wire).images(terms, "1.34").await.unwrap(), wire)
}

fn discovery(wire: &Wire) -> Ec2Discovery {
    let config = wire.config();
    let credentials = config.credentials_provider().unwrap();
    Ec2Discovery::new(
        &config,
        Parameters::new(&config, "us-west-2", credentials.clone()).over(wire.connector()),
        EksClusters::new(&config, "us-west-2", Connection::default()),
        ZonalShifts::new(&config, "us-west-2", credentials).over(wire.connector()),
    )
}

#[tokio::test]
async fn what_is_there_is_asked_for_once_in_five_minutes() {
    const NONE: Option<(u16, &str)> = Some((
        200,
        "<DescribeSecurityGroupsResponse><securityGroupInfo/></DescribeSecurityGroupsResponse>",
    ));
    const GROUP: Option<(u16, &str)> = Some((
        200,
        "<DescribeSecurityGroupsResponse><securityGroupInfo><item><groupId>sg-0a</groupId>\
         <groupName>nodes</groupName></item></securityGroupInfo></DescribeSecurityGroupsResponse>",
    ));
    let wire = Wire::answering(&[NONE, GROUP, GROUP, Some((200, IMAGES))]);
    let discovery = discovery(&wire);
    let named = |name: &str| [SecurityGroupTerm::Name(name.to_owned())];
    let asked = [("nodes", 0), ("nodes", 1), ("nodes", 1), ("others", 1)];
    for (name, count) in asked {
        assert_eq!(discovery.security_groups(&named(name)).await.unwrap().len(), count, "{name}");
    }
    let image = [ImageTerm::Id(ImageId::new("ami-1").unwrap())];
    let images = discovery.images(&image, "1.34").await.unwrap();
    assert_eq!(discovery.images(&image, "1.34").await.unwrap(), images);
    assert_eq!(wire.sent().len(), 4, "that there are none is asked again, what is there is not");
}

#[tokio::test]
async fn an_alias_has_the_images_whose_parameters_are_there() {
    let alias =
        ImageTerm::Alias { family: ImageFamily::Bottlerocket, version: "latest".to_owned() };
    let answers = [FIRST, SECOND, NOT_THERE, NOT_THERE, Some((200, IMAGES))];
    let (images, wire) = images(&[alias], &answers).await;
    let ids: Vec<&str> = images.iter().map(|image| image.id.as_str()).collect();
    assert_eq!(ids, ["ami-1", "ami-1", "ami-2"], "the first is for accelerators, too");
    let sent = wire.sent();
    assert!(sent.iter().any(|body| body.contains("aws-k8s-1.34-nvidia/arm64")), "{sent:?}");
}

#[tokio::test]
async fn an_ssm_parameter_that_is_not_there_is_left_out_and_tags_require_nothing() {
    let terms = ["/mine", "/gone"].map(|name| ImageTerm::SsmParameter(name.to_owned()));
    let (images, _) = images(&terms, &[FIRST, NOT_THERE, Some((200, IMAGES))]).await;
    let first = images.iter().find(|image| image.id.as_str() == "ami-1").unwrap();
    assert_eq!(first.requirements.to_string(), "kubernetes.io/arch In [amd64]");
}

/// One instance whose host fails and which is to be retired, one whose event is over, and one that is well and is
/// to be stopped.
const STATUS: &str = r#"<DescribeInstanceStatusResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <instanceStatusSet><item><instanceId>i-2</instanceId>
    <eventsSet><item><code>instance-retirement</code><description>The instance is running on
    degraded hardware</description><notBefore>2026-12-05T12:00:00.000Z</notBefore></item></eventsSet>
    <systemStatus><status>impaired</status><details><item><name>reachability</name>
    <status>failed</status><impairedSince>2026-11-21T12:00:00.000Z</impairedSince></item></details>
    </systemStatus><instanceStatus><status>impaired</status><details><item><name>reachability</name>
    <status>failed</status></item></details></instanceStatus></item>
    <item><instanceId>i-1</instanceId><eventsSet><item><code>system-reboot</code>
    <description>[Completed] Scheduled reboot</description></item></eventsSet>
    <systemStatus><status>ok</status><details><item><name>reachability</name><status>passed</status>
    </item></details></systemStatus></item>
    <item><instanceId>i-3</instanceId><eventsSet><item><code>instance-stop</code></item></eventsSet>
    <systemStatus><status>ok</status><details><item><name>reachability</name><status>passed</status>
    </item></details></systemStatus></item></instanceStatusSet></DescribeInstanceStatusResponse>"#;
const WELL: &str = r#"<DescribeInstanceStatusResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">
    <instanceStatusSet/></DescribeInstanceStatusResponse>"#;

#[tokio::test]
async fn what_is_wrong_with_instances_is_asked_by_three_filters_and_told_once() {
    let wire = Wire::answering(&[Some((200, STATUS)), Some((200, STATUS)), Some((200, WELL))]);
    let fleet = Ec2Fleet::new(Client::new(&wire.config()));
    let since = Some("2026-11-21T12:00:00Z".parse().unwrap());
    let problems = [
        ("i-2", StatusProblem::InstanceCheck { since: None }),
        ("i-2", StatusProblem::SystemCheck { since }),
        ("i-2", StatusProblem::ScheduledEvent),
        ("i-3", StatusProblem::ScheduledEvent),
    ];
    let reports = problems.map(|(instance, problem)| {
        let instance = InstanceId::new(instance).unwrap();
        StatusReport { instance, problem }
    });
    assert_eq!(fleet.impaired().await.unwrap(), reports);
    let prefix = "Action=DescribeInstanceStatus&Version=2016-11-15&MaxResults=1000&Filter.1.Name=";
    let asked: Vec<String> =
        wire.sent().iter().map(|sent| sent.trim_start_matches(prefix).to_owned()).collect();
    assert_eq!(
        asked,
        [
            "instance-status.status&Filter.1.Value.1=impaired",
            "system-status.status&Filter.1.Value.1=impaired",
            "event.code&Filter.1.Value.1=instance-reboot&Filter.1.Value.2=system-reboot\
             &Filter.1.Value.3=system-maintenance&Filter.1.Value.4=instance-retirement\
             &Filter.1.Value.5=instance-stop",
        ]
    );
}
