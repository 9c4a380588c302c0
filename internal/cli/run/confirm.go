package run

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/gatemark/gatemark/cluster"
	"github.com/gatemark/gatemark/internal/failure"
	"golang.org/x/term"
)

// answerable names a cluster that gatemark did not make, and refuses to go on
// where nobody has agreed or could.
func (c *conductor) answerable() error {
	c.progress.Printf("cluster %s at %s", c.cluster.Name, c.cluster.Config.Host)
	if in, ok := c.streams.In.(*os.File); c.yes || ok && term.IsTerminal(int(in.Fd())) {
		return nil
	}
	return failure.WithCode(failure.Hint(errNotConfirmed, "add --yes to go on; --dry-run shows what would be done"), failure.Usage)
}

// confirm says what will be done to a cluster that gatemark did not make, and
// asks.
func (c *conductor) confirm() error {
	if c.cluster.Kind == cluster.Local {
		return nil
	}
	var there, install []string
	for _, s := range c.subjects {
		if s.found != nil {
			there = append(there, s.String())
		} else {
			install = append(install, s.String())
		}
	}
	if len(there) > 0 {
		c.progress.Printf("gatemark will measure %s as found there, and neither stop nor change it", strings.Join(there, ", "))
	}
	if len(install) > 0 {
		c.progress.Printf("gatemark will install %s there", strings.Join(install, ", "))
	}
	c.progress.Printf("gatemark will make namespaces gatemark-%s and gm-%s-*, and remove all that it made at the end", c.run.ID, c.run.ID)
	if c.yes {
		return nil
	}
	fmt.Fprint(c.streams.Err, "Go on? [y/N] ")
	answer, err := bufio.NewReader(c.streams.In).ReadString('\n')
	if err != nil || strings.ToLower(strings.TrimSpace(answer)) != "y" {
		return failure.WithCode(errNotConfirmed, failure.Usage)
	}
	return nil
}
