package certs

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	keyBits = 2048
	caName  = "webhook-cert-ca"
	// backdate makes up for clocks that go slow on other machines.
	backdate = 5 * time.Minute
)

// pair is a certificate with its key, as PEM.
type pair struct{ cert, key []byte }

// newCA makes a self-signed CA.
func newCA(now time.Time, life time.Duration) (pair, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: caName}, NotBefore: now.Add(-backdate), NotAfter: now.Add(life),
		IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
	return sign(template, nil)
}

// newServer makes a certificate for the names, signed by a CA. It does not outlive the CA.
func newServer(ca pair, names []string, now time.Time, life time.Duration) (pair, error) {
	signer, err := tls.X509KeyPair(ca.cert, ca.key)
	if err != nil {
		return pair{}, fmt.Errorf("the CA cannot be used: %w", err)
	}
	if len(names) == 0 {
		return pair{}, errors.New("a certificate needs a name")
	}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, NotBefore: now.Add(-backdate), NotAfter: earlier(now.Add(life), signer.Leaf.NotAfter),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return sign(template, &signer)
}

// sign makes a key and a certificate, signed by itself without a signer.
func sign(template *x509.Certificate, signer *tls.Certificate) (pair, error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return pair{}, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return pair{}, fmt.Errorf("make a serial number: %w", err)
	}
	parent, with := template, any(key)
	if signer != nil {
		parent, with = signer.Leaf, signer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, with)
	if err != nil {
		return pair{}, fmt.Errorf("make a certificate: %w", err)
	}
	return pair{
		cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:  pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}),
	}, nil
}

// leaf reads the certificate of a pair whose key belongs to it.
func (p pair) leaf() (*x509.Certificate, error) {
	both, err := tls.X509KeyPair(p.cert, p.key)
	if err != nil {
		return nil, err
	}
	return both.Leaf, nil
}

// chain are the certificates behind the first one, which others may have signed it with.
func (p pair) chain() *x509.CertPool {
	_, rest := pem.Decode(bytes.TrimSpace(p.cert))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(rest)
	return pool
}

// parse reads one certificate.
func parse(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(bytes.TrimSpace(data))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no certificate in PEM form")
	}
	return x509.ParseCertificate(block.Bytes)
}

// serves says why a pair cannot serve the names under a CA, if so.
func (p pair) serves(ca []byte, names []string, now time.Time) error {
	leaf, err := p.leaf()
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return errors.New("no CA")
	}
	if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: p.chain(), CurrentTime: now}); err != nil {
		return err
	}
	for _, name := range names {
		if err := leaf.VerifyHostname(name); err != nil {
			return err
		}
	}
	return nil
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
