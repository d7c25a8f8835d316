package features

// The gates, in upstream's order.
const (
	PodWebhook Gate = iota
	KruiseDaemon
	DaemonWatchingPod
	CloneSetShortHash
	KruisePodReadinessGate
	PreDownloadImageForInPlaceUpdate
	CloneSetPartitionRollback
	ResourcesDeletionProtection
	WorkloadSpread
	PodUnavailableBudgetDeleteGate
	PodUnavailableBudgetUpdateGate
	TemplateNoDefaults
	InPlaceUpdateEnvFromMetadata
	StatefulSetAutoDeletePVC
	SidecarSetPatchPodMetadataDefaultsAllowed
	SidecarTerminator
	PodProbeMarkerGate
	PreDownloadImageForDaemonSetUpdate
	CloneSetEventHandlerOptimization
	PreparingUpdateAsUpdate
	ImagePullJobGate
	ResourceDistributionGate
	DeletionProtectionForCRDCascadingGate
	EnhancedLivenessProbe
	RecreatePodWhenChangeVCTInCloneSetGate
	StatefulSetStartOrdinal
	PodIndexLabel
	EnableExternalCerts
	StatefulSetAutoResizePVCGate
	ForceDeleteTimeoutExpectationGate
	InPlaceWorkloadVerticalScaling
	EnablePodProbeMarkerOnServerless
	EnableSortSidecarContainerByName
	InPlacePodVerticalScaling
	DefaultHostNetworkHostPortsInPodTemplates
	DaemonSetPruneIneligibleNodes
)

// gates holds what is known about each gate, indexed by it.
var gates = [...]struct {
	name  string
	on    bool
	stage string
}{
	PodWebhook:                                {"PodWebhook", true, allBeta},
	KruiseDaemon:                              {"KruiseDaemon", true, allBeta},
	DaemonWatchingPod:                         {"DaemonWatchingPod", true, allBeta},
	CloneSetShortHash:                         {"CloneSetShortHash", false, allAlpha},
	KruisePodReadinessGate:                    {"KruisePodReadinessGate", false, allAlpha},
	PreDownloadImageForInPlaceUpdate:          {"PreDownloadImageForInPlaceUpdate", false, allAlpha},
	CloneSetPartitionRollback:                 {"CloneSetPartitionRollback", false, allAlpha},
	ResourcesDeletionProtection:               {"ResourcesDeletionProtection", false, allBeta},
	WorkloadSpread:                            {"WorkloadSpread", true, allBeta},
	PodUnavailableBudgetDeleteGate:            {"PodUnavailableBudgetDeleteGate", true, allBeta},
	PodUnavailableBudgetUpdateGate:            {"PodUnavailableBudgetUpdateGate", false, allAlpha},
	TemplateNoDefaults:                        {"TemplateNoDefaults", false, allAlpha},
	InPlaceUpdateEnvFromMetadata:              {"InPlaceUpdateEnvFromMetadata", true, allBeta},
	StatefulSetAutoDeletePVC:                  {"StatefulSetAutoDeletePVC", true, allBeta},
	SidecarSetPatchPodMetadataDefaultsAllowed: {"SidecarSetPatchPodMetadataDefaultsAllowed", false, allAlpha},
	SidecarTerminator:                         {"SidecarTerminator", false, allAlpha},
	PodProbeMarkerGate:                        {"PodProbeMarkerGate", true, allBeta},
	PreDownloadImageForDaemonSetUpdate:        {"PreDownloadImageForDaemonSetUpdate", false, allAlpha},
	CloneSetEventHandlerOptimization:          {"CloneSetEventHandlerOptimization", false, allAlpha},
	PreparingUpdateAsUpdate:                   {"PreparingUpdateAsUpdate", false, allAlpha},
	ImagePullJobGate:                          {"ImagePullJobGate", false, allAlpha},
	ResourceDistributionGate:                  {"ResourceDistributionGate", false, allBeta},
	DeletionProtectionForCRDCascadingGate:     {"DeletionProtectionForCRDCascadingGate", false, allAlpha},
	EnhancedLivenessProbe:                     {"EnhancedLivenessProbe", false, allAlpha},
	RecreatePodWhenChangeVCTInCloneSetGate:    {"RecreatePodWhenChangeVCTInCloneSetGate", false, allAlpha},
	StatefulSetStartOrdinal:                   {"StatefulSetStartOrdinal", false, allAlpha},
	PodIndexLabel:                             {"PodIndexLabel", true, allBeta},
	EnableExternalCerts:                       {"EnableExternalCerts", false, allAlpha},
	StatefulSetAutoResizePVCGate:              {"StatefulSetAutoResizePVCGate", false, allAlpha},
	ForceDeleteTimeoutExpectationGate:         {"ForceDeleteTimeoutExpectationGate", false, allAlpha},
	InPlaceWorkloadVerticalScaling:            {"InPlaceWorkloadVerticalScaling", false, allAlpha},
	EnablePodProbeMarkerOnServerless:          {"EnablePodProbeMarkerOnServerless", false, allAlpha},
	EnableSortSidecarContainerByName:          {"EnableSortSidecarContainerByName", false, allAlpha},
	InPlacePodVerticalScaling:                 {"InPlacePodVerticalScaling", false, allAlpha},
	DefaultHostNetworkHostPortsInPodTemplates: {"DefaultHostNetworkHostPortsInPodTemplates", false, allAlpha},
	DaemonSetPruneIneligibleNodes:             {"DaemonSetPruneIneligibleNodes", false, allAlpha},
}
