package main

import (
	"math"
	"testing"
)

func TestSeconds(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want string
	}{
		{0, "-"}, {0.0123, "12.3ms"}, {0.9, "900ms"}, {1, "1s"}, {45.24, "45.2s"}, {59.94, "59.9s"}, {59.97, "1m0s"},
		{800, "13m20s"}, {799.6, "13m20s"}, {7200, "2h0m0s"}, {1e12, "3.17e+04y"},
	} {
		if got := seconds(tt.in); got != tt.want {
			t.Errorf("seconds(%g) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestDollars(t *testing.T) {
	for _, tt := range []struct {
		in   float64
		want string
	}{
		{0, "$0"}, {0.0000123, "$0.000012"}, {4.1e-13, "<$0.000001"}, {0.05, "$0.050"}, {0.0501, "$0.050"}, {0.005, "$0.0050"}, {0.0045, "$0.0045"}, {0.0892, "$0.089"}, {0.36, "$0.360"}, {0.9996, "$1.00"}, {0.00996, "$0.010"}, {12.345, "$12.35"}, {1234567, "$1,234,567"},
	} {
		if got := dollars(tt.in); got != tt.want {
			t.Errorf("dollars(%g) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestOtherUnits(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{energy(92.61), "92.6 Wh"}, {energy(1523), "1.52 kWh"},
		{size(0), "-"}, {size(20e9), "20 GB"}, {size(math.NaN()), "-"}, {size(math.Inf(1)), "-"},
		{percent(0), "0%"}, {percent(.004), "<1%"}, {percent(.384), "38%"}, {percent(1), "100%"}, {percent(.997), ">99%"}, {percent(.99), "99%"},
		{chance(0), "<1%"}, {chance(.004), "<1%"}, {chance(.5), "50%"}, {chance(.9999999999), ">99%"}, {chance(1), ">99%"},
		{times(.97), "x 0.97"}, {times(.00123), "x 0.0012"}, {times(12.3), "x 12.30"}, {times(0), "x 0.00"},
		{listed([]string{"cost"}), "cost"}, {listed([]string{"cost", "runtime"}), "cost and runtime"},
		{listed([]string{"cost", "runtime", "energy"}), "cost, runtime and energy"},
		{counted(1, "run"), "1 run"}, {counted(1242, "run"), "1,242 runs"}, {counted(0, "run"), "0 runs"},
		{objective("runtime", 90), "1m30s"}, {objective("energy", 90), "90 Wh"}, {objective("cost", 90), "$90.00"},
		{shellWord("nightly-pagerank"), "nightly-pagerank"}, {shellWord("it's here"), `'it'\''s here'`}, {shellWord(""), "''"},
		{shellWord("a\u200db"), "'a\u200db'"}, {shellWord("a\u202e'b\U000e0041"), `$'a\u202e\'b\U000e0041'`},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func TestDuration(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want float64 // 0 is an error
	}{
		{"15m", 900}, {"900s", 900}, {"900", 900}, {"13m20s", 800}, {" 1.5h ", 5400}, {"0.5", .5},
		{"0", 0}, {"0s", 0}, {"-5", 0}, {"-5m", 0}, {"NaN", 0}, {"inf", 0}, {"1e99", 0}, {"", 0}, {"15 m", 0}, {"a", 0},
	} {
		var d duration
		err := d.UnmarshalText([]byte(tt.in))
		if (err == nil) != (tt.want > 0) || float64(d) != tt.want {
			t.Errorf("duration %q = %g, %v; want %g", tt.in, float64(d), err, tt.want)
		}
	}
}

func TestByteSize(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want float64 // 0 is an error
	}{
		{"20GB", 20e9}, {"20GiB", 20 << 30}, {"20 gb", 20e9}, {"1.5TB", 1.5e12}, {"123456", 123456},
		{"0", 0}, {"-1", 0}, {"", 0}, {"GB", 0}, {"20XB", 0}, {"NaN", 0}, {"2EiB", 0},
	} {
		var b byteSize
		err := b.UnmarshalText([]byte(tt.in))
		if (err == nil) != (tt.want > 0) || float64(b) != tt.want {
			t.Errorf("size %q = %g, %v; want %g", tt.in, float64(b), err, tt.want)
		}
	}
}
