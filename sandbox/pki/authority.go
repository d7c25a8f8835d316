// Package pki makes the keys, certificates and tokens of a sandbox. Every file is readable by its owner alone.
package pki

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// Authority signs the certificates of one sandbox.
type Authority struct {
	dir  string
	cert *x509.Certificate
	key  crypto.Signer
}

// NewAuthority makes a certificate authority and stores it as ca.crt and ca.key in the folder.
func NewAuthority(dir string) (*Authority, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	a := &Authority{dir: dir}
	template := &x509.Certificate{
		Subject:  pkix.Name{CommonName: "kruise-sandbox-ca"},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, BasicConstraintsValid: true, IsCA: true,
	}
	var err error
	a.cert, a.key, err = a.issue("ca", template)
	return a, err
}

// Request says what a certificate is for.
type Request struct {
	Name         string // base name of the .crt and .key files, and common name
	Organization string // for clients: their group
	DNS          []string
	IPs          []netip.Addr
}

// Issue makes a key and a certificate for both ends of a connection and stores them in the authority's folder.
func (a *Authority) Issue(r Request) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: r.Name},
		DNSNames:    r.DNS,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if r.Organization != "" {
		template.Subject.Organization = []string{r.Organization}
	}
	for _, ip := range r.IPs {
		template.IPAddresses = append(template.IPAddresses, ip.AsSlice())
	}
	_, _, err := a.issue(r.Name, template)
	return err
}

func (a *Authority) issue(name string, template *x509.Certificate) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = time.Now().AddDate(10, 0, 0)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate %s: %w", name, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	if err := writeKey(filepath.Join(a.dir, name+".key"), key); err != nil {
		return nil, nil, err
	}
	return cert, key, writePEM(filepath.Join(a.dir, name+".crt"), "CERTIFICATE", der)
}

// ServiceAccountKeys makes the key pair that signs and checks service account tokens: sa.key and sa.pub.
func ServiceAccountKeys(dir string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	if err := writePEM(filepath.Join(dir, "sa.pub"), "PUBLIC KEY", public); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, "sa.key"), key)
}

// writeKey stores a key in the older form, the only one that Kubernetes reads for every purpose.
func writeKey(file string, key *ecdsa.PrivateKey) error {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(file, "EC PRIVATE KEY", der)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
