//! Launch templates.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    LaunchTemplateName, SecurityGroupId,
    launch::{ReservationMarket, ReservationTarget},
    node_class::TemplateSetting,
};
use simulator::{AwsError, NewTemplate, ReservationPreference, TemplateRecord};

use super::{Answer, Call, refused};
use crate::{
    filter::Filter,
    page::Page,
    parameters::{Parameters, invalid, refusal},
    xml::{Element, list, node, tags, text},
};

/// What a launch template may say that makes no difference to the simulated account.
const WITHOUT_EFFECT: [&str; 7] = [
    "BlockDeviceMapping",
    "CpuOptions",
    "EnclaveOptions",
    "MetadataOptions",
    "Monitoring",
    "TagSpecification",
    "UserData",
];

pub(super) async fn describe(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let names: Vec<LaunchTemplateName> =
        call.parameters.all("LaunchTemplateName").map_err(refused)?;
    let page = Page::take(&mut call.parameters, 1..=200, call.page_max).map_err(refused)?;
    let filters = Filter::take(&mut call.parameters).map_err(refused)?;
    call.tried("DescribeLaunchTemplates", is_dry).await?;
    let mut template_records = call.sim.describe_launch_templates(&names).await?;
    for filter in &filters {
        let known: Result<Vec<bool>, AwsError> = template_records
            .iter()
            .map(|template| match filter.name.as_str() {
                "launch-template-name" => Ok(filter.has(template.name.as_str())),
                _ => filter.has_tag(&template.tags).ok_or_else(|| filter.unknown()),
            })
            .collect();
        let mut known = known.map_err(refused)?.into_iter();
        template_records.retain(|_| known.next().unwrap_or(false));
    }
    let (found, next) = page.of(template_records);
    let mut children = vec![list("launchTemplates", found.iter().map(described))];
    children.extend(next);
    Ok(children)
}

/// The versions of one launch template: it has the one. What it names by an SSM parameter is shown
/// as what that names, with `ResolveAlias` or without.
pub(super) async fn versions(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    call.parameters.accept("ResolveAlias");
    let name: Option<LaunchTemplateName> =
        call.parameters.parsed("LaunchTemplateName").map_err(refused)?;
    let missing = || refused(refusal("MissingParameter", "LaunchTemplateName is missing"));
    let name = name.ok_or_else(missing)?;
    for version in call.parameters.texts("LaunchTemplateVersion") {
        if !matches!(version.as_str(), "$Latest" | "$Default" | "1") {
            let text = format!("Could not find the specified version {version}");
            return Err(refused(refusal("InvalidLaunchTemplateId.VersionNotFound", text)));
        }
    }
    call.tried("DescribeLaunchTemplateVersions", is_dry).await?;
    let template_record = call.sim.describe_launch_template_version(&name).await?;
    Ok(vec![list("launchTemplateVersionSet", [version(&template_record)])])
}

fn version(template: &TemplateRecord) -> Vec<Element> {
    let mut data = Vec::new();
    data.extend(template.image.as_ref().map(|image| text("imageId", image)));
    let profile = template.instance_profile.as_ref();
    data.extend(profile.map(|name| node("iamInstanceProfile", [text("name", name)])));
    data.extend(template.sets.iter().map(|setting| match setting {
        TemplateSetting::InstanceType => text("instanceType", "m5.large"),
        TemplateSetting::InstanceRequirements => {
            let some = node("vCpuCount", [text("min", 1)]);
            node("instanceRequirements", [some])
        }
        TemplateSetting::NetworkInterfaces => {
            list("networkInterfaceSet", [vec![text("deviceIndex", 0)]])
        }
        TemplateSetting::InstanceMarketOptions => {
            node("instanceMarketOptions", [text("marketType", "spot")])
        }
        TemplateSetting::Tenancy => node("placement", [text("tenancy", "dedicated")]),
    }));
    vec![
        text("launchTemplateId", &template.id),
        text("launchTemplateName", &template.name),
        text("versionNumber", TemplateRecord::VERSION),
        text("defaultVersion", true),
        node("launchTemplateData", data),
    ]
}

pub(super) async fn create(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let new = new_template(&mut call.parameters).map_err(refused)?;
    call.tried("CreateLaunchTemplate", is_dry).await?;
    let made = call.sim.create_launch_template(new).await?;
    Ok(vec![node("launchTemplate", described(&made))])
}

fn new_template(parameters: &mut Parameters) -> Result<NewTemplate, AwsError> {
    let name = parameters.required("LaunchTemplateName")?;
    let token = parameters.text("ClientToken");
    let mut own_tags = BTreeMap::new();
    for mut specification in parameters.branches("TagSpecification") {
        match specification.required("ResourceType")?.as_str() {
            "launch-template" => own_tags = specification.pairs("Tag")?,
            other => return Err(invalid("tagSpecifications", other)),
        }
        specification.finish()?;
    }
    let missing = || refusal("MissingParameter", "LaunchTemplateData is missing");
    let mut data = parameters.branch("LaunchTemplateData").ok_or_else(missing)?;
    let image = data.parsed("ImageId")?;
    let profile = data.branch("IamInstanceProfile").and_then(|mut profile| profile.text("Name"));
    let preference = preference(&mut data)?;
    let security_groups = security_groups(&mut data)?;
    let sets = settings(&mut data)?;
    for name in WITHOUT_EFFECT {
        data.accept(name);
    }
    data.finish()?;
    let name = name.parse().map_err(|_| invalid("launchTemplateName", &name))?;
    Ok(NewTemplate {
        name,
        image,
        instance_profile: profile,
        security_groups,
        sets,
        preference,
        tags: own_tags,
        token,
    })
}

