//! What the volumes of a node cost: the prices of EBS by region, and what a class asks for.
//!
//! Prices are those of <https://aws.amazon.com/ebs/pricing/> of July 2021, in dollars for a month, as third parties
//! took them down; those of gp3 in us-east-1, eu-central-1 and ap-northeast-1 and of io2 in ap-northeast-1 agree
//! with answers of AWS's price list that were published since. What follows from them wherever both are known
//! is worked out: throughput of gp3 costs half of what a GiB does for each MiB/s, and IOPS of io2 beyond 32,000
//! cost 7 tenths and beyond 64,000 49 hundredths of the first. io2 costs what io1 does. Requests to
//! magnetic volumes, snapshots and the initialization of volumes are not counted.

use model::{
    Bytes, HOURS_PER_MONTH, HourlyPrice,
    node_class::{BlockDevice, NodeClass, TemplateSource},
};

use crate::{family, template};

/// What the volumes of a node of a class cost, and on what that rests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VolumePrice {
    /// For one hour; `None` where nothing is known of the volumes or of their prices.
    pub hourly: Option<HourlyPrice>,
    /// What was taken for granted or is left out, as sentences without an end.
    pub remarks: Vec<String>,
}

/// Prices of one region for a month, in millionths of a dollar.
#[derive(Clone, Copy, Debug)]
struct Region {
    name: &'static str,
    /// For a GiB.
    gp3: u64,
    gp2: u64,
    /// Of io1 and io2.
    io: u64,
    st1: u64,
    sc1: u64,
    /// For one operation a second beyond those that are included.
    gp3_iops: u64,
    io_iops: u64,
}

const fn region(name: &'static str, gib: [u64; 5], iops: [u64; 2]) -> Region {
    let [gp3, gp2, io, st1, sc1] = gib;
    let [gp3_iops, io_iops] = iops;
    Region { name, gp3, gp2, io, st1, sc1, gp3_iops, io_iops }
}

/// What counts where the prices of a region are not known.
const FALLBACK: Region =
    region("us-east-1", [80_000, 100_000, 125_000, 45_000, 15_000], [5_000, 65_000]);

/// Sorted by name.
const REGIONS: [Region; 21] = [
    region("af-south-1", [104_700, 130_900, 164_220, 59_500, 19_992], [6_500, 85_680]),
    region("ap-east-1", [105_600, 132_000, 151_800, 59_400, 19_800], [6_600, 79_200]),
    region("ap-northeast-1", [96_000, 120_000, 142_000, 54_000, 18_000], [6_000, 74_000]),
    region("ap-northeast-2", [91_200, 114_000, 127_800, 51_000, 17_400], [5_700, 66_600]),
    region("ap-northeast-3", [96_000, 120_000, 142_000, 54_000, 18_000], [6_000, 74_000]),
    region("ap-south-1", [91_200, 114_000, 131_000, 51_000, 17_400], [5_700, 68_000]),
    region("ap-southeast-1", [96_000, 120_000, 138_000, 54_000, 18_000], [6_000, 72_000]),
    region("ap-southeast-2", [96_000, 120_000, 138_000, 54_000, 18_000], [6_000, 72_000]),
    region("ca-central-1", [88_000, 110_000, 138_000, 50_000, 16_800], [5_500, 72_000]),
    region("eu-central-1", [95_200, 119_000, 149_000, 54_000, 18_000], [6_000, 78_000]),
    region("eu-north-1", [83_600, 104_500, 131_100, 47_500, 15_960], [5_200, 68_400]),
    region("eu-south-1", [92_400, 115_500, 144_900, 52_500, 17_640], [5_800, 75_600]),
    region("eu-west-1", [88_000, 110_000, 138_000, 50_000, 16_800], [5_500, 72_000]),
    region("eu-west-2", [92_800, 116_000, 145_000, 53_000, 17_400], [5_800, 76_000]),
    region("eu-west-3", [92_800, 116_000, 145_000, 53_000, 17_400], [5_800, 76_000]),
    region("me-south-1", [96_800, 121_000, 151_800, 55_000, 18_480], [6_100, 79_200]),
    region("sa-east-1", [152_000, 190_000, 238_000, 86_000, 28_800], [9_500, 91_000]),
    FALLBACK,
    region("us-east-2", [80_000, 100_000, 125_000, 45_000, 15_000], [5_000, 65_000]),
    region("us-west-1", [96_000, 120_000, 138_000, 54_000, 18_000], [6_000, 72_000]),
    region("us-west-2", [80_000, 100_000, 125_000, 45_000, 15_000], [5_000, 65_000]),
];

