package rest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAddresses(t *testing.T) {
	for _, address := range []string{"", "flink:8081", "ftp://x", "http://", "http://user:secret@x:y", "http://x?y=1"} {
		if _, err := New(address, "x", Options{}); !errors.Is(err, ErrAddress) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestGet(t *testing.T) {
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	done := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/ok":
			_, _ = w.Write([]byte(`{"x":` + r.Header.Get("X") + `}`))
		case "/moved":
			http.Redirect(w, r, "/ok", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		case "/html":
			_, _ = w.Write([]byte("<html>\n\n"))
		case "/endless":
			for spaces := []byte(strings.Repeat(" ", 1<<20)); ; {
				if _, err := w.Write(spaces); err != nil {
					return
				}
			}
		case "/slow":
			select {
			case <-done:
			case <-r.Context().Done():
			}
		default:
			http.Error(w, "why", http.StatusTeapot)
		}
	}))
	t.Cleanup(s.Close)
	t.Cleanup(func() { close(done) })
	c, err := New(strings.Replace(s.URL, "http://", "http://ann:secret@", 1), "x", Options{Header: http.Header{"X": {"7"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"ok", "moved"} {
		var v struct{ X int }
		if err := c.Get(t.Context(), path, nil, &v); err != nil || v.X != 7 {
			t.Error(path, v, err)
		}
	}
	for path, want := range map[string]string{"away": "answers 302", "html": "JSON of another form", "endless": "more than 32 MiB", "x": "answers 418 I'm a teapot"} {
		var answer *AnswerError
		err := c.Get(t.Context(), path, nil, &struct{}{})
		if !errors.As(err, &answer) || !strings.Contains(err.Error(), want) || strings.ContainsAny(err.Error(), "\n") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", path, err)
		}
		if path == "x" && string(answer.Body) != "why\n" {
			t.Errorf("%q", answer.Body)
		}
	}
	c.options.Timeout = 50 * time.Millisecond
	if err := c.Get(t.Context(), "slow", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	s.CloseClientConnections()
	s.Close()
	if err := c.Get(t.Context(), "ok", nil, nil); err == nil || !strings.Contains(err.Error(), "does not answer") || strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
}
