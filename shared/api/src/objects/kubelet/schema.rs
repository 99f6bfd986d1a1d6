//! The shape of KubeletConfiguration: which members there are, and of which type.
//!
//! <https://github.com/kubernetes/kubelet/blob/v0.35.4/config/v1beta1/types.go>, with its logging and
//! tracing parts from `component-base`.

use model::{duration, quantity::Quantity};

use crate::document::{field::Field, tree::Value};

/// The type of a member.
#[derive(Debug)]
pub(super) enum Shape {
    /// Looked at elsewhere.
    Known,
    Text,
    Truth,
    Int32,
    Int64,
    Unsigned32,
    Decimal,
    /// A text such as `1m30s`.
    Duration,
    /// The same, or nanoseconds.
    DurationOrNumber,
    Quantity,
    /// A list of these.
    List(&'static Self),
    /// A map from texts to these.
    Map(&'static Self),
    Struct(&'static [(&'static str, Self)]),
}

/// Complains about what is not of `shape`. Null is as good as absent.
pub(super) fn check(field: &Field<'_>, shape: &Shape) {
    if field.tree().is_null() {
        return;
    }
    match shape {
        Shape::Known => {}
        Shape::Text => {
            field.text();
        }
        Shape::Truth => {
            field.boolean();
        }
        Shape::Int32 => {
            field.integer::<i32>(i32::MIN.into(), i32::MAX.into());
        }
        Shape::Int64 => {
            field.integer::<i64>(i64::MIN, i64::MAX);
        }
        Shape::Unsigned32 => {
            field.integer::<u32>(0, u32::MAX.into());
        }
        Shape::Decimal => {
            if !matches!(field.tree().value, Value::Number(_)) {
                field.complain("must be a number");
            }
        }
        Shape::DurationOrNumber if matches!(field.tree().value, Value::Number(_)) => {
            field.integer::<i64>(i64::MIN, i64::MAX);
        }
        Shape::Duration | Shape::DurationOrNumber => {
            field.parsed(duration::parse_go);
        }
        Shape::Quantity => {
            field.quantity().and_then(|text| field.accept(Quantity::parse(text)));
        }
        Shape::List(item) => field.list().iter().flatten().for_each(|one| check(one, item)),
        Shape::Map(value) => {
            field.entries().iter().flatten().for_each(|(_, one)| check(one, value));
        }
        Shape::Struct(members) => check_members(field, members),
    }
}

/// Complains about members that are none, and about those of another type.
fn check_members(field: &Field<'_>, members: &[(&str, Shape)]) {
    for (key, value) in field.entries().unwrap_or_default() {
        match members.iter().find(|(name, _)| *name == key) {
            Some((_, shape)) => check(&value, shape),
            None => value.complain("unknown field: KubeletConfiguration has none of this name"),
        }
    }
}

const TEXTS: Shape = Shape::List(&Shape::Text);
const TEXT_MAP: Shape = Shape::Map(&Shape::Text);

const LOG_OPTIONS: &[(&str, Shape)] =
    &[("infoBufferSize", Shape::Quantity), ("splitStream", Shape::Truth)];

const LOGGING: &[(&str, Shape)] = &[
    ("flushFrequency", Shape::DurationOrNumber),
    ("format", Shape::Text),
    (
        "options",
        Shape::Struct(&[
            ("json", Shape::Struct(LOG_OPTIONS)),
            ("text", Shape::Struct(LOG_OPTIONS)),
        ]),
    ),
    ("verbosity", Shape::Unsigned32),
    (
        "vmodule",
        Shape::List(&Shape::Struct(&[
            ("filePattern", Shape::Text),
            ("verbosity", Shape::Unsigned32),
        ])),
    ),
];

const AUTHENTICATION: &[(&str, Shape)] = &[
    ("anonymous", Shape::Struct(&[("enabled", Shape::Truth)])),
    ("webhook", Shape::Struct(&[("cacheTTL", Shape::Duration), ("enabled", Shape::Truth)])),
    ("x509", Shape::Struct(&[("clientCAFile", Shape::Text)])),
];

