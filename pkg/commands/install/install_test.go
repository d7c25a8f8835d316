package install_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	verb "github.com/kubectl-kruise/kubectl-kruise/pkg/commands/install"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/install"
)

// cluster serves one definition for reading and notes every request that would change something.
func cluster(t *testing.T, present *apiextensionsv1.CustomResourceDefinition) (genericclioptions.RESTClientGetter, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var writes []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			mu.Lock()
			writes = append(writes, r.Method+" "+r.URL.Path)
			mu.Unlock()
			http.Error(w, "nothing may be written", http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(present); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	config := genericclioptions.NewConfigFlags(false)
	config.APIServer = &server.URL
	return config, func() []string { mu.Lock(); defer mu.Unlock(); return writes }
}

func definition(t *testing.T, rendering install.Rendering) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	crds, err := install.CRDs(rendering)
	if err != nil {
		t.Fatal(err)
	}
	crd := crds[0]
	crd.TypeMeta.APIVersion, crd.TypeMeta.Kind = apiextensionsv1.SchemeGroupVersion.String(), "CustomResourceDefinition"
	return crd
}

func TestDefinitionsThatAreAheadStayAsTheyAre(t *testing.T) {
	t.Parallel()
	withWebhook, withoutWebhook := definition(t, install.Full), definition(t, install.Full)
	withoutWebhook.Spec.Conversion = nil
	for name, test := range map[string]struct {
		present *apiextensionsv1.CustomResourceDefinition
		why     string
	}{
		"a conversion webhook": {withWebhook, "clonesets.apps.kruise.io converts between its versions by a webhook\n"},
		"v1beta1 is served":    {withoutWebhook, "clonesets.apps.kruise.io already serves v1beta1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, writes := cluster(t, test.present)
			var out, errOut bytes.Buffer
			cmd := verb.New(&cli.Deps{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &errOut}, Config: config})
			cmd.SetArgs([]string{"--crds-only"})
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string(nil), writes()); diff != "" {
				t.Errorf("requests that change something:\n%s", diff)
			}
			if !strings.HasPrefix(errOut.String(), test.why) || !strings.Contains(errOut.String(), "nothing changed") || out.Len() > 0 {
				t.Errorf("stdout %q, stderr %q", out.String(), errOut.String())
			}
		})
	}
}
