//! IAM's instance profiles, and the parts of roles that callers read.
//!
//! <https://docs.aws.amazon.com/IAM/latest/APIReference/API_Operations.html>

use ports::PortError;
use simulator::{AwsError, ProfileRecord, RoleRecord};

use crate::{
    AwsServer,
    page::Page,
    parameters::{Parameters, refusal},
    reply::{Reply, failure_of},
    xml::{Element, document, node, text},
};

pub(crate) const VERSION: &str = "2010-05-08";
const NAMESPACE: &str = "https://iam.amazonaws.com/doc/2010-05-08/";

/// Answers `action`.
pub(crate) async fn answer(server: &AwsServer, action: &str, mut parameters: Parameters) -> Reply {
    match result(server, action, &mut parameters).await {
        Ok(result) => {
            let name = format!("{action}Response");
            let metadata =
                node("ResponseMetadata", [text("RequestId", "00000000-0000-4000-8000-0")]);
            let children: Vec<Element> = result.into_iter().chain([metadata]).collect();
            Reply::xml(200, document(&name, NAMESPACE, &children))
        }
        Err(error) => match failure_of(&error) {
            None => Reply::HangUp,
            Some((status, code, message)) => {
                let code = if code == "RequestLimitExceeded" { "Throttling" } else { &code };
                let error = [text("Type", "Sender"), text("Code", code), text("Message", message)];
                let children = [node("Error", error), text("RequestId", "0")];
                Reply::xml(status, document("ErrorResponse", NAMESPACE, &children))
            }
        },
    }
}

async fn result(
    server: &AwsServer,
    action: &str,
    parameters: &mut Parameters,
) -> Result<Option<Element>, PortError> {
    let sim = &server.sim;
    if let Some(result) = of_roles(server, action, parameters).await? {
        return Ok(result);
    }
    if action == "ListInstanceProfiles" {
        let prefix = parameters.text("PathPrefix").unwrap_or_else(|| "/".to_owned());
        let page = Page::of_iam(parameters, server.page_max).map_err(invalid)?;
        end(parameters)?;
        let mut known = sim.list_instance_profiles().await?;
        known.retain(|profile| profile.path.starts_with(&prefix));
        let (known, next) = page.part(known);
        let members = known.iter().map(|profile| node("member", described(profile)));
        let list = listed(node("InstanceProfiles", members), next);
        return Ok(Some(node("ListInstanceProfilesResult", list)));
    }
    let name = parameters.required("InstanceProfileName").map_err(invalid)?;
    match action {
        "GetInstanceProfile" => {
            end(parameters)?;
            let profile_record = sim.get_instance_profile(&name).await?;
            let profile = node("InstanceProfile", described(&profile_record));
            return Ok(Some(node("GetInstanceProfileResult", [profile])));
        }
        "CreateInstanceProfile" => {
            let path = parameters.text("Path").unwrap_or_else(|| "/".to_owned());
            let tags = match parameters.branch("Tags") {
                Some(mut tags) => tags.pairs("member").map_err(invalid)?,
                None => std::collections::BTreeMap::new(),
            };
            end(parameters)?;
            let made = sim.create_instance_profile(&name, &path, tags).await?;
            let profile = node("InstanceProfile", described(&made));
            return Ok(Some(node("CreateInstanceProfileResult", [profile])));
        }
        "AddRoleToInstanceProfile" => {
            let role = parameters.required("RoleName").map_err(invalid)?;
            end(parameters)?;
            sim.add_role_to_instance_profile(&name, &role).await?;
        }
        "RemoveRoleFromInstanceProfile" => {
            let role = parameters.required("RoleName").map_err(invalid)?;
            end(parameters)?;
            sim.remove_role_from_instance_profile(&name, &role).await?;
        }
        "DeleteInstanceProfile" => {
            end(parameters)?;
            sim.delete_instance_profile(&name).await?;
        }
        _ => {
            let words = format!("The action {action} is not valid here, or not supported yet");
            return Err(invalid(refusal("InvalidAction", words)));
        }
    }
    Ok(None)
}

