package robocache_test

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

var proseFlag = flag.String("prose", "", "table prints the counts of TestProse, update lowers the limits, a `folder` lists its words")

const (
	proseLimits = "testdata/prose.txt"
	fewestWords = 60_000 // in doc comments of public packages
)

// proseLimit limits the uses of each of proseClasses. A group fails if it has more than counts, and also more than rates allow
// for its words: so neither a rewritten text nor a deleted one fails.
type proseLimit struct {
	counts [3]int
	rates  [3]float64 // per 1,000 words
}

// proseTarget has the rates of a group without a line in prose.txt. No rate of doc comments, and none of "of", is lower.
var proseTarget = [3]float64{5, 1, 30}

var proseClasses = [3]struct{ name, cure string }{
	{"what", "name the thing, or use if or when: CONTRIBUTING.md"},
	{"tell", "code does not speak: it returns, prints, records, reports"},
	{"of", `name the thing instead of its relations: "the frame rate", not "the rate of the frames"`},
}

// proseWords are the classes of words.
var proseWords = map[string]int{"what": 0, "whose": 0, "whatever": 0, "of": 2,
	"tell": 1, "tells": 1, "told": 1, "telling": 1, "say": 1, "says": 1, "said": 1, "saying": 1}

// proseUse is a use of a word of the rule.
type proseUse struct {
	file  string
	line  int
	class int
	word  string
}

// prose is the text of a group, such as the comments of a package.
type prose struct {
	words int
	uses  []proseUse
}

// add counts the words of a text, which begins at a line of a file. Texts of fewer than least words are left out.
func (p *prose) add(file string, line int, text string, least int) {
	words, uses := 0, len(p.uses)
	use := func(class int, word string) { p.uses = append(p.uses, proseUse{file, line, class, word}) }
	last, before := "", "" // the two words before this one
	for i := 0; i < len(text); {
		begin := i
		for i < len(text) && (text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z' || text[i] == '\'') {
			i++
		}
		if begin == i {
			if text[i] == '\n' {
				line++
			}
			i++
			continue
		}
		word := strings.ToLower(text[begin:i])
		words++
		if class, ok := proseWords[word]; ok {
			use(class, word)
		}
		switch {
		case last == "of" && word == "which", last == "those" && word == "that":
			use(0, last+" "+word)
		case before == "that" && last == "there" && (word == "is" || word == "are"):
			use(0, "that there "+word)
		}
		last, before = word, last
	}
	if words < least {
		p.uses = p.uses[:uses]
		return
	}
	p.words += words
}

func (p *prose) counts() (n [3]int) {
	for _, u := range p.uses {
		n[u.class]++
	}
	return n
}

func (p *prose) rates() (r [3]float64) {
	for class, n := range p.counts() {
		r[class] = 1000 * float64(n) / float64(max(p.words, 1))
	}
	return r
}

// proseGroups returns the texts of the tree by group. A group is a kind of text and a folder, such as "doc align":
// doc is doc comments of public packages, comment all comments in Go, string the strings in Go outside tests.
func proseGroups(t *testing.T) map[string]*prose {
	groups := map[string]*prose{}
	group := func(kind, dir string) *prose {
		name := kind + " " + dir
		if groups[name] == nil {
			groups[name] = &prose{}
		}
		return groups[name]
	}
	for _, f := range goFiles(t) {
		comments, texts := group("comment", f.dir), group("string", f.dir)
		for _, c := range f.ast.Comments {
			comments.add(f.name, f.line(c), commentText(c), 0)
		}
		if f.test {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec, *ast.Field: // a field has a tag
				field, ok := n.(*ast.Field)
				return ok && field.Tag == nil
			case *ast.BasicLit:
				if n.Kind == token.STRING {
					text, err := strconv.Unquote(n.Value)
					require.NoError(t, err)
					texts.add(f.name, f.line(n), text, 4)
				}
			}
			return true
		})
		if isPublic(f.dir) && f.ast.Name.Name != "main" {
			docs := group("doc", f.dir)
			for _, c := range docComments(f.ast) {
				docs.add(f.name, f.line(c), commentText(c), 0)
			}
		}
	}
	for _, name := range treeFiles(t) {
		var texts []textAt
		kind := strings.TrimPrefix(path.Ext(name), ".")
		switch {
		case strings.Contains(name, "/vendor/"):
		case kind == "py":
			texts = quotedTexts(read(t, name), []string{"#"}, []string{`"""`, `'''`, `"`, `'`})
		case kind == "js":
			texts = quotedTexts(read(t, name), []string{"//", "/*"}, []string{`"`, `'`, "`"})
		case kind == "md":
			texts = markdownTexts(read(t, name))
		}
		for _, text := range texts {
			group(kind, path.Dir(name)).add(name, text.line, text.text, text.least)
		}
	}
	return groups
}

