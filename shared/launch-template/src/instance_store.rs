//! Local disks of an instance type.
//!
//! The label `karpenter.k8s.aws/instance-local-nvme` tells the size of local disks only where they
//! are NVMe. Those of older types are a fact of EC2 that no label has: the table below.

use model::InstanceType;

const LOCAL_NVME: &str = "karpenter.k8s.aws/instance-local-nvme";

/// Gigabytes (10^9) of all local disks that are not NVMe, sorted by type. No new type has such
/// disks. `DescribeInstanceTypes`, `InstanceStorageInfo.TotalSizeInGB`.
#[rustfmt::skip]
const OLDER: &[(&str, u64)] = &[
    ("c1.medium", 350),
    ("c1.xlarge", 1_680),
    ("c3.2xlarge", 160),
    ("c3.4xlarge", 320),
    ("c3.8xlarge", 640),
    ("c3.large", 32),
    ("c3.xlarge", 80),
    ("d2.2xlarge", 12_288),
    ("d2.4xlarge", 24_576),
    ("d2.8xlarge", 49_152),
    ("d2.xlarge", 6_144),
    ("h1.16xlarge", 16_000),
    ("h1.2xlarge", 2_000),
    ("h1.4xlarge", 4_000),
    ("h1.8xlarge", 8_000),
    ("i2.2xlarge", 1_600),
    ("i2.4xlarge", 3_200),
    ("i2.8xlarge", 6_400),
    ("i2.xlarge", 800),
    ("m1.large", 840),
    ("m1.medium", 410),
    ("m1.small", 160),
    ("m1.xlarge", 1_680),
    ("m2.2xlarge", 850),
    ("m2.4xlarge", 1_680),
    ("m2.xlarge", 420),
    ("m3.2xlarge", 160),
    ("m3.large", 32),
    ("m3.medium", 4),
    ("m3.xlarge", 80),
    ("r3.2xlarge", 160),
    ("r3.4xlarge", 320),
    ("r3.8xlarge", 640),
    ("r3.large", 32),
    ("r3.xlarge", 80),
    ("x1.16xlarge", 1_920),
    ("x1.32xlarge", 3_840),
    ("x1e.16xlarge", 1_920),
    ("x1e.2xlarge", 240),
    ("x1e.32xlarge", 3_840),
    ("x1e.4xlarge", 480),
    ("x1e.8xlarge", 960),
    ("x1e.xlarge", 120),
];

/// Gigabytes (10^9) of all local disks of `instance_type`; 0 when it has none.
pub(crate) fn gigabytes(instance_type: &InstanceType) -> u64 {
    if let Some(size) = instance_type.label(LOCAL_NVME) {
        return size.parse().unwrap_or_default();
    }
    let name = instance_type.name.as_str();
    let index = OLDER.binary_search_by(|(other, _)| (*other).cmp(name)).ok();
    index.and_then(|index| OLDER.get(index)).map_or(0, |(_, size)| *size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_row_is_found() {
        assert!(OLDER.is_sorted());
        assert!(OLDER.windows(2).all(|pair| pair[0].0 != pair[1].0));
    }
}
