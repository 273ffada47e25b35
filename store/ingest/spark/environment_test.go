package spark

import "testing"

func TestParseSize(t *testing.T) {
	for in, want := range map[string]float64{"1g": gib, "512": 512 * mib, "2 GB": -1, "1.5g": 1.5 * gib, "9397M": 9397 * mib,
		"4096k": 4 * mib, "1tb": 1 << 40, "100b": 100, "": -1, "g": -1, "-1g": -1, "NaN": -1, "1e300g": -1, "1x": -1} {
		got, ok := parseSize(in, mib)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %g, want %g", in, got, want)
		}
	}
}

func TestMainClass(t *testing.T) {
	for command, want := range map[string]string{
		"org.apache.spark.deploy.SparkSubmit --master yarn --class org.example.Main --conf a=b app.jar secret":                                    "org.example.Main",
		"org.apache.spark.deploy.yarn.ApplicationMaster --class org.apache.spark.deploy.PythonRunner --primary-py-file s3://b/jobs/pi.py --arg 3": "pi.py",
		"org.apache.spark.deploy.SparkSubmit --py-files lib.py /home/ada/job.py in out":                                                           "job.py",
		"*********(redacted)": "", "": "", "--class": "",
	} {
		if got := mainClass(command); got != want {
			t.Errorf("%q: %q, want %q", command, got, want)
		}
	}
}

func TestManagers(t *testing.T) {
	for master, want := range map[string]string{"yarn-client": "yarn", "spark://h:7077": "standalone", "local-cluster[2,1,1024]": "standalone",
		"local[*]": "local", "k8s://https://h": "kubernetes", "mesos://h": "mesos", "*********(redacted)": "", "": ""} {
		v := environment{}
		v.update(environmentUpdate{Spark: map[string]string{"spark.master": master}})
		if got := v.manager(); got != want {
			t.Errorf("%q: %q, want %q", master, got, want)
		}
	}
	for master, want := range map[string]int{"local": 1, "local[4]": 4, "local[4,2]": 4, "local[*]": 0, "local[*, 4]": 0, "yarn": 0} {
		v := environment{properties: map[string]string{"spark.master": master}}
		if got := v.localCores(); got != want {
			t.Errorf("%q: %d cores, want %d", master, got, want)
		}
	}
}

func TestPlatform(t *testing.T) {
	for _, tc := range []struct{ name, value, version, want string }{
		{"spark.databricks.workerNodeTypeId", "m6gd.2xlarge", "3.1", "databricks-aws"},
		{"spark.databricks.workerNodeTypeId", "Standard_E8s_v3", "3.1", "databricks-azure"},
		{"spark.databricks.clusterUsageTags.cloudProvider", "GCP", "3.1", "databricks-gcp"},
		{"spark.emr.default.executor.cores", "4", "3.3.0", "emr"},
		{"spark.master", "yarn", "3.3.0-amzn-0", "emr"},
		{"spark.dataproc.engine", "default", "3.5.3", "dataproc"},
		{"spark.master", "yarn", "3.5.3", ""},
	} {
		v := environment{}
		v.update(environmentUpdate{Spark: map[string]string{tc.name: tc.value}})
		if got := v.platform(tc.version); got != tc.want {
			t.Errorf("%s=%s: %q, want %q", tc.name, tc.value, got, tc.want)
		}
	}
}

func TestOperator(t *testing.T) {
	for in, want := range map[string]string{"Scan parquet db.secret": "Scan parquet", "WholeStageCodegen (3)": "WholeStageCodegen",
		"Exchange": "Exchange", "BatchScan secret": "BatchScan", "Execute InsertIntoHadoopFsRelationCommand": "Execute InsertIntoHadoopFsRelationCommand",
		"Scan ExistingRDD[a#1]": "Scan ExistingRDD", "Scan s3://secret": "Scan", "Subquery subquery#12": "Subquery", "": "", "(": ""} {
		if got := operator(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestVersionFromClasspath(t *testing.T) {
	for in, want := range map[string]string{
		`{"/opt/lib/spark-assembly-1.2.0-hadoop2.4.0.jar":"System Classpath"}`: "1.2.0",
		`{"spark-core_2.12-3.5.1.jar":""}`:                                     "3.5.1",
		`{"spark-core_2.12-3.3.0-amzn-0.jar":""}`:                              "",
		`{"other.jar":""}`: "",
	} {
		if got := versionFromClasspath([]byte(in)); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
