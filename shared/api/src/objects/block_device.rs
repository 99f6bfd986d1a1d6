//! `blockDeviceMappings` of an EC2NodeClass.

use model::{Bytes, node_class::BlockDevice, quantity::Quantity};

use crate::document::field::Field;

const MAPPINGS_MAX: usize = 50;

const VOLUME_TYPES: &[(&str, &str)] = &[
    ("standard", "standard"),
    ("io1", "io1"),
    ("io2", "io2"),
    ("gp2", "gp2"),
    ("sc1", "sc1"),
    ("st1", "st1"),
    ("gp3", "gp3"),
];

/// The largest volume by suffix.
const SIZES: [(&str, u64); 4] = [("Gi", 59_000), ("Ti", 58), ("G", 64_000), ("T", 64)];

/// Reads the list. What is wrong is complained about and left out.
pub(crate) fn read(field: &Field<'_>) -> Vec<BlockDevice> {
    let items = field.list_up_to(MAPPINGS_MAX).unwrap_or_default();
    let block_devices: Vec<_> = items.iter().filter_map(read_one).collect();
    if block_devices.iter().filter(|device| device.is_root).count() > 1 {
        field.complain("at most one entry may have `rootVolume: true`");
    }
    block_devices
}

fn read_one(item: &Field<'_>) -> Option<BlockDevice> {
    let mut fields = item.fields()?;
    let mut device = BlockDevice {
        device_name: fields.get("deviceName").and_then(|f| f.text()).map(ToOwned::to_owned),
        is_root: fields.get("rootVolume").and_then(|f| f.boolean()).unwrap_or_default(),
        ..BlockDevice::default()
    };
    if let Some(ebs) = fields.get("ebs") {
        read_ebs(&ebs, &mut device);
    }
    fields.done();
    Some(device)
}

fn read_ebs(field: &Field<'_>, device: &mut BlockDevice) {
    let Some(mut fields) = field.fields() else { return };
    let text = |field: Option<Field<'_>>| field.and_then(|f| f.text()).map(ToOwned::to_owned);
    let boolean = |field: Option<Field<'_>>| field.and_then(|f| f.boolean());
    let number = |field: Option<Field<'_>>| field.and_then(|f| f.integer(0, i64::from(u32::MAX)));
    device.delete_on_termination = boolean(fields.get("deleteOnTermination"));
    device.encrypted = boolean(fields.get("encrypted"));
    device.iops = number(fields.get("iops"));
    device.throughput = number(fields.get("throughput"));
    device.kms_key_id = text(fields.get("kmsKeyID"));
    device.snapshot_id = text(fields.get("snapshotID"));
    let rate = fields.get("volumeInitializationRate");
    device.initialization_rate = rate.as_ref().and_then(|field| field.integer(100, 300));
    let size = fields.get("volumeSize");
    device.size = size.as_ref().and_then(read_size);
    let volume_type = fields.get("volumeType").and_then(|field| field.choice(VOLUME_TYPES));
    device.volume_type = volume_type.map(ToOwned::to_owned);
    if device.snapshot_id.is_none() {
        if size.is_none() {
            field.complain("must have `snapshotID` or `volumeSize`");
        }
        if let Some(rate) = rate {
            rate.complain("needs `snapshotID`");
        }
    }
    fields.done();
}

/// A whole number with one of the suffixes that EBS volumes come in.
fn read_size(field: &Field<'_>) -> Option<Bytes> {
    let text = field.text()?;
    let fits = |(suffix, most): &(&str, u64)| {
        let number = text.strip_suffix(suffix)?;
        let starts = number.starts_with(|c: char| c.is_ascii_digit() && c != '0');
        let is_whole = starts && number.chars().all(|c| c.is_ascii_digit());
        is_whole.then(|| number.parse::<u64>().ok()).flatten().filter(|n| n <= most)
    };
    if SIZES.iter().find_map(fits).is_none() {
        field.complain(format!(
            "`{text}` is not a volume size: it must be a whole number of Gi (to 59000), Ti (to \
             58), G (to 64000) or T (to 64)"
        ));
        return None;
    }
    field.accept(Quantity::parse_unsigned(text).map(Quantity::to_bytes))
}
