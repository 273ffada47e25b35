// Package replay measures package throughput on public measurements of
// parameter-server training: from a few worker counts, how far off are predictions of
// the others?
package replay
