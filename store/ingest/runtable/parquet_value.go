package runtable

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// valueText returns a value as the documented columns take it; empty is null.
func valueText(v parquet.Value, leaf *parquet.Column) (string, error) {
	if v.IsNull() {
		return "", nil
	}
	logical := leaf.Type().LogicalType()
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return "True", nil
		}
		return "False", nil
	case parquet.Int32:
		return integerText(int64(v.Int32()), int64(v.Uint32()), logical), nil
	case parquet.Int64:
		return integerText(v.Int64(), v.Int64(), logical), nil
	case parquet.Int96:
		return int96Time(v).Format(time.RFC3339Nano), nil
	case parquet.Float:
		return strconv.FormatFloat(float64(v.Float()), 'g', -1, 32), nil
	case parquet.Double:
		return strconv.FormatFloat(v.Double(), 'g', -1, 64), nil
	case parquet.ByteArray, parquet.FixedLenByteArray:
		b := v.ByteArray()
		if logical != nil {
			if d, is := logical.Value.(*format.DecimalType); is {
				return decimal(signed(b), d.Scale)
			}
		}
		if len(b) > MaxLine {
			return "", fmt.Errorf("a value is longer than %d bytes", MaxLine)
		}
		if v.Kind() == parquet.FixedLenByteArray && !utf8.Valid(b) {
			return hex.EncodeToString(b), nil
		}
		return string(b), nil
	}
	return "", fmt.Errorf("values of kind %s cannot be read", v.Kind())
}

// integerText reads what an integer stands for.
func integerText(v, unsigned int64, logical *format.LogicalType) string {
	if logical == nil {
		return strconv.FormatInt(v, 10)
	}
	switch t := logical.Value.(type) {
	case *format.TimestampType:
		return timestamp(v, t.Unit).Format(time.RFC3339Nano)
	case *format.DateType:
		return time.Unix(0, 0).UTC().AddDate(0, 0, int(v)).Format(time.DateOnly)
	case *format.DecimalType:
		if s, err := decimal(big.NewInt(v), t.Scale); err == nil {
			return s
		}
	case *format.IntType:
		if !t.IsSigned && t.BitWidth == 64 {
			return strconv.FormatUint(uint64(v), 10)
		}
		if !t.IsSigned {
			return strconv.FormatInt(unsigned, 10)
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
func int96Time(v parquet.Value) time.Time {
	i := v.Int96()
	nanos := int64(i[1])<<32 | int64(i[0])
	return time.Unix((int64(i[2])-julianEpoch)*86400, nanos).UTC()
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
