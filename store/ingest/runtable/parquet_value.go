package runtable

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// kind is how a column's values are stored and what they stand for.
type kind struct {
	physical parquet.Kind
	logical  *format.LogicalType
	length   int // of fixed-length values, in bytes
}

func kindOf(leaf *parquet.Column) kind {
	t := leaf.Type()
	k := kind{physical: t.Kind(), logical: t.LogicalType()}
	if k.physical == parquet.FixedLenByteArray {
		k.length = t.Length()
	}
	return k
}

// size of a value in bytes; 0 where it varies.
func (k kind) size() int {
	switch k.physical {
	case parquet.Int32, parquet.Float:
		return 4
	case parquet.Int64, parquet.Double:
		return 8
	case parquet.Int96:
		return 12
	case parquet.FixedLenByteArray:
		return max(k.length, 0)
	}
	return 0
}

// text returns a stored value, of the kind's size, as the documented columns take it.
func (k kind) text(b []byte) (string, error) {
	switch k.physical {
	case parquet.Int32:
		return k.integer(int64(int32(binary.LittleEndian.Uint32(b)))), nil
	case parquet.Int64:
		return k.integer(int64(binary.LittleEndian.Uint64(b))), nil
	case parquet.Int96:
		return int96Time(b).Format(time.RFC3339Nano), nil
	case parquet.Float:
		return strconv.FormatFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 'g', -1, 32), nil
	case parquet.Double:
		return strconv.FormatFloat(math.Float64frombits(binary.LittleEndian.Uint64(b)), 'g', -1, 64), nil
	}
	if k.logical != nil {
		if d, is := k.logical.Value.(*format.DecimalType); is {
			return decimal(signed(b), d.Scale)
		}
	}
	if len(b) > MaxLine {
		return "", fmt.Errorf("a value is longer than %d bytes", MaxLine)
	}
	if k.physical == parquet.FixedLenByteArray && !utf8.Valid(b) {
		return hex.EncodeToString(b), nil
	}
	return string(b), nil
}

func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// integer reads what an integer stands for.
func (k kind) integer(v int64) string {
	if k.logical == nil {
		return strconv.FormatInt(v, 10)
	}
	switch t := k.logical.Value.(type) {
	case *format.TimestampType:
		return timestamp(v, t.Unit).Format(time.RFC3339Nano)
	case *format.DateType:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(v)).Format(time.DateOnly)
	case *format.DecimalType:
		if s, err := decimal(big.NewInt(v), t.Scale); err == nil {
			return s
		}
	case *format.IntType:
		if !t.IsSigned && k.physical == parquet.Int32 {
			return strconv.FormatUint(uint64(uint32(v)), 10)
		}
		if !t.IsSigned {
			return strconv.FormatUint(uint64(v), 10)
		}
	}
	return strconv.FormatInt(v, 10)
}

func timestamp(v int64, unit format.TimeUnit) time.Time {
	switch unit.Value.(type) {
	case *format.NanoSeconds:
		return time.Unix(0, v).UTC()
	case *format.MicroSeconds:
		return time.UnixMicro(v).UTC()
	}
	return time.UnixMilli(v).UTC()
}

// julianEpoch is the Julian day of 1970-01-01.
const julianEpoch = 2440588

// int96Time reads the older timestamps: nanoseconds of the day and a Julian day.
func int96Time(b []byte) time.Time {
	nanos, day := int64(binary.LittleEndian.Uint64(b)), int64(binary.LittleEndian.Uint32(b[8:]))
	return time.Unix((day-julianEpoch)*86400, nanos).UTC()
}

// signed reads a big-endian number in two's complement.
func signed(b []byte) *big.Int {
	n := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return n
}

// maxDecimalDigits bounds decimal numbers: the format knows 38 digits in practice.
const maxDecimalDigits = 80

func decimal(n *big.Int, scale int32) (string, error) {
	if scale < 0 || scale > maxDecimalDigits || n.BitLen() > 4*maxDecimalDigits {
		return "", fmt.Errorf("a decimal number has more than %d digits", maxDecimalDigits)
	}
	s, sign := n.String(), ""
	if strings.HasPrefix(s, "-") {
		s, sign = s[1:], "-"
	}
	if scale == 0 {
		return sign + s, nil
	}
	if missing := int(scale) + 1 - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	at := len(s) - int(scale)
	return sign + s[:at] + "." + s[at:], nil
}
