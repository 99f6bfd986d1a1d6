//! Why a class of pods finds no place, in words that a user understands.

use planner::scheduling::output::explain::*;

#[test]
fn amounts_are_said_as_people_say_them() {
    for (name, amount, text) in [
        ("memory", 10 << 40, "10Ti"),
        ("memory", 4_178_000_000_000, "3.7Ti"),
        ("memory", 1_536 << 20, "1.5Gi"),
        ("memory", 17, "17"),
        ("cpu", 1_900, "1.9"),
        ("cpu", 893_690, "893.69"),
        ("cpu", 9_000_000, "9000"),
        ("cpu", 0, "0"),
        ("nvidia.com/gpu", 3, "3"),
    ] {
        assert_eq!(show(name, amount), text);
    }
}
