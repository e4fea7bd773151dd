package main

import (
	"context"
	"errors"
	"log"
	"net"
	"slices"
	"time"
)

const (
	// The kernel removes the address when nobody renews it: it outlives this program by no more than that.
	lentFor    = 2 * time.Minute
	renewEvery = 30 * time.Second
)

// where the server is reached.
type where struct {
	ip net.IP
	// Why the API server refuses proxy requests; empty when it does not.
	noProxy string
}

// reachable gives the loopback interface one of some addresses that nobody has, for as long as the context lasts: the
// API server proxies to global unicast addresses only. Where that is not allowed, it takes an address of this machine,
// and else 127.0.0.1, which is good for all but proxy requests.
func reachable(ctx context.Context, nobodys []net.IP) where {
	fault := errors.New("each is in a network of this machine")
	for _, ip := range nobodys {
		// It may be the very address of this machine's router.
		if isInNetwork(ip) {
			continue
		}
		if fault = lend(ip, lentFor); fault == nil {
			go renew(ctx, ip)
			return where{ip: ip}
		}
	}
	if own := ownAddress(nobodys); own != nil {
		return where{ip: own}
	}
	reason := "the loopback interface takes no address (" + fault.Error() + "), and this machine has none but loopback"
	return where{ip: net.IPv4(127, 0, 0, 1).To4(), noProxy: reason}
}

func renew(ctx context.Context, ip net.IP) {
	ticker := time.NewTicker(renewEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := lend(ip, lentFor); err != nil {
				log.Printf("address %s: %v", ip, err)
			}
		}
	}
}

// networks are those of this machine's interfaces.
func networks() []*net.IPNet {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var found []*net.IPNet
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok {
			found = append(found, network)
		}
	}
	return found
}

// isInNetwork says whether somebody else may have an address. Lent to the loopback interface, it is no network.
func isInNetwork(ip net.IP) bool {
	return slices.ContainsFunc(networks(), func(network *net.IPNet) bool {
		ones, _ := network.Mask.Size()
		return network.Contains(ip) && ones < 32
	})
}

func ownAddress(nobodys []net.IP) net.IP {
	for _, network := range networks() {
		ip := network.IP.To4()
		isLent := slices.ContainsFunc(nobodys, ip.Equal)
		if ip != nil && ip.IsGlobalUnicast() && !isLent {
			return ip
		}
	}
	return nil
}