func read(t *testing.T, name string) string {
	return string(filetest.Read(t, filepath.FromSlash(name)))
}

// commentText returns the lines of a comment, without directives such as //go:embed.
func commentText(c *ast.CommentGroup) string {
	var lines []string
	for _, l := range c.List {
		if strings.HasPrefix(l.Text, "//go:") {
			lines = append(lines, "")
		} else {
			lines = append(lines, l.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// docComments returns the comments that `go doc -all` shows: of the package, and of exported names and their exported fields and methods.
func docComments(f *ast.File) []*ast.CommentGroup {
	found := []*ast.CommentGroup{f.Doc}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if exportedFunc(d) {
				found = append(found, d.Doc)
			}
		case *ast.GenDecl:
			var inside []*ast.CommentGroup
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						inside = append(inside, spec.Doc, spec.Comment)
						inside = append(inside, fieldComments(spec.Type)...)
					}
				case *ast.ValueSpec:
					if exported(spec.Names) {
						inside = append(inside, spec.Doc, spec.Comment)
					}
				}
			}
			if len(inside) > 0 {
				found = append(append(found, d.Doc), inside...)
			}
		}
	}
	return slices.DeleteFunc(found, func(c *ast.CommentGroup) bool { return c == nil })
}

// fieldComments returns the comments of the exported fields of a struct, or of the exported methods of an interface.
func fieldComments(e ast.Expr) (found []*ast.CommentGroup) {
	ast.Inspect(e, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if ok && len(field.Names) > 0 && !exported(field.Names) {
			return false
		}
		if ok {
			found = append(found, field.Doc, field.Comment)
		}
		return true
	})
	return found
}

func exported(names []*ast.Ident) bool { return slices.ContainsFunc(names, (*ast.Ident).IsExported) }

// exportedFunc reports whether go doc shows a function, or a method of an exported type.
func exportedFunc(d *ast.FuncDecl) bool {
	if !d.Name.IsExported() || d.Recv == nil {
		return d.Name.IsExported()
	}
	receiver := d.Recv.List[0].Type
	for {
		switch e := receiver.(type) {
		case *ast.StarExpr:
			receiver = e.X
		case *ast.IndexExpr:
			receiver = e.X
		case *ast.IndexListExpr:
			receiver = e.X
		default:
			name, ok := receiver.(*ast.Ident)
			return ok && name.IsExported()
		}
	}
}

// textAt is a text with its first line. It counts if it has at least so many words.
type textAt struct {
	line  int
	text  string
	least int
}

// quotedTexts returns the comments and strings of a source in Python or JavaScript. A comment begins with one of marks, a
// string with one of quotes. Strings in ' and " end with their line, so a quote in a regular expression hides only that line.
func quotedTexts(source string, marks, quotes []string) (texts []textAt) {
	line := 1
	for i := 0; i < len(source); {
		starts := func(s string) bool { return strings.HasPrefix(source[i:], s) }
		begin, end, least := i, "", 0
		if k := slices.IndexFunc(marks, starts); k >= 0 {
			if end = "\n"; marks[k] == "/*" {
				end = "*/"
			}
			i += len(marks[k])
		} else if k := slices.IndexFunc(quotes, starts); k >= 0 {
			end, least = quotes[k], 4
			i += len(end)
		}
		for ; end != "" && i < len(source) && !starts(end); i++ {
			if source[i] == '\n' && (end == `"` || end == `'`) {
				break
			}
			if source[i] == '\\' && least > 0 {
				i++
			}
		}
		if end != "" {
			text := source[begin:min(i, len(source))]
			texts = append(texts, textAt{line, text, least})
			line += strings.Count(text, "\n")
		}
		if end == "" || end == "\n" {
			end = "x"
		}
		stop := min(i+len(end), len(source))
		line += strings.Count(source[min(i, stop):stop], "\n")
		i = stop
	}
	return texts
}

