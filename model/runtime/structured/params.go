package structured

import "math"

// Indices of [Params]. Amplitudes are standard deviations of ln(runtime); lengths
// are in the units of the feature.
const (
	// Linear terms: of z = ln(x/5), of C, of G, of s, and of s times z.
	sdZ = iota
	sdCores
	sdMemory
	sdSize
	sdSizeZ
	// Every argument: linear, linear times z, and a Matern term with its length.
	sdArgument
	sdArgumentZ
	sdArgumentMatern
	lenArgument
	// The interaction of scale-out, data (size and arguments) and machine.
	sdJoint
	lenJointW
	lenJointData
	lenJointMachine
	// The shape over the scale-out that all contexts share.
	sdScaleOut
	lenScaleOut
	// Data per memory: smooth, and rough but only between like contexts.
	sdRatio
	lenRatio
	sdRough
	// Contexts of one machine type: level, slope, shape.
	sdMachineLevel
	sdMachineZ
	sdMachineShape
	// The same machine type, input size and scale-out.
	sdTwin
	// One context: level, slope, shape; lenShape serves the machine's shape, too.
	sdContextLevel
	sdContextZ
	sdContextShape
	lenShape
	// The exponent of the warped scale-out.
	exponent
	// Noise of a median of three and more repeats, and of a single run.
	noiseMedian
	noiseRun
	numParams
)

// Params are the kernel's constants, all above zero, by the indices above.
type Params [numParams]float64

// Defaults were chosen on the five algorithms of the C3O measurements (155
// contexts). Choosing them on four and testing on the fifth costs a few tenths of a
// percent of error, see docs/predict.md.
var defaults = Params{
	sdZ: .23, sdCores: .31, sdMemory: .25, sdSize: .46, sdSizeZ: .13,
	sdArgument: 1.4, sdArgumentZ: .11, sdArgumentMatern: .34, lenArgument: .8,
	sdJoint: .25, lenJointW: .63, lenJointData: .77, lenJointMachine: 1.8,
	sdScaleOut: .33, lenScaleOut: .67,
	sdRatio: .2, lenRatio: 1.5, sdRough: .07,
	sdMachineLevel: .21, sdMachineZ: .10, sdMachineShape: .097,
	sdTwin:         .025,
	sdContextLevel: .03, sdContextZ: .02, sdContextShape: .02, lenShape: 1.1,
	exponent:    1.2,
	noiseMedian: .015, noiseRun: .04,
}

// Defaults returns the documented constants.
func Defaults() Params { return defaults }

const (
	// levelSD of the unknown level of an algorithm: e^3 either way of [meanLevel].
	levelSD = 3.
	// The prior mean is meanLevel + meanCores ln(x cores / 40) + meanSize s: 150 s on
	// 40 cores with 15 GB, and speed-ups and data costs somewhat below proportional.
	meanLevel = 5.
	meanCores = -.55
	meanSize  = .46
	// roughMachine is the length of machine differences in the rough term.
	roughMachine = 1.8
	// hyperPriorSD of the logarithm of every constant around its default.
	hyperPriorSD = .6
	// hyperBound is how far a constant may move from its default, as a factor: five
	// standard deviations of its prior.
	hyperBound = 20.
	// FitContexts is the number of contexts from which on constants are fitted. Below,
	// there are fewer contexts than constants of them.
	FitContexts = 8
	// MedianRepeats make a median whose noise is noiseMedian.
	MedianRepeats = 3
)

// valid says whether all constants are near enough to their defaults to be used.
func (p *Params) valid() bool {
	for i, v := range p {
		if !(v >= defaults[i]/hyperBound && v <= defaults[i]*hyperBound) {
			return false
		}
	}
	return true
}

// noise returns the variance of the median of k repeats.
func (p *Params) noise(k int) float64 {
	if k >= MedianRepeats {
		return p[noiseMedian] * p[noiseMedian]
	}
	return p[noiseRun] * p[noiseRun] / float64(max(k, 1))
}

var sqrt5 = math.Sqrt(5)

// matern52 is the Matern kernel with nu = 5/2 and unit variance (RW eq. 4.17) of
// the squared distance r2 in lengths.
func matern52(r2 float64) float64 {
	q := sqrt5 * math.Sqrt(r2)
	return (1 + q + q*q/3) * math.Exp(-q)
}

// maternAndSlope also returns -2 times the derivative by r2.
func maternAndSlope(r2 float64) (k, slope float64) {
	q := sqrt5 * math.Sqrt(r2)
	e := math.Exp(-q)
	return (1 + q + q*q/3) * e, 5. / 3 * (1 + q) * e
}
