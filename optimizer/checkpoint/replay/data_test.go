package replay

import (
	"io"
	"os"
	"testing"

	"github.com/karasu-project/karasu/model/modeltest"
)

func read(t testing.TB, name string, reader func(io.Reader) ([]Job, error)) []Job {
	t.Helper()
	f, err := os.Open(modeltest.Data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	jobs, err := reader(f)
	if err != nil {
		t.Fatal(err)
	}
	return jobs
}
