package sqlite

import (
	"strconv"
	"strings"
)

// column is a column of a table, as its CREATE TABLE statement declares it.
type column struct {
	at      int   // its index in a row
	rowid   bool  // an INTEGER PRIMARY KEY: rows store NULL for it, and its value is the row's number
	missing value // its value in rows that were written before ALTER TABLE added it
}

// mostColumns is SQLite's largest possible limit for the columns of a table.
const mostColumns = 32767

// parseTable returns the columns that a CREATE TABLE statement declares, by their names in lower case, without computed columns. hasRowid
// is false for a table WITHOUT ROWID. If the statement is invalid, columns is nil.
// https://www.sqlite.org/lang_createtable.html
func parseTable(statement string) (columns map[string]column, hasRowid bool) {
	p := &parser{rest: statement}
	for p.next(); !p.is("("); p.next() {
		if p.ended() {
			return nil, false
		}
	}
	columns = map[string]column{}
	integer := map[string]bool{} // columns with a type that makes them a rowid if they are the primary key
	for at := 0; p.is("(") || p.is(","); {
		if p.next(); p.is("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN") {
			if key := strings.ToLower(p.tableConstraints()); integer[key] {
				c := columns[key]
				c.rowid = true
				columns[key] = c
			}
			break
		}
		d := p.column()
		if d.name == "" || at == mostColumns {
			return nil, false
		}
		name := strings.ToLower(d.name)
		if !d.computed {
			columns[name] = column{at: at, rowid: d.integer && d.key, missing: d.missing}
			integer[name] = d.integer
		}
		if !d.computed || d.stored {
			at++
		}
	}
	if !p.is(")") {
		return nil, false
	}
	hasRowid = true
	for p.next(); !p.ended(); p.next() {
		if p.is("WITHOUT") {
			p.next()
			hasRowid = !p.is("ROWID")
		}
	}
	return columns, hasRowid
}

// declaration is the declaration of one column in a CREATE TABLE statement.
type declaration struct {
	name             string
	integer          bool // its type is INTEGER, and not INT or INTEGER(8)
	key              bool // PRIMARY KEY, but not DESC
	computed, stored bool
	missing          value
}

// column reads a declaration up to the comma or parenthesis after it.
func (p *parser) column() (d declaration) {
	if p.kind != word && p.kind != quoted {
		return d
	}
	d.name = p.text
	p.next()
	if d.integer = strings.EqualFold(p.text, "INTEGER"); d.integer { // quoted or not
		p.next()
		d.integer = p.ended() || p.is(",", ")", "CONSTRAINT", "PRIMARY", "NOT", "NULL", "UNIQUE", "CHECK", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS")
	}
	for !p.ended() && !p.is(",", ")") {
		switch {
		case p.is("("):
			p.parentheses()
			continue
		case p.is("CONSTRAINT", "COLLATE", "REFERENCES", "SET"): // a name follows, or an action such as SET DEFAULT
			p.next()
		case p.is("PRIMARY"):
			p.next() // KEY
			p.next()
			d.key = !p.is("DESC")
			continue
		case p.is("DEFAULT"):
			p.next()
			d.missing = p.literal()
			continue
		case p.is("AS"):
			d.computed = true
		case p.is("STORED"):
			d.stored = true
		}
		p.next()
	}
	return d
}

// literal reads the value after DEFAULT. An expression has the kind unknown; ALTER TABLE adds only columns with a literal default.
func (p *parser) literal() (v value) {
	sign := ""
	if p.is("-", "+") {
		sign = p.text
		p.next()
	}
	switch {
	case p.is("("):
		p.parentheses()
		return value{kind: unknown}
	case p.kind == quoted:
		v = value{kind: text, data: []byte(p.text)}
	case p.is("NULL"):
	case p.is("TRUE"):
		v = value{kind: integer, number: 1}
	case p.is("FALSE"):
		v = value{kind: integer}
	default:
		v.kind = unknown
		if n, err := strconv.ParseInt(sign+p.text, 10, 64); err == nil {
			v = value{kind: integer, number: n}
		}
	}
	p.next()
	return v
}

// tableConstraints reads up to the parenthesis that ends the columns. It returns the name of the column that alone is the primary key;
// empty if there is none.
func (p *parser) tableConstraints() (key string) {
	for !p.ended() && !p.is(")") {
		switch {
		case p.is("CONSTRAINT"):
			p.next()
		case p.is("PRIMARY"):
			p.next() // KEY
			p.next() // the parenthesis
			p.next()
			key = p.text
			for p.next(); !p.ended() && !p.is(")"); p.next() {
				if p.is(",") {
					key = ""
				}
			}
		case p.is("("):
			p.parentheses()
			continue
		}
		p.next()
	}
	return key
}

// parentheses skips a pair of parentheses and its content.
func (p *parser) parentheses() {
	for deep := 0; !p.ended(); {
		switch {
		case p.is("("):
			deep++
		case p.is(")"):
			deep--
		}
		if p.next(); deep == 0 {
			return
		}
	}
}

// The kinds of tokens.
const (
	end = iota
	word
	quoted
	sign // one character
)

// parser reads the tokens of a statement.
type parser struct {
	rest string
	kind int
	text string // for a quoted token, the text between the quotes
}

func (p *parser) ended() bool { return p.kind == end }

// is reports whether the current token is one of the keywords or characters in texts.
func (p *parser) is(texts ...string) bool {
	for _, t := range texts {
		if (p.kind == word || p.kind == sign) && strings.EqualFold(p.text, t) {
			return true
		}
	}
	return false
}

// next reads the next token. A quotation or comment without an end extends to the end of the statement.
func (p *parser) next() {
	p.skip()
	p.kind, p.text = end, ""
	if p.rest == "" {
		return
	}
	switch c := p.rest[0]; {
	case c == '\'' || c == '"' || c == '`':
		p.kind, p.rest = quoted, p.rest[1:]
		n := strings.IndexByte(p.rest, c)
		for n >= 0 && strings.HasPrefix(p.rest[n+1:], string(c)) { // a quote in a quotation is written twice
			more := strings.IndexByte(p.rest[n+2:], c)
			if more < 0 {
				n = -1
				break
			}
			n += 2 + more
		}
		if n < 0 {
			p.text, p.rest = p.rest, ""
			return
		}
		p.text, p.rest = strings.ReplaceAll(p.rest[:n], string([]byte{c, c}), string(c)), p.rest[n+1:]
	case c == '[':
		p.kind = quoted
		p.text, p.rest, _ = strings.Cut(p.rest[1:], "]")
	default:
		n := 0
		for n < len(p.rest) && inWord(p.rest[n]) {
			n++
		}
		p.kind = word
		if n == 0 {
			p.kind, n = sign, 1
		}
		p.text, p.rest = p.rest[:n], p.rest[n:]
	}
}

// skip skips spaces and comments.
func (p *parser) skip() {
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\n\f\r")
		switch {
		case strings.HasPrefix(p.rest, "--"):
			_, p.rest, _ = strings.Cut(p.rest, "\n")
		case strings.HasPrefix(p.rest, "/*"):
			_, p.rest, _ = strings.Cut(p.rest[2:], "*/")
		default:
			return
		}
	}
}

// inWord reports whether a byte belongs to a name, a keyword or a number.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '.' || c >= 0x80
}
