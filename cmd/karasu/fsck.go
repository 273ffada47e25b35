package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
)

type fsckCmd struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Help implements kong's interface for examples.
func (fsckCmd) Help() string {
	return `Reads every byte of both databases, verifies every signature and changes nothing.
Exit code 0 means that all is sound, 1 that something is wrong, 4 that a daemon is
running in the home, so that nothing was checked: stop it first.

Example:

  karasu fsck --home /var/lib/karasu`
}

// checked is the JSON form of one database's report.
type checked struct {
	Database      string `json:"database"`
	Dir           string `json:"dir"`
	OK            bool   `json:"ok"`
	CleanShutdown bool   `json:"clean_shutdown"`
	Keys          int    `json:"keys"`
	Bytes         int64  `json:"bytes"`
	CutOffBytes   int64  `json:"cut_off_bytes"`
	// NothingSince says that a start after the last shutdown left no trace but itself.
	NothingSince bool     `json:"nothing_since"`
	Bad          int      `json:"bad"`
	Problems     []string `json:"problems"`
	// InUse says that a running daemon has it, and so it was not checked.
	InUse bool `json:"in_use"`
}

// Run checks both databases of a home.
func (c fsckCmd) Run(a *app) error {
	h, err := a.home()
	if err != nil {
		return err
	}
	if _, err := os.Stat(h.ConfigFile()); errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("there is no home at %s; name one with --home or KARASU_HOME", h.ConfigDir)
	}
	bad := 0
	reports, missing := []checked{}, []checked{}
	for _, db := range []struct {
		name, dir string
		fsck      func(context.Context, string) (*private.Report, error)
	}{{"private", h.PrivateDir(), private.Fsck}, {"commons", h.CommonsDir(), commons.Fsck}} {
		r, err := db.fsck(a.ctx, db.dir)
		switch {
		case errors.Is(err, private.ErrNoDatabase):
			missing = append(missing, checked{Database: db.name, Dir: db.dir, Bad: 1, Problems: []string{"is missing, although the other database is there"}})
			continue
		case errors.Is(err, private.ErrInUse):
			return c.inUse(a, db.name, db.dir)
		case errors.Is(err, context.Canceled):
			return errors.New("interrupted; nothing was changed")
		case err != nil:
			return err
		}
		bad += r.Bad
		problems := r.Problems
		if problems == nil {
			problems = []string{}
		}
		reports = append(reports, checked{db.name, db.dir, r.OK(), r.CleanShutdown, r.Keys, r.Bytes, r.CutOff, r.NothingSince, r.Bad, problems, false})
	}
	if len(reports) > 0 { // else a home whose daemon has never run
		reports = append(reports, missing...)
		bad += len(missing)
	}
	if c.JSON {
		err = writeJSON(a.stdout, reports)
	} else {
		err = a.print(func(w *bytes.Buffer) { printChecked(w, reports) })
	}
	if err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%s found; restore the home from a backup, or move the database away and import again", counted(bad, "problem"))
	}
	return nil
}

// inUse says that a daemon has the home; in JSON as the report of the database that is
// held, since both are held together.
func (c fsckCmd) inUse(a *app, name, dir string) error {
	if c.JSON {
		held := checked{Database: name, Dir: dir, InUse: true, Problems: []string{"is in use by a running daemon and was not checked"}}
		if err := writeJSON(a.stdout, []checked{held}); err != nil {
			return err
		}
	}
	return &inUseError{fmt.Errorf("nothing was checked: a daemon is running in this home and holds %s; stop it (SIGTERM) and try again", dir)}
}

func printChecked(w *bytes.Buffer, reports []checked) {
	if len(reports) == 0 {
		fmt.Fprintln(w, "There is no database yet.")
	}
	for _, r := range reports {
		state := "sound"
		if !r.OK {
			state = counted(r.Bad, "problem")
		}
		fmt.Fprintf(w, "%s: %s, %s, %s", r.Database, state, counted(r.Keys, "key"), size(float64(r.Bytes)))
		if !r.CleanShutdown && r.Keys > 0 {
			fmt.Fprint(w, ", not closed in order")
		}
		if r.CutOffBytes > 0 {
			fmt.Fprintf(w, ", %s cut off by a crash will be dropped", size(float64(r.CutOffBytes)))
		}
		if r.NothingSince {
			fmt.Fprint(w, ", started after its last shutdown and nothing written since: if it ran for longer than a moment, its log is lost")
		}
		fmt.Fprintln(w)
		for _, p := range r.Problems {
			fmt.Fprintf(w, "  %s\n", clean(p))
		}
		if more := r.Bad - len(r.Problems); more > 0 {
			fmt.Fprintf(w, "  and %d more\n", more)
		}
	}
}
