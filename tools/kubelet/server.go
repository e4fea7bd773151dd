package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
)

// server is the HTTPS server of the node.
type server struct {
	*http.Server
	port int
}

// serve begins to answer on a free port of an address, in the paths of a kubelet.
func serve(o options, ip net.IP, pods *pods) (server, error) {
	config, err := tlsConfig(o)
	if err != nil {
		return server{}, err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		return server{}, err
	}
	routes := http.NewServeMux()
	routes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	routes.HandleFunc("GET /pods", pods.serveList)
	for _, pattern := range []string{"/exec/{namespace}/{pod}/{container}", "/exec/{namespace}/{pod}/{uid}/{container}"} {
		routes.HandleFunc(pattern, pods.serveExec)
	}
	for _, pattern := range []string{
		"/attach/{namespace}/{pod}/{container}", "/attach/{namespace}/{pod}/{uid}/{container}",
	} {
		routes.HandleFunc(pattern, pods.serveAttach)
	}
	for _, pattern := range []string{"/portForward/{namespace}/{pod}", "/portForward/{namespace}/{pod}/{uid}"} {
		routes.HandleFunc(pattern, pods.servePortForward)
	}
	routes.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", pods.serveLogs)
	https := &http.Server{Handler: onlyFor(o.clientName, routes), TLSConfig: config}
	go func() {
		if err := https.ServeTLS(listener, "", ""); err != http.ErrServerClosed {
			log.Fatalf("server: %v", err)
		}
	}()
	return server{https, listener.Addr().(*net.TCPAddr).Port}, nil
}

func tlsConfig(o options) (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(o.certFile, o.keyFile)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(o.clientCAFile)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no certificate", o.clientCAFile)
	}
	return &tls.Config{
		Certificates: []tls.Certificate{own},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    authorities,
	}, nil
}

// onlyFor lets one client in: the authority signs the certificates of users as well.
func onlyFor(name string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user := r.TLS.PeerCertificates[0].Subject.CommonName; name == "" || user != name {
			http.Error(w, fmt.Sprintf("Forbidden (user=%s)", user), http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// watched tells when the connection under a request that was upgraded is gone: net/http does so only before.
func watched(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request, context.CancelFunc) {
	ctx, gone := context.WithCancel(r.Context())
	return watchedWriter{w, gone}, r.WithContext(ctx), gone
}

type watchedWriter struct {
	http.ResponseWriter
	gone context.CancelFunc
}

// Hijack is what an upgrade calls. Whoever takes the connection over reads it to its end, by the buffered reader.
func (w watchedWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	connection, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	reader := bufio.NewReader(watchedReader{buffered.Reader, w.gone})
	return connection, bufio.NewReadWriter(reader, buffered.Writer), nil
}

func (w watchedWriter) Flush() {
	_ = http.NewResponseController(w.ResponseWriter).Flush()
}

type watchedReader struct {
	from io.Reader
	gone context.CancelFunc
}

func (r watchedReader) Read(into []byte) (int, error) {
	n, err := r.from.Read(into)
	if err != nil {
		r.gone()
	}
	return n, err
}
