package main

import (
	"errors"
	"fmt"

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

// notePrices says on standard error which of the shown prices are old, where they
// matter: cost is the catalog's price times the predicted runtime.
func (a *app) notePrices(s *karasuv1.SearchSettings, shown ...*karasuv1.Prediction) {
	machines, err := a.catalog("")
	if err != nil || s.GetObjective() != "cost" {
		return // the daemon has checked its catalog; this is only a note
	}
	said := map[string]bool{}
	for _, p := range shown {
		m, err := machines.Lookup(s.GetWorkload().GetInfrastructure(), p.GetConfiguration().GetMachineType())
		if err == nil && m.StalePrice(a.now()) && !said[m.Name] {
			said[m.Name] = true
			fmt.Fprintf(a.stderr, "karasu: the price of %s is of %s, more than %d days ago; a catalog file can renew it\n",
				m.Name, m.PriceDate.Format("2006-01-02"), int(catalog.PriceLifetime.Hours()/24))
		}
	}
}
