// Package checkpoint answers which stage outputs of an organisation's own jobs to write to
// durable storage: it makes stage graphs of stored executions, predicts the next run from
// earlier ones, asks the optimizer and says what to do in Spark.
//
// A past run is judged by what was measured. The next run of a job is predicted from its
// earlier runs, or by a general predictor where there are none: one that was trained on
// the own store, or those that peers share ([Predictors]). [Advisor.Compare] says what
// advice from earlier runs alone would have been worth, [Advisor.Follow] decides while an
// application runs.
//
// It speaks the messages of the local API, knows nothing of how they travel, and sends
// nothing to anybody.
package checkpoint
