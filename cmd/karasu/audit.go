package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type auditCmd struct {
	Since moment `help:"From then on: a day such as 2026-11-30, or how long ago, such as 24h or 7d." placeholder:"TIME"`
	Limit uint32 `help:"The latest so many." default:"1000" placeholder:"N"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (auditCmd) Help() string {
	return `Which record of yours was sent to whom first, from the log that the daemon keeps
(audit.jsonl in the data folder). Up to 8 first recipients are noted of each record; they
may pass it on, and retracting it does not make them forget it. karasu records show ID
says what is in a record that is still held.

Examples:

  karasu audit --since 7d
  karasu audit --json`
}

// moment is a point in time, or how long ago one was.
type moment struct {
	at  time.Time
	ago time.Duration
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (m *moment) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if at, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		m.at = at
		return nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		m.at = at
		return nil
	}
	var d duration
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if err := d.UnmarshalText([]byte(days)); err == nil && d < 100*366 {
			m.ago = time.Duration(float64(d) * 24 * float64(time.Hour))
			return nil
		}
	} else if err := d.UnmarshalText([]byte(s)); err == nil && strings.ContainsAny(s, "hms") {
		m.ago = time.Duration(float64(d) * float64(time.Second))
		return nil
	}
	return fmt.Errorf("must be a day such as 2026-11-30, a time such as 2026-11-30T12:00:00Z, or how long ago, such as 24h or 7d: %q", s)
}

// unixMillis is the point in time, and 0 where none was given.
func (m moment) unixMillis(now time.Time) int64 {
	switch {
	case m.ago > 0:
		return now.Add(-m.ago).UnixMilli()
	case m.at.IsZero():
		return 0
	}
	return m.at.UnixMilli()
}

// Run lists what has left.
func (c auditCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListAudit(a.ctx, connect.NewRequest(&karasuv1.ListAuditRequest{SinceUnixMillis: c.Since.unixMillis(a.now()), Limit: c.Limit}))
	if err != nil {
		return err
	}
	m := res.Msg
	return c.show(a, m, func(w *bytes.Buffer) {
		t := newTable("TIME", "TOPIC", "KIND", ">REVISION", ">SIZE", "VIA", "RECORD", "FIRST RECIPIENTS")
		for _, e := range m.GetEntries() {
			t.add(localTime(e.GetUnixMillis()), shortTopic(e.GetTopic()), kindText(e.GetKind()), fmt.Sprint(e.GetRevision()), size(float64(e.GetBytes())),
				e.GetVia(), e.GetId()[:min(16, len(e.GetId()))], strings.Join(e.GetPeers(), " "))
		}
		t.print(w, "Nothing has left.")
		if n, total := uint32(len(m.GetEntries())), m.GetTotal(); n < total {
			fmt.Fprintf(w, "The latest %s of %s; --limit shows more.\n", number(n), plural(total, "entry", "entries"))
		}
		if m.GetBeginsUnixMillis() > 0 {
			fmt.Fprintf(w, "The log begins at %s.\n", localTime(m.GetBeginsUnixMillis()))
		}
		if n := m.GetUnreadable(); n > 0 {
			fmt.Fprintf(w, "%s of the log cannot be read: something else has written to it.\n", counted(n, "line"))
		}
	})
}

func localTime(unixMillis int64) string {
	return time.UnixMilli(unixMillis).Format("2006-01-02 15:04:05")
}
