//! What can be seen of an instance whose node does not join: its console, EC2's checks, and its role's access entry.

use aws_sdk_ec2::types::InstanceStatus;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{ClusterName, InstanceId, interruption::StatusProblem, join::NodeAccess, limits};
use ports::{Fault, Forensics, PortError};

use crate::{
    ec2::status,
    fault::{BadAnswer, has_code, port_error},
};

const CONSOLE: &str = "GetConsoleOutput";
const CHECKS: &str = "DescribeInstanceStatus";
const INSTANCES: &str = "DescribeInstances";
const PROFILE: &str = "GetInstanceProfile";
const ENTRIES: &str = "ListAccessEntries";
/// What EC2 says where only the hypervisor of Nitro tells the latest output.
const NOT_LATEST: &str = "UnsupportedOperation";

/// [`Forensics`] over EC2, IAM and EKS.
#[derive(Clone, Debug)]
pub struct AwsForensics {
    ec2: aws_sdk_ec2::Client,
    iam: aws_sdk_iam::Client,
    eks: aws_sdk_eks::Client,
}

impl AwsForensics {
    pub(crate) fn new(
        ec2: aws_sdk_ec2::Client,
        iam: aws_sdk_iam::Client,
        eks: aws_sdk_eks::Client,
    ) -> Self {
        Self { ec2, iam, eks }
    }

    /// What EC2 has of the console, in Base64; the latest where `is_latest`.
    async fn output(&self, id: &InstanceId, is_latest: bool) -> Result<String, PortError> {
        let request = self.ec2.get_console_output().instance_id(id.as_str());
        let request = request.set_latest(is_latest.then_some(true));
        let answer = request.send().await.map_err(|error| port_error(CONSOLE, error))?;
        Ok(answer.output.unwrap_or_default())
    }

    /// The name of the role that the instance profile of `id` has, if there are both.
    async fn role(&self, id: &InstanceId) -> Result<Option<String>, PortError> {
        let request = self.ec2.describe_instances().instance_ids(id.as_str());
        let answer = request.send().await.map_err(|error| port_error(INSTANCES, error))?;
        let mut instances =
            answer.reservations().iter().flat_map(aws_sdk_ec2::types::Reservation::instances);
        let arn = instances.find_map(|instance| instance.iam_instance_profile()?.arn());
        let Some(name) = arn.map(name_in) else { return Ok(None) };
        let request = self.iam.get_instance_profile().instance_profile_name(name);
        let answer = match request.send().await.map_err(|error| port_error(PROFILE, error)) {
            Err(PortError { fault: Fault::NotFound, .. }) => return Ok(None),
            other => other?,
        };
        let roles = answer.instance_profile().map(aws_sdk_iam::types::InstanceProfile::roles);
        let role = roles.and_then(<[_]>::first);
        Ok(role.map(|role| role.role_name().to_owned()))
    }

    /// Whether `cluster` has an access entry for the role called `role`, whatever its path.
    async fn has_entry(&self, cluster: &ClusterName, role: &str) -> Result<bool, PortError> {
        let mut token = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self.eks.list_access_entries().cluster_name(cluster.as_str());
            let request = request.set_next_token(token);
            let answer = request.send().await.map_err(|error| port_error(ENTRIES, error))?;
            if answer.access_entries().iter().any(|arn| is_role(arn, role)) {
                return Ok(true);
            }
            token = answer.next_token.filter(|token| !token.is_empty());
            if token.is_none() {
                return Ok(false);
            }
        }
        Err(BadAnswer::of(ENTRIES, "too many pages"))
    }
}

