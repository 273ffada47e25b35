// Package replay measures predictors of stages on public measurements:
//
//   - TPC graphs (JSON lines, one query each): every query is predicted by models that
//     learned from all others; variants of a query, such as 14a and 14b, are left out
//     together. What is known at submission and what is known when a stage has read its
//     input are apart.
//   - A history of recurring applications (CSV, one row a stage): a back-test in time
//     order; from its 13th run on, each run of an application is predicted from those
//     that started before.
//
// Figures are the same on any number of cores.
package replay