/// Parts of [`HourlyPrice`] in a millionth of a dollar.
const PARTS: u128 = 10_000_000_000;

/// What every gp3 volume has without paying: operations and MiB a second.
const GP3_INCLUDED: (u64, u64) = (3_000, 125);
/// IOPS of io2 up to which each costs this many hundredths of the first.
const IO2_STEPS: [(u64, u64); 3] = [(32_000, 100), (64_000, 70), (u64::MAX, 49)];

/// The price of the volumes of each node of `class` in `region`. Volumes that the class does not describe
/// are its family's own.
#[must_use]
pub fn volume_price(class: &NodeClass, region: &str) -> VolumePrice {
    let unknown = |why: String| VolumePrice { hourly: None, remarks: vec![why] };
    if let TemplateSource::Named(name) = &class.launch_template {
        return unknown(format!("volumes are not in prices: its launch template {name} has them"));
    }
    if region.starts_with("cn-") {
        return unknown(format!("volumes are not in prices: those of {region} are not known"));
    }
    let defaults = family::default_block_devices(class.image_family);
    let devices = template::block_devices(class, defaults.clone());
    if devices.is_empty() {
        return unknown("volumes are not in prices: its images have them".to_owned());
    }
    let mut remarks = Vec::new();
    let known = REGIONS.iter().find(|known| known.name == region);
    if known.is_none() {
        let of = FALLBACK.name;
        remarks.push(format!("prices of volumes are those of {of}: of {region} none are known"));
    }
    let prices = known.copied().unwrap_or(FALLBACK);
    let mut sum: u128 = 0;
    for device in &devices {
        match monthly(&prices, device, &defaults) {
            Ok(price) => sum = sum.saturating_add(price),
            Err(why) => remarks.push(why),
        }
    }
    let hourly = HourlyPrice::from_parts(sum.saturating_mul(PARTS) / HOURS_PER_MONTH);
    VolumePrice { hourly: Some(hourly), remarks }
}

/// Millionths of a dollar for a month of `device`, or why there is no price.
fn monthly(
    prices: &Region,
    device: &BlockDevice,
    defaults: &[BlockDevice],
) -> Result<u128, String> {
    let name = device.device_name.as_deref().unwrap_or("without a name");
    let of_family = || defaults.iter().find(|known| known.device_name == device.device_name)?.size;
    let size = device.size.or_else(of_family).ok_or_else(|| {
        format!("volume {name} is not in prices: its size is that of a snapshot or an image")
    })?;
    let gibibytes = u128::from(size.0.div_ceil(Bytes::from_gibibytes(1).0));
    // What EC2 makes of a volume without a type.
    let kind = device.volume_type.as_deref().unwrap_or("gp2");
    let iops = device.iops.map_or(0, u64::from);
    let throughput = device.throughput.map_or(0, u64::from);
    let (of_gib, of_speed) = match kind {
        "gp3" => {
            let (iops_included, throughput_included) = GP3_INCLUDED;
            let iops = times(iops.saturating_sub(iops_included), prices.gp3_iops);
            let more = throughput.saturating_sub(throughput_included);
            (prices.gp3, iops.saturating_add(times(more, prices.gp3) / 2))
        }
        "gp2" => (prices.gp2, 0),
        "io1" => (prices.io, times(iops, prices.io_iops)),
        "io2" => (prices.io, in_steps(iops, prices.io_iops)),
        "st1" => (prices.st1, 0),
        "sc1" => (prices.sc1, 0),
        // Half of gp2, as in us-east-1.
        "standard" => (prices.gp2 / 2, 0),
        other => return Err(format!("volume {name} is not in prices: `{other}` has none")),
    };
    Ok(gibibytes.saturating_mul(u128::from(of_gib)).saturating_add(of_speed))
}

/// What `iops` of an io2 volume cost, the first of which cost `price` each.
fn in_steps(iops: u64, price: u64) -> u128 {
    let (mut from, mut hundredths): (u64, u128) = (0, 0);
    for (to, share) in IO2_STEPS {
        hundredths = hundredths.saturating_add(times(iops.min(to).saturating_sub(from), share));
        from = to;
    }
    hundredths.saturating_mul(u128::from(price)) / 100
}

fn times(count: u64, each: u64) -> u128 {
    u128::from(count).saturating_mul(u128::from(each))
}

#[cfg(test)]
mod tests;
