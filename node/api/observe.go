package api

import (
	"context"
	"path"
	"time"

	"connectrpc.com/connect"
)

// Observer is told of every answered request: its procedure's name, such as
// "Recommend", "ok" or the name of its error's code, and how long it took. It must be
// safe for concurrent use.
type Observer func(procedure, code string, took time.Duration)

// observe tells an observer of requests with one answer.
func observe(tell Observer) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			start := time.Now()
			res, err := next(ctx, req)
			code := "ok"
			if err != nil {
				code = connect.CodeOf(err).String()
			}
			tell(path.Base(req.Spec().Procedure), code, time.Since(start))
			return res, err
		}
	}
}
