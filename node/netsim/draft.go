package netsim

import (
	"fmt"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"google.golang.org/protobuf/proto"

	"github.com/karasu-project/karasu/model"
	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/commons"
)

// topicsOf is how many topics the records of a network are spread over.
const topicsOf = 8

// draft is a record to be signed: the summary of a workload with one configuration, an
// envelope of about 300 bytes.
type draft struct {
	number  int
	created time.Time
}

func (d draft) topic() model.Topic {
	return model.Topic{Infrastructure: "aws-ec2", Framework: "spark", Algorithm: fmt.Sprintf("job%d", d.number%topicsOf)}
}

func (d draft) seal(key crypto.PrivKey) (*commons.Record, error) {
	pseudonym := fmt.Sprintf("%032x", d.number)
	body, err := proto.Marshal(commons.EncodeSummary(model.Summary{
		Topic: d.topic(), Pseudonym: pseudonym,
		Points: []model.Point{{
			Configuration: model.Configuration{MachineType: "m4.xlarge", ScaleOut: 1 + d.number%64},
			Resources:     model.Resources{VCPUs: 4, MemoryGiB: 16},
			OK:            1,
		}},
	}))
	if err != nil {
		return nil, err
	}
	return commons.Seal(key, &karasuv1.Record{
		Topic: d.topic().String(), Kind: karasuv1.RecordKind_RECORD_KIND_RUN_SUMMARY,
		Key: commons.SummaryKey(pseudonym), Revision: 1,
		Created: d.created.Unix(), NotAfter: d.created.Add(lifetime).Unix(), Body: body,
	})
}

// lifetime of the records, which outlives every scenario.
const lifetime = 100 * 24 * time.Hour

// today is when records are created: days are all that nodes say.
func today() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }
