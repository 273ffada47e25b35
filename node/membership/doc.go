// Package membership says who an organisation's hosts are and who is in a circle.
//
// An organisation is its key. The key signs [commons.Delegation]s that let hosts sign in
// its name for a while, so that several daemons are one organisation, that a host's key
// can be replaced, and that the organisation's key can be kept where no network is.
//
// A circle is a consortium: its founding admins stand in every member's configuration,
// and a list that an admin signed says who else is in. [Circle] keeps up with the lists
// in the commons. What is not in it is kept out twice: the network does not talk to its
// hosts, and the exchange does not take its records.
package membership
