package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// command says what to run and where.
type command struct {
	argv   []string
	folder string
	env    []string
	tty    bool
}

// process is a command that runs, in a session and so in a process group of its own.
type process struct {
	cmd   *exec.Cmd
	guard *guard
	// Its standard input; with a terminal, the terminal.
	stdin io.WriteCloser
	// The terminal; nil without one.
	terminal *os.File
	// What it says is being copied.
	copying sync.WaitGroup
	lock    sync.Mutex
	ended   bool
}

// start runs a command. What it says goes to out and err, nil for nowhere; with a terminal all goes to out.
func start(c command, guard *guard, out, err io.Writer) (*process, error) {
	if len(c.argv) == 0 {
		return nil, errors.New("no command")
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.folder, c.env
	p := &process{cmd: cmd, guard: guard}
	begin := p.startOnPipes
	if c.tty {
		begin = p.startOnTerminal
	}
	if fault := begin(out, err); fault != nil {
		return nil, fault
	}
	guard.hold(cmd.Process.Pid)
	return p, nil
}

func (p *process) startOnTerminal(out, _ io.Writer) error {
	terminal, err := pty.Start(p.cmd)
	if err != nil {
		return err
	}
	p.terminal, p.stdin = terminal, terminal
	if out == nil {
		out = io.Discard
	}
	p.copy(out, terminal)
	return nil
}

func (p *process) startOnPipes(out, err io.Writer) error {
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, fault := p.cmd.StdinPipe()
	if fault != nil {
		return fault
	}
	p.stdin = stdin
	var ends []*os.File
	defer func() {
		for _, end := range ends {
			_ = end.Close()
		}
	}()
	var starts []func()
	for _, stream := range []struct {
		to  io.Writer
		end *io.Writer
	}{{out, &p.cmd.Stdout}, {err, &p.cmd.Stderr}} {
		if stream.to == nil {
			continue
		}
		from, end, fault := os.Pipe()
		if fault != nil {
			return fault
		}
		ends = append(ends, end)
		*stream.end = end
		starts = append(starts, func() { p.copy(stream.to, from) })
	}
	if fault := p.cmd.Start(); fault != nil {
		return fault
	}
	for _, start := range starts {
		start()
	}
	return nil
}

// copy reads to the end, even when nobody takes what it reads: a process must not wait for a client that is gone.
func (p *process) copy(to io.Writer, from *os.File) {
	p.copying.Go(func() {
		// A terminal that no process has open any more ends with an error on Linux.
		_, _ = io.Copy(to, from)
		_, _ = io.Copy(io.Discard, from)
		if from != p.terminal {
			_ = from.Close()
		}
	})
}

// resize sets the size of the terminal as often as one comes.
func (p *process) resize(sizes <-chan remotecommand.TerminalSize) {
	for size := range sizes {
		if p.terminal != nil {
			_ = pty.Setsize(p.terminal, &pty.Winsize{Rows: size.Height, Cols: size.Width})
		}
	}
}

// signal reaches the whole process group; it does nothing once the process has ended.
func (p *process) signal(signal syscall.Signal) {
	p.lock.Lock()
	defer p.lock.Unlock()
	if !p.ended {
		_ = syscall.Kill(-p.cmd.Process.Pid, signal)
	}
}

// end asks the process group to end. An interactive shell obeys a hang-up only.
func (p *process) end() {
	p.signal(syscall.SIGTERM)
	p.signal(syscall.SIGHUP)
	if p.terminal == nil {
		_ = p.stdin.Close()
	}
}

// wait returns the exit code, as a shell counts it, when the process has ended. It kills what is left of the group,
// and waits until what they said has been copied: for no longer than drain, unless that is 0.
func (p *process) wait(drain time.Duration) int {
	_ = p.cmd.Wait()
	group := p.cmd.Process.Pid
	p.lock.Lock()
	p.ended = true
	_ = syscall.Kill(-group, syscall.SIGKILL)
	p.lock.Unlock()
	p.guard.release(group)
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		p.copying.Wait()
		if p.terminal != nil {
			_ = p.terminal.Close()
		}
	}()
	var late <-chan time.Time
	if drain > 0 {
		late = time.After(drain)
	}
	select {
	case <-copied:
	case <-late:
	}
	return codeOf(p.cmd.ProcessState)
}

func codeOf(state *os.ProcessState) int {
	if state == nil {
		return 255
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}

// execute runs a command to its end, and kills it when the context ends first.
func execute(
	ctx context.Context, c command, guard *guard,
	in io.Reader, out, err io.Writer, sizes <-chan remotecommand.TerminalSize,
) error {
	p, fault := start(c, guard, out, err)
	if fault != nil {
		return fault
	}
	defer context.AfterFunc(ctx, func() { p.signal(syscall.SIGKILL) })()
	go p.resize(sizes)
	go func() {
		if in != nil {
			_, _ = io.Copy(p.stdin, in)
		}
		if p.terminal == nil {
			_ = p.stdin.Close()
		}
	}()
	if code := p.wait(0); code != 0 {
		return utilexec.CodeExitError{Err: fmt.Errorf("exit code %d", code), Code: code}
	}
	return nil
}
