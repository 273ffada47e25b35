package main

import (
	"iter"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/wire"
)

const (
	// importBatch is the number of runs in one request.
	importBatch = 2000
	// importBytes bounds a request: the daemon stores one in a transaction of 2 MiB,
	// with names of jobs and topics in keys beside the run.
	importBytes = 1 << 20
)

// importRequests splits runs into requests that the daemon takes.
func importRequests(runs []model.Run) iter.Seq[*karasuv1.ImportRunsRequest] {
	return func(yield func(*karasuv1.ImportRunsRequest) bool) {
		req, size := &karasuv1.ImportRunsRequest{}, 0
		for _, r := range runs {
			m := wire.FromRun(r)
			n := proto.Size(m)
			if len(req.Runs) == importBatch || len(req.Runs) > 0 && size+n > importBytes {
				if !yield(req) {
					return
				}
				req, size = &karasuv1.ImportRunsRequest{}, 0
			}
			req.Runs, size = append(req.Runs, m), size+n
		}
		if len(req.Runs) > 0 {
			yield(req)
		}
	}
}
