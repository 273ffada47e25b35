package membership

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/libp2p/go-libp2p/core/peer"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// Formats of the files that organisations and hosts hand to each other.
const (
	grantFormat    = "karasu-delegation/1"
	requestFormat  = "karasu-request/1"
	rotationFormat = "karasu-rotation/1"
)

// maxFile bounds these files in bytes.
const maxFile = 16 << 10

// ErrFile is wrapped by complaints about a file of a request, delegation or rotation.
var ErrFile = errors.New("not a file of this kind")

// Grant is a delegation with the record that makes it known to others, so that they
// tell the host from a stranger.
type Grant struct {
	Delegation *commons.Delegation
	Record     *commons.Record
}

// Request is what a host asks an organisation for.
type Request struct {
	Host peer.ID
	// Writer is whose records the host wants to continue; empty may be a wish, too.
	Writer string
}

// file is the form on disk of all of them.
type file struct {
	Format       string  `json:"format"`
	Organisation string  `json:"organisation,omitempty"`
	Host         string  `json:"host,omitempty"`
	Writer       *string `json:"writer,omitempty"`
	Until        string  `json:"until,omitempty"`
	Delegation   []byte  `json:"delegation,omitempty"`
	Record       []byte  `json:"record,omitempty"`
}

// Encode returns the grant as a file.
func (g *Grant) Encode() ([]byte, error) {
	return encode(file{
		Format: grantFormat, Organisation: g.Delegation.Organisation.String(), Host: g.Delegation.Host.String(),
		Writer: &g.Delegation.Writer, Until: g.Delegation.NotAfter.Format("2006-01-02"),
		Delegation: g.Delegation.Envelope, Record: g.Record.Envelope,
	})
}

// Encode returns the request as a file.
func (r Request) Encode() ([]byte, error) {
	return encode(file{Format: requestFormat, Host: r.Host.String(), Writer: &r.Writer})
}

// EncodeRotation returns a record that ends earlier epochs as a file.
func EncodeRotation(r *commons.Record) ([]byte, error) {
	return encode(file{Format: rotationFormat, Organisation: r.Author.String(), Record: r.Envelope})
}

func encode(f file) ([]byte, error) {
	b, err := json.MarshalIndent(f, "", "  ")
	return append(b, '\n'), err
}

// ReadGrant reads and checks a delegation; the clock and rotations it does not ask. The
// error wraps [ErrFile], [os.ErrNotExist] or what the commons say.
func ReadGrant(path string) (*Grant, error) {
	f, err := readFile(path)
	if err != nil {
		return nil, err
	}
	g, err := f.grant()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return g, nil
}

// ReadRequest reads a host's request.
func ReadRequest(path string) (Request, error) {
	f, err := readFile(path)
	if err != nil {
		return Request{}, err
	}
	r, err := f.request()
	if err != nil {
		return Request{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// ReadRecord reads the record that a delegation or a rotation makes known.
func ReadRecord(path string) (*commons.Record, error) {
	f, err := readFile(path)
	if err != nil {
		return nil, err
	}
	r, err := f.record()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func readFile(path string) (*file, error) {
	in, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // read only
	b, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	if err != nil {
		return nil, err
	}
	f, err := parseFile(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

func parseFile(b []byte) (*file, error) {
	if len(b) > maxFile {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrFile, maxFile)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	return &f, nil
}

func (f *file) want(format string) error {
	if f.Format != format {
		return fmt.Errorf("%w: its format is %q, want %q", ErrFile, f.Format, format)
	}
	return nil
}

func (f *file) grant() (*Grant, error) {
	if err := f.want(grantFormat); err != nil {
		return nil, err
	}
	d, err := commons.OpenDelegation(f.Delegation)
	if err != nil {
		return nil, err
	}
	r, err := f.record()
	if err != nil {
		return nil, err
	}
	told, err := commons.DecodeHost(r)
	if err != nil {
		return nil, err
	}
	if string(told.Envelope) != string(d.Envelope) {
		return nil, fmt.Errorf("%w: its record makes another delegation known", ErrFile)
	}
	return &Grant{d, r}, nil
}

func (f *file) request() (Request, error) {
	if err := f.want(requestFormat); err != nil {
		return Request{}, err
	}
	id, err := peer.Decode(f.Host)
	if err != nil {
		return Request{}, fmt.Errorf("%w: host: %w", ErrFile, err)
	}
	if f.Writer == nil || !commons.ValidWriter(*f.Writer) {
		return Request{}, fmt.Errorf("%w: writer must be at most %d of a-z, 0-9 and '-'", ErrFile, commons.MaxWriter)
	}
	return Request{id, *f.Writer}, nil
}

// record checks the record of a delegation or a rotation.
func (f *file) record() (*commons.Record, error) {
	if f.Format != grantFormat && f.Format != rotationFormat {
		return nil, fmt.Errorf("%w: its format is %q, want %q or %q", ErrFile, f.Format, grantFormat, rotationFormat)
	}
	r, err := commons.Open(f.Record)
	if err != nil {
		return nil, err
	}
	return r, CheckAnnounced(r)
}

// CheckAnnounced says whether a record is one that an organisation's key signed about
// itself, which any daemon may publish for it.
func CheckAnnounced(r *commons.Record) error {
	if r.Kind != karasuv1.RecordKind_RECORD_KIND_DELEGATION || r.Delegation != nil || r.Topic != commons.ControlTopic() {
		return fmt.Errorf("%w: its record is not about an organisation's keys", ErrFile)
	}
	return commons.ValidateBody(r)
}
