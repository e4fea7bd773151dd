//go:build !linux

package main

import (
	"errors"
	"net"
	"time"
)

func lend(net.IP, time.Duration) error {
	return errors.New("only Linux gives addresses a lifetime")
}
