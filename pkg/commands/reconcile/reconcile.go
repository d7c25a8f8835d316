// Package reconcile is the verb `reconcile`: the loop in the foreground, so that what people do with plain kubectl happens
// while no controller runs in the cluster.
package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/features"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/apis/keys"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/cluster"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/commands/cli"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/reconcile"
	"github.com/kubectl-kruise/kubectl-kruise/pkg/view"
)

type flags struct {
	all     bool
	drive   cli.DriveFlags
	release bool
	plain   bool
	output  string
}

type options struct {
	namespace string // empty for all
	gates     features.Gates
	mode      cluster.Mode
	release   bool
	plain     bool
	output    cli.Output
}

// New makes the verb.
func New(deps *cli.Deps) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "reconcile [-n NAMESPACE | -A] [flags]",
		Short: "Drive all workloads of a namespace until you stop it",
		Long: "Drive all CloneSets of a namespace, or of all namespaces, from this machine until you stop it: what kubectl apply,\n" +
			"patch, scale and delete ask for happens, pods heal. Workloads that a rollout elsewhere drives are left to it.\n" +
			"The containers of pods with a launch order are started in it, whatever owns the pods.\n" +
			"Ctrl-C ends it at a safe point; pods keep running.",
		Example:               "  kubectl kruise reconcile\n  kubectl kruise reconcile -A",
		Args:                  cli.NoArgs,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.toOptions(deps, cmd.Flags().Changed("namespace"))
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), deps)
		},
	}
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "Drive the workloads of all namespaces")
	f.drive.Add(cmd.Flags())
	cli.AddReleaseFlag(cmd.Flags(), &f.release)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "Output format: jsonl, a line for each thing that happens")
	cmd.Flags().BoolVar(&f.plain, "plain", false, "No colours on terminals")
	return cmd
}

func (f *flags) toOptions(deps *cli.Deps, named bool) (*options, error) {
	if f.all && named {
		return nil, cli.Usagef("--namespace and --all-namespaces exclude each other")
	}
	gates, mode, err := f.drive.Parse()
	if err != nil {
		return nil, err
	}
	if mode == cluster.ModeDelegate {
		return nil, cli.Usagef("--mode %q: a loop that leaves the work to another has nothing to do; want %s", mode, cluster.ModeLocal)
	}
	output, err := cli.ParseOutput(f.output, cli.JSONL)
	if err != nil {
		return nil, err
	}
	o := &options{gates: gates, mode: mode, release: f.release, plain: f.plain, output: output}
	if !f.all {
		o.namespace, err = deps.Namespace()
	}
	return o, err
}

func (o *options) run(ctx context.Context, deps *cli.Deps) error {
	config, err := deps.Config.ToRESTConfig()
	if err != nil {
		return err
	}
	client, served, err := cli.Connect(ctx, config, reconcile.CloneSet(), reconcile.LaunchOrder())
	if err != nil {
		return err
	}
	if o.namespace == "" {
		if err := home(ctx, deps, config); err != nil {
			return err
		}
	}
	c := &chorus{printer: cli.NewPrinter(deps, o.output, o.plain), now: deps.Now, start: deps.Now(), voices: map[view.Subject]*view.Narrator{}, all: o.namespace == ""}
	if o.output == cli.JSONL {
		c.out, c.streams = deps.Out, map[view.Subject]*view.Stream{}
	}
	attending, leave := context.WithCancel(context.WithoutCancel(ctx))
	defer leave()
	go c.attend(attending)

	session := deps.Session(client, o.gates, o.mode, c.hear)
	session.KeepOrders = !o.release
	if o.gates.Enabled(features.InPlaceWorkloadVerticalScaling) {
		if session.Resize, err = client.ResizeMode(ctx); err != nil {
			return err
		}
	}
	if err := o.free(ctx, client, session); err != nil {
		return o.ending(ctx, c, err)
	}
	c.print(view.Line{Text: "driving all clonesets in " + o.where() + "; Ctrl-C ends it"})
	err = session.All(ctx, o.namespace, served...)
	leave()
	return o.ending(ctx, c, err)
}

