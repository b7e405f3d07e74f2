package static

import (
	"slices"
)

// paraphrases are requests beside the tool that answers them. No two words of
// a pair but function words are the same, so that no search by words finds any.
func paraphrases() [][2]string {
	return [][2]string{
		{"will I need an umbrella tomorrow", "get Weather Forecast. Predicts rain and temperature for a location"},
		{"how many euros do I get for my dollars", "convert Currency. Calculates an amount in another money at the exchange rate"},
		{"book me a place to sleep in Rome", "reserve Hotel Room. Makes a reservation for accommodation in a city"},
		{"what time does my plane leave", "flight Status. Departure and arrival schedule of an airline connection"},
		{"put this meeting on Tuesday", "create Calendar Event. Adds an appointment to an agenda on a given date"},
		{"drop a note to my boss", "send Email. Delivers a message to a recipient's mailbox"},
		{"how do you say good morning in Spanish", "translate Text. Turns a sentence from one language into another"},
		{"make this picture smaller", "resize Image. Changes width and height of a photo"},
		{"who is in the band that sings this track", "search Artist. Finds musicians of a song"},
		{"something to watch tonight", "recommend Movies. Suggests films and series by genre"},
		{"what should I cook with chicken and rice", "find Recipes. Dishes for given ingredients"},
		{"is the shop selling laptops cheaply", "product Prices. Compares offers of computers and other goods at retailers"},
		{"where is my parcel", "track Shipment. Location of a package on its way to delivery"},
		{"get rid of the old account", "delete User. Removes a profile permanently"},
		{"let a new colleague into the system", "create User. Registers a person and grants access"},
		{"what did the central bank decide, any headlines", "latest News. Articles of newspapers on a topic"},
		{"how are Apple's shares doing", "stock Quote. Current price of a company on the exchange"},
		{"shorten this long address for a tweet", "create Short Link. Makes a compact URL that redirects"},
		{"fix the grammar of my essay", "check Spelling. Corrects mistakes in a written document"},
		{"boil this report down to three lines", "summarize Document. Gives the main points of a long paper in brief"},
		{"how far is it from Berlin to Hamburg by car", "calculate Route. Distance and driving directions between two cities"},
		{"which restaurants nearby are good", "search Places. Finds food and other venues around a position, with ratings"},
		{"pay the bill of my supplier", "create Payment. Transfers money to settle an invoice"},
		{"give the customer her cash back", "refund Charge. Returns a transaction's amount to the buyer"},
		{"turn off the lamp in the kitchen", "control Device. Switches smart home lights on or off"},
		{"who won the match yesterday", "football Results. Scores of past games by league and team"},
		{"look for jobs as a nurse", "search Vacancies. Open positions and careers by profession"},
		{"is this password leaked", "check Breach. Tells whether credentials were exposed in a hack"},
		{"start my server again", "reboot Instance. Restarts a virtual machine"},
		{"how much disk is left", "storage Usage. Free and occupied space of a volume"},
		{"save my work to version control", "commit Changes. Records modified source files in a git repository"},
		{"report a bug in the project", "create Issue. Opens a ticket for a defect in a software repository"},
		{"transcribe what was said in the call", "speech To Text. Converts an audio recording into written words"},
		{"read this article aloud", "text To Speech. Synthesizes a voice that speaks the content"},
		{"which people are in this photograph", "detect Faces. Recognizes persons in an image"},
		{"what is the tallest mountain", "knowledge Search. Answers questions about geography and other facts from an encyclopedia"},
		{"how many calories are in a banana", "nutrition Facts. Energy, protein and vitamins of foods"},
		{"cancel my monthly plan", "end Subscription. Stops a recurring membership at the period's close"},
		{"list the biggest earthquakes lately", "seismic Events. Recent tremors by magnitude and region"},
		{"work out the integral of this equation", "solve Math. Computes derivatives, antiderivatives and formulas symbolically"},
	}
}

// top1 returns how many requests find their own tool before all others.
func top1(m *Model) (right int, wrong []string) {
	pairs := paraphrases()
	tools := make([][]float32, len(pairs))
	for i, p := range pairs {
		tools[i] = m.Append(nil, p[1])
	}
	for i, p := range pairs {
		q := m.Append(nil, p[0])
		scores := make([]float64, len(tools))
		for j, tool := range tools {
			for d := range tool {
				scores[j] += float64(tool[d]) * float64(q[d])
			}
		}
		if best := slices.Index(scores, slices.Max(scores)); best == i {
			right++
		} else {
			wrong = append(wrong, p[0]+" -> "+pairs[best][1])
		}
	}
	return right, wrong
}
