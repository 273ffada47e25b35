// Package replay measures how long decisions of package elastic take, on made-up jobs
// that have reported at several sizes.
package replay
