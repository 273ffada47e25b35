package spark

import (
	"cmp"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/karasu-project/karasu/model"
)

// environment is what the environment updates told: of the settings those that matter.
type environment struct {
	properties map[string]string
	mainClass  string
	emr        bool
}

// kept are the settings that matter for resources, plan and naming.
var kept = map[string]bool{
	"spark.app.id": true, "spark.app.name": true, "spark.app.attempt.id": true, "spark.app.startTime": true,
	"spark.yarn.app.id": true, "spark.yarn.queue": true, "spark.master": true, "spark.submit.deployMode": true,
	"spark.kubernetes.driver.label.queue": true, "spark.kubernetes.namespace": true, "spark.scheduler.pool": true,
	"spark.kubernetes.memoryOverheadFactor": true, "spark.executor.memoryOverheadFactor": true,
	"spark.executor.instances": true, "spark.executor.cores": true, "spark.executor.memory": true,
	"spark.executor.memoryOverhead": true, "spark.yarn.executor.memoryOverhead": true,
	"spark.executor.pyspark.memory": true, "spark.driver.memory": true, "spark.driver.cores": true,
	"spark.memory.fraction": true, "spark.memory.storageFraction": true,
	"spark.memory.offHeap.enabled": true, "spark.memory.offHeap.size": true,
	"spark.dynamicAllocation.enabled": true, "spark.dynamicAllocation.minExecutors": true,
	"spark.dynamicAllocation.maxExecutors": true, "spark.dynamicAllocation.initialExecutors": true,
	"spark.default.parallelism": true, "spark.task.cpus": true, "spark.task.maxFailures": true,
	"spark.speculation": true, "spark.scheduler.mode": true, "spark.serializer": true,
	"spark.shuffle.service.enabled": true, "spark.shuffle.compress": true, "spark.shuffle.manager": true,
	"spark.io.compression.codec": true, "spark.rdd.compress": true, "spark.locality.wait": true,
	"spark.sql.shuffle.partitions": true, "spark.sql.adaptive.enabled": true, "spark.sql.adaptive.skewJoin.enabled": true,
	"spark.sql.adaptive.coalescePartitions.enabled": true, "spark.sql.autoBroadcastJoinThreshold": true,
	"spark.sql.files.maxPartitionBytes": true, "spark.sql.cbo.enabled": true, "spark.plugins": true,
	"spark.emr.default.executor.cores": true, "spark.emr.default.executor.memory": true, "spark.dataproc.engine": true,
	"spark.databricks.workerNodeTypeId": true, "spark.databricks.driverNodeTypeId": true,
	"spark.databricks.clusterUsageTags.clusterNodeType": true, "spark.databricks.clusterUsageTags.driverNodeType": true,
	"spark.databricks.clusterUsageTags.clusterWorkers": true, "spark.databricks.clusterUsageTags.clusterTargetWorkers": true,
	"spark.databricks.clusterUsageTags.cloudProvider": true, "spark.databricks.clusterUsageTags.sparkVersion": true,
	"spark.databricks.clusterUsageTags.region": true, "spark.databricks.clusterUsageTags.runtimeEngine": true,
}

func (v *environment) update(e environmentUpdate) {
	if v.properties == nil {
		v.properties = make(map[string]string)
	}
	for name, value := range e.Spark {
		if kept[name] {
			v.properties[name] = strings.TrimSpace(clean(value, 1024))
		}
	}
	for name := range e.Spark {
		v.emr = v.emr || strings.HasPrefix(name, "spark.emr.")
	}
	if e.System["EMR_CLUSTER_ID"] != "" {
		v.emr = true
	}
	if class := mainClass(e.System["sun.java.command"]); class != "" {
		v.mainClass = class
	}
}

func (v *environment) property(name string) string { return v.properties[name] }

// number returns a setting that is a non-negative number, and otherwise the default.
func (v *environment) number(name string, def float64) float64 {
	f, err := strconv.ParseFloat(v.properties[name], 64)
	if err != nil || !(f >= 0 && f < 1e9) {
		return def
	}
	return f
}

