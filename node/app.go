package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/karasu-project/karasu/model"
	"github.com/karasu-project/karasu/node/advisor"
	"github.com/karasu-project/karasu/node/api"
	"github.com/karasu-project/karasu/node/brain"
	"github.com/karasu-project/karasu/node/checkpoint"
	"github.com/karasu-project/karasu/node/elastic"
	"github.com/karasu-project/karasu/node/exchange"
	"github.com/karasu-project/karasu/node/membership"
	"github.com/karasu-project/karasu/node/metrics"
	"github.com/karasu-project/karasu/node/p2p"
	"github.com/karasu-project/karasu/node/share"
	"github.com/karasu-project/karasu/optimizer/catalog"
	"github.com/karasu-project/karasu/store/commons"
	"github.com/karasu-project/karasu/store/ingest/naming"
	"github.com/karasu-project/karasu/store/private"
)

const (
	// shareDelay gathers changes of the private runs that come close together, such
	// as the batches of one import, into one refresh of what is shared.
	shareDelay = 300 * time.Millisecond
	// renewInterval is how often unchanged records are looked at for their age.
	renewInterval = time.Hour
	// sweepInterval is how often expired records are deleted.
	sweepInterval = time.Hour
	// shareRetry is how soon a failed refresh is tried again; each further failure
	// doubles it, up to renewInterval.
	shareRetry = 30 * time.Second
	// joinWait bounds how long a question waits for peers to answer.
	joinWait = 3 * time.Second
)

// Options change what the configuration file cannot say. The zero value is what
// `karasu daemon` uses.
type Options struct {
	Version string
	// Logger is nil for silence.
	Logger *slog.Logger
	// Network replaces the network of the configuration, for tests and the demo.
	Network *p2p.Config
	// Tap sees every byte that the exchange sends. It is for tests.
	Tap func(channel string, data []byte)
	// NoAPI leaves the local API out, for nodes inside another process.
	NoAPI bool
}

// App is a daemon.
type App struct {
	home    Home
	config  Config
	options Options
	logger  *slog.Logger
	catalog *catalog.Catalog

	private   *private.DB
	commons   *commons.DB
	signer    *commons.Signer
	grant     *membership.Grant
	circle    *membership.Circle
	network   *p2p.Network
	exchange  *exchange.Exchange
	retracted retracted
	publisher *share.Publisher
	audit     *share.AuditLog
	advisor   *advisor.Advisor
	// checkpoints reads the private store and what peers predict.
	checkpoints *checkpoint.Advisor
	// stageModels are those that peers share.
	stageModels     *commons.StageModels
	stageModelsSaid saidModels
	elastic         *elastic.Service
	// elasticHTTP is nil where the configuration does not ask for it.
	elasticHTTP *elastic.Server
	// brain is nil where the configuration does not ask for it.
	brain  *brain.Server
	server *api.Server
	// metrics is nil where the configuration does not ask for it.
	metrics   *metrics.Server
	syncWatch syncWatch

	rules   atomic.Pointer[naming.Rules]
	watched []*watched

	started time.Time
	cancel  context.CancelFunc
	loops   sync.WaitGroup
}

