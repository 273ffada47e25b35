// Package replay repeats the documented figures of the checkpoint optimizer on public
// stage graphs: how near to the optimum each method is, and how much lost work cuts
// save. It reads from readers that the caller opens, and times only with the caller's
// clock.
package replay
