package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

// request is what an entry of the audit log says about one request.
type request struct {
	Verb string `json:"verb"`
	User struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (r request) resource() string {
	if r.ObjectRef.Subresource != "" {
		return r.ObjectRef.Resource + "/" + r.ObjectRef.Subresource
	}
	return r.ObjectRef.Resource
}

// unasked are rights of the manager that this test does not use, and what uses them.
var unasked = map[string]string{
	"get configmaps":                        "a barrier that was deleted",
	"delete configmaps":                     "a barrier that an earlier pod has left",
	"update secrets":                        "certificates that are renewed",
	"update clonesets/finalizers":           "the admission plugin OwnerReferencesPermissionEnforcement, which is off here",
	"create persistentvolumeclaims":         "sets with claim templates",
	"patch persistentvolumeclaims":          "sets with claim templates",
	"delete persistentvolumeclaims":         "sets with claim templates",
	"get persistentvolumeclaims":            "a write of a claim that was not answered",
	"list persistentvolumeclaims":           "sets with claim templates",
	"watch persistentvolumeclaims":          "sets with claim templates",
	"delete controllerrevisions":            "more revisions than revisionHistoryLimit",
	"get controllerrevisions":               "a write of a revision that was not answered",
	"patch controllerrevisions":             "a revision that is taken up again",
	"get clonesets":                         "a write that was not answered",
	"patch clonesets":                       "batched runs and podsToDelete",
	"get pods":                              "podsToDelete in v1alpha1, and a write that was not answered",
	"delete pods":                           "sets that become smaller, and recreation",
	"patch events":                          "events that repeat",
	"list leases":                           "Leases of verbs",
	"watch leases":                          "Leases of verbs",
	"patch customresourcedefinitions":       "a CA that changes",
	"patch mutatingwebhookconfigurations":   "a CA that changes",
	"patch validatingwebhookconfigurations": "a CA that changes",
}

// askedForWhatItMay compares the rights of the manager with what it asked for, as the API server's audit log tells:
// nothing was refused for lack of rights, and every right was used or is known to be used elsewhere.
func (s *site) askedForWhatItMay() {
	s.Helper()
	used := map[string]bool{}
	for _, r := range slices.Concat(s.audited("system:serviceaccount:kruise-system:kruise-manager"), s.audited("system:serviceaccount:"+elsewhere+":kruise-manager")) {
		what := r.Verb + " " + r.resource()
		used[what] = true
		if r.ResponseStatus.Code == 403 {
			s.Errorf("the manager may not %s (%s %s/%s)", what, r.ObjectRef.APIGroup, r.ObjectRef.Namespace, r.ObjectRef.Name)
		}
	}
	if !used["patch pods/status"] || !used["create secrets"] {
		s.Fatalf("the audit log has not what the manager surely asks for: %v", used)
	}
	for what := range s.granted() {
		if !used[what] && unasked[what] == "" {
			s.Errorf("the manager may %s and never does", what)
		}
	}
	for what := range unasked {
		if !s.granted()[what] {
			s.Errorf("%q is listed as a right that is used elsewhere, and is none", what)
		}
	}
}

// granted are the rights in the manifests, as "verb resource".
func (s *site) granted() map[string]bool {
	s.Helper()
	config := install.Defaults()
	config.Image, config.FeatureGates = agentImage, "InPlaceWorkloadVerticalScaling=true"
	objects, err := install.Manifests(config, install.Complete)
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]bool{}
	for _, object := range objects {
		var rules []rbacv1.PolicyRule
		switch role := object.(type) {
		case *rbacv1.ClusterRole:
			rules = role.Rules
		case *rbacv1.Role:
			rules = role.Rules
		}
		for _, rule := range rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all[verb+" "+resource] = true
				}
			}
		}
	}
	return all
}

// audited reads the requests of a user from the audit log.
func (s *site) audited(user string) []request {
	s.Helper()
	files, err := filepath.Glob(filepath.Join(s.state, "log", "audit*.log"))
	if err != nil || len(files) == 0 {
		s.Fatalf("no audit log: %v", err)
	}
	slices.Sort(files)
	var list []request
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			s.Fatal(err)
		}
		defer file.Close()
		for lines := bufio.NewReader(file); ; {
			line, err := lines.ReadString('\n')
			if err != nil {
				break // the last line may be in the making
			}
			var r request
			if !strings.Contains(line, user) {
				continue
			}
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				s.Fatal(fmt.Errorf("%s: %w", name, err))
			}
			if r.User.Username == user {
				list = append(list, r)
			}
		}
	}
	return list
}
