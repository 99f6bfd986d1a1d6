//! Selectors in CEL: what of Kubernetes' environment they may name, and that no text takes anything that is not bounded.

use devices::{CelSelectors, SelectableDevice, Selects as _};
use model::{
    Quantity,
    dynamic_resources::{AttributeValue, DeviceCapacity, SliceDevice},
};
use proptest::prelude::*;

fn gpu() -> SliceDevice {
    let attribute = |name: &str, value| (name.to_owned(), value);
    let memory = Quantity::parse("23028Mi").unwrap();
    SliceDevice {
        name: "gpu-0".into(),
        attributes: [
            attribute("productName", AttributeValue::String("NVIDIA A10G".to_owned())),
            attribute("driverVersion", AttributeValue::Version("570.86.15".to_owned())),
            attribute("index", AttributeValue::Int(3)),
            attribute("ecc", AttributeValue::Bool(true)),
            attribute(
                "resource.kubernetes.io/pcieRoot",
                AttributeValue::String("pci0000:00".to_owned()),
            ),
        ]
        .into(),
        capacity: [("memory".to_owned(), DeviceCapacity { value: memory, policy: None })].into(),
        ..SliceDevice::default()
    }
}

/// Whether `expression` selects the GPU, or why that cannot be said.
fn answer(expression: &str) -> String {
    let selectors = CelSelectors::default();
    if let Err(why) = selectors.compile(expression) {
        return format!("no expression: {why}");
    }
    let device = gpu();
    let device = SelectableDevice { driver: "gpu.nvidia.com", device: &device };
    match selectors.selects(expression, device) {
        Ok(is_selected) => is_selected.to_string(),
        Err(why) => format!("fails: {why}"),
    }
}

fn assert_answers(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(answer(expression), *expected, "{expression}");
    }
}

#[test]
fn a_device_is_what_its_driver_publishes() {
    assert_answers(&[
        ("device.driver == 'gpu.nvidia.com'", "true"),
        ("device.allowMultipleAllocations", "false"),
        ("device.attributes['gpu.nvidia.com'].productName == 'NVIDIA A10G'", "true"),
        ("device.attributes['gpu.nvidia.com'].index > 2", "true"),
        ("device.attributes['gpu.nvidia.com'].ecc", "true"),
        ("device.attributes['resource.kubernetes.io'].pcieRoot.endsWith(':00')", "true"),
        ("'gpu.nvidia.com' in device.attributes && !('x' in device.attributes)", "true"),
        ("has(device.attributes['x'].y)", "false"),
        ("device.attributes['x'].y == 1", "fails: no such key: \"y\""),
        ("has(device.attributes.x)", "true"),
        (
            "size(device.attributes) == 2 && device.attributes.exists(d, d == 'gpu.nvidia.com')",
            "true",
        ),
        ("device.attributes['gpu.nvidia.com'].index", "fails: its result is 3, and must be bool"),
        (
            "device.name == 'gpu-0'",
            "no expression: there is no field `name`; there are driver, \
          allowMultipleAllocations, attributes, capacity (at character 7)",
        ),
        ("device['driver'] == 'x'", "no expression: a object has no items (at character 7)"),
        ("device.driver", "no expression: its result is string, and must be bool"),
    ]);
}

#[test]
fn quantities_are_compared_and_added_exactly() {
    assert_answers(&[
        ("device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('20Gi')) >= 0", "true"),
        ("device.capacity['gpu.nvidia.com'].memory == quantity('23580672Ki')", "true"),
        ("device.capacity['gpu.nvidia.com'].memory.isGreaterThan(quantity('24Gi'))", "false"),
        ("device.capacity['gpu.nvidia.com'].memory.isLessThan(quantity('24Gi'))", "true"),
        ("device.capacity['x'].memory.sign() == 1", "fails: no such key: \"memory\""),
        ("quantity('1.5k').add(quantity('500m')).sub(1500) == quantity('0.5')", "true"),
        ("quantity('-1').sign() == -1 && quantity('0').sign() == 0", "true"),
        ("quantity('2k').asInteger() == 2000 && !quantity('1m').isInteger()", "true"),
        ("quantity('1m').asInteger() == 0", "fails: a quantity is no int"),
        ("quantity('1500m').asApproximateFloat() == 1.5", "true"),
        ("isQuantity('20Gi') && !isQuantity('20GB')", "true"),
        ("quantity('20GB').sign() == 1", "fails: \"20GB\" is no quantity"),
        (
            "quantity('1') < quantity('2')",
            "no expression: `<` does not take (quantity, quantity) (at character 15)",
        ),
        (
            "device.capacity['gpu.nvidia.com'].memory > 1",
            "no expression: `>` does not take (quantity, int) (at character 42)",
        ),
    ]);
}

