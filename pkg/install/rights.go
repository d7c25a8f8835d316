package install

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
)

var (
	clusterRoleType = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole"}
	roleType        = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}
	clusterBindType = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRoleBinding"}
	bindType        = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}
	accountType     = metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "ServiceAccount"}
	namespaceType   = metav1.TypeMeta{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Namespace"}
)

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{TypeMeta: namespaceType, ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels()}}
}

// rights are the accounts and what they may do: for the manager what the loop does (docs/rbac.md), and in its own
// namespace what keeping certificates takes. The daemon may do nothing yet.
func rights(config Config, gates features.Gates) []runtime.Object {
	list := []runtime.Object{account(config, managerAccount)}
	if config.Daemon {
		list = append(list, account(config, daemonAccount))
	}
	list = append(list,
		&rbacv1.ClusterRole{TypeMeta: clusterRoleType, ObjectMeta: metav1.ObjectMeta{Name: managerRole, Labels: labels()}, Rules: managerRules(gates)},
		&rbacv1.ClusterRoleBinding{
			TypeMeta: clusterBindType, ObjectMeta: metav1.ObjectMeta{Name: managerRole, Labels: labels()},
			RoleRef:  roleRef("ClusterRole", managerRole),
			Subjects: subjects(config, managerAccount),
		})
	meta := metav1.ObjectMeta{Name: managerRole, Namespace: config.Namespace, Labels: labels()}
	return append(list,
		&rbacv1.Role{TypeMeta: roleType, ObjectMeta: meta, Rules: certificateRules(gates)},
		&rbacv1.RoleBinding{TypeMeta: bindType, ObjectMeta: meta, RoleRef: roleRef("Role", managerRole), Subjects: subjects(config, managerAccount)})
}

func account(config Config, name string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{TypeMeta: accountType, ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: config.Namespace, Labels: labels()}}
}

func roleRef(kind, name string) rbacv1.RoleRef {
	return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func subjects(config Config, name string) []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: config.Namespace}}
}

func rule(group string, verbs []string, resources ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: resources, Verbs: verbs}
}

// named limits a rule to objects of these names. Creation and lists without a field selector cannot be limited so.
func named(r rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	r.ResourceNames = names
	return r
}

var own = []string{"get", "list", "watch", "create", "patch", "delete"}

// rolloutRules are the rights of whoever drives, in the namespaces that are driven.
func rolloutRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("apps.kruise.io", []string{"get", "list", "watch", "patch"}, "clonesets"),
		rule("apps.kruise.io", []string{"patch"}, "clonesets/status"),
		rule("", own, "pods"),
		rule("", []string{"patch"}, "pods/status"),
		rule("", own, "persistentvolumeclaims"),
		rule("apps", own, "controllerrevisions"),
		rule("coordination.k8s.io", []string{"get", "list", "watch", "create", "patch"}, "leases"),
		rule("", []string{"create", "patch"}, "events"),
	}
}

// managerRules are the rights of the loop and of the webhook in the whole cluster. Finalizers are only asked for where the
// admission plugin OwnerReferencesPermissionEnforcement is on.
func managerRules(gates features.Gates) []rbacv1.PolicyRule {
	rules := rolloutRules()
	trust := []string{"get", "patch"} // to write the CA into what is there
	if gates.Enabled(features.EnableExternalCerts) {
		trust = []string{"get"}
	}
	if gates.Enabled(features.InPlaceWorkloadVerticalScaling) {
		rules = append(rules, rule("", []string{"patch"}, "pods/resize"))
	}
	return append(rules,
		rule("", []string{"list"}, "nodes"), // whose labels say how pods are spread
		rule("apps.kruise.io", []string{"update"}, "clonesets/finalizers"),
		rule("", []string{"get", "create", "patch", "delete"}, "configmaps"), // the launch order of pods
		named(rule("apiextensions.k8s.io", trust, "customresourcedefinitions"), "clonesets.apps.kruise.io"),
		named(rule("admissionregistration.k8s.io", trust, "mutatingwebhookconfigurations"), keys.MutatingConfiguration),
		named(rule("admissionregistration.k8s.io", trust, "validatingwebhookconfigurations"), keys.ValidatingConfiguration),
	)
}

// certificateRules are the rights to keep the webhook's key pairs, or to read those that somebody else keeps.
func certificateRules(gates features.Gates) []rbacv1.PolicyRule {
	if gates.Enabled(features.EnableExternalCerts) {
		return []rbacv1.PolicyRule{named(rule("", []string{"get"}, "secrets"), keys.WebhookSecret)}
	}
	return []rbacv1.PolicyRule{
		rule("", []string{"create"}, "secrets"),
		named(rule("", []string{"get", "update"}, "secrets"), keys.WebhookSecret),
	}
}
