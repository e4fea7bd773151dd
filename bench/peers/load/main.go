// Load drives the benchmarks: it creates access keys or tokens and sees when each is Ready, deletes them, and sends
// HTTP requests to one URL. It is bare HTTP on client-go's TLS: nothing throttles, and it takes little CPU from what is
// measured. Every command prints one line of JSON, and ends with 1 and a sentence on stderr where something fails.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

const usage = `usage: load COMMAND [FLAGS]; load COMMAND --help lists them

keys    creates keys or tokens, and waits until each is Ready
floor   creates keys and does the operator's writes itself: without any operator
status  writes the status of keys that there are, as an operator does when keys end
delete  deletes all of one prefix, and waits until they are gone
patch   patches one ConfigMap again and again
http    sends requests to a URL, or opens watches of it

keys, floor, status and delete need the kubeconfig of an administrator: a policy of the product lets others name only
themselves in a key, and only its operator and administrators take its finalizer off.
`

var commands = map[string]func(flags *flag.FlagSet, args []string) (any, error){
	"keys":   func(flags *flag.FlagSet, args []string) (any, error) { return keys(flags, args, false) },
	"floor":  func(flags *flag.FlagSet, args []string) (any, error) { return keys(flags, args, true) },
	"status": statuses,
	"delete": remove,
	"patch":  patch,
	"http":   requests,
}

func main() {
	// What it collects less often it does not take from what is measured.
	debug.SetGCPercent(400)
	name := ""
	if len(os.Args) > 1 {
		name = os.Args[1]
	}
	command, found := commands[name]
	if !found {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	figures, err := command(flag.NewFlagSet("load "+name, flag.ExitOnError), os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(figures)
}

// A figure with three decimals, as JSON prints all that a float has.
type figure float64

func (f figure) MarshalJSON() ([]byte, error) {
	return json.Marshal(math.Round(float64(f)*1000) / 1000)
}

func milliseconds(d time.Duration) figure { return figure(d.Seconds() * 1000) }

func seconds(d time.Duration) figure { return figure(d.Seconds()) }

// A flag's seconds.
func duration(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func rate(count int64, in time.Duration) figure { return figure(float64(count) / in.Seconds()) }

// The smallest value that is not below this share of all; the values must be sorted.
func quantile(sorted []time.Duration, share float64) figure {
	if len(sorted) == 0 {
		return 0
	}
	at := int(math.Ceil(float64(len(sorted))*share)) - 1
	return milliseconds(sorted[max(at, 0)])
}

func ordered(values []time.Duration) []time.Duration {
	slices.Sort(values)
	return values
}
