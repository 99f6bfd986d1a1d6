//! `simulate`.

use crate::{CLASS, POOL, deployment, folder, run};

#[test]
fn d3_an_archive_that_ends_with_a_bare_boundary_is_merged() {
    let archive = "\
\x20 userData: |
    MIME-Version: 1.0
    Content-Type: multipart/mixed; boundary=\"BOUNDARY\"

    --BOUNDARY
    Content-Type: text/x-shellscript; charset=\"us-ascii\"

    #!/bin/bash
    echo hello

    --BOUNDARY
";
    let class = format!("{CLASS}{archive}");
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let played = run(&folder("d3", &files), "simulate --manifests . --duration 3m --strict");
    played.says(&["pods placed      1"]);
    assert_eq!(played.code, Some(0));
}

#[test]
fn d4_a_custom_family_takes_the_images_of_its_alias() {
    let class = CLASS
        .replace("[{alias: al2023@latest}]", "[{alias: bottlerocket@latest}]\n  amiFamily: Custom");
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let played = run(&folder("d4", &files), "simulate --manifests . --duration 3m --strict");
    played.says(&["pods placed      1", "AMI alias bottlerocket@latest"]);
    assert_eq!(played.code, Some(0));
}

#[test]
fn d5_a_launch_that_is_refused_is_said_with_its_reason_once() {
    let archive =
        "  userData: |\n    MIME-Version: 1.0\n    Content-Type: text/plain\n\n    hello\n";
    let class = format!("{CLASS}{archive}");
    let web = deployment("web", 1);
    let files = [("class.yaml", &*class), ("pool.yaml", POOL), ("web.yaml", &web)];
    let folder = folder("d5", &files);
    let played = run(&folder, "simulate --manifests . --duration 2m --strict");
    played.says(&["it starts like MIME, but is not multipart"]);
    assert!(played.out.lines().count() < 60, "{}", played.out);
    assert_eq!(played.code, Some(1));
    let planned = run(&folder, "plan . --strict");
    planned.says(&["it starts like MIME, but is not multipart"]);
    assert_eq!(planned.code, Some(1));
}

#[test]
fn d10_any_duration_ends_with_a_summary() {
    let folder = folder("d10", &[("class.yaml", CLASS), ("pool.yaml", POOL)]);
    let played = run(&folder, "simulate --manifests . --duration 240h");
    played.says(&["Summary after 240:00:00"]);
    assert_eq!(played.code, Some(0));
}

#[test]
fn d11_static_pools_are_not_passed_over_in_silence() {
    let pool = POOL.replace("spec:\n  template", "spec:\n  replicas: 2\n  template");
    let folder = folder("d11", &[("class.yaml", CLASS), ("pool.yaml", &pool)]);
    let played = run(&folder, "simulate --manifests . --duration 2m");
    played.says(&["NodePool general: not supported yet: spec.replicas (static pools)"]);
}