const AUTHORIZATION: &[(&str, Shape)] = &[
    ("mode", Shape::Text),
    (
        "webhook",
        Shape::Struct(&[
            ("cacheAuthorizedTTL", Shape::Duration),
            ("cacheUnauthorizedTTL", Shape::Duration),
        ]),
    ),
];

/// KubeletConfiguration of `kubelet.config.k8s.io/v1beta1`.
pub(super) const CONFIGURATION: Shape = Shape::Struct(&[
    ("address", Shape::Text),
    ("allowedUnsafeSysctls", TEXTS),
    ("apiVersion", Shape::Text),
    ("authentication", Shape::Struct(AUTHENTICATION)),
    ("authorization", Shape::Struct(AUTHORIZATION)),
    ("cgroupDriver", Shape::Text),
    ("cgroupRoot", Shape::Text),
    ("cgroupsPerQOS", Shape::Truth),
    ("clusterDNS", Shape::Known),
    ("clusterDomain", Shape::Text),
    ("configMapAndSecretChangeDetectionStrategy", Shape::Text),
    ("containerLogMaxFiles", Shape::Int32),
    ("containerLogMaxSize", Shape::Text),
    ("containerLogMaxWorkers", Shape::Int32),
    ("containerLogMonitorInterval", Shape::Duration),
    ("containerRuntimeEndpoint", Shape::Text),
    ("contentType", Shape::Text),
    ("cpuCFSQuota", Shape::Known),
    ("cpuCFSQuotaPeriod", Shape::Duration),
    ("cpuManagerPolicy", Shape::Text),
    ("cpuManagerPolicyOptions", TEXT_MAP),
    ("cpuManagerReconcilePeriod", Shape::Duration),
    ("crashLoopBackOff", Shape::Struct(&[("maxContainerRestartPeriod", Shape::Duration)])),
    ("enableContentionProfiling", Shape::Truth),
    ("enableControllerAttachDetach", Shape::Truth),
    ("enableDebugFlagsHandler", Shape::Truth),
    ("enableDebuggingHandlers", Shape::Truth),
    ("enableProfilingHandler", Shape::Truth),
    ("enableServer", Shape::Truth),
    ("enableSystemLogHandler", Shape::Truth),
    ("enableSystemLogQuery", Shape::Truth),
    ("enforceNodeAllocatable", TEXTS),
    ("eventBurst", Shape::Int32),
    ("eventRecordQPS", Shape::Int32),
    ("evictionHard", Shape::Known),
    ("evictionMaxPodGracePeriod", Shape::Known),
    ("evictionMinimumReclaim", Shape::Known),
    ("evictionPressureTransitionPeriod", Shape::Duration),
    ("evictionSoft", Shape::Known),
    ("evictionSoftGracePeriod", Shape::Known),
    ("failCgroupV1", Shape::Truth),
    ("failSwapOn", Shape::Truth),
    ("featureGates", Shape::Map(&Shape::Truth)),
    ("fileCheckFrequency", Shape::Duration),
    ("hairpinMode", Shape::Text),
    ("healthzBindAddress", Shape::Text),
    ("healthzPort", Shape::Int32),
    ("httpCheckFrequency", Shape::Duration),
    ("imageGCHighThresholdPercent", Shape::Known),
    ("imageGCLowThresholdPercent", Shape::Known),
    ("imageMaximumGCAge", Shape::Duration),
    ("imageMinimumGCAge", Shape::Duration),
    ("imagePullCredentialsVerificationPolicy", Shape::Text),
    ("imageServiceEndpoint", Shape::Text),
    ("iptablesDropBit", Shape::Int32),
    ("iptablesMasqueradeBit", Shape::Int32),
    ("kernelMemcgNotification", Shape::Truth),
    ("kind", Shape::Text),
    ("kubeAPIBurst", Shape::Int32),
    ("kubeAPIQPS", Shape::Int32),
    ("kubeReserved", Shape::Known),
    ("kubeReservedCgroup", Shape::Text),
    ("kubeletCgroups", Shape::Text),
    ("localStorageCapacityIsolation", Shape::Truth),
    ("logging", Shape::Struct(LOGGING)),
    ("makeIPTablesUtilChains", Shape::Truth),
    ("maxOpenFiles", Shape::Int64),
    ("maxParallelImagePulls", Shape::Int32),
    ("maxPods", Shape::Known),
    ("memoryManagerPolicy", Shape::Text),
    ("memorySwap", Shape::Struct(&[("swapBehavior", Shape::Text)])),
    ("memoryThrottlingFactor", Shape::Decimal),
    ("mergeDefaultEvictionSettings", Shape::Truth),
    ("nodeLeaseDurationSeconds", Shape::Int32),
    ("nodeStatusMaxImages", Shape::Int32),
    ("nodeStatusReportFrequency", Shape::Duration),
    ("nodeStatusUpdateFrequency", Shape::Duration),
    ("oomScoreAdj", Shape::Int32),
    ("podCIDR", Shape::Text),
    ("podLogsDir", Shape::Text),
    ("podPidsLimit", Shape::Int64),
    ("podsPerCore", Shape::Known),
    ("port", Shape::Int32),
    ("preloadedImagesVerificationAllowlist", TEXTS),
    ("protectKernelDefaults", Shape::Truth),
    ("providerID", Shape::Text),
    ("qosReserved", TEXT_MAP),
    ("readOnlyPort", Shape::Int32),
    ("registerNode", Shape::Truth),
    ("registerWithTaints", Shape::Known),
    ("registryBurst", Shape::Int32),
    ("registryPullQPS", Shape::Int32),
    (
        "reservedMemory",
        Shape::List(&Shape::Struct(&[
            ("limits", Shape::Map(&Shape::Quantity)),
            ("numaNode", Shape::Int32),
        ])),
    ),
    ("reservedSystemCPUs", Shape::Text),
    ("resolvConf", Shape::Text),
    ("rotateCertificates", Shape::Truth),
    ("runOnce", Shape::Truth),
    ("runtimeRequestTimeout", Shape::Duration),
    ("seccompDefault", Shape::Truth),
    ("serializeImagePulls", Shape::Truth),
    ("serverTLSBootstrap", Shape::Truth),
    ("showHiddenMetricsForVersion", Shape::Text),
    ("shutdownGracePeriod", Shape::Duration),
    (
        "shutdownGracePeriodByPodPriority",
        Shape::List(&Shape::Struct(&[
            ("priority", Shape::Int32),
            ("shutdownGracePeriodSeconds", Shape::Int64),
        ])),
    ),
    ("shutdownGracePeriodCriticalPods", Shape::Duration),
    ("singleProcessOOMKill", Shape::Truth),
    ("staticPodPath", Shape::Text),
    ("staticPodURL", Shape::Text),
    ("staticPodURLHeader", Shape::Map(&TEXTS)),
    ("streamingConnectionIdleTimeout", Shape::Duration),
    ("syncFrequency", Shape::Duration),
    ("systemCgroups", Shape::Text),
    ("systemReserved", Shape::Known),
    ("systemReservedCgroup", Shape::Text),
    ("tlsCertFile", Shape::Text),
    ("tlsCipherSuites", TEXTS),
    ("tlsMinVersion", Shape::Text),
    ("tlsPrivateKeyFile", Shape::Text),
    ("topologyManagerPolicy", Shape::Text),
    ("topologyManagerPolicyOptions", TEXT_MAP),
    ("topologyManagerScope", Shape::Text),
    (
        "tracing",
        Shape::Struct(&[("endpoint", Shape::Text), ("samplingRatePerMillion", Shape::Int32)]),
    ),
    ("userNamespaces", Shape::Struct(&[("idsPerPod", Shape::Int64)])),
    ("volumePluginDir", Shape::Text),
    ("volumeStatsAggPeriod", Shape::Duration),
]);
