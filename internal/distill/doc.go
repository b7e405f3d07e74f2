// Package distill makes a static model (package static) from texts and one or
// more teachers: any embedder.Model, the more expensive the better worth it.
// The method is that of Model2Vec (Tulkens and van Dongen 2024) with a
// regression behind it: rows of words begin as what the teacher says of the
// word alone, reduced by principal components and weighted by rarity (Arora et
// al. 2017, "A simple but tough-to-beat baseline for sentence embeddings"), and
// are then trained until the sum over a text points where the teacher's vector
// of that text points. A random tenth of the words goes through their n-grams
// in every epoch, so that unknown words come to mean something too.
//
// The same texts, teachers and settings give the same bytes, whatever the
// number of processors.
package distill
