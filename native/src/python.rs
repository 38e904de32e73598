//! The Python module `hemeroteca_native`.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use aho_corasick::{AhoCorasick, packed::Searcher};
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::{Limits, Place, focus, likeness, page, passages, read, wording};

#[pymodule]
mod hemeroteca_native {
    #[pymodule_export]
    use super::{
        KeySet, Passage, Reader, Signs, Terms, WordWeights, cut, fingerprints, is_stuffed, link_features, mark, simhash,
    };

    #[pymodule_export]
    #[expect(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

/// Reads pages within the limits of `extract.Limits`.
#[pyclass(frozen)]
struct Reader(Limits);

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (*, html_bytes, html_tags, depth, text_chars, line_chars, description_chars, headings_chars,
                        anchor_chars, context_chars, href_chars, links, css_bytes))]
    #[expect(clippy::too_many_arguments)] // given by name
    fn new(
        html_bytes: usize,
        html_tags: usize,
        depth: usize,
        text_chars: usize,
        line_chars: usize,
        description_chars: usize,
        headings_chars: usize,
        anchor_chars: usize,
        context_chars: usize,
        href_chars: usize,
        links: usize,
        css_bytes: usize,
    ) -> Reader {
        Reader(Limits {
            html_bytes,
            html_tags,
            depth,
            text_chars,
            line_chars,
            description_chars,
            headings_chars,
            anchor_chars,
            context_chars,
            href_chars,
            links,
            css_bytes,
        })
    }

    /// What UTF-8 HTML says, as msgpack for `extract.native.Read`; None: the page is not plain.
    ///
    /// `directory`: the canonical address of the folder the page lies in, with `host`, the key of its host, and `page`,
    /// the page's own; its links are then resolved as far as they are plain. Empty: they are not.
    fn read<'py>(
        &self,
        py: Python<'py>,
        data: &[u8],
        context: bool,
        directory: &[u8],
        host: i64,
        page: i64,
    ) -> Option<Bound<'py, PyBytes>> {
        let directory = std::str::from_utf8(directory).unwrap_or("");
        let place = Some(Place { directory, host, page }).filter(|place| !place.directory.is_empty());
        let result = py.detach(|| catch_unwind(AssertUnwindSafe(|| read(data, &self.0, context, place.as_ref()))));
        result.ok()?.ok().map(|answer| PyBytes::new(py, &answer))
    }

    /// Why a page is not plain, for those who teach the reader more.
    fn refusal(&self, data: &[u8]) -> Option<String> {
        read(data, &self.0, false, None).err().map(|reason| format!("{reason:?}"))
    }
}

/// The fingerprint of a text, of all of it or of all but its digits.
#[pyfunction]
#[pyo3(signature = (text, digits = true))]
fn simhash(text: &[u8], digits: bool) -> u64 {
    if digits { likeness::simhash(text) } else { likeness::simhash(&likeness::without_digits(text)) }
}

/// See `ingest.fingerprints`; both texts in UTF-8.
#[pyfunction]
fn fingerprints(text: &[u8], shown: &[u8], own: HashSet<String>) -> (u64, u64) {
    wording::fingerprints(&String::from_utf8_lossy(text), shown, &own)
}

/// A key for a link with this text: that of `Leads.marks`.
#[pyfunction]
fn mark(target: i64, text: &str) -> i64 {
    page::mark(target, text)
}

/// See `search.index.document_fields`.
#[pyfunction]
fn is_stuffed(text: &str, share: f64, distinct: f64, most: usize) -> bool {
    wording::is_stuffed(text, share, distinct, most)
}

/// Keys that were met: `native.KeySet`. Lists of keys are bytes, eight a key.
#[pyclass]
struct KeySet(foldhash::HashSet<i64>);

