// A program that reads and writes a store of secrets as programs in Go do: OpenBao's client, with nothing of this product. It
// takes steps, and prints each as a line of JSON, [step, result]; a refusal is [code, messages].
//
//	CA_FILE=ca.pem TOKEN=... NAMESPACE=... kv-store-peer <address> <step>...
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/openbao/openbao/api/v2"
)

const path = "shop/database"

type step func(context.Context, *api.Client) (any, error)

var steps = map[string]step{
	"create": func(ctx context.Context, c *api.Client) (any, error) {
		return versionOf(c.KVv2("secret").Put(ctx, path, map[string]any{"user": "ada", "port": 5432}, api.WithCheckAndSet(0)))
	},
	"replace": func(ctx context.Context, c *api.Client) (any, error) {
		return versionOf(c.KVv2("secret").Put(ctx, path, map[string]any{"user": "grace"}, api.WithCheckAndSet(1)))
	},
	"read": func(ctx context.Context, c *api.Client) (any, error) {
		found, err := c.KVv2("secret").Get(ctx, path)
		if err != nil {
			return nil, err
		}
		return map[string]any{"data": found.Data, "version": found.VersionMetadata.Version, "custom": found.CustomMetadata}, nil
	},
	"name": func(ctx context.Context, c *api.Client) (any, error) {
		custom := map[string]any{"owner": "the peer"}
		return nil, c.KVv2("secret").PutMetadata(ctx, path, api.KVMetadataPutInput{CustomMetadata: custom})
	},
	"metadata": func(ctx context.Context, c *api.Client) (any, error) {
		found, err := c.KVv2("secret").GetMetadata(ctx, path)
		if err != nil {
			return nil, err
		}
		versions := map[string]string{}
		for number, one := range found.Versions {
			versions[number] = stateOf(one)
		}
		return map[string]any{"current": found.CurrentVersion, "versions": versions, "custom": found.CustomMetadata}, nil
	},
	"delete": func(ctx context.Context, c *api.Client) (any, error) {
		return nil, c.KVv2("secret").Delete(ctx, path)
	},
	"undelete": func(ctx context.Context, c *api.Client) (any, error) {
		return nil, c.KVv2("secret").Undelete(ctx, path, []int{2})
	},
	"destroy": func(ctx context.Context, c *api.Client) (any, error) {
		return nil, c.KVv2("secret").Destroy(ctx, path, []int{2})
	},
	"forget": func(ctx context.Context, c *api.Client) (any, error) {
		return nil, c.KVv2("secret").DeleteMetadata(ctx, path)
	},
	"write 1": func(ctx context.Context, c *api.Client) (any, error) {
		return nil, c.KVv1("kv1").Put(ctx, path, map[string]any{"user": "ada"})
	},
	"read 1": func(ctx context.Context, c *api.Client) (any, error) {
		found, err := c.KVv1("kv1").Get(ctx, path)
		if err != nil {
			return nil, err
		}
		return found.Data, nil
	},
	"lookup": func(ctx context.Context, c *api.Client) (any, error) {
		return lifeOf(c.Auth().Token().LookupSelfWithContext(ctx))
	},
	"renew": func(ctx context.Context, c *api.Client) (any, error) {
		return lifeOf(c.Auth().Token().RenewSelfWithContext(ctx, 0))
	},
	"revoke": func(ctx context.Context, c *api.Client) (any, error) {
		return nil, c.Auth().Token().RevokeSelfWithContext(ctx, "")
	},
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: kv-store-peer <address> <step>...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(address string, names []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	client, err := clientOf(address)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(os.Stdout)
	for _, name := range names {
		take := steps[name]
		if take == nil {
			return fmt.Errorf("there is no step %q", name)
		}
		result, err := take(ctx, client)
		if err != nil {
			result = refusal(err)
		}
		if err := lines.Encode([]any{name, result}); err != nil {
			return err
		}
	}
	return nil
}

// clientOf trusts the authorities of CA_FILE alone, and asks once.
func clientOf(address string) (*api.Client, error) {
	config := api.DefaultConfig()
	config.Address = address
	config.MaxRetries = 0
	if err := config.ConfigureTLS(&api.TLSConfig{CACert: os.Getenv("CA_FILE")}); err != nil {
		return nil, err
	}
	client, err := api.NewClient(config)
	if err != nil {
		return nil, err
	}
	client.SetToken(os.Getenv("TOKEN"))
	if namespace := os.Getenv("NAMESPACE"); namespace != "" {
		client.SetNamespace(namespace)
	}
	return client, nil
}

// refusal is what the client knows of one.
func refusal(err error) any {
	var answered *api.ResponseError
	if errors.As(err, &answered) {
		return []any{answered.StatusCode, answered.Errors}
	}
	if errors.Is(err, api.ErrSecretNotFound) {
		return "not found"
	}
	return err.Error()
}

func versionOf(written *api.KVSecret, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return written.VersionMetadata.Version, nil
}

func stateOf(version api.KVVersionMetadata) string {
	switch {
	case version.Destroyed:
		return "destroyed"
	case !version.DeletionTime.IsZero():
		return "deleted"
	}
	return "there"
}

// lifeOf is what the client makes of the two answers about a token, which have different shapes.
func lifeOf(answer *api.Secret, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	ttl, err := answer.TokenTTL()
	if err != nil {
		return nil, err
	}
	renewable, err := answer.TokenIsRenewable()
	if err != nil {
		return nil, err
	}
	policies, err := answer.TokenPolicies()
	return map[string]any{"seconds": ttl.Round(time.Second).Seconds(), "renewable": renewable, "policies": policies}, err
}
