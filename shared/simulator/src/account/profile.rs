//! Instance profiles in IAM. EC2 sees a new one only after a while.
//!
//! <https://docs.aws.amazon.com/IAM/latest/UserGuide/troubleshoot.html#troubleshoot_general_eventual-consistency>

use std::collections::BTreeMap;

use jiff::Timestamp;
use model::duration::later;

use super::AwsError;
use crate::world::World;

/// An instance profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProfileRecord {
    /// Its name, one for one profile.
    pub name: String,
    /// Its path, `/` by default.
    pub path: String,
    /// The one role that it may have.
    pub role: Option<String>,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on EC2 takes it.
    pub(crate) visible_at: Timestamp,
}

impl World {
    /// Makes the profile with the role unless it is so.
    pub(crate) fn ensure_profile(
        &mut self,
        path: &str,
        name: &str,
        role: &str,
        tags: &BTreeMap<String, String>,
    ) -> Result<(), AwsError> {
        let role = role.rsplit('/').next().unwrap_or(role);
        let known = self.account.profiles.get(name).map(|profile| profile.role.clone());
        match known {
            Some(Some(other)) if other != role => {
                let text = format!("instance profile {name} has the role {other}, not {role}");
                return Err(AwsError::new("InvalidInput", text));
            }
            Some(Some(_)) => return Ok(()),
            Some(None) => {}
            None => {
                self.create_profile(name, path, tags.clone())?;
            }
        }
        self.add_role(name, role)
    }

    pub(crate) fn create_profile(
        &mut self,
        name: &str,
        path: &str,
        tags: BTreeMap<String, String>,
    ) -> Result<ProfileRecord, AwsError> {
        if self.account.profiles.contains_key(name) {
            let text = format!("Instance Profile {name} already exists.");
            return Err(AwsError::new("EntityAlreadyExists", text));
        }
        let record = ProfileRecord {
            name: name.to_owned(),
            path: path.to_owned(),
            role: None,
            tags,
            created_at: self.now,
            visible_at: later(self.now, self.settings.profile_visible_after),
        };
        self.account.profiles.insert(name.to_owned(), record.clone());
        Ok(record)
    }

    pub(crate) fn profile(&self, name: &str) -> Result<ProfileRecord, AwsError> {
        let profile_record = self.account.profiles.get(name).cloned();
        profile_record.ok_or_else(|| no_profile(name))
    }

    /// Gives the profile the role, which is there like everything else that is asked for.
    pub(crate) fn add_role(&mut self, name: &str, role: &str) -> Result<(), AwsError> {
        let visible_at = later(self.now, self.settings.profile_visible_after);
        let Some(profile) = self.account.profiles.get_mut(name) else {
            return Err(no_profile(name));
        };
        if profile.role.is_some() {
            let text = "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1";
            return Err(AwsError::new("LimitExceeded", text));
        }
        profile.role = Some(role.to_owned());
        profile.visible_at = visible_at;
        self.own_role(role);
        Ok(())
    }

    pub(crate) fn remove_role(&mut self, name: &str, role: &str) -> Result<(), AwsError> {
        let Some(profile) = self.account.profiles.get_mut(name) else {
            return Err(no_profile(name));
        };
        if profile.role.as_deref() != Some(role) {
            let text = format!("The role with name {role} cannot be found.");
            return Err(AwsError::new("NoSuchEntity", text));
        }
        profile.role = None;
        Ok(())
    }

    pub(crate) fn delete_profile(&mut self, name: &str) -> Result<(), AwsError> {
        let profile = self.profile(name)?;
        if profile.role.is_some() {
            let text = "Cannot delete entity, must remove roles from instance profile first.";
            return Err(AwsError::new("DeleteConflict", text));
        }
        self.account.profiles.remove(name);
        Ok(())
    }

    /// Takes the role out of a profile and deletes it; one that is gone was deleted.
    pub(crate) fn remove_profile(&mut self, name: &str) {
        self.account.profiles.remove(name);
    }

    /// What EC2 has against launching with the profile `name`. One that was not made here is owned
    /// like everything else that is asked for.
    pub(super) fn profile_problem(&self, name: &str) -> Option<AwsError> {
        let profile = self.account.profiles.get(name)?;
        let is_usable = profile.role.is_some() && profile.visible_at <= self.now;
        (!is_usable).then(|| {
            let text = format!(
                "Value ({name}) for parameter iamInstanceProfile.name is invalid. \
                 Invalid IAM Instance Profile name"
            );
            AwsError::new("InvalidParameterValue", text)
        })
    }
}

fn no_profile(name: &str) -> AwsError {
    AwsError::new("NoSuchEntity", format!("Instance Profile {name} cannot be found."))
}
