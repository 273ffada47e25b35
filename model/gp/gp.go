// Package gp is an exact Gaussian process on log runtimes.
package gp
