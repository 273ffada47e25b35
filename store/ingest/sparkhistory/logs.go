package sparkhistory

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/store/ingest"
	"github.com/karasu-project/karasu/store/ingest/spark"
)

// maxFiles bounds the files of one log: rolled ones of 10 MB.
const maxFiles = 100_000

// Read reads the log of an attempt. Progress is called with the bytes that came; nil is
// none. What is no event log is an [*ingest.Problem]; the error wraps [ErrGone] where
// the server has none.
//
// The zip is kept in a temporary file while it is read: its directory stands at its end,
// and a log may be larger than memory.
func (c *Client) Read(ctx context.Context, a Attempt, progress func(int)) (*model.Execution, error) {
	f, size, err := c.download(ctx, a, progress)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = f.Close()           // it was only read
		_ = os.Remove(f.Name()) // the system removes what is left in its temporary folder
	}()
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, &ingest.Problem{File: a.Label(), Text: fmt.Sprintf("comes as no zip: %v", err)}
	}
	if len(z.File) > maxFiles {
		return nil, &ingest.Problem{File: a.Label(), Text: fmt.Sprintf("has more than %d files", maxFiles)}
	}
	return read(ctx, z, a.Label())
}

// read takes the one log of an archive: a file, or a folder of a rolled log.
func read(ctx context.Context, archive fs.FS, label string) (*model.Execution, error) {
	for l, err := range spark.Find(ctx, archive, ".", label) {
		var p *ingest.Problem
		if errors.As(err, &p) {
			return nil, p
		}
		if err != nil {
			return nil, &ingest.Problem{File: label, Text: fmt.Sprintf("comes as a zip that cannot be read: %v", err)}
		}
		e, err := l.Read(ctx, spark.Options{})
		if errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) || errors.Is(err, zip.ErrAlgorithm) {
			return nil, &ingest.Problem{File: label, Text: fmt.Sprintf("comes as a damaged zip: %v", err)}
		}
		return e, err
	}
	return nil, &ingest.Problem{File: label, Text: "comes as an empty zip"}
}

func (c *Client) download(ctx context.Context, a Attempt, progress func(int)) (_ *os.File, size int64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	path := "/applications/" + url.PathEscape(a.ApplicationID)
	if a.ID != "" {
		path += "/" + url.PathEscape(a.ID)
	}
	watchdog := time.AfterFunc(idleTimeout, func() { cancel(fmt.Errorf("nothing came for %s", idleTimeout)) })
	defer watchdog.Stop()
	res, err := c.get(ctx, path+"/logs")
	if err != nil {
		return nil, 0, cause(ctx, err)
	}
	defer res.Body.Close() //nolint:errcheck // only read
	file, err := os.CreateTemp("", "karasu-history-*.zip")
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name()) // the error says more
		}
	}()
	body := &limited{r: res.Body, left: maxArchive}
	buf := make([]byte, 256<<10)
	for {
		n, rerr := body.Read(buf)
		watchdog.Reset(idleTimeout)
		if n > 0 {
			if _, err := file.Write(buf[:n]); err != nil {
				return nil, 0, err
			}
			size += int64(n)
			if progress != nil {
				progress(n)
			}
		}
		if errors.Is(rerr, io.EOF) {
			return file, size, nil
		}
		if rerr != nil {
			return nil, 0, fmt.Errorf("%s: the log broke off after %d bytes: %w", c.base, size, cause(ctx, rerr))
		}
	}
}

// cause is why a context was cancelled, where that is why something failed.
func cause(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil && !errors.Is(c, context.Canceled) {
		return c
	}
	return err
}
