package catalog

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
)

// Bounds of what a row may say; beyond them it is a slip of the pen or of a unit.
const (
	// maxUSDPerHour: the dearest machine on sale in 2026 is at about 400.
	maxUSDPerHour = 10_000
	// maxWatts of one node: eight-accelerator servers draw about 10 kW.
	maxWatts = 100_000
	dateForm = "2006-01-02"
)

// row is what a file says about one machine type; nil is not said.
type row struct {
	cloud, name                      string
	vcpus, memory, price, idle, full *float64
	priceDate                        *time.Time
	// where returns "file:line" of a field, "" of the row.
	where func(field string) string
}

// fieldError says which field of which line is wrong.
func (r row) fieldError(field, format string, args ...any) error {
	at := field
	if at != "" {
		at += ": "
	}
	return fmt.Errorf("%s: %s%s", r.where(field), at, fmt.Sprintf(format, args...))
}

// over returns base as changed by the row. With a known base only the cloud and
// the name are needed; a new machine type needs vCPUs and memory.
func (r row) over(base MachineType, known bool) (MachineType, error) {
	m := base
	m.Cloud, m.Name = strings.ToLower(r.cloud), r.name
	if known && base.Name != "" {
		m.Name = base.Name
	}
	c := model.Configuration{MachineType: r.name, ScaleOut: 1}
	if err := c.Validate(); err != nil {
		return m, r.fieldError(fieldName, "%v", err)
	}
	t := model.Topic{Infrastructure: m.Cloud, Framework: "x", Algorithm: "x"}
	if err := t.Validate(); err != nil {
		return m, r.fieldError(fieldCloud, "%v", err)
	}
	for _, f := range []struct {
		field string
		value *float64
		to    *float64
		max   float64
	}{
		{fieldVCPUs, r.vcpus, &m.VCPUs, 1 << 16},
		{fieldMemory, r.memory, &m.MemoryGiB, 1 << 20},
		{fieldPrice, r.price, &m.USDPerHour, maxUSDPerHour},
		{fieldIdle, r.idle, &m.IdleWatts, maxWatts},
		{fieldFull, r.full, &m.FullWatts, maxWatts},
	} {
		if f.value == nil {
			continue
		}
		if v := *f.value; math.IsNaN(v) || !(v > 0 && v <= f.max) {
			return m, r.fieldError(f.field, "must be above 0 and at most %g: %g (leave it out where it is unknown)", f.max, v)
		}
		*f.to = *f.value
	}
	if m.VCPUs == 0 {
		return m, r.fieldError(fieldVCPUs, "is missing, and %s/%s is not in the catalog yet", m.Cloud, r.name)
	}
	if m.MemoryGiB == 0 {
		return m, r.fieldError(fieldMemory, "is missing, and %s/%s is not in the catalog yet", m.Cloud, r.name)
	}
	if (m.IdleWatts > 0) != (m.FullWatts > 0) {
		return m, r.fieldError(fieldIdle, "and %s must be given both or neither", fieldFull)
	}
	if m.IdleWatts > m.FullWatts {
		return m, r.fieldError(fieldIdle, "is above %s: %g, %g", fieldFull, m.IdleWatts, m.FullWatts)
	}
	// A new price does not inherit the old one's date.
	if r.price != nil {
		m.PriceDate = time.Time{}
	}
	if r.priceDate != nil {
		if m.USDPerHour == 0 {
			return m, r.fieldError(fieldPriceDate, "is given without a price")
		}
		m.PriceDate = *r.priceDate
	}
	return m, nil
}