#[test]
fn versions_are_compared_by_precedence() {
    let version = "device.attributes['gpu.nvidia.com'].driverVersion";
    let cases = [
        (".isGreaterThan(semver('570.9.0'))", "true"),
        (".compareTo(semver('v570.86.15', true)) == 0", "true"),
        (" == semver('570.86.15+build')", "true"),
        (".major() == 570 ", "true"),
        (".isLessThan(quantity('1'))", "fails: no such overload of a comparison"),
        (" == '570.86.15'", "false"),
    ];
    for (end, expected) in cases {
        assert_eq!(answer(&format!("{version}{end}")), expected, "{end}");
    }
    assert_answers(&[
        ("semver('1.0.0-rc.2').isLessThan(semver('1.0.0-rc.11'))", "true"),
        ("semver('1.0.0-rc.1').isLessThan(semver('1.0.0-rc.a'))", "true"),
        ("semver('1.0.0-rc').isLessThan(semver('1.0.0-rc.0'))", "true"),
        ("semver('1.0.0-rc').isLessThan(semver('1.0.0'))", "true"),
        (
            "isSemver('1.0') || isSemver('01.0.0') || isSemver('1.0.0-') || isSemver('v1.0.0')",
            "false",
        ),
        ("isSemver('1.0', true) && isSemver('v01.00.0-a', true)", "true"),
        ("isSemver('1-a', true) || isSemver('', true)", "false"),
        ("semver('1.2.x').minor() == 2", "fails: \"1.2.x\" is no semantic version"),
    ]);
}

#[test]
fn strings_have_what_selectors_of_drivers_use() {
    assert_answers(&[
        (
            "device.attributes['gpu.nvidia.com'].productName.lowerAscii().matches('^.*a10g?$')",
            "true",
        ),
        ("matches('a', '(')", "fails: \"(\" is no regular expression"),
        ("'A100-80'.split('-')[1] == '80' && 'äb'.split('') == ['ä', 'b']", "true"),
        ("'äbc'.substring(1) == 'bc' && 'äbc'.substring(0, 1) == 'ä'", "true"),
        ("'abc'.substring(2, 1) == ''", "fails: index 2 is out of range"),
        ("' x '.trim().upperAscii() == 'X'", "true"),
        ("cel.bind(gpu, device.attributes['gpu.nvidia.com'], gpu.ecc && gpu.index == 3)", "true"),
        ("[1, 2].exists(x, cel.bind(y, x + 1, y == 3 && x == 2))", "true"),
        ("cel.block(1)", "no expression: of `cel` there is only `cel.bind` (at character 1)"),
    ]);
}

#[test]
fn what_would_take_long_is_refused() {
    let long = "a".repeat(300);
    assert_eq!(answer(&format!("'{long}'.matches('a')")), "fails: more than 100000 steps");
    let nested = "'a'.matches('((((a{50}){50}){50}){50})')";
    assert!(answer(nested).ends_with("is no regular expression"), "{}", answer(nested));
}

#[test]
fn a_version_that_is_none_lets_no_expression_be_evaluated() {
    let mut device = gpu();
    device.attributes.insert("v".to_owned(), AttributeValue::Version("1".to_owned()));
    let device = SelectableDevice { driver: "gpu.nvidia.com", device: &device };
    let answer = CelSelectors::default().selects("true", device);
    assert_eq!(answer, Err("attribute v: \"1\" is no semantic version".to_owned()));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(words in prop::collection::vec(prop::sample::select(vec![
        "device", ".attributes", ".capacity", ".driver", "['gpu.nvidia.com']", ".memory", ".driverVersion",
        ".productName", "quantity(", "semver(", "'1.5Gi'", "'v1.2-a'", "'['", "true", ",", ")", "(", "3", "-1",
        ".isGreaterThan(", ".compareTo(", ".add(", ".sub(", ".asInteger()", ".major()", ".matches(", ".split(",
        ".substring(", ".lowerAscii()", "cel.bind(x,", "x", "==", "&&", ".exists(x,", "[", "]", "has(",
    ]), 0..30)) {
        let _answer = answer(&words.concat());
    }

    #[test]
    fn versions_have_one_order(
        left in "[0-2]\\.[0-2]\\.[0-2](-[0a]\\.?[1b]?)?", right in "[0-2]\\.[0-2]\\.[0-2](-[0a]\\.?[1b]?)?",
    ) {
        let both = format!("isSemver('{left}') && isSemver('{right}')");
        prop_assume!(answer(&both) == "true");
        let opposite = format!(
            "semver('{left}').compareTo(semver('{right}')) == -semver('{right}').compareTo(semver('{left}'))"
        );
        prop_assert_eq!(answer(&opposite), "true");
    }
}
