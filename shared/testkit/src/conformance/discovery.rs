//! The contracts of `Discovery` and `Profiles`.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ClusterName, SubnetId, labels,
    launch::LaunchTemplate,
    node_class::{
        DescribedTemplate, ImageFamily, ImageTerm, PlacementGroupTerm, SecurityGroup,
        SecurityGroupTerm, Subnet, SubnetTerm, TemplateSetting,
    },
};
use ports::{Discovery, Fault, Profiles, Templates};

use super::{Case, Failure, ensure, same};

/// What discovery is tested with.
#[derive(Clone, Debug)]
pub struct DiscoveryWorld {
    /// A cluster that is there.
    pub cluster: ClusterName,
    /// One that is not.
    pub no_cluster: ClusterName,
    /// What subnets and security groups are tagged with.
    pub tags: BTreeMap<String, String>,
    /// A launch template that is good, and does not exist yet.
    pub template: LaunchTemplate,
}

struct Subject<'a, D> {
    discovery: &'a D,
    world: &'a DiscoveryWorld,
}

/// Runs every case.
pub async fn discovery<D: Discovery, T: Templates>(
    discovery: &D,
    templates: &T,
    world: &DiscoveryWorld,
) -> Vec<Case> {
    let subject = &Subject { discovery, world };
    let template = subject.template(templates).await;
    vec![
        Case::of("nothing selected is found without asking", subject.nothing().await),
        Case::of("tags select subnets, by id and each once", subject.subnets().await),
        Case::of("an id selects its subnet", subject.subnet_by_id().await),
        Case::of("free addresses are those of the subnets", subject.free_addresses().await),
        Case::of("terms are alternatives", subject.alternatives().await),
        Case::of("security groups are found by tags, name and id", subject.groups().await),
        Case::of("a placement group is found by name and by id", subject.group().await),
        Case::of("an alias has images for both processors", subject.alias().await),
        Case::of("an image is found by its id, again as it was", subject.image_by_id().await),
        Case::of("a launch template is described until it is removed", template),
        Case::of("a cluster says what its nodes are told", subject.cluster().await),
        Case::of("traffic is shifted away from no zone", subject.shifts().await),
        Case::of("a cluster that is not there is not found", subject.no_cluster().await),
    ]
}