// free says that nobody else drives yet. The loop judges it again; here it only keeps the first line true.
func (o *options) free(ctx context.Context, api cluster.Getter, session *reconcile.Session) error {
	facts, err := cluster.ReadLeases(ctx, api, o.namespace, "")
	if err != nil {
		return err
	}
	choice, err := cluster.Choose(facts, session.Holder, o.mode, session.Now())
	if err == nil && choice.Role == cluster.Delegate {
		return &cluster.LeaseHeldError{Driver: choice.Driver}
	}
	return err
}

// home makes sure of the namespace that holds the Lease of a loop for all namespaces.
func home(ctx context.Context, deps *cli.Deps, config *rest.Config) error {
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return err
	}
	_, err = client.Namespaces().Get(ctx, keys.InstallNamespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return nil // that it may not be read is no reason to stop here
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: keys.InstallNamespace}}
	_, err = client.Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: keys.FieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s for the lease of the loop: %w", keys.InstallNamespace, cluster.Explain(err))
	}
	fmt.Fprintf(deps.ErrOut, "namespace %s created: it holds the lease of the loop\n", keys.InstallNamespace)
	return nil
}

func (o *options) where() string {
	if o.namespace == "" {
		return "all namespaces"
	}
	return "namespace " + o.namespace
}

// ending turns the end of the loop into an exit code. A loop has no goal: that the user ends it is how it should end.
func (o *options) ending(ctx context.Context, c *chorus, err error) error {
	var stopped *reconcile.StoppedError
	var held *cluster.LeaseHeldError
	var end *cli.Error
	switch {
	case ctx.Err() != nil && errors.As(context.Cause(ctx), &end):
		c.print(view.Line{Text: "stopped; nothing is lost, pods keep running"})
		return end
	case errors.As(err, &stopped) && (stopped.Why == view.StopDriver || stopped.Why == view.StopLeaseLost):
		return &cli.Error{Code: cli.Superseded, Err: err}
	case errors.As(err, &held):
		return fmt.Errorf("%s is driven by another: %s", o.where(), cli.DriverOf(held.Driver).Sentence())
	}
	return err
}

// chorus has a narrator for each workload.
type chorus struct {
	printer *cli.Printer
	now     func() time.Time
	start   time.Time
	all     bool

	mu     sync.Mutex
	voices map[view.Subject]*view.Narrator
	// streams are for machines; nil when nobody asked for them.
	streams map[view.Subject]*view.Stream
	out     io.Writer
}

func (c *chorus) hear(e view.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	subject := e.About()
	n := c.voices[subject]
	if n == nil {
		n = &view.Narrator{Prefix: c.prefix(subject), Start: c.start}
		c.voices[subject] = n
	}
	c.printer.Print(n.Tell(e)...)
	c.emit(e)
	if stopped, ok := e.(view.Stopped); ok && stopped.Why == view.StopGone {
		delete(c.voices, subject)
		delete(c.streams, subject)
	}
}

// emit writes the lines for machines. A stream that is gone ends the command by itself (cli.Pipe).
func (c *chorus) emit(e view.Event) {
	if c.streams == nil {
		return
	}
	s := c.streams[e.About()]
	if s == nil {
		s = &view.Stream{}
		c.streams[e.About()] = s
	}
	entries := s.Tell(e)
	if stopped, ok := e.(view.Stopped); ok {
		entries = append(entries, view.EndOf(&view.Rollout{Subject: e.About(), Counts: stopped.Counts, Stopped: stopped.Why, Detail: stopped.Detail}, e.When()))
	}
	for _, entry := range entries {
		_ = cli.WriteLine(c.out, entry)
	}
}

// prefix names a workload in front of its lines.
func (c *chorus) prefix(s view.Subject) string {
	name := strings.ToLower(s.Kind) + "/" + s.Name
	if s.Name == "" {
		name = strings.ToLower(s.Kind) + "s"
	}
	if c.all && s.Namespace != "" {
		name = s.Namespace + " " + name
	}
	return name + "  "
}

func (c *chorus) print(lines ...view.Line) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.printer.Print(lines...)
}

// attend lets the narrators speak of what lasts.
func (c *chorus) attend(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.tick()
		}
	}
}

// tick asks the narrators in the order of their workloads, so that the same waits make the same lines.
func (c *chorus) tick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	subjects := slices.SortedFunc(maps.Keys(c.voices), func(a, b view.Subject) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name))
	})
	for _, s := range subjects {
		c.printer.Print(c.voices[s].Tick(c.now())...)
	}
}
