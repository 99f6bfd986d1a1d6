//! The shape of KubeletConfiguration: which members there are, and of which type.
//!
//! <https://github.com/kubernetes/kubelet/blob/v0.35.4/config/v1beta1/types.go>, with its logging and
//! tracing parts from `component-base`.

use model::{duration, quantity::Quantity};

use crate::{
    document::{field::Field, tree::TreeValue},
    karpenter::node_class::is_interpreted,
};

/// The type of a member.
#[derive(Debug)]
pub(super) enum FieldType {
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

/// Complains about what is not of `field_type`. Null is as good as absent.
pub(super) fn check(field: &Field<'_>, field_type: &FieldType) {
    if field.tree().is_null() {
        return;
    }
    match field_type {
        FieldType::Known => {}
        FieldType::Text => {
            field.text();
        }
        FieldType::Truth => {
            field.boolean();
        }
        FieldType::Int32 => {
            field.integer::<i32>(i32::MIN.into(), i32::MAX.into());
        }
        FieldType::Int64 => {
            field.integer::<i64>(i64::MIN, i64::MAX);
        }
        FieldType::Unsigned32 => {
            field.integer::<u32>(0, u32::MAX.into());
        }
        FieldType::Decimal => {
            if !matches!(field.tree().value, TreeValue::Number(_)) {
                field.complain("must be a number");
            }
        }
        FieldType::DurationOrNumber if matches!(field.tree().value, TreeValue::Number(_)) => {
            field.integer::<i64>(i64::MIN, i64::MAX);
        }
        FieldType::Duration | FieldType::DurationOrNumber => {
            field.parsed(duration::parse_go);
        }
        FieldType::Quantity => {
            field.quantity().and_then(|text| field.accept(Quantity::parse(text)));
        }
        FieldType::List(item) => {
            field.list().iter().flatten().for_each(|element| check(element, item));
        }
        FieldType::Map(value) => {
            field.entries().iter().flatten().for_each(|(_, one)| check(one, value));
        }
        FieldType::Struct(members) => check_members(field, members),
    }
}

/// Complains about members that are none, and about those of another type.
fn check_members(field: &Field<'_>, members: &[(&str, FieldType)]) {
    for (key, value) in field.entries().unwrap_or_default() {
        match members.iter().find(|(name, _)| *name == key) {
            Some((_, field_type)) => check(&value, field_type),
            None if is_interpreted(key) => {}
            None => value.complain("unknown field: KubeletConfiguration has none of this name"),
        }
    }
}

const TEXTS: FieldType = FieldType::List(&FieldType::Text);
const TEXT_MAP: FieldType = FieldType::Map(&FieldType::Text);

const LOG_OPTIONS: &[(&str, FieldType)] =
    &[("infoBufferSize", FieldType::Quantity), ("splitStream", FieldType::Truth)];

const LOGGING: &[(&str, FieldType)] = &[
    ("flushFrequency", FieldType::DurationOrNumber),
    ("format", FieldType::Text),
    (
        "options",
        FieldType::Struct(&[
            ("json", FieldType::Struct(LOG_OPTIONS)),
            ("text", FieldType::Struct(LOG_OPTIONS)),
        ]),
    ),
    ("verbosity", FieldType::Unsigned32),
    (
        "vmodule",
        FieldType::List(&FieldType::Struct(&[
            ("filePattern", FieldType::Text),
            ("verbosity", FieldType::Unsigned32),
        ])),
    ),
];

const AUTHENTICATION: &[(&str, FieldType)] = &[
    ("anonymous", FieldType::Struct(&[("enabled", FieldType::Truth)])),
    (
        "webhook",
        FieldType::Struct(&[("cacheTTL", FieldType::Duration), ("enabled", FieldType::Truth)]),
    ),
    ("x509", FieldType::Struct(&[("clientCAFile", FieldType::Text)])),
];

const AUTHORIZATION: &[(&str, FieldType)] = &[
    ("mode", FieldType::Text),
    (
        "webhook",
        FieldType::Struct(&[
            ("cacheAuthorizedTTL", FieldType::Duration),
            ("cacheUnauthorizedTTL", FieldType::Duration),
        ]),
    ),
];

/// KubeletConfiguration of `kubelet.config.k8s.io/v1beta1`, but for the members that count in decisions.
pub(super) const CONFIGURATION: FieldType = FieldType::Struct(&[
    ("address", FieldType::Text),
    ("allowedUnsafeSysctls", TEXTS),
    ("apiVersion", FieldType::Text),
    ("authentication", FieldType::Struct(AUTHENTICATION)),
    ("authorization", FieldType::Struct(AUTHORIZATION)),
    ("cgroupDriver", FieldType::Text),
    ("cgroupRoot", FieldType::Text),
    ("cgroupsPerQOS", FieldType::Truth),
    ("clusterDomain", FieldType::Text),
    ("configMapAndSecretChangeDetectionStrategy", FieldType::Text),
    ("containerLogMaxFiles", FieldType::Int32),
    ("containerLogMaxSize", FieldType::Text),
    ("containerLogMaxWorkers", FieldType::Int32),
    ("containerLogMonitorInterval", FieldType::Duration),
    ("containerRuntimeEndpoint", FieldType::Text),
    ("contentType", FieldType::Text),
    ("cpuCFSQuotaPeriod", FieldType::Duration),
    ("cpuManagerPolicy", FieldType::Text),
    ("cpuManagerPolicyOptions", TEXT_MAP),
    ("cpuManagerReconcilePeriod", FieldType::Duration),
    ("crashLoopBackOff", FieldType::Struct(&[("maxContainerRestartPeriod", FieldType::Duration)])),
    ("enableContentionProfiling", FieldType::Truth),
    ("enableControllerAttachDetach", FieldType::Truth),
    ("enableDebugFlagsHandler", FieldType::Truth),
    ("enableDebuggingHandlers", FieldType::Truth),
    ("enableProfilingHandler", FieldType::Truth),
    ("enableServer", FieldType::Truth),
    ("enableSystemLogHandler", FieldType::Truth),
    ("enableSystemLogQuery", FieldType::Truth),
    ("enforceNodeAllocatable", TEXTS),
    ("eventBurst", FieldType::Int32),
    ("eventRecordQPS", FieldType::Int32),
    ("evictionMinimumReclaim", FieldType::Known),
    ("evictionPressureTransitionPeriod", FieldType::Duration),
    ("failCgroupV1", FieldType::Truth),
    ("failSwapOn", FieldType::Truth),
    ("featureGates", FieldType::Map(&FieldType::Truth)),
    ("fileCheckFrequency", FieldType::Duration),
    ("hairpinMode", FieldType::Text),
    ("healthzBindAddress", FieldType::Text),
    ("healthzPort", FieldType::Int32),
    ("httpCheckFrequency", FieldType::Duration),
    ("imageMaximumGCAge", FieldType::Duration),
    ("imageMinimumGCAge", FieldType::Duration),
    ("imagePullCredentialsVerificationPolicy", FieldType::Text),
    ("imageServiceEndpoint", FieldType::Text),
    ("iptablesDropBit", FieldType::Int32),
    ("iptablesMasqueradeBit", FieldType::Int32),
    ("kernelMemcgNotification", FieldType::Truth),
    ("kind", FieldType::Text),
    ("kubeAPIBurst", FieldType::Int32),
    ("kubeAPIQPS", FieldType::Int32),
    ("kubeReservedCgroup", FieldType::Text),
    ("kubeletCgroups", FieldType::Text),
    ("localStorageCapacityIsolation", FieldType::Truth),
    ("logging", FieldType::Struct(LOGGING)),
    ("makeIPTablesUtilChains", FieldType::Truth),
    ("maxOpenFiles", FieldType::Int64),
    ("maxParallelImagePulls", FieldType::Int32),
    ("memoryManagerPolicy", FieldType::Text),
    ("memorySwap", FieldType::Struct(&[("swapBehavior", FieldType::Text)])),
    ("memoryThrottlingFactor", FieldType::Decimal),
    ("mergeDefaultEvictionSettings", FieldType::Truth),
    ("nodeLeaseDurationSeconds", FieldType::Int32),
    ("nodeStatusMaxImages", FieldType::Int32),
    ("nodeStatusReportFrequency", FieldType::Duration),
    ("nodeStatusUpdateFrequency", FieldType::Duration),
    ("oomScoreAdj", FieldType::Int32),
    ("podCIDR", FieldType::Text),
    ("podLogsDir", FieldType::Text),
    ("podPidsLimit", FieldType::Int64),
    ("port", FieldType::Int32),
    ("preloadedImagesVerificationAllowlist", TEXTS),
    ("protectKernelDefaults", FieldType::Truth),
    ("providerID", FieldType::Text),
    ("qosReserved", TEXT_MAP),
    ("readOnlyPort", FieldType::Int32),
    ("registerNode", FieldType::Truth),
    ("registerWithTaints", FieldType::Known),
    ("registryBurst", FieldType::Int32),
    ("registryPullQPS", FieldType::Int32),
    (
        "reservedMemory",
        FieldType::List(&FieldType::Struct(&[
            ("limits", FieldType::Map(&FieldType::Quantity)),
            ("numaNode", FieldType::Int32),
        ])),
    ),
    ("reservedSystemCPUs", FieldType::Text),
    ("resolvConf", FieldType::Text),
    ("rotateCertificates", FieldType::Truth),
    ("runOnce", FieldType::Truth),
    ("runtimeRequestTimeout", FieldType::Duration),
    ("seccompDefault", FieldType::Truth),
    ("serializeImagePulls", FieldType::Truth),
    ("serverTLSBootstrap", FieldType::Truth),
    ("showHiddenMetricsForVersion", FieldType::Text),
    ("shutdownGracePeriod", FieldType::Duration),
    (
        "shutdownGracePeriodByPodPriority",
        FieldType::List(&FieldType::Struct(&[
            ("priority", FieldType::Int32),
            ("shutdownGracePeriodSeconds", FieldType::Int64),
        ])),
    ),
    ("shutdownGracePeriodCriticalPods", FieldType::Duration),
    ("singleProcessOOMKill", FieldType::Truth),
    ("staticPodPath", FieldType::Text),
    ("staticPodURL", FieldType::Text),
    ("staticPodURLHeader", FieldType::Map(&TEXTS)),
    ("streamingConnectionIdleTimeout", FieldType::Duration),
    ("syncFrequency", FieldType::Duration),
    ("systemCgroups", FieldType::Text),
    ("systemReservedCgroup", FieldType::Text),
    ("tlsCertFile", FieldType::Text),
    ("tlsCipherSuites", TEXTS),
    ("tlsMinVersion", FieldType::Text),
    ("tlsPrivateKeyFile", FieldType::Text),
    ("topologyManagerPolicy", FieldType::Text),
    ("topologyManagerPolicyOptions", TEXT_MAP),
    ("topologyManagerScope", FieldType::Text),
    (
        "tracing",
        FieldType::Struct(&[
            ("endpoint", FieldType::Text),
            ("samplingRatePerMillion", FieldType::Int32),
        ]),
    ),
    ("userNamespaces", FieldType::Struct(&[("idsPerPod", FieldType::Int64)])),
    ("volumePluginDir", FieldType::Text),
    ("volumeStatsAggPeriod", FieldType::Duration),
]);
