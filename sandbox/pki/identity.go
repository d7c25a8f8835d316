package pki

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Client is somebody who talks to the API server.
type Client struct {
	Name   string // base name of the kubeconfig
	User   string
	Group  string // may be empty
	Server string // URL of the API server as this client reaches it
}

// WriteClients gives each client a token and a kubeconfig in configDir, and writes the token file that the API server
// reads. The CA certificate is embedded, so a kubeconfig can be copied to another place.
func WriteClients(caFile, tokenFile, configDir string, clients []Client) error {
	ca, err := os.ReadFile(caFile)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(configDir, 0o700); err != nil {
		return err
	}
	var tokens strings.Builder
	for _, c := range clients {
		token := strings.ToLower(rand.Text())
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, c.User, c.User, c.Group)
		if err := os.WriteFile(filepath.Join(configDir, c.Name), kubeconfig(c, token, ca), 0o600); err != nil {
			return err
		}
	}
	return os.WriteFile(tokenFile, []byte(tokens.String()), 0o600)
}

func kubeconfig(c Client, token string, ca []byte) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: sandbox
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %q
  user:
    token: %s
contexts:
- name: sandbox
  context: {cluster: sandbox, user: %q}
current-context: sandbox
`, c.Server, base64.StdEncoding.EncodeToString(ca), c.User, token, c.User)
}

// Token reads a user's token from the file that WriteClients wrote.
func Token(tokenFile, user string) (string, error) {
	data, err := os.ReadFile(tokenFile)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(string(data), "\n") {
		if f := strings.Split(line, ","); len(f) == 4 && f[1] == user {
			return f[0], nil
		}
	}
	return "", fmt.Errorf("%s has no token for %s", tokenFile, user)
}
