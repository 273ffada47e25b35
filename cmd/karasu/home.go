package main

import (
	"errors"
	"strings"

	"github.com/karasu-project/karasu/node"
	"github.com/karasu-project/karasu/optimizer/catalog"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
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
	if err == nil {
		var config node.Config
		if config, err = node.LoadConfig(h); err == nil {
			return h.Catalog(config)
		}
	}
	var nowhere *usageError // no variable says where a home could be
	if errors.Is(err, node.ErrNoHome) || errors.As(err, &nowhere) {
		return catalog.Builtin(), nil
	}
	return nil, err
}

// notePrices says on standard error which of the shown prices are old, where they
// matter: cost is the catalog's price times the predicted runtime.
func (a *app) notePrices(s *karasuv1.SearchSettings, shown ...*karasuv1.Prediction) {
	machines, err := a.catalog("")
	if err != nil || !strings.Contains(s.GetObjective(), "cost") {
		return // the daemon has checked its catalog; this is only a note
	}
	said := map[string]bool{}
	for _, p := range shown {
		m, err := machines.Lookup(s.GetWorkload().GetInfrastructure(), p.GetConfiguration().GetMachineType())
		if err == nil && m.StalePrice(a.now()) && !said[m.Name] {
			said[m.Name] = true
			a.note("the price of %s is of %s, more than %d days ago; a catalog file can renew it",
				m.Name, m.PriceDate.Format("2006-01-02"), int(catalog.PriceLifetime.Hours()/24))
		}
	}
}
