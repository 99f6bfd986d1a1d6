//! Kubernetes quantities, parsed exactly: no floats, every suffix, rounding up.

use model::quantity::*;
use proptest::prelude::*;

#[track_caller]
fn check(text: &str, millis: u64, units: u64) {
    let quantity = Quantity::parse(text).unwrap();
    assert_eq!((quantity.to_millis(), quantity.to_units()), (millis, units), "{text}");
}

#[test]
fn every_suffix() {
    check("1n", 1, 1);
    check("1000000n", 1, 1);
    check("1000001n", 2, 1);
    check("5u", 1, 1);
    check("100m", 100, 1);
    check("1500m", 1_500, 2);
    check("2", 2_000, 2);
    check("1.5k", 1_500_000, 1_500);
    check("1M", 1_000_000_000, 1_000_000);
    check("1G", 1_000_000_000_000, 1_000_000_000);
    check("1T", 1_000_000_000_000_000, 1_000_000_000_000);
    check("1P", 1_000_000_000_000_000_000, 1_000_000_000_000_000);
    check("1Ki", 1_024_000, 1_024);
    check("1.5Gi", 1_610_612_736_000, 1_610_612_736);
    check("0.1Gi", 107_374_182_400, 107_374_183);
    check("1Ti", 1_099_511_627_776_000, 1_099_511_627_776);
    check("12e6", 12_000_000_000, 12_000_000);
    check("1E3", 1_000_000, 1_000);
    check("25E-2", 250, 1);
    check(".5", 500, 1);
    check("+3", 3_000, 3);
    check("3.", 3_000, 3);
    assert_eq!(Quantity::parse("1E").unwrap().to_units(), 1_000_000_000_000_000_000);
    assert_eq!(Quantity::parse("1Ei").unwrap().to_units(), 1 << 60);
}

#[test]
fn what_is_finer_rounds_up_and_what_is_larger_is_cut() {
    check("0.0000000001", 1, 1);
    check("1e-400", 1, 1);
    check("0e400", 0, 0);
    assert_eq!(Quantity::parse("100Ei").unwrap(), Quantity::parse("1e999").unwrap());
    assert_eq!(Quantity::parse("1e999").unwrap().to_units(), u64::try_from(i64::MAX).unwrap());
    assert!(Quantity::parse("-1").unwrap() < Quantity::default());
    assert_eq!(Quantity::parse("-1").unwrap().to_units(), 0);
}

#[test]
fn what_is_refused_names_text_and_rule() {
    for text in
        ["", "m", "1O0m", "1 Gi", "1gi", "1ki", "1e", "1.2.3", "0x10", "1Kb", "--1", "1e1.5"]
    {
        let error = Quantity::parse(text).unwrap_err();
        assert!(error.to_string().starts_with(&format!("`{text}` is not a quantity: ")));
    }
    assert_eq!(Quantity::parse_unsigned("-1Gi").unwrap_err().rule, RULE_NEGATIVE);
}

#[test]
fn shown_as_kubernetes_does() {
    for (text, shown) in [("1500m", "1500m"), ("2.0", "2"), ("1u", "1u"), ("3n", "3n")] {
        assert_eq!(Quantity::parse(text).unwrap().to_string(), shown);
    }
    assert_eq!(Bytes::from_mebibytes(7_518).to_string(), "7518Mi");
    assert_eq!(Bytes(1_000).to_string(), "1000");
    assert_eq!(
        (Millicores(1_900).to_string(), Millicores(2_000).to_string()),
        ("1900m".into(), "2".into())
    );
}

proptest! {
    #[test]
    fn display_reads_back(nanos in -1_000_000_000_000_000_000_i64..1_000_000_000_000_000_000) {
        let quantity = Quantity::parse(&format!("{nanos}n")).unwrap();
        prop_assert_eq!(Quantity::parse(&quantity.to_string()).unwrap(), quantity);
    }

    #[test]
    fn moving_the_point_is_a_decimal_suffix(number in 0_u32..1_000_000, places in 0_i32..6) {
        let exponent = Quantity::parse(&format!("{number}e-{places}")).unwrap();
        let nanos = u64::from(number) * 10_u64.pow(9 - u32::try_from(places).unwrap());
        prop_assert_eq!(exponent, Quantity::parse(&format!("{nanos}n")).unwrap());
    }

    #[test]
    fn no_text_panics(text in "[-+]?[0-9.]{0,40}[a-zA-Z]{0,3}[-+]?[0-9]{0,12}") {
        let outcome = Quantity::parse(&text);
        prop_assert!(outcome.is_ok() || outcome.is_err());
    }

    #[test]
    fn bytes_read_back(count in 0_u64..=u64::try_from(i64::MAX).unwrap()) {
        prop_assert_eq!(Quantity::parse(&Bytes(count).to_string()).unwrap().to_bytes(), Bytes(count));
    }
}
