//! What IAM is asked when the functions call AWS: each action, on each resource, with what is known of the
//! request and of the resource. It is kept on demand, and a test that knows policies judges it.
//!
//! Only calls whose resources, tags or parameters a policy can tell apart are here. Of all others it is enough to
//! know that they were made ([`crate::Sim::called`]).
//!
//! <https://docs.aws.amazon.com/service-authorization/latest/reference/reference_policies_actions-resources-contextkeys.html>

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ClusterName, Function, InstanceId, LaunchTemplateName, image_alias,
    join::JoiningInstance,
    labels::CLUSTER_NAME_TAG,
    launch::{FleetRequest, LaunchTemplate, LaunchTemplateData, RunRequest},
    node_class::ImageTerm,
};

use crate::{Sim, loads, world::World};

/// The simulated account.
pub const ACCOUNT_ID: &str = "123456789012";

type Tags = BTreeMap<String, String>;

/// A question to IAM.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Authorization {
    /// Who asks.
    pub function: Function,
    /// The call of a port that led to it, such as `Fleet.launch`.
    pub call: &'static str,
    /// Such as `ec2:RunInstances`.
    pub action: &'static str,
    /// The ARN, in the partition `aws`.
    pub resource: String,
    /// Condition keys, such as `aws:RequestTag/team`, and their values.
    pub context: BTreeMap<String, BTreeSet<String>>,
}

/// What was asked so far.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    authorizations: BTreeSet<Authorization>,
    /// Launch templates that were made, since they say what launches use.
    templates: BTreeMap<LaunchTemplateName, LaunchTemplateData>,
}

/// The questions of one call, one by one.
struct Questions<'a> {
    world: &'a World,
    call: &'static str,
    found: Vec<Authorization>,
}

/// `aws:RequestTag/…`, and the keys of all of them.
fn requested(tags: &Tags) -> Vec<(String, String)> {
    let pairs = tags.iter().map(|(key, value)| (format!("aws:RequestTag/{key}"), value.clone()));
    let keys = tags.keys().map(|key| ("aws:TagKeys".to_owned(), key.clone()));
    pairs.chain(keys).collect()
}

/// `aws:ResourceTag/…`
fn existing(tags: &Tags) -> Vec<(String, String)> {
    tags.iter().map(|(key, value)| (format!("aws:ResourceTag/{key}"), value.clone())).collect()
}

fn created_by(operation: &str) -> Vec<(String, String)> {
    vec![("ec2:CreateAction".to_owned(), operation.to_owned())]
}

