package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
)

// How long what a container's process left behind may still write.
const drainFor = time.Second

// container is one of a pod. Each of its runs is a process.
type container struct {
	spec    corev1.Container
	command command
	guard   *guard
	// Called when a run ends.
	changed func()

	lock     sync.Mutex
	run      *containerRun
	last     *corev1.ContainerStateTerminated
	restarts int32
	// Why the last start failed; nil when it did not.
	fault error
}

// containerRun is one process of a container, and what it writes.
type containerRun struct {
	id      string
	process *process
	// Both streams in the order in which they came, and each by itself.
	all, out, err *journal
	startedAt     metav1.Time
	// Ends with the process.
	life context.Context
	// Nil while it runs.
	terminated *corev1.ContainerStateTerminated
}

func newContainer(pod *corev1.Pod, spec corev1.Container, folder string, guard *guard, changed func()) *container {
	c := command{argv: argvOf(spec), folder: folder, tty: spec.TTY}
	c.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + folder, "HOSTNAME=" + pod.Name}
	if spec.TTY {
		c.env = append(c.env, "TERM=xterm")
	}
	for _, variable := range spec.Env {
		c.env = append(c.env, variable.Name+"="+variable.Value)
	}
	return &container{spec: spec, command: c, guard: guard, changed: changed}
}

// There is no image to say what to run: a shell where somebody may talk to it, else nothing that ends.
func argvOf(spec corev1.Container) []string {
	argv := append(append([]string{}, spec.Command...), spec.Args...)
	switch {
	case len(argv) > 0:
		return argv
	case spec.Stdin:
		return []string{"sh"}
	default:
		return []string{"sleep", "2147483647"}
	}
}

// start begins another run.
func (c *container) start() {
	run, err := c.begin()
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.run != nil {
		c.last = c.run.terminated
		c.restarts++
	}
	c.run, c.fault = run, err
}

func (c *container) begin() (*containerRun, error) {
	if err := os.MkdirAll(c.command.folder, 0o700); err != nil {
		return nil, err
	}
	run := &containerRun{id: newID(), startedAt: metav1.Now()}
	for name, journal := range map[string]**journal{"all": &run.all, "out": &run.out, "err": &run.err} {
		made, err := newJournal(filepath.Join(filepath.Dir(c.command.folder), run.id+"."+name))
		if err != nil {
			return nil, err
		}
		*journal = made
	}
	process, err := start(c.command, c.guard, io.MultiWriter(run.all, run.out), io.MultiWriter(run.all, run.err))
	if err != nil {
		return nil, err
	}
	if !c.spec.Stdin && !c.spec.TTY {
		_ = process.stdin.Close()
	}
	run.process = process
	life, end := context.WithCancel(context.Background())
	run.life = life
	go c.await(run, end)
	return run, nil
}

func (c *container) await(run *containerRun, end context.CancelFunc) {
	code := run.process.wait(drainFor)
	terminated := &corev1.ContainerStateTerminated{
		ExitCode: int32(code), Reason: "Completed", ContainerID: containerID(run.id),
		StartedAt: run.startedAt, FinishedAt: metav1.Now(),
	}
	if code != 0 {
		terminated.Reason = "Error"
	}
	c.lock.Lock()
	run.terminated = terminated
	c.lock.Unlock()
	for _, journal := range []*journal{run.all, run.out, run.err} {
		journal.end()
	}
	end()
	c.changed()
}

// latest is the last run and how it ended, nil while it runs; no run before the first one.
func (c *container) latest() (*containerRun, *corev1.ContainerStateTerminated) {
	c.lock.Lock()
	defer c.lock.Unlock()
	if c.run == nil {
		return nil, nil
	}
	return c.run, c.run.terminated
}

// running is the run of now.
func (c *container) running() (*containerRun, error) {
	run, terminated := c.latest()
	if run == nil || terminated != nil {
		return nil, fmt.Errorf("container %q is not running", c.spec.Name)
	}
	return run, nil
}

// stop ends the process, by force after the grace.
func (c *container) stop(grace time.Duration) {
	run, err := c.running()
	if err != nil {
		return
	}
	if grace > 0 {
		run.process.end()
		select {
		case <-run.life.Done():
			return
		case <-time.After(grace):
		}
	}
	run.process.signal(syscall.SIGKILL)
	<-run.life.Done()
}

// attach copies between streams and the running process, until the process or the context ends.
func (c *container) attach(
	ctx context.Context, in io.Reader, out, err io.Writer, sizes <-chan remotecommand.TerminalSize,
) error {
	run, fault := c.running()
	if fault != nil {
		return fault
	}
	var copies sync.WaitGroup
	for to, from := range map[io.Writer]*journal{out: run.out, err: run.err} {
		if to == nil {
			continue
		}
		// What comes from now on, answers to what is read below among it.
		at, _, _ := from.state()
		copies.Go(func() { _ = from.copyTo(ctx, to, at, true) })
	}
	go run.process.resize(sizes)
	if in != nil && c.spec.Stdin {
		go func() {
			_, _ = io.Copy(run.process.stdin, in)
			if c.spec.StdinOnce && run.process.terminal == nil {
				_ = run.process.stdin.Close()
			}
		}()
	}
	copies.Wait()
	if out == nil && err == nil {
		select {
		case <-ctx.Done():
		case <-run.life.Done():
		}
	}
	return nil
}

// logs writes what the last run has written.
func (c *container) logs(ctx context.Context, to io.Writer, options *corev1.PodLogOptions) error {
	run, _ := c.latest()
	if run == nil {
		return fmt.Errorf("container %q is waiting to start", c.spec.Name)
	}
	at := int64(0)
	if options.TailLines != nil {
		var err error
		if at, err = run.all.lastLines(*options.TailLines); err != nil {
			return err
		}
	}
	if options.LimitBytes != nil {
		to = &limitedWriter{to, *options.LimitBytes}
	}
	err := run.all.copyTo(ctx, to, at, options.Follow)
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

var errLimit = errors.New("as much as was asked for")

// limitedWriter writes so many bytes, and then fails.
type limitedWriter struct {
	to   io.Writer
	left int64
}

func (l *limitedWriter) Write(chunk []byte) (int, error) {
	part := chunk[:min(int64(len(chunk)), l.left)]
	n, err := l.to.Write(part)
	l.left -= int64(n)
	if err == nil && n < len(chunk) {
		err = errLimit
	}
	return n, err
}

func newID() string {
	bytes := make([]byte, 16)
	_, _ = rand.Read(bytes)
	return hex.EncodeToString(bytes)
}

func containerID(id string) string {
	return "stand-in://" + id
}