impl Forensics for AwsForensics {
    /// One request; two where the hypervisor does not tell the latest output.
    async fn console(&self, instance: &InstanceId) -> Result<String, PortError> {
        let latest = self.output(instance, true).await;
        let encoded = match latest {
            Err(error) if has_code(&error, NOT_LATEST) => self.output(instance, false).await?,
            other => other?,
        };
        let bytes = BASE64_STANDARD.decode(encoded.trim());
        let bytes = bytes.map_err(|error| BadAnswer::of(CONSOLE, error.to_string()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// One request.
    async fn checks(&self, instance: &InstanceId) -> Result<Vec<StatusProblem>, PortError> {
        let request = self.ec2.describe_instance_status().instance_ids(instance.as_str());
        let answer = request.send().await.map_err(|error| port_error(CHECKS, error))?;
        let problems = answer.instance_statuses().iter().flat_map(problems);
        Ok(problems.collect())
    }

    /// Three requests, and one more for each further hundred access entries.
    async fn access(
        &self,
        cluster: &ClusterName,
        instance: &InstanceId,
    ) -> Result<NodeAccess, PortError> {
        let Some(role) = self.role(instance).await? else { return Ok(NodeAccess::NoRole) };
        let has_entry = self.has_entry(cluster, &role).await?;
        Ok(if has_entry { NodeAccess::Entry(role) } else { NodeAccess::NoEntry(role) })
    }
}

fn problems(instance: &InstanceStatus) -> Vec<StatusProblem> {
    let problems = status::from_status(instance).into_iter().map(|report| report.problem);
    problems.filter(|problem| *problem != StatusProblem::ScheduledEvent).collect()
}

/// The name at the end of an ARN with a path.
fn name_in(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}

fn is_role(arn: &str, role: &str) -> bool {
    arn.contains(":role/") && name_in(arn) == role
}

#[cfg(test)]
mod tests {
    use testkit::build;

    use super::*;
    use crate::wire::Wire;

    fn forensics(wire: &Wire) -> AwsForensics {
        let config = wire.config();
        AwsForensics::new(
            aws_sdk_ec2::Client::new(&config),
            aws_sdk_iam::Client::new(&config),
            aws_sdk_eks::Client::new(&config),
        )
    }

    fn ec2(operation: &str, content: &str) -> String {
        let space = "http://ec2.amazonaws.com/doc/2016-11-15/";
        format!("<{operation}Response xmlns=\"{space}\">{content}</{operation}Response>")
    }

    fn refusal(code: &str) -> String {
        format!("<Response><Errors><Error><Code>{code}</Code></Error></Errors></Response>")
    }

    #[tokio::test]
    async fn the_latest_output_is_asked_for_and_any_where_there_is_no_latest() {
        let told = ec2(CONSOLE, "<output>a2VybmVsIHBhbmlj</output>");
        let refused = refusal(NOT_LATEST);
        let wire = Wire::answering(&[
            Some((200, told.as_str())),
            Some((400, refused.as_str())),
            Some((200, told.as_str())),
        ]);
        let instance = build::id("i-1");
        for _ in 0..2 {
            assert_eq!(forensics(&wire).console(&instance).await.unwrap(), "kernel panic");
        }
        let latest: Vec<bool> =
            wire.sent().iter().map(|body| body.contains("Latest=true")).collect();
        assert_eq!(latest, [true, true, false]);
    }

    #[tokio::test]
    async fn no_output_is_no_text_and_a_refusal_is_none() {
        let (none, refused) = (ec2(CONSOLE, ""), refusal("UnauthorizedOperation"));
        let wire = Wire::answering(&[Some((200, none.as_str())), Some((403, refused.as_str()))]);
        let instance = build::id("i-1");
        assert_eq!(forensics(&wire).console(&instance).await.unwrap(), "");
        assert!(forensics(&wire).console(&instance).await.is_err());
    }

    #[tokio::test]
    async fn the_role_of_an_instance_is_looked_for_among_the_access_entries() {
        let instance = ec2(
            INSTANCES,
            "<reservationSet><item><instancesSet><item><instanceId>i-1</instanceId>\
             <iamInstanceProfile><arn>arn:aws:iam::1:instance-profile/journeyman/p</arn>\
             </iamInstanceProfile></item></instancesSet></item></reservationSet>",
        );
        let profile = "<GetInstanceProfileResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
             <GetInstanceProfileResult><InstanceProfile><Path>/</Path>\
             <InstanceProfileName>p</InstanceProfileName><InstanceProfileId>A</InstanceProfileId>\
             <Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate><Roles><member><Path>/</Path>\
             <RoleName>Nodes</RoleName><RoleId>A</RoleId><Arn>a</Arn>\
             <CreateDate>2026-01-01T00:00:00Z</CreateDate></member></Roles></InstanceProfile>\
             </GetInstanceProfileResult></GetInstanceProfileResponse>";
        let first = r#"{"accessEntries":["arn:aws:iam::1:user/Nodes"],"nextToken":"2"}"#;
        let second = r#"{"accessEntries":["arn:aws:iam::1:role/path/Nodes"]}"#;
        let other = r#"{"accessEntries":["arn:aws:iam::1:role/OtherNodes"]}"#;
        let entry = NodeAccess::Entry("Nodes".to_owned());
        let missing = NodeAccess::NoEntry("Nodes".to_owned());
        for (pages, expected) in [(vec![first, second], entry), (vec![other], missing)] {
            let mut answers = vec![Some((200, instance.as_str())), Some((200, profile))];
            answers.extend(pages.into_iter().map(|page| Some((200, page))));
            let wire = Wire::answering(&answers);
            let access = forensics(&wire).access(&build::id("demo"), &build::id("i-1")).await;
            assert_eq!(access.unwrap(), expected);
        }
        let none = ec2(INSTANCES, "<reservationSet/>");
        let wire = Wire::answering(&[Some((200, none.as_str()))]);
        let access = forensics(&wire).access(&build::id("demo"), &build::id("i-1")).await;
        assert_eq!(access.unwrap(), NodeAccess::NoRole);
    }
}
