package main

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"${enum}."`
}

// Help implements kong's interface for examples.
func (completionCmd) Help() string {
	return `Examples:

  karasu completion bash > /etc/bash_completion.d/karasu
  karasu completion zsh > "${fpath[1]}/_karasu"
  karasu completion fish > ~/.config/fish/completions/karasu.fish`
}

// Run writes a script that knows every command and flag.
func (c completionCmd) Run(a *app) error {
	nodes, values := completions(a.parser.Model)
	write := map[string]func(*bytes.Buffer, []completion, []completion){"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}
	return a.print(func(w *bytes.Buffer) { write[c.Shell](w, nodes, values) })
}

// completion is what may follow a path of commands ("search start"), or a flag.
type completion struct {
	after string
	words []string
}

// completions walks the command line's model: the words after each command, and
// the values after each flag that has a fixed set or names some in its tag "words".
func completions(app *kong.Application) (nodes, values []completion) {
	seen := map[string]bool{}
	var walk func(n *kong.Node, path string)
	walk = func(n *kong.Node, path string) {
		c := completion{after: path}
		for _, child := range n.Children {
			if !child.Hidden {
				c.words = append(c.words, child.Name)
			}
		}
		for _, p := range n.Positional {
			if p.Enum != "" {
				c.words = append(c.words, strings.Split(p.Enum, ",")...)
			}
		}
		for _, group := range n.AllFlags(true) {
			for _, f := range group {
				c.words = append(c.words, "--"+f.Name)
				words := cmp.Or(f.Enum, f.Tag.Get("words"))
				if words != "" && !seen[f.Name+words] {
					seen[f.Name+words] = true
					values = append(values, completion{after: "--" + f.Name, words: strings.Split(words, ",")})
				}
			}
		}
		nodes = append(nodes, c)
		for _, child := range n.Children {
			if !child.Hidden {
				walk(child, strings.TrimSpace(path+" "+child.Name))
			}
		}
	}
	walk(app.Node, "")
	return nodes, values
}

// quoted lists the commands' paths as patterns of a shell's case.
func quoted(nodes []completion) string {
	var paths []string
	for _, n := range nodes {
		if n.after != "" {
			paths = append(paths, `"`+n.after+`"`)
		}
	}
	return strings.Join(paths, "|")
}

func bashCompletion(w *bytes.Buffer, nodes, values []completion) {
	fmt.Fprintf(w, `# Completion of karasu for bash. Written by: karasu completion bash
_karasu() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path="" next word words=""
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="${path:+$path }$word"
    case "$next" in
      %s) path=$next ;;
    esac
  done
  case "$path" in
`, quoted(nodes))
	for _, n := range nodes {
		fmt.Fprintf(w, "    \"%s\") words=\"%s\" ;;\n", n.after, strings.Join(n.words, " "))
	}
	fmt.Fprint(w, "  esac\n  case \"$prev\" in\n")
	for _, v := range values {
		fmt.Fprintf(w, "    %s) words=\"%s\" ;;\n", v.after, strings.Join(v.words, " "))
	}
	fmt.Fprint(w, `  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _karasu karasu
`)
}

func zshCompletion(w *bytes.Buffer, nodes, values []completion) {
	fmt.Fprintf(w, `#compdef karasu
# Completion of karasu for zsh. Written by: karasu completion zsh
_karasu() {
  local path_="" next word
  local -a options
  for word in "${(@)words[2,CURRENT-1]}"; do
    next="${path_:+$path_ }$word"
    case "$next" in
      %s) path_=$next ;;
    esac
  done
  case "$path_" in
`, quoted(nodes))
	for _, n := range nodes {
		fmt.Fprintf(w, "    \"%s\") options=(%s) ;;\n", n.after, strings.Join(n.words, " "))
	}
	fmt.Fprint(w, "  esac\n  case \"${words[CURRENT-1]}\" in\n")
	for _, v := range values {
		fmt.Fprintf(w, "    %s) options=(%s) ;;\n", v.after, strings.Join(v.words, " "))
	}
	fmt.Fprint(w, `  esac
  compadd -- $options || _files
}
if [ "$funcstack[1]" = "_karasu" ]; then _karasu "$@"; else compdef _karasu karasu; fi
`)
}

func fishCompletion(w *bytes.Buffer, nodes, values []completion) {
	fmt.Fprintf(w, `# Completion of karasu for fish. Written by: karasu completion fish
function __karasu_words
  set -l path ""
  set -l before (commandline -opc)
  for word in $before[2..-1]
    set -l next (string trim "$path $word")
    switch "$next"
      case %s
        set path $next
    end
  end
  switch "$before[-1]"
`, strings.ReplaceAll(quoted(nodes), "|", " "))
	for _, v := range values {
		fmt.Fprintf(w, "    case %s\n      string split -- ' ' \"%s\"\n      return\n", v.after, strings.Join(v.words, " "))
	}
	fmt.Fprint(w, "  end\n  switch \"$path\"\n")
	for _, n := range nodes {
		fmt.Fprintf(w, "    case \"%s\"\n      string split -- ' ' \"%s\"\n", n.after, strings.Join(n.words, " "))
	}
	fmt.Fprint(w, `  end
end
complete -c karasu -a "(__karasu_words)"
`)
}
