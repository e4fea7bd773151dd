package main

import (
	"encoding/binary"
	"fmt"
	"net"
	"syscall"
	"time"
)

// lend adds an IPv4 address to the loopback interface, or renews it, by netlink: not every machine has a program
// `ip`. It needs CAP_NET_ADMIN.
func lend(ip net.IP, lifetime time.Duration) error {
	loopback, err := net.InterfaceByName("lo")
	if err != nil {
		return err
	}
	socket, err := syscall.Socket(
		syscall.AF_NETLINK, syscall.SOCK_RAW|syscall.SOCK_CLOEXEC, syscall.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer syscall.Close(socket)
	kernel := &syscall.SockaddrNetlink{Family: syscall.AF_NETLINK}
	if err := syscall.Sendto(socket, addressMessage(loopback.Index, ip, lifetime), 0, kernel); err != nil {
		return err
	}
	return acknowledgement(socket)
}

func addressMessage(link int, ip net.IP, lifetime time.Duration) []byte {
	const (
		create       = syscall.NLM_F_REQUEST | syscall.NLM_F_ACK | syscall.NLM_F_CREATE | syscall.NLM_F_REPLACE
		ifaCacheinfo = 6
	)
	order := binary.NativeEndian
	seconds := uint32(lifetime / time.Second)
	var lifetimes []byte
	// Preferred, valid, and two times that only the kernel writes.
	for _, value := range []uint32{seconds, seconds, 0, 0} {
		lifetimes = order.AppendUint32(lifetimes, value)
	}
	body := []byte{syscall.AF_INET, 32, 0, syscall.RT_SCOPE_HOST}
	body = order.AppendUint32(body, uint32(link))
	body = appendAttribute(body, syscall.IFA_LOCAL, ip)
	body = appendAttribute(body, syscall.IFA_ADDRESS, ip)
	body = appendAttribute(body, ifaCacheinfo, lifetimes)
	header := order.AppendUint32(nil, uint32(syscall.SizeofNlMsghdr+len(body)))
	header = order.AppendUint16(header, syscall.RTM_NEWADDR)
	header = order.AppendUint16(header, create)
	header = order.AppendUint32(header, 1)
	header = order.AppendUint32(header, 0)
	return append(header, body...)
}

// appendAttribute adds one whose value is a multiple of four bytes, so that nothing has to be padded.
func appendAttribute(to []byte, kind uint16, value []byte) []byte {
	to = binary.NativeEndian.AppendUint16(to, uint16(syscall.SizeofRtAttr+len(value)))
	to = binary.NativeEndian.AppendUint16(to, kind)
	return append(to, value...)
}

func acknowledgement(socket int) error {
	answer := make([]byte, 4096)
	size, _, err := syscall.Recvfrom(socket, answer, 0)
	if err != nil {
		return err
	}
	messages, err := syscall.ParseNetlinkMessage(answer[:size])
	if err != nil {
		return err
	}
	for _, message := range messages {
		if message.Header.Type == syscall.NLMSG_ERROR && len(message.Data) >= 4 {
			if code := int32(binary.NativeEndian.Uint32(message.Data)); code != 0 {
				return syscall.Errno(-code)
			}
			return nil
		}
	}
	return fmt.Errorf("the kernel acknowledges nothing")
}
