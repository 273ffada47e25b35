// Package c3o predicts runtimes as the C3O system does (Will et al., IEEE Big Data
// 2021, "C3O: Collaborative Cluster Configuration Optimization", section V): of four
// models the one that cross-validation prefers.
//
//   - GBM: gradient-boosted trees over scale-out and context.
//   - BOM and OGB, the optimistic models: the runtime is the product of what the
//     scale-out and what the context contribute, so that each can be learned from
//     runs that differ in little else. The shape over the scale-out is a polynomial;
//     the part of the context is linear in BOM and trees in OGB.
//   - Ernest, on the input size as the paper's baseline has it.
//
// The optimistic models blow up where few points support a polynomial; predictions
// are kept within a factor of what was measured ([guard]).
package c3o
