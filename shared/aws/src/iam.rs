//! Instance profiles in IAM: what gives nodes their role.

use std::collections::BTreeMap;

use aws_sdk_iam::{
    Client,
    types::{InstanceProfile, Tag},
};
use ports::{Fault, PortError, Profiles};

use crate::fault::{BadRequest, has_code, port_error};

/// [`Profiles`] over IAM.
#[derive(Clone, Debug)]
pub struct IamProfiles {
    client: Client,
}

impl IamProfiles {
    pub(crate) fn new(client: Client) -> Self {
        Self { client }
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

    async fn create(&self, name: &str, tags: Vec<Tag>) -> Result<(), PortError> {
        let request = self.client.create_instance_profile().instance_profile_name(name);
        match request.set_tags(Some(tags)).send().await {
            Ok(_) => Ok(()),
            Err(error) => match port_error("CreateInstanceProfile", error) {
                // Somebody made it a moment ago.
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
                // A profile holds one role: somebody else added one a moment ago.
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
        name: &str,
        role: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), PortError> {
        // A role may be written with its path; a profile is given its name alone.
        let role = role.rsplit('/').next().unwrap_or(role);
        let found = self.get(name).await?.map(|profile| state(&profile, role));
        match found {
            Some(State::Right) => Ok(()),
            Some(State::Other(other)) => Err(BadRequest::of(
                "GetInstanceProfile",
                format!("instance profile `{name}` has the role `{other}`, and needs `{role}`"),
            )),
            Some(State::Empty) => self.add_role(name, role).await,
            None => {
                self.create(name, to_tags(tags)?).await?;
                self.add_role(name, role).await
            }
        }
    }
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
        let profiles = IamProfiles::new(Client::new(&wire.config()));
        let tags = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
        let outcome = profiles.ensure("p", "path/to/NodeRole", &tags).await;
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
    async fn a_role_that_somebody_else_added_a_moment_ago_will_do() {
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
    async fn a_profile_with_another_role_is_not_changed() {
        let (outcome, sent) = ensured(&[(200, profile(&["Admin"]))]).await;
        let source = outcome.unwrap_err().source.unwrap().to_string();
        assert_eq!(source, "instance profile `p` has the role `Admin`, and needs `NodeRole`");
        assert_eq!(sent, ["GetInstanceProfile"]);
    }
}
