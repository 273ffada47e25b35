// Package bellamy predicts runtimes with the neural network of Bellamy (Scheinert
// et al., IEEE CLUSTER 2021, arXiv 2107.13921).
//
// Three parts of about 1,200 weights in all ([layout]): f turns a scale-out x, as
// (1/x, ln x, x), into 8 numbers; an auto-encoder g and h turns every descriptive
// property of a context, a vector of 40 ([encodeText], [encodeNumber]), into a code of
// 4; and z predicts the runtime from the output of f, the codes of essential
// properties and the mean code of optional ones. It is pre-trained on all contexts
// ([Learner.Fit]) and then fine-tuned to one ([Variant]).
//
// Different from the paper, and for the better: the network learns the standardised
// logarithm of the runtime, so that errors of short runs count as those of long ones;
// repeats are reduced to their median; and training uses all rows in each step, since
// a few hundred are no more than a batch.
package bellamy
