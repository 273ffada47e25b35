package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	revision := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	modified := debug.BuildSetting{Key: "vcs.modified", Value: "true"}
	for want, info := range map[string]*debug.BuildInfo{
		"v1.2.3":                   {Main: debug.Module{Version: "v1.2.3"}, Settings: []debug.BuildSetting{revision}},
		"devel-0123456789ab":       {Main: debug.Module{Version: devel}, Settings: []debug.BuildSetting{revision}},
		"devel-0123456789ab+dirty": {Settings: []debug.BuildSetting{revision, modified}},
		devel:                      {},
	} {
		if got := versionOf(info); got != want {
			t.Errorf("version %q, want %q", got, want)
		}
	}
}
