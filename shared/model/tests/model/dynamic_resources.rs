//! How GPUs are shared.

use std::collections::BTreeMap;

use model::{
    Quantity,
    dynamic_resources::{DeviceCapacity, GpuSharing, RequestPolicy, SliceDevice, ValidAmounts},
};

fn amount(text: &str) -> Quantity {
    Quantity::parse(text).unwrap()
}

fn gpu() -> SliceDevice {
    let memory = DeviceCapacity { value: amount("23034Mi"), policy: None };
    SliceDevice {
        name: "gpu-0".into(),
        capacity: BTreeMap::from([("memory".to_owned(), memory)]),
        ..SliceDevice::default()
    }
}

fn capacity(value: &str, default: &str, min: &str, step: &str) -> DeviceCapacity {
    let (min, max, step) = (amount(min), Some(amount(value)), Some(amount(step)));
    let valid = Some(ValidAmounts::Range { min, max, step });
    let policy = Some(RequestPolicy { default: Some(amount(default)), valid });
    DeviceCapacity { value: amount(value), policy }
}

#[test]
fn a_value_is_a_word_or_a_number_of_shares() {
    let parse = GpuSharing::parse;
    assert_eq!((parse(""), parse("disabled")), (Ok(None), Ok(None)));
    assert_eq!(parse("memory"), Ok(Some(GpuSharing::Memory)));
    assert_eq!(parse("unlimited"), Ok(Some(GpuSharing::Unlimited)));
    assert_eq!(parse("4"), Ok(Some(GpuSharing::Shares(4))));
    for value in ["0", "-1", "shares", "4.5", "memory=true", "1Gi", "9223372036854775808"] {
        assert_eq!(
            parse(value).unwrap_err().to_string(),
            format!(
                "\"{value}\" is not one of \"disabled\", \"memory\", \"unlimited\", or a positive \
                 integer share count"
            )
        );
    }
}

#[test]
fn each_way_of_sharing_has_its_default() {
    let shared = |capacity| SliceDevice { capacity, allows_multiple_allocations: true, ..gpu() };
    let memory = |default, min| ("memory".to_owned(), capacity("23034Mi", default, min, "1Mi"));
    assert_eq!(GpuSharing::Memory.of(&gpu()), shared(BTreeMap::from([memory("23034Mi", "1Mi")])));
    assert_eq!(GpuSharing::Unlimited.of(&gpu()), shared(BTreeMap::from([memory("0", "0")])));
    let shares = ("shares".to_owned(), capacity("4", "1", "1", "1"));
    assert_eq!(
        GpuSharing::Shares(4).of(&gpu()),
        shared(BTreeMap::from([memory("0", "0"), shares]))
    );
}

#[test]
fn a_device_without_memory_is_not_shared() {
    let device = SliceDevice { capacity: BTreeMap::new(), ..gpu() };
    assert_eq!(GpuSharing::Memory.of(&device), device);
}
