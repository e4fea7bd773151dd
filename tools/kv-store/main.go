// A store of secrets for tests, with the HTTP API of OpenBao and HashiCorp's Vault: their KV engine, versions 1 and 2, with
// storage in memory, behind a front of our own that does what the server around the engine does. Paths, codes and bodies are
// the server's; tokens, policies and namespaces are as much of its as clients of the KV engine meet.
//
//	kv-store --listen 127.0.0.1:20080 --control 127.0.0.1:20081 --root-token <token> --mount secret=2 --mount kv1=1 \
//	  [--tls-cert <file> --tls-key <file>]
//
// Without a certificate it serves http. The second address is the test's own, see control.go. Nothing is logged.
package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// settings are the flags.
type settings struct {
	listen, control   string
	rootToken         string
	certFile, keyFile string
	// mounts has the version of the engine, "1" or "2", for each path without slashes at its ends.
	mounts map[string]string
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	given, err := parse(args)
	if err != nil {
		return err
	}
	config, err := tlsConfig(given)
	if err != nil {
		return err
	}
	store, err := newStore(given.mounts, given.rootToken)
	if err != nil {
		return err
	}
	front := newFront(store)
	faults := &faults{}
	seen := &requests{}
	public := &listener{address: given.listen, tls: config, handler: seen.recording(faults.before(store, front))}
	if err := public.open(); err != nil {
		return err
	}
	return http.ListenAndServe(given.control, newControl(store, front, faults, seen, public))
}

func parse(args []string) (settings, error) {
	given := settings{mounts: map[string]string{}}
	set := flag.NewFlagSet("kv-store", flag.ContinueOnError)
	set.StringVar(&given.listen, "listen", "", "the store's address")
	set.StringVar(&given.control, "control", "", "the address for the test")
	set.StringVar(&given.rootToken, "root-token", "", "a token that may do everything")
	set.StringVar(&given.certFile, "tls-cert", "", "its certificate; empty = http")
	set.StringVar(&given.keyFile, "tls-key", "", "the certificate's key")
	set.Func("mount", "path=version of a KV engine; may be repeated", func(text string) error {
		path, version, _ := strings.Cut(text, "=")
		if path == "" || (version != "1" && version != "2") {
			return errors.New("write <path>=1 or <path>=2")
		}
		given.mounts[strings.Trim(path, "/")] = version
		return nil
	})
	if err := set.Parse(args); err != nil {
		return given, err
	}
	if given.listen == "" || given.control == "" || given.rootToken == "" {
		return given, errors.New("--listen, --control and --root-token are needed")
	}
	return given, nil
}

// tlsConfig is nil for http.
func tlsConfig(given settings) (*tls.Config, error) {
	if given.certFile == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(given.certFile, given.keyFile)
	if err != nil {
		return nil, err
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"h2", "http/1.1"}}, nil
}
