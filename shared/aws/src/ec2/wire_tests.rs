//! What real answers of EC2 mean.

use aws_sdk_ec2::Client;
use model::InstanceId;
use ports::{Fault, Fleet as _};

use super::Ec2Fleet;
use crate::wire::Wire;

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
