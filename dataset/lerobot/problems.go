package lerobot

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

// problems counts what is not as declared, each kind at each place once.
type problems struct {
	list []problem
	at   map[[2]string]int
}

type problem struct {
	where, what, first string
	count              int
}

func (p *problems) add(where, what, detail string) {
	key := [2]string{where, what}
	if i, ok := p.at[key]; ok {
		p.list[i].count++
		return
	}
	if p.at == nil {
		p.at = map[[2]string]int{}
	}
	p.at[key] = len(p.list)
	p.list = append(p.list, problem{where, what, detail, 1})
}

// told returns the problems as dataset.Info has them.
func (p *problems) told() []dataset.Problem {
	list := make([]dataset.Problem, len(p.list))
	for i, one := range p.list {
		what := one.what + ": " + one.first
		if one.count > 1 {
			what = fmt.Sprintf("%s: %d, the first: %s", one.what, one.count, one.first)
		}
		list[i] = dataset.Problem{Where: one.where, What: what}
	}
	return list
}

// unreadable notes that a file is not there or cannot be read.
func (s *Set) unreadable(name string, err error) {
	if errors.Is(err, fs.ErrNotExist) {
		s.problems.add(name, "missing", "there is no such file")
		return
	}
	s.problems.add(name, "cannot be read", err.Error())
}

// ranges lists numbers that ascend: "3, 7-9 and 12 more".
func ranges(list []int64) string {
	var parts []string
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j] == list[j-1]+1 {
			j++
		}
		if len(parts) == 8 {
			return strings.Join(parts, ", ") + " and " + strconv.Itoa(len(list)-i) + " more"
		}
		if part := strconv.FormatInt(list[i], 10); j-i > 1 {
			parts = append(parts, part+"-"+strconv.FormatInt(list[j-1], 10))
		} else {
			parts = append(parts, part)
		}
		i = j
	}
	return strings.Join(parts, ", ")
}
