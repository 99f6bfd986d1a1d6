//! Lists as an API server sends them, of any length: what surrounds the members that decide
//! something (managed fields, probes, environments, projected volumes, images) is most of the text.

use std::{
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
};

/// client-go's page size, and ours.
const PAGE: usize = 500;
/// Pods of one workload, about.
const WORKLOAD: usize = 50;
/// Pods of one node, about.
const PER_NODE: usize = 30;

/// Writes the pages of a list of the objects of these `numbers` into `directory`; the files in order.
pub(crate) fn write_pages(
    directory: &Path,
    kind: &str,
    numbers: &[usize],
    object: impl Fn(usize) -> String,
) -> io::Result<Vec<PathBuf>> {
    fs::create_dir_all(directory)?;
    let (mut files, count) = (Vec::new(), numbers.len());
    for (page, numbers) in numbers.chunks(PAGE).enumerate() {
        let first = page * PAGE;
        let next = format!(r#","continue":"{}""#, first + PAGE);
        let next = if first + PAGE < count { next.as_str() } else { "" };
        let items: Vec<String> = numbers.iter().map(|number| object(*number)).collect();
        let text = format!(
            r#"{{"kind":"{kind}List","apiVersion":"v1","metadata":{{"resourceVersion":"73914"{next}}},"items":[{}]}}"#,
            items.join(",")
        );
        let file = directory.join(format!("{kind}-{first:06}.json"));
        fs::write(&file, text)?;
        files.push(file);
    }
    Ok(files)
}

/// The numbers of `count` pods, in the order of namespaces and names, which is that of a list.
pub(crate) fn pods_in_order(count: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..count).collect();
    numbers.sort_by_cached_key(|number| (team(*number).to_string(), owner(*number).1, *number));
    numbers
}

/// Its namespace.
fn team(number: usize) -> usize {
    number / WORKLOAD % 40
}

/// Whether it is a DaemonSet's, and whether a StatefulSet's.
fn kinds(number: usize) -> (bool, bool) {
    (number % 10 == 7, number / WORKLOAD % 20 == 3)
}

/// What controls it: kind and name.
fn owner(number: usize) -> (&'static str, String) {
    let workload = number / WORKLOAD;
    match kinds(number) {
        (true, _) => ("DaemonSet", format!("agent-{}", number / 10 % 8)),
        (_, true) => ("StatefulSet", format!("store-{workload}")),
        _ => ("ReplicaSet", format!("service-{workload}-6b7f9c5d84")),
    }
}

