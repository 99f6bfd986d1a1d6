//! Instance profiles in IAM: what gives nodes their role.

use std::collections::BTreeMap;

use aws_config::SdkConfig;
use aws_sdk_iam::{
    Client,
    types::{InstanceProfile, Tag},
};
use jiff::Timestamp;
use model::limits::{self, requests};
use ports::{Fault, PortError, Profiles};

use crate::{
    fault::{BadAnswer, BadRequest, has_code, port_error},
    kept::Kept,
};

const LIST: &str = "ListInstanceProfiles";

/// [`Profiles`] over IAM.
#[derive(Clone, Debug)]
pub struct IamProfiles {
    client: Client,
    /// Profiles, each with its role.
    ensured: Kept<(String, String), ()>,
}

impl IamProfiles {
    pub(crate) fn new(config: &SdkConfig) -> Self {
        Self { client: Client::new(config), ensured: Kept::new(config, requests::PROFILE_KEPT_FOR) }
    }

    async fn get(&self, name: &str) -> Result<Option<InstanceProfile>, PortError> {
        let request = self.client.get_instance_profile().instance_profile_name(name);
        match request.send().await {
            Ok(answer) => Ok(answer.instance_profile),
            Err(error) => match port_error("GetInstanceProfile", error) {
                PortError { fault: Fault::NotFound, .. } => Ok(None),
                error => Err(error),
            },
        }
    }

    async fn create(&self, path: &str, name: &str, tags: Vec<Tag>) -> Result<(), PortError> {
        let request = self.client.create_instance_profile().path(path).instance_profile_name(name);
        match request.set_tags(Some(tags)).send().await {
            Ok(_) => Ok(()),
            Err(error) => match port_error("CreateInstanceProfile", error) {
                // Another call made it a moment ago.
                error if has_code(&error, "EntityAlreadyExists") => Ok(()),
                error => Err(error),
            },
        }
    }

    async fn add_role(&self, name: &str, role: &str) -> Result<(), PortError> {
        let request = self.client.add_role_to_instance_profile().instance_profile_name(name);
        match request.role_name(role).send().await {
            Ok(_) => Ok(()),
            Err(error) => match port_error("AddRoleToInstanceProfile", error) {
                // A profile holds one role: another caller added one a moment ago.
                error if has_code(&error, "LimitExceeded") => {
                    match self.get(name).await?.map(|profile| state(&profile, role)) {
                        Some(State::Right) => Ok(()),
                        _ => Err(error),
                    }
                }
                error => Err(error),
            },
        }
    }
}

impl Profiles for IamProfiles {
    async fn ensure(
        &self,
        path: &str,
        name: &str,
        role: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        // A role may be written with its path; a profile is given its name alone.
        let role = role.rsplit('/').next().unwrap_or(role);
        let key = (name.to_owned(), role.to_owned());
        let made = async {
            let current = self.get(name).await?.map(|profile| state(&profile, role));
            match current {
                Some(State::Right) => Ok(()),
                Some(State::Other(other)) => Err(BadRequest::of(
                    "GetInstanceProfile",
                    format!("instance profile `{name}` has the role `{other}`, and needs `{role}`"),
                )),
                Some(State::Empty) => self.add_role(name, role).await,
                None => {
                    self.create(path, name, to_tags(tags)?).await?;
                    self.add_role(name, role).await
                }
            }
        };
        self.ensured.or_ask(&key, |()| true, made).await
    }

    async fn list(&self, path: &str) -> Result<Vec<model::node_class::InstanceProfile>, PortError> {
        let mut profiles = Vec::new();
        let mut marker = None;
        for _ in 0..limits::PAGES_PER_LISTING_MAX {
            let request = self.client.list_instance_profiles().path_prefix(path).set_marker(marker);
            let answer = request.send().await.map_err(|error| port_error(LIST, error))?;
            for instance_profile in answer.instance_profiles() {
                profiles.push(from_profile(instance_profile).map_err(|p| BadAnswer::of(LIST, p))?);
            }
            marker = answer.marker.filter(|marker| answer.is_truncated && !marker.is_empty());
            if marker.is_none() {
                profiles.sort_by(|instance_profile: &model::node_class::InstanceProfile, other| {
                    instance_profile.name.cmp(&other.name)
                });
                return Ok(profiles);
            }
        }
        Err(BadAnswer::of(LIST, "too many pages"))
    }

    async fn remove(&self, name: &str) -> Result<(), PortError> {
        let Some(instance_profile) = self.get(name).await? else { return Ok(()) };
        for role in instance_profile.roles() {
            let request = self
                .client
                .remove_role_from_instance_profile()
                .instance_profile_name(name)
                .role_name(role.role_name());
            let removed = request.send().await.map(drop);
            gone(removed.map_err(|error| port_error("RemoveRoleFromInstanceProfile", error)))?;
        }
        let request = self.client.delete_instance_profile().instance_profile_name(name);
        gone(request.send().await.map(drop).map_err(|e| port_error("DeleteInstanceProfile", e)))
    }
}

/// What was to be removed and is not there was removed.
fn gone(outcome: Result<(), PortError>) -> Result<(), PortError> {
    match outcome {
        Err(PortError { fault: Fault::NotFound, .. }) => Ok(()),
        other => other,
    }
}

fn from_profile(
    instance_profile: &InstanceProfile,
) -> Result<model::node_class::InstanceProfile, String> {
    let created_at = Timestamp::from_second(instance_profile.create_date().secs());
    Ok(model::node_class::InstanceProfile {
        name: instance_profile.instance_profile_name().to_owned(),
        path: instance_profile.path().to_owned(),
        created_at: created_at.map_err(|error| error.to_string())?,
    })
}

