package advisor

import "testing"

func TestWordsForPeople(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{chance(0), "<1%"}, {chance(.004), "<1%"}, {chance(.5), "50%"}, {chance(.99), "99%"}, {chance(.9999), ">99%"}, {chance(1), ">99%"},
		{seconds(800), "13m20s"}, {seconds(9.876), "9.88s"}, {seconds(.01234), "12.34ms"}, {seconds(.0001), "100µs"}, {seconds(2e-6), "2µs"}, {seconds(0), "0s"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}
