package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/gatemark/gatemark/image"
	"github.com/gatemark/gatemark/implementation"
	"github.com/gatemark/gatemark/implementation/install"
	"github.com/gatemark/gatemark/internal/failure"
	"github.com/gatemark/gatemark/plan"
)

// A subject is what one or more treatments measure: an implementation that is
// installed, or that was found.
type subject struct {
	plan.Treatment
	impl *implementation.Implementation
	// found is what somebody else installed, or nil.
	found *install.Found
	// installed is what this run installed, or nil.
	installed *install.Installed
	// unknown: gatemark has no data on it, but its GatewayClass.
	unknown bool
	// err is why it cannot be measured.
	err error
}

// locate makes a treatment's paths absolute, and reads the folder that its name
// may be; base is what its paths are relative to.
func locate(t *plan.Treatment, base string) error {
	absolute := func(path string) (string, error) {
		if filepath.IsAbs(path) {
			return path, nil
		}
		return filepath.Abs(filepath.Join(base, path))
	}
	var err error
	if implementation.IsFolder(t.Name) {
		t.Folder = t.Name
	}
	if t.Folder != "" {
		if t.Folder, err = absolute(t.Folder); err != nil {
			return err
		}
		i, err := implementation.LoadDirectory(t.Folder)
		if err != nil {
			return err
		}
		t.Name = i.Name
	}
	if t.Checkout != "" {
		if t.Checkout, err = absolute(t.Checkout); err != nil {
			return err
		}
	}
	return fits(*t)
}

// fits holds a version and a checkout against the data, as far as that goes
// without asking anybody. What is wrong with names is the plan's to say.
func fits(t plan.Treatment) error {
	i, err := asked(t)
	if err != nil {
		return nil
	}
	if semver.IsValid(t.Version) {
		if _, err := i.At(t.Version); err != nil {
			return failure.WithCode(err, failure.Usage)
		}
	}
	_, err = i.WithCheckout(t.Checkout)
	return err
}

// asked is the implementation that a treatment names, in its variant. Its
// version is still to be looked up: see inVersion.
func asked(t plan.Treatment) (*implementation.Implementation, error) {
	var i *implementation.Implementation
	var err error
	if t.Folder != "" {
		i, err = implementation.LoadDirectory(t.Folder)
	} else {
		i, err = implementation.Find(t.Name)
	}
	if err != nil {
		return nil, err
	}
	return i.WithVariant(t.Variant)
}

var commit = regexp.MustCompile(`^[0-9a-f]{7,40}$`)

// inVersion takes the implementation to the treatment's version. A commit is
// one that Go's module proxy knows.
func inVersion(ctx context.Context, t plan.Treatment, i *implementation.Implementation) (*implementation.Implementation, error) {
	version := t.Version
	if commit.MatchString(version) {
		module := i.Chart.Module
		if module == "" {
			return nil, failure.WithCode(fmt.Errorf("%s: its chart is in no Go module that could have the commit", t), failure.Usage)
		}
		found, err := image.ModuleVersion(ctx, module, version)
		if err != nil {
			return nil, failure.Hint(fmt.Errorf("%s: %w", t, err), "a checkout builds what no proxy has: "+t.Name+"=DIR")
		}
		version = found
	}
	at, err := i.At(version)
	if err != nil {
		return nil, failure.WithCode(err, failure.Usage)
	}
	return at.WithVariant(t.Variant)
}

// besideLabel is what sets an installation apart from another version's, fit
// for names of objects.
func besideLabel(s *subject) string {
	text := s.impl.Version
	if s.Checkout != "" {
		text = filepath.Base(s.Checkout)
	}
	if s.Variant != "" {
		text += "-" + s.Variant
	}
	text = strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, strings.ToLower(text))
	return strings.Trim(text[:min(len(text), 24)], "-")
}

// newestFirst orders the subjects for their installation: as they stand in the
// plan, but of several versions of one implementation the newest goes first, for
// it brings the definitions that they share. A checkout counts as newest.
func newestFirst(subjects []*subject) []*subject {
	ordered := slices.Clone(subjects)
	seen := map[string]bool{}
	for _, s := range subjects {
		if s.Name == "" || seen[s.Name] {
			continue
		}
		seen[s.Name] = true
		var places []int
		var same []*subject
		for n, other := range subjects {
			if other.Name == s.Name {
				places, same = append(places, n), append(same, other)
			}
		}
		slices.SortStableFunc(same, func(a, b *subject) int {
			if (a.Checkout != "") != (b.Checkout != "") {
				if a.Checkout != "" {
					return -1
				}
				return 1
			}
			return semver.Compare(b.impl.Version, a.impl.Version)
		})
		for n, place := range places {
			ordered[place] = same[n]
		}
	}
	return ordered
}

