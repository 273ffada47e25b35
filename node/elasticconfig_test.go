package node

import (
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func TestElasticConfig(t *testing.T) {
	for text, want := range map[string]string{
		``: "",
		"http = \"127.0.0.1:7748\"\ncores = 400\nmemory = \"1600GiB\"": "",
		`http = "[::1]:0"`:        "",
		`http = "0.0.0.0:7748"`:   "elastic.http asks for no token, so it must be an address of this host alone",
		`http = "localhost:7748"`: "elastic.http asks for no token",
		`http = "127.0.0.1"`:      "elastic.http must be a host and a port",
		`cores = -1`:              "elastic.cores must be between 0 and 2^31: -1",
		`cores = nan`:             "elastic.cores must be between 0 and 2^31: NaN",
		`memory = "much"`:         `must be a size such as "64GiB": "much"`,
	} {
		var c ElasticConfig
		_, err := toml.Decode(text, &c)
		if err == nil {
			err = c.validate()
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	var c ElasticConfig
	if _, err := toml.Decode(`memory = "2GiB"`, &c); err != nil || c.cluster().Memory != 2<<30 {
		t.Errorf("%+v, %v", c, err)
	}
}
