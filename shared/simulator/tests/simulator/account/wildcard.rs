//! EC2's wildcards: `*` is any text, `?` any one character, and a backslash takes the next as it is.

use simulator::account::wildcard::*;

#[test]
fn wildcards_are_ec2s() {
    for (pattern, text, expected) in [
        ("a*c", "abbc", true),
        ("a*c", "ac", true),
        ("a*c", "acd", false),
        ("*", "", true),
        ("?", "", false),
        ("a?c", "abc", true),
        ("*b*", "abc", true),
        ("a\\*c", "a*c", true),
        ("a\\*c", "abc", false),
        ("", "", true),
        ("", "a", false),
        ("amazon-eks-node-*-v2025*", "amazon-eks-node-1.34-v20250715", true),
    ] {
        assert_eq!(is_like(pattern, text), expected, "{pattern} {text}");
    }
}