/// How an instance profile stands to the role that it should have.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// It has the role.
    Right,
    /// It has no role.
    Empty,
    /// It has another role.
    Other(String),
}

fn state(profile: &InstanceProfile, role: &str) -> State {
    match profile.roles() {
        [] => State::Empty,
        [only] if only.role_name() == role => State::Right,
        [other, ..] => State::Other(other.role_name().to_owned()),
    }
}

fn to_tags(tags: &BTreeMap<String, String>) -> Result<Vec<Tag>, PortError> {
    tags.iter()
        .map(|(key, value)| {
            let tag = Tag::builder().key(key).value(value).build();
            tag.map_err(|error| BadRequest::of("CreateInstanceProfile", error.to_string()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Wire;

    fn refusal(code: &str) -> String {
        format!(
            "<ErrorResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\"><Error>\
             <Type>Sender</Type><Code>{code}</Code><Message>x</Message></Error></ErrorResponse>"
        )
    }

    fn done(operation: &str) -> String {
        format!(
            "<{operation}Response xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
             </{operation}Response>"
        )
    }

    fn profile(roles: &[&str]) -> String {
        let role = |name: &&str| {
            format!(
                "<member><Path>/</Path><RoleName>{name}</RoleName><RoleId>A</RoleId>\
                 <Arn>a</Arn><CreateDate>2026-01-01T00:00:00Z</CreateDate></member>"
            )
        };
        let roles: String = roles.iter().map(role).collect();
        let profile = format!(
            "<InstanceProfile><Path>/</Path><InstanceProfileName>p</InstanceProfileName>\
             <InstanceProfileId>A</InstanceProfileId><Arn>a</Arn>\
             <CreateDate>2026-01-01T00:00:00Z</CreateDate><Roles>{roles}</Roles></InstanceProfile>"
        );
        format!(
            "<GetInstanceProfileResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
             <GetInstanceProfileResult>{profile}</GetInstanceProfileResult>\
             </GetInstanceProfileResponse>"
        )
    }

    /// The actions that were sent, in order.
    async fn ensured(answers: &[(u16, String)]) -> (Result<(), PortError>, Vec<String>) {
        let answers: Vec<_> =
            answers.iter().map(|(code, body)| Some((*code, body.as_str()))).collect();
        let wire = Wire::answering(&answers);
        let profiles = IamProfiles::new(&wire.config());
        let tags = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        let outcome = profiles.ensure("/journeyman/", "p", "path/to/NodeRole", &tags).await;
        let action = |body: &String| {
            let action = body.split('&').next().unwrap_or_default();
            action.trim_start_matches("Action=").to_owned()
        };
        (outcome, wire.sent().iter().map(action).collect())
    }

    #[tokio::test]
    async fn a_profile_that_is_right_is_left_alone() {
        let (outcome, sent) = ensured(&[(200, profile(&["NodeRole"]))]).await;
        assert!(outcome.is_ok(), "{outcome:?}");
        assert_eq!(sent, ["GetInstanceProfile"]);
    }

    #[tokio::test]
    async fn a_profile_that_is_right_is_not_asked_for_again_and_another_role_is() {
        let right = profile(&["NodeRole"]);
        let wire = Wire::answering(&[Some((200, right.as_str())), Some((200, right.as_str()))]);
        let profiles = IamProfiles::new(&wire.config());
        for role in ["NodeRole", "path/to/NodeRole"] {
            profiles.ensure("/journeyman/", "p", role, &BTreeMap::new()).await.unwrap();
        }
        assert!(profiles.ensure("/journeyman/", "p", "Other", &BTreeMap::new()).await.is_err());
        assert_eq!(wire.sent().len(), 2);
    }

    #[tokio::test]
    async fn a_profile_that_is_missing_is_made_with_its_role() {
        let (outcome, sent) = ensured(&[
            (404, refusal("NoSuchEntity")),
            (409, refusal("EntityAlreadyExists")),
            (200, done("AddRoleToInstanceProfile")),
        ])
        .await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let expected = ["GetInstanceProfile", "CreateInstanceProfile", "AddRoleToInstanceProfile"];
        assert_eq!(sent, expected);
    }

    #[tokio::test]
    async fn a_role_that_another_caller_added_a_moment_ago_will_do() {
        let (outcome, sent) = ensured(&[
            (200, profile(&[])),
            (409, refusal("LimitExceeded")),
            (200, profile(&["NodeRole"])),
        ])
        .await;
        assert!(outcome.is_ok(), "{outcome:?}");
        let expected = ["GetInstanceProfile", "AddRoleToInstanceProfile", "GetInstanceProfile"];
        assert_eq!(sent, expected);
    }

    #[tokio::test]
    async fn a_profile_is_removed_after_its_role_and_need_not_be_there() {
        let answers = [
            (200, profile(&["NodeRole"])),
            (200, done("RemoveRoleFromInstanceProfile")),
            (404, refusal("NoSuchEntity")),
            (404, refusal("NoSuchEntity")),
        ];
        let answers: Vec<_> =
            answers.iter().map(|(code, body)| Some((*code, body.as_str()))).collect();
        let wire = Wire::answering(&answers);
        let profiles = IamProfiles::new(&wire.config());
        profiles.remove("p").await.unwrap();
        profiles.remove("p").await.unwrap();
        assert_eq!(wire.sent().len(), 4);
    }

    #[tokio::test]
    async fn a_profile_with_another_role_is_not_changed() {
        let (outcome, sent) = ensured(&[(200, profile(&["Admin"]))]).await;
        let source = outcome.unwrap_err().source.unwrap().to_string();
        assert_eq!(source, "instance profile `p` has the role `Admin`, and needs `NodeRole`");
        assert_eq!(sent, ["GetInstanceProfile"]);
    }
}