impl Questions<'_> {
    fn ask(&mut self, action: &'static str, resource: String, keys: Vec<(String, String)>) {
        let Some((_, function)) = self.world.current else { return };
        let region = self.world.catalog.region.clone();
        let mut context = BTreeMap::from([("aws:RequestedRegion".to_owned(), [region].into())]);
        for (key, value) in keys {
            context.entry(key).or_insert_with(BTreeSet::new).insert(value);
        }
        self.found.push(Authorization { function, call: self.call, action, resource, context });
    }

    /// The ARN of something of EC2's.
    fn ec2(&self, kind: &str, id: &str) -> String {
        // What everybody may use belongs to no account.
        let owner = if matches!(kind, "image" | "snapshot") { "" } else { ACCOUNT_ID };
        format!("arn:aws:ec2:{}:{owner}:{kind}/{id}", self.world.catalog.region)
    }

    fn cluster(&self, cluster: &ClusterName) -> String {
        format!("arn:aws:eks:{}:{ACCOUNT_ID}:cluster/{cluster}", self.world.catalog.region)
    }

    fn template_made(&mut self, template: &LaunchTemplate) {
        let arn = self.ec2("launch-template", "*");
        self.ask("ec2:CreateLaunchTemplate", arn.clone(), requested(&template.tags));
        let keys = [requested(&template.tags), created_by("CreateLaunchTemplate")].concat();
        self.ask("ec2:CreateTags", arn, keys);
    }

    /// What a launch from `name` uses: the launch template and what that names, and its instance profile's role.
    fn used(&mut self, action: &'static str, name: &LaunchTemplateName) {
        let record = self.world.account.templates.get(name);
        let made = self.world.asked.as_ref().and_then(|asked| asked.templates.get(name));
        let (Some(record), made) = (record.cloned(), made.cloned()) else { return };
        self.ask(action, self.ec2("launch-template", &record.id), existing(&record.tags));
        let groups =
            record.security_groups.iter().map(|id| self.ec2("security-group", id.as_str()));
        let mut arns: Vec<String> = groups.collect();
        arns.extend(record.image.iter().map(|id| self.ec2("image", id.as_str())));
        if let Some(data) = &made {
            let snapshots =
                data.block_devices.iter().filter_map(|device| device.snapshot_id.as_ref());
            arns.extend(snapshots.map(|id| self.ec2("snapshot", id)));
            let reservation = data.reservation.as_ref();
            arns.extend(reservation.map(|to| self.ec2("capacity-reservation", to.id.as_str())));
            let placement = data.placement_group.as_ref();
            arns.extend(placement.map(|to| self.ec2("placement-group", to.group.as_str())));
        }
        for arn in arns {
            self.ask(action, arn, Vec::new());
        }
        let profile =
            record.instance_profile.as_ref().and_then(|name| self.world.account.profiles.get(name));
        // A user who names an own profile has put one of the stack's roles into it.
        let usual = format!("KarpenterNodeRole-{}", self.world.settings.cluster);
        let role = profile.and_then(|profile| profile.role.clone()).unwrap_or(usual);
        self.passed(&role);
    }

    fn passed(&mut self, role: &str) {
        let to = ("iam:PassedToService".to_owned(), "ec2.amazonaws.com".to_owned());
        self.ask("iam:PassRole", format!("arn:aws:iam::{ACCOUNT_ID}:role/{role}"), vec![to]);
    }

    /// What a launch from `name` creates beside what the request itself tags: its launch template has the tags.
    /// One of the user's own has none.
    fn created_along(
        &mut self,
        action: &'static str,
        name: &LaunchTemplateName,
        is_spot: bool,
        by: &str,
    ) {
        let made = self.world.asked.as_ref().and_then(|asked| asked.templates.get(name));
        let tags = made.map(|data| data.tags.clone());
        let kinds = [("network-interface", true), ("spot-instances-request", is_spot)];
        for (kind, _) in kinds.into_iter().filter(|(_, is_made)| *is_made) {
            let keys = tags.as_ref().map(requested).unwrap_or_default();
            self.ask(action, self.ec2(kind, "*"), keys.clone());
            if tags.is_some() {
                self.ask("ec2:CreateTags", self.ec2(kind, "*"), [keys, created_by(by)].concat());
            }
        }
    }

    fn fleet(&mut self, request: &FleetRequest) {
        let is_spot = request.capacity_type == model::CapacityType::Spot;
        for action in ["ec2:CreateFleet", "ec2:RunInstances"] {
            for template in &request.templates {
                self.used(action, &template.template);
                self.created_along(action, &template.template, is_spot, "CreateFleet");
                for choice in &template.overrides {
                    self.ask(action, self.ec2("image", choice.image.as_str()), Vec::new());
                    self.ask(action, self.ec2("subnet", choice.subnet.as_str()), Vec::new());
                }
            }
            let kinds = ["fleet", "instance", "volume"];
            for kind in kinds.into_iter().filter(|k| *k != "fleet" || action == "ec2:CreateFleet") {
                self.ask(action, self.ec2(kind, "*"), requested(&request.tags));
                let keys = [requested(&request.tags), created_by("CreateFleet")].concat();
                self.ask("ec2:CreateTags", self.ec2(kind, "*"), keys);
            }
        }
    }

    fn run(&mut self, request: &RunRequest) {
        let action = "ec2:RunInstances";
        self.used(action, &request.template);
        self.created_along(action, &request.template, false, "RunInstances");
        self.ask(action, self.ec2("subnet", request.subnet.as_str()), Vec::new());
        for kind in ["instance", "volume"] {
            self.ask(action, self.ec2(kind, "*"), requested(&request.tags));
            let keys = [requested(&request.tags), created_by("RunInstances")].concat();
            self.ask("ec2:CreateTags", self.ec2(kind, "*"), keys);
        }
    }

    fn instance(&mut self, action: &'static str, id: &InstanceId, keys: Vec<(String, String)>) {
        let Some(record) = self.world.account.instances.get(id) else { return };
        let keys = [existing(&record.tags_now()), keys].concat();
        self.ask(action, self.ec2("instance", id.as_str()), keys);
    }

    /// The instance profile `name`, made below `path` with `tags` and the role unless it is there.
    fn profile_made(&mut self, (path, name): (&str, &str), role: &str, tags: &Tags) {
        let role = role.rsplit('/').next().unwrap_or(role);
        let arn = format!("arn:aws:iam::{ACCOUNT_ID}:instance-profile{path}{name}");
        self.ask("iam:GetInstanceProfile", arn.clone(), Vec::new());
        self.ask("iam:CreateInstanceProfile", arn.clone(), requested(tags));
        // Of a profile that is made with tags, these count as its own already: so Karpenter's policy has it.
        let both = [requested(tags), existing(tags)].concat();
        self.ask("iam:TagInstanceProfile", arn.clone(), both);
        self.ask("iam:AddRoleToInstanceProfile", arn, existing(tags));
        self.passed(role);
    }

    /// The role of an instance, by its instance profile, and its access entry in `cluster`.
    fn access(&mut self, cluster: &ClusterName, instance: &JoiningInstance) {
        let name = instance.profile.as_ref();
        let known = name.and_then(|name| self.world.account.profiles.get(name).cloned());
        let Some(known) = known else { return };
        let arn = format!("arn:aws:iam::{ACCOUNT_ID}:instance-profile{}{}", known.path, known.name);
        self.ask("iam:GetInstanceProfile", arn, existing(&known.tags));
        self.ask("eks:DescribeCluster", self.cluster(cluster), Vec::new());
        let role = known.role.unwrap_or_default();
        let region = &self.world.catalog.region;
        let entry = format!("access-entry/{cluster}/role/{ACCOUNT_ID}/{role}/0123");
        let arn = format!("arn:aws:eks:{region}:{ACCOUNT_ID}:{entry}");
        self.ask("eks:DescribeAccessEntry", arn, Vec::new());
    }

    fn profile_removed(&mut self, name: &str) {
        let Some(record) = self.world.account.profiles.get(name).cloned() else { return };
        let arn = format!("arn:aws:iam::{ACCOUNT_ID}:instance-profile{}{name}", record.path);
        self.ask("iam:GetInstanceProfile", arn.clone(), existing(&record.tags));
        self.ask("iam:RemoveRoleFromInstanceProfile", arn.clone(), existing(&record.tags));
        self.ask("iam:DeleteInstanceProfile", arn, existing(&record.tags));
    }
}

