// Sends requests to one URL over kept HTTP/1.1 connections, each with one request at a time: some for warm-up, then a
// lead-in, then the window that is measured.
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

// Requests, statuses, errors and bytes are those of all requests, so that whoever divides by requests, such as the CPU time
// of a server, leaves none out. The others are those of the window.
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

// How long connections send: the lead-in counts in no rate and no latency. Without a rate, as fast as can be.
type pace struct {
	leadIn, window time.Duration
	perSecond      float64
}

// The time of the n-th request of a connection since the beginning, and whether it is still within the window.
func (p pace) due(n, connection, connections int, now time.Duration) (time.Duration, bool) {
	at := now
	if p.perSecond > 0 {
		// The connections take turns.
		at = time.Duration(float64(n*connections+connection) / p.perSecond * float64(time.Second))
	}
	return at, at < p.leadIn+p.window
}

// What one connection has seen.
type seen struct {
	requests, errors, bytes int64
	statuses                map[int]int64
	// How long each request took that began within the window, whenever its answer came.
	took []time.Duration
	// Answers that came within the window, whenever their request began.
	answered int64
	last     error
}

// Counts a request that was answered: its rate and latency only where they belong to the window.
func (s *seen) count(p pace, from, to time.Duration) {
	if from >= p.leadIn && from < p.leadIn+p.window {
		s.took = append(s.took, to-from)
	}
	if to >= p.leadIn && to < p.leadIn+p.window {
		s.answered++
	}
}

func requests(flags *flag.FlagSet, args []string) (any, error) {
	var to target
	flags.StringVar(&to.url, "url", "", "what to ask for; {connection} in it is the number of the connection, from 0")
	ca := flags.String("ca", "", "file with the certificate authority of the server")
	cert := flags.String("cert", "", "file with a client certificate")
	private := flags.String("key", "", "file with its private key")
	token := flags.String("token-file", "", "file with a bearer token, or with one a line, which connections take in turn")
	connections := flags.Int("connections", 16, "how many connections, each with one request at a time")
	window := flags.Float64("seconds", 3, "the window: how long requests are sent that count, or the longest that watches wait")
	perSecond := flags.Float64("rate", 0, "requests a second over all connections, whatever the answers, which latency counts from; 0 means as fast as can be")
	warmUp := flags.Int("warm-up", 1, "requests of each connection before all others, as fast as can be; no rate and no latency counts them")
	leadIn := flags.Float64("lead-in", 0, "seconds before the window in which requests are sent as in it, and no rate and no latency counts them")
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
	period := duration(*window)
	switch *mode {
	case "request":
		return to.measure(*connections, *warmUp, pace{duration(*leadIn), period, *perSecond})
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

// Every connection sends its warm-up before any begins the lead-in.
func (t *target) measure(connections, warmUp int, pace pace) (any, error) {
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
				t.ask(transport, i, one, buffer)
			}
			warm.Done()
			<-start
			for n := 0; ; n++ {
				from, isWithin := pace.due(n, i, connections, time.Since(begin))
				if !isWithin {
					break
				}
				time.Sleep(from - time.Since(begin))
				if t.ask(transport, i, one, buffer) {
					one.count(pace, from, time.Since(begin))
				}
			}
			all[i] = *one
		})
	}
	warm.Wait()
	begin = time.Now()
	close(start)
	done.Wait()
	return sum(all, pace.window)
}

// Sends one request and reads the whole answer; returns whether there was one.
func (t *target) ask(transport *http.Transport, connection int, one *seen, buffer []byte) bool {
	one.requests++
	request, err := t.request(connection)
	if err != nil {
		one.errors, one.last = one.errors+1, err
		return false
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		one.errors, one.last = one.errors+1, err
		return false
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
			return false
		}
	}
	one.statuses[response.StatusCode]++
	if response.StatusCode >= http.StatusBadRequest {
		one.errors++
	}
	return true
}

// An answer of 400 and above counts among the errors, and among the statuses. It is an error when nothing answered.
func sum(all []seen, window time.Duration) (any, error) {
	figures := requestFigures{Statuses: map[string]int64{}, Seconds: seconds(window)}
	var answered int64
	var times []time.Duration
	var last error
	for _, one := range all {
		figures.Requests += one.requests
		figures.Errors += one.errors
		figures.Bytes += one.bytes
		answered += one.answered
		times = append(times, one.took...)
		for status, count := range one.statuses {
			figures.Statuses[strconv.Itoa(status)] += count
		}
		if one.last != nil {
			last = one.last
		}
	}
	if len(figures.Statuses) == 0 {
		return nil, fmt.Errorf("nothing answered: %w", last)
	}
	times = ordered(times)
	figures.PerSecond = rate(answered, window)
	figures.P50Ms, figures.P99Ms = quantile(times, 0.5), quantile(times, 0.99)
	return figures, nil
}
