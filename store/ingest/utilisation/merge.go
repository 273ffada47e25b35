package utilisation

// Merge joins what several sources told, such as an export a node. Nodes of one name are
// one node.
func Merge(sources ...*Usage) (*Usage, error) {
	out := newUsage()
	for _, u := range sources {
		for r, samples := range u.samples {
			for _, s := range samples {
				s.node = out.node(u.nodes[s.node])
				if err := out.add(Resource(r), s); err != nil {
					return nil, err
				}
			}
		}
		out.BadLines += u.BadLines
		out.Cut = out.Cut || u.Cut
	}
	return out, nil
}
