package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/model/runtime/structured"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/catalog"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/private"
)

// Status says what the daemon is and holds.
func (a *App) Status(ctx context.Context) (*karasuv1.StatusResponse, error) {
	runs, err := a.private.CountRuns(ctx)
	if err != nil {
		return nil, err
	}
	workloads, err := a.private.Workloads(ctx)
	if err != nil {
		return nil, err
	}
	searches, err := a.private.ListSearches(ctx)
	if err != nil {
		return nil, err
	}
	executions, unmatched, err := a.private.CountExecutions(ctx)
	if err != nil {
		return nil, err
	}
	out := &karasuv1.StatusResponse{
		Version: a.options.Version, Organisation: a.config.Organisation, PeerId: a.network.ID().String(),
		Runs: uint32(runs), Workloads: uint32(len(workloads)), Searches: uint32(len(searches)),
		UptimeSeconds: time.Since(a.started).Seconds(),
		Executions:    uint32(executions), UnmatchedExecutions: uint32(unmatched), Watched: a.watchStatus(),
	}
	for _, addr := range a.network.Addrs() {
		out.Addresses = append(out.Addresses, addr.String())
	}
	for _, t := range a.commons.Topics() {
		out.OwnRecords += uint32(t.Own)
		out.ReceivedRecords += uint32(t.Received)
	}
	for _, p := range a.network.Peers() {
		if p.Connected {
			out.Peers++
		}
		if p.Bootstrap {
			out.BootstrapPeers++
		}
		if p.LastError != "" {
			out.UnreachableBootstrapPeers++
		}
	}
	return out, nil
}

// ImportRuns stores runs, all or none. The machine types must be in the catalog,
// and are stored under the catalog's spelling.
func (a *App) ImportRuns(ctx context.Context, runs []model.Run) (added, unchanged int, err error) {
	for i := range runs {
		c := &runs[i].Configuration
		m, err := a.catalog.Lookup(runs[i].Workload.Infrastructure, c.MachineType)
		if err != nil {
			return 0, 0, fmt.Errorf("run %d of %d: %w", i+1, len(runs), err)
		}
		c.MachineType = m.Name
	}
	return a.private.AddRuns(ctx, runs)
}

// PreviewShare shows exactly the records that leave, and what is withheld.
func (a *App) PreviewShare(ctx context.Context) (*karasuv1.PreviewShareResponse, error) {
	return a.PreviewShareAs(ctx, share.Trial{})
}

// PreviewShareAs is [App.PreviewShare] under another policy; the zero trial is the
// policy as configured.
func (a *App) PreviewShareAs(ctx context.Context, trial share.Trial) (*karasuv1.PreviewShareResponse, error) {
	all, err := a.private.Runs(ctx, private.Filter{})
	if err != nil {
		return nil, err
	}
	runs, retracted := a.retracted.split(all)
	preview, err := a.publisher.Preview(ctx, runs, trial)
	if err != nil {
		return nil, err
	}
	out := &karasuv1.PreviewShareResponse{Policy: wirePolicy(preview.Policy)}
	for _, r := range preview.Records {
		p := &karasuv1.PreviewedRecord{
			Record: r.Wire, Summary: r.Draft.Summary, Model: r.Draft.Model, Runtime: r.Draft.Runtime, Stage: r.Draft.Stage,
			Bytes: uint32(len(r.Record.Envelope)), Shared: r.Shared,
		}
		if r.Draft.Runtime != nil {
			if p.RuntimeExtent, err = runtimeExtent(r.Record); err != nil {
				return nil, err
			}
		}
		if r.Draft.Stage != nil {
			if p.StageExtent, err = stageExtent(r.Record); err != nil {
				return nil, err
			}
		}
		out.Records = append(out.Records, p)
	}
	for _, w := range preview.Withheld {
		out.Withheld = append(out.Withheld, &karasuv1.WithheldWorkload{
			Job: w.Workload.Job, Topic: w.Workload.Topic().String(), Reason: w.Reason,
		})
	}
	for _, w := range retracted {
		out.Withheld = append(out.Withheld, &karasuv1.WithheldWorkload{Job: w.Job, Topic: w.Topic().String(), Reason: "you retracted the job"})
	}
	return out, nil
}

// wirePolicy is a policy as the API has it.
func wirePolicy(p share.Policy) *karasuv1.SharePolicy {
	return &karasuv1.SharePolicy{
		Mode: string(p.Mode), MinimumRuns: uint32(p.MinimumRuns), AbsoluteRuntimes: p.Absolute, ExactSizes: p.ExactSizes,
		RuntimeModels: p.Runtimes, StageModels: p.Stages, Epsilon: p.Epsilon, NoiseScale: p.NoiseScale(),
	}
}

// runtimeExtent says what a runtime model's values tell.
func runtimeExtent(r *commons.Record) (*karasuv1.RuntimeExtent, error) {
	w, err := commons.DecodeRuntimeModel(r)
	if err != nil {
		return nil, err
	}
	e, err := structured.ExtentOf(w)
	if err != nil {
		return nil, err
	}
	out := &karasuv1.RuntimeExtent{
		Points:          uint32(e.Points),
		LeastInputBytes: e.InputBytes.Least, LargestInputBytes: e.InputBytes.Largest,
		LeastScaleOut: e.ScaleOuts.Least, LargestScaleOut: e.ScaleOuts.Largest,
		LeastRuntimeSeconds: e.Seconds.Least, LargestRuntimeSeconds: e.Seconds.Largest,
	}
	for _, a := range e.Arguments {
		out.Arguments = append(out.Arguments, &karasuv1.ArgumentExtent{Name: a.Name, Least: a.Least, Largest: a.Largest})
	}
	return out, nil
}

// loadCatalog reads the organisation's own machine types over the built-in ones. A
// relative path starts at the configuration's folder.
func loadCatalog(h Home, file string) (*catalog.Catalog, error) {
	if file == "" {
		return catalog.Builtin(), nil
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(h.ConfigDir, file)
	}
	return catalog.Load(catalog.Builtin(), file)
}

// Catalog returns the machine types that the home's configuration asks for.
func (h Home) Catalog(c Config) (*catalog.Catalog, error) { return loadCatalog(h, c.Catalog.File) }

// machineLookup treats a machine type's name as public where the built-in catalog
// has it.
func machineLookup(c *catalog.Catalog) share.MachineLookup {
	builtin := catalog.Builtin()
	return func(infrastructure, name string) (model.Resources, bool, bool) {
		m, err := c.Lookup(infrastructure, name)
		if err != nil {
			return model.Resources{}, false, false
		}
		_, err = builtin.Lookup(m.Cloud, m.Name)
		if err != nil {
			_, err = builtin.Lookup(infrastructure, m.Name)
		}
		return m.Resources, err == nil, true
	}
}

// Token reads the bearer token of the API over TCP, and makes one if there is none.
func (h Home) Token() (string, error) {
	raw, err := os.ReadFile(h.TokenFile())
	if err == nil {
		token := strings.TrimSpace(string(raw))
		if len(token) < 32 {
			return "", fmt.Errorf("API token: %s has fewer than 32 characters; remove it to get a new one", h.TokenFile())
		}
		return token, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("API token: %w", err)
	}
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", fmt.Errorf("API token: %w", err)
	}
	token := hex.EncodeToString(random[:])
	return token, writeNew(h.TokenFile(), []byte(token+"\n"))
}
