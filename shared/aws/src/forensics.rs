//! What can be seen of an instance whose node does not join: its console, EC2's checks, its role's access entry, what
//! lies between it and the API server, and its image.

mod network;

use aws_config::SdkConfig;
use aws_sdk_ec2::types::{ArchitectureValues, GroupIdentifier, IamInstanceProfile, InstanceStatus};
use aws_sdk_eks::types::{AccessConfigResponse, AuthenticationMode as Mode, Cluster};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use model::{
    ClusterName, ImageId, InstanceId, SecurityGroupId, SubnetId, instance_type_info,
    interruption::StatusProblem,
    join::{AuthenticationMode, JoinImage, JoinNetwork, JoiningInstance, NodeAccess},
    limits::requests,
};
use ports::{Fault, Forensics, PortError};

use crate::{
    ec2::status,
    fault::{BadAnswer, has_code, port_error},
    kept::Kept,
};

const CONSOLE: &str = "GetConsoleOutput";
const CHECKS: &str = "DescribeInstanceStatus";
const INSTANCES: &str = "DescribeInstances";
const PROFILE: &str = "GetInstanceProfile";
const CLUSTER: &str = "DescribeCluster";
const ENTRY: &str = "DescribeAccessEntry";
const IMAGES: &str = "DescribeImages";
/// What EC2 says where only the hypervisor of Nitro tells the latest output.
const NOT_LATEST: &str = "UnsupportedOperation";

/// [`Forensics`] over EC2, IAM and EKS.
#[derive(Clone, Debug)]
pub struct AwsForensics {
    ec2: aws_sdk_ec2::Client,
    iam: aws_sdk_iam::Client,
    eks: aws_sdk_eks::Client,
    kept: Kept<ClusterName, Cluster>,
}

impl AwsForensics {
    pub(crate) fn new(ec2: &SdkConfig, iam: &SdkConfig, eks: &SdkConfig) -> Self {
        Self {
            ec2: aws_sdk_ec2::Client::new(ec2),
            iam: aws_sdk_iam::Client::new(iam),
            eks: aws_sdk_eks::Client::new(eks),
            kept: Kept::new(eks, requests::LOOK_KEPT_FOR),
        }
    }

    /// What EC2 has of the console, in Base64; the latest where `is_latest`.
    async fn output(&self, id: &InstanceId, is_latest: bool) -> Result<String, PortError> {
        let request = self
            .ec2
            .get_console_output()
            .instance_id(id.as_str())
            .set_latest(is_latest.then_some(true));
        let answer = request.send().await.map_err(|error| port_error(CONSOLE, error))?;
        Ok(answer.output.unwrap_or_default())
    }

    /// Name and ARN of the role that the instance profile called `name` has, if there are both.
    async fn role(&self, name: &str) -> Result<Option<(String, String)>, PortError> {
        let request = self.iam.get_instance_profile().instance_profile_name(name);
        let answer = match request.send().await.map_err(|error| port_error(PROFILE, error)) {
            Err(PortError { fault: Fault::NotFound, .. }) => return Ok(None),
            other => other?,
        };
        let roles = answer.instance_profile().map(aws_sdk_iam::types::InstanceProfile::roles);
        let role = roles.and_then(<[_]>::first);
        Ok(role.map(|role| (role.role_name().to_owned(), role.arn().to_owned())))
    }

    async fn cluster(&self, cluster: &ClusterName) -> Result<Cluster, PortError> {
        self.kept.or_ask(cluster, |_| true, self.describe(cluster)).await
    }

    async fn describe(&self, cluster: &ClusterName) -> Result<Cluster, PortError> {
        let request = self.eks.describe_cluster().name(cluster.as_str());
        let answer = request.send().await.map_err(|error| port_error(CLUSTER, error))?;
        answer.cluster.ok_or_else(|| BadAnswer::of(CLUSTER, "no cluster"))
    }

