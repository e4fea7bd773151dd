// Package kube is the barest client of an API server: one HTTP/2 connection, JSON, nothing that limits or caches.
package kube

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	// JSON is the content type of a whole object.
	JSON = "application/json"
	// MergePatch is the content type of the fields to change.
	MergePatch = "application/merge-patch+json"
	// Apply is the content type of a server-side apply.
	Apply = "application/apply-patch+yaml"

	longestLine = 8 << 20
)

// Client sends requests over a connection of its own.
type Client struct {
	base   string
	client *http.Client
}

// StatusError is an answer of the API server that is no success.
type StatusError struct {
	// Code is its HTTP status.
	Code int
	text string
}

// Error has what was asked, and the server's own words.
func (e *StatusError) Error() string { return e.text }

// Open makes a client of a kubeconfig's current context.
func Open(kubeconfig string) (*Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{TLSClientConfig: tls, ForceAttemptHTTP2: true}
	wrapped, err := rest.HTTPWrappersForConfig(config, transport)
	if err != nil {
		return nil, err
	}
	return &Client{base: strings.TrimSuffix(config.Host, "/"), client: &http.Client{Transport: wrapped}}, nil
}

// Send sends a request and reads the answer into out, which may be nil.
func (c *Client) Send(ctx context.Context, method, path, contentType string, body []byte, out any) error {
	response, err := c.open(ctx, method, path, contentType, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if out == nil {
		_, err = io.Copy(io.Discard, response.Body)
		return err
	}
	return json.NewDecoder(response.Body).Decode(out)
}

// Watch calls opened once the server has answered, then each with every line, until that returns false. The line is
// valid during the call only.
func (c *Client) Watch(ctx context.Context, path string, opened func(), each func(line []byte) bool) error {
	response, err := c.open(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	opened()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(make([]byte, 64<<10), longestLine)
	for lines.Scan() {
		if !each(lines.Bytes()) {
			return nil
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

func (c *Client) open(ctx context.Context, method, path, contentType string, body []byte) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.client.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		said := fmt.Sprintf("%s %s is answered %s: %s", method, path, response.Status, text)
		return nil, &StatusError{Code: response.StatusCode, text: said}
	}
	return response, nil
}
