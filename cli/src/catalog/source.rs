//! Where instance types come from: a folder with EC2's answers, AWS itself, or the built-in ones.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use instance_catalog::{builtin_market, ec2};
use launch_template::NodeSettings;
use model::{
    InstanceTypeInfo, RegionCatalog, Zone, ZoneId, instance_type_info::RegionMarket,
    node_class::Subnet,
};
use report::{error::BadInput, progress::ProgressLine};

use super::live;

/// What EC2 says.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) market: RegionMarket,
    descriptions: Vec<InstanceTypeInfo>,
}

/// Reads the folder `from`, else what is built in.
pub(crate) fn load(from: Option<&Path>) -> Result<Source, BadInput> {
    let (market, descriptions) = match from {
        Some(folder) => read_folder(folder)?,
        None => builtin()?,
    };
    Ok(Source { market, descriptions })
}

/// Asks AWS for `command` about `region`, else about that of the environment.
pub(crate) fn live(command: &str, region: Option<&str>) -> Result<Source, BadInput> {
    let _asking = ProgressLine::new("asking AWS for instance types and prices");
    let (market, descriptions) = live::read(command, region, builtin()?)?;
    Ok(Source { market, descriptions })
}

fn builtin() -> Result<(RegionMarket, Vec<InstanceTypeInfo>), BadInput> {
    builtin_market().map_err(|error| BadInput::one(error.to_string()))
}

impl Source {
    /// The catalog for a class with `subnets`, which tell the ids of zones.
    pub(crate) fn catalog(self, subnets: &[Subnet], settings: &NodeSettings) -> RegionCatalog {
        let mut market = self.market;
        let told: BTreeMap<Zone, ZoneId> =
            subnets.iter().map(|subnet| (subnet.zone.clone(), subnet.zone_id.clone())).collect();
        market.zones.extend(told);
        launch_template::catalog(&market, self.descriptions, settings)
    }
}

fn read_folder(folder: &Path) -> Result<(RegionMarket, Vec<InstanceTypeInfo>), BadInput> {
    let types = file(folder, "describe-instance-types")?;
    let offerings = file(folder, "describe-instance-type-offerings")?;
    let (limits, prices) = (file(folder, "limits")?, file(folder, "prices")?);
    let region = region_of(&types).ok_or_else(|| {
        let rule = "its name must say the region: describe-instance-types.REGION.json";
        BadInput::one(format!("{}: {rule}", types.display()))
    })?;
    let (types, offerings) = (bytes(&types)?, bytes(&offerings)?);
    let (limits, prices) = (bytes(&limits)?, bytes(&prices)?);
    let answers = ec2::Answers {
        instance_types: &types,
        offerings: &offerings,
        limits: &limits,
        prices: &prices,
    };
    let read = ec2::read(&region, &answers);
    read.map_err(|error| BadInput::one(format!("{}: {error}", folder.display())))
}

/// The one file called `NAME.json`, `NAME.REGION.json`, or either with `.gz`.
fn file(folder: &Path, name: &str) -> Result<PathBuf, BadInput> {
    let entries = fs::read_dir(folder)
        .map_err(|error| BadInput::one(format!("{}: {error}", folder.display())))?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let is_wanted = |path: &PathBuf| {
        let file = path.file_name().and_then(|file| file.to_str()).unwrap_or_default();
        let rest = file.strip_suffix(".gz").unwrap_or(file).strip_suffix(".json");
        let rest = rest.and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut path_bufs: Vec<PathBuf> = paths.filter(is_wanted).collect();
    path_bufs.sort();
    match path_bufs.as_slice() {
        [path_buf] => Ok(path_buf.clone()),
        [] => Err(BadInput::one(format!("{}: has no file {name}*.json", folder.display()))),
        _ => {
            let rule = format!("has more than one file {name}*.json: keep those of one region");
            Err(BadInput::one(format!("{}: {rule}", folder.display())))
        }
    }
}

/// `us-west-2` of `describe-instance-types.us-west-2.json.gz`.
fn region_of(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let parts: Vec<&str> = file.split('.').collect();
    match parts.as_slice() {
        [_, region, "json", ..] => Some((*region).to_owned()),
        _ => None,
    }
}

fn bytes(path: &Path) -> Result<Vec<u8>, BadInput> {
    fs::read(path).map_err(|error| BadInput::one(format!("{}: {error}", path.display())))
}
