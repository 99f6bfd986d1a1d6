//! Launch templates of the user's own: what launches look at.

use std::collections::BTreeSet;

use aws_sdk_ec2::{
    Client,
    types::{LaunchTemplateVersion, ResponseLaunchTemplateData, Tenancy},
};
use model::{
    ImageId, LaunchTemplateName,
    node_class::{DescribedTemplate, TemplateSetting},
};
use ports::{Fault, PortError};

use crate::fault::{BadAnswer, port_error};

const DESCRIBE: &str = "DescribeLaunchTemplateVersions";

/// The newest version of the launch template called `name`; `None` where there is none.
///
/// Karpenter of v1alpha5 launched from `$Latest`: `pkg/cloudprovider/aws/instance.go`.
pub(super) async fn newest(
    client: &Client,
    name: &LaunchTemplateName,
) -> Result<Option<DescribedTemplate>, PortError> {
    let request = client.describe_launch_template_versions().launch_template_name(name.as_str());
    // An image may be named by an SSM parameter; its id is wanted.
    match request.versions("$Latest").resolve_alias(true).send().await {
        Ok(answer) => {
            let launch_template_version = answer.launch_template_versions().first();
            let described =
                launch_template_version.map(|version| described(name, version)).transpose();
            described.map_err(|problem| BadAnswer::of(DESCRIBE, problem))
        }
        Err(error) => match port_error(DESCRIBE, error) {
            PortError { fault: Fault::NotFound, .. } => Ok(None),
            error => Err(error),
        },
    }
}

fn described(
    name: &LaunchTemplateName,
    launch_template_version: &LaunchTemplateVersion,
) -> Result<DescribedTemplate, String> {
    let number =
        launch_template_version.version_number().and_then(|number| u64::try_from(number).ok());
    let version = number.ok_or_else(|| format!("{name}: a version without a number"))?;
    let data = launch_template_version.launch_template_data();
    let image = data
        .and_then(|data| data.image_id())
        .filter(|id| !id.is_empty())
        .map(ImageId::new)
        .transpose();
    Ok(DescribedTemplate {
        name: name.clone(),
        version,
        image: image.map_err(|error| format!("{name}: {error}"))?,
        sets: data.map(settings).unwrap_or_default(),
    })
}

fn settings(data: &ResponseLaunchTemplateData) -> BTreeSet<TemplateSetting> {
    let tenancy = data.placement().and_then(|placement| placement.tenancy());
    let of_default = [None, Some(&Tenancy::Default)];
    [
        (data.instance_type().is_some(), TemplateSetting::InstanceType),
        (data.instance_requirements().is_some(), TemplateSetting::InstanceRequirements),
        (!data.network_interfaces().is_empty(), TemplateSetting::NetworkInterfaces),
        (data.instance_market_options().is_some(), TemplateSetting::InstanceMarketOptions),
        (!of_default.contains(&tenancy), TemplateSetting::Tenancy),
    ]
    .into_iter()
    .filter_map(|(is_set, setting)| is_set.then_some(setting))
    .collect()
}
