//! Money: parts of a dollar for one hour, exactly. Sums are checked; nothing is ever a float.

use model::price::*;

#[test]
fn sentences_have_prices_with_as_many_digits_as_prices_of_aws() {
    for (text, shown) in [
        ("0.0816", "$0.0816"),
        ("0.033747", "$0.033747"),
        ("0.0959999904", "$0.0960"),
        ("0.0000004999", "$0.0000"),
        ("3", "$3.0000"),
    ] {
        assert_eq!(HourlyPrice::parse_dollars(text).unwrap().in_words(), shown, "{text}");
    }
}

#[test]
fn published_prices_are_exact() {
    for (text, nanos, shown) in [
        ("0.0816", 81_600_000, "0.0816"),
        ("0.033747", 33_747_000, "0.033747"),
        ("3", 3_000_000_000, "3.0000"),
        (".5", 500_000_000, "0.5000"),
        ("0.000000014553", 15, "0.000000014553"),
        ("0.00000000816", 8, "0.00000000816"),
        ("0.0000000005", 1, "0.0000000005"),
        ("0.00000000049", 0, "0.00000000049"),
        ("0.99999999999999995", 1_000_000_000, "1.0000"),
        ("18446744073.709551615", u64::MAX, "18446744073.709551615"),
    ] {
        let price = HourlyPrice::parse_dollars(text).unwrap();
        assert_eq!(price.nanos(), nanos, "{text}");
        assert_eq!(price.to_string(), shown, "{text}");
    }
}

#[test]
fn what_an_instance_of_a_reservation_costs_is_exact_too() {
    let [small, large] =
        ["0.145530", "0.145531"].map(|text| HourlyPrice::parse_dollars(text).unwrap());
    let share = |price: HourlyPrice| price.divided_by(10_000_000);
    assert_eq!(share(small).to_string(), "0.000000014553");
    assert!(share(small) < share(large), "though both are 15 nano-dollars");
}

#[test]
fn nanos_are_rounded_as_asked() {
    let price = HourlyPrice::parse_dollars("0.0000000015").unwrap();
    assert_eq!((price.whole_nanos(), price.nanos_at_least()), (1, 2));
    let price = HourlyPrice::from_nanos(7);
    assert_eq!((price.whole_nanos(), price.nanos_at_least()), (7, 7));
}

#[test]
fn what_is_not_a_price_is_refused() {
    for text in ["", ".", "-1", "1e3", "$1", "1.2.3", "18446744074"] {
        assert!(HourlyPrice::parse_dollars(text).is_err(), "{text}");
    }
    assert_eq!(HourlyPrice::MAX.checked_add(HourlyPrice::from_nanos(1)), None);
    assert_eq!(HourlyPrice::MAX.saturating_add(HourlyPrice::MAX), HourlyPrice::MAX);
}
