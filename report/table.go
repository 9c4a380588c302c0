package report

import "slices"

// An armTable is a table of one implementation's trial.
type armTable struct {
	who   string
	table grid
}

// Tables are those of the first valid trial of each arm, each name's in one
// grid. Facts, two columns with the same names in every arm, stand side by
// side; other tables with the same columns stand below each other.
func (s *section) Tables() []grid {
	var names []string
	byName := map[string][]armTable{}
	for _, a := range s.Arms {
		at := slices.IndexFunc(a.Trials, func(t *trialView) bool { return t.Counts && len(t.Tables) > 0 })
		if at < 0 {
			continue
		}
		for _, table := range a.Trials[at].Tables {
			if byName[table.Name] == nil {
				names = append(names, table.Name)
			}
			byName[table.Name] = append(byName[table.Name], armTable{a.Treatment.Title, table})
		}
	}
	var merged []grid
	for _, name := range names {
		tables := byName[name]
		switch {
		case len(s.Arms) == 1:
			merged = append(merged, tables[0].table)
		case areFacts(tables):
			merged = append(merged, sideBySide(tables))
		default:
			merged = append(merged, below(tables)...)
		}
	}
	for i := range merged {
		merged[i].Note = "From the first valid trial of each implementation; every trial has its own below."
	}
	return merged
}

// areFacts reports whether the tables have two columns, and the same cells in
// the first.
func areFacts(tables []armTable) bool {
	first := tables[0].table
	return !slices.ContainsFunc(tables, func(t armTable) bool {
		return len(t.table.Columns) != 2 || t.table.Columns[0] != first.Columns[0] ||
			!slices.EqualFunc(t.table.Rows, first.Rows, func(a, b []string) bool { return a[0] == b[0] })
	})
}

func sideBySide(tables []armTable) grid {
	joined := tables[0].table
	joined.Columns, joined.Rows = joined.Columns[:1:1], nil
	for _, row := range tables[0].table.Rows {
		joined.Rows = append(joined.Rows, row[:1:1])
	}
	for _, t := range tables {
		joined.Columns = append(joined.Columns, column{Title: t.who, Number: t.table.Columns[1].Number})
		for i, row := range t.table.Rows {
			joined.Rows[i] = append(joined.Rows[i], row[1])
		}
	}
	return joined
}

// below puts tables with the same columns into one, with the implementation in
// front.
func below(tables []armTable) []grid {
	var merged []grid
	for _, t := range tables {
		table := t.table
		table.Columns, table.Rows = append(text("Implementation"), table.Columns...), nil
		for _, row := range t.table.Rows {
			table.Rows = append(table.Rows, append([]string{t.who}, row...))
		}
		at := slices.IndexFunc(merged, func(g grid) bool { return sameTitles(g.Columns, table.Columns) })
		if at >= 0 {
			merged[at].Rows = append(merged[at].Rows, table.Rows...)
		} else {
			merged = append(merged, table)
		}
	}
	return merged
}

func sameTitles(a, b []column) bool {
	return slices.EqualFunc(a, b, func(x, y column) bool { return x.Title == y.Title })
}
