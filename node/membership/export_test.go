package membership

// HeldLists counts the lists that a circle keeps in memory.
func (c *Circle) HeldLists() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.known {
		if d.list != nil || d.record != nil {
			n++
		}
	}
	return n
}
