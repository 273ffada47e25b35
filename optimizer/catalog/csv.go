package catalog

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karasu-project/karasu/model"
)

// Columns of a CSV file and keys of a TOML file.
const (
	fieldCloud     = "cloud"
	fieldName      = "machine_type"
	fieldVCPUs     = "vcpus"
	fieldMemory    = "memory_gib"
	fieldPrice     = "usd_per_hour"
	fieldPriceDate = "price_date"
	fieldIdle      = "idle_watts"
	fieldFull      = "full_watts"
)

// fields returns all columns, in the order of the built-in table.
func fields() []string {
	return []string{fieldCloud, fieldName, fieldVCPUs, fieldMemory, fieldPrice, fieldPriceDate, fieldIdle, fieldFull}
}

// parseCSV reads rows under a header. Lines that start with # are comments, an
// empty field says nothing. Columns may stand in any order; cloud and
// machine_type must be there.
func parseCSV(name string, in io.Reader) ([]row, error) {
	buffered := bufio.NewReader(in)
	if mark, _ := buffered.Peek(3); bytes.Equal(mark, []byte("\xef\xbb\xbf")) {
		_, _ = buffered.Discard(3) // peeked above
	}
	r := csv.NewReader(buffered)
	r.Comment, r.ReuseRecord = '#', true
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: is empty; the first line must name the columns: %s", name, strings.Join(fields(), ","))
	}
	if err != nil {
		return nil, csvError(name, err)
	}
	line, _ := r.FieldPos(0)
	columns := make([]string, len(header))
	for i, h := range header {
		columns[i] = strings.ToLower(strings.TrimSpace(h))
		if !slices.Contains(fields(), columns[i]) {
			return nil, fmt.Errorf("%s:%d: unknown column %q (known: %s)", name, line, model.Clip(h), strings.Join(fields(), ", "))
		}
		if slices.Contains(columns[:i], columns[i]) {
			return nil, fmt.Errorf("%s:%d: column %s appears twice", name, line, columns[i])
		}
	}
	for _, needed := range []string{fieldCloud, fieldName} {
		if !slices.Contains(columns, needed) {
			return nil, fmt.Errorf("%s:%d: column %s is missing", name, line, needed)
		}
	}
	var rows []row
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, csvError(name, err)
		}
		line, _ := r.FieldPos(0)
		parsed, err := parseRecord(name, line, columns, record)
		if err != nil {
			return nil, err
		}
		rows = append(rows, parsed)
	}
}

func csvError(name string, err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return fmt.Errorf("%s:%d: %w", name, p.Line, p.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

func parseRecord(name string, line int, columns, record []string) (row, error) {
	r := row{where: func(string) string { return fmt.Sprintf("%s:%d", name, line) }}
	numbers := map[string]**float64{fieldVCPUs: &r.vcpus, fieldMemory: &r.memory, fieldPrice: &r.price, fieldIdle: &r.idle, fieldFull: &r.full}
	for i, field := range columns {
		v := strings.TrimSpace(record[i])
		switch {
		case v == "" && (field == fieldCloud || field == fieldName):
			return r, r.fieldError(field, "is missing")
		case v == "":
		case field == fieldCloud:
			r.cloud = v
		case field == fieldName:
			r.name = strings.Clone(v)
		case field == fieldPriceDate:
			d, err := time.Parse(dateForm, v)
			if err != nil {
				return r, r.fieldError(field, "is not a date like 2026-07-20: %q", model.Clip(v))
			}
			r.priceDate = &d
		default:
			n, err := strconv.ParseFloat(v, 64)
			if err != nil && !errors.Is(err, strconv.ErrRange) {
				return r, r.fieldError(field, "is not a number: %q", model.Clip(v))
			}
			*numbers[field] = &n
		}
	}
	return r, nil
}
