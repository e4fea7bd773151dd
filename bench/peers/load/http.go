// Sends requests to one URL over kept HTTP/1.1 connections, each with one request at a time.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Larger than most answers, so that a read takes one call.
const bufferBytes = 64 << 10

type target struct {
	url, method, contentType string
	body                     []byte
	// Connections take them in turn; none means no token.
	authorizations []string
	tls            *tls.Config
}

type requestFigures struct {
	Requests  int64            `json:"requests"`
	Errors    int64            `json:"errors"`
	Statuses  map[string]int64 `json:"statuses"`
	Seconds   figure           `json:"seconds"`
	PerSecond figure           `json:"perSecond"`
	Bytes     int64            `json:"bytes"`
	P50Ms     figure           `json:"p50Ms"`
	P99Ms     figure           `json:"p99Ms"`
}

// What one connection has seen.
type seen struct {
	requests, errors, bytes int64
	statuses                map[int]int64
	took                    []time.Duration
	last                    error
}

func requests(flags *flag.FlagSet, args []string) (any, error) {
	var to target
	flags.StringVar(&to.url, "url", "", "what to ask for; {connection} in it is the number of the connection, from 0")
	ca := flags.String("ca", "", "file with the certificate authority of the server")
	cert := flags.String("cert", "", "file with a client certificate")
	private := flags.String("key", "", "file with its private key")
	token := flags.String("token-file", "", "file with a bearer token, or with one a line, which connections take in turn")
	connections := flags.Int("connections", 16, "how many connections, each with one request at a time")
	window := flags.Float64("seconds", 3, "how long requests are sent, or the longest that watches wait")
	perSecond := flags.Float64("rate", 0, "requests a second over all connections, whatever the answers, which latency counts from; 0 means as fast as can be")
	warmUp := flags.Int("warm-up", 1, "requests of each connection before those that count")
	flags.StringVar(&to.method, "method", "GET", "HTTP method")
	bodyFile := flags.String("body-file", "", "file with the body; {request} in it is a number that differs in each request")
	flags.StringVar(&to.contentType, "content-type", "", "its type")
	mode := flags.String("mode", "request", "request, or watch: open as many watches of the URL as connections, and count lines")
	var w watches
	flags.Int64Var(&w.events, "events", 1000, "with --mode watch: how many lines to wait for, of each watch")
	flags.StringVar(&w.configMap, "patch-configmap", "", "with --mode watch: namespace/name of a ConfigMap to patch that many times once all watches are open")
	flags.StringVar(&w.kubeconfig, "kubeconfig", "", "with --patch-configmap: who patches")
	_ = flags.Parse(args)
	if err := to.read(*ca, *cert, *private, *token, *bodyFile); err != nil {
		return nil, err
	}
	period := time.Duration(*window * float64(time.Second))
	switch *mode {
	case "request":
		return to.measure(*connections, *warmUp, period, *perSecond)
	case "watch":
		return w.measure(to, *connections, period)
	}
	return nil, errors.New("--mode is request or watch")
}

func (t *target) read(ca, cert, private, token, bodyFile string) error {
	if t.url == "" {
		return errors.New("--url is needed")
	}
	t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return err
		}
		t.tls.RootCAs = x509.NewCertPool()
		if !t.tls.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("%s has no certificate", ca)
		}
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, private)
		if err != nil {
			return err
		}
		t.tls.Certificates = []tls.Certificate{pair}
	}
	if token != "" {
		text, err := os.ReadFile(token)
		if err != nil {
			return err
		}
		for _, line := range strings.Fields(string(text)) {
			t.authorizations = append(t.authorizations, "Bearer "+line)
		}
	}
	if bodyFile == "" {
		return nil
	}
	var err error
	t.body, err = os.ReadFile(bodyFile)
	return err
}

// A transport with a single HTTP/1.1 connection.
func (t *target) connection() *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		TLSClientConfig:    t.tls,
		Protocols:          &protocols,
		MaxConnsPerHost:    1,
		DisableCompression: true,
		ReadBufferSize:     bufferBytes,
	}
}

func (t *target) request(connection int) (*http.Request, error) {
	url := strings.ReplaceAll(t.url, "{connection}", strconv.Itoa(connection))
	body := bytes.ReplaceAll(t.body, []byte("{request}"), strconv.AppendInt(nil, time.Now().UnixNano(), 10))
	request, err := http.NewRequest(t.method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if count := len(t.authorizations); count > 0 {
		request.Header.Set("Authorization", t.authorizations[connection%count])
	}
	if t.contentType != "" {
		request.Header.Set("Content-Type", t.contentType)
	}
	return request, nil
}

func (t *target) measure(connections, warmUp int, window time.Duration, perSecond float64) (any, error) {
	if connections < 1 {
		return nil, errors.New("--connections is at least 1")
	}
	all := make([]seen, connections)
	var warm, done sync.WaitGroup
	warm.Add(connections)
	start := make(chan struct{})
	var begin time.Time
	for i := range all {
		done.Go(func() {
			one := &seen{statuses: map[int]int64{}}
			transport := t.connection()
			defer transport.CloseIdleConnections()
			buffer := make([]byte, bufferBytes)
			for range warmUp {
				t.ask(transport, i, one, buffer, time.Now())
			}
			*one = seen{statuses: map[int]int64{}}
			warm.Done()
			<-start
			for n := 0; ; n++ {
				from := time.Now()
				if perSecond > 0 {
					// The connections take turns.
					at := float64(n*connections+i) / perSecond
					due := begin.Add(time.Duration(at * float64(time.Second)))
					if due.Sub(begin) >= window {
						break
					}
					time.Sleep(due.Sub(from))
					from = due
				}
				if time.Since(begin) >= window && perSecond == 0 {
					break
				}
				t.ask(transport, i, one, buffer, from)
			}
			all[i] = *one
		})
	}
	warm.Wait()
	begin = time.Now()
	close(start)
	done.Wait()
	return sum(all, time.Since(begin))
}

// Sends one request and reads the whole answer.
func (t *target) ask(transport *http.Transport, connection int, one *seen, buffer []byte, from time.Time) {
	one.requests++
	request, err := t.request(connection)
	if err != nil {
		one.errors, one.last = one.errors+1, err
		return
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		one.errors, one.last = one.errors+1, err
		return
	}
	defer response.Body.Close()
	for {
		n, err := response.Body.Read(buffer)
		one.bytes += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			one.errors, one.last = one.errors+1, err
			return
		}
	}
	one.took = append(one.took, time.Since(from))
	one.statuses[response.StatusCode]++
	if response.StatusCode >= http.StatusBadRequest {
		one.errors++
	}
}

// An answer of 400 and above counts among the errors, and among the statuses. It is an error when nothing answered.
func sum(all []seen, took time.Duration) (any, error) {
	figures := requestFigures{Statuses: map[string]int64{}, Seconds: seconds(took)}
	var times []time.Duration
	var last error
	for _, one := range all {
		figures.Requests += one.requests
		figures.Errors += one.errors
		figures.Bytes += one.bytes
		times = append(times, one.took...)
		for status, count := range one.statuses {
			figures.Statuses[strconv.Itoa(status)] += count
		}
		if one.last != nil {
			last = one.last
		}
	}
	if len(times) == 0 {
		return nil, fmt.Errorf("nothing answered: %w", last)
	}
	times = ordered(times)
	figures.PerSecond = rate(int64(len(times)), took)
	figures.P50Ms, figures.P99Ms = quantile(times, 0.5), quantile(times, 0.99)
	return figures, nil
}
