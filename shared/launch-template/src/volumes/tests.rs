//! What volumes cost, against sums that were made by hand from the price list.

use model::node_class::ImageFamily;

use super::*;
use crate::testing::class;

/// Volumes such as `gp3 100 3000 125`: type, GiB, IOPS, MiB/s; `-` is not said.
fn priced(region: &str, volumes: &[&str]) -> VolumePrice {
    let mut class = class(ImageFamily::Al2023).class;
    class.block_devices = volumes.iter().map(|text| device(text)).collect();
    volume_price(&class, region)
}

fn device(text: &str) -> BlockDevice {
    let mut words = text.split(' ').map(|word| Some(word).filter(|word| *word != "-"));
    let mut next = || words.next().flatten();
    let volume_type = next().map(str::to_owned);
    let mut number = || next().map(|word| word.parse::<u32>().unwrap());
    let size = number().map(|gibibytes| Bytes::from_gibibytes(gibibytes.into()));
    let (iops, throughput) = (number(), number());
    let device_name = Some("/dev/xvdz".to_owned());
    BlockDevice { device_name, size, volume_type, iops, throughput, ..BlockDevice::default() }
}

/// Dollars of a month, to the hundredth of a cent.
fn month(price: &VolumePrice) -> String {
    let parts = price.hourly.expect("a price").parts() * HOURS_PER_MONTH;
    let hundredths = (parts + PARTS * 50) / (PARTS * 100);
    format!("{}.{:04}", hundredths / 10_000, hundredths % 10_000)
}

#[test]
fn volumes_cost_what_the_price_list_says() {
    for (region, volume, expected) in [
        ("us-east-1", "gp3 20", "1.6000"),
        // 3,000 IOPS and 125 MiB/s are included.
        ("us-east-1", "gp3 20 3000 125", "1.6000"),
        ("us-east-1", "gp3 2000 10000 500", "210.0000"),
        ("us-west-2", "gp2 100", "10.0000"),
        ("eu-central-1", "gp3 100 6000 500", "45.3700"),
        ("ap-northeast-1", "io1 100 1000", "88.2000"),
        ("us-east-1", "io2 1000 32000", "2205.0000"),
        // 32,000 at 6.5 cents, 32,000 at 4.55 cents, 6,000 at 3.185 cents.
        ("us-east-1", "io2 1000 70000", "3852.1000"),
        ("sa-east-1", "st1 500", "43.0000"),
        ("af-south-1", "sc1 1000", "19.9920"),
        ("us-east-1", "standard 10", "0.5000"),
        // EC2 makes one of gp2 where no type is said.
        ("us-east-1", "- 10", "1.0000"),
    ] {
        let price = priced(region, &[volume]);
        assert_eq!(month(&price), expected, "{region}: {volume}");
        assert_eq!(price.remarks, [""; 0], "{region}: {volume}");
    }
    assert_eq!(month(&priced("us-east-1", &["gp3 20", "gp2 100"])), "11.6000");
}

#[test]
fn a_class_without_volumes_has_those_of_its_family() {
    let month_of = |family| month(&volume_price(&class(family).class, "us-west-2"));
    assert_eq!(month_of(ImageFamily::Al2023), "1.6000");
    assert_eq!(month_of(ImageFamily::Bottlerocket), "2.0800", "6 and 20 GiB");
    assert_eq!(month_of(ImageFamily::Windows2022), "4.0000");
    let custom = volume_price(&class(ImageFamily::Custom).class, "us-west-2");
    assert_eq!(custom.hourly, None);
    assert!(custom.remarks[0].contains("its images have them"), "{custom:?}");
}

#[test]
fn what_is_not_known_is_said() {
    let elsewhere = priced("eu-isoe-west-1", &["gp3 20"]);
    assert_eq!(month(&elsewhere), "1.6000");
    assert!(elsewhere.remarks[0].contains("us-east-1: of eu-isoe-west-1"), "{elsewhere:?}");
    let china = priced("cn-north-1", &["gp3 20"]);
    assert_eq!(china.hourly, None, "prices there are in another currency");
    assert!(china.remarks[0].contains("cn-north-1"), "{china:?}");
    let partly = priced("us-west-2", &["gp3 20", "gp3 -", "gp9 20"]);
    assert_eq!(month(&partly), "1.6000");
    let said = partly.remarks.join("; ");
    assert!(
        said.contains("size is that of a snapshot") && said.contains("`gp9` has none"),
        "{said}"
    );
    let mut named = class(ImageFamily::Al2023).class;
    named.launch_template = TemplateSource::Named("own".parse().unwrap());
    let named = volume_price(&named, "us-west-2");
    assert_eq!(named.hourly, None);
    assert!(named.remarks[0].contains("launch template own"), "{named:?}");
}

#[test]
fn a_root_volume_without_a_size_has_that_of_its_family() {
    let mut class = class(ImageFamily::Al2023).class;
    let device_name = Some("/dev/xvda".to_owned());
    let volume_type = Some("gp3".to_owned());
    class.block_devices = vec![BlockDevice { device_name, volume_type, ..BlockDevice::default() }];
    assert_eq!(month(&volume_price(&class, "us-west-2")), "1.6000");
}

#[test]
fn regions_are_sorted_and_there_once() {
    assert!(REGIONS.is_sorted_by(|a, b| a.name < b.name));
}
