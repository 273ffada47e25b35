package private

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"

	karasuv1 "github.com/karasu-project/karasu/proto/karasu/v1"
	"github.com/karasu-project/karasu/store/internal/kv"
)

// attemptPrefix, the hash of an application's id and the ID of an execution hold the
// number of the attempt, four bytes. A resource manager starts an application again
// only where it failed, which the earlier attempt's own record may not tell.
const attemptPrefix = 'a'

const attemptKeySize = 1 + 16 + runIDSize

// attemptKey returns nil where the execution is no numbered attempt.
func attemptKey(e *karasuv1.Execution, id []byte) (key, value []byte) {
	n, err := strconv.ParseUint(e.GetAttempt(), 10, 32)
	if err != nil || e.GetApplicationId() == "" || e.GetFramework() != "spark" {
		return nil, nil
	}
	h := sha256.Sum256([]byte(e.GetFramework() + "\x00" + e.GetApplicationId()))
	key = append(append([]byte{attemptPrefix}, h[:16]...), id...)
	return key, binary.BigEndian.AppendUint32(nil, uint32(n))
}

// otherAttempts returns the IDs of earlier attempts of the same application, and whether
// there is a later one.
func otherAttempts(t *kv.Txn, e *karasuv1.Execution, id []byte) (earlier [][]byte, superseded bool, err error) {
	key, value := attemptKey(e, id)
	if key == nil {
		return nil, false, nil
	}
	err = t.Each(key[:len(key)-runIDSize], func(other, n []byte) error {
		if len(other) != attemptKeySize || len(n) != 4 {
			return fmt.Errorf("%w: attempt under key %x", ErrCorrupt, other)
		}
		switch bytes.Compare(n, value) {
		case -1:
			earlier = append(earlier, other[len(other)-runIDSize:])
		case 1:
			superseded = true
		}
		return nil
	})
	return earlier, superseded, err
}

// placeEarlier names the earlier attempts anew, which have failed.
func placeEarlier(t *kv.Txn, p *packer, e *karasuv1.Execution, id []byte, name Namer) error {
	earlier, _, err := otherAttempts(t, e, id)
	if err != nil {
		return err
	}
	for _, other := range earlier {
		head, err := getHead(t, p, other)
		if err != nil {
			return err
		}
		var out Put
		changed, err := place(t, other, head, name, &out)
		if err != nil {
			return err
		}
		if changed {
			if err := setHead(t, p, other, head); err != nil {
				return err
			}
		}
	}
	return nil
}
