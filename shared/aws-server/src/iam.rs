//! IAM's instance profiles.
//!
//! <https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateInstanceProfile.html>

use ports::PortError;
use simulator::{AwsError, ProfileRecord, Sim};

use crate::{
    parameters::{Parameters, refusal},
    reply::{Reply, failure_of},
    xml::{Element, document, node, text},
};

pub(crate) const VERSION: &str = "2010-05-08";
const NAMESPACE: &str = "https://iam.amazonaws.com/doc/2010-05-08/";

/// Answers `action`.
pub(crate) async fn answer(action: &str, sim: &Sim, mut parameters: Parameters) -> Reply {
    match result(action, sim, &mut parameters).await {
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
    action: &str,
    sim: &Sim,
    parameters: &mut Parameters,
) -> Result<Option<Element>, PortError> {
    if action == "ListInstanceProfiles" {
        let prefix = parameters.text("PathPrefix").unwrap_or_else(|| "/".to_owned());
        end(parameters)?;
        let known = sim.list_instance_profiles().await?;
        let members = known.iter().filter(|profile| profile.path.starts_with(&prefix));
        let members = members.map(|profile| node("member", described(profile)));
        let list = [node("InstanceProfiles", members), text("IsTruncated", false)];
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
