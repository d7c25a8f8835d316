package pki

import (
	"crypto/x509"
	"encoding/pem"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCertificatesAreGoodForTheirNamesAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ca, err := NewAuthority(dir)
	if err != nil {
		t.Fatal(err)
	}
	err = ca.Issue(Request{Name: "apiserver", Organization: "group", DNS: []string{"kubernetes.default"}, IPs: []netip.Addr{netip.MustParseAddr("10.0.0.1")}})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(readCert(t, filepath.Join(dir, "ca.crt")))
	cert := readCert(t, filepath.Join(dir, "apiserver.crt"))
	for name, good := range map[string]bool{"kubernetes.default": true, "10.0.0.1": true, "10.0.0.2": false, "kubernetes": false} {
		_, err := cert.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
		if (err == nil) != good {
			t.Errorf("certificate for %s: %v, want good %t", name, err, good)
		}
	}
	if cert.Subject.CommonName != "apiserver" || cert.Subject.Organization[0] != "group" {
		t.Errorf("subject %s", cert.Subject)
	}
}

func readCert(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(data)
	if block == nil {
		t.Fatalf("%s is not PEM", file)
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func TestSecretsAreForTheOwnerAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := NewAuthority(dir); err != nil {
		t.Fatal(err)
	}
	if err := ServiceAccountKeys(dir); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, "kubeconfig")
	clients := []Client{{Name: "admin", User: "admin", Group: "system:masters", Server: "https://127.0.0.1:1"}, {Name: "kwok", User: "kwok", Server: "https://127.0.0.1:1"}}
	if err := WriteClients(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tokens.csv"), config, clients); err != nil {
		t.Fatal(err)
	}
	files := 0
	err := filepath.Walk(dir, func(file string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			files++
			if info.Mode().Perm() != 0o600 {
				t.Errorf("%s has mode %o", file, info.Mode().Perm())
			}
		}
		return err
	})
	if err != nil || files != 7 {
		t.Errorf("%d files (%v), want 7", files, err)
	}
	tokens := map[string]bool{}
	for _, c := range clients {
		token, err := Token(filepath.Join(dir, "tokens.csv"), c.User)
		if err != nil || len(token) < 20 || tokens[token] {
			t.Errorf("token of %s: %d characters, %v, used before: %t", c.User, len(token), err, tokens[token])
		}
		tokens[token] = true
		data, err := os.ReadFile(filepath.Join(config, c.Name))
		if err != nil || !strings.Contains(string(data), "token: "+token+"\n") {
			t.Errorf("kubeconfig of %s does not hold its token (%v)", c.Name, err)
		}
	}
	if _, err := Token(filepath.Join(dir, "tokens.csv"), "nobody"); err == nil {
		t.Error("a user that is not there has a token")
	}
}
