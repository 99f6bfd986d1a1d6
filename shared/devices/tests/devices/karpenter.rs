//! What Karpenter itself answers: worlds like those of `properties`, played with Karpenter 1.15.0's allocator
//! (`pkg/scheduling/dynamicresources`) as a library. Worlds with two pools are among them only if Karpenter, which
//! tries pools in the order of a map, gave one answer five times.

use std::fmt::Write as _;

use devices::{Allocation, DeviceRefusal};

use super::support::{facts, played_as};

/// Types, then a line for each claim and type. Karpenter's reasons are not compared.
fn shown(name: &str, answer: &Result<Allocation, DeviceRefusal>) -> String {
    let Ok(allocation) = answer else { return format!("{name}: ERR\n") };
    let types: Vec<String> = allocation.types.iter().map(ToString::to_string).collect();
    let mut lines = Vec::new();
    for (key, claim) in allocation.claims() {
        for (instance_type, devices) in &claim.devices {
            let mut line = format!("  {} {instance_type}", key.name);
            for device in devices {
                let mark = if device.is_template { "~" } else { "" };
                write!(line, " {}={mark}{}", device.request, device.id).unwrap();
                let shares = device.consumed.iter().flatten();
                let shares: Vec<String> =
                    shares.map(|(name, share)| format!("{name}={}", share.to_units())).collect();
                if !shares.is_empty() {
                    write!(line, "({})", shares.join(" ")).unwrap();
                }
            }
            lines.push(line);
        }
    }
    lines.sort();
    lines.insert(0, format!("{name}: {}", types.join(" ")));
    lines.join("\n") + "\n"
}

#[test]
fn the_answers_are_karpenters() {
    let cases = include_str!("karpenter/answers.txt").split("=== world\n").skip(1);
    let mut count = 0;
    for case in cases {
        let (world, rest) = case.split_once("=== steps\n").unwrap();
        let (steps, answers) = rest.split_once("=== answers\n").unwrap();
        let ours = played_as(&facts(world), steps, shown);
        assert_eq!(ours.trim_end(), answers.trim_end(), "{world}\n{steps}");
        count += 1;
    }
    assert_eq!(count, 40);
}
