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
