package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"time"
)

// api is a client of the API server, as plain as possible: what it costs is in every figure.
type api struct {
	server, token string
	http          *http.Client
}

// connect reads what the control plane writes: one cluster, one user with a token.
func connect(path string) (*api, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	field := func(name string) string {
		found := regexp.MustCompile(`(?m)^\s*(?:- )?` + name + `:\s*(\S+)`).FindSubmatch(text)
		if found == nil {
			return ""
		}
		return string(found[1])
	}
	authority, err := base64.StdEncoding.DecodeString(field("certificate-authority-data"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authority) || field("token") == "" {
		return nil, fmt.Errorf("%s: no certificate authority and token in it", path)
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2:   false,
		MaxIdleConnsPerHost: 256,
	}
	return &api{server: field("server"), token: field("token"), http: &http.Client{Transport: transport}}, nil
}

func (a *api) request(method, path, contentType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequest(method, a.server+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	return a.http.Do(request)
}

// do makes a request and reads the whole answer. Those of a method and path that are gone already are no error.
func (a *api) do(method, path string, object any) ([]byte, error) {
	var body []byte
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	switch object := object.(type) {
	case nil:
	case []byte:
		body = object
	default:
		var err error
		if body, err = json.Marshal(object); err != nil {
			return nil, err
		}
	}
	answer, err := a.request(method, path, contentType, body)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	gone := method == http.MethodDelete && answer.StatusCode == http.StatusNotFound
	if err == nil && answer.StatusCode >= 300 && !gone {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, answer.Status, said)
	}
	return said, err
}

// timed is how long a request takes, to its whole answer.
func (a *api) timed(method, path string, object any) (time.Duration, error) {
	began := time.Now()
	_, err := a.do(method, path, object)
	return time.Since(began), err
}

// pod is what is read of a pod.
type pod struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct {
		Conditions []struct{ Type, Status string }
	}
}

func (p *pod) isUnschedulable() bool {
	for _, condition := range p.Status.Conditions {
		if condition.Type == "PodScheduled" && condition.Status == "False" {
			return true
		}
	}
	return false
}

// watch calls see for each change of a pod until it returns true or the time is over.
func (a *api) watch(patience time.Duration, ready chan<- error, see func(pod) bool) error {
	var list struct {
		Metadata struct{ ResourceVersion string }
	}
	said, err := a.do(http.MethodGet, pods+"?limit=1", nil)
	if err == nil {
		err = json.Unmarshal(said, &list)
	}
	if err != nil {
		ready <- err
		return err
	}
	path := fmt.Sprintf("%s?watch=1&resourceVersion=%s&timeoutSeconds=%d", pods, list.Metadata.ResourceVersion,
		int(patience.Seconds()))
	answer, err := a.request(http.MethodGet, path, "", nil)
	ready <- err
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	changes := json.NewDecoder(bufio.NewReaderSize(answer.Body, 1<<20))
	for {
		var change struct {
			Type   string
			Object json.RawMessage
		}
		if err := changes.Decode(&change); err != nil {
			return fmt.Errorf("not all pods within %s: %w", patience, err)
		}
		var pod pod
		if err := json.Unmarshal(change.Object, &pod); err != nil || change.Type == "ERROR" {
			return fmt.Errorf("watch: %.300s", change.Object)
		}
		if see(pod) {
			return nil
		}
	}
}
