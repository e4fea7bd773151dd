package main

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// As tools/tether.ts does: a shell of its own session reads lines from us, and does its work where the lines end
// without a last word. A killed process may write for another moment: the folder is checked once more.
const guardScript = `
groups=
while read -r line; do
  [ "$line" = done ] && exit
  groups=$line
done
for group in $groups; do kill -9 "-$group"; done
for attempt in 1 2 3 4 5; do
  rm -rf "$1" && sleep 0.2 && [ ! -e "$1" ] && exit
done`

// guard ends the process groups that it holds, and removes a folder, when this program is killed.
type guard struct {
	lock   sync.Mutex
	lines  io.WriteCloser
	groups map[int]struct{}
}

func newGuard(folder string) (*guard, error) {
	shell := exec.Command("sh", "-c", guardScript, "guard", folder)
	shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	lines, err := shell.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := shell.Start(); err != nil {
		return nil, fmt.Errorf("guard of the processes: %w", err)
	}
	go func() { _ = shell.Wait() }()
	return &guard{lines: lines, groups: map[int]struct{}{}}, nil
}

func (g *guard) hold(group int) {
	g.change(func() { g.groups[group] = struct{}{} })
}

func (g *guard) release(group int) {
	g.change(func() { delete(g.groups, group) })
}

func (g *guard) change(change func()) {
	g.lock.Lock()
	defer g.lock.Unlock()
	change()
	all := make([]string, 0, len(g.groups))
	for group := range g.groups {
		all = append(all, fmt.Sprint(group))
	}
	_, _ = fmt.Fprintln(g.lines, strings.Join(all, " "))
}

// close lets the shell end without further work, unless there are groups left to end.
func (g *guard) close() {
	g.lock.Lock()
	defer g.lock.Unlock()
	if len(g.groups) == 0 {
		_, _ = fmt.Fprintln(g.lines, "done")
	}
	_ = g.lines.Close()
}
