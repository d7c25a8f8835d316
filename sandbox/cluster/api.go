package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/kubectl-kruise/kubectl-kruise/sandbox/network"
	"github.com/kubectl-kruise/kubectl-kruise/sandbox/pki"
)

// api talks to the sandbox's API server as administrator.
type api struct {
	base, token string
	client      *http.Client
}

func (s *Sandbox) api() (*api, error) {
	ca, err := os.ReadFile(s.path("pki", "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("ca.crt holds no certificate")
	}
	token, err := pki.Token(s.path("pki", "tokens.csv"), adminUser)
	if err != nil {
		return nil, err
	}
	return &api{
		base:  "https://" + network.Port(s.plan.APIHost(), s.plan.Ports().API),
		token: token,
		client: &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 8}},
	}, nil
}

func (a *api) do(ctx context.Context, method, path string, body []byte) ([]byte, int, error) {
	req, err := http.NewRequestWithContext(ctx, method, a.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, 0, err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	req.Header.Set("Content-Type", "application/yaml")
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return data, resp.StatusCode, err
}

// create posts a YAML document.
func (a *api) create(ctx context.Context, path, yaml string) error {
	data, code, err := a.do(ctx, http.MethodPost, path, []byte(yaml))
	if err != nil {
		return err
	}
	if code >= 300 {
		return fmt.Errorf("create at %s: %d: %s", path, code, strings.TrimSpace(string(data)))
	}
	return nil
}

// ready says whether the API server answers.
func (a *api) ready(ctx context.Context) bool {
	_, code, err := a.do(ctx, http.MethodGet, "/readyz", nil)
	return err == nil && code == http.StatusOK
}

// exists says whether something is at the path.
func (a *api) exists(ctx context.Context, path string) bool {
	_, code, err := a.do(ctx, http.MethodGet, path, nil)
	return err == nil && code == http.StatusOK
}

type nodeList struct {
	Items []struct {
		Metadata struct{ Name string }
		Spec     struct{ Taints []struct{ Key string } }
		Status   struct {
			Conditions []struct{ Type, Status string }
		}
	}
}

// readyNodes counts the nodes on which pods can be placed.
func (a *api) readyNodes(ctx context.Context) (int, error) {
	data, code, err := a.do(ctx, http.MethodGet, "/api/v1/nodes", nil)
	if err != nil {
		return 0, err
	}
	if code != http.StatusOK {
		return 0, fmt.Errorf("list nodes: %d: %s", code, data)
	}
	var list nodeList
	if err := json.Unmarshal(data, &list); err != nil {
		return 0, err
	}
	ready := 0
	for _, n := range list.Items {
		ok := false
		for _, c := range n.Status.Conditions {
			ok = ok || c.Type == "Ready" && c.Status == "True"
		}
		for _, t := range n.Spec.Taints {
			ok = ok && t.Key != "node.kubernetes.io/not-ready"
		}
		if ok {
			ready++
		}
	}
	return ready, nil
}
