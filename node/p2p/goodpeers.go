package p2p

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
)

// Bounds of the file of good peers.
const (
	// MaxGoodPeers is enough to find back into a network after most have moved.
	MaxGoodPeers     = 64
	maxGoodPeerAddrs = 8
	maxGoodPeersFile = 1 << 20
	goodPeersVersion = 1
)

// goodPeers remembers peers that were reached, the latest first, in a JSON file
// that is replaced as a whole. It is safe for concurrent use.
type goodPeers struct {
	path string

	mu    sync.Mutex
	peers []goodPeer
	dirty bool
}

type goodPeer struct {
	ID       peer.ID   `json:"id"`
	Addrs    []string  `json:"addrs"`
	LastSeen time.Time `json:"last_seen"`
}

type goodPeersFile struct {
	Version int        `json:"version"`
	Peers   []goodPeer `json:"peers"`
}

// loadGoodPeers reads the file; a missing one is empty. It returns a usable value
// in any case.
func loadGoodPeers(path string) (*goodPeers, error) {
	g := &goodPeers{path: path}
	if path == "" {
		return g, nil
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return g, nil
	}
	if err != nil {
		return g, fmt.Errorf("good peers: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	raw, err := io.ReadAll(io.LimitReader(f, maxGoodPeersFile))
	if err != nil {
		return g, fmt.Errorf("good peers: %w", err)
	}
	var file goodPeersFile
	if err := json.Unmarshal(raw, &file); err != nil {
		return g, fmt.Errorf("good peers: %w", err)
	}
	if file.Version != goodPeersVersion {
		return g, fmt.Errorf("good peers: version %d is not known", file.Version)
	}
	for _, p := range file.Peers {
		if p.ID.Validate() == nil && len(g.peers) < MaxGoodPeers {
			p.Addrs = p.Addrs[:min(len(p.Addrs), maxGoodPeerAddrs)]
			g.peers = append(g.peers, p)
		}
	}
	return g, nil
}

// seen notes that a peer was reached.
func (g *goodPeers) seen(id peer.ID, addrs []ma.Multiaddr, at time.Time) {
	if len(addrs) == 0 {
		return
	}
	p := goodPeer{ID: id, LastSeen: at.UTC()}
	for _, a := range addrs[:min(len(addrs), maxGoodPeerAddrs)] {
		p.Addrs = append(p.Addrs, a.String())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.peers = slices.DeleteFunc(g.peers, func(o goodPeer) bool { return o.ID == id })
	g.peers = slices.Insert(g.peers, 0, p)
	g.peers = g.peers[:min(len(g.peers), MaxGoodPeers)]
	g.dirty = true
}

// reset forgets all peers and says how many there were.
func (g *goodPeers) reset() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := len(g.peers)
	g.peers, g.dirty = nil, true
	return n
}

// infos returns the peers with those addresses that can be read.
func (g *goodPeers) infos() []peer.AddrInfo {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := make([]peer.AddrInfo, 0, len(g.peers))
	for _, p := range g.peers {
		info := peer.AddrInfo{ID: p.ID}
		for _, s := range p.Addrs {
			if a, err := ma.NewMultiaddr(s); err == nil {
				info.Addrs = append(info.Addrs, a)
			}
		}
		if len(info.Addrs) > 0 {
			out = append(out, info)
		}
	}
	return out
}

// save writes the file if there is news. The old file stays until the new one is
// complete.
func (g *goodPeers) save() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.path == "" || !g.dirty {
		return nil
	}
	raw, err := json.MarshalIndent(goodPeersFile{Version: goodPeersVersion, Peers: g.peers}, "", "  ")
	if err != nil {
		return fmt.Errorf("good peers: %w", err)
	}
	if err := replaceFile(g.path, raw); err != nil {
		return fmt.Errorf("good peers: %w", err)
	}
	g.dirty = false
	return nil
}

func replaceFile(path string, raw []byte) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if _, err = f.Write(raw); err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
