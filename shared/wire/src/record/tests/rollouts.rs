//! What is remembered of rollouts.

use model::{
    disruption::{Command, Method, Progress},
    rollout::{AcceptedImages, Halt, RolloutTarget},
};

use super::*;

#[test]
fn what_is_remembered_of_rollouts_survives() {
    let target = RolloutTarget {
        node_class: "default".parse().unwrap(),
        node_pool: "general".parse().unwrap(),
        pool_hash: None,
        class_hash: Some("7".to_owned()),
        image: Some("ami-2".parse().unwrap()),
    };
    let halt = Halt { target, settings: u64::MAX, why: "new node a is not ready".to_owned() };
    let command = Command {
        method: Method::Drift,
        found_at: "2026-11-21T12:00:00Z".parse().unwrap(),
        candidates: vec!["general-1-0".parse().unwrap()],
        replacements: Vec::new(),
        drain: None,
        progress: Progress::Halted(halt),
    };
    let (node_class, images) = ("default".parse().unwrap(), ["ami-2".parse().unwrap()].into());
    let accepted = Progress::Accepted(AcceptedImages { node_class, images });
    for progress in [command.progress.clone(), accepted] {
        let command = Command { progress, ..command.clone() };
        assert_eq!(decode_command(&encode_command(&command)), Ok(command));
    }
}
