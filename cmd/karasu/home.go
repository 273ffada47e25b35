package main

import (
	"errors"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/optimizer/catalog"
)

// home returns the home that --home, $KARASU_HOME or the XDG variables name. It
// need not exist.
func (a *app) home() (node.Home, error) {
	h, err := node.LocateHome(a.Home, a.getenv)
	if err != nil {
		return h, &usageError{err}
	}
	return h, nil
}

// catalog returns the machine types of a file, else those that the home's
// configuration names, else the built-in ones. It needs no home.
func (a *app) catalog(file string) (*catalog.Catalog, error) {
	if file != "" {
		return catalog.Load(catalog.Builtin(), file)
	}
	h, err := a.home()
	if err != nil {
		return catalog.Builtin(), nil
	}
	config, err := node.LoadConfig(h)
	if errors.Is(err, node.ErrNoHome) {
		return catalog.Builtin(), nil
	}
	if err != nil {
		return nil, err
	}
	return h.Catalog(config)
}