/// A call of a port that IAM is asked about.
#[derive(Clone, Copy)]
pub(crate) enum Call<'a> {
    Template(&'a LaunchTemplate),
    TemplateRemoved(&'a LaunchTemplateName),
    Fleet(&'a FleetRequest),
    Run(&'a RunRequest),
    Tag(&'a InstanceId, &'a Tags),
    Reboot(&'a InstanceId),
    Terminate(&'a [InstanceId]),
    Profile { place: (&'a str, &'a str), role: &'a str, tags: &'a Tags },
    ProfileRemoved(&'a str),
    Images(&'a [ImageTerm], &'a str),
    Shifts(&'a ClusterName),
    Console(&'a InstanceId),
    Access(&'a ClusterName, &'a JoiningInstance),
}

impl Sim {
    /// Keeps what IAM is asked from now on.
    pub fn keep_authorizations(&self) {
        self.with(|world| world.asked = Some(Asked::default()));
    }

    /// What IAM was asked by functions since it is kept, each question once.
    pub fn authorizations(&self) -> BTreeSet<Authorization> {
        let of = |world: &mut World| world.asked.as_ref().map(|asked| asked.authorizations.clone());
        self.with(of).unwrap_or_default()
    }

    /// Keeps what IAM is asked for `call`, which is the port's call `name`, if a test wants to know.
    pub(crate) fn authorize(&self, name: &'static str, call: Call<'_>) {
        self.with(|world| {
            if world.asked.is_none() {
                return;
            }
            let questions = questions(world, name, call);
            if let Some(asked) = &mut world.asked {
                asked.authorizations.extend(questions);
                if let Call::Template(template) = call {
                    asked.templates.insert(template.name.clone(), template.data.clone());
                }
            }
        });
    }
}

fn questions(world: &World, call: &'static str, what: Call<'_>) -> Vec<Authorization> {
    let mut questions = Questions { world, call, found: Vec::new() };
    match what {
        Call::Template(template) => questions.template_made(template),
        Call::TemplateRemoved(name) => {
            if let Some(record) = world.account.templates.get(name) {
                let arn = questions.ec2("launch-template", &record.id);
                questions.ask("ec2:DeleteLaunchTemplate", arn, existing(&record.tags));
            }
        }
        Call::Fleet(request) => questions.fleet(request),
        Call::Run(request) => questions.run(request),
        Call::Tag(id, tags) => questions.instance("ec2:CreateTags", id, requested(tags)),
        Call::Reboot(id) => questions.instance("ec2:RebootInstances", id, Vec::new()),
        Call::Terminate(ids) => {
            for id in ids {
                questions.instance("ec2:TerminateInstances", id, Vec::new());
            }
        }
        Call::Profile { place, role, tags } => questions.profile_made(place, role, tags),
        Call::ProfileRemoved(name) => questions.profile_removed(name),
        Call::Images(terms, version) => {
            for parameter in parameters(terms, version) {
                let region = &world.catalog.region;
                let arn = format!("arn:aws:ssm:{region}::parameter{parameter}");
                questions.ask("ssm:GetParameter", arn, Vec::new());
            }
        }
        Call::Console(id) => questions.instance("ec2:GetConsoleOutput", id, Vec::new()),
        Call::Access(cluster, instance) => questions.access(cluster, instance),
        Call::Shifts(cluster) => {
            let arn = questions.cluster(cluster);
            let key = ("arc-zonal-shift:ResourceIdentifier".to_owned(), arn.clone());
            questions.ask("arc-zonal-shift:GetManagedResource", arn, vec![key]);
        }
    }
    questions.found
}

/// Names of the SSM parameters that `terms` stand for.
fn parameters(terms: &[ImageTerm], kubernetes_version: &str) -> Vec<String> {
    let of_aliases = terms.iter().filter_map(|term| match term {
        ImageTerm::Alias { family, version } => {
            image_alias::parameters(*family, version, kubernetes_version).ok()
        }
        _ => None,
    });
    let aliases = of_aliases.flatten().map(|parameter| parameter.name);
    aliases.chain(loads::parameters(terms).into_iter().map(ToOwned::to_owned)).collect()
}

/// The tags of a launch template of the user's own: without the first, no function may use it.
pub(crate) fn own_template_tags(cluster: &ClusterName) -> Tags {
    [(CLUSTER_NAME_TAG.to_owned(), cluster.to_string())].into()
}
