package node_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/node/p2p"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

// FuzzAPI sends any request to any method of a daemon with one job's runs: each is answered, none with an
// internal error, and the daemon still tells its status.
func FuzzAPI(f *testing.F) {
	client := serveAPI(f)
	methods := karasuv1.File_karasu_v1_api_proto.Services().Get(0).Methods()
	call := func(t *testing.T, method protoreflect.MethodDescriptor, contentType string, body []byte) (int, string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		url := "http://karasu/" + string(method.Parent().FullName()) + "/" + string(method.Name())
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", contentType)
		response, err := client.Do(request)
		if err != nil {
			t.Fatalf("%s of %q: %v", method.Name(), body, err)
		}
		defer func() { _ = response.Body.Close() }()
		answer, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatalf("%s of %q: %v", method.Name(), body, err)
		}
		return response.StatusCode, string(answer)
	}
	for i := range methods.Len() {
		for _, body := range []string{`{}`, `{"job":"weekly"}`, `{"job":"weekly","limit":-1}`, `{"runs":[{}]}`, `[`} {
			f.Add(uint8(i), true, []byte(body))
		}
		filled := dynamicpb.NewMessage(methods.Get(i).Input())
		fill(filled, 4)
		raw, err := proto.Marshal(filled)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), false, raw)
		spelt, err := protojson.Marshal(filled)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), true, spelt)
	}
	f.Fuzz(func(t *testing.T, index uint8, asJSON bool, body []byte) {
		method := methods.Get(int(index) % methods.Len())
		if method.IsStreamingServer() {
			t.Skip("streams have frames of their own")
		}
		contentType := "application/proto"
		if asJSON {
			contentType = "application/json"
		}
		if code, answer := call(t, method, contentType, body); code >= http.StatusInternalServerError && !strings.Contains(answer, `"unavailable"`) {
			t.Errorf("%s of %q: %d %s", method.Name(), body, code, answer)
		}
		if code, answer := call(t, methods.ByName("Status"), "application/json", []byte(`{}`)); code != http.StatusOK {
			t.Fatalf("status after %s of %q: %d %s", method.Name(), body, code, answer)
		}
	})
}

// fill sets every field of a message to something, down to a depth.
func fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case field.IsMap():
		case field.IsList():
			list := m.Mutable(field).List()
			if field.Kind() != protoreflect.MessageKind {
				list.Append(scalar(field))
			} else if depth > 0 {
				fill(list.AppendMutable().Message(), depth-1)
			}
		case field.Kind() == protoreflect.MessageKind:
			if depth > 0 {
				fill(m.Mutable(field).Message(), depth-1)
			}
		default:
			m.Set(field, scalar(field))
		}
	}
}

func scalar(field protoreflect.FieldDescriptor) protoreflect.Value {
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("weekly")
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte{1})
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(1)
	case protoreflect.FloatKind:
		return protoreflect.ValueOfFloat32(1)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(1)
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(1)
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(1)
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(1)
	default:
		return protoreflect.ValueOfInt32(1)
	}
}

// serveAPI starts a daemon with runs of one job and returns a client of its socket.
func serveAPI(f *testing.F) *http.Client {
	f.Helper()
	dir, err := os.MkdirTemp("", "k-") // paths of sockets are short
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = os.RemoveAll(dir) })
	home := node.Home{ConfigDir: dir, DataDir: dir, RuntimeDir: dir}
	if err := home.Init("acme", node.InitOptions{}); err != nil {
		f.Fatal(err)
	}
	loopback := p2p.Loopback()
	app, err := node.New(f.Context(), home, node.DefaultConfig("acme"), node.Options{Network: &loopback})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = app.Stop(context.Background()) })
	if err := app.Start(f.Context()); err != nil {
		f.Fatal(err)
	}
	if _, _, err := app.ImportRuns(f.Context(), pagerankRuns()); err != nil {
		f.Fatal(err)
	}
	sockets, err := filepath.Glob(filepath.Join(dir, "*.sock"))
	if err != nil || len(sockets) != 1 {
		f.Fatalf("sockets %v, error %v", sockets, err)
	}
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", sockets[0])
	}}
	f.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}
