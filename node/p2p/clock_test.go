package p2p

import (
	"errors"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

func TestClocks(t *testing.T) {
	a, b := start(t, newKey(t), nil), start(t, newKey(t), nil)
	if err := a.Connect(t.Context(), b.Addrs()[0].String()); err != nil {
		t.Fatal(err)
	}
	clocks := a.Diagnose(t.Context()).Clocks
	if len(clocks) != 1 || clocks[0].Peer != b.ID() || clocks[0].Ahead.Abs() > 5*time.Second {
		t.Errorf("clocks of one machine: %+v", clocks)
	}
	// One that is wrong by a day, and peers that answer nonsense.
	b.host.SetStreamHandler(clockProtocol, func(s network.Stream) {
		_, _ = s.Write(encodeClock(time.Now().Add(24 * time.Hour)))
		_ = s.Close()
	})
	clocks = a.Diagnose(t.Context()).Clocks
	if len(clocks) != 1 || (clocks[0].Ahead-24*time.Hour).Abs() > 5*time.Second {
		t.Errorf("a clock that is a day ahead: %+v", clocks)
	}
	for name, answer := range map[string][]byte{"nothing": nil, "too little": {1, 2}, "no time": {255, 255, 255, 255, 255, 255, 255, 255}} {
		b.host.SetStreamHandler(clockProtocol, func(s network.Stream) {
			_, _ = s.Write(answer)
			_ = s.Close()
		})
		if clocks := a.Diagnose(t.Context()).Clocks; len(clocks) != 0 {
			t.Errorf("%s: %+v", name, clocks)
		}
	}
}

func FuzzDecodeClock(f *testing.F) {
	for _, b := range [][]byte{nil, {1}, encodeClock(time.Unix(1_700_000_000, 0)), {255, 255, 255, 255, 255, 255, 255, 255}, make([]byte, 9)} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := decodeClock(b)
		switch {
		case err != nil && !errors.Is(err, errClock):
			t.Error(err)
		case err == nil && string(encodeClock(got)) != string(b):
			t.Errorf("%x is %s", b, got)
		}
	})
}
