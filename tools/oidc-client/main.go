// An app that signs a person in by OpenID Connect, as most programs in Go do: go-oidc and golang.org/x/oauth2, with nothing of
// this product. It finds the provider, prints the address for the browser, reads the address that the browser was sent back to,
// exchanges the code, verifies the ID token, asks userinfo, refreshes, and prints what it learned as JSON.
//
//	CA_FILE=ca.pem oidc-client <issuer> <client id> <client secret> <redirect URI> <scope>...
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	state = "the-state-of-the-app"
	nonce = "the-nonce-of-the-app"
)

// learned is what the app knows in the end.
type learned struct {
	Claims    map[string]any `json:"claims"`
	Userinfo  map[string]any `json:"userinfo"`
	Refreshed map[string]any `json:"refreshed"`
}

func main() {
	if len(os.Args) < 6 {
		fmt.Fprintln(os.Stderr, "usage: oidc-client <issuer> <client id> <client secret> <redirect URI> <scope>...")
		os.Exit(2)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := httpClient()
	if err != nil {
		return err
	}
	ctx = oidc.ClientContext(ctx, client)
	provider, err := oidc.NewProvider(ctx, args[0])
	if err != nil {
		return fmt.Errorf("discovery: %w", err)
	}
	config := &oauth2.Config{
		ClientID:     args[1],
		ClientSecret: args[2],
		RedirectURL:  args[3],
		Scopes:       args[4:],
		Endpoint:     provider.Endpoint(),
	}
	verifier := oauth2.GenerateVerifier()
	fmt.Println(config.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)))
	code, err := readCode()
	if err != nil {
		return err
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return fmt.Errorf("exchange of the code: %w", err)
	}
	claims, err := verified(ctx, provider, config, token, nonce)
	if err != nil {
		return err
	}
	userinfo, err := userinfoOf(ctx, provider, config.TokenSource(ctx, token))
	if err != nil {
		return err
	}
	// A token without an access token is refreshed at once.
	renewed, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	if err != nil {
		return fmt.Errorf("refresh: %w", err)
	}
	refreshed, err := verified(ctx, provider, config, renewed, "")
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(learned{claims, userinfo, refreshed})
}

// httpClient trusts the authorities of CA_FILE alone.
func httpClient() (*http.Client, error) {
	pem, err := os.ReadFile(os.Getenv("CA_FILE"))
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("CA_FILE has no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}, nil
}

// readCode reads the address that the browser was sent back to.
func readCode() (string, error) {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		return "", err
	}
	back, err := url.Parse(line[:len(line)-1])
	if err != nil {
		return "", err
	}
	query := back.Query()
	if query.Get("state") != state {
		return "", errors.New("the state is another one")
	}
	if query.Get("error") != "" {
		return "", fmt.Errorf("the provider says %s", query.Get("error"))
	}
	return query.Get("code"), nil
}

// verified returns the claims of the ID token that came with a token.
func verified(ctx context.Context, provider *oidc.Provider, config *oauth2.Config, token *oauth2.Token, nonce string) (map[string]any, error) {
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return nil, errors.New("no ID token came")
	}
	idToken, err := provider.VerifierContext(ctx, &oidc.Config{ClientID: config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return nil, fmt.Errorf("ID token: %w", err)
	}
	if idToken.Nonce != nonce && nonce != "" {
		return nil, errors.New("the nonce is another one")
	}
	if err := idToken.VerifyAccessToken(token.AccessToken); err != nil {
		return nil, fmt.Errorf("at_hash: %w", err)
	}
	claims := map[string]any{}
	return claims, idToken.Claims(&claims)
}

func userinfoOf(ctx context.Context, provider *oidc.Provider, tokens oauth2.TokenSource) (map[string]any, error) {
	info, err := provider.UserInfo(ctx, tokens)
	if err != nil {
		return nil, fmt.Errorf("userinfo: %w", err)
	}
	claims := map[string]any{}
	return claims, info.Claims(&claims)
}
