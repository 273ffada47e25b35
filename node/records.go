package node

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/api"
	"github.com/karasu-project/karasu/node/exchange"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// minDigits is how many digits of a record's id say which one is meant.
const minDigits = 8

// Records describes the records of the commons that a request asks for.
func (a *App) Records(_ context.Context, req *karasuv1.ListRecordsRequest) (*karasuv1.ListRecordsResponse, error) {
	var match func(model.Topic) bool
	if t := req.GetTopic(); t != "" {
		pattern, err := exchange.ParsePattern(strings.TrimPrefix(t, "/karasu/1/"))
		if err != nil {
			return nil, &model.FieldError{Field: "topic", Problem: err.Error()}
		}
		match = pattern.Match
	}
	out := &karasuv1.ListRecordsResponse{}
	for _, h := range a.commons.Held(match) {
		w := wireHeld(h)
		author := req.GetAuthor()
		switch {
		case author != "" && author != w.GetAuthor() && !strings.EqualFold(author, w.GetOrganisation()):
			continue
		case req.GetKind() != karasuv1.RecordKind_RECORD_KIND_UNSPECIFIED && req.GetKind() != w.GetKind():
			continue
		case req.GetUsable() && w.GetState() != karasuv1.RecordState_RECORD_STATE_USABLE:
			continue
		}
		out.Total++
		if limit := req.GetLimit(); limit == 0 || out.Total <= limit {
			out.Records = append(out.Records, w)
		}
	}
	return out, nil
}

func wireHeld(h commons.Held) *karasuv1.HeldRecord {
	w := &karasuv1.HeldRecord{
		Id: hex.EncodeToString(h.ID[:]), Author: h.Author.String(), Organisation: h.Organisation, Topic: h.Topic.String(),
		Kind: h.Kind, Key: h.Key, Revision: h.Revision, Created: h.Created.Unix(), NotAfter: h.NotAfter.Unix(),
		Bytes: uint32(h.Bytes), Own: h.Own,
	}
	switch h.State {
	case commons.Counts:
		w.State = karasuv1.RecordState_RECORD_STATE_USABLE
		if _, known := karasuv1.RecordKind_name[int32(h.Kind)]; !known {
			w.State = karasuv1.RecordState_RECORD_STATE_UNKNOWN_KIND
		}
	case commons.Withdraws:
		w.State = karasuv1.RecordState_RECORD_STATE_RETRACTION
	case commons.Equivocates:
		w.State = karasuv1.RecordState_RECORD_STATE_EQUIVOCAL
	case commons.Lapsed:
		w.State = karasuv1.RecordState_RECORD_STATE_EXPIRED
	}
	return w
}

// Record decodes and verifies a record of the commons by its id or its first digits.
// The error wraps [api.ErrNoRecord] where there is none, or more than one.
func (a *App) Record(_ context.Context, digits string) (*karasuv1.GetRecordResponse, error) {
	digits = strings.ToLower(strings.TrimSpace(digits))
	if _, err := hex.DecodeString(digits[:len(digits)&^1]); err != nil || len(digits) < minDigits || len(digits) > 2*len(commons.ID{}) {
		return nil, &model.FieldError{Field: "id", Problem: fmt.Sprintf("must be %d to %d hex digits, as `karasu records list` shows them: %q", minDigits, 2*len(commons.ID{}), model.Clip(digits))}
	}
	found := a.commons.Find(digits)
	switch {
	case len(found) == 0:
		return nil, fmt.Errorf("%w: %s; see `karasu records list`", api.ErrNoRecord, digits)
	case len(found) > 1:
		return nil, fmt.Errorf("%w by that name alone: ids of several begin with %s; give more digits", api.ErrNoRecord, digits)
	}
	held, err := a.commons.Describe(found[0])
	if err != nil {
		return nil, err
	}
	r, err := a.commons.Get(found[0])
	if err != nil {
		return nil, err
	}
	out := &karasuv1.GetRecordResponse{Held: wireHeld(held), Record: wireRecord(r)}
	if r.Host != r.Author {
		out.Host = r.Host.String()
	}
	if _, err := commons.Open(r.Envelope); err != nil {
		out.SignatureProblem = err.Error()
	}
	err = commons.ValidateBody(r)
	if err == nil {
		err = decodeBody(out, r) // of a family that is carried for others there is an error, too
	}
	if err != nil {
		out.BodyProblem = err.Error()
	}
	return out, nil
}

// wireRecord is what the author signed, without its envelope.
func wireRecord(r *commons.Record) *karasuv1.Record {
	return &karasuv1.Record{
		Major: commons.Major, Minor: commons.Minor, Topic: r.Topic.String(), Kind: r.Kind, Key: r.Key, Revision: r.Revision,
		Created: r.Created.Unix(), NotAfter: r.NotAfter.Unix(), Organisation: r.Organisation, Body: r.Body,
	}
}

// decodeBody fills in what a body says, for the kinds that people ask about.
func decodeBody(out *karasuv1.GetRecordResponse, r *commons.Record) error {
	switch r.Kind {
	case karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY:
		out.Summary = new(karasuv1.RunSummary)
		return proto.Unmarshal(r.Body, out.Summary)
	case karasuv1.RecordKind_RECORD_KIND_SUPPORT_MODEL:
		out.Model = new(karasuv1.SupportModel)
		return proto.Unmarshal(r.Body, out.Model)
	case karasuv1.RecordKind_RECORD_KIND_RUNTIME_MODEL:
		out.Runtime = new(karasuv1.RuntimeModel)
		if err := proto.Unmarshal(r.Body, out.Runtime); err != nil {
			return err
		}
		var err error
		out.RuntimeExtent, err = runtimeExtent(r)
		return err
	case karasuv1.RecordKind_RECORD_KIND_STAGE_MODEL:
		out.Stage = new(karasuv1.StageModel)
		if err := proto.Unmarshal(r.Body, out.Stage); err != nil {
			return err
		}
		var err error
		out.StageExtent, err = stageExtent(r)
		return err
	}
	return nil
}
