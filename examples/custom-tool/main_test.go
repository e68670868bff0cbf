package main

func Example() {
	main()
	// Output:
	// > track_parcel {"parcel":"17"}
	// < error: Error invoking tool 'track_parcel' with kwargs {"parcel":"17"} with error:
	//  number: this argument is required
	//  Please fix the error and try again.
	// > track_parcel {"number":"17"}
	// < error: Error executing tool 'track_parcel': no parcel has the number "17"; numbers look like P-1234
	// > track_parcel {"number":"P-0017"}
	// < ok: {"status":"out for delivery","city":"Ghent"}
	// Parcel P-0017 is in Ghent and out for delivery.
}