    /// The type of the access entry that `cluster` has for the role with this ARN, if it has one.
    async fn entry(&self, cluster: &ClusterName, arn: &str) -> Result<Option<String>, PortError> {
        let request = self.eks.describe_access_entry().cluster_name(cluster.as_str());
        let answer = request.principal_arn(arn).send().await;
        match answer.map_err(|error| port_error(ENTRY, error)) {
            Err(PortError { fault: Fault::NotFound, .. }) => Ok(None),
            other => Ok(other?.access_entry.map(|entry| entry.r#type.unwrap_or_default())),
        }
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
        let bytes = BASE64_STANDARD
            .decode(encoded.trim())
            .map_err(|error| BadAnswer::of(CONSOLE, error.to_string()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// One request.
    async fn checks(&self, instance: &InstanceId) -> Result<Vec<StatusProblem>, PortError> {
        let request = self.ec2.describe_instance_status().instance_ids(instance.as_str());
        let answer = request.send().await.map_err(|error| port_error(CHECKS, error))?;
        let problems = answer.instance_statuses().iter().flat_map(problems);
        Ok(problems.collect())
    }

    /// One request.
    async fn instance(&self, instance: &InstanceId) -> Result<JoiningInstance, PortError> {
        let request = self.ec2.describe_instances().instance_ids(instance.as_str());
        let answer = request.send().await.map_err(|error| port_error(INSTANCES, error))?;
        let mut instances =
            answer.reservations().iter().flat_map(aws_sdk_ec2::types::Reservation::instances);
        let told = instances.next().ok_or_else(|| BadAnswer::of(INSTANCES, "no instance"))?;
        let groups = told.security_groups().iter().filter_map(GroupIdentifier::group_id);
        let profile = told.iam_instance_profile().and_then(IamInstanceProfile::arn);
        Ok(JoiningInstance {
            profile: profile.map(|arn| name_in(arn).to_owned()),
            image: told.image_id().and_then(|id| ImageId::new(id).ok()),
            vpc: told.vpc_id().map(ToOwned::to_owned),
            subnet: told.subnet_id().and_then(|id| SubnetId::new(id).ok()),
            security_groups: groups.filter_map(|id| SecurityGroupId::new(id).ok()).collect(),
            has_public_address: told.public_ip_address().is_some_and(|ip| !ip.is_empty())
                || told.ipv6_address().is_some_and(|ip| !ip.is_empty()),
        })
    }

    /// Three requests; two where access entries are not in use, and one where there is no role. What EKS says of the
    /// cluster is kept for the rest of the look.
    async fn access(
        &self,
        cluster: &ClusterName,
        instance: &JoiningInstance,
    ) -> Result<NodeAccess, PortError> {
        let Some(profile) = &instance.profile else { return Ok(NodeAccess::NoRole) };
        let Some((role, arn)) = self.role(profile).await? else { return Ok(NodeAccess::NoRole) };
        let described = self.cluster(cluster).await?;
        let mode =
            match described.access_config().and_then(AccessConfigResponse::authentication_mode) {
                Some(Mode::Api) => AuthenticationMode::AccessEntries,
                Some(Mode::ApiAndConfigMap) => AuthenticationMode::Both,
                // What EKS does not say is as it was before there were access entries.
                _ => return Ok(NodeAccess::NoEntry { role, mode: AuthenticationMode::ConfigMap }),
            };
        Ok(match self.entry(cluster, &arn).await? {
            Some(kind) => NodeAccess::Entry { role, kind },
            None => NodeAccess::NoEntry { role, mode },
        })
    }

    /// Two requests where `access` was asked before, and one more for each further hundred route tables of the VPC.
    async fn network(
        &self,
        cluster: &ClusterName,
        instance: &JoiningInstance,
    ) -> Result<JoinNetwork, PortError> {
        let described = self.cluster(cluster).await?;
        network::look(&self.ec2, &described, instance).await
    }

    /// One request.
    async fn image(&self, image: &ImageId) -> Result<Option<JoinImage>, PortError> {
        let request = self.ec2.describe_images().image_ids(image.as_str()).include_deprecated(true);
        let answer = match request.send().await.map_err(|error| port_error(IMAGES, error)) {
            Err(error) if has_code(&error, "InvalidAMIID.NotFound") => return Ok(None),
            other => other?,
        };
        let Some(image) = answer.images().first() else { return Ok(None) };
        let made_for = image.architecture().map(ArchitectureValues::as_str).unwrap_or_default();
        let architecture = instance_type_info::architecture(made_for).unwrap_or(made_for);
        let name = image.name().unwrap_or_default().to_owned();
        Ok(Some(JoinImage { name, architecture: architecture.to_owned() }))
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

#[cfg(test)]
mod tests {
    use testkit::build;

    use super::*;
    use crate::wire::Wire;

    fn forensics(wire: &Wire) -> AwsForensics {
        let config = wire.config();
        AwsForensics::new(&config, &config, &config)
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

    fn instance(profile: Option<&str>) -> JoiningInstance {
        JoiningInstance {
            profile: profile.map(ToOwned::to_owned),
            image: Some(build::id("ami-1")),
            vpc: Some("vpc-1".to_owned()),
            subnet: Some(build::id("subnet-1")),
            security_groups: vec![build::id("sg-1")],
            has_public_address: false,
        }
    }

    #[tokio::test]
    async fn what_an_instance_was_launched_with_is_described() {
        let told = ec2(
            INSTANCES,
            "<reservationSet><item><instancesSet><item><instanceId>i-1</instanceId>\
             <imageId>ami-1</imageId><vpcId>vpc-1</vpcId><subnetId>subnet-1</subnetId>\
             <groupSet><item><groupId>sg-1</groupId></item></groupSet>\
             <iamInstanceProfile><arn>arn:aws:iam::1:instance-profile/journeyman/p</arn>\
             </iamInstanceProfile></item></instancesSet></item></reservationSet>",
        );
        let public = told.replace("<vpcId>", "<ipAddress>203.0.113.1</ipAddress><vpcId>");
        let none = ec2(INSTANCES, "<reservationSet/>");
        let answers = [&told, &public, &none].map(|text| Some((200, text.as_str())));
        let wire = Wire::answering(&answers);
        let ask = async || forensics(&wire).instance(&build::id("i-1")).await;
        assert_eq!(ask().await.unwrap(), instance(Some("p")));
        let expected = JoiningInstance { has_public_address: true, ..instance(Some("p")) };
        assert_eq!(ask().await.unwrap(), expected);
        assert!(ask().await.is_err());
    }

    #[tokio::test]
    async fn the_access_entry_of_a_role_is_asked_for_by_its_arn_where_there_are_access_entries() {
        let profile = "<GetInstanceProfileResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
             <GetInstanceProfileResult><InstanceProfile><Path>/</Path>\
             <InstanceProfileName>p</InstanceProfileName><InstanceProfileId>A</InstanceProfileId>\
             <Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate><Roles><member><Path>/</Path>\
             <RoleName>Nodes</RoleName><RoleId>A</RoleId><Arn>arn:aws:iam::1:role/path/Nodes</Arn>\
             <CreateDate>2026-01-01T00:00:00Z</CreateDate></member></Roles></InstanceProfile>\
             </GetInstanceProfileResult></GetInstanceProfileResponse>";
        let cluster = |mode: &str| {
            format!(r#"{{"cluster":{{"accessConfig":{{"authenticationMode":"{mode}"}}}}}}"#)
        };
        let entry = r#"{"accessEntry":{"type":"STANDARD"}}"#;
        let missing = r#"{"__type":"ResourceNotFoundException","message":"none"}"#;
        let role = || "Nodes".to_owned();
        let not_found = |mode| NodeAccess::NoEntry { role: role(), mode };
        for (mode, answer, expected) in [
            (
                "API",
                Some((200, entry)),
                NodeAccess::Entry { role: role(), kind: "STANDARD".to_owned() },
            ),
            ("API", Some((404, missing)), not_found(AuthenticationMode::AccessEntries)),
            ("API_AND_CONFIG_MAP", Some((404, missing)), not_found(AuthenticationMode::Both)),
            ("CONFIG_MAP", None, not_found(AuthenticationMode::ConfigMap)),
        ] {
            let described = cluster(mode);
            let mut answers = vec![Some((200, profile)), Some((200, described.as_str()))];
            answers.extend(answer.map(Some));
            let wire = Wire::answering(&answers);
            let seen = forensics(&wire).access(&build::id("demo"), &instance(Some("p"))).await;
            assert_eq!(seen.unwrap(), expected);
            assert_eq!(wire.sent().len(), answers.len());
        }
        let wire = Wire::answering(&[]);
        let seen = forensics(&wire).access(&build::id("demo"), &instance(None)).await;
        assert_eq!(seen.unwrap(), NodeAccess::NoRole);
    }

    #[tokio::test]
    async fn an_image_is_for_processors_as_kubernetes_calls_them() {
        let image = |made_for: &str| {
            let item =
                format!("<item><name>one</name><architecture>{made_for}</architecture></item>");
            ec2(IMAGES, &format!("<imagesSet>{item}</imagesSet>"))
        };
        let (intel, arm, none) = (image("x86_64"), image("arm64"), ec2(IMAGES, "<imagesSet/>"));
        let gone = refusal("InvalidAMIID.NotFound");
        let wire = Wire::answering(&[
            Some((200, intel.as_str())),
            Some((200, arm.as_str())),
            Some((200, none.as_str())),
            Some((400, gone.as_str())),
        ]);
        let made_for = |architecture: &str| {
            Some(JoinImage { name: "one".to_owned(), architecture: architecture.to_owned() })
        };
        for expected in [made_for("amd64"), made_for("arm64"), None, None] {
            assert_eq!(forensics(&wire).image(&build::id("ami-1")).await.unwrap(), expected);
        }
    }
}
