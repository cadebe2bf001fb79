package main

import (
	"fmt"
	"strings"
)

// token is a token in a kernel source. A preprocessor directive is one token, with its continuation lines joined.
type token struct {
	text string
	line int
	kind tokenKind
	ifs  int // number of enclosing #if
}

type tokenKind int

const (
	punct tokenKind = iota
	ident
	number
	quoted
	directive
)

// unit is a source split into tokens and comments.
type unit struct {
	file     string
	tokens   []token
	comments map[int]comment // by line
}

type comment struct {
	text  string // without the slashes
	alone bool   // no code on its line
}

// sourceError is an error at a line in a source.
type sourceError struct {
	file string
	line int
	msg  string
}

func (e *sourceError) Error() string { return fmt.Sprintf("%s:%d: %s", e.file, e.line, e.msg) }

func (u *unit) errorf(line int, format string, args ...any) error {
	return &sourceError{u.file, line, fmt.Sprintf(format, args...)}
}

// longOnes lists the operators with several characters that matter here.
var longOnes = []string{"<<", ">>", "::", "##", "->", "&&", "||", "==", "!=", "<=", ">="}

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// lex splits a source into tokens. It handles only as much C++ as needed to find the host's declarations.
func lex(file string, data []byte) (*unit, error) {
	u := &unit{file: file, comments: map[int]comment{}}
	s, line, ifs := string(data), 1, 0
	fresh := true // no token on this line yet
	add := func(kind tokenKind, n int) {
		u.tokens = append(u.tokens, token{s[:n], line, kind, ifs})
		s, fresh = s[n:], false
	}
	for s != "" {
		switch c := s[0]; {
		case c == '\n':
			s, line, fresh = s[1:], line+1, true
		case c == ' ' || c == '\t' || c == '\r':
			s = s[1:]
		case strings.HasPrefix(s, "//"):
			text, _, _ := strings.Cut(s, "\n")
			u.comments[line] = comment{strings.TrimSpace(strings.TrimPrefix(text, "//")), fresh}
			s = s[len(text):]
		case strings.HasPrefix(s, "/*"):
			end := strings.Index(s, "*/")
			if end < 0 {
				return nil, u.errorf(line, "a comment has no end")
			}
			line += strings.Count(s[:end], "\n")
			s = s[end+2:]
		case c == '#' && fresh:
			text, lines := joined(s)
			word := strings.Fields(text[1:] + " .")[0]
			switch {
			case strings.HasPrefix(word, "if"):
				ifs++
			case word == "endif":
				ifs--
			}
			u.tokens = append(u.tokens, token{strings.TrimSpace(text[1:]), line, directive, ifs})
			for ; lines > 0; lines-- {
				_, s, _ = strings.Cut(s, "\n")
				line++
			}
		case isLetter(c):
			n := 1
			for n < len(s) && (isLetter(s[n]) || isDigit(s[n])) {
				n++
			}
			add(ident, n)
		case isDigit(c):
			n := 1
			for n < len(s) && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '.' || s[n] == '\'') {
				n++
			}
			add(number, n)
		case c == '"' || c == '\'':
			n := 1
			for n < len(s) && s[n] != c && s[n] != '\n' {
				if s[n] == '\\' {
					n++
				}
				n++
			}
			if n >= len(s) || s[n] != c {
				return nil, u.errorf(line, "%c has no end", c)
			}
			add(quoted, n+1)
		default:
			n := 1
			for _, long := range longOnes {
				if strings.HasPrefix(s, long) {
					n = len(long)
				}
			}
			add(punct, n)
		}
	}
	if ifs != 0 {
		return nil, u.errorf(line, "#if without #endif, or the reverse")
	}
	return u, nil
}

// joined returns the directive at the start of s as one line without comments, and how many lines it spans.
func joined(s string) (text string, lines int) {
	for more := true; more; lines++ {
		var l string
		l, s, _ = strings.Cut(s, "\n")
		l, more = strings.CutSuffix(strings.TrimRight(l, "\r"), "\\")
		text += l + " "
	}
	text, _, _ = strings.Cut(text, "//")
	return text, lines
}

// docOf returns the comment for a declaration from line first to line last: the comment lines directly above, and the comment after the
// code on the last line.
func (u *unit) docOf(first, last int) string {
	var words []string
	begin := first
	for c, ok := u.comments[begin-1]; ok && c.alone && !strings.HasPrefix(c.text, "----"); c, ok = u.comments[begin-1] {
		begin--
	}
	for l := begin; l < first; l++ {
		words = append(words, u.comments[l].text)
	}
	return strings.TrimSpace(strings.Join(append(words, u.after(last)), " "))
}

// after returns the comment after the code on a line.
func (u *unit) after(line int) string {
	if c := u.comments[line]; !c.alone {
		return c.text
	}
	return ""
}

// includes returns the names of the headers that a source includes.
func (u *unit) includes() (names []string, err error) {
	for _, t := range u.tokens {
		if t.kind != directive {
			continue
		}
		if rest, ok := strings.CutPrefix(t.text, "include"); ok {
			rest = strings.TrimSpace(rest)
			if len(rest) < 3 || rest[0] != '"' || rest[len(rest)-1] != '"' {
				return nil, u.errorf(t.line, "a header of this folder, in quotes, wanted, got %s", rest)
			}
			names = append(names, rest[1:len(rest)-1])
		}
	}
	return names, nil
}