impl<D: Discovery> Subject<'_, D> {
    fn tagged(&self) -> SubnetTerm {
        SubnetTerm::Tags(self.world.tags.clone())
    }

    async fn some_subnets(&self) -> Result<Vec<Subnet>, Failure> {
        let subnets = self.discovery.subnets(&[self.tagged()]).await?;
        ensure(!subnets.is_empty(), || "there is no subnet".to_owned())?;
        Ok(subnets)
    }

    async fn nothing(&self) -> Result<(), Failure> {
        same("the subnets", &self.discovery.subnets(&[]).await?, &Vec::new())?;
        same("the groups", &self.discovery.security_groups(&[]).await?, &Vec::new())?;
        let images = self.discovery.images(&[], "1.34").await?;
        same("the images", &images, &Vec::new())?;
        same("the reservations", &self.discovery.reservations(&[]).await?, &Vec::new())
    }

    async fn shifts(&self) -> Result<(), Failure> {
        same("the shifts", &self.discovery.zonal_shifts(&self.world.cluster).await?, &Vec::new())
    }

    async fn group(&self) -> Result<(), Failure> {
        let term = PlacementGroupTerm::Name("close".to_owned());
        let placement_group = self.discovery.placement_group(&term).await?;
        let Some(found) = placement_group else {
            return Err(Failure("it is not there".to_owned()));
        };
        same("the name", &found.name.as_str(), &"close")?;
        let term = PlacementGroupTerm::Id(found.id.clone());
        let by_id = self.discovery.placement_group(&term).await?.map(|group| group.id);
        same("the same by its id", &by_id, &Some(found.id))
    }

    async fn subnets(&self) -> Result<(), Failure> {
        let subnets = self.discovery.subnets(&[self.tagged(), self.tagged()]).await?;
        let ids: Vec<&SubnetId> = subnets.iter().map(|subnet| &subnet.id).collect();
        let sorted: Vec<&SubnetId> =
            ids.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        ensure(!ids.is_empty(), || "there is no subnet".to_owned())?;
        same("the ids", &ids, &sorted)
    }

    async fn subnet_by_id(&self) -> Result<(), Failure> {
        for subnet in self.some_subnets().await? {
            let term = SubnetTerm::Id(subnet.id.clone());
            same("the subnet", &self.discovery.subnets(&[term]).await?, &vec![subnet])?;
        }
        Ok(())
    }

    async fn free_addresses(&self) -> Result<(), Failure> {
        let known = self.some_subnets().await?;
        let counts =
            known.iter().map(|subnet| (subnet.id.clone(), subnet.available_ip_address_count));
        let counts: BTreeMap<SubnetId, u32> = counts.collect();
        let ids: BTreeSet<SubnetId> = counts.keys().cloned().collect();
        same("the counts", &self.discovery.free_addresses(&ids).await?, &counts)?;
        same("of none", &self.discovery.free_addresses(&BTreeSet::new()).await?, &BTreeMap::new())
    }

    async fn alternatives(&self) -> Result<(), Failure> {
        let known = self.some_subnets().await?;
        let ids = known.iter().map(|subnet| SubnetTerm::Id(subnet.id.clone()));
        let terms: Vec<SubnetTerm> = ids.chain([self.tagged()]).collect();
        same("the subnets", &self.discovery.subnets(&terms).await?, &known)
    }

    async fn groups(&self) -> Result<(), Failure> {
        let tagged = SecurityGroupTerm::Tags(self.world.tags.clone());
        let named = SecurityGroupTerm::Name("nodes".to_owned());
        let security_groups = self.discovery.security_groups(std::slice::from_ref(&tagged)).await?;
        let other = self.discovery.security_groups(std::slice::from_ref(&named)).await?;
        ensure(!security_groups.is_empty() && !other.is_empty(), || {
            format!("{security_groups:?} and {other:?}")
        })?;
        same("its name", &other.first().map(|group| group.name.as_str()), &Some("nodes"))?;
        let groups: BTreeSet<SecurityGroup> = security_groups.into_iter().chain(other).collect();
        let security_groups: Vec<SecurityGroup> = groups.iter().cloned().collect();
        let both = self.discovery.security_groups(&[tagged, named]).await?;
        same("tags and name", &both, &security_groups)?;
        let terms: Vec<_> =
            groups.into_iter().map(|group| SecurityGroupTerm::Id(group.id)).collect();
        same("the ids", &self.discovery.security_groups(&terms).await?, &security_groups)
    }

    async fn alias(&self) -> Result<(), Failure> {
        for family in [ImageFamily::Al2023, ImageFamily::Bottlerocket] {
            let term = ImageTerm::Alias { family, version: "latest".to_owned() };
            let images = self.discovery.images(&[term], "1.34").await?;
            for arch in ["amd64", "arm64"] {
                let is_for = |image: &model::node_class::Image| {
                    image.requirements.get(labels::ARCH).is_some_and(|known| known.has(arch))
                };
                ensure(images.iter().any(is_for), || format!("{family:?}: none for {arch}"))?;
            }
            let times: Vec<_> = images.iter().map(|image| image.created_at).collect();
            ensure(times.is_sorted_by(|a, b| a >= b), || format!("not newest first: {times:?}"))?;
        }
        Ok(())
    }

    async fn template(&self, templates: &impl Templates) -> Result<(), Failure> {
        let template = &self.world.template;
        templates.ensure(template).await?;
        let described_template = self.discovery.launch_template(&template.name).await?;
        let wanted = DescribedTemplate {
            name: template.name.clone(),
            version: 1,
            image: Some(template.data.image.clone()),
            // Every launch template that is made has interfaces.
            sets: BTreeSet::from([TemplateSetting::NetworkInterfaces]),
        };
        same("the launch template", &described_template, &Some(wanted))?;
        templates.remove(&template.name).await?;
        same("afterwards", &self.discovery.launch_template(&template.name).await?, &None)
    }

    async fn image_by_id(&self) -> Result<(), Failure> {
        let family = ImageFamily::Al2023;
        let alias = ImageTerm::Alias { family, version: "latest".to_owned() };
        let images = self.discovery.images(&[alias], "1.34").await?;
        for image in images {
            let term = ImageTerm::Id(image.id.clone());
            let images = self.discovery.images(&[term], "1.34").await?;
            let seen: Vec<_> = images.iter().map(|listed| (&listed.id, &listed.name)).collect();
            same("the image", &seen, &vec![(&image.id, &image.name)])?;
            let arch =
                |image: &model::node_class::Image| image.requirements.get(labels::ARCH).cloned();
            same("its processor", &images.first().and_then(arch), &arch(&image))?;
        }
        Ok(())
    }

    async fn cluster(&self) -> Result<(), Failure> {
        let cluster_settings = self.discovery.cluster_settings(&self.world.cluster).await?;
        same("the name", &cluster_settings.name, &self.world.cluster)?;
        ensure(cluster_settings.endpoint.starts_with("https://"), || {
            format!("at {}", cluster_settings.endpoint)
        })?;
        ensure(!cluster_settings.ca_bundle.is_empty(), || "no certificate authority".to_owned())?;
        ensure(cluster_settings.kubernetes_version.starts_with("1."), || {
            format!("of version {}", cluster_settings.kubernetes_version)
        })
    }

    async fn no_cluster(&self) -> Result<(), Failure> {
        match self.discovery.cluster_settings(&self.world.no_cluster).await {
            Ok(cluster_settings) => Err(Failure(format!("it was found: {cluster_settings:?}"))),
            Err(error) => same("the fault", &error.fault, &Fault::NotFound),
        }
    }
}

