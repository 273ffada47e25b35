package predict

import (
	"cmp"
	"slices"

	"github.com/karasu-project/karasu/model"
)

// Lookup finds the resources of a machine type on an infrastructure.
type Lookup func(infrastructure, machineType string) (model.Resources, bool)

// Skipped says which runs are no part of a history.
type Skipped struct {
	// Incomplete counts runs that failed or were stopped: how long they would have
	// taken is not known.
	Incomplete int
	// Machines counts the runs of each machine type, as
	// "infrastructure/machine type", that the lookup does not know.
	Machines map[string]int
}

// Total is the count of all skipped runs.
func (s Skipped) Total() int {
	n := s.Incomplete
	for _, m := range s.Machines {
		n += m
	}
	return n
}

// Histories groups valid runs, which must all be of one framework and algorithm, by
// context: infrastructure, machine type, input size and arguments. An argument is
// optional where the runs of some context lack it. The order is that of the contexts,
// whatever the order of the runs; the runs of one context keep theirs.
func Histories(runs []model.Run, lookup Lookup) ([]History, Skipped) {
	var skipped Skipped
	groups := make(map[string]*History)
	for _, r := range runs {
		if r.Outcome != model.OK {
			skipped.Incomplete++
			continue
		}
		w, machine := r.Workload, r.Configuration.MachineType
		resources, known := lookup(w.Infrastructure, machine)
		if !known {
			if skipped.Machines == nil {
				skipped.Machines = make(map[string]int)
			}
			skipped.Machines[w.Infrastructure+"/"+machine]++
			continue
		}
		key := w.Infrastructure + "\x00" + machine + "\x00" + model.Argument{Number: w.InputBytes}.Value() + "\x00" + w.Arguments.Key()
		h := groups[key]
		if h == nil {
			h = &History{Context: ContextOf(w, machine, resources)}
			groups[key] = h
		}
		h.Runs = append(h.Runs, Observation{r.Configuration.ScaleOut, r.RuntimeSeconds})
	}
	out := make([]History, 0, len(groups))
	for _, h := range groups {
		out = append(out, *h)
	}
	slices.SortFunc(out, func(a, b History) int { return a.Context.compare(&b.Context) })
	markOptional(out)
	spellMixed(out)
	return out, skipped
}

// spellMixed makes arguments that are text in some context text in all: of what kind an
// argument is must not depend on which context is left out.
func spellMixed(history []History) {
	texts := TextArguments(history)
	for i := range history {
		history[i].Context = history[i].Context.Spelled(texts)
	}
}

// TextArguments lists the arguments that are text in some context.
func TextArguments(history []History) map[string]bool {
	texts := make(map[string]bool)
	for _, h := range history {
		for _, a := range h.Context.Arguments {
			if a.Text != "" {
				texts[a.Name] = true
			}
		}
	}
	return texts
}

// Spelled returns the context with the numbers of some arguments as text.
func (c Context) Spelled(texts map[string]bool) Context {
	c.Arguments = slices.Clone(c.Arguments)
	for i := range c.Arguments {
		if a := &c.Arguments[i]; texts[a.Name] && a.Text == "" {
			a.Number, a.Text = 0, model.Argument{Number: a.Number}.Value()
		}
	}
	return c
}

// ContextOf returns the context of a normalised workload on a machine type.
func ContextOf(w model.Workload, machineType string, resources model.Resources) Context {
	c := Context{Environment: w.Infrastructure, MachineType: machineType, Resources: resources, InputBytes: w.InputBytes}
	if c.InputBytes == 0 {
		c.InputBytes = Unknown
	}
	for _, a := range w.Arguments {
		c.Arguments = append(c.Arguments, Argument{Name: a.Name, Number: a.Number, Text: a.Text})
	}
	return c
}

// compare orders contexts whose arguments are sorted.
func (c *Context) compare(o *Context) int {
	return cmp.Or(cmp.Compare(c.Environment, o.Environment), cmp.Compare(c.MachineType, o.MachineType),
		cmp.Compare(c.InputBytes, o.InputBytes), slices.CompareFunc(c.Arguments, o.Arguments, func(a, b Argument) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Text, b.Text))
		}))
}

// markOptional marks the arguments that some context lacks.
func markOptional(history []History) {
	contexts := make(map[string]int)
	for _, h := range history {
		for _, a := range h.Context.Arguments {
			contexts[a.Name]++
		}
	}
	for _, h := range history {
		for i := range h.Context.Arguments {
			a := &h.Context.Arguments[i]
			a.Optional = contexts[a.Name] < len(history)
		}
	}
}

// Thin keeps at most so many contexts of a history, spread evenly over its order.
func Thin(history []History, contexts int) []History {
	if len(history) <= contexts {
		return history
	}
	out := make([]History, 0, contexts)
	for i := range contexts {
		out = append(out, history[i*len(history)/contexts])
	}
	return out
}