// subjects finds out what each treatment of the plan measures: what the
// cluster has already, or what is to be installed.
func (c *conductor) findSubjects(ctx context.Context) error {
	for _, t := range c.plan.Implementations {
		if c.subject(t) != nil {
			continue // a copy
		}
		s := &subject{Treatment: t}
		if err := c.identify(ctx, s); err != nil {
			return fmt.Errorf("implementation %s: %w", t, err)
		}
		c.subjects = append(c.subjects, s)
	}
	return nil
}

// subject is the one that a treatment shares with its copies, or nil.
func (c *conductor) subject(t plan.Treatment) *subject {
	at := slices.IndexFunc(c.subjects, func(s *subject) bool { return s.Installation() == t.Installation() })
	if at < 0 {
		return nil
	}
	return c.subjects[at]
}

// identify finds the data of a subject, and the subject itself if it is in the
// cluster already.
func (c *conductor) identify(ctx context.Context, s *subject) (err error) {
	if s.Name == "" {
		if err := c.byClass(ctx, s); err != nil || s.impl == nil || s.found != nil {
			return err
		}
	} else if s.impl, err = asked(s.Treatment); err != nil {
		return err
	}
	if s.found == nil && s.Name != "" {
		if s.found, err = install.Find(ctx, c.kube, s.impl, s.GatewayClass); err != nil {
			return err
		}
	}
	if s.found == nil {
		s.impl, err = inVersion(ctx, s.Treatment, s.impl)
		return err
	}
	if err := asItIs(s); err != nil {
		return err
	}
	s.impl, err = s.impl.FoundAs(s.found.Class, s.found.Namespace, s.found.Version)
	if err == nil {
		c.progress.Printf("found %s in this cluster, by GatewayClass %s: it is measured as it is", s, s.found.Class)
	}
	return err
}

// asItIs refuses to measure what was found as if it were what was asked for.
func asItIs(s *subject) error {
	t := s.Treatment
	if len(t.Values) == 0 && t.Checkout == "" && (t.Version == "" || t.Version == s.found.Version) {
		return nil
	}
	running := "in an unknown version"
	if s.found.Version != "" {
		running = "in version " + s.found.Version
	}
	err := fmt.Errorf("it is in the cluster already, %s, by GatewayClass %s, and gatemark did not install it: a version, checkout or values cannot be asked for",
		running, s.found.Class)
	return failure.Hint(err, "measure it as it is with --implementation "+t.Name+", or use another cluster")
}

// byClass finds what serves a GatewayClass: data of an implementation whose
// controller it is, or nothing but the class.
func (c *conductor) byClass(ctx context.Context, s *subject) error {
	class, err := install.ClassNamed(ctx, c.kube, s.GatewayClass)
	if err != nil {
		return err
	}
	all, err := implementation.All()
	if err != nil {
		return err
	}
	for _, i := range all {
		if i.GatewayClass.ControllerName != string(class.Spec.ControllerName) {
			continue
		}
		if s.found, err = install.Find(ctx, c.kube, i, class.Name); err != nil {
			return err
		}
		s.impl, err = i.FoundAs(s.found.Class, s.found.Namespace, s.found.Version)
		c.progress.Printf("GatewayClass %s is one of %s: it is measured as it is", class.Name, i.Title)
		return err
	}
	s.impl = implementation.OfClass(class.Name, string(class.Spec.ControllerName))
	s.found, s.unknown = &install.Found{Class: class.Name}, true
	c.progress.Printf("GatewayClass %s has the controller %s, which gatemark knows nothing of: it is measured by its Gateways alone", class.Name, class.Spec.ControllerName)
	return nil
}

// errAll is every reason why nothing can be measured.
func errAll(subjects []*subject) error {
	var problems []error
	for _, s := range subjects {
		if s.err == nil {
			return nil
		}
		problems = append(problems, fmt.Errorf("implementation %s: %w", s, s.err))
	}
	return errors.Join(problems...)
}
