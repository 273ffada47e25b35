package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
)

type recordsCmd struct {
	List recordsListCmd `cmd:"" help:"Records of the commons: own and received."`
	Show recordsShowCmd `cmd:"" help:"One record: what it says, whose signature it has, until when it counts."`
}

// kindName is a kind of record by its name, such as run_summary.
type kindName karasuv1.RecordKind

// UnmarshalText implements [encoding.TextUnmarshaler].
func (k *kindName) UnmarshalText(text []byte) error {
	name := strings.ToUpper(strings.ReplaceAll(string(text), "-", "_"))
	v, ok := karasuv1.RecordKind_value["RECORD_KIND_"+name]
	if !ok || v == 0 {
		return fmt.Errorf("must be one of %s: %q", strings.Join(kindNames(), ", "), text)
	}
	*k = kindName(v)
	return nil
}

// kindNames lists the kinds of record by number.
func kindNames() []string {
	var numbers []int32
	for n := range karasuv1.RecordKind_name {
		if n != 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	names := make([]string, len(numbers))
	for i, n := range numbers {
		names[i] = kindText(karasuv1.RecordKind(n))
	}
	return names
}

// kindText is the name of a kind; an unknown one is its number.
func kindText(k karasuv1.RecordKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "RECORD_KIND_"))
}

type recordsListCmd struct {
	Topic  string   `help:"Only of this topic or pattern, such as aws-ec2/spark/*." placeholder:"PATTERN"`
	Author string   `help:"Only of this peer id, or of organisations that call themselves so." placeholder:"ID|NAME"`
	Kind   kindName `help:"Only of this kind, such as run_summary, support_model, runtime_model or retraction." placeholder:"KIND"`
	Usable bool     `help:"Only those that count."`
	Limit  uint32   `help:"At most so many." default:"1000" placeholder:"N"`
	jsonFlag
}

// Help implements kong's interface for examples.
func (recordsListCmd) Help() string {
	return `Examples:

  karasu records list --topic 'aws-ec2/spark/*' --kind run_summary
  karasu records list --author acme --json`
}

// Run lists records.
func (c recordsListCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.ListRecords(a.ctx, connect.NewRequest(&karasuv1.ListRecordsRequest{
		Topic: c.Topic, Author: c.Author, Kind: karasuv1.RecordKind(c.Kind), Usable: c.Usable, Limit: c.Limit,
	}))
	if err != nil {
		return err
	}
	return c.show(a, res.Msg, func(w *bytes.Buffer) {
		t := newTable("ID", "TOPIC", "KIND", "ORGANISATION", "AUTHOR", ">REVISION", "CREATED", "UNTIL", ">SIZE", "STATE")
		for _, r := range res.Msg.GetRecords() {
			t.add(r.GetId()[:min(16, len(r.GetId()))], shortTopic(r.GetTopic()), kindText(r.GetKind()), tableName(dash(r.GetOrganisation())), authorOf(r),
				fmt.Sprint(r.GetRevision()), day(r.GetCreated()), day(r.GetNotAfter()), size(float64(r.GetBytes())), stateText(r.GetState()))
		}
		t.print(w, "No such records are held.")
		if n, total := uint32(len(res.Msg.GetRecords())), res.Msg.GetTotal(); n < total {
			fmt.Fprintf(w, "The first %s of %s; --limit shows more.\n", number(n), counted(total, "record"))
		}
	})
}

func shortTopic(s string) string { return strings.TrimPrefix(s, "/karasu/1/") }

// authorOf tells own records from those of others.
func authorOf(r *karasuv1.HeldRecord) string {
	if r.GetOwn() {
		return "this node"
	}
	return r.GetAuthor()
}

func stateText(s karasuv1.RecordState) string {
	return map[karasuv1.RecordState]string{
		karasuv1.RecordState_RECORD_STATE_USABLE:       "counts",
		karasuv1.RecordState_RECORD_STATE_RETRACTION:   "withdraws",
		karasuv1.RecordState_RECORD_STATE_EQUIVOCAL:    "contradicts",
		karasuv1.RecordState_RECORD_STATE_EXPIRED:      "expired",
		karasuv1.RecordState_RECORD_STATE_UNKNOWN_KIND: "carried",
	}[s]
}

// stateReason says in words what a state means.
func stateReason(s karasuv1.RecordState) string {
	return map[karasuv1.RecordState]string{
		karasuv1.RecordState_RECORD_STATE_USABLE:       "counts: it is the newest under its key, not withdrawn and not expired",
		karasuv1.RecordState_RECORD_STATE_RETRACTION:   "withdraws what its author shared under this key",
		karasuv1.RecordState_RECORD_STATE_EQUIVOCAL:    "is not used: its author signed two bodies under one revision, and neither counts",
		karasuv1.RecordState_RECORD_STATE_EXPIRED:      "is not used: its time is over, and it will be deleted",
		karasuv1.RecordState_RECORD_STATE_UNKNOWN_KIND: "is carried for others: this version does not know its kind",
	}[s]
}

type recordsShowCmd struct {
	ID string `arg:"" help:"The record's id, or its first digits, at least 8."`
	jsonFlag
}

// Help implements kong's interface for examples.
func (recordsShowCmd) Help() string {
	return `The table shows every field of a summary or a model; --json shows them as they are encoded.

Example:

  karasu records show 3f2a90c1`
}

// Run shows a record.
func (c recordsShowCmd) Run(a *app) error {
	client, err := a.client()
	if err != nil {
		return err
	}
	res, err := client.GetRecord(a.ctx, connect.NewRequest(&karasuv1.GetRecordRequest{Id: c.ID}))
	if err != nil {
		return err
	}
	m := res.Msg
	return c.show(a, m, func(w *bytes.Buffer) {
		h := m.GetHeld()
		line := func(name, format string, args ...any) {
			fmt.Fprintf(w, "%-12s  %s\n", name, clean(fmt.Sprintf(format, args...)))
		}
		line("id", "%s", h.GetId())
		line("topic", "%s", h.GetTopic())
		line("kind", "%s", kindText(h.GetKind()))
		line("key", "%s", h.GetKey())
		line("revision", "%d", h.GetRevision())
		line("organisation", "%s (as it calls itself)", dash(h.GetOrganisation()))
		own := ""
		if h.GetOwn() {
			own = ", this node"
		}
		line("author", "%s%s", h.GetAuthor(), own)
		signature := "the author's"
		if m.GetHost() != "" {
			signature = "of host " + m.GetHost() + ", to which the author delegates"
		}
		if p := m.GetSignatureProblem(); p != "" {
			signature = p
		}
		line("signature", "%s", signature)
		line("created", "%s", day(h.GetCreated()))
		line("until", "%s (%s)", day(h.GetNotAfter()), a.lasting(h.GetNotAfter()))
		line("size", "%s", size(float64(h.GetBytes())))
		line("state", "%s", stateReason(h.GetState()))
		switch {
		case m.GetBodyProblem() != "":
			line("body", "%s of %s", m.GetBodyProblem(), size(float64(len(m.GetRecord().GetBody()))))
		case m.GetSummary() != nil, m.GetModel() != nil, m.GetRuntime() != nil, m.GetStage() != nil:
			printBody(w, m)
		case len(m.GetRecord().GetBody()) > 0:
			line("body", "%s, as --json shows it", size(float64(len(m.GetRecord().GetBody()))))
		}
	})
}

// lasting says how long something is still to last, in days.
func (a *app) lasting(unix int64) string {
	left := time.Unix(unix, 0).Sub(a.now())
	if left < 0 {
		return "over"
	}
	return "in " + counted(int(left.Hours()/24), "day")
}