/// The pod of this number. Of ten one is a DaemonSet's; of twenty one a StatefulSet's, one waits; 30 %
/// ask for nodes, 12 % have a sidecar.
pub(crate) fn pod(number: usize) -> String {
    let workload = number / WORKLOAD;
    let (is_daemon, is_stateful) = kinds(number);
    let waits = number % 20 == 11 && !is_daemon;
    let node = format!("ip-10-{}-{}.us-west-2.compute.internal", workload / 250, number / PER_NODE);
    let (owner, app) = owner(number);
    let name = format!("{app}-{number:05}");
    let mut text = metadata(number, &name, &app, owner, is_stateful);
    text.push_str(r#","spec":{"#);
    volumes(&mut text, &name, is_stateful);
    if workload % 8 == 5 && !is_daemon {
        text.push_str(r#""initContainers":["#);
        container(&mut text, "proxy", workload, r#","restartPolicy":"Always""#);
        text.push_str("],");
    }
    text.push_str(r#""containers":["#);
    container(&mut text, "main", workload, "");
    text.push_str("],");
    constraints(&mut text, &app, workload, is_daemon.then_some(node.as_str()));
    if waits {
        text.push_str(r#""schedulerName":"default-scheduler"},"status":{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","observedGeneration":1,"lastProbeTime":null,"lastTransitionTime":"2026-08-01T12:00:07Z","reason":"Unschedulable","message":"0/1000 nodes are available: 1000 Insufficient cpu. preemption: 0/1000 nodes are available: 1000 No preemption victims found for incoming pod."}],"qosClass":"Burstable"}}"#);
    } else {
        _ = write!(text, r#""nodeName":"{node}","schedulerName":"default-scheduler"}},"#);
        status(&mut text, number, workload);
    }
    text
}

fn metadata(number: usize, name: &str, app: &str, owner: &str, is_stateful: bool) -> String {
    let text = if is_stateful {
        format!(r#","statefulset.kubernetes.io/pod-name":"{name}""#)
    } else {
        String::new()
    };
    let managed = r#"{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-08-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/name":{},"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"1a2b3c4d-0000-4000-8000-000000000000\"}":{}}},"f:spec":{"f:affinity":{},"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{}}},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}},"f:resources":{".":{},"f:limits":{},"f:requests":{}},"f:terminationMessagePath":{}}},"f:dnsPolicy":{},"f:restartPolicy":{},"f:schedulerName":{},"f:securityContext":{},"f:terminationGracePeriodSeconds":{},"f:topologySpreadConstraints":{}}}},{"manager":"kubelet","operation":"Update","apiVersion":"v1","time":"2026-08-01T12:00:20Z","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIPs":{".":{},"k:{\"ip\":\"10.0.12.34\"}":{".":{},"f:ip":{}}},"f:startTime":{}}},"subresource":"status"}"#;
    format!(
        r#"{{"metadata":{{"name":"{name}","generateName":"{app}-","namespace":"team-{team}","uid":"5d3c{number:04x}-9f31-4a7e-8c1d-{number:012x}","resourceVersion":"{version}","creationTimestamp":"2026-08-01T12:00:00Z","labels":{{"app.kubernetes.io/name":"{app}","app.kubernetes.io/part-of":"platform","pod-template-hash":"6b7f9c5d84"{text}}},"annotations":{{"kubectl.kubernetes.io/restartedAt":"2026-07-{day:02}T09:00:00Z","prometheus.io/port":"8080","prometheus.io/scrape":"true"}},"ownerReferences":[{{"apiVersion":"apps/v1","kind":"{owner}","name":"{app}","uid":"1a2b3c4d-0000-4000-8000-{workload:012x}","controller":true,"blockOwnerDeletion":true}}],"managedFields":[{managed}]}}"#,
        team = team(number),
        version = 50_000 + number,
        day = number % 28 + 1,
        workload = number / WORKLOAD,
    )
}

fn volumes(text: &mut String, name: &str, is_stateful: bool) {
    text.push_str(r#""volumes":["#);
    if is_stateful {
        _ = write!(
            text,
            r#"{{"name":"data","persistentVolumeClaim":{{"claimName":"data-{name}"}}}},"#
        );
    }
    let suffix = name.get(name.len() - 5..).unwrap_or_default();
    _ = write!(
        text,
        r#"{{"name":"kube-api-access-{suffix}","projected":{{"sources":[{{"serviceAccountToken":{{"expirationSeconds":3607,"path":"token"}}}},{{"downwardAPI":{{"items":[{{"path":"namespace","fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.namespace"}}}}]}}}}],"defaultMode":420}}}}],"#
    );
}

fn container(text: &mut String, name: &str, workload: usize, more: &str) {
    let (cpu, memory) = (workload % 8 * 125 + 125, workload % 6 * 256 + 256);
    _ = write!(
        text,
        r#"{{"name":"{name}","image":"123456789012.dkr.ecr.us-west-2.amazonaws.com/platform/{name}-{workload}:v1.{workload}.0","args":["--port=8080","--log-format=json"],"ports":[{{"name":"http","containerPort":8080,"protocol":"TCP"}}],"env":[{{"name":"LOG_LEVEL","value":"info"}},{{"name":"POD_NAME","valueFrom":{{"fieldRef":{{"apiVersion":"v1","fieldPath":"metadata.name"}}}}}},{{"name":"DATABASE_URL","valueFrom":{{"secretKeyRef":{{"name":"database","key":"url"}}}}}}],"resources":{{"limits":{{"memory":"{memory}Mi"}},"requests":{{"cpu":"{cpu}m","memory":"{memory}Mi"}}}},"volumeMounts":[{{"name":"kube-api-access","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}}],"livenessProbe":{{"httpGet":{{"path":"/healthz","port":8080,"scheme":"HTTP"}},"initialDelaySeconds":10,"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3}},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent","securityContext":{{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true}}{more}}}"#
    );
}

fn constraints(text: &mut String, app: &str, workload: usize, daemon_on: Option<&str>) {
    text.push_str(r#""restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","serviceAccount":"default","securityContext":{"runAsNonRoot":true,"fsGroup":1000},"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority","#);
    if let Some(node) = daemon_on {
        _ = write!(
            text,
            r#""affinity":{{"nodeAffinity":{{"requiredDuringSchedulingIgnoredDuringExecution":{{"nodeSelectorTerms":[{{"matchFields":[{{"key":"metadata.name","operator":"In","values":["{node}"]}}]}}]}}}}}},"tolerations":[{{"operator":"Exists"}}],"#
        );
        return;
    }
    match workload % 10 {
        0 => text.push_str(r#""nodeSelector":{"kubernetes.io/arch":"arm64"},"#),
        1 => text.push_str(r#""affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"karpenter.sh/capacity-type","operator":"In","values":["on-demand"]}]}]}}},"#),
        2 => _ = write!(
            text,
            r#""affinity":{{"podAntiAffinity":{{"preferredDuringSchedulingIgnoredDuringExecution":[{{"weight":100,"podAffinityTerm":{{"labelSelector":{{"matchLabels":{{"app.kubernetes.io/name":"{app}"}}}},"topologyKey":"kubernetes.io/hostname"}}}}]}}}},"#
        ),
        _ => {}
    }
    _ = write!(
        text,
        r#""tolerations":[{{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}},{{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}],"topologySpreadConstraints":[{{"maxSkew":1,"topologyKey":"topology.kubernetes.io/zone","whenUnsatisfiable":"ScheduleAnyway","labelSelector":{{"matchLabels":{{"app.kubernetes.io/name":"{app}"}}}}}}],"#
    );
}

fn status(text: &mut String, number: usize, workload: usize) {
    let condition = |kind: &str| {
        format!(
            r#"{{"type":"{kind}","status":"True","observedGeneration":1,"lastProbeTime":null,"lastTransitionTime":"2026-08-01T12:00:{:02}Z"}}"#,
            number % 60
        )
    };
    let conditions =
        ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(condition).join(",");
    let (third, fourth) = (number / 250 % 250, number % 250);
    _ = write!(
        text,
        r#""status":{{"phase":"Running","conditions":[{conditions}],"hostIP":"10.0.{third}.1","hostIPs":[{{"ip":"10.0.{third}.1"}}],"podIP":"10.1.{third}.{fourth}","podIPs":[{{"ip":"10.1.{third}.{fourth}"}}],"startTime":"2026-08-01T12:00:05Z","containerStatuses":[{{"name":"main","state":{{"running":{{"startedAt":"2026-08-01T12:00:09Z"}}}},"ready":true,"restartCount":0,"image":"123456789012.dkr.ecr.us-west-2.amazonaws.com/platform/main-{workload}:v1.{workload}.0","imageID":"123456789012.dkr.ecr.us-west-2.amazonaws.com/platform/main-{workload}@sha256:0b7f3e1c5d9a8b6c4e2f1a0d9c8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e2d1c0b","containerID":"containerd://{number:064x}","started":true,"volumeMounts":[{{"name":"kube-api-access","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true,"recursiveReadOnly":"Disabled"}}]}}],"qosClass":"Burstable"}}}}"#
    );
}

/// The node of this number, with the fifty images that a kubelet tells of.
pub(crate) fn node(number: usize) -> String {
    let images: Vec<String> = (0..50)
        .map(|image| {
            format!(
                r#"{{"names":["123456789012.dkr.ecr.us-west-2.amazonaws.com/platform/main-{image}@sha256:0b7f3e1c5d9a8b6c4e2f1a0d9c8b7a6f5e4d3c2b1a0f9e8d7c6b5a4f3e2d1c0b","123456789012.dkr.ecr.us-west-2.amazonaws.com/platform/main-{image}:v1.{image}.0"],"sizeBytes":1{image:02}04857}}"#
            )
        })
        .collect();
    let zone = ["us-west-2a", "us-west-2b", "us-west-2c"][number % 3];
    format!(
        r#"{{"metadata":{{"name":"ip-10-{first}-{second}.us-west-2.compute.internal","uid":"7c3d{number:04x}-1111-4a7e-8c1d-{number:012x}","resourceVersion":"{number}","creationTimestamp":"2026-08-01T11:00:00Z","labels":{{"beta.kubernetes.io/arch":"amd64","beta.kubernetes.io/os":"linux","karpenter.k8s.aws/ec2nodeclass":"default","karpenter.k8s.aws/instance-category":"m","karpenter.k8s.aws/instance-cpu":"8","karpenter.k8s.aws/instance-family":"m7i","karpenter.k8s.aws/instance-memory":"32768","karpenter.sh/capacity-type":"spot","karpenter.sh/initialized":"true","karpenter.sh/nodepool":"general","karpenter.sh/registered":"true","kubernetes.io/arch":"amd64","kubernetes.io/hostname":"ip-10-{first}-{second}.us-west-2.compute.internal","kubernetes.io/os":"linux","node.kubernetes.io/instance-type":"m7i.2xlarge","topology.kubernetes.io/region":"us-west-2","topology.kubernetes.io/zone":"{zone}"}},"annotations":{{"karpenter.sh/nodepool-hash":"1","node.alpha.kubernetes.io/ttl":"0"}},"finalizers":["karpenter.sh/termination"]}},"spec":{{"providerID":"aws:///{zone}/i-{number:017x}"}},"status":{{"capacity":{{"cpu":"8","memory":"32000000Ki","pods":"58"}},"allocatable":{{"cpu":"7910m","memory":"30000000Ki","pods":"58"}},"conditions":[{{"type":"MemoryPressure","status":"False"}},{{"type":"DiskPressure","status":"False"}},{{"type":"Ready","status":"True","reason":"KubeletReady","message":"kubelet is posting ready status","lastTransitionTime":"2026-08-01T11:01:00Z"}}],"addresses":[{{"type":"InternalIP","address":"10.0.0.1"}}],"nodeInfo":{{"kernelVersion":"6.1.0","kubeletVersion":"v1.33.1"}},"images":[{}]}}}}"#,
        images.join(","),
        first = number / 250,
        second = number % 250,
    )
}