/// That a profile has its one role, however often it is asked for, and can be removed. `name` is new
/// to the account.
pub async fn profiles<P: Profiles>(profiles: &P, name: &str) -> Vec<Case> {
    let tags = BTreeMap::from([("team".to_owned(), "a".to_owned())]);
    let path = "/suite/one/";
    let ensured = async |role: &str| profiles.ensure(path, name, role, &tags).await;
    let twice = async {
        ensured("NodeRole").await?;
        Ok(ensured("NodeRole").await?)
    };
    let twice = twice.await;
    let with_path = ensured("path/to/NodeRole").await.map_err(Failure::from);
    let other = match ensured("OtherRole").await {
        Ok(()) => Err(Failure("it was changed".to_owned())),
        Err(error) => same("the fault", &error.fault, &Fault::Permanent),
    };
    let listed = async |prefix: &str| {
        let known = profiles.list(prefix).await?;
        Ok::<_, Failure>(
            known
                .into_iter()
                .map(|instance_profile| (instance_profile.name, instance_profile.path))
                .collect::<Vec<_>>(),
        )
    };
    let looked_up = async {
        same("below its path", &listed("/suite/").await?, &vec![(name.into(), path.into())])?;
        same("below another", &listed("/suite/two/").await?, &Vec::new())
    };
    let entry = looked_up.await;
    let removed = async {
        profiles.remove(name).await?;
        profiles.remove(name).await?;
        same("what is left", &listed("/suite/").await?, &Vec::new())
    };
    let removed = removed.await;
    vec![
        Case::of("ensuring a profile twice makes one", twice),
        Case::of("a role's path is no part of its name", with_path),
        Case::of("a profile with another role is not changed", other),
        Case::of("a profile is found by its path", entry),
        Case::of("a profile that is removed is gone, however often", removed),
    ]
}