/// What is asked of a role, and its result: none, where nothing is asked of one, or where there is no more to say than
/// that it was done.
async fn of_roles(
    server: &AwsServer,
    action: &str,
    parameters: &mut Parameters,
) -> Result<Option<Option<Element>>, PortError> {
    const OPERATIONS: [&str; 4] =
        ["AttachRolePolicy", "DetachRolePolicy", "GetRole", "ListAttachedRolePolicies"];
    if !OPERATIONS.contains(&action) {
        return Ok(None);
    }
    let sim = &server.sim;
    let name = parameters.required("RoleName").map_err(invalid)?;
    Ok(Some(match action {
        "GetRole" => {
            end(parameters)?;
            let role = sim.get_role(&name).await?;
            let trust = text("AssumeRolePolicyDocument", trust_policy(role.service));
            let children = described_role(&role).into_iter().chain([trust]);
            Some(node("GetRoleResult", [node("Role", children)]))
        }
        "ListAttachedRolePolicies" => {
            let page = Page::of_iam(parameters, server.page_max).map_err(invalid)?;
            end(parameters)?;
            let (policies, next) = page.part(sim.list_attached_role_policies(&name).await?);
            let members = policies.iter().map(|arn| {
                let name = arn.rsplit('/').next().unwrap_or(arn);
                node("member", [text("PolicyName", name), text("PolicyArn", arn)])
            });
            let list = listed(node("AttachedPolicies", members), next);
            Some(node("ListAttachedRolePoliciesResult", list))
        }
        _ => {
            let policy = parameters.required("PolicyArn").map_err(invalid)?;
            end(parameters)?;
            if action == "AttachRolePolicy" {
                sim.attach_role_policy(&name, &policy).await?;
            } else {
                sim.detach_role_policy(&name, &policy).await?;
            }
            None
        }
    }))
}

/// A page of a list, and where the next one starts.
fn listed(members: Element, next: Option<String>) -> Vec<Element> {
    let is_truncated = text("IsTruncated", next.is_some());
    let next = next.map(|marker| text("Marker", marker));
    [members, is_truncated].into_iter().chain(next).collect()
}

/// Who may take a role, encoded as IAM encodes documents.
fn trust_policy(service: &str) -> String {
    let document = serde_json::json!({
        "Version": "2012-10-17",
        "Statement": [{
            "Effect": "Allow",
            "Principal": { "Service": service },
            "Action": "sts:AssumeRole",
        }],
    });
    form_urlencoded::byte_serialize(document.to_string().as_bytes()).collect()
}

fn described_role(role: &RoleRecord) -> Vec<Element> {
    vec![
        text("Path", &role.path),
        text("RoleName", &role.name),
        text("RoleId", "AROAEXAMPLE"),
        text("Arn", role.arn()),
        text("CreateDate", role.created_at),
    ]
}

fn end(parameters: &Parameters) -> Result<(), PortError> {
    parameters.finish().map_err(invalid)
}

fn invalid(refusal: AwsError) -> PortError {
    PortError::because("IAM", ports::Fault::Permanent, ports::Refusal::from(refusal))
}

fn described(profile: &ProfileRecord) -> Vec<Element> {
    let ProfileRecord { name, path, .. } = profile;
    let arn = |kind: &str, path: &str, name: &str| {
        format!("arn:aws:iam::123456789012:{kind}{path}{name}")
    };
    let roles = profile.role.iter().map(|role| {
        node(
            "member",
            [
                text("Path", "/"),
                text("RoleName", role),
                text("RoleId", "AROAEXAMPLE"),
                text("Arn", arn("role", "/", role)),
                text("CreateDate", profile.created_at),
            ],
        )
    });
    let tags = profile
        .tags
        .iter()
        .map(|(key, value)| node("member", [text("Key", key), text("Value", value)]));
    vec![
        text("Path", path),
        text("InstanceProfileName", name),
        text("InstanceProfileId", "AIPAEXAMPLE"),
        text("Arn", arn("instance-profile", path, name)),
        text("CreateDate", profile.created_at),
        node("Roles", roles),
        node("Tags", tags),
    ]
}
