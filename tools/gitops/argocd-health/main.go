// argocd-health runs a health script as Argo CD does: gopher-lua with the libraries package, base and
// table, the object as the global obj, one second at most.
//
// Standard input: {"script": <Lua>, "objects": [...]}. Standard output: [{"status", "message"}, ...].
// It exits 1 where Argo CD would show no health: a script that fails, or answers no known status.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"
	kubejson "k8s.io/apimachinery/pkg/util/json"
)

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// What Argo CD accepts; anything else it shows as Unknown.
var statuses = []string{"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"}

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "argocd-health:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	var input struct {
		Script  string           `json:"script"`
		Objects []map[string]any `json:"objects"`
	}
	// As client-go decodes objects: whole numbers are int64.
	if err := kubejson.Unmarshal(text, &input); err != nil {
		return err
	}
	answers := []health{}
	for _, object := range input.Objects {
		answer, err := healthOf(input.Script, object)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	return json.NewEncoder(out).Encode(answers)
}

func healthOf(script string, object map[string]any) (health, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	if err := openLibraries(state); err != nil {
		return health{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(ctx)
	state.SetGlobal("obj", valueOf(state, object))
	if err := state.DoString(script); err != nil {
		return health{}, err
	}
	table, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return health{}, errors.New("the script returns no table")
	}
	status, isText := table.RawGetString("status").(lua.LString)
	if !isText || !slices.Contains(statuses, string(status)) {
		return health{}, fmt.Errorf("the script returns status %q", status)
	}
	message := table.RawGetString("message")
	if message == lua.LNil {
		return health{Status: string(status)}, nil
	}
	words, isText := message.(lua.LString)
	if !isText {
		return health{}, fmt.Errorf("the script returns a message of type %s", message.Type())
	}
	return health{Status: string(status), Message: string(words)}, nil
}

func openLibraries(state *lua.LState) error {
	libraries := []struct {
		name string
		open lua.LGFunction
	}{
		{lua.LoadLibName, lua.OpenPackage},
		{lua.BaseLibName, lua.OpenBase},
		{lua.TabLibName, lua.OpenTable},
	}
	for _, library := range libraries {
		call := lua.P{Fn: state.NewFunction(library.open), Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return err
		}
	}
	return nil
}

func valueOf(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		list := state.NewTable()
		for _, item := range value {
			list.Append(valueOf(state, item))
		}
		return list
	case map[string]any:
		fields := state.NewTable()
		for name, field := range value {
			fields.RawSetString(name, valueOf(state, field))
		}
		return fields
	default:
		return lua.LNil
	}
}