// size returns a setting that is a size such as "4g" or "512", in bytes; unit is that
// of a bare number. Where it is not set, it is the default.
func (v *environment) size(name string, unit, def float64) float64 {
	if n, ok := parseSize(v.properties[name], unit); ok {
		return n
	}
	return def
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

func parseSize(s string, unit float64) (float64, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz")
	switch strings.TrimSuffix(s[len(digits):], "b") {
	case "":
		if s != digits { // "b" alone
			unit = 1
		}
	case "k":
		unit = kib
	case "m":
		unit = mib
	case "g":
		unit = gib
	case "t":
		unit = gib * kib
	case "p":
		unit = gib * mib
	default:
		return 0, false
	}
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(n >= 0 && n*unit < 1<<60) {
		return 0, false
	}
	return n * unit, true
}

// manager returns the kind of the cluster manager, of a master such as "yarn-client",
// "spark://host:7077", "k8s://https://...", "local[4]".
func (v *environment) manager() string {
	m := v.property("spark.master")
	switch {
	case strings.HasPrefix(m, "local-cluster"), strings.HasPrefix(m, "spark://"):
		return "standalone"
	case strings.HasPrefix(m, "local"):
		return "local"
	case strings.HasPrefix(m, "yarn"):
		return "yarn"
	case strings.HasPrefix(m, "k8s"):
		return "kubernetes"
	case strings.HasPrefix(m, "mesos"):
		return "mesos"
	}
	return ""
}

var localThreads = regexp.MustCompile(`^local\[(\d{1,5})[,\]]`)

// localCores returns the slots of a local master: 1 of "local", 4 of "local[4]", 0 of
// "local[*]", which does not tell.
func (v *environment) localCores() int {
	m := v.property("spark.master")
	if m == "local" {
		return 1
	}
	if found := localThreads.FindStringSubmatch(m); found != nil {
		n, _ := strconv.Atoi(found[1])
		return n
	}
	return 0
}

// platform returns where the application ran, as far as settings and version tell.
func (v *environment) platform(version string) string {
	for name := range v.properties {
		if strings.HasPrefix(name, "spark.databricks.") {
			worker, _ := v.machineTypes()
			if cloud := cmp.Or(slug(v.property("spark.databricks.clusterUsageTags.cloudProvider")), cloudOf(worker)); cloud != "" {
				return "databricks-" + cloud
			}
			return "databricks"
		}
	}
	switch {
	case v.emr, strings.Contains(version, "-amzn-"):
		return "emr"
	case v.property("spark.dataproc.engine") != "":
		return "dataproc"
	}
	return ""
}

// cloudOf tells the cloud by the form of its machine types: m6gd.2xlarge,
// Standard_E8s_v3, n2-highmem-8.
func cloudOf(machineType string) string {
	switch {
	case strings.HasPrefix(machineType, "Standard_"):
		return "azure"
	case strings.Contains(machineType, "."):
		return "aws"
	case strings.Count(machineType, "-") == 2:
		return "gcp"
	}
	return ""
}

func slug(s string) string {
	s = strings.ToLower(s)
	if len(s) > 20 || strings.ContainsFunc(s, func(r rune) bool { return !(r >= 'a' && r <= 'z') }) {
		return ""
	}
	return s
}

// machineTypes returns the machine types of workers and driver, where they are told.
func (v *environment) machineTypes() (worker, driver string) {
	valid := func(names ...string) string {
		for _, name := range names {
			t := v.property(name)
			if t != "" && (model.Configuration{MachineType: t, ScaleOut: 1}).Validate() == nil {
				return t
			}
		}
		return ""
	}
	return valid("spark.databricks.workerNodeTypeId", "spark.databricks.clusterUsageTags.clusterNodeType"),
		valid("spark.databricks.driverNodeTypeId", "spark.databricks.clusterUsageTags.driverNodeType")
}

func (v *environment) queue() string {
	for _, name := range []string{"spark.yarn.queue", "spark.kubernetes.driver.label.queue", "spark.scheduler.pool"} {
		if q := v.property(name); q != "" {
			return cleanName(q)
		}
	}
	return ""
}

// mainClass finds the main class in the driver's command line, or the file name of a
// script. Nothing else of it is kept: arguments may hold secrets.
func mainClass(command string) string {
	words := strings.Fields(clip(command, 64<<10))
	class, script := "", ""
	for i, w := range words {
		switch {
		case w == "--class" && i+1 < len(words):
			class = words[i+1]
		case w == "--primary-py-file" && i+1 < len(words):
			script = words[i+1]
		case script == "" && (strings.HasSuffix(w, ".py") || strings.HasSuffix(w, ".R")) && i > 0 && !strings.HasPrefix(words[i-1], "--"):
			script = w
		}
	}
	if script != "" {
		return cleanName(path.Base(script))
	}
	return cleanName(class)
}

var sparkJar = regexp.MustCompile(`spark-(?:assembly|core_\d+\.\d+)-(\d+(?:\.\d+){1,3}(?:-[A-Za-z][A-Za-z0-9.]*)?)(?:-hadoop[0-9.a-z-]*)?\.jar`)

// versionFromClasspath finds Spark's version in the names of its archives, for logs of
// 1.2, which do not tell it otherwise.
func versionFromClasspath(raw []byte) string {
	found := sparkJar.FindSubmatch(raw)
	if found == nil {
		return ""
	}
	version, _, _ := strings.Cut(string(found[1]), "-hadoop")
	return cleanName(version)
}