// markdownTexts returns the lines of a document that are no code.
func markdownTexts(source string) (texts []textAt) {
	fenced := false
	var text strings.Builder // with an empty line for each line of code
	for line := range strings.Lines(source) {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			fenced = !fenced
		}
		if fence || fenced || strings.HasPrefix(line, "    ") {
			line = "\n"
		}
		text.WriteString(line)
	}
	return []textAt{{1, text.String(), 0}}
}

// readProseLimits returns the limits by group, from lines such as "doc align 9 2.5 1 0.3 95 26.1": a count and a rate for each class.
func readProseLimits(t *testing.T) map[string]proseLimit {
	limits := map[string]proseLimit{}
	for i, line := range strings.Split(strings.TrimSpace(read(t, proseLimits)), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var kind, dir string
		var l proseLimit
		_, err := fmt.Sscan(line, &kind, &dir, &l.counts[0], &l.rates[0], &l.counts[1], &l.rates[1], &l.counts[2], &l.rates[2])
		require.NoError(t, err, "%s:%d", proseLimits, i+1)
		limits[kind+" "+dir] = l
	}
	return limits
}

// limitOf returns the limit of a group: rates are no lower than the target for doc comments, and for "of" in any text.
func limitOf(limits map[string]proseLimit, name string) proseLimit {
	l, ok := limits[name]
	for class := range l.rates {
		if !ok || class == 2 || strings.HasPrefix(name, "doc ") {
			l.rates[class] = max(l.rates[class], proseTarget[class])
		}
	}
	return l
}

// writeProseLimits lowers limits to the counts and rates of now, and drops groups that are gone. No limit rises.
func writeProseLimits(t *testing.T, groups map[string]*prose, limits map[string]proseLimit) {
	head, _, _ := strings.Cut(read(t, proseLimits), "\n\n")
	lines := []string{head, ""}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		line, l, counts, rates := name, limitOf(limits, name), groups[name].counts(), groups[name].rates()
		for class := range rates {
			line += fmt.Sprintf(" %d %.1f", min(l.counts[class], counts[class]), min(l.rates[class], math.Ceil(rates[class]*10)/10))
		}
		lines = append(lines, line)
	}
	require.NoError(t, os.WriteFile(proseLimits, []byte(strings.Join(lines, "\n")+"\n"), 0o666))
}

func TestProse(t *testing.T) {
	groups, limits := proseGroups(t), readProseLimits(t)
	totals := map[string]*prose{}
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		p := groups[name]
		kind, dir, _ := strings.Cut(name, " ")
		if *proseFlag == "table" {
			r := p.rates()
			fmt.Printf("%-50s %7d words, per 1,000: what %5.1f, tell %5.1f, of %5.1f\n", name, p.words, r[0], r[1], r[2])
		}
		if *proseFlag == dir {
			for _, u := range p.uses {
				fmt.Printf("%s:%d: %s: %s\n", u.file, u.line, kind, u.word)
			}
		}
		if totals[kind] == nil {
			totals[kind] = &prose{}
		}
		totals[kind].words += p.words
		totals[kind].uses = append(totals[kind].uses, p.uses...)
	}
	for _, kind := range slices.Sorted(maps.Keys(totals)) {
		if *proseFlag == "table" {
			r := totals[kind].rates()
			fmt.Printf("%-50s %7d words, per 1,000: what %5.1f, tell %5.1f, of %5.1f\n", "all "+kind, totals[kind].words, r[0], r[1], r[2])
		}
	}
	if *proseFlag == "update" {
		writeProseLimits(t, groups, limits)
	}
	assert.GreaterOrEqual(t, totals["doc"].words, fewestWords, "words in doc comments of public packages")
	for name := range limits {
		assert.NotNil(t, groups[name], "%s has the line %q for texts that are gone: remove it, or move it to their new folder", proseLimits, name)
	}
	for name, p := range groups {
		limit, n := limitOf(limits, name), p.counts()
		for class := range n {
			most := max(limit.counts[class], int(math.Ceil(limit.rates[class]*float64(p.words)/1000)))
			if n[class] > most {
				t.Errorf("%s: %q: got %d uses in %d words, want at most %d (%d, or %.1f per 1,000 words, by %s); %s. Newest files first:\n%s", name,
					proseClasses[class].name, n[class], p.words, most, limit.counts[class], limit.rates[class], proseLimits, proseClasses[class].cure, p.newest(class))
			}
		}
	}
}

