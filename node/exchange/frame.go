package exchange

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

const (
	// maxControlFrame bounds a frame that carries no records, and a records frame
	// that carries more than one, in bytes.
	maxControlFrame = 64 << 10
	// maxRecordFrame bounds a frame with one record: the field tags and lengths of
	// two messages around an envelope need less than 32 bytes.
	maxRecordFrame = commons.MaxEnvelope + 32
	// minRate is what a session has to move on average after its grace, in bytes a
	// second; a peer that feeds byte by byte is cut off.
	minRate = 32 << 10
	// graceFrames is the grace in frame timeouts: room for the work of the other side
	// in its turns.
	graceFrames = 2
	// maxSession bounds a session whatever it moves: 32 MiB at 55 KiB/s.
	maxSession = 10 * time.Minute
)

// framer reads and writes the frames of one session within its time.
type framer struct {
	stream  Stream
	in      *bufio.Reader
	out     *bufio.Writer
	timeout time.Duration
	started time.Time
	moved   int64 // payload bytes, both directions
	buf     []byte
}

func newFramer(s Stream, timeout time.Duration) *framer {
	return &framer{
		stream: s, in: bufio.NewReader(s), out: bufio.NewWriterSize(s, maxControlFrame),
		timeout: timeout, started: time.Now(),
	}
}

// deadline returns when the operation that begins now must have ended.
func (f *framer) deadline() time.Time {
	earned := graceFrames*f.timeout + time.Duration(float64(f.moved)/minRate*float64(time.Second))
	return earliest(
		time.Now().Add(f.timeout),
		f.started.Add(earned),
		f.started.Add(maxSession),
	)
}

func earliest(first time.Time, rest ...time.Time) time.Time {
	for _, t := range rest {
		if t.Before(first) {
			first = t
		}
	}
	return first
}

// read returns the next frame. What was written is flushed first, as the other
// side may be waiting for it.
func (f *framer) read() (*karasuv1.SyncFrame, error) {
	if err := f.flush(); err != nil {
		return nil, err
	}
	if err := f.stream.SetReadDeadline(f.deadline()); err != nil {
		return nil, fmt.Errorf("sync read: %w", err)
	}
	frame, n, err := decodeFrame(f.in)
	f.moved += int64(n)
	return frame, err
}

// decodeFrame reads one frame. It never allocates more than the largest frame
// before the bytes are there. Errors wrap [ErrProtocol] or [ErrTooSlow], or are the
// stream's.
func decodeFrame(in protodelim.Reader) (*karasuv1.SyncFrame, int, error) {
	frame := new(karasuv1.SyncFrame)
	err := protodelim.UnmarshalOptions{MaxSize: maxRecordFrame}.UnmarshalFrom(in, frame)
	var tooLarge *protodelim.SizeTooLargeError
	switch {
	case err == nil:
	case isTimeout(err):
		return nil, 0, fmt.Errorf("%w: %w", ErrTooSlow, err)
	case errors.As(err, &tooLarge):
		return nil, 0, fmt.Errorf("%w: frame of %d bytes, at most %d", ErrProtocol, tooLarge.Size, maxRecordFrame)
	case errors.Is(err, proto.Error):
		return nil, 0, fmt.Errorf("%w: %w", ErrProtocol, err)
	default:
		return nil, 0, fmt.Errorf("sync read: %w", err)
	}
	n := proto.Size(frame)
	records := frame.GetRecords()
	if n > maxControlFrame && len(records.GetEnvelopes()) != 1 {
		return nil, n, fmt.Errorf("%w: control frame of %d bytes, at most %d", ErrProtocol, n, maxControlFrame)
	}
	return frame, n, nil
}

// write queues a frame.
func (f *framer) write(frame *karasuv1.SyncFrame) error {
	body, err := proto.MarshalOptions{}.MarshalAppend(f.buf[:0], frame)
	if err != nil {
		return fmt.Errorf("sync write: %w", err)
	}
	f.buf = body
	if err := f.stream.SetWriteDeadline(f.deadline()); err != nil {
		return fmt.Errorf("sync write: %w", err)
	}
	f.moved += int64(len(body))
	if _, err := f.out.Write(protowire.AppendVarint(nil, uint64(len(body)))); err != nil {
		return writeError(err)
	}
	if _, err := f.out.Write(body); err != nil {
		return writeError(err)
	}
	return nil
}

// flush sends what is queued.
func (f *framer) flush() error {
	if f.out.Buffered() == 0 {
		return nil
	}
	if err := f.stream.SetWriteDeadline(f.deadline()); err != nil {
		return fmt.Errorf("sync write: %w", err)
	}
	if err := f.out.Flush(); err != nil {
		return writeError(err)
	}
	return nil
}

func writeError(err error) error {
	if isTimeout(err) {
		return fmt.Errorf("%w: %w", ErrTooSlow, err)
	}
	return fmt.Errorf("sync write: %w", err)
}

// isTimeout knows the timeouts of all transports: some have errors of their own.
func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

// end ends a turn.
func (f *framer) end(more bool) error {
	if err := f.write(&karasuv1.SyncFrame{Frame: &karasuv1.SyncFrame_End{End: &karasuv1.SyncEnd{More: more}}}); err != nil {
		return err
	}
	return f.flush()
}

// turn reads frames until the other side's turn ends and returns whether it has
// more. Frame handles each; frames that a turn may not hold are its error.
func (f *framer) turn(handle func(*karasuv1.SyncFrame) error) (more bool, err error) {
	for {
		frame, err := f.read()
		if errors.Is(err, io.EOF) {
			return false, fmt.Errorf("sync stream ended early: %w", io.ErrUnexpectedEOF)
		}
		if err != nil {
			return false, err
		}
		switch v := frame.GetFrame().(type) {
		case *karasuv1.SyncFrame_End:
			return v.End.GetMore(), nil
		case *karasuv1.SyncFrame_Refusal:
			return false, fmt.Errorf("%w: %s", ErrRefused, model.Clip(v.Refusal.GetReason()))
		}
		if err := handle(frame); err != nil {
			return false, err
		}
	}
}

// unexpected is the error for a frame that has no place in a turn.
func unexpected(frame *karasuv1.SyncFrame) error {
	return fmt.Errorf("%w: unexpected frame %T", ErrProtocol, frame.GetFrame())
}
