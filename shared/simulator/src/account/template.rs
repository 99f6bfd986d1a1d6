//! Launch templates: they have a name and an id, and what a launch needs to know of their content.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use model::{
    ImageId, LaunchTemplateName, SecurityGroupId,
    launch::{FleetTemplate, LaunchTemplate, ReservationMarket, TemplateVersion},
    ledger::digest,
    node_class::{DescribedTemplate, TemplateSetting},
};

use super::{AwsError, ReservationPreference};
use crate::{authorization::own_template_tags, world::World};

/// A launch template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRecord {
    /// Its name, one for one template.
    pub name: LaunchTemplateName,
    /// `lt-…`
    pub id: String,
    /// `ImageId`
    pub image: Option<ImageId>,
    /// `IamInstanceProfile.Name`
    pub instance_profile: Option<String>,
    /// `NetworkInterfaces[].Groups` of the first.
    pub security_groups: BTreeSet<SecurityGroupId>,
    /// What it sets although launches choose it.
    pub sets: BTreeSet<TemplateSetting>,
    /// `CapacityReservationSpecification` and `InstanceMarketOptions`
    pub preference: ReservationPreference,
    /// Its own tags.
    pub tags: BTreeMap<String, String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// The client token of the request that made it.
    pub token: Option<String>,
}

impl TemplateRecord {
    /// The number of its only version: changing one is not supported yet.
    pub const VERSION: u64 = 1;

    /// As launches look at it.
    pub(crate) fn described(&self) -> DescribedTemplate {
        DescribedTemplate {
            name: self.name.clone(),
            version: Self::VERSION,
            image: self.image.clone(),
            sets: self.sets.clone(),
        }
    }
}

/// What a new launch template is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTemplate {
    /// Its name.
    pub name: LaunchTemplateName,
    /// `ImageId`
    pub image: Option<ImageId>,
    /// `IamInstanceProfile.Name`
    pub instance_profile: Option<String>,
    /// `NetworkInterfaces[].Groups` of the first.
    pub security_groups: BTreeSet<SecurityGroupId>,
    /// What it sets although launches choose it.
    pub sets: BTreeSet<TemplateSetting>,
    /// `CapacityReservationSpecification` and `InstanceMarketOptions`
    pub preference: ReservationPreference,
    /// Its own tags.
    pub tags: BTreeMap<String, String>,
    /// `ClientToken`: a request that comes again with it makes nothing new.
    pub token: Option<String>,
}

impl World {
    pub(crate) fn ensure_template(&mut self, template: &LaunchTemplate) -> Result<(), AwsError> {
        let target = template.data.reservation.clone();
        let mut sets = BTreeSet::from([TemplateSetting::NetworkInterfaces]);
        if target.as_ref().is_some_and(|target| target.market != ReservationMarket::OnDemand) {
            sets.insert(TemplateSetting::InstanceMarketOptions);
        }
        let new = NewTemplate {
            name: template.name.clone(),
            image: Some(template.data.image.clone()),
            instance_profile: Some(template.data.instance_profile.clone()),
            security_groups: template.data.security_groups.iter().cloned().collect(),
            sets,
            preference: target.map_or(ReservationPreference::None, ReservationPreference::Only),
            tags: template.tags.clone(),
            token: None,
        };
        if !self.account.templates.contains_key(&new.name) {
            self.template_quota_problem().map_or(Ok(()), Err)?;
            self.add_template(new);
        }
        Ok(())
    }

    pub(crate) fn create_template(&mut self, new: NewTemplate) -> Result<TemplateRecord, AwsError> {
        if let Some(known) = self.account.templates.get(&new.name) {
            if new.token.is_some() && known.token == new.token {
                return Ok(known.clone());
            }
            let text = format!("Launch template name already in use: {}", new.name);
            return Err(AwsError::new("InvalidLaunchTemplateName.AlreadyExistsException", text));
        }
        Ok(self.add_template(new))
    }

    fn add_template(&mut self, new: NewTemplate) -> TemplateRecord {
        let NewTemplate {
            name,
            image,
            instance_profile,
            security_groups,
            sets,
            preference,
            tags,
            token,
        } = new;
        self.account.templates_made += 1;
        // One that is made again under the same name is another one.
        let number = digest(format!("{name} {}", self.account.templates_made).as_bytes());
        let id = format!("lt-0{number:016x}");
        let created_at = self.now;
        let record = TemplateRecord {
            name,
            id,
            image,
            instance_profile,
            security_groups,
            sets,
            preference,
            tags,
            created_at,
            token,
        };
        self.account.templates.insert(record.name.clone(), record.clone());
        record
    }

    pub(crate) fn delete_template(
        &mut self,
        name: &LaunchTemplateName,
    ) -> Result<TemplateRecord, AwsError> {
        let removed = self.account.templates.remove(name);
        self.account.templates_deleted.insert(name.clone());
        removed.ok_or_else(|| no_template(name))
    }

    pub(crate) fn delete_templates(&mut self) {
        let deleted = std::mem::take(&mut self.account.templates);
        self.account.templates_deleted.extend(deleted.into_keys());
    }

    /// The launch template called `name`. One of the user's own is assumed to be there until
    /// a user deletes it, with an image for what its name or its pools say.
    pub(crate) fn template_version(&mut self, name: &LaunchTemplateName) -> Option<TemplateRecord> {
        let is_known = self.account.templates.contains_key(name);
        if !is_known && !name.is_of_digest() && !self.account.templates_deleted.contains(name) {
            let image = self.image_of_template(name);
            self.account.assumptions.insert(format!("launch template {name} with image {image}"));
            self.add_template(NewTemplate {
                name: name.clone(),
                image: Some(image),
                instance_profile: None,
                security_groups: BTreeSet::new(),
                sets: BTreeSet::new(),
                preference: ReservationPreference::Open,
                tags: own_template_tags(&self.settings.cluster),
                token: None,
            });
        }
        self.account.templates.get(name).cloned()
    }

    /// The launch template that a fleet request names.
    pub(super) fn wanted_template(
        &self,
        wanted: &FleetTemplate,
    ) -> Result<&TemplateRecord, AwsError> {
        let name = &wanted.template;
        let known = self.account.templates.get(name).ok_or_else(|| no_template(name))?;
        match wanted.version {
            TemplateVersion::Latest | TemplateVersion::Number(TemplateRecord::VERSION) => Ok(known),
            TemplateVersion::Number(other) => {
                let text = format!("Could not find the specified version {other} of {name}.");
                Err(AwsError::new("InvalidLaunchTemplateId.VersionNotFound", text))
            }
        }
    }
}

/// How EC2 says that there is no such launch template.
pub(super) fn no_template(name: &LaunchTemplateName) -> AwsError {
    AwsError::new(
        "InvalidLaunchTemplateName.NotFoundException",
        format!("The specified launch template, with template name {name}, does not exist."),
    )
}
