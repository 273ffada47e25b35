package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Of the network between namespaces.
const (
	lossyDelay = 100 * time.Millisecond // one way
	lossyLoss  = .02                    // of packets
	lossyQueue = 4096                   // packets on their way to one host; more are dropped
	lossyMTU   = 1500
)

// lossyNetwork joins network namespaces, one a host, by a switch in this process that
// delays and loses packets and can be cut in two. It is made of TUN devices, as not
// every kernel has the netem queue, and knows IPv4 only: host i is 10.77.0.i.
type lossyNetwork struct {
	t     *testing.T
	hosts []*lossyHost
	cut   atomic.Int64 // hosts up to this one do not reach those above it; 0 is no cut
	// sent and lost count packets.
	sent, lost atomic.Int64
	work       sync.WaitGroup
}

type lossyHost struct {
	holder *exec.Cmd // keeps the namespace
	tun    *os.File
	queue  chan lossyPacket
}

type lossyPacket struct {
	due  time.Time
	data []byte
}

// newLossyNetwork makes the namespaces, and skips the test where that is not permitted.
func newLossyNetwork(t *testing.T, hosts int) *lossyNetwork {
	t.Helper()
	n := &lossyNetwork{t: t}
	t.Cleanup(n.close)
	for i := range hosts {
		h, err := n.addHost(i + 1)
		if err != nil {
			t.Skipf("network namespaces with TUN devices are not available here, they take root: %v", err)
		}
		n.hosts = append(n.hosts, h)
	}
	for _, h := range n.hosts {
		n.work.Go(func() { n.read(h) })
		n.work.Go(func() { n.deliver(h) })
	}
	return n
}

func (n *lossyNetwork) addHost(number int) (h *lossyHost, err error) {
	h = &lossyHost{queue: make(chan lossyPacket, lossyQueue)}
	h.holder = exec.Command("sleep", "600")
	h.holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := h.holder.Start(); err != nil {
		return nil, err
	}
	name := fmt.Sprintf("k%d-%d", os.Getpid()%100000, number)
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if h.tun, err = openTUN(name); err != nil {
		return nil, err
	}
	if err := command("ip", "link", "set", name, "netns", fmt.Sprint(h.holder.Process.Pid)); err != nil {
		return nil, err
	}
	for _, line := range []string{
		"ip link set lo up",
		fmt.Sprintf("ip link set %s mtu %d", name, lossyMTU),
		fmt.Sprintf("ip addr add 10.77.0.%d/24 dev %s", number, name),
		fmt.Sprintf("ip link set %s up", name),
	} {
		args := strings.Fields(line)
		if err := command("nsenter", h.inside(args)...); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// inside are the arguments of nsenter that run a command on the host.
func (h *lossyHost) inside(args []string) []string {
	return append([]string{"-t", fmt.Sprint(h.holder.Process.Pid), "-n", "--"}, args...)
}

func command(name string, args ...string) error {
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return nil
}

// openTUN makes a device that carries bare IP packets.
func openTUN(name string) (*os.File, error) {
	fd, err := syscall.Open("/dev/net/tun", syscall.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("/dev/net/tun: %w", err)
	}
	var request struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:syscall.IFNAMSIZ-1], name)
	request.flags = syscall.IFF_TUN | syscall.IFF_NO_PI
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TUNSETIFF, uintptr(unsafe.Pointer(&request)))
	if errno != 0 {
		return nil, errors.Join(fmt.Errorf("TUN device: %w", errno), syscall.Close(fd))
	}
	// Only now, as the poller refuses a file without a device.
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), "tun "+name), nil
}

// read takes a host's packets and queues them for others.
func (n *lossyNetwork) read(h *lossyHost) {
	buf := make([]byte, lossyMTU)
	for {
		size, err := h.tun.Read(buf)
		if err != nil {
			return
		}
		from, to, ok := lossyAddresses(buf[:size])
		if !ok || to < 1 || to > len(n.hosts) {
			continue
		}
		n.sent.Add(1)
		cut := int(n.cut.Load())
		if cut > 0 && (from <= cut) != (to <= cut) || rand.Float64() < lossyLoss {
			n.lost.Add(1)
			continue
		}
		select {
		case n.hosts[to-1].queue <- lossyPacket{time.Now().Add(lossyDelay), append([]byte(nil), buf[:size]...)}:
		default:
			n.lost.Add(1)
		}
	}
}

// lossyAddresses returns the numbers of the hosts of an IPv4 packet.
func lossyAddresses(p []byte) (from, to int, ok bool) {
	if len(p) < 20 || p[0]>>4 != 4 || string(p[12:15]) != "\x0a\x4d\x00" || string(p[16:19]) != "\x0a\x4d\x00" {
		return 0, 0, false
	}
	return int(p[15]), int(p[19]), true
}

// deliver hands a host its packets when they are due, in order.
func (n *lossyNetwork) deliver(h *lossyHost) {
	for p := range h.queue {
		time.Sleep(time.Until(p.due))
		if _, err := h.tun.Write(p.data); err != nil && errors.Is(err, os.ErrClosed) {
			return
		}
	}
}

func (h *lossyHost) close() {
	if h.tun != nil {
		_ = h.tun.Close()
	}
	_ = h.holder.Process.Kill()
	_ = h.holder.Wait()
}

func (n *lossyNetwork) close() {
	for _, h := range n.hosts {
		h.close()
	}
	for _, h := range n.hosts {
		select {
		case h.queue <- lossyPacket{}: // wakes a delivery, which finds its device closed
		default: // there is something in it that does
		}
	}
	n.work.Wait()
}
