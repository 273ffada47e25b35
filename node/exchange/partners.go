package exchange

// Partners is how many connected peers are known to speak the sync protocol.
func (e *Exchange) Partners() int { return len(e.speakers()) }
