package ensemble

import "math"

// NormalCDF is the standard normal distribution function.
func NormalCDF(z float64) float64 {
	cdf, _ := Normal(z)
	return cdf
}

// NormalPDF is the standard normal density.
func NormalPDF(z float64) float64 { return math.Exp(-.5*z*z) / sqrt2Pi }

const (
	sqrt2Pi    = 2.50662827463100050242
	logSqrt2Pi = .918938533204672741780
	// hartBound is where the rational approximation ends and the continued fraction begins.
	hartBound = 7.07106781186547
	// tailBound is the |z| beyond which the distribution function is 0 or 1 to the last bit.
	tailBound = 38
)

// Normal returns the standard normal distribution function and density at z, from
// one exponential. The absolute error of cdf is below 1e-15 (Hart, Computer
// Approximations, 1968, no. 5666; West, Better Approximations to Cumulative Normal
// Functions, 2005).
func Normal(z float64) (cdf, pdf float64) {
	x := math.Abs(z)
	if x > tailBound {
		if z > 0 {
			cdf = 1
		}
		return cdf, 0
	}
	e := math.Exp(-.5 * x * x)
	if cdf = e * upperMills(x); z > 0 {
		cdf = 1 - cdf
	}
	return cdf, e / sqrt2Pi
}

// upperMills is (1 - cdf(x)) / exp(-x^2/2) for x >= 0; it falls from 1/2 as
// 1/(x sqrt(2 pi)).
func upperMills(x float64) float64 {
	if x < hartBound {
		p := (((((3.52624965998911e-02*x+.700383064443688)*x+6.37396220353165)*x+33.912866078383)*x+112.079291497871)*x+221.213596169931)*x + 220.206867912376
		q := ((((((8.83883476483184e-02*x+1.75566716318264)*x+16.064177579207)*x+86.7807322029461)*x+296.564248779674)*x+637.333633378831)*x+793.826512519948)*x + 440.413735824752
		return p / q
	}
	// Laplace's continued fraction; beyond hartBound eight terms are exact to 1e-11, and
	// beyond -farTail to 1e-15.
	f := x
	for k := 8.; k >= 1; k-- {
		f = x + k/f
	}
	return 1 / (f * sqrt2Pi)
}

// farTail is the z below which asymptotics replace the distribution function.
const farTail = -30

// logNormalCDF is ln of the distribution function, finite for every finite z whose
// square is: in the far tail nothing is exponentiated.
func logNormalCDF(z float64) float64 {
	switch {
	case z > 0:
		return math.Log1p(-.5 * math.Erfc(z/math.Sqrt2))
	case z > farTail:
		return math.Log(.5 * math.Erfc(-z/math.Sqrt2))
	}
	return -.5*z*z + math.Log(upperMills(-z))
}

// hazard is pdf(z) / cdf(z): the mean of a standard normal variable beyond -z. It is
// about -z in the far tail.
func hazard(z float64) float64 {
	if z > farTail {
		return NormalPDF(z) / (.5 * math.Erfc(-z/math.Sqrt2))
	}
	return 1 / (sqrt2Pi * upperMills(-z))
}
