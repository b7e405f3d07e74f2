package deadletter

// Erase forgets the dead letters of a tenant up to these offsets by partition, or all of them
// without offsets.
func (s *Store) Erase(tenant string, through map[int]uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range []*index{s.letters, s.next} {
		if x == nil || x.tenants[tenant] == nil {
			continue
		}
		t := x.tenants[tenant]
		x.remove(t, func(l *Letter) bool {
			gone := through == nil || l.offset <= through[l.partition]
			if gone {
				delete(x.decisions, l.ID)
			}
			return gone
		})
		t.forgotten = 0
	}
}