// newest lists uses of a class of words, at most 20, those in the files that changed last first.
func (p *prose) newest(class int) string {
	changed := map[string]time.Time{}
	var uses []proseUse
	for _, u := range p.uses {
		if _, ok := changed[u.file]; !ok {
			if info, err := os.Stat(filepath.FromSlash(u.file)); err == nil {
				changed[u.file] = info.ModTime()
			}
		}
		if u.class == class {
			uses = append(uses, u)
		}
	}
	slices.SortStableFunc(uses, func(a, b proseUse) int {
		return cmp.Or(changed[b.file].Compare(changed[a.file]), cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line))
	})
	var lines []string
	for _, u := range uses[:min(20, len(uses))] {
		lines = append(lines, fmt.Sprintf("\t%s:%d: %s", u.file, u.line, u.word))
	}
	return strings.Join(lines, "\n")
}

func TestProseFindsWords(t *testing.T) {
	count := func(texts ...textAt) (found []string) {
		p := &prose{}
		for _, text := range texts {
			p.add("f", text.line, text.text, text.least)
		}
		for _, u := range p.uses {
			found = append(found, fmt.Sprintf("%d %s", u.line, u.word))
		}
		return append(found, fmt.Sprintf("%d words", p.words))
	}
	comment := "// What it says, those\n// that that there are. Somewhat. Of\n// which"
	want := []string{"1 what", "1 says", "2 those that", "2 that there are", "2 of", "3 of which", "11 words"}
	assert.Equal(t, want, count(textAt{1, comment, 0}))
	python := "x = 'of two' # what's\n\"\"\"Says what.\n\nof 'it' \"\"\"\ny = \"a \\\" of of it\" # of\nz = 'one of one of'"
	want = []string{"2 says", "2 what", "4 of", "5 of", "5 of", "5 of", "6 of", "6 of", "14 words"}
	assert.Equal(t, want, count(quotedTexts(python, []string{"#"}, []string{`"""`, `"`, `'`})...))
	script := "a = `of 4 words\nor of more`; /* of\n */ re = /'/\n// what"
	want = []string{"1 of", "2 of", "2 of", "4 what", "7 words"}
	assert.Equal(t, want, count(quotedTexts(script, []string{"//", "/*"}, []string{`"`, `'`, "`"})...))
	markdown := "of\n\n    of\n```\nof\n```\nsay\n"
	assert.Equal(t, []string{"1 of", "7 say", "2 words"}, count(markdownTexts(markdown)...))
}

// selfExplained are methods of interfaces of the standard library, which need no comment.
var selfExplained = []string{"Error", "String", "Unwrap", "Is"}

// A declaration of several constants, variables or types may have one comment for all.
func TestEveryExportedNameHasADocComment(t *testing.T) {
	for _, f := range goFiles(t) {
		if f.test || !isPublic(f.dir) || f.ast.Name.Name == "main" {
			continue
		}
		check := func(name *ast.Ident, comments ...*ast.CommentGroup) {
			documented := slices.ContainsFunc(comments, func(c *ast.CommentGroup) bool { return c != nil })
			if name.IsExported() && !documented {
				t.Errorf("%s:%d: %s has no doc comment; want one that begins with its name", f.name, f.line(name), name.Name)
			}
		}
		for _, d := range f.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if exportedFunc(d) && (d.Recv == nil || !slices.Contains(selfExplained, d.Name.Name)) {
					check(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						check(spec.Name, d.Doc, spec.Doc, spec.Comment)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							check(name, d.Doc, spec.Doc, spec.Comment)
						}
					}
				}
			}
		}
	}
}