#[pymethods]
impl KeySet {
    #[new]
    fn new() -> KeySet {
        KeySet(foldhash::HashSet::default())
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __contains__(&self, key: i64) -> bool {
        self.0.contains(&key)
    }

    fn add(&mut self, key: i64) {
        self.0.insert(key);
    }

    fn clear(&mut self) {
        self.0 = foldhash::HashSet::default();
    }

    /// Which of these keys are not in the set, by their places.
    fn missing(&self, keys: &[u8]) -> Vec<usize> {
        each_key(keys).enumerate().filter(|(_, key)| !self.0.contains(key)).map(|(place, _)| place).collect()
    }

    /// The same, `most` at most, which are in the set from now on.
    fn add_missing(&mut self, keys: &[u8], most: usize) -> Vec<usize> {
        let new = each_key(keys).enumerate().filter(|&(_, key)| self.0.insert(key));
        new.map(|(place, _)| place).take(most).collect()
    }
}

fn each_key(keys: &[u8]) -> impl Iterator<Item = i64> {
    keys.chunks_exact(8).map(|bytes| i64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
}

/// Byte strings that are looked for together.
#[pyclass(frozen)]
struct Signs {
    packed: Option<Searcher>, // by the processor's wide instructions, where it has them
    automaton: AhoCorasick,
}

#[pymethods]
impl Signs {
    #[new]
    fn new(signs: Vec<Vec<u8>>) -> PyResult<Signs> {
        let automaton = AhoCorasick::new(&signs).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(Signs { packed: Searcher::new(&signs), automaton })
    }

    /// Whether any of them is in `data`.
    fn are_in(&self, data: &[u8]) -> bool {
        self.packed.as_ref().map_or_else(|| self.automaton.is_match(data), |packed| packed.find(data).is_some())
    }
}

/// Those of `focus.matcher`, each pattern with the number of its term.
#[pyclass(frozen)]
struct Terms(focus::Terms);

#[pymethods]
impl Terms {
    #[new]
    fn new(patterns: Vec<Vec<u8>>, terms: Vec<usize>, weights: Vec<f64>) -> PyResult<Terms> {
        if terms.len() != patterns.len() || terms.iter().any(|&term| term >= weights.len()) {
            return Err(PyValueError::new_err("each pattern needs a term, and each term a weight"));
        }
        focus::Terms::new(&patterns, terms, weights)
            .map(Terms)
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// See `focus.relevance.Relevance.page`; None: the text is not plain.
    fn sum(&self, text: &Bound<'_, PyString>) -> Option<f64> {
        self.0.sum(text.to_str().ok()?)
    }

    /// See `focus.relevance.Relevance.links`; None: a text is not plain.
    fn each(&self, texts: &Bound<'_, PyList>) -> Option<Vec<f64>> {
        let texts: Vec<_> = texts.iter().map(|text| text.cast_into::<PyString>().ok()).collect::<Option<_>>()?;
        let texts: Vec<_> = texts.iter().map(|text| text.to_str().ok()).collect::<Option<_>>()?;
        self.0.each(texts.into_iter())
    }
}

/// See `focus.learned_scores.features`; None: the link is not plain.
#[pyfunction]
fn link_features<'py>(
    py: Python<'py>,
    url: &Bound<'_, PyString>,
    host: &Bound<'_, PyString>,
    anchor: &Bound<'_, PyString>,
    context: &Bound<'_, PyString>,
    parent_url: &Bound<'_, PyString>,
    relevance: f64,
) -> Option<(Bound<'py, PyBytes>, Bound<'py, PyTuple>)> {
    let (words, groups) = focus::features(&focus::Link {
        url: url.to_str().ok()?,
        host: host.to_str().ok()?,
        anchor: anchor.to_str().ok()?,
        context: context.to_str().ok()?,
        parent_url: parent_url.to_str().ok()?,
        relevance,
    })?;
    Some((PyBytes::new(py, &words), PyTuple::new(py, groups).ok()?))
}

/// See `focus.learned_scores.WordWeights`.
#[pyclass]
struct WordWeights(focus::Weights);

#[pymethods]
impl WordWeights {
    #[new]
    fn new() -> WordWeights {
        WordWeights(focus::Weights::new())
    }

    fn total(&self, words: &[u8], start: f64) -> f64 {
        self.0.total(words, start)
    }

    fn step(&mut self, words: &[u8], error: f64, rate: f64) {
        self.0.step(words, error, rate);
    }
}

/// A text in the answer of a wiki.
#[pyclass(frozen)]
struct Passage {
    answer: Py<PyBytes>,
    place: passages::Passage,
}

#[pymethods]
impl Passage {
    /// Its bytes.
    fn __len__(&self) -> usize {
        self.place.size
    }

    /// Put it into a buffer, from a place on.
    fn write(&self, py: Python<'_>, target: PyBuffer<u8>, start: usize) -> PyResult<()> {
        let target = target.as_mut_slice(py).and_then(|cells| cells.get(start..start + self.place.size));
        let mut rest = target.ok_or_else(|| PyValueError::new_err("the buffer is too short"))?;
        passages::unescape(&self.answer.as_bytes(py)[self.place.start..self.place.end], |piece| {
            let (here, after) = rest.split_at(piece.len());
            for (cell, &byte) in here.iter().zip(piece) {
                cell.set(byte);
            }
            rest = after;
        });
        Ok(())
    }

    fn __bytes__<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let mut text = Vec::with_capacity(self.place.size);
        let written = &self.answer.as_bytes(py)[self.place.start..self.place.end];
        passages::unescape(written, |piece| text.extend_from_slice(piece));
        PyBytes::new(py, &text)
    }
}

/// See `wiki.answers.decode`; None: the answer is not plain.
#[pyfunction]
fn cut<'py>(py: Python<'py>, answer: &Bound<'py, PyBytes>) -> Option<(Bound<'py, PyBytes>, Vec<Passage>)> {
    let (rest, places) = passages::cut(answer.as_bytes())?;
    let texts = places.into_iter().map(|place| Passage { answer: answer.clone().unbind(), place }).collect();
    Some((PyBytes::new(py, &rest), texts))
}
