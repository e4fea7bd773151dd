package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"sync"
)

// journal is a file that grows until it ends. Readers follow it, each at its own pace: none of them holds up who
// writes.
type journal struct {
	file *os.File
	lock sync.Mutex
	size int64
	// Closed, and replaced, when there is more to read or nothing will follow.
	more  chan struct{}
	ended bool
}

func newJournal(path string) (*journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	return &journal{file: file, more: make(chan struct{})}, nil
}

func (j *journal) Write(chunk []byte) (int, error) {
	j.lock.Lock()
	defer j.lock.Unlock()
	n, err := j.file.WriteAt(chunk, j.size)
	j.size += int64(n)
	j.wake()
	return n, err
}

// end says that nothing more will be written.
func (j *journal) end() {
	j.lock.Lock()
	defer j.lock.Unlock()
	j.ended = true
	j.wake()
}

func (j *journal) wake() {
	close(j.more)
	j.more = make(chan struct{})
}

func (j *journal) state() (size int64, ended bool, more <-chan struct{}) {
	j.lock.Lock()
	defer j.lock.Unlock()
	return j.size, j.ended, j.more
}

// copyTo writes what stands after an offset. With follow it goes on until the journal or the context ends.
func (j *journal) copyTo(ctx context.Context, to io.Writer, from int64, follow bool) error {
	for {
		size, ended, more := j.state()
		if size > from {
			n, err := io.Copy(to, io.NewSectionReader(j.file, from, size-from))
			from += n
			if err != nil {
				return err
			}
			continue
		}
		if ended || !follow {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-more:
		}
	}
}

// lastLines is the offset at which the last lines begin.
func (j *journal) lastLines(lines int64) (int64, error) {
	size, _, _ := j.state()
	if lines == 0 {
		return size, nil
	}
	chunk := make([]byte, 64*1024)
	// The line feed at the end ends the last line: it begins none.
	for end := max(size-1, 0); end > 0; {
		begin := max(end-int64(len(chunk)), 0)
		part := chunk[:end-begin]
		if _, err := j.file.ReadAt(part, begin); err != nil {
			return 0, err
		}
		for at := bytes.LastIndexByte(part, '\n'); at >= 0; at = bytes.LastIndexByte(part[:at], '\n') {
			if lines--; lines == 0 {
				return begin + int64(at) + 1, nil
			}
		}
		end = begin
	}
	return 0, nil
}
