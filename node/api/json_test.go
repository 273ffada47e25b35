package api_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// post sends JSON to a method over the unix socket.
func post(t *testing.T, socket, contentType, method, body string) (int, string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://karasu/karasu.v1.KarasuService/"+method, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	client.CloseIdleConnections()
	return res.StatusCode, string(answer)
}

func TestJSONRefusesWhatTheSchemaDoesNotHave(t *testing.T) {
	_, socket := serve(t, "")
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8"} {
		for _, tt := range []struct {
			method, body string
			status       int
			says         string
		}{
			{"Status", `{}`, http.StatusOK, `"version":"here"`},
			{"Status", ``, http.StatusBadRequest, "the least is {}"},
			{"Status", `[]`, http.StatusBadRequest, "StatusRequest"},
			{"StartSearch", `{"settings":{"budgetUSD":2.5}}`, http.StatusBadRequest, `unknown field \"budgetUSD\"`},
			{"StartSearch", `{"settings":{"budgetUsd":"dear"}}`, http.StatusBadRequest, `budgetUsd`},
			// Both spellings are of the schema: the run is what is refused.
			{"ImportRuns", `{"runs":[{"runtimeSeconds":1}]}`, http.StatusBadRequest, `"code":"invalid_argument"`},
			{"ImportRuns", `{"runs":[{"runtime_seconds":1}]}`, http.StatusBadRequest, `"code":"invalid_argument"`},
		} {
			status, answer := post(t, socket, contentType, tt.method, tt.body)
			if status != tt.status || !strings.Contains(answer, tt.says) {
				t.Errorf("%s %s: status %d, %s; want %d and %q", tt.method, tt.body, status, answer, tt.status, tt.says)
			}
			if strings.HasPrefix(tt.method, "Import") && strings.Contains(answer, "unknown field") {
				t.Errorf("%s is called an unknown field: %s", tt.body, answer)
			}
		}
	}
}
