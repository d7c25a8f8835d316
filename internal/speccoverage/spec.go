package main

import (
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// area is where the ids of an area stand in the specification.
type area struct {
	file string
	// rows: the n-th row of the table under "Scenarios that must hold" has the id <rows>/<n>.
	rows string
	// last is the last of these rows that belongs to the area; 0 when all do.
	last int
	// ids: what a heading or the first cell of a row names <ids>-<n>.
	ids string
}

// areas are those that are built. A new one is a line here.
var areas = []area{
	{file: "cloneset.md", rows: "cloneset"},
	{file: "inplace.md", rows: "inplace"},
	{file: "pitfalls.md", ids: "PF-CS"},
	{file: "launchorder.md", rows: "launchorder", last: 22},
	{file: "pitfalls.md", ids: "PF-IP"},
	{file: "pitfalls.md", ids: "PF-LP"},
	{file: "scenarios.md", ids: "S-CS"},
	{file: "scenarios.md", ids: "S-LP"},
}

// exempt are the scenarios of these areas that belong to a part that is not built yet.
var exempt = map[string]string{
	"cloneset/57": "image pre-download",
	"S-CS-8":      "image pre-download",
	"inplace/50":  "node daemon",
	"inplace/51":  "node daemon",
	"inplace/56":  "pod webhook",
	"inplace/57":  "DaemonSet",
	"inplace/58":  "StatefulSet",
}

// scenario is one that the specification says must hold.
type scenario struct {
	id string
	// exempt is the part that it waits for, or empty.
	exempt string
}

// read collects the scenarios of the areas, in the order in which they stand. An area without scenarios and an exempt id that
// does not exist are errors, for then the specification is not the one that is meant.
func read(spec fs.FS, areas []area, exempt map[string]string) ([]scenario, error) {
	var list []scenario
	found := map[string]bool{}
	for _, a := range areas {
		data, err := fs.ReadFile(spec, a.file)
		if err != nil {
			return nil, err
		}
		ids := a.scan(strings.Split(string(data), "\n"))
		if len(ids) == 0 {
			return nil, fmt.Errorf("%s has no scenarios %s", a.file, a.rows+a.ids)
		}
		for _, id := range ids {
			if found[id] {
				return nil, fmt.Errorf("%s has %s twice", a.file, id)
			}
			found[id] = true
			list = append(list, scenario{id, exempt[id]})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(exempt)) {
		if !found[id] {
			return nil, fmt.Errorf("%s is exempt, but no area has it", id)
		}
	}
	return list, nil
}

var row = regexp.MustCompile(`^\| *(\d+) *\|`)

// scan finds the ids of an area in the lines of its file.
func (a area) scan(lines []string) []string {
	named := regexp.MustCompile(`^(?:#+|\|) *(` + regexp.QuoteMeta(a.ids) + `-\d+)\b`)
	var ids []string
	inside := false
	for _, line := range lines {
		if strings.HasPrefix(line, "## ") {
			inside = strings.HasSuffix(strings.TrimSpace(line), "Scenarios that must hold")
		}
		switch {
		case a.rows != "":
			if m := row.FindStringSubmatch(line); inside && m != nil && a.has(m[1]) {
				ids = append(ids, a.rows+"/"+m[1])
			}
		default:
			if m := named.FindStringSubmatch(line); m != nil {
				ids = append(ids, m[1])
			}
		}
	}
	return ids
}

// has says whether a row belongs to the area.
func (a area) has(number string) bool {
	n, err := strconv.Atoi(number)
	return err == nil && (a.last == 0 || n <= a.last)
}
