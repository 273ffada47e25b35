// Package naming says which workload an execution belongs to, by rules of the
// organisation's own: patterns on the names that the execution carries, and templates
// for the names of the workload. The first rule that matches counts.
//
// It also says why an execution is no run, and suggests rules for those that none
// matches.
package naming
