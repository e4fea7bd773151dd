// Delegate is a proxy in front of the API server that asks the API server about each caller, as kube-rbac-proxy does: a
// TokenReview says who it is, a SubjectAccessReview what they may do, both from k8s.io/apiserver with the times that its
// own options give their caches. What is allowed goes on over HTTP/2 with the credentials of the proxy, or, with
// --impersonate, as the caller. Answers are passed on as they come, so watches work.
//
//	delegate --kubeconfig FILE --listen 127.0.0.1:PORT --cert FILE --key FILE [--impersonate]
//
// The account needs what ClusterRole system:auth-delegator has, and what callers ask for, or impersonate. It prints
// `ready` once it listens.
package main

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/authentication/authenticatorfactory"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	"k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
)

// The defaults of NewDelegatingAuthenticationOptions and NewDelegatingAuthorizationOptions in k8s.io/apiserver, whose
// package would bring the storage of an API server along.
const (
	cacheTTL      = 10 * time.Second
	reviewTimeout = 10 * time.Second
)

var backoff = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

const (
	stopWithin = 500 * time.Millisecond
	copyBytes  = 32 << 10
)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "file with the access to the API server")
	listen := flag.String("listen", "127.0.0.1:0", "address to serve at")
	cert := flag.String("cert", "", "file with the certificate to serve with")
	private := flag.String("key", "", "file with its private key")
	impersonates := flag.Bool("impersonate", false, "let the API server act as the caller")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	handler, err := handlerOf(*kubeconfig, *impersonates)
	if err != nil {
		log.Fatal(err)
	}
	if err := serve(ctx, handler, *listen, *cert, *private); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, handler http.Handler, listen, cert, private string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: 32 * time.Second,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.ServeTLS(listener, cert, private) }()
	fmt.Println("ready")
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// Watches don't end by themselves.
	ending, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	if server.Shutdown(ending) != nil {
		return server.Close()
	}
	return nil
}

func handlerOf(kubeconfig string, impersonates bool) (http.Handler, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	authenticator, _, err := authenticatorfactory.DelegatingAuthenticatorConfig{
		TokenAccessReviewClient:  client.AuthenticationV1(),
		TokenAccessReviewTimeout: reviewTimeout,
		WebhookRetryBackoff:      &backoff,
		CacheTTL:                 cacheTTL,
	}.New()
	if err != nil {
		return nil, err
	}
	authorizer, err := authorizerfactory.DelegatingAuthorizerConfig{
		SubjectAccessReviewClient: client.AuthorizationV1(),
		AllowCacheTTL:             cacheTTL,
		DenyCacheTTL:              cacheTTL,
		WebhookRetryBackoff:       &backoff,
	}.New()
	if err != nil {
		return nil, err
	}
	proxy, err := proxyTo(config, impersonates)
	if err != nil {
		return nil, err
	}
	codecs := scheme.Codecs.WithoutConversion()
	handler := filters.WithAuthorization(proxy, authorizer, codecs)
	handler = filters.WithAuthentication(handler, authenticator, filters.Unauthorized(codecs), nil, nil)
	return filters.WithRequestInfo(handler, &request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}), nil
}

func proxyTo(config *rest.Config, impersonates bool) (http.Handler, error) {
	upstream := rest.CopyConfig(config)
	// What a caller does not want compressed would be compressed on the way to here.
	upstream.DisableCompression = true
	roundTripper, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, err
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(server)
			for name := range r.Out.Header {
				if strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name)
				}
			}
			if impersonates {
				impersonate(r.Out)
			}
		},
		Transport:     roundTripper,
		FlushInterval: -1,
		BufferPool:    &buffers{sync.Pool{New: func() any { return make([]byte, copyBytes) }}},
	}, nil
}

func impersonate(out *http.Request) {
	caller, found := request.UserFrom(out.Context())
	if !found {
		return
	}
	out.Header.Set(transport.ImpersonateUserHeader, caller.GetName())
	for _, group := range caller.GetGroups() {
		out.Header.Add(transport.ImpersonateGroupHeader, group)
	}
	for name, values := range caller.GetExtra() {
		for _, value := range values {
			out.Header.Add(transport.ImpersonateUserExtraHeaderPrefix+url.PathEscape(name), value)
		}
	}
}

type buffers struct {
	pool sync.Pool
}

// Get takes a buffer out.
func (b *buffers) Get() []byte { return b.pool.Get().([]byte) }

// Put gives it back.
func (b *buffers) Put(buffer []byte) { b.pool.Put(buffer) }