// New validates the configuration, opens the databases and builds everything, but
// listens and dials nothing. Where it fails, nothing stays open.
func New(ctx context.Context, home Home, config Config, o Options) (app *App, err error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	a := &App{home: home, config: config, options: o, logger: o.Logger}
	if a.logger == nil {
		a.logger = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.close())
		}
	}()
	rules, err := config.Rules()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	a.rules.Store(rules)
	a.watched = newWatched(home, config.Watches)
	key, err := home.Identity()
	if err != nil {
		return nil, err
	}
	if a.signer, err = home.Signer(); err != nil {
		return nil, err
	}
	if a.grant, err = home.Grant(); err != nil {
		return nil, err
	}
	psk, err := home.psk(config.Circle.PSKFile)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	if a.catalog, err = loadCatalog(home, config.Catalog.File); err != nil {
		return nil, err
	}
	if a.private, err = private.OpenDB(home.PrivateDir(), private.Options{Logger: a.logger.With("component", "private")}); err != nil {
		return nil, err
	}
	if a.commons, err = commons.OpenDB(home.CommonsDir(), commons.Options{Logger: a.logger.With("component", "commons")}); err != nil {
		return nil, err
	}
	if a.audit, err = share.OpenAuditLog(home.DataDir, time.Now); err != nil {
		return nil, err
	}
	secret, err := a.private.Secret(ctx)
	if err != nil {
		return nil, err
	}
	networking := a.networkConfig()
	networking.PSK = psk
	if a.network, err = p2p.New(ctx, key, networking, a.logger); err != nil {
		return nil, err
	}
	if a.circle, err = a.newCircle(); err != nil {
		return nil, err
	}
	if err = a.network.Restrict(a.circle.Permit, a.circle.Hubs()); err != nil {
		return nil, err
	}
	exchanging := exchange.Options{
		Host: a.network.Host(), PubSub: a.network.PubSub(), Store: a.commons, Self: a.signer.Writer(), Admit: a.circle.Admit, Patterns: config.Network.Subscribe,
		SyncInterval: time.Duration(config.Network.SyncInterval), Logger: a.logger, Tap: o.Tap, Leaving: a.audit.Leaving,
		TopicScore: p2p.TopicScore(),
	}
	if config.Network.AnnounceTopics {
		exchanging.Seal = a.seal
	}
	if a.exchange, err = exchange.New(exchanging); err != nil {
		return nil, err
	}
	a.network.ScoreBy(func(id peer.ID) float64 {
		if a.exchange.Greylisted(id) {
			return p2p.Excluded
		}
		return 0
	})
	policy, err := config.policy()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	tookBack, err := a.private.Retracted(ctx)
	if err == nil {
		err = a.retracted.set(tookBack)
	}
	if err != nil {
		return nil, err
	}
	policy.Overrides = append([]share.Override{{Match: a.retracted.topic, Mode: share.Off, Retraction: true}}, policy.Overrides...)
	lookup := machineLookup(a.catalog)
	a.publisher = &share.Publisher{
		Signer: a.signer, Organisation: config.Organisation, Policy: policy,
		Pseudonyms: share.NewPseudonymizer(secret), Lookup: lookup, Stages: stageSource{a.private},
		Commons: a.commons, Publish: a.exchange.PublishAll, Now: time.Now, Logger: a.logger.With("component", "share"),
	}
	models := commons.NewRuntimeModels(a.commons)
	models.Near = a.near
	a.stageModels = commons.NewStageModels(a.commons)
	a.stageModels.Near = a.near
	a.advisor, err = advisor.New(advisor.Options{
		Organisation: config.Organisation, Self: a.signer.Writer(), Runs: a.private, Commons: a.commons, RuntimeModels: models,
		Catalog: a.catalog, Lookup: lookup, Pseudonyms: a.publisher.Pseudonyms, Join: a.join, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	if err = a.newElastic(ctx); err != nil {
		return nil, err
	}
	a.brain = a.newBrain()
	observe, err := a.newMetrics()
	if err != nil || o.NoAPI {
		return a, err
	}
	a.checkpoints = a.newCheckpoints()
	token := ""
	if config.API.TCP != "" {
		if token, err = home.Token(); err != nil {
			return nil, err
		}
	}
	a.server = api.NewServer(&api.Service{Node: a, Advisor: a.advisor, Checkpoints: a.checkpoints, Elastic: a.elastic}, api.Options{
		Socket: home.Socket(), TCP: config.API.TCP, Token: token, Logger: a.logger.With("component", "api"), Observer: observe,
	})
	return a, nil
}

func (a *App) networkConfig() p2p.Config {
	if a.options.Network != nil {
		return *a.options.Network
	}
	c := a.config.network()
	c.Version, c.GoodPeersPath = a.options.Version, a.home.PeersFile()
	return c
}

// Start brings the node up: network, exchange, background work, and the API last,
// so that who can reach the API finds a whole node. ctx bounds only the start.
func (a *App) Start(ctx context.Context) error {
	a.started = time.Now()
	if err := a.network.Start(ctx); err != nil {
		return fmt.Errorf("%w; network.listen in config.toml says where to listen", err)
	}
	if err := a.exchange.Start(ctx); err != nil {
		return err
	}
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	a.cancel = cancel
	a.introduceSelf(background)
	a.run(background, a.circle.Run)
	a.run(background, a.shareLoop)
	a.run(background, a.sweepLoop)
	a.run(background, a.ingestLoop)
	a.run(background, a.elastic.Run)
	a.run(background, func(ctx context.Context) { a.complain(ctx, "value log", a.private.RunGC(ctx)) })
	a.run(background, func(ctx context.Context) { a.complain(ctx, "value log", a.commons.RunGC(ctx)) })
	if a.server != nil {
		if err := a.server.Start(ctx); err != nil {
			return err
		}
	}
	if a.elasticHTTP != nil {
		if err := a.elasticHTTP.Start(ctx); err != nil {
			return err
		}
	}
	if a.brain != nil {
		if err := a.brain.Start(ctx); err != nil {
			return err
		}
	}
	if a.metrics != nil {
		return a.metrics.Start(ctx)
	}
	return nil
}

// Stop shuts down in the reverse order and closes the databases. It returns once
// everything has ended; ctx bounds how long running requests may take.
func (a *App) Stop(ctx context.Context) error {
	var err error
	if a.metrics != nil {
		err = a.metrics.Stop(ctx)
	}
	if a.brain != nil {
		err = errors.Join(err, a.brain.Stop(ctx))
	}
	if a.elasticHTTP != nil {
		err = errors.Join(err, a.elasticHTTP.Stop(ctx))
	}
	if a.server != nil {
		err = errors.Join(err, a.server.Stop(ctx))
	}
	if a.cancel != nil {
		a.cancel()
	}
	a.loops.Wait()
	return errors.Join(err, a.close())
}

// close closes what is open, users before what they use.
func (a *App) close() error {
	var errs []error
	if a.advisor != nil {
		a.advisor.Close()
	}
	if a.checkpoints != nil {
		a.checkpoints.Close()
	}
	if a.exchange != nil {
		errs = append(errs, a.exchange.Close())
	}
	if a.network != nil {
		errs = append(errs, a.network.Close())
	}
	if a.audit != nil {
		errs = append(errs, a.audit.Close())
	}
	if a.commons != nil {
		errs = append(errs, a.commons.Close())
	}
	if a.private != nil {
		errs = append(errs, a.private.Close())
	}
	return errors.Join(errs...)
}

// Advisor answers questions without the API.
func (a *App) Advisor() *advisor.Advisor { return a.advisor }

// Network is the node's place among its peers.
func (a *App) Network() *p2p.Network { return a.network }

// Commons holds the records that the node knows.
func (a *App) Commons() *commons.DB { return a.commons }

// Sync reconciles with all connected peers now.
func (a *App) Sync(ctx context.Context) error { return a.exchange.SyncNow(ctx) }

func (a *App) run(ctx context.Context, loop func(context.Context)) {
	a.loops.Go(func() { loop(ctx) })
}

// complain logs what a loop could not do, unless the loop was told to end.
func (a *App) complain(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		a.logger.ErrorContext(ctx, "background work failed", "work", what, "error", err)
	}
}

