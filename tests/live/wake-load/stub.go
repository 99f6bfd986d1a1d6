package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// Delays of the stub. A warm function answers within 20 ms, beside the way to it and back.
const (
	quickDelay = 20 * time.Millisecond
	slowDelay  = 900 * time.Millisecond
)

// stub stands in for the function URL: /quick, /slow, /full and /dead.
type stub struct {
	url, bundle string
	calls       atomic.Int64
	// executions are those that Lambda has reserved for the function.
	executions chan struct{}
}

func startStub() (*stub, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		// As the API server speaks to every host but its own.
		NextProtos: []string{"http/1.1"},
	})
	if err != nil {
		return nil, err
	}
	s := &stub{
		url:        "https://" + listener.Addr().String(),
		bundle:     base64.StdEncoding.EncodeToString(text),
		executions: make(chan struct{}, 2),
	}
	go http.Serve(listener, s)
	return s, nil
}

// ServeHTTP allows a request as `wake` does, after the time that its path says.
func (s *stub) ServeHTTP(answer http.ResponseWriter, request *http.Request) {
	s.calls.Add(1)
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	body, err := io.ReadAll(request.Body)
	if err == nil {
		err = json.Unmarshal(body, &review)
	}
	if err != nil {
		http.Error(answer, err.Error(), http.StatusBadRequest)
		return
	}
	switch strings.TrimPrefix(request.URL.Path, "/") {
	case "quick":
		time.Sleep(quickDelay)
	case "slow":
		time.Sleep(slowDelay)
	case "full":
		select {
		case s.executions <- struct{}{}:
			time.Sleep(slowDelay)
			<-s.executions
		default:
			http.Error(answer, "Rate Exceeded.", http.StatusTooManyRequests)
			return
		}
	default:
		<-request.Context().Done()
		return
	}
	answer.Header().Set("Content-Type", "application/json")
	json.NewEncoder(answer).Encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"response": map[string]any{"uid": review.Request.UID, "allowed": true},
	})
}
