package addedlatency

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gatemark/gatemark/kube"
)

// How a client tells the API server who it is.
const (
	byCertificate = "certificate"
	byToken       = "token"
	// byFreshToken has a token for each request of a measurement: no cache of an
	// authenticating gateway, or of the API server, knows it.
	byFreshToken = "fresh-token"
)

// identity is what the client shows: a certificate, or a token.
type identity struct {
	certificate, key []byte
	token            string
}

// user is whom the client's certificate names.
func (a *apiServer) user() string { return "gatemark:" + a.Namespace }

// identify gets what the client shows.
func (a *apiServer) identify(ctx context.Context) (identity, error) {
	if a.Values.String("auth") == byCertificate {
		return a.certify(ctx)
	}
	tokens, err := a.tokens(ctx, 1)
	if err != nil {
		return identity{}, err
	}
	return identity{token: tokens[0]}, nil
}

// signedLimit bounds how long the cluster may take to sign a certificate.
const signedLimit = 30 * time.Second

// certify has the cluster sign a certificate for the client, as it does for
// people.
func (a *apiServer) certify(ctx context.Context) (identity, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, fmt.Errorf("make a key: %w", err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return identity{}, fmt.Errorf("encode a key: %w", err)
	}
	wanted, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: a.user()}}, private)
	if err != nil {
		return identity{}, fmt.Errorf("make a certificate request: %w", err)
	}
	request := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: wanted}),
		SignerName: certificatesv1.KubeAPIServerClientSignerName, ExpirationSeconds: ptr.To[int32](24 * 3600),
		Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
	}}
	request.Name = "gatemark-" + a.Namespace
	kube.Own(request, a.RunID, a.Result.ID)
	if err := a.Kube.Create(ctx, request); err != nil {
		return identity{}, fmt.Errorf("create %s: %w", kube.Describe(request), err)
	}
	signed, err := a.approve(ctx, request)
	if gone := a.Kube.Delete(context.WithoutCancel(ctx), request); err == nil && gone != nil {
		err = fmt.Errorf("delete %s: %w", kube.Describe(request), gone)
	}
	return identity{certificate: signed, key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})}, err
}

func (a *apiServer) approve(ctx context.Context, request *certificatesv1.CertificateSigningRequest) ([]byte, error) {
	request.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Gatemark", Message: "the client of a measurement",
	}}
	if err := a.Kube.SubResource("approval").Update(ctx, request); err != nil {
		return nil, fmt.Errorf("approve %s: %w", kube.Describe(request), err)
	}
	ctx, cancel := context.WithTimeout(ctx, signedLimit)
	defer cancel()
	for {
		if err := a.Kube.Get(ctx, client.ObjectKeyFromObject(request), request); err != nil {
			return nil, fmt.Errorf("wait for the certificate of %s: %w", kube.Describe(request), err)
		}
		if len(request.Status.Certificate) > 0 {
			return request.Status.Certificate, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%s was approved and not signed within %s: %v", kube.Describe(request), signedLimit, request.Status.Conditions)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

const (
	// tokenWriters get tokens at a time.
	tokenWriters = 8
	// tokenSeconds is how long a token is good for: the least that there is.
	tokenSeconds = 600
	// tokenLife is that of the one token of a trial.
	tokenLife = 24 * 3600
)

// tokens gets so many of the client's. Of several each is for one request.
func (a *apiServer) tokens(ctx context.Context, n int) ([]string, error) {
	all, problems := make([]string, n), make([]error, n)
	life := int64(tokenSeconds)
	if n == 1 {
		life = tokenLife
	}
	next := make(chan int)
	var writing sync.WaitGroup
	for range min(n, tokenWriters) {
		writing.Go(func() {
			for i := range next {
				request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}}
				account := &corev1.ServiceAccount{}
				account.Namespace, account.Name = a.Namespace, "client"
				problems[i] = a.Kube.SubResource("token").Create(ctx, account, request)
				all[i] = request.Status.Token
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	writing.Wait()
	for _, err := range problems {
		if err != nil {
			return nil, fmt.Errorf("get %d tokens: %w", n, err)
		}
	}
	return all, nil
}
