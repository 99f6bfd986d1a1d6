//! What AWS sells in a region. Nothing is changed.

use std::collections::BTreeMap;

use installer::{
    installation::now,
    live::{self, AccountClient, Sold},
};
use model::{
    InstanceTypeInfo,
    instance_type_info::{RegionMarket, TableFacts},
};
use report::error::BadInput;

/// Asks for all of it, for `command`, about `region` or that of the environment. `builtin` knows what no call answers,
/// and prices where there is no price list.
pub(super) fn read(
    command: &str,
    region: Option<&str>,
    builtin: (RegionMarket, Vec<InstanceTypeInfo>),
) -> Result<(RegionMarket, Vec<InstanceTypeInfo>), BadInput> {
    live::needed(command)?;
    let sold = AccountClient::open(region).and_then(|account| account.sold(now()));
    together(sold.map_err(BadInput::one)?, builtin)
}

fn together(
    sold: Sold,
    (builtin, known): (RegionMarket, Vec<InstanceTypeInfo>),
) -> Result<(RegionMarket, Vec<InstanceTypeInfo>), BadInput> {
    let Sold { region, types, zones, offered, on_demand, spot } = sold;
    if types.is_empty() || zones.is_empty() || offered.is_empty() {
        let why = format!("{region}: EC2 names no instance type, no zone, or nothing that is sold");
        return Err(BadInput::one(why));
    }
    let facts: BTreeMap<&str, TableFacts> =
        known.iter().map(|info| (info.name.as_str(), info.table)).collect();
    let with_facts = |info: InstanceTypeInfo| InstanceTypeInfo {
        table: facts.get(info.name.as_str()).copied().unwrap_or(info.table),
        ..info
    };
    let descriptions = types.into_iter().map(with_facts).collect();
    let on_demand = on_demand.unwrap_or(builtin.on_demand);
    Ok((RegionMarket { offered, on_demand, spot, region, zones }, descriptions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_call_answers_is_taken_from_what_is_built_in() {
        let (market, types) = instance_catalog::builtin_market().unwrap();
        let of_ec2 = |info: &InstanceTypeInfo| InstanceTypeInfo {
            table: TableFacts::default(),
            ..info.clone()
        };
        let sold = |types: Vec<InstanceTypeInfo>| Sold {
            region: "us-gov-west-1".to_owned(),
            types,
            zones: market.zones.clone(),
            offered: market.offered.clone(),
            on_demand: None,
            spot: BTreeMap::new(),
        };
        let builtin = (market.clone(), types.clone());
        let asked = sold(types.iter().map(of_ec2).collect());
        let (priced, described) = together(asked, builtin.clone()).unwrap();
        assert_eq!(priced.region, "us-gov-west-1");
        assert_eq!(priced.on_demand, market.on_demand);
        assert_eq!(described, types);
        let empty = together(sold(Vec::new()), builtin).unwrap_err();
        assert!(empty.to_string().contains("us-gov-west-1: EC2 names no instance type"), "{empty}");
    }
}
