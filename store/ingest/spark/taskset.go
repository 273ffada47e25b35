package spark

// taskSet remembers which partitions of a stage are counted, in pages of 4096 bits that
// exist where a bit is set. All sets of a log share a budget of pages.
type taskSet struct {
	pages map[int64]*[pageWords]uint64
}

const (
	pageWords = 64
	pageBits  = pageWords * 64
	// maxPages bounds the pages of all stages: 32 MiB, for 268 million tasks.
	maxPages = 1 << 16
)

// add marks a partition. It returns whether it was new, and whether it is kept; where
// the budget is used up it is not.
func (t *taskSet) add(index int64, budget *int) (isNew, kept bool) {
	page := t.pages[index/pageBits]
	if page == nil {
		if *budget >= maxPages {
			return true, false
		}
		*budget++
		if t.pages == nil {
			t.pages = make(map[int64]*[pageWords]uint64)
		}
		page = new([pageWords]uint64)
		t.pages[index/pageBits] = page
	}
	word, bit := index%pageBits/64, uint64(1)<<(index%64)
	isNew = page[word]&bit == 0
	page[word] |= bit
	return isNew, true
}