/// Which capacity reservations instances run in, and how those are bought.
fn preference(data: &mut Parameters) -> Result<ReservationPreference, AwsError> {
    let mut said = data.branch("CapacityReservationSpecification").unwrap_or_default();
    let preference = said.text("CapacityReservationPreference");
    let target = said.branch("CapacityReservationTarget");
    let id = target.and_then(|mut target| target.text("CapacityReservationId"));
    said.finish()?;
    // A market of any other kind is only told about.
    let market = data.clone().branch("InstanceMarketOptions");
    let market = match market.and_then(|mut market| market.text("MarketType")).as_deref() {
        Some("capacity-block") => ReservationMarket::CapacityBlock,
        Some("interruptible-capacity-reservation") => ReservationMarket::Interruptible,
        _ => ReservationMarket::OnDemand,
    };
    match (preference.as_deref(), id) {
        (None | Some("open"), None) => Ok(ReservationPreference::Open),
        (Some("none"), None) => Ok(ReservationPreference::None),
        (None | Some("capacity-reservations-only"), Some(id)) => {
            let id = id.parse().map_err(|_| invalid("CapacityReservationId", &id))?;
            Ok(ReservationPreference::Only(ReservationTarget { id, market }))
        }
        (Some("capacity-reservations-only"), None) => Err(refusal(
            "UnsupportedOperation",
            "not supported yet: capacity-reservations-only without an id",
        )),
        (other, _) => Err(invalid("capacityReservationPreference", other.unwrap_or_default())),
    }
}

/// Those of the first network interface, or of all where no interface says any.
fn security_groups(data: &mut Parameters) -> Result<BTreeSet<SecurityGroupId>, AwsError> {
    let interface = data.clone().branches("NetworkInterface").into_iter().next();
    let of_interface =
        interface.map(|mut interface| interface.all("SecurityGroupId")).transpose()?;
    let of_all = data.all("SecurityGroupId")?;
    Ok(of_interface.into_iter().flatten().chain(of_all).collect())
}

/// What `data` sets although launches choose it.
fn settings(data: &mut Parameters) -> Result<BTreeSet<TemplateSetting>, AwsError> {
    let mut sets = BTreeSet::new();
    if data.text("InstanceType").is_some() {
        sets.insert(TemplateSetting::InstanceType);
    }
    for (name, setting) in [
        ("InstanceRequirements", TemplateSetting::InstanceRequirements),
        ("NetworkInterface", TemplateSetting::NetworkInterfaces),
        ("InstanceMarketOptions", TemplateSetting::InstanceMarketOptions),
    ] {
        if data.branch(name).is_some() {
            sets.insert(setting);
        }
    }
    let mut placement = data.branch("Placement").unwrap_or_default();
    match placement.text("Tenancy").as_deref() {
        None | Some("default") => {}
        Some("dedicated" | "host") => {
            sets.insert(TemplateSetting::Tenancy);
        }
        Some(other) => return Err(invalid("tenancy", other)),
    }
    Ok(sets)
}

pub(super) async fn delete(mut call: Call<'_>) -> Answer {
    let is_dry = call.parameters.flag("DryRun").map_err(refused)?;
    let id = call.parameters.text("LaunchTemplateId");
    let name = call.parameters.text("LaunchTemplateName");
    call.tried("DeleteLaunchTemplate", is_dry).await?;
    let known = call.sim.describe_launch_templates(&[]).await?;
    let template_record = known.into_iter().find(|template| {
        id.as_ref() == Some(&template.id) || name.as_deref() == Some(template.name.as_str())
    });
    let Some(found) = template_record else {
        let (code, what) = match (id, name) {
            (Some(id), _) => ("InvalidLaunchTemplateId.NotFound", id),
            (None, name) => {
                ("InvalidLaunchTemplateName.NotFoundException", name.unwrap_or_default())
            }
        };
        let text = format!("The specified launch template, {what}, does not exist.");
        return Err(refused(refusal(code, text)));
    };
    let gone = call.sim.delete_launch_template(&found.name).await?;
    Ok(vec![node("launchTemplate", described(&gone))])
}

fn described(template: &TemplateRecord) -> Vec<Element> {
    vec![
        text("launchTemplateId", &template.id),
        text("launchTemplateName", &template.name),
        text("createTime", template.created_at),
        text("createdBy", "arn:aws:iam::123456789012:role/journeyman"),
        text("defaultVersionNumber", 1),
        text("latestVersionNumber", 1),
        tags("tagSet", &template.tags),
    ]
}