// shareLoop keeps what is shared in step with the private runs.
func (a *App) shareLoop(ctx context.Context) {
	changed, unsubscribe := a.private.Subscribe()
	defer unsubscribe()
	renew := time.NewTicker(renewInterval)
	defer renew.Stop()
	for failures := 0; ; {
		_, err := a.refresh(ctx)
		a.complain(ctx, "share", err)
		var retry <-chan time.Time
		if failures++; err == nil {
			failures = 0
		} else {
			retry = time.After(retryDelay(failures))
		}
		select {
		case <-ctx.Done():
			return
		case <-renew.C:
		case <-retry:
		case <-changed:
			select {
			case <-ctx.Done():
				return
			case <-time.After(shareDelay):
			}
		}
	}
}

// retryDelay is how long to wait after so many failures in a row.
func retryDelay(failures int) time.Duration {
	return min(shareRetry<<min(failures-1, 16), renewInterval)
}

func (a *App) refresh(ctx context.Context) (share.Refreshed, error) {
	runs, err := a.private.Runs(ctx, private.Filter{})
	if err != nil {
		return share.Refreshed{}, err
	}
	runs, _ = a.retracted.split(runs)
	done, err := a.publisher.Refresh(ctx, runs)
	if done != (share.Refreshed{}) {
		a.logger.InfoContext(ctx, "share", "shared", done.Shared, "withdrawn", done.Withdrawn)
		// Imports leave much garbage behind, which a daemon at rest would hold on to.
		debug.FreeOSMemory()
	}
	return done, err
}

func (a *App) sweepLoop(ctx context.Context) {
	tick := time.NewTicker(sweepInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			n, err := a.commons.Sweep(now)
			a.complain(ctx, "sweep", err)
			if n > 0 {
				a.logger.InfoContext(ctx, "expired", "records", n)
			}
		}
	}
}

// join makes the node interested in a topic and asks peers for what they have.
func (a *App) join(ctx context.Context, t model.Topic) {
	if err := a.exchange.Join(t); err != nil {
		a.complain(ctx, "join topic", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, joinWait)
	defer cancel()
	// Peers that do not answer are no reason to refuse an answer.
	_ = a.exchange.SyncNow(ctx)
}

// Catalog holds the machine types that the node knows.
func (a *App) Catalog() *catalog.Catalog { return a.catalog }
