package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints the version.
func (c versionCmd) Run(a *app) error {
	if c.JSON {
		return writeJSON(a.stdout, map[string]string{"version": version(), "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH})
	}
	_, err := fmt.Fprintf(a.stdout, "karasu %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// version is what the build recorded: a release's tag or the commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}
	return versionOf(info)
}

// devel is the version of a build that does not say where it is from.
const devel = "(devel)"

// versionOf is the module's version, or, where the build has none, the commit.
func versionOf(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != devel {
		return v
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	revision := set["vcs.revision"]
	if revision == "" {
		return devel
	}
	v := "devel-" + revision[:min(12, len(revision))]
	if set["vcs.modified"] == "true" {
		v += "+dirty"
	}
	return v
}
